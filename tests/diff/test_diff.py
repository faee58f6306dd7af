"""Two ways of rendering, compared: `pp.diff` and `promptpress diff`, beside plain comparisons."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from itertools import takewhile
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import warm
from hypothesis import given
from hypothesis import strategies as st
from marks import UNWARNED
from parts.pseudo_terminal import in_terminal
from promptpress_workbench.cli import main
from promptpress_workbench.diff.comparison import equal_rows
from promptpress_workbench.diff.differences import changes, common_prefix, common_suffix, windows
from promptpress_workbench.prompts.escapes import cells
from promptpress_workbench.prompts.prompt import Piece
from test_prompt_html import HOSTILE
from test_show import CONTROLS, SGR

pytestmark = UNWARNED

READER = {"input_columns": ["q"], "output_column": "a"}
SAMPLES = pa.table({"q": ["1+1=?", "see {a}", "é {a} 日本", *HOSTILE], "a": [str(n) for n in range(3 + len(HOSTILE))]})
TURNS = {"round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "It is {a}."}]}
LONGER = {"round": [*TURNS["round"], {"role": "HUMAN", "prompt": "Sure?"}]}

SIDES: dict[str, dict[str, Any]] = {
    "text": {"prompt_template": "Q: {q}\nA: {a}"},
    "other text": {"prompt_template": "Q: {q}\nA:{a}"},
    "single pass": {"prompt_template": "Q: {q}\nA: {a}", "substitution": "single_pass"},
    "large": {"prompt_template": "Q: {q}\nA: {a}", "strings": "large_string"},
    "views": {"prompt_template": "Q: {q}\nA: {a}!", "strings": "string_view"},
    "list": {"prompt_template": TURNS, "output": "prompt_list"},
    "longer list": {"prompt_template": LONGER, "output": "prompt_list"},
    "single pass list": {"prompt_template": TURNS, "output": "prompt_list", "substitution": "single_pass"},
    "json": {"prompt_template": TURNS, "output": "messages_json", "meta_template": {
        "round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT"}]}},
    "view list": {"prompt_template": TURNS, "output": "prompt_list", "strings": "string_view"},
}  # fmt: skip


def renderer(name: str) -> pp.Renderer:
    return pp.Renderer(**SIDES[name], reader=READER)


def requests(name: str) -> list[Any]:
    values = pp.to_pylist(renderer(name).render(SAMPLES)["prompt"])
    return [json.loads(value) for value in values] if name == "json" else values  # type: ignore[arg-type]


def alike(first: str, second: str) -> str:
    """Return the common beginning of two texts."""
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def first_byte(first: Any, second: Any) -> int | None:
    """The byte at which two texts begin to differ, or the texts of the first messages that do."""
    if isinstance(first, list) and isinstance(second, list):
        pairs = [(a["prompt"], b["prompt"]) for a, b in zip(first, second, strict=False) if a != b]
        return first_byte(*pairs[0]) if pairs else None
    if isinstance(first, list) or isinstance(second, list):
        return None
    return len(alike(first, second).encode())


@pytest.mark.parametrize("b", SIDES)
@pytest.mark.parametrize("a", SIDES)
def test_a_diff_is_that_of_python(a: str, b: str) -> None:
    pairs = list(zip(requests(a), requests(b), strict=True))
    want = [row for row, (first, second) in enumerate(pairs) if first != second]
    diff = pp.diff(renderer(a), renderer(b), SAMPLES)
    assert (diff.compared, diff.different, diff.only_a, diff.only_b) == (len(SAMPLES), len(want), 0, 0)
    assert (len(diff), bool(diff)) == (len(want), bool(want))
    assert diff.rows["sample"].to_pylist() == want
    assert diff.rows["start"].to_pylist() == [first_byte(*pairs[row]) for row in want]
    # What was rendered before differs alike, and knows less.
    before = pp.diff(renderer(a).render(SAMPLES), renderer(b), SAMPLES)
    assert before.rows.select(["sample", "message", "start"]) == diff.rows.select(["sample", "message", "start"])
    assert before.rows["a_source"].null_count == len(want)


def test_where_it_comes_from() -> None:
    (row,) = pp.diff(renderer("text"), renderer("single pass"), SAMPLES, limit=1).rows.to_pylist()
    assert row == {
        "sample": 1, "change": "text", "message": None, "part": None, "start": 7,
        "a_source": "filled_masked", "a_column": "a", "b_source": "field", "b_column": "q",
    }  # fmt: skip
    # The same hidden answer on both sides isn't what differs.
    (row,) = pp.diff(
        *(pp.Renderer(text, reader=READER) for text in ("{a}{q}", "{a}!{q}")), SAMPLES, limit=1
    ).rows.to_pylist()
    assert (row["a_source"], row["b_source"]) == ("field", "prompt_template")
    rows = pp.diff(renderer("list"), renderer("longer list"), SAMPLES, limit=2).rows.to_pylist()
    assert [(row["change"], row["message"]) for row in rows] == [("messages", 2), ("messages", 2)]
    rows = pp.diff(renderer("text"), renderer("list"), SAMPLES, limit=1).rows.to_pylist()
    assert rows[0]["change"] == "form"


def test_roles_and_fields_differ_too() -> None:
    def talk(role: str, **more: str) -> pa.Table:
        return pa.table({"prompt": [[{"role": role, "content": "Hi.", **more}]]})

    assert pp.diff(talk("user"), talk("system")).rows["change"].to_pylist() == ["role"]
    assert pp.diff(talk("user"), talk("user", name="x")).rows["change"].to_pylist() == ["fields"]
    assert not pp.diff(talk("user"), talk("user"))


def test_labels_that_one_side_lacks() -> None:
    two = pp.Renderer("{q}", mode="ppl", labels=["A", "B"])
    three = pp.Renderer("{q}", mode="ppl", labels=["B", "C", "A"])
    diff = pp.diff(two, three, SAMPLES, limit=3)
    rows = len(SAMPLES)
    assert (diff.compared, diff.different, diff.only_a, diff.only_b) == (2 * rows, 0, 0, rows)
    assert len(diff) == rows
    assert diff.rows.select(["sample", "label", "change"]).to_pylist() == [
        {"sample": row, "label": "C", "change": "only_b"} for row in range(3)
    ]
    assert "only in B" in str(diff)


def test_turns_and_rows_that_one_side_lacks() -> None:
    samples = pa.table({"q": [["a", "b"], ["c"]], "a": [["1", "2"], ["3"]]})
    chat = [{"type": "ChatInferencer", "infer_mode": mode} for mode in ("every_with_gt", "last")]
    every, last = (pp.Renderer(inferencer=inferencer, reader=READER) for inferencer in chat)
    diff = pp.diff(every, last, samples)
    assert (diff.compared, diff.different, diff.only_a, diff.only_b) == (2, 0, 1, 0)
    assert diff.rows.select(["sample", "turn", "change"]).to_pylist() == [{"sample": 0, "turn": 0, "change": "only_a"}]
    tables = [pa.table({"prompt": ["a", "b", "c"][:rows]}) for rows in (2, 3)]
    diff = pp.diff(*tables)
    assert (diff.compared, diff.only_a, diff.only_b) == (2, 0, 1)
    assert pp.diff(tables[0], tables[0].slice(0, 0)).only_a == 2


def test_positions_count_over_the_table() -> None:
    samples = pa.table({"q": [f"q{n}" for n in range(300)], "a": ["x"] * 300})

    def few_shot(seed: int) -> pp.Renderer:
        template = {"template": "</E>{q}", "ice_token": "</E>"}
        retriever = {"type": "RandomRetriever", "ice_num": 2, "seed": seed}
        return pp.Renderer(template, "{q}\n", retriever, samples, READER)

    first, second = (few_shot(seed).render(samples)["prompt"].to_pylist() for seed in (1, 2))
    want = [row for row in range(300) if first[row] != second[row]]
    diff = pp.diff(few_shot(1), few_shot(2), samples, limit=1000)
    assert diff.rows["sample"].to_pylist() == want
    assert set(diff.rows["a_source"].to_pylist()) == {"field", "ice_template"}  # q12 and q1, whose example ends there
    assert not pp.diff(few_shot(1), few_shot(1), samples)


# ---------------------------------------------------------------------------------------------------------------------
# The object.


def test_a_diff_is_frozen_and_exports_its_rows() -> None:
    diff = pp.diff(renderer("text"), renderer("other text"), SAMPLES, limit=4)
    assert pa.table(diff) == diff.rows
    assert diff.rows.num_rows == 4
    assert repr(diff) == f"<Diff: {len(SAMPLES)} requests compared, {len(SAMPLES)} differ>"
    assert str(diff).startswith(f"{len(SAMPLES)} requests compared, {len(SAMPLES)} differ\n── row 0\n")
    assert "A:[- -]" in str(diff)
    with pytest.raises(AttributeError):
        diff.different = 3  # type: ignore[misc]


def test_a_diff_in_a_notebook() -> None:
    samples = SAMPLES.slice(3)
    diff = pp.diff(renderer("text"), renderer("other text"), samples)
    for html in (diff._repr_html_(), pp.diff(renderer("list"), renderer("longer list"), samples)._repr_html_()):
        assert "<script" not in html
        assert not CONTROLS.search(html)
    assert "&lt;script&gt;" in diff._repr_html_()
    assert 'class="pp-removed"' in diff._repr_html_()


@pytest.mark.parametrize(
    ("sides", "message"),
    [
        ((3, SAMPLES), "a: expected a Renderer or a rendered table, found a int"),
        ((pp.Renderer("{q}"), pa.table({"prompt": ["a"]})), "a: a Renderer needs samples"),
    ],
)
def test_what_cant_be_compared(sides: tuple[Any, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        pp.diff(*sides)


def test_a_table_without_prompts() -> None:
    with pytest.raises(pp.RenderError, match="no column 'prompt' of prompts"):
        pp.diff(SAMPLES, SAMPLES)
    with pytest.raises(pp.RenderError, match="limit"):
        pp.diff(SAMPLES, SAMPLES, limit=-1)


# ---------------------------------------------------------------------------------------------------------------------
# Arrow's comparison, and what is marked.

TEXTS = st.none() | st.text("aé", max_size=2)
ITEMS = st.lists(st.fixed_dictionaries({"role": TEXTS, "prompt": TEXTS}), max_size=3)
PARTS = st.fixed_dictionaries(
    {"role": TEXTS, "parts": st.none() | st.lists(st.fixed_dictionaries({"text": TEXTS}), max_size=2)}
)
TYPES = [
    (TEXTS, pa.string()),
    (TEXTS, pa.string_view()),
    (ITEMS, pa.list_(pa.struct([("role", pa.string()), ("prompt", pa.string())]))),
    (
        st.lists(PARTS, max_size=2),
        pa.large_list(
            pa.struct([("role", pa.string()), ("parts", pa.list_(pa.struct([("text", pa.large_string())])))])
        ),
    ),
]


@pytest.mark.parametrize(("values", "kind"), TYPES, ids=lambda value: str(value)[:20])
@given(data=st.data())
def test_equal_rows_are_equal_in_python(values: st.SearchStrategy[Any], kind: pa.DataType, data: st.DataObject) -> None:
    pairs = data.draw(st.lists(st.tuples(values, values) | values.map(lambda value: (value, value)), max_size=6))
    first, second = (pa.array([pair[side] for pair in pairs], kind) for side in (0, 1))
    start = data.draw(st.integers(0, len(pairs)))
    want = [mine == yours for mine, yours in pairs[start:]]
    assert equal_rows(first.slice(start), second.slice(start)).to_pylist() == want


@given(st.text("ab", max_size=20), st.text("ab", max_size=20), st.integers(0, 20))
def test_prefixes_and_suffixes(first: str, second: str, most: int) -> None:
    assert common_prefix(first, second) == len(alike(first, second))
    assert common_suffix(first, second, most) == min(most, len(alike(first[::-1], second[::-1])))


@given(st.text("ab \n", max_size=60), st.text("ab \n", max_size=60))
def test_what_isnt_marked_is_equal(first: str, second: str) -> None:
    def unmarked(text: str, marks: list[tuple[int, int, str]]) -> str:
        return "".join(
            character for index, character in enumerate(text) if not any(s <= index < e for s, e, _ in marks)
        )

    removed, added = changes(first, second)
    assert unmarked(first, removed) == unmarked(second, added)
    assert bool(removed or added) == (first != second)


def test_a_megabyte_doesnt_hang() -> None:
    rows = [("ab " * 400_000, "ba " * 400_000), ("a" * 1_000_000, "a" * 500_000 + "b" + "a" * 499_999)]
    rows.append(("x\n" * 500_000, "x\n" * 499_999 + "y\n"))
    start = time.monotonic()
    diff = pp.diff(*(pa.table({"prompt": [row[side] for row in rows]}) for side in (0, 1)))
    assert diff.rows["start"].to_pylist() == [0, 500_000, 999_998]
    assert len(str(diff)) < 20_000
    assert len(diff._repr_html_()) < 40_000
    assert time.monotonic() - start < 20


def test_windows_keep_origins() -> None:
    a = [Piece("x" * 1000, "prompt_template"), Piece("one", "field", "q"), Piece("y" * 1000, "meta_template")]
    b = [Piece("x" * 1000, "prompt_template"), Piece("two", "field", "q"), Piece("y" * 1000, "meta_template")]
    ((mine, _),) = windows(a, b)
    assert [(len(piece.text), piece.source) for piece in mine.pieces] == [
        (100, "prompt_template"), (3, "field"), (100, "meta_template"),
    ]  # fmt: skip
    assert (mine.before, mine.after, mine.marks) == (900, 900, ((100, 103, "removed"),))


# ---------------------------------------------------------------------------------------------------------------------
# The command.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pq.write_table(SAMPLES, "data.parquet")
    for name, side in SIDES.items():
        Path(f"{name.replace(' ', '_')}.json").write_text(json.dumps({**side, "reader": READER}))
    return tmp_path


def run_diff(capsys: pytest.CaptureFixture[str], *arguments: str, code: int) -> str:
    assert main(["diff", *arguments]) == code
    out, err = capsys.readouterr()
    return out if code < 2 else err


@pytest.mark.usefixtures("folder")
def test_the_command_tells_whether_there_is_a_difference(capsys: pytest.CaptureFixture[str]) -> None:
    data = ("--data", "data.parquet")
    assert (
        run_diff(capsys, "text.json", "large.json", *data, code=0)
        == f"{len(SAMPLES)} requests compared, none differs\n"
    )
    out = run_diff(capsys, "text.json", *data, "--substitution-b", "single_pass", code=1)
    assert out.startswith(f"{len(SAMPLES)} requests compared, 2 differ\n\n── 2 rows · first row 1\n")
    assert "byte 7, character 7 - A: filled in from within a value: masked answer, column a; B: column q\n" in out
    assert "- Q: see [--]" not in out
    assert "+ Q: see {+{a}+}" in out


@pytest.mark.usefixtures("folder")
def test_the_command_takes_rendered_files(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("text", "other_text"):
        assert main(["render", f"{name}.json", "--data", "data.parquet", "--out", f"{name}.jsonl", "--quiet"]) == 0
    data = ("--data", "data.parquet")
    assert "none differs" in run_diff(capsys, "text.jsonl", "text.json", *data, code=0)
    assert "none differs" in run_diff(capsys, "text.json", "text.jsonl", *data, code=0)
    out = run_diff(capsys, "text.jsonl", "other_text.jsonl", "--max", "1", code=1)
    assert "[- -]" in out
    assert " - A:" not in out  # a file of prompts doesn't know
    assert "samples come with --data, and a file of prompts without" in run_diff(
        capsys, "text.jsonl", "other_text.jsonl", *data, code=2
    )
    out = run_diff(capsys, "text.jsonl", "text.json", *data, "--substitution", "single_pass", code=1)
    assert "2 differ" in out


@pytest.mark.usefixtures("folder")
def test_the_command_speaks_json(capsys: pytest.CaptureFixture[str]) -> None:
    out = run_diff(capsys, "text.json", "single_pass.json", "--data", "data.parquet", "--json", "--max", "1", code=1)
    diff = pp.diff(renderer("text"), renderer("single pass"), SAMPLES, limit=1)
    counts = {"compared": len(SAMPLES), "different": 2, "only_a": 0, "only_b": 0}
    counts |= {"errors_a": 0, "errors_b": 0, "errors_differ": 0, "errors_equal": 0}
    assert json.loads(out) == {**counts, "first": diff.rows.to_pylist()}


@pytest.mark.usefixtures("folder")
def test_two_models(capsys: pytest.CaptureFixture[str]) -> None:
    Path("turns.json").write_text(json.dumps({"prompt_template": TURNS, "reader": READER}))
    for name, begin in (("one", "<user>"), ("two", "USER: ")):
        meta = {"round": [{"role": "HUMAN", "begin": begin}, {"role": "BOT", "begin": "<bot>", "generate": True}]}
        Path(f"{name}.json").write_text(json.dumps({"type": "HuggingFace", "meta_template": meta}))
    out = run_diff(
        capsys,
        "turns.json",
        "--data",
        "data.parquet",
        "--model",
        "one.json",
        "--model-b",
        "two.json",
        "--max",
        "1",
        code=1,
    )
    assert "A: meta template (role.begin), role HUMAN; B: meta template (role.begin), role HUMAN" in out
    assert "+ {+USER: +}1+1=?<bot>" in out


@pytest.mark.usefixtures("folder")
def test_two_templates(capsys: pytest.CaptureFixture[str]) -> None:
    data = ("--data", "data.parquet", "--max", "1")
    out = run_diff(capsys, "--template", "Q: {q}", "--template-b", "Question: {q}", *data, code=1)
    assert "- [-Q-]: 1+1=?\n+ {+Question+}: 1+1=?" in out
    hidden = ("--answer-b", "a", "--substitution-b", "harness")
    assert "none differs" in run_diff(capsys, "text.json", "--template-b", "Q: {q}\nA: {a}", *hidden, *data, code=0)
    assert "differ" in run_diff(capsys, "--template", "Q: {q}", *data, "--system-b", "Be kind.", code=1)
    assert "there is only one side" in run_diff(capsys, "--template", "Q: {q}", *data, code=2)
    assert "neither A nor --template" in run_diff(capsys, *data, code=2)
    assert "--template with" in run_diff(capsys, "text.json", "--template", "x", "--mode-b", "gen", *data, code=2)


@pytest.mark.usefixtures("folder")
def test_equal_changes_are_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    for side, system in (("a", "Don't explain."), ("b", "Never explain.")):
        rows = [[("system", system if n else "-"), ("user", f"{n}{side if n == 7 else ''}?")] for n in range(200)]
        chats = [[{"role": role, "content": f"{text}\nBe kind."} for role, text in row] for row in rows]
        pq.write_table(pa.table({"prompt": chats}), f"{side}.parquet")
    assert run_diff(capsys, "a.parquet", "b.parquet", code=1).splitlines() == [
        "200 requests compared, 199 differ",
        "",
        "── 199 rows · first row 1",
        "message 0 (system), byte 0, character 0",
        "  [system]",
        "- [-Don't-] explain.",
        "+ {+Never+} explain.",
        "  Be kind.",
        "",
        "── row 7",
        "message 1 (user), byte 1, character 1",
        "  [user]",
        "- [-7a-]?",
        "+ {+7b+}?",
        "  Be kind.",
    ]
    assert "and 1 more change; --max 2 shows all" in run_diff(capsys, "a.parquet", "b.parquet", "--max", "1", code=1)


@pytest.mark.usefixtures("folder")
def test_more_changes_than_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    for side in ("a", "b"):
        pq.write_table(pa.table({"prompt": [f"{n}{side}" for n in range(150)]}), f"{side}.parquet")
    out = run_diff(capsys, "a.parquet", "b.parquet", "--max", "1", code=1)
    assert "and 99 more changes" in out
    assert "and 50 more that differ" in out


@pytest.mark.usefixtures("folder")
def test_samples_from_standard_input() -> None:
    command = warm.command(
        "diff", "--template", "Q: {q}", "--template-b", "Q:{q}", "--data", "-", "--data-format", "csv"
    )
    done = subprocess.run(command, input=b"q\n1+1\n2+2\n", capture_output=True, check=False)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith(b"2 requests compared, 2 differ\n")


@pytest.mark.usefixtures("folder")
def test_both_sides_cant_be_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is only one side" in run_diff(capsys, "text.json", "--data", "data.parquet", code=2)
    assert "2 operands come first" in run_diff(capsys, "a.json", "b.json", "c.json", code=2)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("columns", [80, 120, 60])
def test_at_a_terminal(columns: int) -> None:
    command = warm.command("diff", "text.json", "other_text.json", "--data", "data.parquet", "--max", "20", "--quiet")
    out = in_terminal(command, columns=columns, code=1)
    plain = SGR.sub("", out)
    assert not CONTROLS.search(plain)
    assert max(cells(line) for line in plain.splitlines()) <= columns
    assert (" | " in plain) == (columns >= 80)
    assert "\x1b[38;5;63;41;97m \x1b[0m" in out
    if columns >= 80:
        sides = {cells(line.partition(" | ")[0]) for line in plain.splitlines() if " | " in line}
        assert sides == {(columns - 3) // 2}


@pytest.mark.usefixtures("folder")
def test_where_only_ascii_can_be_written() -> None:
    plain = {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii:strict"}
    command = warm.command("diff", "text.json", "list.json", "--data", "data.parquet", "--max", "20", "--whitespace")
    done = subprocess.run(command, capture_output=True, check=False, env={**os.environ, **plain})
    assert done.returncode == 1, done.stderr
    assert done.stdout.isascii()
    assert not CONTROLS.search(done.stdout.decode())
    assert re.search(rb"-- 15 rows - first row 0\n", done.stdout)


@pytest.mark.parametrize("prompt", ["", "text", [{"role": "user", "prompt": "x"}]])
def test_a_missing_request_is_reported_as_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], prompt: Any
) -> None:
    sides = [str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")]
    kind = pa.array([prompt]).type
    pq.write_table(pa.table({"prompt": pa.array([prompt, None], kind)}), sides[0])
    pq.write_table(pa.table({"prompt": pa.array([None, None], kind)}), sides[1])
    diff = pp.diff(*(pq.read_table(side) for side in sides))
    assert diff.rows["change"].to_pylist() == ["error_b"]
    assert main(["diff", *sides]) == 1
    out = capsys.readouterr().out
    assert "B can't be rendered" in out
    assert "no prompt: a null" in out
    assert "1 only in B, 1 on both sides" in out
    assert "equal)" not in out
