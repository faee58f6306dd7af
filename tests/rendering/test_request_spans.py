"""Spans of whole tables: those of `explain`, request by request, whatever a request is made of."""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from case_files import Case
from generators.odd_few_shots import each_retriever, each_template, odd_few_shots
from generators.strategies import Case as Drawn
from generators.strategies import cases, media_cases
from hypothesis import assume, given
from hypothesis import strategies as st
from marks import UNWARNED
from promptpress._engine.table_engine import engine_of
from test_against_model import QUICK, rendered_by
from test_origin_totals import CASES

pytestmark = UNWARNED

FIELDS = ("message", "part", "start", "end", "source", "column", "example", "role")


def rows_of(column: pa.ChunkedArray) -> list[list[dict[str, Any]]]:
    return [[{name: span.get(name) for name in FIELDS} for span in spans] for spans in column.to_pylist()]


def explained(renderer: pp.Renderer, samples: pa.Table) -> list[list[dict[str, Any]]]:
    numbered = renderer.render(samples.append_column("__row", pa.array(range(len(samples)))), keep=["__row"])
    out = []
    for row in numbered.drop_columns(["prompt"]).to_pylist():
        spans = renderer.explain(samples, row["__row"], label=row.get("label"), turn=row.get("turn")).to_pylist()
        out.append(spans)
    return out


def check(renderer: pp.Renderer, samples: pa.Table) -> None:
    got = renderer.render(samples, spans="detailed")
    plain = renderer.render(samples)
    assert got.drop_columns(["spans"]).equals(plain), "nothing else changes"
    assert got.schema == renderer.output_schema(samples.schema, spans="detailed")
    wanted = explained(renderer, samples)
    names = got.schema.field("spans").type.value_type
    rendered_spans = rows_of(got["spans"])
    for spans in wanted:
        for span in spans:
            if names.get_field_index("message") < 0:
                assert span["message"] == 0
                span["message"] = None
            if names.get_field_index("part") < 0:
                assert span["part"] is None
    assert rendered_spans == wanted
    # Less is said of the same spans.
    short = renderer.render(samples, spans=True)
    assert short.schema == renderer.output_schema(samples.schema, spans=True)
    kept = [name for name in FIELDS[:5] if short.schema.field("spans").type.value_type.get_field_index(name) >= 0]
    assert short["spans"].to_pylist() == [[{name: span[name] for name in kept} for span in spans] for spans in wanted]


@pytest.mark.parametrize("case", CASES)
def test_spans_are_those_of_all_explanations(case: Case) -> None:
    check(pp.Renderer(**case.settings, unknown="keep", examples=case.examples), case.samples)


@QUICK
@given(st.one_of(cases(), media_cases()))
def test_spans_of_random_cases(case: Drawn) -> None:
    check(rendered_by(case)[0], case.samples)


@QUICK
@given(cases(), st.lists(st.integers(0, 3), max_size=3))
def test_spans_are_the_same_however_a_stream_is_cut(case: Drawn, sizes: list[int]) -> None:
    renderer = rendered_by(case)[0]
    batches, start = [], 0
    for size in (*sizes, len(case.samples)):
        batches += case.samples.slice(start, size).to_batches()
        start += size
    assume(batches and engine_of(renderer).core.label_column is None)
    cut = renderer.stream(batches, spans="detailed").read_all()
    assert cut["spans"].to_pylist() == renderer.render(case.samples, spans="detailed")["spans"].to_pylist()


@pytest.mark.parametrize("strings", ["string", "large_string", "string_view"])
@each_retriever
@pytest.mark.parametrize("output", ["text", "messages", "prompt_list", "openai", "messages_json"])
@each_template
def test_examples_have_separate_spans(retriever: str, output: Any, template: Any, strings: Any) -> None:
    renderer, table = odd_few_shots(retriever, template, 100, output=output, strings=strings)
    check(renderer, table)


def test_a_text_s_bytes_are_its_spans() -> None:
    samples = pa.table({"q": ["né", "", None, "a{a}b"], "a": ["1", "", "3", "4"]})
    rendered = pp.Renderer("Q: {q}{a}\n{q}").render(samples, spans=True)
    for prompt, spans in zip(rendered["prompt"].to_pylist(), rendered["spans"].to_pylist(), strict=True):
        ends = [0, *(span["end"] for span in spans)]
        assert [span["start"] for span in spans] == ends[:-1]
        assert ends[-1] == len(prompt.encode())


def test_spans_are_kept_next_to_other_columns_and_may_be_renamed() -> None:
    samples = pa.table({"q": ["a"], "spans": [1]})
    renderer = pp.Renderer("{q}", names={"spans": "where"})
    out = renderer.render(samples, keep=["spans"], index="n", hashes=True, spans=True)
    assert out.column_names == ["n", "spans", "prompt", "where", "hash"]
    with pytest.raises(pp.RenderError, match="rename"):
        pp.Renderer("{q}").render(samples, keep=["spans"], spans=True)
    with pytest.raises(TypeError, match="hashes: expected True or False, found 'yes'"):
        renderer.render(samples, hashes="yes")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="spans: expected True, False or 'detailed', found 'all'"):
        renderer.render(samples, spans="all")  # type: ignore[arg-type]


def test_no_rows_have_no_spans_and_the_same_type() -> None:
    samples = pa.table({"q": pa.array([], pa.string())})
    out = pp.Renderer("{q}").render(samples, spans=True)
    assert (len(out), out.schema) == (0, pp.Renderer("{q}").output_schema(samples.schema, spans=True))
