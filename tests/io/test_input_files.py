"""Files of samples of every format and form: what is in them comes out of prompts as it stands."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import re
import subprocess
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import warm
from json_columns import rows_of
from promptpress._errors.file_errors import DataError
from promptpress_workbench.cli import main, option_values
from promptpress_workbench.files.read import csv_files, json_rows, sources
from promptpress_workbench.files.read.formats import DataFormat, find_files, natural
from promptpress_workbench.files.read.samples import Samples, reading

ROWS = [
    {"question": 'He said "7, 8"\nand left', "answer": "007"},
    {"question": "中文 🦀", "answer": "1.0"},
    {"question": "", "answer": "true"},
    {"question": " padded ", "answer": "NA"},
    {"question": "2020-01-01", "answer": "1e5"},
]
TABLE = pa.Table.from_pylist(ROWS)
CODECS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
}


def separated(rows: list[dict[str, Any]], delimiter: str = ",", end: str = "\r\n") -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end)
    writer.writerow(rows[0])
    writer.writerows(row.values() for row in rows)
    return out.getvalue().encode()


def parquet() -> bytes:
    out = io.BytesIO()
    pq.write_table(TABLE, out)
    return out.getvalue()


def arrow(new: Any) -> bytes:
    out = io.BytesIO()
    with new(out, TABLE.schema) as writer:
        writer.write_table(TABLE)
    return out.getvalue()


FORMATS: dict[str, bytes] = {
    ".csv": separated(ROWS),
    ".tsv": separated(ROWS, "\t", "\n"),
    ".json": json.dumps(ROWS, indent=2, ensure_ascii=False).encode(),
    ".jsonl": "\n".join(json.dumps(row) for row in ROWS).encode(),
    ".parquet": parquet(),
    ".arrow": arrow(pa.ipc.new_file),
    ".arrows": arrow(pa.ipc.new_stream),
}


def rows(path: object, data_format: DataFormat | str | None = None, **options: Any) -> list[dict[str, Any]]:
    samples = Samples([str(path)], data_format, **options)
    result = rows_of(samples.table())
    samples.close()
    return result


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_and_codec(tmp_path: Path, suffix: str, codec: str) -> None:
    path = write(tmp_path / f"samples{suffix}{codec}", CODECS[codec](FORMATS[suffix]))
    assert rows(path) == ROWS
    assert rows(path, limit=2, batch_size=1) == ROWS[:2]


@pytest.mark.parametrize("codec", [codec for codec in CODECS if codec])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "other"])
def test_damaged_compression(tmp_path: Path, suffix: str, codec: str, damage: str) -> None:
    packed = CODECS[codec](FORMATS[suffix])
    middle = len(packed) // 2 + 6  # where one byte more is no JSON
    data = {
        "cut": packed[:middle],
        "flipped": packed[:middle] + bytes([packed[middle] ^ 0xFF]) + packed[middle + 1 :],
        "empty": b"",
        "other": b"question,answer\n1,2\n",
    }[damage]
    path = write(tmp_path / f"samples{suffix}{codec}", data)
    with pytest.raises(DataError) as caught:
        rows(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_concatenated_frames(tmp_path: Path) -> None:
    lines = FORMATS[".jsonl"].splitlines(keepends=True)
    for codec in (".gz", ".zst", ".bz2", ".xz"):
        path = write(tmp_path / f"samples.jsonl{codec}", b"".join(CODECS[codec](line) for line in lines))
        assert rows(path) == ROWS


ENCODED = [{"q": 'straße; \n"x"', "a": "é"}, {"q": "", "a": "ÿ"}] * 50
CHINESE = [{"q": "一加一是几。", "a": "二"}, {"q": "「」", "a": ","}] * 50


@pytest.mark.parametrize("piece", [1, 1 << 20])
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".json", ".csv.gz"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "cp1252", "gbk", "gb18030", "utf-16", "utf-16-le", "utf-32", "big5"])
def test_texts_of_other_encodings(
    tmp_path: Path, encoding: str, suffix: str, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_COPY_BYTES", piece)
    samples = CHINESE if encoding.startswith("gb") else [{"q": "一", "a": "二"}] if encoding == "big5" else ENCODED
    lines = [json.dumps(row, ensure_ascii=False) for row in samples]
    text = {
        ".csv": separated(samples, ",").decode(),
        ".tsv": separated(samples, "\t").decode(),
        ".jsonl": "\n".join(lines) + "\n",
        ".json": f"[{', '.join(lines)}]",
    }[suffix.removesuffix(".gz")]
    data = text.encode(encoding)
    path = write(tmp_path / f"a{suffix}", gzip.compress(data) if suffix.endswith(".gz") else data)
    assert rows(path, DataFormat(None, None, encoding)) == samples


@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        ("q,a\né,1\n".encode("utf-16"), "utf-8", "a.csv:1: not utf-8 (byte 0xff); --encoding names another"),
        (b"q,a\n1,2\n3,\xff\n", "gbk", "a.csv:3: not gbk (byte 0xff)"),
        (b"q,a\n1,2\n3,\x81\n", "cp1252", "a.csv:3: not cp1252 (byte 0x81)"),
        (b"q,a\n1,2\n3,\x81", "gbk", "a.csv:3: not gbk (byte 0x81)"),
        (b"\xff\xfeq\0", "utf-32", "a.csv:1: not utf-32"),
    ],
)
def test_texts_that_arent_of_the_encoding(tmp_path: Path, data: bytes, encoding: str, message: str) -> None:
    path = write(tmp_path / "a.csv", data)
    with pytest.raises(DataError) as caught:
        rows(path, DataFormat(None, None, encoding))
    assert str(caught.value).removeprefix(f"{tmp_path}/").startswith(message)


@pytest.mark.parametrize("words", [["--data", "in.csv"], ["--data", "-", "--data-format", "csv"]])
def test_options_say_how_text_is_read(
    tmp_path: Path, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that Excel writes in German, as samples and as examples."""
    monkeypatch.chdir(tmp_path)
    data = "frage;antwort\r\nStraße?;ja\r\n".encode("cp1252")
    write(tmp_path / "in.csv", data)
    template = ["--template", "{frage}={antwort}", "--answer", "antwort", "--shots", "1", "--examples", "in.csv"]
    options = ["--delimiter", ";", "--encoding", "cp1252"]
    for command in (["render", "--out", "-", "--quiet"], ["show"], ["stats"], ["audit", "--fail-on", "never"]):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert main([*command, *template, *words, *options]) == 0, capsys.readouterr().err
    assert main(["render", "--out", "-", *template, "--data", "in.csv"]) == 4
    assert "--delimiter ';' reads semicolons" in capsys.readouterr().err
    assert main(["render", "--out", "-", *template, "--data", "in.csv", *options[:2]]) == 4
    assert "in.csv:2: not UTF-8 (byte 0xdf); save it as UTF-8; --encoding NAME reads it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--encoding", "latin-9x", "is no encoding of text that Python knows"),
        ("--encoding", "windows1252", "is no encoding of text that Python knows; did you mean 'windows_1252'?"),
        ("--encoding", "zip", "is no encoding of text"),
        ("--encoding", "", "is no encoding of text"),
        ("--delimiter", ";;", "is no delimiter: one character of ASCII"),
        ("--delimiter", "é", "is no delimiter"),
        ("--delimiter", '"', "is no delimiter"),
        ("--delimiter", "", "is no delimiter"),
    ],
)
def test_values_that_say_nothing_of_text(
    option: str, value: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["render", "--template", "{q}", "--out", "-", "--data", "in.csv", option, value]) == 2
    assert message in capsys.readouterr().err


class TestCsv:
    def rows_of(self, tmp_path: Path, content: str | bytes, name: str = "a.csv") -> list[dict[str, Any]]:
        return rows(write(tmp_path / name, content))

    def error(self, tmp_path: Path, content: str | bytes, name: str = "a.csv") -> str:
        with pytest.raises(DataError) as caught:
            self.rows_of(tmp_path, content, name)
        return str(caught.value).removeprefix(f"{tmp_path}/")

    def test_texts_stay(self, tmp_path: Path) -> None:
        values = ["007", "1.0", "true", "NULL", "NaN", "", "2020-01-01", " x ", "+1", "1,000", "'q'"]
        content = separated([{"v": "x", "w": v} for v in values])
        assert [row["w"] for row in self.rows_of(tmp_path, content)] == values

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    @pytest.mark.parametrize("start", ["", "\ufeff", "\ufeff\r\n\n"])
    @pytest.mark.parametrize("last", [True, False])
    def test_byte_order_mark_and_line_ends(self, tmp_path: Path, end: str, start: str, last: bool) -> None:
        content = start + f'a,b{end}1,"x\r\ny"{end}{end}2,z{end if last else ""}'
        assert self.rows_of(tmp_path, content) == [{"a": "1", "b": "x\r\ny"}, {"a": "2", "b": "z"}]

    @pytest.mark.parametrize("chunk", [1, 1 << 24])
    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_line_ends_in_every_piece(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, end: str
    ) -> None:
        monkeypatch.setattr(csv_files, "_CHUNK_BYTES", chunk)
        monkeypatch.setattr(csv_files, "_HEADER_BYTES", chunk)
        many = [{'q"\r\n': f'{i}\r"\n",', "n": str(i)} for i in range(20)]
        assert self.rows_of(tmp_path, separated(many, end=end)) == many
        content = separated([{"q": "a,b", "n": str(i)} for i in range(20)], end=end) + b"1,2,3"
        assert "a.csv:22: 3 fields" in self.error(tmp_path, content)

    def test_a_byte_order_mark_in_a_field(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        many = [{"q": "\ufeffx", "n": "\ufeff"}] * 4
        assert self.rows_of(tmp_path, separated(many)) == many
        monkeypatch.setattr(csv_files, "_CHUNK_BYTES", 1)
        assert self.rows_of(tmp_path, separated(many)) == many

    def test_a_header_that_changes_meanwhile(self, tmp_path: Path) -> None:
        samples = Samples([str(write(tmp_path / "a.csv", "a,b\n1,2\n"))])
        write(tmp_path / "a.csv", "b,a\n2,1\n")
        with pytest.raises(DataError, match="its header has changed since"):
            samples.table()

    def test_header_alone(self, tmp_path: Path) -> None:
        samples = Samples([str(write(tmp_path / "a.csv", "a,b\n"))])
        assert samples.schema.names == ["a", "b"]
        assert samples.table().num_rows == 0

    def test_header_with_breaks(self, tmp_path: Path) -> None:
        assert self.rows_of(tmp_path, '"a\n""x""",b\n1,2\n') == [{'a\n"x"': "1", "b": "2"}]

    def test_quotes_within_bare_fields(self, tmp_path: Path) -> None:
        assert self.rows_of(tmp_path, 'a,b\n5" pipe,he said "hi"\n"x",y\n') == [
            {"a": '5" pipe', "b": 'he said "hi"'},
            {"a": "x", "b": "y"},
        ]

    def test_tsv_keeps_commas(self, tmp_path: Path) -> None:
        assert self.rows_of(tmp_path, 'a\tb\n1,5\t"x\ty"\n', "a.tsv") == [{"a": "1,5", "b": "x\ty"}]

    @pytest.mark.parametrize("chunk", [1, 7, 40, 1 << 24])
    def test_chunks_end_anywhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
        monkeypatch.setattr(csv_files, "_CHUNK_BYTES", chunk)
        many = [{"q": f'{i} "a",\n"b"\r\n,', "n": f'"{i}"'} for i in range(50)]
        if chunk > 10:  # of the header, too
            assert self.rows_of(tmp_path, separated(many)) == many
        assert self.rows_of(tmp_path, b"q,n\n" + separated(many).split(b"\r\n", 1)[1]) == many

    def test_long_fields(self, tmp_path: Path) -> None:
        many = [{"q": 'x,"\n' * (1 << 18), "n": str(i)} for i in range(40)]
        assert self.rows_of(tmp_path, separated(many)) == many

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            ("a,b\n1,2\n\n3\n", "a.csv:4: 1 field, where the header has 2 (it begins '3')"),
            ('a,b\n"1\n1",2\n3,4,5\n', "a.csv:4: 3 fields, where the header has 2"),
            ('a,b\n1,2\n"3,4\n5,6\n', "a.csv:3: a quoted field isn't closed"),
            ('a,b\n1,2\n"3"x,4\n', "a.csv:3: 'x,4' follows the quote that closes a field"),
            ("a,a\n1,2\n", "a.csv:1: columns 1 and 2 are both named 'a'"),
            ("a;b\n1;2\n", "a.csv:1: the header 'a;b' has no commas, so it would be the name of one column"),
            ("a\tb\n1\t2\n", "a.csv:1: the header 'a\\tb' has no commas"),
            ("", "a.csv: empty"),
            ("\n\n", "a.csv: empty"),
            (b"a,b\n1,\xff\n", "a.csv:2: not UTF-8 (byte 0xff)"),
            ("a,b\n1,2\n".encode("utf-16"), "a.csv:1: not UTF-8 (byte 0xff); it looks like UTF-16"),
            ('"a,b\n1,2\n', "a.csv:1: a quoted field of the header isn't closed"),
            ('"a"x,b\n1,2\n', "a.csv:1: 'x,b' follows the quote"),
        ],
    )
    def test_errors(self, tmp_path: Path, content: str | bytes, words: str) -> None:
        assert words in self.error(tmp_path, content)

    def test_a_column_without_a_name_gets_one(self, tmp_path: Path) -> None:
        assert self.rows_of(tmp_path, ",a\n0,2\n") == [{"column_0": "0", "a": "2"}]
        assert self.rows_of(tmp_path, "a,,\n0,1,2\n") == [{"a": "0", "column_1": "1", "column_2": "2"}]
        assert self.rows_of(tmp_path, ",column_0,a\n0,1,2\n") == [{"column_0_": "0", "column_0": "1", "a": "2"}]
        assert self.rows_of(tmp_path, '"",a\n0,2\n') == [{"column_0": "0", "a": "2"}]

    @pytest.mark.parametrize(
        ("header", "name", "remedy"),
        [
            ("a;b", "a.csv", "--delimiter ';' reads semicolons, and --delimiter ',' takes it for one name"),
            ("a\tb", "a.csv", "--delimiter tab reads tabs, and --delimiter ',' takes it for one name"),
            ("a|b", "a.csv", "--delimiter '|' reads bars"),
            ("a,b", "a.tsv", "--delimiter ',' reads commas, and --delimiter tab takes it for one name"),
            ("a;b", "a.tsv", "--delimiter ';' reads semicolons"),
        ],
    )
    def test_a_header_with_another_delimiter_has_a_remedy_that_works(
        self, tmp_path: Path, header: str, name: str, remedy: str
    ) -> None:
        path = write(tmp_path / name, f"{header}\n{header}\n")
        with pytest.raises(DataError) as caught:
            rows(path)
        assert remedy in caught.value.of_command()
        options = re.findall(r"--delimiter (?:'(.)'|(tab))", remedy)
        read, *as_one = [option_values.delimiter(quoted or word) for quoted, word in options]
        assert rows(path, DataFormat(None, read)) == [{"a": "a", "b": "b"}]
        for delimiter in as_one:
            assert rows(path, DataFormat(None, delimiter)) == [{header: header}]

    @pytest.mark.parametrize("delimiter", [*",;|^]-. \t", "\\", "x", "$"])
    def test_any_delimiter(self, tmp_path: Path, delimiter: str) -> None:
        values = ["1", "", 'x"y', f"a{delimiter}b", "line\nbreak", "]", "^", "a-z"]
        expected = [{"q1": value, "q2": value[::-1]} for value in values]
        path = write(tmp_path / "a.csv", separated(expected, delimiter))
        assert rows(path, DataFormat(None, delimiter)) == expected

    def test_an_error_in_a_late_row(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(csv_files, "_CHUNK_BYTES", 100)
        content = "a,b\n" + '1,"x\ny"\n' * 1000 + "1,2,3\n"
        assert "a.csv:2002: 3 fields" in self.error(tmp_path, content)


class TestHarnessTypes:
    """Rows with the types of the harnesses' reader, and where Arrow's own reader gets them wrong."""

    @pytest.fixture(params=["jsonl", "json"])
    def rows_of_lines(self, tmp_path: Path, request: pytest.FixtureRequest) -> Callable[..., Any]:
        def rows_of_lines(*lines: str) -> Any:
            content = f"[{','.join(lines)}]" if request.param == "json" else "\n".join(lines)
            return rows(write(tmp_path / f"a.{request.param}", content), harness_types="json")

        return rows_of_lines

    @pytest.mark.parametrize("value", ["1", "1.5", '"x"', "true", '{"b": [null, 1]}', "[null, 2]", '"2020-01-01"'])
    def test_nulls_before_the_type_is_known(self, rows_of_lines: Callable[..., Any], value: str) -> None:
        for lines in (
            [f'{{"a": [null, {value}]}}'],
            ['{"a": null}', '{"a": [null, null]}', f'{{"a": [{value}, null]}}'],
            [f'{{"a": {{"c": [[null, {value}], null]}}}}', '{"a": null}'],
        ):
            assert rows_of_lines(*lines) == [json.loads(line) for line in lines]

    @pytest.mark.parametrize("block", [30, 1 << 22])
    def test_types_that_pieces_cannot_agree_on(
        self, rows_of_lines: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, block: int
    ) -> None:
        monkeypatch.setattr(json_rows, "_BLOCK_BYTES", block)
        lines = ['{"a": [[]], "b": null}'] * 9 + [
            '{"a": [[{"t": "2020-01-01", "n": null}], null], "b": [[null, true]]}'
        ] * 2
        assert rows_of_lines(*lines) == [json.loads(line) for line in lines]

    @pytest.mark.parametrize("block", [30, 1 << 22])
    def test_one_type_for_each_column(
        self, rows_of_lines: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, block: int
    ) -> None:
        monkeypatch.setattr(json_rows, "_BLOCK_BYTES", block)
        result = rows_of_lines('{"a": 2, "b": {"x": 1}}', '{"a": 1.5, "b": {"y": [2]}}', '{"b": {"y": [0.5, null]}}')
        assert repr(result) == repr(
            [
                {"a": 2.0, "b": {"x": 1, "y": None}},
                {"a": 1.5, "b": {"x": None, "y": [2.0]}},
                {"a": None, "b": {"x": None, "y": [0.5, None]}},
            ]
        )

    @pytest.mark.parametrize(
        "values",
        [
            ["1", '"x"'],
            ["[1]", "{}"],
            ["[1]", '["x"]'],
            ["1", "900000000000000000000000"],
            ['{"a": 1, "b": {"a": 2}}', '{"a": "x"}'],
            ['{"a": 1, "a": 2}'],
            ["9007199254740993", "0.5"],
            ['{"n": 9007199254740993}', '{"n": 0.5}'],
            ["[" * 200 + "]" * 200],
        ],
    )
    def test_what_it_refuses_is_json(self, rows_of_lines: Callable[..., Any], values: list[str]) -> None:
        assert rows_of_lines(*(f'{{"a": {value}}}' for value in values)) == [{"a": json.loads(v)} for v in values]

    def test_numbers_next_to_those_that_would_be_rounded(self, rows_of_lines: Callable[..., Any]) -> None:
        line = json.dumps({"a": {"n": 2**53 + 1, "f": [1e300, 0.5]}})
        assert rows_of_lines(line, '{"a": {}}') == [json.loads(line), {"a": {"n": None, "f": None}}]

    def test_many_brackets_that_are_not_deep(self, rows_of_lines: Callable[..., Any]) -> None:
        line = json.dumps({"a": [[i] for i in range(300)], "b": "[{" * 300, "c": '"' * 300})
        assert rows_of_lines(line, line) == [json.loads(line)] * 2


class TestJsonRows:
    """Lines that are no rows, in lines and in arrays."""

    @pytest.fixture(params=["jsonl", "json"])
    def rows_of_lines(self, tmp_path: Path, request: pytest.FixtureRequest) -> Callable[..., Any]:
        def rows_or_error(*lines: str) -> Any:
            content = f"[{','.join(lines)}]" if request.param == "json" else "\n".join(lines)
            try:
                return rows(write(tmp_path / f"a.{request.param}", content))
            except DataError as error:
                return str(error).partition("a.json")[2]

        return rows_or_error

    @pytest.mark.parametrize("before", ["", '{"a": 1}', '{"a": {"b": "} null"}}'])
    def test_null_is_no_row(self, rows_of_lines: Callable[..., Any], before: str) -> None:
        assert "null, not an object" in rows_of_lines(
            *filter(None, [before, " null ", '{"a": 1}'][: 2 + (before != "")])
        )

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            ('{"a": "x"} null', "not valid JSON: Extra data"),
            ('{"q": 1}{"q": 2}', "not valid JSON: Extra data"),
            ('{"q": }', "not valid JSON: Expecting value"),
            ('{"q": 1,}', "not valid JSON: "),
            ('{"q": "x', "not valid JSON: Unterminated string"),
            ('{"q"', "not valid JSON: Expecting ':' delimiter; one object a line is wanted, and this line is a part"),
            ("[", "not valid JSON: Expecting value; one object a line is wanted: an array of them is the format json"),
            ("2", "a number, not an object"),
            ('"x"', "a string, not an object"),
            ("[]", "a list, not an object; one object a line is wanted: an array of them is the format json"),
            ('[{"q": 1}]', "a list, not an object; one object a line is wanted: an array of them is the format json"),
            ('[{"role": "user"}, 1]', "a list, not an object"),
            ('{"q": "\xff"}'.encode("latin-1"), "not UTF-8 (byte 0xff)"),
            ('{"\\u0000": 1}', r"the name of the field '\x00' holds a NUL"),
            ('{"\\udc00": 1}', r"the name of the field '\udc00' holds half of a surrogate pair"),
        ],
    )
    @pytest.mark.parametrize("block", [1, 25, 1 << 22])
    def test_lines_that_are_no_rows(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str | bytes, words: str, block: int
    ) -> None:
        monkeypatch.setattr(json_rows, "_BLOCK_BYTES", block)
        content = line if isinstance(line, bytes) else line.encode()
        path = write(tmp_path / "a.jsonl", b'\n{"q": "} null"}\n \n' + content + b'\n{"q": 1}\n')
        with pytest.raises(DataError) as caught:
            rows(path)
        assert f"a.jsonl:4: {words}" in str(caught.value)

    @pytest.mark.parametrize(("lines", "rows_found"), [(1, "its only row has"), (2, "its 2 rows have")])
    def test_rows_without_any_field(self, rows_of_lines: Callable[..., Any], lines: int, rows_found: str) -> None:
        assert rows_of_lines(*["{}"] * lines).endswith(f"{rows_found} no field")

    def test_a_list_of_messages_is_a_conversation(self, rows_of_lines: Callable[..., Any]) -> None:
        talks = [[{"role": "user", "content": "Hi."}], [{"from": "human", "value": 1}, {"from": "gpt", "value": 2.0}]]
        row = {"messages": None, "id": 7}
        lines = [*map(json.dumps, talks), json.dumps(row)]
        assert rows_of_lines(*lines) == [*({"messages": talk, "id": None} for talk in talks), row]


class TestJsonArray:
    @pytest.mark.parametrize("read", [1, 5, 50, 1 << 20])
    @pytest.mark.parametrize("indent", [None, 2])
    def test_windows_end_anywhere(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: int, indent: int | None
    ) -> None:
        monkeypatch.setattr(json_rows, "_BLOCK_BYTES", read)
        many = [{"q": f'[{{"é": {i}}}]\n"', "n": i, "x": {"y": [1.5, None]}} for i in range(30)]
        path = write(tmp_path / "a.json", json.dumps(many, indent=indent, ensure_ascii=bool(indent)))
        assert rows(path) == many

    def test_types_agree_over_the_file(self, tmp_path: Path) -> None:
        assert rows(write(tmp_path / "a.json", '[{"a": null}, {"b": "2020-01-01"}, {"a": 1}, {"a": 2.5}]')) == [
            {"a": None, "b": None},
            {"a": None, "b": "2020-01-01"},
            {"a": 1, "b": None},
            {"a": 2.5, "b": None},
        ]
        assert rows(write(tmp_path / "a.json", " [ ] \n")) == []
        assert rows(write(tmp_path / "a.json", '\ufeff[{"a": 1}]')) == [{"a": 1}]

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            ('[{"a": 1}, 2]', "a.json[1]: a number, not an object"),
            ('[{"a": 1},\n{"a": }]', "a.json[1]: not valid JSON: Expecting value"),
            ('[{"a": 1}\n{"a": 1}]', "a.json:2: ',' or ']' is wanted after an item"),
            ('[{"a": 1},', "a.json:1: the array isn't closed"),
            ('[{"a": 1},]', "a.json:1: not valid JSON: Expecting value"),
            ('[{"a": 1}', "a.json:1: ',' or ']' is wanted"),
            ('[{"a": "x', "a.json:1: not valid JSON: Unterminated string"),
            ('[{"a": 1}] x', "a.json:1: something follows the array"),
            ('{"a": 1}\n{"a": 2}', "a.json: holds an object, where an array of objects is wanted; data_format= jsonl"),
            (
                '{"a": 1}',
                "a.json: holds an object, where an array of objects is wanted; data_format= jsonl reads it as",
            ),
            ('{"q": ["a"], "a": [1]}', "a.json: holds an object of columns, where an array of objects is wanted"),
            (
                '{"q": {"0": 1}, "a": {"0": 2}}',
                "a.json: holds an object of columns, where an array of objects is wanted",
            ),
            ('{"v": 1, "data": [{"a": 1}]}', "array of objects is wanted; the rows are under its key 'data'"),
            ("", "a.json: holds nothing"),
            ("x", "a.json: holds what begins with 'x'"),
            ("[" * 100_000, "a.json:1: the array isn't closed"),
            (b'[{"a": "\xff"}]', "a.json[0]: not UTF-8 (byte 0xff); save it as UTF-8"),
            ('[{"a": 1}]'.encode("utf-16"), "a.json: not UTF-8 (byte 0xff); it looks like UTF-16: save it as UTF-8"),
            ('[{"a": "x\ny"}]', "a.json:2: not valid JSON: Invalid control character"),
        ],
    )
    def test_errors(self, tmp_path: Path, content: str | bytes, words: str) -> None:
        with pytest.raises(DataError) as caught:
            rows(write(tmp_path / "a.json", content))
        assert words in str(caught.value)


class TestSeveral:
    def test_natural_order(self) -> None:
        assert natural(["p-10.csv", "p-9.csv", "p-1.csv", "p-01.csv", "a", "10", "9"]) == [
            *("9", "10", "a", "p-01.csv", "p-1.csv", "p-9.csv", "p-10.csv")
        ]

    def test_patterns_and_folders(self, tmp_path: Path) -> None:
        for i in (1, 2, 10):
            write(tmp_path / f"part-{i}.jsonl.gz", gzip.compress(json.dumps({"a": i}).encode()))
        write(tmp_path / "README.md", "no data")
        write(tmp_path / "_SUCCESS", "")
        write(tmp_path / ".hidden.jsonl", "broken")
        (tmp_path / "part-3.jsonl.gz").mkdir()
        expected = [{"a": 1}, {"a": 2}, {"a": 10}]
        assert rows(tmp_path / "part-*.jsonl.gz") == expected
        assert rows(tmp_path / "**" / "part-?.jsonl.gz") == expected[:2]
        assert rows(tmp_path) == expected
        with pytest.raises(DataError, match=r"x\*\.csv: no file matches the pattern"):
            rows(tmp_path / "x*.csv")

    def test_a_file_that_looks_like_a_pattern(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a[1]*.csv", "a\n1\n")
        write(tmp_path / "a1.csv", "a\n2\n")
        assert rows(path) == [{"a": "1"}]

    def test_folders_that_are_unclear(self, tmp_path: Path) -> None:
        write(tmp_path / "a.csv", "a\n1\n")
        write(tmp_path / "b.jsonl", '{"a": "2"}')
        with pytest.raises(DataError, match=r"several formats \(1 csv, 1 jsonl\); data_format= says which"):
            rows(tmp_path)
        assert rows(tmp_path, "jsonl") == [{"a": "2"}]
        (tmp_path / "empty" / "train").mkdir(parents=True)
        with pytest.raises(DataError, match="a folder without any file of samples; it has the folder train"):
            rows(tmp_path / "empty")

    def test_files_that_differ(self, tmp_path: Path) -> None:
        write(tmp_path / "a-1.csv", "a,b\n1,2\n")
        write(tmp_path / "a-2.csv", "a,c\n1,2\n")
        with pytest.raises(DataError, match=r"a-2\.csv: lacks the column 'b' as in .*a-1\.csv"):
            rows(tmp_path)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own imports' affair
        datasets = pytest.importorskip("datasets", reason="Hugging Face datasets isn't installed")
        whole = datasets.Dataset.from_list([{"q": str(i), "n": i} for i in range(25)])
        whole.save_to_disk(str(tmp_path / "one"), num_shards=12)
        whole.select([3, 1]).save_to_disk(str(tmp_path / "chosen"))
        splits = datasets.DatasetDict({"train": whole, "test": whole.select(range(2))})
        splits.save_to_disk(str(tmp_path / "both"))
    return tmp_path


class TestSavedDatasets:
    def test_what_was_saved(self, saved: Path) -> None:
        assert [row["n"] for row in rows(saved / "one")] == list(range(25))
        assert [row["n"] for row in rows(saved / "chosen")] == [3, 1]
        assert Samples([str(saved / "one")]).schema.metadata is None

    def test_splits(self, saved: Path) -> None:
        assert rows(f"{saved / 'both'}:test") == [{"q": "0", "n": 0}, {"q": "1", "n": 1}]
        assert len(rows(saved / "both" / "train")) == 25
        with pytest.raises(DataError, match=r"several splits; choose one: .*both:train, .*both:test"):
            rows(saved / "both")
        with pytest.raises(DataError, match=r"no split 'tset'; did you mean .*both:test\?"):
            rows(f"{saved / 'both'}:tset")

    def test_damage(self, saved: Path) -> None:
        (saved / "one" / "state.json").write_text("{")
        with pytest.raises(DataError, match=r"state\.json: damaged"):
            rows(saved / "one")
        (saved / "both" / "test" / "state.json").unlink()
        with pytest.raises(DataError, match=r"state\.json: No such file"):
            find_files(f"{saved / 'both'}:test")


class TestStandardInput:
    def render(self, folder: Path, data: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        write(folder / "config.json", json.dumps({"prompt_template": "{question}|{answer}"}))
        command = warm.command("render", "config.json", "--quiet", "--out", "-", *arguments)
        return subprocess.run(command, cwd=folder, input=data, capture_output=True, check=False, timeout=120)

    @pytest.mark.parametrize("suffix", FORMATS)
    def test_every_format(self, tmp_path: Path, suffix: str) -> None:
        kind = {"arrows": "arrow"}.get(suffix[1:], suffix[1:])
        done = self.render(tmp_path, FORMATS[suffix], "--data", "-", "--data-format", kind)
        assert done.stderr == b""
        prompts = [json.loads(line)["prompt"] for line in done.stdout.splitlines()]
        assert prompts == [f"{row['question']}|{row['answer']}" for row in ROWS]

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
    @pytest.mark.parametrize("suffix", [*FORMATS, ".csv.gz"])
    def test_a_named_pipe(self, tmp_path: Path, suffix: str) -> None:
        pipe = tmp_path / f"pipe{suffix}"
        os.mkfifo(pipe)
        data = gzip.compress(FORMATS[".csv"]) if suffix == ".csv.gz" else FORMATS[suffix]
        writer = threading.Thread(target=pipe.write_bytes, args=[data], daemon=True)
        writer.start()
        done = self.render(tmp_path, b"", "--data", pipe.name)
        assert done.stderr == b""
        prompts = [json.loads(line)["prompt"] for line in done.stdout.splitlines()]
        assert prompts == [f"{row['question']}|{row['answer']}" for row in ROWS]

    def test_twice(self, tmp_path: Path) -> None:
        done = self.render(tmp_path, FORMATS[".csv"], "--data", "-", "-", "--data-format", "csv")
        assert done.returncode == 2
        assert b"standard input is named twice" in done.stderr


class TestOut:
    @pytest.fixture
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.chdir(tmp_path)
        write(tmp_path / "config.json", json.dumps({"prompt_template": "{question}|{answer}"}))
        write(tmp_path / "in.csv", separated(ROWS))
        return tmp_path

    def render(self, out: str, *arguments: str) -> int:
        return main(["render", "config.json", "--data", "in.csv", "--out", out, "--keep", "all", "--quiet", *arguments])

    @pytest.mark.parametrize("out", ["o.csv", "o.csv.gz", "o.csv.zst", "o.jsonl.gz", "o.jsonl.zst"])
    def test_read_again(self, folder: Path, out: str) -> None:
        assert self.render(out) == 0
        assert rows(folder / out) == [{**row, "prompt": f"{row['question']}|{row['answer']}"} for row in ROWS]

    def test_as_other_readers_have_it(self, folder: Path) -> None:
        assert self.render("o.csv") == 0
        data = (folder / "o.csv").read_bytes().decode()
        rows_as_read = list(csv.reader(io.StringIO(data, newline="")))
        assert rows_as_read == [
            ["question", "answer", "prompt"],
            *([*row.values(), f"{row['question']}|{row['answer']}"] for row in ROWS),
        ]

    def test_values_of_other_types(self, folder: Path) -> None:
        table = pa.table(
            {
                "q": pa.array(["x", None, ""]),
                "n": [1, None, -3],
                "f": [1.5, float("nan"), None],
                "b": [True, False, None],
                "l": [[1, 2], None, []],
                "d": pa.array([b"x", None, b""]),
            }
        )
        pq.write_table(table, folder / "in.parquet")
        config = {"prompt_template": {"round": [{"role": "HUMAN", "prompt": "{q}, é"}]}, "output": "prompt_list"}
        write(folder / "c.json", json.dumps(config))
        command = ["render", "c.json", "--data", "in.parquet", "--keep", "all", "--out", "o.csv", "--quiet"]
        assert main(command) == 0
        prompts = [f'"[{{""role"": ""HUMAN"", ""prompt"": ""{text}, é""}}]"' for text in ("x", "None", "")]
        assert (folder / "o.csv").read_bytes().decode().split("\r\n") == [
            "q,n,f,b,l,d,prompt",
            f"x,1,1.5,true,\"[1, 2]\",b'x',{prompts[0]}",
            f",,,false,,,{prompts[1]}",
            f"\"\",-3,,,[],b'',{prompts[2]}",
            "",
        ]

    def test_no_rows(self, folder: Path) -> None:
        write(folder / "in.csv", "question,answer\n")
        assert self.render("o.csv") == 0
        assert (folder / "o.csv").read_bytes() == b"question,answer,prompt\r\n"
        assert self.render("o.jsonl.gz") == 0
        assert gzip.decompress((folder / "o.jsonl.gz").read_bytes()) == b""
        assert rows(folder / "o.jsonl.gz") == []

    def test_standard_output(self, folder: Path) -> None:
        command = warm.command("render", "config.json", "--data", "in.csv", "--quiet")
        done = subprocess.run(
            [*command, "--out", "-", "--out-format", "csv"], cwd=folder, capture_output=True, check=True, timeout=120
        )
        assert done.stdout.startswith(b"prompt\r\n")
        assert done.stdout.count(b"\r\n") == len(ROWS) + 1

    def test_a_failure_leaves_nothing(self, folder: Path) -> None:
        write(folder / "in.csv", "question,answer\n" + "a,b\n" * 300_000 + "1\n")
        before = sorted(path.name for path in folder.iterdir())
        for out in ("o.csv", "o.csv.gz", "o.jsonl.zst"):
            assert self.render(out) == 4
        assert sorted(path.name for path in folder.iterdir()) == before


def test_memory_that_a_damaged_file_asks_for_is_a_fault_of_the_file() -> None:
    message = (
        r"^a\.arrow: out of memory \(malloc of size 2147483648 failed\); it is damaged, or one of its batches is larger"
    )
    with pytest.raises(DataError, match=message), reading("a.arrow"):
        raise pa.ArrowMemoryError("malloc of size 2147483648 failed")
    with pytest.raises(MemoryError), reading("a.jsonl"):
        raise MemoryError
