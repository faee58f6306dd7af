"""Samples at addresses: in fsspec's memory, and on a server on loopback that breaks."""

from __future__ import annotations

import gzip
import http.server
import io
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promptpress._errors.file_errors import DataError
from promptpress_workbench.files.read import sources
from promptpress_workbench.files.read.samples import Samples

fsspec = pytest.importorskip("fsspec", reason="fsspec isn't installed")

ROWS = [{"q": f"question {i}", "n": i} for i in range(30_000)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def parquet() -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), out, row_group_size=1000, compression="none")
    return out.getvalue()


FILES = {
    "a.jsonl": LINES,
    "a.jsonl.gz": gzip.compress(LINES),
    "a.json": json.dumps(ROWS).encode(),
    "a.parquet": parquet(),
}


def rows(address: str, **options: Any) -> list[dict[str, Any]]:
    samples = Samples([address], **options)
    samples_of_file: list[dict[str, Any]] = samples.table().to_pylist()
    samples.close()
    return samples_of_file


class Handler(http.server.BaseHTTPRequestHandler):
    """Gives the files, whole or by stretches; the first folder says how it misbehaves."""

    requests: list[str]
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.answer(is_head=True)

    def do_GET(self) -> None:
        self.answer(is_head=False)

    def answer(self, *, is_head: bool) -> None:
        path = self.path.partition("?")[0]
        type(self).requests.append(f"{self.command} {self.path}")
        _, how, name = path.split("/")
        if how == "denied" or name not in FILES:
            self.send_error(403 if how == "denied" else 404)
            return
        data = FILES[name]
        wanted = self.headers.get("Range") if how in ("ranges", "breaks-later") else None
        first, last = 0, len(data) - 1
        if wanted is not None:
            start, end = wanted.removeprefix("bytes=").split("-")
            first, last = int(start), min(int(end or last), last)
        body = data[first : last + 1]
        self.send_response(206 if wanted else 200)
        if wanted:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
        if how in ("ranges", "breaks-later"):
            self.send_header("Accept-Ranges", "bytes")
        else:
            self.send_header("Accept-Ranges", "none")
        if how != "unsized" or is_head:
            self.send_header("Content-Length", str(len(body)))
        if how == "unsized":
            self.send_header("Connection", "close")
        self.end_headers()
        if is_head:
            return
        is_broken = how in ("breaks", "unsized") or (how == "breaks-later" and first > 0)
        self.wfile.write(body[: len(body) // 2] if is_broken else body)
        self.close_connection = is_broken

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    pytest.importorskip("aiohttp", reason="aiohttp isn't installed")
    Handler.requests = []
    serving = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{serving.server_port}"
    serving.shutdown()
    serving.server_close()


@pytest.fixture
def memory() -> Iterator[Any]:
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


class TestMemory:
    @pytest.mark.parametrize("name", FILES)
    def test_every_format(self, memory: Any, name: str) -> None:
        memory.pipe_file(f"/data/{name}", FILES[name])
        assert rows(f"memory://data/{name}") == ROWS
        assert rows(f"memory://data/{name}", limit=3) == ROWS[:3]

    def test_patterns(self, memory: Any) -> None:
        for i in (1, 2, 10):
            memory.pipe_file(f"/data/part-{i}.jsonl", json.dumps({"a": i}).encode())
        assert rows("memory://data/part-*.jsonl") == [{"a": 1}, {"a": 2}, {"a": 10}]
        with pytest.raises(DataError, match=r"memory://data/x\*\.csv: no file matches the pattern"):
            rows("memory://data/x*.csv")

    def test_what_is_not_there(self) -> None:
        for name in ("a.jsonl", "a.parquet", "a.csv.gz"):
            with pytest.raises(DataError, match=rf"memory://nowhere/{name}: not found there"):
                rows(f"memory://nowhere/{name}")

    def test_less_than_there_is(self, memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        memory.pipe_file("/data/a.jsonl", LINES)
        monkeypatch.setattr(sources, "_size", lambda *_: len(LINES) + 1)
        with pytest.raises(DataError, match=r"only .* of .* bytes arrived; try again"):
            rows("memory://data/a.jsonl")

    def test_the_error_names_the_damaged_line(self, memory: Any) -> None:
        memory.pipe_file("/data/a.csv", b"a,b\n1,2\n3\n")
        with pytest.raises(DataError, match=r"memory://data/a\.csv:3: 1 field"):
            rows("memory://data/a.csv")


class TestServer:
    @pytest.mark.parametrize("name", FILES)
    @pytest.mark.parametrize("how", ["ranges", "whole"])
    def test_every_format(self, server: str, how: str, name: str) -> None:
        assert rows(f"{server}/{how}/{name}?token=a.b") == ROWS

    def test_lines_are_requested_once(self, server: str) -> None:
        Handler.requests.clear()
        assert rows(f"{server}/ranges/a.jsonl") == ROWS
        assert [request for request in Handler.requests if request.startswith("GET")] == ["GET /ranges/a.jsonl"]

    @pytest.mark.parametrize("name", FILES)
    def test_a_connection_that_breaks(self, server: str, name: str) -> None:
        for how in ("breaks", "unsized"):
            with pytest.raises(DataError) as caught:
                rows(f"{server}/{how}/{name}")
            assert str(caught.value).startswith(f"{server}/{how}/{name}: ")
            assert "download it" in str(caught.value)

    def test_a_connection_that_breaks_later(self, server: str) -> None:
        address = f"{server}/breaks-later/a.parquet"
        with pytest.raises(DataError, match=r"can't be read from there .* download it") as caught:
            rows(address)
        assert str(caught.value).startswith(address)

    @pytest.mark.parametrize(("how", "status"), [("whole", "404 "), ("denied", "403 ")])
    @pytest.mark.parametrize("name", ["none.jsonl", "none.parquet"])
    def test_what_the_server_refuses(self, server: str, how: str, status: str, name: str) -> None:
        with pytest.raises(DataError, match=f"none.*: (the server answers {status}|not found there)"):
            rows(f"{server}/{how}/{name}")

    def test_no_server(self) -> None:
        with pytest.raises(DataError, match=r"http://127\.0\.0\.1:1/a\.jsonl: can't be read from there \(Client"):
            rows("http://127.0.0.1:1/a.jsonl")


def test_a_scheme_that_nothing_reads() -> None:
    with pytest.raises(DataError, match=r"xyz://a/b\.csv: Protocol not known: xyz"):
        rows("xyz://a/b.csv")


@pytest.mark.parametrize("is_installed", [True, False])
def test_fsspec_is_imported_for_addresses_only(tmp_path: Path, is_installed: bool) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a\n1\n"))
    script = """if True:
        import sys
        if sys.argv[1] == "False":
            sys.modules["fsspec"] = sys.modules["fsspec.core"] = None
        from promptpress_workbench.files.read.samples import Samples
        print(Samples(["a.csv.gz"]).table().to_pylist())
        print(sys.modules.get("fsspec"))
        try:
            Samples(["memory://a.csv"])
        except Exception as error:
            print(error)
    """
    command = [sys.executable, "-c", script, str(is_installed)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120)
    read, imported, error = done.stdout.splitlines()
    assert (read, imported) == ("[{'a': '1'}]", "None")
    expected = "not found there" if is_installed else "addresses need fsspec: pip install 'promptpress[remote]'"
    assert error == f"memory://a.csv: {expected}"
