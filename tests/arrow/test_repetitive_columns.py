"""Columns of Parquet whose texts repeat come as dictionaries, and what comes out is what it was."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promptpress_workbench.cli import main
from promptpress_workbench.files.read.columnar_inputs import ParquetInput
from promptpress_workbench.files.read.samples import Samples

BATCH_ROWS = 1000
ROWS = 5 * BATCH_ROWS + 7
TEXTS = ["", "中文 🦀", '"\n\\', "a" * 300, None, "\x00\x1f\u2028", "7"]
TABLE = pa.table(
    {
        "few": [TEXTS[n % len(TEXTS)] for n in range(ROWS)],
        "many": [f"{n}: {n * n}" for n in range(ROWS)],
        "a.b": ["x"] * ROWS,
        "wide": pa.array(["y"] * ROWS, pa.large_string()),
        "inner": pa.array([{"few": "z"}] * ROWS),
        "number": [n % 3 for n in range(ROWS)],
        "nothing": pa.nulls(ROWS, pa.string()),
    }
)
NAMES = TABLE.column_names


def parquet(folder: Path, group_rows: int = ROWS, table: pa.Table = TABLE, name: str = "samples") -> str:
    path = folder / f"{name}.parquet"
    pq.write_table(table, path, row_group_size=group_rows)
    return str(path)


def dictionaries(samples: Samples, names: list[str]) -> list[str]:
    schema = samples.reader(dictionaries=names).schema
    return [field.name for field in schema if pa.types.is_dictionary(field.type)]


def test_texts_that_repeat_come_as_dictionaries_and_nothing_else_does(tmp_path: Path) -> None:
    samples = Samples([parquet(tmp_path)], batch_size=BATCH_ROWS)
    assert dictionaries(samples, NAMES) == ["few", "nothing"]
    assert dictionaries(samples, ["many", "few"]) == ["few"]
    assert dictionaries(samples, []) == []
    assert samples.schema.equals(TABLE.schema)


@pytest.mark.parametrize("group_rows", [ROWS, 2 * BATCH_ROWS, BATCH_ROWS, BATCH_ROWS + 1, 300])
@pytest.mark.parametrize("first", [0, 3 * BATCH_ROWS + 2])
def test_batches_are_those_of_plain_columns(tmp_path: Path, group_rows: int, first: int) -> None:
    samples = Samples([parquet(tmp_path, group_rows)], batch_size=BATCH_ROWS)
    plain = list(samples.reader(first=first))
    batches = list(samples.reader(first=first, dictionaries=NAMES))
    assert [batch.num_rows for batch in batches] == [batch.num_rows for batch in plain]
    assert pa.Table.from_batches(batches).to_pylist() == pa.Table.from_batches(plain).to_pylist()
    assert dictionaries(samples, ["few"]) == (["few"] if group_rows == ROWS or group_rows % BATCH_ROWS == 0 else [])


def test_all_files_have_to_repeat_them(tmp_path: Path) -> None:
    first, second = parquet(tmp_path), parquet(tmp_path, name="second")
    few = TABLE.set_column(0, "few", TABLE["many"])
    third = parquet(tmp_path, table=few, name="third")
    assert dictionaries(Samples([first, second], batch_size=BATCH_ROWS), NAMES) == ["few", "nothing"]
    assert dictionaries(Samples([first, third], batch_size=BATCH_ROWS), NAMES) == ["nothing"]
    with pa.ipc.new_file(tmp_path / "fourth.arrow", TABLE.schema) as writer:
        writer.write_table(TABLE)
    assert dictionaries(Samples([first, str(tmp_path / "fourth.arrow")], batch_size=BATCH_ROWS), NAMES) == []


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "arrow", "csv"])
@pytest.mark.parametrize("more", [[], ["--keep", "few,number"], ["--errors", "column"], ["--hashes"]])
def test_what_is_written_is_what_plain_columns_give(
    tmp_path: Path,
    suffix: str,
    more: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"prompt_template": "{few}|{many}|{number}|{a.b}|{nothing}|{wide}"}))
    out = tmp_path / f"out.{suffix}"
    given = ["render", str(config), "--data", parquet(tmp_path), "--out", str(out), "--batch-size", str(BATCH_ROWS)]
    written, logs = [], []
    for _ in range(2):
        assert main([*given, "--limit", str(ROWS - 1), *more]) == 0
        logs.append([line for line in capsys.readouterr().err.splitlines() if " in 0." not in line])
        written.append(out.read_bytes())
        monkeypatch.setattr(ParquetInput, "repetitive", lambda *_: set())
    assert written[0] == written[1]
    assert logs[0] == logs[1]


def test_a_file_that_is_deleted_is_read_to_its_end(tmp_path: Path) -> None:
    samples = Samples([parquet(tmp_path)], batch_size=BATCH_ROWS)
    shutil.rmtree(tmp_path)
    assert sum(batch.num_rows for batch in samples.reader(dictionaries=NAMES)) == ROWS
