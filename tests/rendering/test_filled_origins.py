"""Text that was filled in from within a value has an origin of its own, in spans, totals and pictures."""

from __future__ import annotations

import random
from itertools import groupby

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED
from models.traced_model import sources_of

# Notes on odd configurations are no part of this.
pytestmark = UNWARNED

PARTS = ("{", "}", "a", "b", "c", "{a}", "{b}", "{c}", "{c", "c}", "é", "x ", "")
COLUMNS = ("a", "b", "c")


def drawn(rng: random.Random, most: int) -> str:
    return "".join(rng.choice(PARTS) for _ in range(rng.randint(0, most)))


def spans_of_model(template: str, values: dict[str, str], masked: str | None, mask: str) -> list[tuple[str, str, str]]:
    characters = sources_of(template, values, masked, mask)
    return [
        ("".join(character for character, _, _ in run), *origin)
        for origin, run in groupby(characters, key=lambda each: each[1:])
    ]


@pytest.mark.parametrize("seed", range(40))
def test_filled_text_is_marked_as_python_finds_it(seed: int) -> None:
    rng = random.Random(seed)
    masked, mask = rng.choice(((None, ""), ("c", ""), ("c", "[?]"), ("b", "{c}")))
    template = "{a}" + drawn(rng, 8) + "{c}"
    rows = [{name: drawn(rng, 5) for name in COLUMNS} for _ in range(50)]
    renderer = pp.Renderer(
        template,
        substitution="harness",
        reader={"input_columns": list(COLUMNS), "output_column": masked},
        inferencer={"gen_field_replace_token": mask},
    )
    samples = pa.Table.from_pylist(rows)
    table = renderer.render(samples, spans="detailed")
    totals: dict[tuple[str, str | None], int] = {}
    for number, (values, prompt, spans) in enumerate(
        zip(rows, table["prompt"].to_pylist(), table["spans"].to_pylist(), strict=True)
    ):
        wanted = spans_of_model(template, values, masked, mask)
        data = prompt.encode()
        rendered = [(data[span["start"] : span["end"]].decode(), span["source"], span["column"]) for span in spans]
        assert rendered == wanted, values
        assert [
            (data[span["start"] : span["end"]].decode(), span["source"], span["column"])
            for span in renderer.explain(samples, number).to_pylist()
        ] == wanted
        for text, source, column in wanted:
            totals[source, column] = totals.get((source, column), 0) + len(text.encode())
    by_origin = pp.stats(renderer, samples).by_origin.to_pylist()
    assert {(row["source"], row["column"]): row["bytes"] for row in by_origin if row["bytes"]} == totals


def test_values_stay_fields_where_each_placeholder_is_filled_once() -> None:
    rng = random.Random(1)
    samples = pa.Table.from_pylist([{name: drawn(rng, 5) for name in COLUMNS} for _ in range(200)])
    spans = pp.Renderer("{a}-{b}").render(samples, spans=True)["spans"].combine_chunks().flatten()
    assert set(spans.field("source").to_pylist()) == {"field", "prompt_template"}


def test_pictures_mark_what_was_filled_in() -> None:
    samples = pa.table({"question": ["Is it {answer}?"], "answer": ["42"]})
    page = pp.Renderer("Q: {question}", substitution="harness").preview(samples)._repr_html_()
    assert '<span class="pp-piece pp-filled" title="filled in from within a value: column answer"' in page
    hidden = pp.Renderer("Q: {question}", reader={"output_column": "answer"}).preview(samples)._repr_html_()
    assert "pp-filled pp-masked-place" in hidden
    assert "filled in from within a value: masked answer, column answer" in hidden
    plain = pp.Renderer("Q: {question}").preview(samples)._repr_html_()
    assert 'class="pp-piece pp-filled' not in plain
