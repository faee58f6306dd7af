"""`--where`, `--sample` and `--seed`: which rows are rendered, and which numbers they have."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promptpress._errors.file_errors import DataError, UsageError
from promptpress_workbench.cli import main
from promptpress_workbench.files.read.formats import RowChoice
from promptpress_workbench.files.read.row_filter import RowFilter
from promptpress_workbench.files.read.samples import ChosenRows, sampled_rows

ROWS = 300
LEVELS = [None if n % 11 == 0 else n % 7 for n in range(ROWS)]
SAMPLES = pa.table({"q": [f"number {n}" for n in range(ROWS)], "level": LEVELS, "a": [str(n % 3) for n in range(ROWS)]})
TEMPLATE = ("--template", "Q: {q}", "--quiet")

CONDITIONS: dict[str, Callable[[int], bool]] = {
    "level > 3": lambda n: (LEVELS[n] or 0) > 3,
    "level IS NULL OR a = '2'": lambda n: LEVELS[n] is None or n % 3 == 2,
    "NOT level BETWEEN 1 AND 5": lambda n: LEVELS[n] in (0, 6),
    "Q LIKE '%7' AND level IN (1, 2)": lambda n: n % 10 == 7 and LEVELS[n] in (1, 2),
    "len(q) = 8": lambda n: n < 10,
    "level = 100": lambda _: False,
    "true": lambda _: True,
    "level": lambda n: bool(LEVELS[n]),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pq.write_table(SAMPLES, "data.parquet", row_group_size=70)
    with Path("data.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in SAMPLES.to_pylist())
    return tmp_path


def rendered(*arguments: str, code: int = 0) -> list[dict[str, Any]]:
    assert main(["render", *TEMPLATE, "--out", "out.jsonl", "--index", "row", *arguments]) == code
    return [json.loads(line) for line in Path("out.jsonl").read_text(encoding="utf-8").splitlines()]


def output(rows: list[int]) -> list[dict[str, Any]]:
    return [{"row": row, "prompt": f"Q: number {row}"} for row in rows]


@pytest.mark.parametrize("data", ["data.parquet", "data.jsonl"])
@pytest.mark.parametrize("condition", [name for name in CONDITIONS if name != "level"])
def test_rows_are_those_for_which_the_condition_holds(condition: str, data: str) -> None:
    chosen = [row for row in range(ROWS) if CONDITIONS[condition](row)]
    for size in ("1000", "37"):
        options = ("--data", data, "--where", condition, "--batch-size", size)
        assert rendered(*options) == output(chosen)
        assert rendered(*options, "--limit", "5") == output(chosen[:5])
        drawn = sorted(random.Random(3).sample(chosen, min(4, len(chosen))))
        assert rendered(*options, "--sample", "4", "--seed", "3") == output(drawn)


def test_a_sample_is_the_same_for_each_batch_size_and_format() -> None:
    expected = output([20, 132, 155, 183, 197, 207, 215, 244, 248, 261])  # the same on each machine and Python
    for data in ("data.parquet", "data.jsonl"):
        for size in ("1", "64", "100000"):
            assert rendered("--data", data, "--sample", "10", "--batch-size", size) == expected
    assert len(rendered("--data", data, "--sample", "1000")) == ROWS
    assert {row["row"] for row in rendered("--data", data, "--limit", "20", "--sample", "5")} < set(range(20))


def test_random_choices_of_random_batches() -> None:
    generator = random.Random(5)
    for _ in range(60):
        rows = generator.randrange(1, 60)
        levels = [generator.choice([None, 0, 1, 2]) for _ in range(rows)]
        table = pa.table({"n": list(range(rows)), "level": levels, "s": pa.array(map(str, levels), pa.string_view())})
        chosen = [row for row in range(rows) if levels[row] == 1]
        limit = generator.choice([None, generator.randrange(10)])
        sample = generator.choice([None, generator.randrange(1, 10)])
        expected = chosen[:limit]
        if sample is not None:
            expected = [expected[position] for position in sampled_rows(len(expected), sample, 7)]
        batches = table.to_batches(max_chunksize=generator.randrange(1, 20))
        choice = ChosenRows(RowChoice("s = '1'", sample, 7), limit, table.schema, lambda: iter(batches), rows)  # noqa: B023
        assert [n for batch in choice.batches() for n in batch["n"].to_pylist()] == expected
        assert [choice.number(position) for position in range(len(expected))] == expected
        positions = pa.array([*range(len(expected)), None] if expected else [], pa.int64())
        assert choice.numbers(positions).to_pylist() == [*expected, None][: len(positions)]
        assert [choice.position(row) for row in range(rows)] == [
            expected.index(row) if row in expected else None for row in range(rows)
        ]


@pytest.mark.parametrize(
    ("condition", "excerpt"),
    [
        ("lvel > 3", "--where lvel > 3: there is no column 'lvel'; did you mean 'level'?"),
        ('level > 3 AND a = "1"', "a text is in single quotes: '1'"),
        ("level > 3 AND )", 'syntax error at or near ")", character 15'),
        ("'é' > a )", 'syntax error at or near ")", character 9'),
        ("a > 1", "Cannot compare values of type VARCHAR"),
        ("level > 1, a = '2'", "AND and OR join several conditions"),
        ("q", "it gives VARCHAR, and a condition is true or false"),
        ("random() < 0.1", "random() isn't the same in each run; --sample N draws rows"),
        ("level > (SELECT 1)", "a query within it reads other rows than its own"),
        ("avg(level) > 1", "aggregates"),
        ("row_number() OVER () > 1", "a window reads other rows than its own"),
        ("* > 1", "name the columns that it depends on"),
        ("nofunction(q)", "nofunction"),
        ("level = 'a'", "Could not convert string 'a' to INT64; 'level' is int64"),
        ("level = ?", "a placeholder stands for a value that nothing gives"),
        ("level = $name", "a placeholder stands for a value that nothing gives"),
        ("#1 > 2", "columns have names here, no numbers"),
        ("regexp_matches(q, '(')", "missing )"),
        ("'x'::DATE > DATE '2020-01-01'", "x"),
        ("age(TIMESTAMP '2020-01-01') > INTERVAL 1 DAY", "age() isn't the same in each run; age(A, B) is between two"),
        ("now() > TIMESTAMP '2020-01-01'", "now() isn't the same in each run"),
        ("CURRENT_DATE > DATE '2020-01-01'", "CURRENT_DATE isn't the same in each run"),
        ("current_timestamp > TIMESTAMP '2020-01-01'", "current_timestamp isn't the same in each run"),
        ("today() > DATE '2020-01-01'", "today() isn't the same in each run"),
        ("uuid()::VARCHAR > q", "uuid() isn't the same in each run"),
        ("pg_postmaster_start_time() > TIMESTAMP '2020-01-01'", "isn't the same in each run"),
    ],
)
def test_wrong_conditions(condition: str, excerpt: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", *TEMPLATE, "--data", "data.jsonl", "--out", "out.jsonl", "--where", condition]) == 2
    error = capsys.readouterr().err
    assert excerpt in error
    assert len(error.splitlines()) == 1
    assert not Path("out.jsonl").exists()


def test_values_that_a_condition_cannot_be_evaluated_for() -> None:
    assert main(["render", *TEMPLATE, "--data", "data.jsonl", "--out", "out.jsonl", "--where", "q::INT > 1"]) == 4
    filtered = RowFilter("CAST(n AS INT) = 1", pa.schema({"n": pa.string()}))
    with pytest.raises(DataError, match=r"Could not convert string 'x'.*TRY_CAST gives null"):
        filtered.rows(pa.record_batch({"n": ["1", "x"]}))
    assert filtered.rows(pa.record_batch({"n": ["1", None]})).to_pylist() == [0]


@pytest.mark.parametrize(
    ("condition", "hint"),
    [
        ("CAST(n AS INT) = 1", "; TRY_CAST gives null for such a value"),
        ("CAST(COALESCE(n, '0') AS INT) = 1", "; TRY_CAST gives null for such a value"),
        ("regexp_matches('a', n)", ""),
        ("(len(n) * 4611686018427387904) % 2 = 1", ""),
    ],
)
def test_faults_of_values_have_hints_that_fit(condition: str, hint: str) -> None:
    filtered = RowFilter(condition, pa.schema({"n": pa.string()}))
    with pytest.raises(DataError) as caught:
        filtered.rows(pa.record_batch({"n": ["1", "((("]}))
    assert str(caught.value).endswith(hint)
    assert ("TRY_CAST" in str(caught.value)) == bool(hint)


ZONED = pa.array([datetime(2020, 1, 1, tzinfo=timezone.utc), datetime(2021, 6, 1, tzinfo=timezone.utc)])
TIMES = pa.record_batch(
    {
        "ts": ZONED.cast(pa.timestamp("us")),
        "d": ZONED.cast(pa.date32()),
        "tz": ZONED,
        "ny": ZONED.cast(pa.timestamp("us", "America/New_York")),
        "n": pa.array([2, 3]),
    }
)
STEADY = (
    *("EXTRACT(year FROM COLUMN) = 2021", "year(COLUMN) = 2021", "date_part('month', COLUMN) = 6"),
    *("date_trunc('year', COLUMN) > TIMESTAMP '2020-06-01'", "strftime(COLUMN, '%Y-%m-%d') = '2021-06-01'"),
    *("datediff('day', COLUMN, DATE '2021-06-02') = 1", "dayname(COLUMN) = 'Tuesday'"),
    *("age(COLUMN::TIMESTAMP, TIMESTAMP '2020-01-01') > INTERVAL 1 DAY", "COLUMN >= '2021-06-01 00:00:00'"),
    *("CAST(COLUMN AS DATE) = DATE '2021-06-01'", "COLUMN::VARCHAR LIKE '2021-06-01%'", "hour(COLUMN) + n = 3"),
    *("COLUMN + INTERVAL 1 DAY > TIMESTAMP '2021-06-01'", "list_contains(range(n), 2)", "epoch(COLUMN) > 1600000000"),
    *("time_bucket(INTERVAL 1 MONTH, COLUMN) = TIMESTAMP '2021-06-01'", "COLUMN BETWEEN '2021-06-01' AND '2021-06-02'"),
    *("make_timestamp(n, 1, 1, 0, 0, 0) < COLUMN AND n = 3", "COLUMN::TIMESTAMPTZ = TIMESTAMPTZ '2021-06-01 00:00:00'"),
)
"""Conditions that hold for the second row alone, in UTC."""


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata", "Pacific/Auckland"])
def test_conditions_on_times_are_the_same_in_each_time_zone(zone: str) -> None:
    """DuckDB reads the zone of the process once, so each zone has a process."""
    source = (
        "import test_row_choice as tests; from promptpress_workbench.files.read.row_filter import RowFilter\n"
        "for name in ('ts', 'tz', 'ny', 'd'):\n"
        "    given = [text for text in tests.STEADY if name != 'd' or 'hour' not in text]\n"
        "    given = [f'({text})'.replace('COLUMN', name) for text in given]\n"
        "    for condition in (' AND '.join(given), ' OR '.join(given)):\n"
        "        rows = RowFilter(condition, tests.TIMES.schema).rows(tests.TIMES).to_pylist()\n"
        "        if rows != [1]: print(condition, rows)\n"
    )
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = {**os.environ, "TZ": zone, "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, env=environment, check=False)
    assert (done.stdout, done.stderr) == ("", "")


FIELDS = pa.array([{"x": 1, "X": 2, "y": {"a": 1, "A": 2}}, None, {"x": 2, "X": 1, "y": {"a": 2, "A": 1}}])


@pytest.mark.parametrize("slices", [False, True])
@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("m.x = 1", [0]),
        ("m.X = 1", [2]),
        ("M.X = 1", [2]),
        ("m['X'] = 1", [2]),
        ("(m).X = 1", [2]),
        ("m.y.A = 1", [2]),
        ("m['y'].a = 1", [0]),
        ("m.X = 1 AND m.y.A = 1", [2]),
        ("m.X IS NULL", [1]),
        ("m.x = 1 AND m.X = 2", None),
        ("m.y IS NULL", None),
        ("m IS NULL", None),
        ("m::VARCHAR LIKE '%x%'", None),
        ("struct_extract(m, 'X') = 1", None),
        ("l[1].x = 1", None),
        ("len(list_filter(l, lambda e: e.X = 1)) = 1", None),
    ],
)
def test_fields_that_differ_in_case_alone(condition: str, rows: list[int] | None, *, slices: bool) -> None:
    """A field is told from another one, or the condition is refused."""
    batch = pa.record_batch({"m": FIELDS, "l": pa.array([[row] for row in FIELDS.to_pylist()])})
    if rows is None:
        with pytest.raises(UsageError, match=r"doesn't tell the fields '[xa]' and '[XA]' apart"):
            RowFilter(condition, batch.schema)
        return
    if slices:
        batch, rows = batch.slice(1), [row - 1 for row in rows if row]
    assert RowFilter(condition, batch.schema).rows(batch).to_pylist() == rows


def test_arrows_into_json() -> None:
    batch = pa.record_batch({"m": ['{"X": 1, "x": 2}', '{"x": 1}'], "x": [1, 2]})
    assert RowFilter("(m->>'X')::INT = 1", batch.schema).rows(batch).to_pylist() == [0]
    assert RowFilter("(m->'x') = '1'", batch.schema).rows(batch).to_pylist() == [1]
    assert RowFilter("len(list_filter([1, 2], lambda X: x > 1)) = 1 AND x = 2", batch.schema).rows(
        batch
    ).to_pylist() == [1]


def test_columns_of_all_types_stay_as_they_are() -> None:
    columns = {
        "n": pa.array([1, 2, 3, 4]),
        "half": pa.array([1.0, 2.0, None, 4.0]).cast(pa.float16()),
        "view": pa.array(["a", None, "c", "d"], pa.string_view()),
        "list": pa.array([[{"x": 1}], [], None, [{"x": 2}, {"x": None}]]),
        "words": pa.array(["a", "b", "a", None]).dictionary_encode(),
    }
    table = pa.table(columns)
    chosen = ChosenRows(RowChoice("n % 2 = 0 AND words IS DISTINCT FROM 'x'"), None, table.schema, table.to_batches, 4)
    assert pa.Table.from_batches(chosen.batches(), table.schema).to_pylist() == table.to_pylist()[1::2]
    with pytest.raises(UsageError, match="DuckDB has no type for column 'half', which is halffloat"):
        RowFilter("half > 1", table.schema)


def test_names_that_differ_in_case_alone() -> None:
    schema = pa.schema({"q": pa.string(), "Q": pa.int64(), "n": pa.int64()})
    assert RowFilter("Q = 1", schema).rows(pa.record_batch({"q": ["1"], "Q": [1], "n": [0]})).to_pylist() == [0]
    assert RowFilter("N = 0", schema).rows(pa.record_batch({"q": ["1"], "Q": [1], "n": [0]})).to_pylist() == [0]
    with pytest.raises(UsageError, match="doesn't tell the columns 'Q' and 'q' apart"):
        RowFilter("Q = 1 AND q = '1'", schema)
    assert RowFilter("len(list_filter([1, 2], lambda x: x > n)) = 2", schema)


def test_a_condition_reads_no_files() -> None:
    with pytest.raises(UsageError, match=r"a query within it"):
        RowFilter("q IN (SELECT content FROM read_text('/etc/hostname'))", SAMPLES.schema)


def test_rows_keep_their_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    bad = SAMPLES.set_column(
        0, "q", pa.array([b"\xff" if n == 200 else b"fine" for n in range(ROWS)]).cast(pa.binary())
    )
    pq.write_table(bad.set_column(0, "q", bad["q"].cast(pa.string(), safe=False)), "bad.parquet")
    options = ("--template", "{q}", "--data", "bad.parquet", "--where", "level = 4", "--batch-size", "50")
    assert main(["render", "--out", "-", *options]) == 4
    assert "row 200" in capsys.readouterr().err
    assert main(["stats", *options, "--json"]) == 0
    assert [kind["first_rows"] for kind in json.loads(capsys.readouterr().out)["errors"]] == [[200]]
    assert main(["audit", *options]) == 1
    assert "unrenderable_row  1 row: 200" in capsys.readouterr().out
    assert main(["show", *options[:4], "--failed", "--where", "level = 4"]) == 0
    assert "row 200 · no prompt: " in capsys.readouterr().out
    options = ("--template", "Q: {q}", "--data", "data.jsonl", "--where", "level = 4 AND a = '2'")
    chosen = [row for row in range(ROWS) if LEVELS[row] == 4 and row % 3 == 2]
    assert main(["show", *options]) == 0
    assert capsys.readouterr().out.startswith(f"── row {chosen[0]} ·")
    assert main(["show", *options, "--row", str(chosen[3])]) == 0
    assert f"row {chosen[3]} " in (printed := capsys.readouterr().out)
    assert f"Q: number {chosen[3]}\n" in printed
    assert main(["show", *options, "--row", "0"]) == 4
    assert "row 0: the row isn't among the chosen ones" in capsys.readouterr().err
    assert main(["show", *options, "--longest", "1"]) == 0
    assert "Q: number" in capsys.readouterr().out
    assert main(["stats", *options, "--json"]) == 0
    statistics = json.loads(capsys.readouterr().out)
    assert statistics["requests"] == len(chosen)
    assert {row["sample"] for row in statistics["shortest"]} <= set(chosen)
    assert main(["diff", *options, "--template-b", "{q}", "--json"]) == 1
    assert [row["sample"] for row in json.loads(capsys.readouterr().out)["first"]] == chosen[:3]


def test_rows_of_findings_and_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    values = [f"see {{a}} {n % 5}" if n % 10 == 4 else "none" for n in range(100)]
    pq.write_table(pa.table({"q": values, "a": ["x"] * 100, "n": list(range(100))}), "filled.parquet")
    options = ("--template", "{q}", "--substitution", "harness", "--data", "filled.parquet", "--where", "n > 20")
    assert main(["audit", *options, "--format", "json", "--fail-on", "never"]) == 0
    findings = {finding["code"]: finding for finding in json.loads(capsys.readouterr().out)}
    assert findings["placeholder_filled"]["first_rows"] == [24, 34, 44, 54, 64, 74, 84, 94]
    assert any("rows 21 and 22, say" in finding["message"] for finding in findings.values())
    assert main(["audit", *options, "--fail-on", "never"]) == 0
    assert "--substitution harness --where 'n > 20' --row 24" in capsys.readouterr().out
    assert main(["render", *options, "--out", "out.jsonl"]) == 0
    assert "in 8 of 79 rows, values were filled in as templates, first in row 24," in capsys.readouterr().err


def test_exports_and_joins_of_chosen_rows() -> None:
    options = ("--template", "Q: {q}", "--data", "data.jsonl", "--quiet")
    words = ("export", "openai-batch", "--model-name", "m", "--out", "requests.jsonl")
    assert main([*words, *options, "--sample", "3"]) == 0
    ids = [json.loads(line)["custom_id"] for line in Path("requests.jsonl").read_text(encoding="utf-8").splitlines()]
    assert ids == [str(row) for row in sampled_rows(ROWS, 3, 0)]


def test_runs_that_go_on() -> None:
    options = ("--data", "data.jsonl", "--where", "level = 4", "--resume", "--batch-size", "20")
    chosen = [row for row in range(ROWS) if LEVELS[row] == 4]
    assert rendered(*options) == output(chosen)


def test_all_datasets_of_a_configuration() -> None:
    config = {"abbr": "d", "reader_cfg": {"input_columns": ["q"], "output_column": "a"}}
    config["infer_cfg"] = {"prompt_template": {"type": "PromptTemplate", "template": "Q: {q}"}}
    Path("config.json").write_text(json.dumps({"datasets": [config]}), encoding="utf-8")
    words = ["render", "config.json", "--dataset", "all", "--data", "d=data.jsonl", "--out", "many/", "--quiet"]
    assert main([*words, "--where", "level = 4", "--sample", "5"]) == 0
    assert len(Path("many/d.jsonl").read_text(encoding="utf-8").splitlines()) == 5


def test_a_seed_needs_a_sample(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (("render", "--out", "-"), ("stats",), ("show",)):
        assert main([*command, "--template", "{q}", "--data", "data.jsonl", "--seed", "1"]) == 2
        assert "--seed: goes with --sample N" in capsys.readouterr().err


def test_where_without_duckdb(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    assert main(["render", *TEMPLATE, "--data", "data.jsonl", "--out", "-", "--where", "true"]) == 2
    assert "pip install 'promptpress[where]'" in capsys.readouterr().err


def test_the_page_has_the_chosen_rows() -> None:
    words = ["view", "--template", "Q: {q}", "--data", "data.jsonl", "--html", "page.html", "--quiet"]
    assert main([*words, "--where", "level = 4", "--sample", "3"]) == 0
    page = Path("page.html").read_text(encoding="utf-8")
    rows = [row for row in range(ROWS) if LEVELS[row] == 4]
    chosen = [rows[position] for position in sampled_rows(len(rows), 3, 0)]
    assert all(f"number {row}" in page for row in chosen)


@pytest.mark.parametrize(
    "command",
    [
        ["render", "--out", "out.jsonl"],
        ["export", "openai-batch", "--model-name", "m", "--out", "out.jsonl"],
        ["export", "ray", "--out", "out.parquet"],
        ["stats"],
        ["audit"],
        ["diff", "--template-b", "{q}"],
        ["show"],
        ["show", "--grep", "a"],
    ],
    ids=" ".join,
)
def test_a_condition_that_holds_for_no_row(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--template", "Q: {q}", "--data", "data.parquet"]
    assert main([*command, *given, "--where", "level > 1000"]) == (4 if command[0] == "show" else 0)
    error = capsys.readouterr().err
    assert "--where: the condition holds for no row" in error
    assert "rows are left out" not in error
    assert main([*command, *given, "--where", "level > 3"]) == (1 if command[0] == "diff" else 0)
    assert "holds for no row" not in capsys.readouterr().err
    if command[0] in ("render", "export"):
        assert main([*command, *given, "--where", "level > 1000", "--quiet"]) == 0
        assert "--where" not in capsys.readouterr().err


def test_rows_without_their_numbers_are_noted(capsys: pytest.CaptureFixture[str]) -> None:
    """Answers would be joined to other rows."""
    command = ("render", "--template", "Q: {q}", "--data", "data.parquet", "--out", "out.jsonl")
    note = "rows are left out, and no column of the output says which"
    for options in (("--where", "level > 3"), ("--sample", "5")):
        assert main([*command, *options]) == 0
        assert note in capsys.readouterr().err
        for more in (("--index", "sample"), ("--keep", "q")):
            assert main([*command, *options, *more]) == 0
            assert note not in capsys.readouterr().err
    assert main([*command, "--limit", "5"]) == 0
    assert note not in capsys.readouterr().err
    Path("more.jsonl").write_text('{"q": "a"}\n{"q": "a long one"}\n{"q": "b"}\n', encoding="utf-8")
    limited = (
        "render",
        "--template",
        "Q: {q}",
        "--data",
        "more.jsonl",
        "--out",
        "out.jsonl",
        "--limits",
        "prompt_bytes=8",
    )
    assert main([*limited, "--errors", "skip"]) == 0
    assert note in capsys.readouterr().err
