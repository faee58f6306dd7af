"""The core of `promptpress view` without its page: mapped samples, search, comparison and files."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from parts.small_tokenizers import small_tokenizer
from promptpress import Renderer
from promptpress_workbench.cli import main
from promptpress_workbench.cli.option_values import row_numbers
from promptpress_workbench.files.read.samples import Samples
from promptpress_workbench.prompts.prompt import Piece, Prompt, prompt_of
from promptpress_workbench.prompts.prompt_source import TableRows
from promptpress_workbench.prompts.renderer_source import RendererSource
from promptpress_workbench.viewer.guard import Guard
from promptpress_workbench.viewer.prompt_html import columns_html, compared_html, cut
from promptpress_workbench.viewer.search import DifferenceSearch, RowSearch, Wanted
from promptpress_workbench.viewer.sources import Catalogue, Choice, SampleStore, Sources, StoredPrompts, StoredRows
from promptpress_workbench.viewer.view import View, listed_findings, shares_of

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


def test_each_batch_may_have_a_different_dictionary() -> None:
    batches = [pa.record_batch({"q": pa.array([f"{n}a", f"{n}b"]).dictionary_encode()}) for n in range(30)]
    store = stored(pa.Table.from_batches(batches))
    search = RowSearch(StoredPrompts(Renderer("Q: {q}"), StoredRows(store)), Wanted("b"))
    assert search.wait(20)
    assert (list(search.rows), search.error) == (list(range(1, 60, 2)), None)
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


def test_an_error_while_reading_is_reported_and_what_was_read_stays() -> None:
    store = stored(ODD, fault=ValueError("a.jsonl:36: not JSON"))
    store.wait_all()
    assert (store.error, store.num_rows) == ("a.jsonl:36: not JSON", 35)
    assert store.table().equals(ODD.slice(0, 35))
    store.close()


def test_a_full_disk_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
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

    def rows_with(wanted: str, *, ignore_case: bool = False) -> list[int]:
        search = RowSearch(source, Wanted(wanted, case="" if ignore_case else "yes"))
        assert search.wait(20)
        assert search.error is None
        assert search.seen == 4
        return list(search.rows)

    assert rows_with('"one"') == [0]
    assert rows_with("ZWEI\n") == [1]
    assert rows_with("zwei") == []
    assert rows_with("zwei", ignore_case=True) == [1]
    assert rows_with("DREISS\u00c9", ignore_case=True) == rows_with("nothing") == []
    assert rows_with("dreiß\u00c9", ignore_case=True) == [2]
    assert rows_with("Ask: ") == [0, 1, 2, 3]
    if output != "messages_json":
        assert rows_with("HUMAN") == []  # a role is no text


def test_search_in_one_label() -> None:
    renderer = Renderer({"A": "{q} yes", "B": "{q} no"}, mode="ppl")
    source = RendererSource(renderer, TableRows(TEXTS))
    for label, wanted, rows in ((None, "yes", 4), ("A", "yes", 4), ("B", "yes", 0), ("B", "no", 4), ("C", "no", 0)):
        search = RowSearch(source, Wanted(wanted), label=label)
        assert search.wait(20)
        assert (len(search.rows), search.seen) == (rows, 4)


def test_a_search_that_is_stopped_keeps_what_it_found() -> None:
    gate = threading.Event()
    store = stored(ODD, gate=gate)
    search = RowSearch(StoredPrompts(Renderer("{q}"), StoredRows(store)), Wanted("question"))
    search.cancel()
    gate.set()
    assert search.wait(20)
    assert search.cancelled
    assert len(search.rows) < 1000
    store.close()


def test_an_error_of_rendering_is_counted_by_a_search() -> None:
    table = pa.table({"q": ["fine", "fine"], "i": [[5], [0]]})
    shots = {"type": "IndexColumn", "column": "i"}
    renderer = Renderer({"template": "</E>{q}", "ice_token": "</E>"}, "{q}", shots, table, {"output_column": "q"})
    search = RowSearch(RendererSource(renderer, TableRows(table)), Wanted("f"))
    assert search.wait(20)
    assert (search.error, search.failed, list(search.rows)) == (None, 1, [1])


def test_comparing_finds_rows_that_differ_or_are_on_one_side_only() -> None:
    samples = pa.table({"q": ["fine", "see {a}", "fine"], "a": ["x", "gold", "z"]})
    rows = TableRows(samples)
    sides = [
        RendererSource(Renderer("{q} {a}", substitution=substitution), rows)
        for substitution in ("harness", "single_pass")
    ]
    comparing = DifferenceSearch(*sides)
    assert comparing.wait(20)
    assert (list(comparing.rows), comparing.seen, comparing.error) == ([1], 3, None)
    labels = RendererSource(Renderer({"A": "{q} {a}", "B": "{q}"}, mode="ppl"), rows)
    comparing = DifferenceSearch(sides[0], labels)
    assert comparing.wait(20)
    assert list(comparing.rows) == [0, 1, 2]


RANDOM = {"type": "RandomRetriever", "ice_num": 2, "seed": 7}
SHOTS: dict[str, Any] = {
    "prompt_template": {"template": "</E>{q}", "ice_token": "</E>"},
    "ice_template": "{q}\n",
    "retriever": RANDOM,
    "reader": {"output_column": "views"},
}
LABELS: dict[str, Any] = {"prompt_template": {"A": "{q} a", "B": "{q} b"}, "mode": "ppl"}


BUDGET: dict[str, Any] = {"max_seq_len": 20, "fit": "last"}


@pytest.mark.parametrize(
    "arguments",
    [
        {"retriever": RANDOM, **SHOTS},
        {"prompt_template": {"A": "{q} a", "B": "{q} b"}, "mode": "ppl"},
        {"retriever": RANDOM, **SHOTS, **BUDGET},
        {"retriever": {"type": "FixKRetriever", "fix_id_list": [0, 1, 2]}, **SHOTS, **BUDGET},
    ],
)
def test_a_window_is_what_all_rows_have_there(arguments: dict[str, Any]) -> None:
    store = stored(ODD)
    store.wait_all()
    examples = {"examples": ODD.slice(0, 50)} if "retriever" in arguments else {}
    tokenizer = small_tokenizer() if "fit" in arguments else None
    renderer = Renderer(**arguments, **examples, tokenizer=tokenizer)
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


def test_lines_show_only_what_differs() -> None:
    store = stored(ODD)
    store.wait_all()
    catalogue = Catalogue([], [], lambda *_: Renderer("Answer this question as well as you can: {q}"))
    catalogue.prompts[""] = None  # type: ignore[assignment]
    view = View(store, Sources(store, catalogue), Choice(""))
    assert [line["text"] for line in view.window(0, 2)[0]] == ["…0", "…1"]
    assert view.window(0, 2)[1] == "Answer this question as well as you can: question "
    assert view.window(0, 1)[0][0]["size"] == len("Answer this question as well as you can: question 0")
    view.wanted = Wanted("can: question 99")
    view.start_search(row_numbers)
    assert view.finder is not None
    assert view.finder.wait(20)
    assert view.count() == 11
    assert [line["row"] for line in view.window(0, 3)[0]] == [99, 990, 991]
    assert view.window(0, 1)[0][0]["text"].endswith("question 99")
    store.close()


def test_a_line_shows_what_was_found_whatever_stands_before_it() -> None:
    # The dotted capital I is two characters in lower case.
    store = stored(pa.table({"q": ["\u0130" * 400 + " needle"]}))
    store.wait_all()
    catalogue = Catalogue([], [], lambda *_: Renderer("{q}"))
    catalogue.prompts[""] = None  # type: ignore[assignment]
    view = View(store, Sources(store, catalogue), Choice(""))
    view.wanted = Wanted("NEEDLE")
    view.start_search(row_numbers)
    assert view.finder is not None
    assert view.finder.wait(20)
    assert view.window(0, 1)[0][0]["text"] == "…needle"  # from the beginning of a word
    store.close()


def test_a_row_that_cannot_be_rendered_leaves_the_others_in_the_list() -> None:
    # No type but Arrow's own can hold such a time: it isn't Python's.
    when = pa.array([n if n != 7 else 1 << 62 for n in range(20)], pa.int64()).cast(pa.timestamp("s"))
    store = stored(pa.table({"q": pa.array([f"question {n}" for n in range(20)]), "when": when}))
    store.wait_all()
    catalogue = Catalogue([], [], lambda *_: Renderer("{q} at {when}"))
    catalogue.prompts[""] = None  # type: ignore[assignment]
    view = View(store, Sources(store, catalogue), Choice(""))
    lines = view.window(0, 100)[0]
    assert [line["row"] for line in lines] == list(range(20))
    assert lines[7]["text"].startswith('unconvertible_value: column "when": 4611686018427387904 seconds')
    assert [line["row"] for line in lines if line["size"] is None] == [7]
    assert lines[8]["text"] == "question 8 at 1970-01-01 00:00:08"
    store.close()


def test_long_prompts_are_cut_at_characters_over_all_messages() -> None:
    table = pa.table({"q": ["é" * 100], "a": ["x"]})
    renderer = Renderer(DIALOGUE, meta_template=META, reader={"output_column": "a"})
    (prompt,) = RendererSource(renderer, TableRows(table)).prompts(0)
    assert [sum(piece.characters for piece in cut([prompt], size)) for size in (0, 1, 7, 1000)] == [0, 1, 7, 105]


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
    options = ["--model", "models.json", "--data", "data.parquet", "--html", "out.html", "--row", "1,0"]
    assert main(["view", "b.json", *options]) == 0
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert page.index("row 1 ") < page.index("row 0 ")
    assert "row 2 " not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    for text in ("&lt;/title&gt;", r"\u202e", r"\x00"):
        assert text in page
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
    template = ["--template", "Q: {q}", "--system", "Be brief.", "--answer", "a"]
    assert main(["view", *template, "--data", "data.parquet", "--html", "out.html", "--output", "openai"]) == 0
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert "Be brief." in page
    assert 'title="column q' in page


def test_a_file_of_prompts_takes_the_place_of_a_configuration(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for operands in (["data.parquet"], ["--data", "data.parquet"]):
        assert main(["view", *operands, "--column", "q", "--html", "out.html"]) == 0
        page = (folder / "out.html").read_text(encoding="utf-8")
        assert "<h1>data.parquet</h1>" in page
        assert page.count('<div class="pp-prompt">') == 3
    capsys.readouterr()
    for operands, message in (
        (["data.parquet", "data.parquet"], "is viewed alone; promptpress diff compares two such files"),
        (["a.json"], "a.json: a configuration needs samples"),
        ([], "neither CONFIG nor --data"),
    ):
        assert main(["view", *operands, "--html", "out.html"]) == 2
        assert message in capsys.readouterr().err


def test_the_page_is_headed_by_template_and_file(folder: Path) -> None:
    for operands, heading in (
        (["b.json", "--model", "models.json"], "b.json · data.parquet"),
        (["--template", "<b> {q}"], "&lt;b&gt; {q} · data.parquet"),
        (["--template", "{q}" * 40], f"{'{q}' * 40} · data.parquet"),
        (["--template", "{q}" * 40 + "."], f"{'{q}' * 39}{{q… · data.parquet"),
    ):
        assert main(["view", *operands, "--data", "data.parquet", "--html", "out.html", "--quiet"]) == 0
        page = (folder / "out.html").read_text(encoding="utf-8")
        assert f"<title>{heading}</title>" in page
        assert f"<h1>{heading}</h1>" in page
    assert main(["view", "b.json", "--model", "models.json", "--data", "data.parquet", "--html", "out.html"]) == 0
    assert '<p class="pp-said">one</p>' in (folder / "out.html").read_text(encoding="utf-8")


def test_messages_stand_next_to_their_like() -> None:
    def talk(*turns: tuple[str, str]) -> list[Prompt]:
        return [prompt_of([{"role": role, "content": text} for role, text in turns], 3)]

    html = compared_html(
        talk(("user", "One?"), ("assistant", "1"), ("user", "Two?")),
        talk(("system", "Be kind."), ("user", "One?"), ("assistant", "1"), ("user", "Two, please?")),
        names=("<left>", "right"),
    )
    cells = html.split('<div class="pp-side">')[1:]
    assert [("kind" in cell, "One" in cell, "assistant" in cell, "Two" in cell) for cell in cells] == [
        (False, False, False, False), (False, False, False, False),
        (False, False, False, False), (True, False, False, False),
        (False, True, False, False), (False, True, False, False),
        (False, False, True, False), (False, False, True, False),
        (False, False, False, True), (False, False, False, True),
    ]  # fmt: skip
    assert cells[0].startswith('<div class="pp-head">&lt;left&gt; · row 3 ')
    assert html.startswith('<p class="pp-differs">differs: message 0, only in B</p>')
    assert html.count("pp-added") == 2


def test_the_columns_that_the_prompt_does_not_show() -> None:
    pieces = (Piece("x", "field", "q"), Piece("", "masked", "a"), Piece("y", "field", "b", 0))
    html = columns_html({"q": "x", "a": "<b>\u202e", "b": None, "n": [1.5]}, [Prompt(0, "x", pieces)])
    assert "<dt>q</dt>" not in html
    assert r"<dt>a</dt><dd>&lt;b&gt;\u202e</dd><dt>b</dt><dd>null</dd><dt>n</dt><dd>[1.5]</dd>" in html
    assert "1 more characters" in columns_html({"long": "x" * 2001}, [])


def test_rows_in_one_file_are_the_first_ten(folder: Path) -> None:
    assert main(["view", "a.json", "--data", "data.parquet", "--html", "out.html"]) == 0
    assert (folder / "out.html").read_text(encoding="utf-8").count('<div class="pp-prompt">') == 3


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["a.json", "--row", "1"], 2, "--html FILE"),
        (["a.json", "--html", "out.html", "--row", "1,3"], 4, "there is no such row"),
        (["--model", "models.json", "--html", "out.html"], 2, "holds prompts, so --model has nothing to add"),
        (["a.json", "--template", "{q}", "--html", "out.html"], 2, "--template with a.json"),
        (["--shots", "1", "--html", "out.html"], 2, "holds prompts, so --shots has nothing to add"),
        (["--html", "out.html"], 2, "or --column names the prompts that --data has already"),
        (["a.json", "--model", "a.json", "--html", "out.html"], 3, "holds no model"),
        (["a.json", "--model-abbr", "three", "--model", "models.json", "--html", "o.html"], 2, "'one', 'two'"),
        (["a.json", "--html", "nowhere/out.html"], 5, "nowhere"),
        (["a.json", "--html", "out.html", "--row", "x"], 2, "'x' is no row"),
        (["data.parquet", "--html", "out.html"], 2, "data.parquet: holds prompts, so --data has nothing to add"),
        (
            ["a.json", "--column", "q", "--html", "out.html"],
            2,
            "--column: names the prompts of a rendered",
        ),
        (["--column", "qq", "--html", "out.html"], 2, "--column qq: the file has no such column"),
    ],
)
def test_errors_are_printed(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, message: str
) -> None:
    assert main(["view", *arguments, "--data", "data.parquet"]) == code
    assert message in capsys.readouterr().err
    assert not (folder / "out.html").exists()


def test_without_nicegui_the_error_names_what_to_install(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert folder
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert main(["view", "a.json", "--data", "data.parquet"]) == 2
    assert "pip install 'promptpress[view]'" in capsys.readouterr().err


def test_entries_of_several_files_have_different_names(folder: Path) -> None:
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


def test_figures_of_the_page() -> None:
    figures = pp.stats(pp.Renderer("Q: {q}"), pa.table({"q": ["1+1=?"]}))
    assert [(share.name, share.bytes) for share in shares_of(figures)] == [("column q", 5), ("prompt template", 3)]
    samples = pa.table({"q": ["1+1", "see {a}"], "a": ["2", "4"]})
    (finding,) = listed_findings(pp.Renderer("Q: {q}", substitution="harness").audit(samples))
    assert (finding.code, finding.first_rows) == ("placeholder_filled", [1])
