"""Two ways of rendering, compared: `pp.diff` and `promptpress diff`, beside plain comparisons."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from itertools import takewhile
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marks import UNWARNED
from promptpress._cli import main
from promptpress._diff.changes import changes, windows
from promptpress._diff.equal_rows import equal_rows
from promptpress._diff.places import common_prefix, common_suffix
from promptpress._view.prompt import Piece
from promptpress._view.visible import cells
from pseudo_terminal import in_terminal
from test_prompt_html import HOSTILE
from test_show import CONTROLS, SGR

pytestmark = UNWARNED

COMMAND = [sys.executable, "-m", "promptpress"]
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


def alike(one: str, other: str) -> str:
    """What two texts begin with together."""
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def first_byte(one: Any, other: Any) -> int | None:
    """The byte at which two texts begin to differ, or the texts of the first messages that do."""
    if isinstance(one, list) and isinstance(other, list):
        pairs = [(a["prompt"], b["prompt"]) for a, b in zip(one, other, strict=False) if a != b]
        return first_byte(*pairs[0]) if pairs else None
    if isinstance(one, list) or isinstance(other, list):
        return None
    return len(alike(one, other).encode())


@pytest.mark.parametrize("b", SIDES)
@pytest.mark.parametrize("a", SIDES)
def test_a_diff_is_that_of_python(a: str, b: str) -> None:
    pairs = list(zip(requests(a), requests(b), strict=True))
    want = [row for row, (one, other) in enumerate(pairs) if one != other]
    found = pp.diff(renderer(a), renderer(b), SAMPLES)
    assert (found.compared, found.different, found.only_a, found.only_b) == (len(SAMPLES), len(want), 0, 0)
    assert (len(found), bool(found)) == (len(want), bool(want))
    assert found.rows["sample"].to_pylist() == want
    assert found.rows["start"].to_pylist() == [first_byte(*pairs[row]) for row in want]
    # What was rendered before differs alike, and knows less.
    before = pp.diff(renderer(a).render(SAMPLES), renderer(b), SAMPLES)
    assert before.rows.select(["sample", "message", "start"]) == found.rows.select(["sample", "message", "start"])
    assert before.rows["a_source"].null_count == len(want)


def test_where_it_comes_from() -> None:
    (row,) = pp.diff(renderer("text"), renderer("single pass"), SAMPLES, limit=1).rows.to_pylist()
    assert row == {
        "sample": 1, "change": "text", "message": None, "part": None, "start": 7,
        "a_source": "masked", "a_column": "a", "b_source": "field", "b_column": "q",
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
    found = pp.diff(two, three, SAMPLES, limit=3)
    rows = len(SAMPLES)
    assert (found.compared, found.different, found.only_a, found.only_b) == (2 * rows, 0, 0, rows)
    assert len(found) == rows
    assert found.rows.select(["sample", "label", "change"]).to_pylist() == [
        {"sample": row, "label": "C", "change": "only_b"} for row in range(3)
    ]
    assert "only in B" in str(found)


def test_turns_and_rows_that_one_side_lacks() -> None:
    samples = pa.table({"q": [["a", "b"], ["c"]], "a": [["1", "2"], ["3"]]})
    chat = [{"type": "ChatInferencer", "infer_mode": mode} for mode in ("every_with_gt", "last")]
    every, last = (pp.Renderer(inferencer=one, reader=READER) for one in chat)
    found = pp.diff(every, last, samples)
    assert (found.compared, found.different, found.only_a, found.only_b) == (2, 0, 1, 0)
    assert found.rows.select(["sample", "turn", "change"]).to_pylist() == [{"sample": 0, "turn": 0, "change": "only_a"}]
    tables = [pa.table({"prompt": ["a", "b", "c"][:rows]}) for rows in (2, 3)]
    found = pp.diff(*tables)
    assert (found.compared, found.only_a, found.only_b) == (2, 0, 1)
    assert pp.diff(tables[0], tables[0].slice(0, 0)).only_a == 2


def test_positions_count_over_the_table() -> None:
    samples = pa.table({"q": [f"q{n}" for n in range(300)], "a": ["x"] * 300})

    def few_shot(seed: int) -> pp.Renderer:
        template = {"template": "</E>{q}", "ice_token": "</E>"}
        retriever = {"type": "RandomRetriever", "ice_num": 2, "seed": seed}
        return pp.Renderer(template, "{q}\n", retriever, samples, READER)

    one, other = (few_shot(seed).render(samples)["prompt"].to_pylist() for seed in (1, 2))
    want = [row for row in range(300) if one[row] != other[row]]
    found = pp.diff(few_shot(1), few_shot(2), samples, limit=1000)
    assert found.rows["sample"].to_pylist() == want
    assert set(found.rows["a_source"].to_pylist()) == {"field", "ice_template"}  # q12 and q1, whose example ends there
    assert not pp.diff(few_shot(1), few_shot(1), samples)


# ---------------------------------------------------------------------------------------------------------------------
# The object.


def test_a_diff_is_frozen_and_exports_its_rows() -> None:
    found = pp.diff(renderer("text"), renderer("other text"), SAMPLES, limit=4)
    assert pa.table(found) == found.rows
    assert found.rows.num_rows == 4
    assert repr(found) == f"<Diff: {len(SAMPLES)} requests compared, {len(SAMPLES)} differ>"
    assert str(found).startswith(f"{len(SAMPLES)} requests compared, {len(SAMPLES)} differ\n── row 0\n")
    assert "A:[- -]" in str(found)
    with pytest.raises(AttributeError, match="frozen"):
        found.limit = 3  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        found.different = 3  # type: ignore[misc]


def test_a_diff_in_a_notebook() -> None:
    samples = SAMPLES.slice(3)
    found = pp.diff(renderer("text"), renderer("other text"), samples)
    for html in (found._repr_html_(), pp.diff(renderer("list"), renderer("longer list"), samples)._repr_html_()):
        assert "<script" not in html
        assert not CONTROLS.search(html)
    assert "&lt;script&gt;" in found._repr_html_()
    assert 'class="pp-removed"' in found._repr_html_()


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


@pytest.mark.parametrize(("values", "kind"), TYPES, ids=lambda one: str(one)[:20])
@given(data=st.data())
def test_equal_rows_are_equal_in_python(values: st.SearchStrategy[Any], kind: pa.DataType, data: st.DataObject) -> None:
    pairs = data.draw(st.lists(st.tuples(values, values) | values.map(lambda one: (one, one)), max_size=6))
    one, other = (pa.array([pair[side] for pair in pairs], kind) for side in (0, 1))
    start = data.draw(st.integers(0, len(pairs)))
    want = [mine == yours for mine, yours in pairs[start:]]
    assert equal_rows(one.slice(start), other.slice(start)).to_pylist() == want


@given(st.text("ab", max_size=20), st.text("ab", max_size=20), st.integers(0, 20))
def test_prefixes_and_suffixes(one: str, other: str, most: int) -> None:
    assert common_prefix(one, other) == len(alike(one, other))
    assert common_suffix(one, other, most) == min(most, len(alike(one[::-1], other[::-1])))


@given(st.text("ab \n", max_size=60), st.text("ab \n", max_size=60))
def test_what_isnt_marked_is_equal(one: str, other: str) -> None:
    def unmarked(text: str, marks: list[tuple[int, int, str]]) -> str:
        return "".join(character for at, character in enumerate(text) if not any(s <= at < e for s, e, _ in marks))

    removed, added = changes(one, other)
    assert unmarked(one, removed) == unmarked(other, added)
    assert bool(removed or added) == (one != other)


def test_a_megabyte_doesnt_hang() -> None:
    rows = [("ab " * 400_000, "ba " * 400_000), ("a" * 1_000_000, "a" * 500_000 + "b" + "a" * 499_999)]
    rows.append(("x\n" * 500_000, "x\n" * 499_999 + "y\n"))
    start = time.monotonic()
    found = pp.diff(*(pa.table({"prompt": [row[side] for row in rows]}) for side in (0, 1)))
    assert found.rows["start"].to_pylist() == [0, 500_000, 999_998]
    assert len(str(found)) < 20_000
    assert len(found._repr_html_()) < 40_000
    assert time.monotonic() - start < 20


def test_windows_keep_origins() -> None:
    a = [Piece("x" * 1000, "prompt_template"), Piece("one", "field", "q"), Piece("y" * 1000, "meta_template")]
    b = [Piece("x" * 1000, "prompt_template"), Piece("two", "field", "q"), Piece("y" * 1000, "meta_template")]
    mine, _ = windows(a, b)
    assert [(len(piece.text), piece.source) for piece in mine.pieces] == [
        (160, "prompt_template"), (3, "field"), (160, "meta_template"),
    ]  # fmt: skip
    assert (mine.before, mine.after, mine.marks) == (840, 840, ((160, 163, "removed"),))


# ---------------------------------------------------------------------------------------------------------------------
# The command.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pq.write_table(SAMPLES, "data.parquet")
    for name, side in SIDES.items():
        Path(f"{name.replace(' ', '_')}.json").write_text(json.dumps({**side, "reader": READER}))
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *arguments: str, code: int) -> str:
    assert main(["diff", *arguments]) == code
    out, err = capsys.readouterr()
    return out if code < 2 else err


@pytest.mark.usefixtures("folder")
def test_the_command_tells_whether_there_is_a_difference(capsys: pytest.CaptureFixture[str]) -> None:
    data = ("--data", "data.parquet")
    assert told(capsys, "text.json", "large.json", *data, code=0) == f"{len(SAMPLES)} requests compared, none differs\n"
    out = told(capsys, "text.json", *data, "--substitution-b", "single_pass", code=1)
    assert out.startswith(f"{len(SAMPLES)} requests compared, 2 differ\n\n── row 1\n")
    assert "byte 7, character 7 - A: masked answer, column a; B: column q\n" in out
    assert "- Q: see [--]" not in out
    assert "+ Q: see {+{a}+}" in out
    assert "and 1 more" in told(capsys, "text.json", *data, "--substitution-b=single_pass", "--max=1", code=1)


@pytest.mark.usefixtures("folder")
def test_the_command_takes_rendered_files(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("text", "other_text"):
        assert main(["render", f"{name}.json", "--data", "data.parquet", "--out", f"{name}.jsonl", "--quiet"]) == 0
    data = ("--data", "data.parquet")
    assert "none differs" in told(capsys, "text.jsonl", "text.json", *data, code=0)
    assert "none differs" in told(capsys, "text.json", "text.jsonl", *data, code=0)
    out = told(capsys, "text.jsonl", "other_text.jsonl", "--max", "1", code=1)
    assert "[- -]" in out
    assert " - A:" not in out  # a file of prompts doesn't know
    assert "--data has nothing to add" in told(capsys, "text.jsonl", "other_text.jsonl", *data, code=2)
    out = told(capsys, "text.jsonl", "text.json", *data, "--substitution", "single_pass", code=1)
    assert "2 differ" in out


@pytest.mark.usefixtures("folder")
def test_the_command_speaks_json(capsys: pytest.CaptureFixture[str]) -> None:
    out = told(capsys, "text.json", "single_pass.json", "--data", "data.parquet", "--json", "--max", "1", code=1)
    found = pp.diff(renderer("text"), renderer("single pass"), SAMPLES, limit=1)
    counts = {"compared": len(SAMPLES), "different": 2, "only_a": 0, "only_b": 0}
    assert json.loads(out) == {**counts, "first": found.rows.to_pylist()}


@pytest.mark.usefixtures("folder")
def test_two_models(capsys: pytest.CaptureFixture[str]) -> None:
    Path("turns.json").write_text(json.dumps({"prompt_template": TURNS, "reader": READER}))
    for name, begin in (("one", "<user>"), ("two", "USER: ")):
        meta = {"round": [{"role": "HUMAN", "begin": begin}, {"role": "BOT", "begin": "<bot>", "generate": True}]}
        Path(f"{name}.json").write_text(json.dumps({"type": "HuggingFace", "meta_template": meta}))
    out = told(
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
    out = told(capsys, "--template", "Q: {q}", "--template-b", "Question: {q}", *data, code=1)
    assert "+ Q{+uestion+}: 1+1=?" in out
    hidden = ("--output-column-b", "a")
    assert "none differs" in told(capsys, "text.json", "--template-b", "Q: {q}\nA: {a}", *hidden, *data, code=0)
    assert "differ" in told(capsys, "--template", "Q: {q}", *data, "--system-b", "Be kind.", code=1)
    assert "both sides are the same" in told(capsys, "--template", "Q: {q}", *data, code=2)
    assert "neither A nor --template" in told(capsys, *data, code=2)
    assert "--template beside" in told(capsys, "text.json", "--template", "x", "--mode-b", "gen", *data, code=2)


@pytest.mark.usefixtures("folder")
def test_samples_from_standard_input() -> None:
    command = [*COMMAND, "diff", "--template", "Q: {q}", "--template-b", "Q:{q}", "--data", "-", "--data-format", "csv"]
    done = subprocess.run(command, input=b"q\n1+1\n2+2\n", capture_output=True, check=False)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith(b"2 requests compared, 2 differ\n")


@pytest.mark.usefixtures("folder")
def test_both_sides_cant_be_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert "both sides are the same" in told(capsys, "text.json", "--data", "data.parquet", code=2)
    assert "2 operands come first" in told(capsys, "a.json", "b.json", "c.json", code=2)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("columns", [80, 120, 60])
def test_at_a_terminal(columns: int) -> None:
    command = [*COMMAND, "diff", "text.json", "other_text.json", "--data", "data.parquet", "--max", "20", "--quiet"]
    out = in_terminal(command, columns=columns, code=1)
    plain = SGR.sub("", out)
    assert not CONTROLS.search(plain)
    assert max(cells(line) for line in plain.splitlines()) <= columns
    assert (" | " in plain) == (columns >= 80)
    assert "\x1b[34;41;97m \x1b[0m" in out
    if columns >= 80:
        sides = {cells(line.partition(" | ")[0]) for line in plain.splitlines() if " | " in line}
        assert sides == {(columns - 3) // 2}


@pytest.mark.usefixtures("folder")
def test_where_only_ascii_can_be_written() -> None:
    plain = {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii:strict"}
    command = [*COMMAND, "diff", "text.json", "list.json", "--data", "data.parquet", "--max", "20", "--whitespace"]
    done = subprocess.run(command, capture_output=True, check=False, env={**os.environ, **plain})
    assert done.returncode == 1, done.stderr
    assert done.stdout.isascii()
    assert not CONTROLS.search(done.stdout.decode())
    assert re.search(rb"-- row 2\n", done.stdout)


@pytest.mark.parametrize("other", ["", "text", [{"role": "user", "prompt": "x"}]])
def test_a_request_that_isnt_there_is_told_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], other: Any
) -> None:
    sides = [str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")]
    kind = pa.array([other]).type
    pq.write_table(pa.table({"prompt": pa.array([other, None], kind)}), sides[0])
    pq.write_table(pa.table({"prompt": pa.array([None, None], kind)}), sides[1])
    found = pp.diff(*(pq.read_table(side) for side in sides))
    assert found.rows["change"].to_pylist() == ["null"]
    assert main(["diff", *sides]) == 1
    out = capsys.readouterr().out
    assert "no prompt on one side" in out
    assert "+ (no prompt)" in out
    assert "equal)" not in out
