"""Bytes by origin over whole tables: what `explain` says of each request, added up, and all that is rendered."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import promptpress as pp
import promptpress._core as _core
import pyarrow as pa
import pytest
from case_files import FOLDER, Case, case_files, read_cases
from generators.odd_few_shots import each_retriever, each_template, odd_few_shots
from generators.strategies import Case as Drawn
from generators.strategies import cases, media_cases
from hypothesis import given
from hypothesis import strategies as st
from marks import UNWARNED
from promptpress._arrow.core_tables import for_core
from promptpress._config.configuration import labels_of
from promptpress._engine.table_engine import engine_of
from test_against_model import QUICK, rendered_by

pytestmark = UNWARNED

CASES = [
    pytest.param(case, id=f"{path.relative_to(FOLDER)}:{case.name}")
    for path in case_files()
    for case in read_cases(path.read_text(encoding="utf-8"))
    if "error" not in case.expected and case.replies is None
]
OF_TEXT = ("prompt", "prompt_mm", "content", "parts", "text")
OF_MEDIA = ("image_url", "video_url", "audio_url")


def text_of(value: Any) -> str:
    """Return the text of a request, from its Python form."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(text_of, value))
    if isinstance(value, dict):
        texts = [value[key] for key in OF_TEXT if key in value]
        return "".join(map(text_of, texts + [_payload(value[key]) for key in OF_MEDIA if key in value]))
    return ""


def _payload(value: Any) -> Any:
    return value.get("url") if isinstance(value, dict) else value


def totals(renderer: pp.Renderer, samples: pa.Table, sizes: tuple[int, ...] = ()) -> Counter[tuple[Any, ...]]:
    """Bytes by (source, column, example, role), over batches of these sizes and the rest."""
    table, position = samples, _core.StreamState()
    labels = labels_of(engine_of(renderer).core, table, for_core(table)[0])
    out: Counter[tuple[Any, ...]] = Counter()
    start = 0
    for size in (*sizes, len(samples)):
        core_table, texts_of_python = for_core(samples.slice(start, size), start)
        start += size
        for row in _core.origin_totals(
            engine_of(renderer).core, core_table, labels, position, texts_of_python
        ).to_pylist():
            out[row["source"], row["column"], row["example"], row["role"]] += row["bytes"]
    return out


def explained(renderer: pp.Renderer, samples: pa.Table) -> Counter[tuple[Any, ...]]:
    """The same, request by request."""
    rendered = renderer.render(samples)
    numbered = renderer.render(samples.append_column("__row", pa.array(range(len(samples)))), keep=["__row"])
    assert numbered["prompt"].to_pylist() == rendered["prompt"].to_pylist()
    out: Counter[tuple[Any, ...]] = Counter()
    for row in numbered.drop_columns(["prompt"]).to_pylist():
        spans = renderer.explain(samples, row["__row"], label=row.get("label"), turn=row.get("turn"))
        for span in spans.to_pylist():
            key = (span["source"], span["column"], span["example"], span["role"])
            out[key] += span["end"] - span["start"]
    return out


def requests_of(renderer: pp.Renderer, samples: pa.Table) -> list[Any]:
    prompts = renderer.render(samples)["prompt"]
    if engine_of(renderer).configuration.settings["output"] == "messages_json":
        return [json.loads(text) for text in prompts.to_pylist()]
    return list(pp.to_pylist(prompts))


def in_parts(request: Any) -> str:
    """Return the text of contents that are lists; `explain` has no spans for them unless they are media."""
    messages = [message for message in request if isinstance(message, dict)] if isinstance(request, list) else []
    return "".join(text_of(message["content"]) for message in messages if isinstance(message.get("content"), list))


def check(renderer: pp.Renderer, samples: pa.Table) -> None:
    sizes, requests = totals(renderer, samples), requests_of(renderer, samples)
    assert all(sizes.values())
    assert sum(sizes.values()) == sum(len(text_of(request).encode()) for request in requests)
    spans = explained(renderer, samples)
    assert spans - sizes == Counter()
    # Of what is said by parts `explain` has those that come of texts and of media.
    assert (sizes - spans).total() <= sum(len(in_parts(request).encode()) for request in requests)


@pytest.mark.parametrize("case", CASES)
def test_totals_are_the_sum_of_all_explanations(case: Case) -> None:
    check(pp.Renderer(**case.settings, unknown="keep", examples=case.examples), case.samples)


@QUICK
@given(st.one_of(cases(), media_cases()))
def test_totals_of_random_cases(case: Drawn) -> None:
    check(rendered_by(case)[0], case.samples)


@QUICK
@given(cases(), st.lists(st.integers(0, 3), max_size=3))
def test_totals_are_the_same_however_a_stream_is_cut(case: Drawn, sizes: list[int]) -> None:
    renderer = rendered_by(case)[0]
    assert totals(renderer, case.samples, tuple(sizes)) == totals(renderer, case.samples)


PARTS = [
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "né", "image_url": None},
            {"type": "image_url", "text": None, "image_url": {"url": "http", "detail": "x"}},
        ],
    }
]


@each_retriever
@pytest.mark.parametrize("output", ["text", "messages", "prompt_list"])
@each_template
def test_examples_are_counted_by_the_columns_of_examples(retriever: str, output: Any, template: Any) -> None:
    renderer, table = odd_few_shots(retriever, template, 200, output=output)
    check(renderer, table)
    assert totals(renderer, table, (7, 0, 64)) == totals(renderer, table)


@pytest.mark.parametrize(
    ("messages", "q"),
    [
        ([{"role": "user", "content": "é", "name": "n"}], "{q}"),
        ([{"role": "assistant", "content": None}, {"role": "user", "content": "x"}], "{q}"),
        (["bare", "né"], "{q}"),
        (PARTS, None),
    ],
    ids=["texts", "nulls", "strings", "parts"],
)
@pytest.mark.parametrize("meta", [None, [{"role": "system", "content": "be kind"}]])
def test_messages_of_a_column_are_counted_whatever_they_hold(messages: Any, q: str | None, meta: Any) -> None:
    samples = pa.table({"history": [messages, [], messages * 3, None], "q": ["1", "22", "333", "4444"]})
    template = [{"expand_column": "history"}, *([{"role": "user", "content": q}] if q else [])]
    # Which holds anything.
    template = {"type": "RawPromptTemplate", "messages": template}
    renderer = pp.Renderer(template, meta_template=meta, output="messages_json")
    try:
        requests = requests_of(renderer, samples)
    except pp.RenderError as error:
        pytest.skip(str(error))
    sizes = totals(renderer, samples)
    assert sum(sizes.values()) == sum(len(text_of(request).encode()) for request in requests)
    of_column = sum(size for (_, column, *_), size in sizes.items() if column == "history")
    assert of_column == 4 * len(text_of(messages).encode())


def test_a_row_that_cannot_be_rendered_is_named() -> None:
    examples = pa.table({"q": ["x"], "a": ["y"]})
    template = {"template": "</E>{q}", "ice_token": "</E>"}
    retriever = {"type": "IndexColumn", "column": "ids"}
    renderer = pp.Renderer(template, "{q}", retriever, examples, {"output_column": "a"})
    samples = pa.table({"q": ["a"] * 3, "ids": [[0], [], [5]]})
    for act in (totals, pp.Renderer.render):
        with pytest.raises(pp.RenderError) as error:
            act(renderer, samples)
        assert (error.value.row, error.value.code) == (2, "example_index_out_of_range")
