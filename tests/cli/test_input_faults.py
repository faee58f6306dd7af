"""Inputs that are damaged, or change while they are read; and outputs that are there already."""

from __future__ import annotations

import gzip
import json
import os
import threading
import time
from functools import cache
from pathlib import Path

import promptpress as pp
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from faults import TRIED
from marks import UNWARNED
from promptpress_workbench.cli import main
from promptpress_workbench.cli.errors import ExitCode
from promptpress_workbench.files.read.samples import Samples

pytestmark = UNWARNED

ROWS = 1000
GROUP = 100
TABLE = pa.table({"id": pa.array(range(ROWS), pa.int64()), "q": [f"question {n} {n * n}" for n in range(ROWS)]})


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def render(*arguments: str) -> int:
    return main(["render", "--template", "Q: {q}", *arguments])


def damaged(path: str, *groups: int, column: int = 1) -> None:
    """Write the table as Parquet, and damage the pages of some row groups."""
    pq.write_table(TABLE, path, row_group_size=GROUP, write_page_checksum=True, use_dictionary=False)
    metadata = pq.ParquetFile(path).metadata
    with open(path, "r+b") as file:
        for group in groups:
            chunk = metadata.row_group(group).column(column)
            file.seek(chunk.data_page_offset + chunk.total_compressed_size - 20)
            file.write(b"damage" * 3)


def kept(groups: set[int]) -> list[int]:
    return [n for n in range(ROWS) if n // GROUP not in groups]


@pytest.mark.parametrize("group", [0, 3, 9])
@pytest.mark.parametrize("size", ["30", "100", "65536"])
def test_a_damaged_row_group_is_named(group: int, size: str, capsys: pytest.CaptureFixture[str]) -> None:
    damaged("d.parquet", group)
    assert render("--data", "d.parquet", "--out", "out.jsonl", "--batch-size", size) == ExitCode.DATA
    errors = capsys.readouterr().err
    assert f"d.parquet: row group {group} (rows {group * GROUP} to {group * GROUP + GROUP - 1}) is damaged: " in errors
    assert "; --skip-corrupt leaves it out" in errors
    assert os.listdir() == ["d.parquet"]
    with pytest.raises(pp.RenderError, match=rf"row group {group} ") as raised:
        pp.Renderer("{q}").render("d.parquet")
    assert "--skip" not in str(raised.value)
    TRIED["damaged row groups named"] += 1


def test_only_what_can_leave_it_out_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    damaged("d.parquet", 3)
    for command in (["stats"], ["audit"], ["show", "--row", "350"]):
        assert main([*command, "--template", "{q}", "--data", "d.parquet"]) == ExitCode.DATA
        assert "--skip-corrupt" not in capsys.readouterr().err


@pytest.mark.parametrize(("group", "rows"), [(0, []), (0, ["--row", "5"]), (3, ["--row", "2,350"])])
def test_a_page_of_rows_that_cannot_be_read_is_an_error(
    group: int, rows: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    damaged("d.parquet", group)
    view = ["view", "--template", "{q}", "--data", "d.parquet", "--html", "out.html"]
    assert main([*view, *rows]) == ExitCode.DATA
    errors = capsys.readouterr().err
    assert f"d.parquet: row group {group} (rows {group * GROUP} to " in errors
    assert "TMPDIR" not in errors
    assert os.listdir() == ["d.parquet"]


@pytest.mark.parametrize("groups", [{0}, {3, 4, 8}, {9}, set(range(10))], ids=str)
@pytest.mark.parametrize("suffix", ["parquet", "arrow", "jsonl", "csv.gz"])
def test_damaged_row_groups_are_left_out_on_request(
    groups: set[int], suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged("d.parquet", *groups)
    out = f"out.{suffix}"
    given = ["--data", "d.parquet", "--skip-corrupt", "--keep", "id", "--out", out, "--batch-size", "64"]
    assert render(*given) == ExitCode.INCOMPLETE
    errors = capsys.readouterr().err
    count = f"{len(groups)} row group{'s' if len(groups) > 1 else ''} with {len(groups) * GROUP:,} rows left out"
    assert count in errors
    for group in groups:
        assert f"left out: d.parquet: row group {group} " in errors
    if suffix in ("parquet", "arrow"):
        table = pq.read_table(out) if suffix == "parquet" else pa.ipc.open_file(out).read_all()
        assert table["id"].to_pylist() == kept(groups)
        assert table.schema.metadata[b"promptpress.skipped_row_groups"] == str(len(groups)).encode()
        assert table.schema.metadata[b"promptpress.skipped_rows"] == str(len(groups) * GROUP).encode()
    first = Path(out).read_bytes()
    assert render(*given, "--resume") == ExitCode.INCOMPLETE
    assert Path(out).read_bytes() == first
    TRIED["damaged row groups left out"] += len(groups)


def test_a_whole_file_is_the_same_with_skip_corrupt(capsys: pytest.CaptureFixture[str]) -> None:
    damaged("d.parquet")
    assert render("--data", "d.parquet", "--out", "a.parquet", "--batch-size", "64") == 0
    assert render("--data", "d.parquet", "--out", "b.parquet", "--batch-size", "64", "--skip-corrupt") == 0
    assert Path("a.parquet").read_bytes() == Path("b.parquet").read_bytes()
    assert "left out" not in capsys.readouterr().err


def test_a_footer_that_is_damaged_is_no_row_group(capsys: pytest.CaptureFixture[str]) -> None:
    damaged("d.parquet")
    data = Path("d.parquet").read_bytes()
    Path("d.parquet").write_bytes(data[:-3])
    assert render("--data", "d.parquet", "--out", "out.jsonl", "--skip-corrupt") == ExitCode.DATA
    assert "d.parquet: " in capsys.readouterr().err


def lines(count: int = ROWS, text: str = "question {}") -> bytes:
    return b"".join(json.dumps({"id": n, "q": text.replace("{}", str(n))}).encode() + b"\n" for n in range(count))


@pytest.mark.parametrize("left", [0.1, 0.5, 0.99])
@pytest.mark.parametrize("codec", ["gz", "zst", "bz2", "xz"])
def test_a_truncated_compressed_file_is_an_error(left: float, codec: str, capsys: pytest.CaptureFixture[str]) -> None:
    # Random digits don't compress: else all would be in a last block.
    text = b"".join(json.dumps({"q": os.urandom(40).hex()}).encode() + b"\n" for _ in range(20_000))
    names = {"gz": "gzip", "zst": "zstd", "bz2": "bz2", "xz": "xz"}
    if codec == "xz":
        import lzma

        data = lzma.compress(text, preset=0)
    elif codec == "gz":
        data = gzip.compress(text, 1)
    else:
        with pa.CompressedOutputStream(f"w.{codec}", names[codec]) as file:
            file.write(text)
        data = Path(f"w.{codec}").read_bytes()
    Path(f"d.jsonl.{codec}").write_bytes(data[: int(len(data) * left)])
    assert render("--data", f"d.jsonl.{codec}", "--out", "out.jsonl") == ExitCode.DATA
    assert f"error: d.jsonl.{codec}: " in capsys.readouterr().err
    assert not Path("out.jsonl").exists()
    TRIED["truncated compressed inputs"] += 1


def test_a_bad_line_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    Path("d.jsonl").write_bytes(lines(700) + b'{"id": 700, "q": \n' + lines(3))
    assert render("--data", "d.jsonl", "--out", "out.jsonl") == ExitCode.DATA
    assert "d.jsonl:701: not valid JSON" in capsys.readouterr().err


def shrink(path: str) -> None:
    os.truncate(path, os.path.getsize(path) // 2)


def grow(path: str) -> None:
    with open(path, "ab") as file:
        file.write(b'{"id": 1, "q": "more"}\n' if path.endswith("jsonl") else b"more")


def rewrite(path: str) -> None:
    with open(path, "r+b") as file:
        file.seek(100)
        file.write(b"X")
    os.utime(path, ns=(1, 1))


def replace(path: str) -> None:
    data = Path(path).read_bytes()
    Path(f"{path}.new").write_bytes(data)
    os.replace(f"{path}.new", path)


def vanish(path: str) -> None:
    os.unlink(path)


@cache
def file_of(kind: str) -> tuple[bytes, int]:
    """Return a file of several batches, and how many rows it has."""
    if kind == "jsonl":
        return lines(40_000, text="question {} " * 50), 40_000
    table = pa.table({"id": list(range(20_000)), "q": [f"question {n} " * 20 for n in range(20_000)]})
    sink = pa.BufferOutputStream()
    if kind == "parquet":
        pq.write_table(table, sink, row_group_size=2000)
    elif kind == "csv":
        pc.write_csv(table, sink)
    else:
        with pa.ipc.new_file(sink, table.schema) as out:
            out.write_table(table, 2000)
    return sink.getvalue().to_pybytes(), table.num_rows


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "csv", "arrow"])
@pytest.mark.parametrize("change", [shrink, grow, rewrite, replace, vanish], ids=lambda change: change.__name__)
def test_an_input_that_changes_while_it_is_read_is_named(kind: str, change: object) -> None:
    """Between the first look and the last row: never rows of both, and never a crash."""
    path = f"d.{kind}"
    before, rows_there = file_of(kind)
    Path(path).write_bytes(before)
    time.sleep(0.01)
    for after in (0, 1):
        files = Samples([path], batch_size=500)
        batches = iter(files.reader())
        rows = 0
        for _ in range(after):
            rows += next(batches).num_rows
        change(path)  # type: ignore[operator]
        try:
            rows += sum(batch.num_rows for batch in batches)
        except Exception:
            error = files.error
            assert isinstance(error, pp.RenderError), error
            assert path in str(error)
            assert "changed while it was read" in str(error)
        else:
            assert change is vanish, "only what was open before may be read to its end"
            assert rows == rows_there
        files.close()
        Path(path).write_bytes(before)
        TRIED["inputs changed while they were read"] += 1


def test_a_command_whose_input_changes_leaves_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Path("d.jsonl").write_bytes(lines(60_000, text="question {} " * 50))
    stop = threading.Event()

    def touch() -> None:
        while not stop.wait(0.005):
            os.utime("d.jsonl")

    other = threading.Thread(target=touch)
    other.start()
    try:
        assert render("--data", "d.jsonl", "--out", "out.jsonl", "--quiet") == ExitCode.DATA
    finally:
        stop.set()
        other.join()
    assert "d.jsonl: the file has changed while it was read: it was written to" in capsys.readouterr().err
    assert os.listdir() == ["d.jsonl"]


def test_rows_that_cannot_be_rendered_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    texts = pa.array([b"x", b"\xff", b"y", b"\xfe"], pa.binary()).view(pa.string())
    with pa.ipc.new_file("d.arrow", pa.schema({"q": pa.string()})) as out:
        out.write_table(pa.table({"q": texts}))
    pq.write_table(pa.table({"shots": [[0], [5], [0], [9]], "q": list("abcd")}), "d.parquet")
    pq.write_table(pa.table({"q": ["e"], "a": ["f"]}), "train.parquet")
    config = {
        "prompt_template": {"type": "PromptTemplate", "template": "</E>{q}", "ice_token": "</E>"},
        "ice_template": {"type": "PromptTemplate", "template": "</E>{q}{a}", "ice_token": "</E>"},
        "retriever": {"type": "IndexColumn", "column": "shots"},
        "reader": {"input_columns": ["q"], "output_column": "a"},
    }
    Path("c.json").write_text(json.dumps(config))
    given = ["render", "c.json", "--data", "d.parquet", "--examples", "train.parquet", "--out", "out.jsonl"]
    assert main([*given]) == ExitCode.DATA
    assert main([*given, "--errors", "raise"]) == ExitCode.DATA
    capsys.readouterr()
    assert main([*given, "--errors", "column"]) == ExitCode.OK
    message = capsys.readouterr().err
    assert (
        "2 of 4 rows can't be rendered, and are null, with the reason in a column: row 1: example_index_out" in message
    )
    assert main([*given, "--errors", "column", "--strict"]) == ExitCode.INCOMPLETE
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [row["prompt"] for row in rows] == ["ef\na", None, "ef\nc", None]
    assert rows[0]["error"] is None
    assert main([*given, "--errors", "column", "--hashes"]) == ExitCode.OK
    hashed = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert list(hashed[0]) == ["prompt", "hash", "error"]
    assert [row["hash"] is None for row in hashed] == [False, True, False, True]
    assert rows[1]["error"].startswith('example_index_out_of_range: column "shots": example 5 is out of range')


def test_errors_of_templates_have_a_column(capsys: pytest.CaptureFixture[str]) -> None:
    Path("d.jsonl").write_text('{"q": 2}\n{"q": 0}\n{"q": 1}\n')
    given = ["render", "--jinja", "{{ 2 // q }}", "--data", "d.jsonl", "--out", "out.jsonl"]
    assert main(given) == ExitCode.DATA
    assert "row 1" in capsys.readouterr().err
    assert main([*given, "--errors", "column", "--index", "row"]) == ExitCode.OK
    assert "1 of 3 rows can't be rendered, and is null, with the reason in a column: row 1:" in capsys.readouterr().err
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [(row["row"], row["prompt"]) for row in rows] == [(0, "1"), (1, None), (2, "2")]
    assert rows[1]["error"] == "template_raised: ZeroDivisionError: integer division or modulo by zero"


class TestNoClobber:
    def test_nothing_is_read_and_nothing_is_written(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("out.jsonl").write_text("mine")
        Path("link.jsonl").symlink_to("nowhere")
        for out in ("out.jsonl", "link.jsonl"):
            for more in (["--resume"], []):
                assert render("--data", "missing.jsonl", "--out", out, "--no-clobber", *more) == ExitCode.OUTPUT
                assert f"{out}: is there already, and --no-clobber keeps it" in capsys.readouterr().err
        assert Path("out.jsonl").read_text() == "mine"

    def test_what_is_not_there_is_written(self) -> None:
        Path("d.jsonl").write_bytes(lines(3))
        assert render("--data", "d.jsonl", "--out", "out.jsonl", "--no-clobber") == 0
        assert render("--data", "d.jsonl", "--out", "-", "--no-clobber") == 0

    @pytest.mark.parametrize(
        "command",
        [
            ["export", "openai-batch", "c.json", "--data", "d.jsonl", "--model-name", "m", "--out", "there"],
            ["export", "datasets", "c.json", "--data", "d.jsonl", "--out", "there"],
            ["join", "results.jsonl", "--table", "d.jsonl", "--out", "there"],
            ["view", "c.json", "--data", "d.jsonl", "--html", "there"],
        ],
        ids=lambda command: " ".join(command[:2]),
    )
    def test_of_all_commands_that_write(self, command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        Path("there").write_text("mine")
        assert main([*command, "--no-clobber"]) == ExitCode.OUTPUT
        assert "there: is there already" in capsys.readouterr().err
        assert Path("there").read_text() == "mine"

    def test_of_each_file_of_a_folder(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("d.jsonl").write_bytes(lines(3))
        infer = {
            "prompt_template": {"type": "PromptTemplate", "template": "{q}"},
            "retriever": {"type": "ZeroRetriever"},
        }
        infer["inferencer"] = {"type": "GenInferencer"}
        sets = [
            {"abbr": name, "reader_cfg": {"input_columns": ["q"], "output_column": None}, "infer_cfg": infer}
            for name in ("a", "b")
        ]
        Path("c.json").write_text(json.dumps({"datasets": sets}))
        given = ["render", "c.json", "--dataset", "all", "--data", "a=d.jsonl", "b=d.jsonl", "--out", "prompts/"]
        assert main([*given, "--no-clobber"]) == 0
        assert main([*given, "--no-clobber"]) == ExitCode.OUTPUT
        assert "a.jsonl: is there already" in capsys.readouterr().err
        os.unlink("prompts/a.jsonl")
        os.unlink("prompts/b.jsonl")
        assert main([*given, "--no-clobber"]) == ExitCode.OUTPUT
        assert "summary.json: is there already" in capsys.readouterr().err
