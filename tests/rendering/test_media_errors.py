"""Media that are wrong, or odd: errors with their place, findings, and where each byte of a part comes from."""

from __future__ import annotations

import re
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from generators.strategies import Case, media_cases
from hypothesis import given, settings
from marks import UNWARNED
from models.media_model import END, TAGS
from test_media import META, QUICK, URL, config, tagged, wanted

TEXT = {"text": {"type": "text", "text": "{question}"}}
GOOD = tagged(text="fine")


def refused(samples: Any, settings: dict[str, Any]) -> pp.RenderError:
    """The error, the same however the samples are split."""
    table = samples if isinstance(samples, pa.Table) else pa.Table.from_pylist(samples)
    renderer = pp.Renderer(**settings)
    with pytest.raises(pp.RenderError) as whole:
        renderer.render(table)
    with pytest.raises(pp.RenderError) as streamed:
        renderer.stream(table.to_batches(max_chunksize=1)).read_all()
    assert str(streamed.value) == str(whole.value)
    return whole.value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "expected a tagged text, found None"),
        (TAGS["video"] + "v.mp4", "there is no entry 'video'|there is no entry \"video\""),
    ],
)
@pytest.mark.parametrize("output", ["messages", "messages_json", "prompt_list"])
def test_wrong_contents(value: Any, message: str, output: str) -> None:
    error = refused([{"content": GOOD}, {"content": value}], config(TEXT, meta_template=META, output=output))
    assert (error.row, error.column) == (1, "content")
    assert re.search(message, str(error))


@pytest.mark.parametrize("array", [pa.array([1]), pa.array([[GOOD]]), pa.array([b"x"]), pa.array([{"a": 1}])], ids=str)
def test_contents_of_a_wrong_type(array: pa.Array) -> None:
    error = refused(pa.table({"content": array}), config(TEXT))
    assert (error.row, error.column) == (0, "content")
    assert str(array.type).split("<")[0].split(":")[0].lower()[:3] in str(error).lower()


def test_no_rows_of_a_wrong_type() -> None:
    samples = pa.table({"content": pa.array([], pa.int64())})
    assert pp.Renderer(**config(TEXT, output="messages")).render(samples).num_rows == 0


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        ({"type": "image_url"}, "image"),
        ({"type": "image_url", "image_url": {"detail": "low"}}, "image"),
        ({"type": "image_url", "image_url": {"url": 7}}, "image.image_url.url"),
        ({"type": "image_url", "image_url": None}, "image.image_url"),
        ("file://{image}", "image"),
        (["file://{image}"], "image"),
    ],
)
def test_entries_that_nothing_can_be_filled_into(entry: Any, path: str) -> None:
    """RefusedError where a sample needs them, and not before: so does the harness."""
    settings = config({**TEXT, "image": entry}, meta_template=META)
    assert pp.Renderer(**settings).render(pa.table({"content": [GOOD]})).num_rows == 1
    error = refused([{"content": GOOD}, {"content": tagged(image="x.png")}], settings)
    assert (error.row, error.column) == (1, "content")
    assert f"prompt_template.template.round[0].prompt_mm.{path}" in str(error)


@pytest.mark.parametrize(
    ("rows", "column", "message"),
    [
        ([{"a": GOOD, "b": "x"}, {"a": GOOD, "b": GOOD}], "b", 'two columns .*"a"'),
        ([{"a": GOOD, "b": "x"}, {"a": "fine", "b": None}], "content", "no column holds tagged text"),
    ],
)
def test_tagged_text_is_in_one_column(rows: Any, column: str, message: str) -> None:
    error = refused(rows, config(TEXT, meta_template=META))
    assert (error.row, error.column) == (1, column)
    assert re.search(message, str(error))


@pytest.mark.parametrize(
    ("row", "column", "message"),
    [
        ({"url": "a.png", "type": "smell"}, "type", "'smell' is no modality"),
        ({"url": "a.png", "type": "text"}, "type", "'text' is no modality"),
        ({"url": "a.png", "type": None}, "type", "None"),
        ({"url": None, "type": "image"}, "url", "found None"),
        ({"url": "[a.png]", "type": "image"}, "url", "list of strings"),
        ({"url": "['a', 1]", "type": "image"}, "url", "list of strings"),
    ],
)
def test_wrong_columns_of_media(row: dict[str, Any], column: str, message: str) -> None:
    error = refused([{"url": "a.png", "type": "image"}, row], config({"mm_url": "{url}"}, meta_template=META))
    assert (error.row, error.column) == (1, column)
    assert message in str(error)


@pytest.mark.parametrize(
    ("samples", "column"),
    [
        (pa.table({"url": ["a.png"]}), "type"),
        (pa.table({"url": pa.array([["a", None]]), "type": ["image"]}), "url"),
        (pa.table({"url": pa.array([None], pa.list_(pa.string())), "type": ["image"]}), "url"),
        (pa.table({"url": [7], "type": ["image"]}), "url"),
        (pa.table({"url": pa.array([[7]]), "type": ["image"]}), "url"),
    ],
)
def test_media_of_a_wrong_type(samples: pa.Table, column: str) -> None:
    error = refused(samples, config({"mm_url": "{url}"}, meta_template=META))
    assert (error.row, error.column) == (0, column)


MM = {"type": "MMPromptTemplate", "template": {"round": [{"role": "HUMAN", "prompt_mm": TEXT}]}}


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"mode": "ppl", "labels": ["A"]}, "mode"),
        ({"inferencer": {"type": "PPLInferencer"}}, "mode"),
        ({"ice_template": MM}, "ice_template"),
        ({"refuse": ["media_tags"]}, "refuse"),
        ({"refuse": "media_tag"}, "refuse"),
        ({"prompt_template": {**MM, "template": {"A": MM["template"], "B": MM["template"]}}}, "prompt_template"),
        ({"prompt_template": {**MM, "template": "{question}"}}, "prompt_template"),
        ({"prompt_template": {**MM, "template": {"round": ["{question}"]}}}, "prompt_template.template.round"),
        ({"prompt_template": {**MM, "template": {**MM["template"], "begin": "prompt_mm"}}}, "prompt_template"),
        ({"dialect": "opencompass", "meta_template": META}, "prompt_template.type"),
    ],
)
def test_wrong_configurations(changes: dict[str, Any], path: str) -> None:
    settings = {"prompt_template": MM, "meta_template": META, "dialect": "aisbench", **changes}
    if "ice_template" in changes:
        settings["prompt_template"] = {
            "type": "PromptTemplate",
            "template": {"begin": ["</E>"], "round": [{"role": "HUMAN", "prompt": "{q}"}]},
            "ice_token": "</E>",
        }
        settings |= {
            "retriever": {"type": "FixKRetriever", "fix_id_list": [0]},
            "examples": pa.table({"content": [GOOD], "answer": ["x"]}),
            "reader": {"output_column": "answer"},
        }
    with pytest.raises(pp.TemplateError, match=re.escape(path)):
        pp.Renderer(**settings)


@pytest.mark.parametrize("first", [{"prompt_mm": TEXT}, {"prompt": "Look."}])
def test_parts_are_not_joined(first: dict[str, Any]) -> None:
    template = {"begin": [{"role": "HUMAN", **first}], "round": [{"role": "HUMAN", "prompt_mm": TEXT}]}
    with pytest.raises(pp.TemplateError, match="parts can't be joined"):
        pp.Renderer({"type": "MMPromptTemplate", "template": template}, meta_template=META, dialect="aisbench")


# ---------------------------------------------------------------------------------------------------------------------
# What is rendered, and noticed.

ODD = [
    {"content": GOOD},
    {"content": TAGS["image"] + "a.png" + TAGS["text"] + "What?" + END},  # no end tag after the image
    {"content": "Look: " + tagged(text="x") + " "},
    {"content": tagged(text="see " + TAGS["image"] + "b.png")},
    {"content": "nothing tagged"},
]
EXPECTED_FINDINGS = [(1, "media_tag"), (2, "untagged_text"), (3, "media_tag"), (4, "untagged_text")]


@pytest.mark.parametrize("column", ["content", "question"])
def test_findings(column: str) -> None:
    rows = [{column: row["content"]} for row in ODD[: 5 if column == "content" else 4]]
    samples = pa.Table.from_pylist(rows)
    renderer = pp.Renderer(**config(URL, meta_template=META))
    want = [finding for finding in EXPECTED_FINDINGS if finding[0] < len(rows)]
    for table in (samples, pa.Table.from_batches(samples.to_batches(max_chunksize=1))):
        findings = renderer.findings(table).to_pylist()
        assert [(finding["row"], finding["finding"]) for finding in findings] == want
        assert {finding["column"] for finding in findings} == {column}
        assert TAGS["text"] in findings[0]["excerpt"]
        assert "Look" in findings[1]["excerpt"]
    assert renderer.findings(samples.slice(0, 0)).schema == renderer.findings(samples).schema


def test_odd_contents_are_rendered_as_the_harness_does() -> None:
    renderer = pp.Renderer(**config({**TEXT, "image": URL["image"]}, output="messages"))
    got = pp.to_pylist(renderer.render(pa.Table.from_pylist(ODD))["prompt"])
    assert got == [
        [{"type": "text", "text": "fine"}],
        [{"type": "image_url", "image_url": {"url": "file://a.png" + TAGS["text"] + "What?"}}],
        [],
        [{"type": "text", "text": "see " + TAGS["image"] + "b.png"}],
        [],
    ]


@UNWARNED
@pytest.mark.parametrize(
    ("refuse", "row"), [(["media_tag"], 1), (["untagged_text"], 2), (["untagged_text", "media_tag"], 1)]
)
def test_findings_may_be_errors(refuse: list[str], row: int) -> None:
    settings = config(URL, meta_template=META, refuse=refuse)
    error = refused(ODD, settings)
    assert (error.row, error.column) == (row, "content")
    renderer = pp.Renderer(**settings)
    assert renderer.render(pa.Table.from_pylist(ODD[:1])).num_rows == 1
    assert len(renderer.findings(pa.Table.from_pylist(ODD))) == len(EXPECTED_FINDINGS)


def test_other_templates_have_no_findings() -> None:
    assert pp.Renderer("{content}").findings(pa.Table.from_pylist(ODD)).num_rows == 0


# ---------------------------------------------------------------------------------------------------------------------
# Where each byte comes from.


def texts_of(request: Any) -> dict[tuple[int, int | None], str]:
    """The texts of a request, by message and part."""
    if isinstance(request, str):
        return {(0, None): request} if request else {}
    out: dict[tuple[int, int | None], str] = {}
    for n, item in enumerate(request):
        if isinstance(item, str):
            out[n, None] = item
        elif "type" in item:
            out[n, None] = payload(item)
        elif "parts" in item or "prompt_mm" in item:
            parts = item.get("parts", item.get("prompt_mm"))
            out.update({(n, m): payload(part) for m, part in enumerate(parts)})
        else:
            out[n, None] = item.get("prompt", "")
    return {location: text for location, text in out.items() if text}


def payload(part: dict[str, Any]) -> str:
    (value,) = (part[key] for key in ("text", "image_url", "video_url", "audio_url") if key in part)
    return value["url"] if isinstance(value, dict) else value


def explained(case: Case) -> None:
    want = wanted(case.config, case.samples)
    if want is None:
        return
    try:
        renderer = pp.Renderer(**case.config)
        renderer.render(case.samples)
    except (pp.TemplateError, pp.RenderError):
        return
    for row, request in enumerate(want):
        texts = texts_of(request)
        got: dict[tuple[int, int | None], bytes] = {}
        for span in renderer.explain(case.samples, row).to_pylist():
            location = (span["message"], span["part"])
            text = texts[location].encode()
            # without gaps, and in order
            assert span["start"] == len(got.get(location, b""))
            assert span["end"] > span["start"]
            got[location] = got.get(location, b"") + text[span["start"] : span["end"]]
            if span["source"] == "field" and span["part"] is not None:
                assert span["column"] in case.samples.column_names
        assert {location: text.decode() for location, text in got.items()} == texts


@UNWARNED
@settings(QUICK, max_examples=part_of(400))
@given(media_cases())
def test_spans_of_random_cases(case: Case) -> None:
    explained(case)


def test_spans_name_their_columns() -> None:
    entries = {
        "text": {"type": "text", "text": "{hint}: {question}"},
        "image": {"type": "image_url", "image_url": {"url": "file://{image}"}},
    }
    samples = pa.table({"ask": [tagged(text="What?", image="é.png")], "hint": ["Look"]})
    spans = pp.Renderer(**config(entries, meta_template=META)).explain(samples, 0).to_pylist()
    fields = [(s["part"], s["start"], s["end"], s["source"], s["column"], s["role"]) for s in spans]
    assert fields == [
        (0, 0, 4, "field", "hint", "HUMAN"),
        (0, 4, 6, "prompt_template", None, "HUMAN"),
        (0, 6, 11, "field", "ask", "HUMAN"),
        (1, 0, 7, "prompt_template", None, "HUMAN"),
        (1, 7, 13, "field", "ask", "HUMAN"),
    ]
