"""MMPromptTemplate against the model: every output, layout and split; and the documented examples."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from amounts import part_of
from fuzz.media import LAYOUTS
from generators.strategies import Case, media_cases
from hypothesis import HealthCheck, given, note, settings
from marks import UNWARNED
from models.media_model import END, TAGS, RefusedError, request
from promptpress_workbench.cli import main

CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
QUICK = settings(max_examples=part_of(200), deadline=None, database=None, suppress_health_check=CHECKS)
LENGTH = {"string": pa.string(), "large_string": pa.large_string(), "string_view": pa.string_view()}

URL = {
    "text": {"type": "text", "text": "{anything}\nQuestion: {question}"},
    "image": {"type": "image_url", "image_url": {"url": "file://{image}"}},
    "video": {"type": "video_url", "video_url": {"url": "file://{video}"}},
    "audio": {"type": "audio_url", "audio_url": {"url": "file://{audio}"}},
}
BASE64 = {
    "text": URL["text"],
    "image": {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,{image}"}},
    "video": {"type": "video_url", "video_url": {"url": "data:video/jpeg;base64,{video}"}},
    "audio": {"type": "audio_url", "audio_url": {"url": "data:audio/wav;base64,{audio}"}},
}
META = {"round": [{"role": "HUMAN", "api_role": "user"}, {"role": "BOT", "api_role": "assistant", "generate": True}]}


def config(prompt_mm: Any, **more: Any) -> dict[str, Any]:
    template = {"round": [{"role": "HUMAN", "prompt_mm": prompt_mm}]}
    return {"prompt_template": {"type": "MMPromptTemplate", "template": template}, "dialect": "aisbench", **more}


def tagged(**payloads: str) -> str:
    return "".join(TAGS[name.rstrip("_")] + payload + END for name, payload in payloads.items())


def wanted(settings: dict[str, Any], samples: pa.Table) -> list[Any] | None:
    """The model's requests; None where one of them is refused."""
    try:
        return [request(settings, sample) for sample in samples.to_pylist()]
    except RefusedError as error:
        note(f"the model refuses: {error}")
        return None


def fits_arrow(case: Case, requests: list[Any]) -> bool:
    """Return true if one Arrow type can hold these requests and all parts of the template."""
    template = case.config["prompt_template"]["template"]
    lists = [section if isinstance(section, list) else [section] for section in template.values()]
    items = [item for section in lists for item in section]
    if may_be_text(case, items) and any(isinstance(request, list) and request for request in requests):
        return False
    entries = [item["prompt_mm"] for item in items if isinstance(item, dict) and "prompt_mm" in item]
    try:
        pa.array([part for entry in entries for part in entry.values()])
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return False
    return True


def may_be_text(case: Case, items: list[Any]) -> bool:
    """Return true if the requests are a column of strings, which can't hold a list of parts."""
    texts = [item if isinstance(item, str) else item.get("prompt", "") for item in items]
    return case.config["output"] == "messages" and "meta_template" not in case.config and any(texts)


def nulls(value: Any) -> bool:
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return any(item is None or nulls(item) for item in inner)


def rendered_by(case: Case) -> tuple[pp.Renderer, pa.Table] | Exception:
    try:
        renderer = pp.Renderer(**case.config)
        return renderer, renderer.render(case.samples)
    except (pp.TemplateError, pp.RenderError) as error:
        note(f"the renderer refuses: {error}")
        return error


def check(case: Case) -> None:
    want, got = wanted(case.config, case.samples), rendered_by(case)
    if want is not None and case.config["output"] == "messages":
        # One string a request, which holds what no Arrow type does.
        lines = pp.Renderer(**{**case.config, "output": "messages_json"}).render(case.samples)["prompt"]
        assert lines.type == LENGTH[case.config["strings"]]
        assert [json.loads(line) for line in lines.to_pylist()] == want
    if isinstance(got, Exception):
        assert want is None or not fits_arrow(case, want), f"refused without need: {got}"
        return
    assert want is not None, "rendered what the model refuses"
    renderer, table = got
    table.validate(full=True)
    requests = pp.to_pylist(table["prompt"])
    # A column of strings has no empty list.
    is_text = table["prompt"].type == LENGTH[case.config["strings"]]
    assert requests == ["" if is_text and request == [] else request for request in want]
    assert not nulls(requests)
    assert table.schema == renderer.output_schema(case.samples.schema)
    assert table.schema == renderer.render(case.samples.slice(0, 0)).schema
    batches = case.samples.to_batches(max_chunksize=1)
    assert pa.concat_tables(pa.Table.from_batches([renderer(b).select(["prompt"])]) for b in batches).equals(table)
    assert renderer.stream(batches).read_all().equals(table)


@UNWARNED
@settings(QUICK, max_examples=part_of(400))
@given(media_cases())
def test_random_cases(case: Case) -> None:
    check(case)


# ---------------------------------------------------------------------------------------------------------------------
# What the documents show.

TAGGED = tagged(text="What is this?", image="a.jpg", audio="b.wav", video="c.mp4")


def rendered(settings: dict[str, Any], rows: list[dict[str, Any]]) -> list[Any]:
    return pp.to_pylist(pp.Renderer(**settings).render(pa.Table.from_pylist(rows))["prompt"])


def one_message(parts: list[Any]) -> list[Any]:
    return [{"role": "user", "parts": parts}]


@UNWARNED
@pytest.mark.parametrize(
    ("entries", "before"),
    [
        (URL, {"image": "file://", "audio": "file://", "video": "file://"}),
        (
            BASE64,
            {
                "image": "data:image/jpeg;base64,",
                "audio": "data:audio/wav;base64,",
                "video": "data:video/jpeg;base64,",
            },
        ),
    ],
)
def test_the_documents_example(entries: Any, before: dict[str, str]) -> None:
    sample = {"anything": "blabla", "question": TAGGED, "answer": "a cat"}
    reader = {"input_columns": ["anything", "question"], "output_column": "answer"}
    parts = [{"type": "text", "text": "blabla\nQuestion: What is this?"}] + [
        {"type": f"{name}_url", f"{name}_url": {"url": before[name] + payload}}
        for name, payload in (("image", "a.jpg"), ("audio", "b.wav"), ("video", "c.mp4"))
    ]
    settings = config(entries, reader=reader, meta_template=META)
    assert rendered(settings, [sample]) == [one_message(parts)]
    # With a column `content` only the stretch is filled in, as the code does it.
    parts[0] = {"type": "text", "text": "{anything}\nQuestion: What is this?"}
    assert rendered(settings, [{"anything": "blabla", "content": TAGGED}]) == [one_message(parts)]


@UNWARNED
@pytest.mark.parametrize(
    ("payload", "documented", "recorded"),
    [
        ("image.jpg", "file://image.jpg", "file://image.jpg"),
        ("file://image.jpg", "file://image.jpg", "file://file://image.jpg"),
        ("data:image/jpeg;base64,AAAA", "data:image/jpeg;base64,AAAA", "file://data:image/jpeg;base64,AAAA"),
        ("https://xxx.com/image.jpg", "https://xxx.com/image.jpg", "file://https://xxx.com/image.jpg"),
        ("http://xxx.com/image.jpg", "http://xxx.com/image.jpg", "file://http://xxx.com/image.jpg"),
        ("HTTPS://xxx.com/image.jpg", "file://HTTPS://xxx.com/image.jpg", "file://HTTPS://xxx.com/image.jpg"),
    ],
)
def test_a_payload_that_has_a_scheme(payload: str, documented: str, recorded: str) -> None:
    for column, want in (("question", documented), ("content", recorded)):
        got = rendered(config(URL, meta_template=META), [{column: tagged(image=payload)}])
        assert got == [one_message([{"type": "image_url", "image_url": {"url": want}}])]


@UNWARNED
def test_a_scheme_after_a_repeated_tag() -> None:
    row = {"question": tagged(image=TAGS["image"] + "file://a.png")}
    want = one_message([{"type": "image_url", "image_url": {"url": "file://a.png"}}])
    assert rendered(config(URL, meta_template=META), [row]) == [want]


@UNWARNED
def test_the_type_goes_by_the_configuration() -> None:
    renderer = pp.Renderer(**config(URL, meta_template=META))
    want = pp.Renderer(**config(URL, meta_template=META)).output_schema(pa.schema([("content", pa.string())]))
    message = want.field("prompt").type.value_type
    assert [field.name for field in message.fields] == ["role", "parts"]
    part = message.field("parts").type.value_type
    assert [field.name for field in part.fields] == ["type", "text", "image_url", "video_url", "audio_url"]
    for content in ("", "lost", tagged(text="x"), tagged(video="y"), TAGGED):
        table = renderer.render(pa.table({"content": [content]}))
        assert table.schema == want
        assert len(pp.to_pylist(table["prompt"])[0][0]["parts"]) == content.count(END)


# ---------------------------------------------------------------------------------------------------------------------
# Layouts, splits, threads.

ROWS = [
    {"content": "", "note": "a"},
    {"content": tagged(text="What?", image="a" * 40, image_="b.png"), "note": "{content}"},
    {"content": tagged(text="答" * 20, text_=""), "note": ""},
    {"content": tagged(image="x" + TAGS["image"] + "y", audio=TAGS["text"] + "z"), "note": "答"},
    {"content": TAGS["text"] + "{question}{image}{note}", "note": "b"},
    {"content": tagged(video="v.mp4", audio="a.wav", text="end"), "note": "c"},
]


@UNWARNED
@pytest.mark.parametrize("strings", LENGTH)
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("output", ["messages", "prompt_list", "messages_json"])
def test_layouts(strings: Any, layout: pa.DataType, output: Any) -> None:
    settings = config({**URL, "image": {"type": "image_url", "image_url": "{image}"}}, meta_template=META)
    settings = {**settings, "output": output, "strings": strings}
    settings["prompt_template"]["template"]["begin"] = ["{note}"]
    model = {**settings, "output": "messages" if output == "messages_json" else output}
    want = [request(model, row) for row in ROWS]
    whole = pa.table({name: pa.array([row[name] for row in ROWS]).cast(layout) for name in ("content", "note")})
    padded = pa.concat_tables([whole, whole, whole]).combine_chunks().slice(len(ROWS), len(ROWS))
    cut = [whole.slice(start, stop - start) for start, stop in itertools.pairwise([0, 0, 1, 4, 6, 6])]
    renderer = pp.Renderer(**settings)
    for samples in (whole, padded, pa.concat_tables(cut)):
        for threads in (1, 4):
            pp.set_threads(threads)
            try:
                prompts = renderer.render(samples)["prompt"]
            finally:
                pp.set_threads(None)
            got = [json.loads(prompt) for prompt in prompts.to_pylist()] if output == "messages_json" else None
            assert (pp.to_pylist(prompts) if got is None else got) == want
            prompts.validate(full=True)
            assert prompts.type == renderer.output_schema(samples.schema).field("prompt").type


@UNWARNED
def test_many_rows() -> None:
    """More than one chunk of the pool's, each part of its own length."""
    samples = pa.table({"content": [tagged(text=f"{n}" * (n % 50), image=f"{n}.png") for n in range(20_000)]})
    settings = config(URL, meta_template=META, output="messages")
    want = [request(settings, row) for row in samples.to_pylist()]
    renderer = pp.Renderer(**settings)
    assert pp.to_pylist(renderer.render(samples)["prompt"]) == want
    assert pp.to_pylist(renderer.stream(samples.to_batches(max_chunksize=333)).read_all()["prompt"]) == want


def test_a_text_that_turns_out_empty_leaves_the_parts() -> None:
    """Strings and lists of parts have no Arrow type together; JSON has."""
    entries = {"text": {"type": "text", "text": "{question}"}}
    settings = config(entries, output="messages")
    settings["prompt_template"]["template"]["begin"] = ["{note}"]
    samples = pa.table({"content": [tagged(text="What?")] * 2 + [""], "note": ["Look.", "", ""]})
    want = ["Look.", [{"type": "text", "text": "What?"}], []]
    lines = pp.Renderer(**{**settings, "output": "messages_json"}).render(samples)["prompt"].to_pylist()
    assert [json.loads(line) for line in lines] == want == [request(settings, row) for row in samples.to_pylist()]
    renderer = pp.Renderer(**settings)
    with pytest.raises(pp.RenderError, match="messages_json") as refused:
        renderer.render(samples)
    assert refused.value.row == 1
    # A column of strings has no empty list either; nothing is lost there.
    assert renderer.render(samples.take([0, 2]))["prompt"].to_pylist() == ["Look.", ""]


def test_the_command_writes_no_nulls(tmp_path: Path) -> None:
    settings = config(URL, meta_template=META, retriever={"type": "ZeroRetriever"})
    samples = pa.table({"content": [row["content"] for row in ROWS], "id": [None, 1, 2, 3, 4, 5]})
    (tmp_path / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    pq.write_table(samples, tmp_path / "in.parquet")
    out = tmp_path / "out.jsonl"
    arguments = ["--data", str(tmp_path / "in.parquet"), "--out", str(out), "--keep", "id"]
    assert main(["render", str(tmp_path / "config.json"), *arguments]) == 0
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows] == [None, 1, 2, 3, 4, 5]
    want = [request({**settings, "output": "messages"}, row) for row in ROWS]
    assert [row["prompt"] for row in rows] == want
    assert not nulls(want)


# ---------------------------------------------------------------------------------------------------------------------
# Without a column `content`.


def test_the_tagged_column_may_differ_from_row_to_row() -> None:
    rows = [{"a": tagged(text="x"), "b": "1"}, {"a": "2", "b": tagged(text="y")}, {"a": None, "b": tagged(text="z")}]
    entries = {"text": {"type": "text", "text": "{a}{b}{question}"}}
    got = [message[0]["parts"][0]["text"] for message in rendered(config(entries, meta_template=META), rows)]
    assert got == ["{a}1x", "2{b}y", "None{b}z"]


URLS = ["a.png", "http://x/b.png"]
PARTS = [
    {"type": "text", "text": "Q: {q} of 2"},
    {"type": "image_url", "image_url": "file://a.png"},
    {"type": "image_url", "image_url": "http://x/b.png"},
]


@pytest.mark.parametrize(
    "urls",
    [
        pa.array([URLS]),
        pa.array([URLS], pa.large_list(pa.large_string())),
        pa.array([URLS], pa.list_(pa.string(), 2)),
        pa.array([[], URLS, ["no"]]).slice(1, 1),
        pa.array([str(URLS)]),
        pa.array([str(URLS)], pa.string_view()),
    ],
    ids=lambda array: str(array.type),
)
@pytest.mark.parametrize("key", ["image_url", "mm_url"])
def test_lists_of_urls(urls: pa.Array, key: str) -> None:
    samples = pa.table({"pictures": urls, "q": ["{q}"], "n": [2], "type": ["image"]})
    renderer = pp.Renderer(**config({key: "file://{pictures}", "text": "Q: {q} of {n}"}, meta_template=META))
    # `mm_url` comes last: the harness renames the key.
    want = PARTS if key == "mm_url" else PARTS[1:] + PARTS[:1]
    assert pp.to_pylist(renderer.render(samples)["prompt"]) == [one_message(want)]


def test_each_row_has_separate_media() -> None:
    rows = [
        {"url": ["a", "b"], "type": "image"},
        {"url": [], "type": "video"},
        {"url": ["data:c"], "type": "audio"},
    ]
    entries = {"mm_url": "file://{url}"}
    assert rendered(config(entries, output="messages"), rows) == [
        [{"type": "image_url", "image_url": "file://a"}, {"type": "image_url", "image_url": "file://b"}],
        [],
        [{"type": "audio_url", "audio_url": "data:c"}],
    ]
    settings = config(entries, output="messages_json")
    lines = pp.Renderer(**settings).render(pa.Table.from_pylist(rows))["prompt"].to_pylist()
    assert [json.loads(line) for line in lines] == rendered(config(entries, output="messages"), rows)
