"""What stands behind `promptpress view`, without its page: samples that are mapped, what is found in them, files."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promptpress import Renderer
from promptpress._cli import main
from promptpress._inputs.samples import Samples
from promptpress._view.renderer_source import RendererSource
from promptpress._view.sample_rows import TableRows
from promptpress._viewer.catalogue import Catalogue, Choice
from promptpress._viewer.comparing import Comparing
from promptpress._viewer.guard import Guard
from promptpress._viewer.prompt_html import cut
from promptpress._viewer.sample_store import SampleStore
from promptpress._viewer.search import Search
from promptpress._viewer.sources import Sources, StoredPrompts, StoredRows
from promptpress._viewer.view import View

ODD = pa.table(
    {
        "q": pa.array([f"question {n}" for n in range(1000)]).dictionary_encode(),
        "views": pa.array(["a", None] * 500, pa.string_view()),
        "nested": pa.array([[{"x": n}] for n in range(1000)]),
        "none": pa.nulls(1000),
    }
)


class Few:
    """Samples of a table, in batches of 7 rows, which may wait or fail."""

    def __init__(
        self, table: pa.Table, fault: BaseException | None = None, gate: threading.Event | None = None
    ) -> None:
        self.schema, self.num_rows, self.error = table.schema, None, fault
        self._table, self._gate = table, gate

    def reader(self) -> Iterator[pa.RecordBatch]:
        for number, batch in enumerate(self._table.to_batches(max_chunksize=7)):
            if number == 3 and self._gate is not None:
                assert self._gate.wait(20)
            if number == 5 and self.error is not None:
                raise self.error
            yield batch

    def close(self) -> None:
        pass


def stored(table: pa.Table, **options: Any) -> SampleStore:
    return SampleStore(Few(table, **options))  # type: ignore[arg-type]


def test_rows_are_those_of_the_file(tmp_path: Path) -> None:
    pq.write_table(ODD.select(["q", "nested"]), tmp_path / "a.parquet")
    store = SampleStore(Samples([str(tmp_path / "a.parquet")], None, 64))
    assert store.wait(1000, 20)
    for start, stop in ((0, 1), (63, 65), (900, 1000), (999, 2000), (1000, 1001)):
        assert store.rows(start, stop).equals(ODD.select(["q", "nested"]).slice(start, stop - start).cast(store.schema))
    store.close()


def test_rows_of_any_type_come_back_and_the_file_goes(tmp_path: Path) -> None:
    store = SampleStore(Few(ODD), str(tmp_path))  # type: ignore[arg-type]
    store.wait_all()
    assert store.error is None
    assert store.num_rows == 1000
    assert store.table().equals(ODD)
    assert [start for start, _ in store.slices(300)] == [0, 300, 600, 900]
    kept = store.rows(990, 1000)
    store.close()
    assert list(tmp_path.iterdir()) == []
    assert kept.equals(ODD.slice(990, 10))


def test_each_batch_may_have_a_dictionary_of_its_own() -> None:
    batches = [pa.record_batch({"q": pa.array([f"{n}a", f"{n}b"]).dictionary_encode()}) for n in range(30)]
    store = stored(pa.Table.from_batches(batches))
    search = Search(StoredPrompts(Renderer("Q: {q}"), StoredRows(store)), "b")
    assert search.wait(20)
    assert (list(search.found), search.error) == (list(range(1, 60, 2)), None)
    store.close()


def test_the_first_rows_are_there_before_the_last() -> None:
    gate = threading.Event()
    store = stored(ODD, gate=gate)
    assert store.wait(21, 20)
    assert not store.wait(22, 0.05)
    assert (store.num_rows, store.done) == (None, False)
    assert store.rows(0, 100).equals(ODD.slice(0, 21))
    gate.set()
    assert store.wait(1000, 20)
    store.close()


def test_what_goes_wrong_while_reading_is_said_and_what_was_read_stays() -> None:
    store = stored(ODD, fault=ValueError("a.jsonl:36: not JSON"))
    store.wait_all()
    assert (store.error, store.num_rows) == ("a.jsonl:36: not JSON", 35)
    assert store.table().equals(ODD.slice(0, 35))
    store.close()


def test_a_full_disk_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pa.ipc, "new_stream", full)
    store = stored(ODD)
    store.wait_all()
    assert store.error is not None
    assert "No space left on device" in store.error
    assert "TMPDIR" in store.error
    store.close()


def test_closing_stops_the_reading() -> None:
    gate = threading.Event()
    store = stored(ODD, gate=gate)
    assert store.wait(21, 20)
    threading.Timer(0.1, gate.set).start()
    store.close()
    assert store.ready < 100


META = {"round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}]}
DIALOGUE = {"round": [{"role": "HUMAN", "prompt": "Ask: {q}"}, {"role": "BOT", "prompt": "{a}"}]}
TEXTS = pa.table({"q": ['say "one"', "ZWEI\n", "dreiß\u00e9", None], "a": ["x", "y", "z", "HUMAN"]})


@pytest.mark.parametrize("strings", ["string", "large_string", "string_view"])
@pytest.mark.parametrize("output", ["text", "messages", "prompt_list", "messages_json"])
def test_search_finds_in_every_form(output: Any, strings: Any) -> None:
    meta = None if output == "text" else META
    renderer = Renderer(DIALOGUE, meta_template=meta, reader={"output_column": "a"}, output=output, strings=strings)
    source = RendererSource(renderer, TableRows(TEXTS))

    def found(wanted: str, *, ignore_case: bool = False) -> list[int]:
        search = Search(source, wanted, ignore_case=ignore_case)
        assert search.wait(20)
        assert search.error is None
        assert search.seen == 4
        return list(search.found)

    assert found('"one"') == [0]
    assert found("ZWEI\n") == [1]
    assert found("zwei") == []
    assert found("zwei", ignore_case=True) == [1]
    assert found("DREISS\u00c9", ignore_case=True) == found("nothing") == []
    assert found("dreiß\u00c9", ignore_case=True) == [2]
    assert found("Ask: ") == [0, 1, 2, 3]
    if output != "messages_json":
        assert found("HUMAN") == []  # a role is no text


def test_search_in_one_label() -> None:
    renderer = Renderer({"A": "{q} yes", "B": "{q} no"}, mode="ppl")
    source = RendererSource(renderer, TableRows(TEXTS))
    for label, wanted, rows in ((None, "yes", 4), ("A", "yes", 4), ("B", "yes", 0), ("B", "no", 4), ("C", "no", 0)):
        search = Search(source, wanted, label=label)
        assert search.wait(20)
        assert (len(search.found), search.seen) == (rows, 4)


def test_a_search_that_is_stopped_keeps_what_it_found() -> None:
    gate = threading.Event()
    store = stored(ODD, gate=gate)
    search = Search(StoredPrompts(Renderer("{q}"), StoredRows(store)), "question")
    search.cancel()
    gate.set()
    assert search.wait(20)
    assert search.cancelled
    assert len(search.found) < 1000
    store.close()


def test_an_error_of_rendering_ends_a_search() -> None:
    table = pa.table({"q": ["fine"], "i": [[5]]})
    shots = {"type": "IndexColumn", "column": "i"}
    renderer = Renderer({"template": "</E>{q}", "ice_token": "</E>"}, "{q}", shots, table, {"output_column": "q"})
    search = Search(RendererSource(renderer, TableRows(table)), "f")
    assert search.wait(20)
    assert search.error is not None
    assert "5" in search.error


def test_comparing_finds_rows_that_differ_or_are_on_one_side_only() -> None:
    samples = pa.table({"q": ["fine", "see {a}", "fine"], "a": ["x", "gold", "z"]})
    rows = TableRows(samples)
    sides = [RendererSource(Renderer("{q} {a}", substitution=own), rows) for own in ("harness", "single_pass")]
    comparing = Comparing(*sides)
    assert comparing.wait(20)
    assert (list(comparing.found), comparing.seen, comparing.error) == ([1], 3, None)
    labels = RendererSource(Renderer({"A": "{q} {a}", "B": "{q}"}, mode="ppl"), rows)
    comparing = Comparing(sides[0], labels)
    assert comparing.wait(20)
    assert list(comparing.found) == [0, 1, 2]


RANDOM = {"type": "RandomRetriever", "ice_num": 2, "seed": 7}
SHOTS: dict[str, Any] = {
    "prompt_template": {"template": "</E>{q}", "ice_token": "</E>"},
    "ice_template": "{q}\n",
    "retriever": RANDOM,
    "reader": {"output_column": "views"},
}
LABELS: dict[str, Any] = {"prompt_template": {"A": "{q} a", "B": "{q} b"}, "mode": "ppl"}


@pytest.mark.parametrize(
    "arguments", [{"retriever": RANDOM, **SHOTS}, {"prompt_template": {"A": "{q} a", "B": "{q} b"}, "mode": "ppl"}]
)
def test_a_window_is_what_all_rows_have_there(arguments: dict[str, Any]) -> None:
    store = stored(ODD)
    store.wait_all()
    examples = {"examples": ODD.slice(0, 50)} if "retriever" in arguments else {}
    renderer = Renderer(**arguments, **examples)
    source = StoredPrompts(renderer, StoredRows(store))
    whole = renderer.render(ODD)["prompt"].to_pylist()
    times = len(whole) // 1000
    for start, stop in ((0, 3), (5, 20), (995, 1000), (400, 410)):
        batches = list(source.window(start, stop))
        assert [text for batch in batches for text in batch.prompts.to_pylist()] == whole[start * times : stop * times]
        samples = [row for batch in batches for row in batch.samples.to_pylist()]
        assert samples == [row for row in range(start, stop) for _ in range(times)]
        assert [prompt.text for prompt in source.prompts(start)] == whole[start * times : (start + 1) * times]
    store.close()


def test_lines_show_what_is_their_own() -> None:
    store = stored(ODD)
    store.wait_all()
    catalogue = Catalogue([], [], lambda *_: Renderer("Answer this question as well as you can: {q}"))
    catalogue.prompts[""] = None  # type: ignore[assignment]
    view = View(store, Sources(store, catalogue), Choice(""))
    assert [line["text"] for line in view.lines(0, 2)] == ["…0", "…1"]
    assert view.lines(0, 1)[0]["size"] == len("Answer this question as well as you can: question 0")
    view.finder = Search(view.source, "can: question 99")
    assert view.finder.wait(20)
    assert view.count() == 11
    assert [line["row"] for line in view.lines(0, 3)] == [99, 990, 991]
    assert view.lines(0, 1)[0]["text"].endswith("question 99")
    store.close()


def test_a_line_shows_what_was_found_whatever_stands_before_it() -> None:
    # The dotted capital I is two characters in lower case.
    store = stored(pa.table({"q": ["\u0130" * 400 + " needle"]}))
    store.wait_all()
    catalogue = Catalogue([], [], lambda *_: Renderer("{q}"))
    catalogue.prompts[""] = None  # type: ignore[assignment]
    view = View(store, Sources(store, catalogue), Choice(""))
    view.finder = Search(view.source, "NEEDLE", ignore_case=True)
    assert view.finder.wait(20)
    assert view.lines(0, 1)[0]["text"].endswith("needle")
    store.close()


def test_long_prompts_are_cut_at_characters_over_all_messages() -> None:
    table = pa.table({"q": ["é" * 100], "a": ["x"]})
    renderer = Renderer(DIALOGUE, meta_template=META, reader={"output_column": "a"})
    (prompt,) = RendererSource(renderer, TableRows(table)).prompts(0)
    assert [sum(one.characters for one in cut([prompt], size)) for size in (0, 1, 7, 1000)] == [0, 1, 7, 105]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text(json.dumps({"prompt_template": "A: {q}"}))
    (tmp_path / "b.json").write_text(json.dumps({"prompt_template": DIALOGUE, "reader": {"output_column": "a"}}))
    models = [{"abbr": "one", "type": "OpenAI", "meta_template": META}, {"abbr": "two", "type": "VLLM"}]
    (tmp_path / "models.json").write_text(json.dumps({"models": models}))
    harm = pa.table({"q": ["<script>alert(1)</script>", "</title>\u202e\x00", "c"], "a": ["&amp;", "<", ">"]})
    pq.write_table(harm, tmp_path / "data.parquet")
    return tmp_path


def test_rows_in_one_file_need_nothing_else(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--model", "models.json", "--data", "data.parquet", "--html", "out.html", "--rows", "1,0"]
    assert main(["view", "b.json", *options]) == 0
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert page.index("row 1 ") < page.index("row 0 ")
    assert "row 2 " not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    for shown in ("&lt;/title&gt;", r"\u202e", r"\x00"):
        assert shown in page
    assert "\u202e" not in page
    assert "HUMAN" in page  # the first model's form
    for outside in ("<script", "src=", "href=", "url(", "http://", "https://", "@import"):
        assert outside not in page, outside
    assert "default-src 'none'" in page
    assert capsys.readouterr().err == "promptpress: 2 rows in out.html\n"


def test_what_is_probably_a_mistake_is_noted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder
    arguments = ["view", "--template", "Q: {qq}", "--data", "data.parquet", "--html", "out.html"]
    assert main(arguments) == 0
    assert "'{qq}' names no column" in capsys.readouterr().err
    assert main([*arguments, "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_a_template_takes_the_place_of_a_configuration(folder: Path) -> None:
    template = ["--template", "Q: {q}", "--system", "Be brief.", "--output-column", "a"]
    assert main(["view", *template, "--data", "data.parquet", "--html", "out.html", "--output", "openai"]) == 0
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert "Be brief." in page
    assert 'title="column q' in page


def test_rows_in_one_file_are_the_first_ten(folder: Path) -> None:
    assert main(["view", "a.json", "--data", "data.parquet", "--html", "out.html"]) == 0
    assert (folder / "out.html").read_text(encoding="utf-8").count('<div class="pp-prompt">') == 3


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["a.json", "--rows", "1"], 2, "--html FILE"),
        (["a.json", "--html", "out.html", "--rows", "1,3"], 4, "there is no such row"),
        (["--model", "models.json", "--html", "out.html"], 2, "--model: without CONFIG"),
        (["a.json", "--template", "{q}", "--html", "out.html"], 2, "--template beside a.json"),
        (["--shots", "1", "--html", "out.html"], 2, "--shots: without CONFIG"),
        (["--html", "out.html"], 4, "no column 'prompt'"),
        (["a.json", "--model", "a.json", "--html", "out.html"], 3, "holds no model"),
        (["a.json", "--model-abbr", "three", "--model", "models.json", "--html", "o.html"], 2, "'one', 'two'"),
        (["a.json", "--html", "nowhere/out.html"], 5, "nowhere"),
        (["a.json", "--html", "out.html", "--rows", "x"], 2, "no whole number"),
    ],
)
def test_what_is_wrong_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, said: str
) -> None:
    assert main(["view", *arguments, "--data", "data.parquet"]) == code
    assert said in capsys.readouterr().err
    assert not (folder / "out.html").exists()


def test_without_nicegui_it_is_said_what_to_install(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert folder
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert main(["view", "a.json", "--data", "data.parquet"]) == 2
    assert "pip install 'promptpress[view]'" in capsys.readouterr().err


def test_entries_of_several_files_have_names_of_their_own(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "a.json").write_text((folder / "a.json").read_text())
    (folder / "sub" / "models.json").write_text((folder / "models.json").read_text())
    catalogue = Catalogue(["a.json", "b.json", "sub/a.json"], ["models.json", "sub/models.json"], lambda *_: None)  # type: ignore[arg-type,return-value]
    assert list(catalogue.prompts) == ["a.json", "b.json", "sub/a.json"]
    assert list(catalogue.models) == ["one", "two", "models.json one", "models.json two"]


def ask(guard: Guard, path: str, *headers: tuple[bytes, bytes], kind: str = "http") -> list[dict[str, Any]]:
    """Ask a guard as a server does, and give what it sends."""
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(dict(message))

    async def receive() -> Any:
        raise AssertionError

    scope = {"type": kind, "path": path, "headers": list(headers)}
    asyncio.run(guard(scope, receive, send))
    return sent


async def inner(scope: Any, _: Any, send: Any) -> None:
    """An application that says what headers it sees, in two parts."""
    seen = b" ".join(key for key, _ in scope["headers"])
    headers = [(b"content-type", b"text/html"), (b"content-length", b"1"), (b"Referrer-Policy", b"unsafe-url")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"<scr", "more_body": True})
    await send({"type": "http.response.body", "body": b"ipt>" + seen})


HOST = (b"host", b"127.0.0.1:80")


def test_the_guard_gives_scripts_a_nonce_and_tells_the_app_no_forwarded_headers() -> None:
    start, body = ask(Guard(inner, "t", 80), "/t/", HOST, (b"X-Forwarded-Prefix", b"/x"))
    headers = dict(start["headers"])
    assert body["body"].startswith(b'<script nonce="')
    assert body["body"].endswith(b">host")
    assert body["body"].split(b'"')[1] in headers[b"content-security-policy"]
    assert headers[b"content-length"] == str(len(body["body"])).encode()
    assert headers[b"referrer-policy"] == b"no-referrer"


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", [HOST]),
        ("/T/", [HOST]),
        ("t", [HOST]),
        ("", [HOST]),
        ("//t/", [HOST]),
        ("/x/../t/", [HOST]),
        ("/\udcff/", [HOST]),
        ("/t/", []),
        ("/t/", [HOST, HOST]),
        ("/t/", [(b"host", b"127.0.0.1:80.evil.example")]),
        ("/t/", [HOST, (b"origin", b"http://evil.example")]),
        ("/t/", [HOST, (b"origin", b"http://127.0.0.1:80"), (b"Origin", b"null")]),
    ],
)
def test_the_guard_refuses(path: str, headers: list[tuple[bytes, bytes]]) -> None:
    start, body = ask(Guard(inner, "t", 80), path, *headers)
    assert start["status"] == 403
    assert body["body"].startswith(b"403: ")
    (close,) = ask(Guard(inner, "t", 80), path, *headers, kind="websocket")
    assert close["type"] == "websocket.close"
