"""Conversations in files of JSON: rendered as Python's own values of the same lines are."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promptpress_workbench.cli import main
from promptpress_workbench.files.read import json_rows

pytest.importorskip("jinja2")

pytestmark = pytest.mark.filterwarnings("ignore::promptpress.PromptWarning")

SOURCE = (
    "{% for m in messages %}{{ m | tojson }}"
    "{% for p in m.content if p is mapping %}{{ 'image' in p }}{% endfor %}{% endfor %}"
)


def value(random: Random, depth: int) -> Any:
    """A value of JSON."""
    kind = random.randrange(9 if depth else 7)
    if kind < 7:
        return [None, True, 1, 1.0, -2.5, "", 'a "quoted" é\u2028\n'][kind]
    if kind == 7:
        return [value(random, depth - 1) for _ in range(random.randint(0, 3))]
    return {random.choice("abc{"): value(random, depth - 1) for _ in range(random.randint(0, 3))}


def conversation(random: Random, is_odd: bool) -> list[dict[str, Any]]:
    """Messages; odd ones have parts, calls and contents of several kinds."""
    messages = []
    for _ in range(random.randint(1, 3)):
        message: dict[str, Any] = {"role": random.choice(["user", "assistant"]), "content": "Hi."}
        if is_odd and random.random() < 0.7:
            message["content"] = random.choice(
                [None, "a", [{"type": "text", "text": "t"}, {"image": 1}], [value(random, 2)]]
            )
        if is_odd and random.random() < 0.4:
            message["tool_calls"] = [{"name": "f", "arguments": value(random, 3)}]
        messages.append(message)
    return messages


def rows_of(random: Random) -> list[dict[str, Any]]:
    """Rows, of which all, none or the last are odd."""
    count, odd = random.randint(1, 12), random.choice(["all", "none", "last"])
    return [
        {"id": n, "messages": conversation(random, odd == "all" or (odd == "last" and n == count - 1)), "q": "x"}
        for n in range(count)
    ]


def write(folder: Path, rows: list[dict[str, Any]]) -> list[Path]:
    """Write rows in both formats."""
    lines = folder / "rows.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    array = folder / "rows.json"
    array.write_text(json.dumps(rows, indent=1, ensure_ascii=False), encoding="utf-8")
    return [lines, array]


@pytest.mark.parametrize("start", range(0, 120, 40))
def test_random_conversations(start: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chat = pp.ChatTemplate(SOURCE)
    for seed in range(start, start + 40):
        random = Random(seed)
        size = random.choice([1, 100, 1 << 24])
        monkeypatch.setattr(json_rows, "_BLOCK_BYTES", size)
        rows = rows_of(random)
        wanted = chat.render(rows, errors="column")["prompt"].to_pylist()
        for path in write(tmp_path, rows):
            assert chat.render(path, errors="column")["prompt"].to_pylist() == wanted, (seed, path.name)
            stream = chat.stream(path, keep=["id"], errors="column").read_all()
            assert stream["prompt"].to_pylist() == wanted
            assert stream["id"].to_pylist() == [row["id"] for row in rows]


COMMANDS = ["render --out out.jsonl", "show --row 0-1", "stats", "audit --fail-on never", "view --html out.html"]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("chat_template.jinja").write_text(SOURCE, encoding="utf-8")
    call = {"name": "f", "arguments": {"a": 1}}
    parts = [{"type": "text", "text": "t"}, {"image": 1}]
    rows = [
        {"messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": parts}]},
        {"messages": [{"role": "assistant", "tool_calls": [call, {**call, "arguments": {"b": 2.5}}]}]},
    ]
    write(tmp_path, rows)
    assert main([*command.split(), "--chat-template", ".", "--data", "rows.jsonl"]) == 0
    if command.startswith("render"):
        texts = [json.loads(line)["prompt"] for line in Path("out.jsonl").read_text(encoding="utf-8").splitlines()]
        assert texts == pp.ChatTemplate(SOURCE).render(rows)["prompt"].to_pylist()
        assert '"arguments": {"a": 1}' in texts[1]
    elif command.startswith("show"):
        assert '"arguments": {"a": 1}}' in capsys.readouterr().out


def test_several_files_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("chat_template.jinja").write_text(SOURCE, encoding="utf-8")
    plain = {"messages": [{"role": "user", "content": "Hi."}]}
    odd = {"messages": [{"role": "user", "content": [{"a": 1}, {"b": 2}]}]}
    Path("a.jsonl").write_text(json.dumps(plain) + "\n")
    Path("b.jsonl").write_text(json.dumps(odd) + "\n")
    arguments = ["--chat-template", ".", "--data", "a.jsonl", "b.jsonl", "--out", "out.jsonl", "--quiet"]
    assert main(["render", *arguments]) == 0
    texts = [json.loads(line)["prompt"] for line in Path("out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert texts == pp.ChatTemplate(SOURCE).render([plain, odd])["prompt"].to_pylist()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['{"messages": [{}]}', '{"messages": [{"role": nul}]}'], "row 1"),
        (['{"messages": []}', '{"messages": [{"a": [1}], "q": 1}'], "2: not valid JSON"),
        (['{"messages": [{"a": [1]}, {"a": 2}]}', "[1]"], "2: a list, not an object"),
    ],
)
def test_faults_are_named(lines: list[str], message: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(pp.RenderError, match=message):
        pp.ChatTemplate(SOURCE).render(path)


def test_a_line_may_be_a_conversation(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    talks = [TEXT["messages"], IMAGE["messages"]]
    path.write_text("".join(json.dumps(talk) + "\n" for talk in talks), encoding="utf-8")
    wanted = pp.ChatTemplate(SOURCE).render([TEXT, IMAGE])["prompt"].to_pylist()
    assert pp.ChatTemplate(SOURCE).render(path)["prompt"].to_pylist() == wanted


TEXT = {"messages": [{"role": "user", "content": [{"type": "text", "text": "t"}]}]}
IMAGE = {"messages": [{"role": "user", "content": [{"type": "image", "image": "i"}]}]}
PLAIN = {"messages": [{"role": "user", "content": "Hi."}]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a chat template and files of odd conversations."""
    monkeypatch.chdir(tmp_path)
    Path("chat_template.jinja").write_text(SOURCE, encoding="utf-8")
    files = {"text": [TEXT], "image": [IMAGE], "plain": [PLAIN], "odd": [TEXT, IMAGE]}
    for name, rows in files.items():
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return tmp_path


def rendered(*files: str) -> list[str]:
    arguments = ["--chat-template", ".", "--data", *files, "--out", "out.jsonl", "--quiet"]
    assert main(["render", *arguments]) == 0
    return [json.loads(line)["prompt"] for line in Path("out.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("names", [("text", "image"), ("image", "text"), ("text", "plain"), ("plain", "image", "text")])
def test_files_of_one_type_each(names: tuple[str, ...]) -> None:
    """Each file by itself has a type, which would get the keys of the others."""
    rows = [{"text": TEXT, "image": IMAGE, "plain": PLAIN}[name] for name in names]
    wanted = pp.ChatTemplate(SOURCE).render(rows)["prompt"].to_pylist()
    assert rendered(*(f"{name}.jsonl" for name in names)) == wanted


@pytest.mark.usefixtures("folder")
def test_a_byte_order_mark() -> None:
    content = Path("odd.jsonl").read_bytes()
    Path("marked.jsonl").write_bytes(b"\xef\xbb\xbf" + content)
    assert rendered("marked.jsonl") == rendered("odd.jsonl")


@pytest.mark.usefixtures("folder")
def test_files_of_other_formats_have_the_types_of_arrow() -> None:
    table = pa.Table.from_pylist([TEXT, IMAGE])
    pq.write_table(table, "odd.parquet")
    texts = rendered("odd.parquet", "odd.jsonl")
    assert texts == pp.ChatTemplate(SOURCE).render(table)["prompt"].to_pylist() * 2


@pytest.mark.usefixtures("folder")
def test_an_audit_finds_what_json_escapes() -> None:
    odd = {"messages": [{"role": "user", "content": "a \u202e \u200b \x01"}]}
    chat = pp.ChatTemplate("{% for m in messages %}{{ m.content if m.content is string }}{% endfor %}")
    alone, among = (set(chat.audit(rows)["code"].to_pylist()) for rows in ([odd], [odd, TEXT, IMAGE]))
    wanted = {"control_character", "bidi_character", "invisible_character"}
    assert wanted <= alone
    assert wanted <= among
    Path("audit.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [odd, TEXT, IMAGE]), encoding="utf-8")
    assert wanted <= set(chat.audit("audit.jsonl")["code"].to_pylist())


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", ["render --out out.jsonl", "show", "stats", "audit"])
def test_a_condition_is_of_types_of_arrow(command: str, capsys: Any) -> None:
    talks = [{**TEXT, "id": 2}, {"messages": TEXT["messages"] * 2, "id": 2.5}, {**IMAGE, "id": None}]
    Path("where.jsonl").write_text("".join(json.dumps(row) + "\n" for row in talks), encoding="utf-8")
    for where in ("len(messages) > 1", "id > 2"):
        assert main([*command.split(), "--chat-template", ".", "--where", where, "--data", "where.jsonl"]) == 0
        out, err = capsys.readouterr()
        if command == "audit":
            assert "in 1 row" in err
        elif command == "render --out out.jsonl":
            assert "1 row," in err
        else:
            assert "1" in out


@pytest.mark.usefixtures("folder")
def test_a_condition_on_values_of_several_kinds(capsys: Any) -> None:
    Path("kinds.jsonl").write_text('{"q": 1}\n{"q": "x"}\n{"q": [2]}\n', encoding="utf-8")
    arguments = ["render", "--template", "{q}", "--data", "kinds.jsonl", "--out", "-", "--quiet", "--where"]
    assert main([*arguments, "q = 1"]) == 2
    assert "values of several kinds, which have no type in SQL" in capsys.readouterr().err
    assert main([*arguments, "q->>'$' = 'x'"]) == 0
    assert capsys.readouterr().out == '{"prompt": "x"}\n'


@pytest.mark.usefixtures("folder")
def test_differences_are_of_the_texts_that_are_rendered(capsys: Any) -> None:
    a, b = pp.ChatTemplate(SOURCE), pp.ChatTemplate(SOURCE + "!")
    for samples in ("odd.jsonl", [TEXT, IMAGE]):
        text = str(pp.diff(a, b, samples))
        assert "null" not in text
    arguments = ["diff", "--chat-template", ".", "--data", "odd.jsonl"]
    assert main([*arguments, "--jinja-b", "{{ messages[0].content[0].text }}"]) == 1
    assert "str object" not in capsys.readouterr().err
