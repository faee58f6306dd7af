"""Functions of files, each by an example."""

import errno
import gzip
import io
import os
import re
from pathlib import Path

import pyarrow as pa
import pytest
from promptpress import DataError
from promptpress.engine.errors import OutputError, UsageError
from promptpress_workbench.files.read.columnar_inputs import RowGroup
from promptpress_workbench.files.read.csv_files import _typed_column
from promptpress_workbench.files.read.formats import RowChoice, find_files, input_format, natural
from promptpress_workbench.files.read.row_filter import RowFilter, path_of, without_ambiguous_fields
from promptpress_workbench.files.read.samples import ChosenRows, reading, sampled_rows
from promptpress_workbench.files.read.sources import FileState, changed, why
from promptpress_workbench.files.write.formats import check_compression, out_format
from promptpress_workbench.files.write.json_lines import LineWriter, Piece, json_text, object_pieces, slices
from promptpress_workbench.files.write.output_file import CompressedFile, bounded, output_errors, output_file
from promptpress_workbench.files.write.parts import parts_folder
from promptpress_workbench.files.write.shards import shard_name, sharded_lines
from promptpress_workbench.files.write.writers import CsvWriter
from promptpress_workbench.threads import Threads, background_writer


def test_compressed_file() -> None:
    file = io.BytesIO()
    out = CompressedFile(file, "gzip")
    assert (out.write(b"x"), out.finish(), gzip.decompress(file.getvalue())) == (1, None, b"x")


def test_parts_folder() -> None:
    assert parts_folder("/out/prompts.parquet") == "/out/.prompts.parquet.parts"


def test_csv_writer() -> None:
    batch = pa.record_batch({"id": [1, None], "prompt": ['a "b"\nc', ""]})
    file = io.BytesIO()
    CsvWriter(file, batch.schema).write_batch(batch)
    assert file.getvalue() == b'id,prompt\r\n1,"a ""b""\nc"\r\n,""\r\n'


def test_background_writer() -> None:
    written: list[str] = []
    with background_writer(written.append) as write:
        write("a batch")
    assert written == ["a batch"]


def test_check_compression() -> None:
    with pytest.raises(UsageError, match=re.escape("--compression zst: not of arrow; did you mean 'zstd'?")):
        check_compression("arrow", "zst")


def test_out_format() -> None:
    assert repr(out_format("a.jsonl.gz", None)) == "FileFormat(format='jsonl', codec='gzip')"


def test_slices() -> None:
    assert [(rows.num_rows, first) for rows, first in slices(pa.record_batch({"q": ["a", "b"]}))] == [(2, 0)]


def test_json_text() -> None:
    assert json_text([float("nan"), "é"]) == '[null, "é"]'


def test_line_writer() -> None:
    batch = pa.record_batch({"q": ["1+1=?", None]})
    writer = LineWriter(batch.schema, object_pieces([("row", Piece("row")), ("q", Piece("value", column="q"))]))
    lines = [b'{"row": 7, "q": "1+1=?"}\n', b'{"row": 8, "q": null}\n']
    assert writer.lines(batch, first_row=7)[0].to_pylist() == lines


def test_object_pieces() -> None:
    assert [piece.text for piece in object_pieces([("a", Piece("literal", "1"))])] == ['{"a": ', "1", "}\n"]


def test_shard_name() -> None:
    assert shard_name("out/batch.jsonl", 12) == "out/batch-00012.jsonl"


def test_sharded_lines(tmp_path: Path) -> None:
    with sharded_lines(f"{tmp_path}/a.jsonl", max_lines=2) as files:
        files.write(pa.array([b"1\n", b"2\n", b"3\n"], pa.large_binary()))
    assert sorted(os.listdir(tmp_path)) == ["a-00000.jsonl", "a-00001.jsonl"]


def test_output_errors() -> None:
    disk_full = re.escape("a.jsonl: No space left on device (disk full)")
    with pytest.raises(OutputError, match=disk_full), output_errors("a.jsonl"):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_bounded() -> None:
    assert (bounded("prompts.parquet"), len(bounded("a" * 200))) == ("prompts.parquet", 40)


def test_output_file(tmp_path: Path) -> None:
    with output_file(f"{tmp_path}/a") as file:
        file.write(b"x")
        assert not os.path.exists(f"{tmp_path}/a")
    assert os.listdir(tmp_path) == ["a"]


def test_reading() -> None:
    with pytest.raises(DataError, match=r"a\.parquet: Input/output error"), reading("a.parquet"):
        raise OSError(5, "Input/output error")


def test_changed() -> None:
    assert changed("no such file", FileState(1, 1, 1)) == "it is gone since"


def test_sampled_rows() -> None:
    assert sampled_rows(3, 5, 0) == [0, 1, 2]


def test_chosen_rows() -> None:
    batches = pa.table({"n": range(10)}).to_batches(max_chunksize=3)
    rows = ChosenRows(RowChoice(sample=4), None, batches[0].schema, lambda: batches, 10)
    assert [n for batch in rows.batches() for n in batch["n"].to_pylist()] == sampled_rows(10, 4, 0)


def test_natural() -> None:
    assert natural(["part-10", "part-9", "part-1"]) == ["part-1", "part-9", "part-10"]


def test_find_files() -> None:
    assert find_files("a.parquet") == [("a.parquet", None)]


def test_typed_column() -> None:
    assert [
        _typed_column(pa.array(texts)).to_pylist() for texts in (["007", "1"], ["1", "", "x"], ["1", "NA"], ["TRUE"])
    ] == [[7, 1], ["1", None, "x"], [1.0, None], [True]]


def test_without_ambiguous_fields() -> None:
    assert (
        repr(without_ambiguous_fields(pa.struct({"x": pa.int8(), "X": pa.int16(), "y": pa.int8()}), [("X",)]))
        == "StructType(struct<X: int16, y: int8>)"
    )


def test_path_of() -> None:
    column = {"class": "COLUMN_REF", "column_names": ["m"]}
    name = {"class": "CONSTANT", "value": {"value": "X"}}
    assert path_of({"class": "OPERATOR", "type": "STRUCT_EXTRACT", "children": [column, name]}) == ("m", "X")


def test_why() -> None:
    assert why(FileNotFoundError("https://host/a.csv")) == "not found there"


def test_row_group() -> None:
    assert (
        str(RowGroup("a.parquet", 3, 300, 100, "not a valid page"))
        == "a.parquet: row group 3 (rows 300 to 399) is damaged: not a valid page"
    )


def test_input_format() -> None:
    assert (input_format("a.ndjson"), input_format("https://host/a.csv.gz?token=1")) == ("jsonl", "csv")


def test_row_filter() -> None:
    even = RowFilter("n % 2 = 0", pa.schema({"n": pa.int64()}))
    assert even.rows(pa.record_batch({"n": [1, 2, None, 4]})).to_pylist() == [1, 3]


def test_threads() -> None:
    with Threads(1) as threads:
        call = threads.submit(sum, [1, 2])
        assert call.result() == 3
