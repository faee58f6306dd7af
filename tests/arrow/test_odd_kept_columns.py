"""Kept columns that pyarrow can't measure (its `nbytes` ends the process), or can't write to some formats."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promptpress._arrow.columns import bytes_of
from promptpress_workbench.cli import main


def hollow_union() -> pa.Array:
    """A valid union with a child of no rows that has no buffers, as files have them."""
    kind = pa.sparse_union([pa.field("a", pa.float64()), pa.field("b", pa.string())])
    children = [pa.array([], pa.float64()), pa.array([], pa.string())]
    empty = pa.Array.from_buffers(kind, 0, [None, None], children=children)
    codes, offsets = pa.array([1, 1], pa.int8()), pa.array([0, 1], pa.int32())
    column = pa.UnionArray.from_dense(codes, offsets, [empty, pa.array([5, 6])])
    column.validate(full=True)
    return column


def test_unions_without_buffers_have_a_size() -> None:
    lists = pa.ListArray.from_arrays([0, 2], hollow_union())
    table = pa.table({"x": pa.StructArray.from_arrays([lists], ["x"])})
    assert bytes_of(table) >= 2 * 8 + 2 * 4 + 2


@pytest.mark.parametrize("name", ["out.jsonl", "out.arrow"])
def test_they_pass_the_command(tmp_path: Path, name: str) -> None:
    table = pa.table({"x": hollow_union(), "q": ["one", "two"]})
    with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as file:
        file.write_table(table)
    (tmp_path / "config.json").write_text('{"prompt_template": "{q}{x}"}')
    where = [str(tmp_path / "config.json"), "--data", str(tmp_path / "in.arrow"), "--out", str(tmp_path / name)]
    assert main(["render", *where, "--keep", "q"]) == 0
    assert (tmp_path / name).stat().st_size


def test_kept_dictionaries_that_differ_are_no_arrow_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for n in (0, 1):
        column = pa.array([f"x{n}", f"y{n}"]).dictionary_encode()
        pq.write_table(pa.table({"q": ["a", "b"], "d": column}), tmp_path / f"{n}.parquet")
    files = [str(tmp_path / f"{n}.parquet") for n in (0, 1)]
    options = ["render", "--template", "{q}", "--keep", "d", "--data", *files, "--out"]
    assert main([*options, str(tmp_path / "out.arrow")]) == 5
    error = capsys.readouterr().err
    assert "'d'" in error
    assert "Parquet" in error
    assert not (tmp_path / "out.arrow").exists()
    assert main([*options, str(tmp_path / "out.jsonl")]) == 0
