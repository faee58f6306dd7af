"""Values of JSON files come out of every entrance as `json.loads` reads each line."""

from __future__ import annotations

import io
import json
import math
import re
import sys
from pathlib import Path
from random import Random
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from json_columns import rows_of
from promptpress._errors.file_errors import DataError
from promptpress_workbench.cli import main
from promptpress_workbench.files.read import json_rows
from promptpress_workbench.files.read.samples import Samples

pytestmark = pytest.mark.filterwarnings("ignore::promptpress.PromptWarning")

COLUMNS = ["q", "a b", "é", "n", "x", "late"]
SCALARS = {
    "text": ['""', '"x"', '"é 🦀"', r'"\u00e9\ud83d\ude00"', r'"a\n\"b\\\/\t"', '"[{,"', '"2020-01-01"', '"null"'],
    "bool": ["true", "false"],
    "integer": ["0", "-0", "7", "9223372036854775807", "-9223372036854775808"],
    "float": ["0.5", "-0.0", "1e22", "1E-7", "100.0", "0.1000000000000000055"],
    "long": ["9223372036854775808", "900000000000000000000000000001", "1e999", "-1e999", "NaN", "-Infinity"],
}
FAULTS = [r'"\ud800"', r'"\udc00x"', r'"\x"', '"\t"', "01", "1.", "nul", "+1", "[1,]", "{1: 2}", r'{"a": "\u12"}']
"""Values that JSON doesn't allow, or that have no text."""


def value_of(random: Random, kinds: list[str], depth: int = 2) -> str:
    """The JSON of a value, with odd white space."""
    kind = random.choice(kinds)
    if kind in SCALARS:
        return random.choice(SCALARS[kind])
    if kind == "null" or not depth:
        return "null"
    every = [*SCALARS, "null", "nested"]
    space = random.choice(["", "", " ", " \t"])
    values = [value_of(random, every, depth - 1) for _ in range(random.randint(0, 3))]
    if random.random() < 0.5:
        return f"[{space}{f'{space},'.join(values)}{space}]"
    pairs = [f'"{random.choice("abc")}"{space}:{space}{value}' for value in values]
    return f"{{{space}{f',{space}'.join(pairs)}{space}}}"


def lines_of(random: Random) -> list[str]:
    """Lines of rows, whose columns are of one kind or of several."""
    kinds = {
        name: random.choice([["text"], ["bool"], ["integer"], ["float"], ["null"], ["nested"], [*SCALARS, "nested"]])
        for name in COLUMNS
    }
    nullable = {name: random.random() < 0.5 for name in COLUMNS}
    lines = []
    for row in range(random.randint(1, 30)):
        names = [name for name in COLUMNS if random.random() < 0.9 and (name != "late" or row > 5)]
        if random.random() < 0.2:
            random.shuffle(names)
        if names and random.random() < 0.1:
            names.append(random.choice(names))  # the last one counts
        fields = []
        for name in names:
            value = "null" if nullable[name] and random.random() < 0.2 else value_of(random, kinds[name])
            key = json.dumps(name, ensure_ascii=random.random() < 0.3)
            fields.append(f"{key}{random.choice([':', ' : '])}{value}")
        lines.append("{" + random.choice([", ", ",", " ,"]).join(fields) + "}")
    return lines


def content_of(random: Random, lines: list[str], suffix: str) -> bytes:
    """The content of a file with these lines."""
    mark = random.choice(["", "\ufeff"])
    if suffix == ".json":
        return (mark + "[" + random.choice([",", ",\n", " ,\r\n "]).join(lines) + "]\n").encode()
    end = random.choice(["\n", "\r\n"])
    blanks = [line + end + random.choice(["", "", end, f" {end}"]) for line in lines]
    return (mark + "".join(blanks)).encode().removesuffix(random.choice([b"", end.encode()]))


def wanted(lines: list[str]) -> tuple[list[str], list[dict[str, Any]]]:
    """The columns in the order in which they first occur, and the rows that have all of them."""
    rows = [json.loads(line) for line in lines]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return names, [{name: row.get(name) for name in names} for row in rows]


def types_of(lines: list[str]) -> dict[str, str]:
    """The type of each column: that of its values if they are all of one scalar kind, or else JSON."""
    names, rows = wanted(lines)
    out = {}
    for name in names:
        kinds = {kind_of(row[name]) for row in rows} - {"null"}
        out[name] = "null" if not kinds else kinds.pop() if len(kinds) == 1 else "extension<arrow.json>"
    return out


def kind_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return "int64"
    if isinstance(value, float) and math.isfinite(value):
        return "double"
    return "string" if isinstance(value, str) else "extension<arrow.json>"


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Draw lines with a field, read in blocks of any size; returns them with the names and rows that they have."""

    def drawn(random: Random) -> tuple[list[str], list[str], list[dict[str, Any]]]:
        lines = lines_of(random)
        while not (result := wanted(lines))[0]:
            lines = lines_of(random)
        monkeypatch.setattr(json_rows, "_BLOCK_BYTES", random.choice([1, 3, 40, 300, 1 << 22]))
        return lines, *result

    return drawn


@pytest.mark.parametrize("start", range(0, part_of(400), 20))
def test_types_and_values(start: int, tmp_path: Path, drawn: Any) -> None:
    for seed in range(start, start + 20):
        random = Random(seed)
        lines, names, rows = drawn(random)
        for suffix in (".jsonl", ".json"):
            path = tmp_path / f"rows{suffix}"
            path.write_bytes(content_of(random, lines, suffix))
            samples = Samples([str(path)], batch_size=random.choice([1, 7, 65536]))
            table = samples.table()
            assert table.schema.names == names, (seed, suffix)
            assert repr(rows_of(table)) == repr(rows), (seed, suffix)
            if hasattr(pa, "json_"):
                assert {field.name: str(field.type) for field in table.schema} == types_of(lines)
            assert samples.num_rows == len(rows)


def finite(value: Any) -> Any:
    """A value as JSON writes it, which has no number that isn't finite."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def prompts_of(out: str) -> list[str]:
    return [json.loads(line)["prompt"] for line in out.splitlines()]


@pytest.mark.parametrize("seed", range(part_of(60)))
def test_every_entrance(
    seed: int, tmp_path: Path, drawn: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    random = Random(seed)
    lines, names, rows = drawn(random)
    name = random.choice(names)
    texts = [f"<{row[name]}>" for row in rows]
    suffix = random.choice([".jsonl", ".json"])
    content = content_of(random, lines, suffix)
    path = tmp_path / f"rows{suffix}"
    path.write_bytes(content)
    renderer = pp.Renderer(f"<{{{name}}}>")
    assert renderer.render(path)["prompt"].to_pylist() == texts
    assert renderer.stream(str(path)).read_all()["prompt"].to_pylist() == texts
    template = ["--template", f"<{{{name}}}>", "--quiet"]
    assert main(["render", *template, "--data", str(path), "--keep", "all", "--out", "-"]) == 0
    out = capsys.readouterr().out
    assert prompts_of(out) == texts
    kept = [{name: value for name, value in json.loads(line).items() if name != "prompt"} for line in out.splitlines()]
    assert repr(finite(kept)) == repr(finite(rows))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    data_format = suffix.removeprefix(".")
    assert main(["render", *template, "--data", "-", "--data-format", data_format, "--out", "-"]) == 0
    assert prompts_of(capsys.readouterr().out) == texts
    assert main(["render", *template, "--data", str(path), "--limit", "2", "--out", "-"]) == 0
    assert prompts_of(capsys.readouterr().out) == texts[:2]
    row = random.randrange(len(rows))
    assert main(["show", *template, "--data", str(path), "--row", str(row), "--color", "never"]) == 0
    output = capsys.readouterr().out
    if re.fullmatch(r"[ -~]{1,40}", texts[row]):
        assert texts[row] in output


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_a_fault_is_an_error_of_the_row_that_shows_it(
    fault: str, suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ['{"q": "a", "v": "x"}', f'{{"v": {fault}, "q": "b"}}', '{"q": "c", "v": "y"}']
    path = tmp_path / f"rows{suffix}"
    path.write_bytes(content_of(Random(0), lines, suffix))
    arguments = ["--data", str(path), "--out", "-", "--quiet"]
    assert main(["render", "--template", "{q}", *arguments]) == 0
    assert prompts_of(capsys.readouterr().out) == ["a", "b", "c"]
    assert main(["render", "--template", "{v}", *arguments, "--errors", "skip", "--keep", "q"]) in (0, 4)
    assert prompts_of(capsys.readouterr().out) == ["x", "y"]
    with pytest.raises(pp.RenderError, match='row 1, column "v"'):
        pp.Renderer("{v}").render(path)


@pytest.mark.parametrize("key", ["data", "d\\u0061ta"])
def test_rows_under_a_key(key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.json"
    path.write_text(f'{{"version": [{{"data": 1}}], "{key}": [{{"q": 1}},\n{{"q": "x"}}], "more": {{}}}}')
    arguments = ["render", "--template", "{q}", "--data", str(path), "--out", "-", "--quiet"]
    assert main(arguments) == 4
    error = capsys.readouterr().err
    assert "holds an object, where an array of objects is wanted" in error
    assert main([*arguments, "--records", "data"]) == 0
    assert prompts_of(capsys.readouterr().out) == ["1", "x"]
    assert main([*arguments, "--records", "rows"]) == 4
    assert "its object has no key 'rows'" in capsys.readouterr().err
    path.write_text('[{"q": 2}]')
    assert main([*arguments, "--records", "data"]) == 0
    assert prompts_of(capsys.readouterr().out) == ["2"]


def outcome(path: Path, line: str) -> Any:
    """The row of a file with one line, or the reason why there is none."""
    path.write_text(line + "\n", encoding="utf-8", newline="")
    try:
        return rows_of(Samples([str(path)]).table())[0]
    except (DataError, ValueError) as error:
        return error


@pytest.mark.parametrize("seed", range(part_of(20)))
def test_lines_with_a_character_that_is_wrong(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    lines = [line for line in lines_of(random) if line != "{}"]
    for _ in range(25):
        line = random.choice(lines)
        index = random.randrange(len(line))
        line = line[:index] + random.choice(["", *'{}[]",:\\ 0n\t-.eu']) + line[index + random.randint(0, 2) :]
        result = outcome(tmp_path / "row.jsonl", line)
        try:
            row = json.loads(line)
        except ValueError:
            # Another value of the line may be the one that is wrong, and this one is never decoded.
            assert isinstance(result, Exception), (line, result)
            continue
        if isinstance(row, dict) and row and not any(re.search("[\\ud800-\\udfff\\0]", name) for name in row):
            assert repr(result) == repr(row), line
        else:
            assert isinstance(result, DataError), line


def test_a_harness_has_the_types_of_its_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = ['{"v": 2, "d": {"a": 1}, "k": 1}', '{"v": 1.5, "d": {"b": null, "a": 2.5}, "k": "x"}']
    Path("rows.jsonl").write_text("\n".join(lines) + "\n")
    wanted = ["2.0 {'a': 1.0, 'b': None} 1", "1.5 {'a': 2.5, 'b': None} x"]
    exact = ["2 {'a': 1} 1", "1.5 {'b': None, 'a': 2.5} x"]
    text = "{v} {d} {k}"
    for words, texts in (({}, exact), ({"reader": {}}, wanted), ({"dialect": "opencompass"}, wanted)):
        renderer = pp.Renderer(text, **words)
        for rendered in (renderer.render("rows.jsonl"), renderer.stream("rows.jsonl").read_all()):
            assert rendered["prompt"].to_pylist() == texts
        Path("config.json").write_text(json.dumps({"prompt_template": text, **words}))
        arguments = ["config.json", "--data", "rows.jsonl", "--quiet"]
        assert main(["render", *arguments, "--out", "-"]) == 0
        assert prompts_of(capsys.readouterr().out) == texts
        assert main(["show", *arguments, "--color", "never"]) == 0
        assert texts[0] in capsys.readouterr().out
    shots: dict[str, Any] = {"ice_template": text, "reader": {"output_column": "k"}}
    shots["prompt_template"] = {"type": "PromptTemplate", "template": "</E>", "ice_token": "</E>"}
    shots["retriever"] = {"type": "FixKRetriever", "fix_id_list": [0]}
    Path("config.json").write_text(json.dumps(shots))
    assert main(["render", *arguments, "--examples", "rows.jsonl", "--out", "-"]) == 0
    assert prompts_of(capsys.readouterr().out)[0].strip() == wanted[0]
    assert pp.Renderer(**shots, examples="rows.jsonl").render("rows.jsonl")["prompt"][0].as_py().strip() == wanted[0]
