"""Properties that hold for every render and need no oracle."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import promptpress as pp
import pyarrow as pa
from comparing import with_kept_braces

from .configurations import Case
from .draw import Draw
from .oracle import clean, need
from .values import values_of

ERRORS = (pp.TemplateError, pp.RenderError)


def check(draw: Draw, case: Case, renderer: pp.Renderer, table: pa.Table) -> None:
    """All of them, a few by turns."""
    table.validate(full=True)
    need(table.schema == renderer.output_schema(case.samples.schema), "another schema than output_schema says")
    if draw.chance(2):
        split(draw, case, renderer, table)
    if draw.chance(8):
        pickled(case, renderer, table)
    if case.model in ("chat_model", "media_model"):
        return  # neither has `explain` or `divergence`, and chats are several requests a sample
    if draw.chance(2):
        explained(case, renderer, table, draw.randrange(len(case.samples)) if len(table) else 0)
    if draw.chance(2):
        diverging(case)
    if draw.chance(8):
        kept(draw, case, renderer, table)
    if draw.chance(8):
        narrowed(case, renderer, table)


def same(first: pa.Table, second: pa.Table) -> bool:
    return bool(first.schema == second.schema and first.combine_chunks().equals(second.combine_chunks()))


def split(draw: Draw, case: Case, renderer: pp.Renderer, table: pa.Table) -> None:
    """The same bytes for any split into batches, chunks and threads; by position and by labels where it is allowed."""
    samples = case.samples
    pp.set_threads(draw.pick(1, 2))
    try:
        again = renderer.render(pa.concat_tables(pieces(draw, samples)) if len(samples) else samples)
        need(same(table, again), "another result for other chunks or threads")
        batches = pa.RecordBatchReader.from_batches(
            samples.schema, [b for p in pieces(draw, samples) for b in p.to_batches()]
        )
        try:
            streamed = renderer.stream(batches).read_all()
        except ERRORS as error:
            need("labels=" in str(error), "a stream is refused", error)
            return
        need(same(table, streamed), "another result for a stream")
        try:
            called = [renderer(batch) for piece in pieces(draw, samples) for batch in piece.to_batches()]
        except ERRORS as error:
            # By position, for a name, or because pyarrow itself can't copy values of a kept column's type.
            allowed = ("IndexColumn", "names=", "can't be repeated")
            need(any(text in str(error) for text in allowed), "a batch is refused", error)
            return
        if called:
            need(same(table, pa.Table.from_batches(called).select(table.column_names)), "another result for a call")
    finally:
        pp.set_threads(2)


def pieces(draw: Draw, table: pa.Table) -> list[pa.Table]:
    ends = sorted({0, len(table), *(draw.randint(0, len(table)) for _ in range(draw.randint(0, 4)))})
    return [table.slice(start, end - start) for start, end in itertools.pairwise(ends)]


def explained(case: Case, renderer: pp.Renderer, table: pa.Table, row: int) -> None:
    """The spans of a request follow each other without gaps over its bytes, whatever its label."""
    if not len(table):
        return
    each = len(table) // len(case.samples)
    for n in range(each):
        index = row * each + n
        label = table["label"][index].as_py() if "label" in table.column_names else None
        labels = renderer.labels
        if labels is not None:
            label = labels[n]  # the column has one type for all; the configuration's own may be of several
            if labels.index(label) != n:
                continue  # twice the same: the first is meant
        spans = renderer.explain(case.samples, row, label=label).to_pylist()
        covers(
            spans,
            clean(table["prompt"][index].as_py()),
            f"label {label!r}",
            case.config.get("output") == "messages_json",
        )


def covers(spans: list[dict[str, Any]], request: Any, where: str, in_json: bool) -> None:
    if in_json:
        return  # spans are those of the messages, which the JSON text holds escaped
    texts = [request] if isinstance(request, str) else [message_text(message) for message in request]
    ends = [0] * len(texts)
    for span in spans:
        number = span["message"]
        need(
            number < len(texts) and span["start"] == ends[number] < span["end"],
            "explain has gaps",
            lambda s=span: (where, s, request),
        )
        ends[number] = span["end"]
        # A mask stands for a column, but for OpenICL's without a template.
        columns = ("field",) if span["column"] is None else ("field", "masked")
        need(
            (span["column"] is not None) == (span["source"].removeprefix("filled_") in columns),
            "explain without a column",
            span,
        )
    need(ends == [len(text.encode()) for text in texts], "explain covers another text", lambda: (where, spans, request))


def message_text(message: Any) -> str:
    if isinstance(message, str):
        return message
    return next((message[key] for key in ("prompt", "content") if isinstance(message.get(key), str)), "")


def diverging(case: Case) -> None:
    """`divergence` names exactly the rows whose prompts differ between the two ways of substituting."""
    both = []
    if case.model == "openicl_model":
        return  # it has one way
    plain = with_kept_braces(case.config, case.samples, case.train)
    if plain is None:
        return
    for config in ({**case.config, "substitution": "harness"}, plain):
        try:
            renderer = pp.Renderer(**{**config, "unknown": "keep"}, examples=case.train)
            both.append(renderer.render(case.samples)["prompt"].to_pylist())
        except ERRORS:
            return
    try:
        divergence = renderer.divergence(case.samples)
    except ERRORS as error:
        need(False, "divergence is refused", error)
        return
    if not len(case.samples):
        need(len(divergence) == 0, "divergence of no rows")
        return
    each = len(both[0]) // len(case.samples)
    differing = sorted({n // each for n, (filled, copied) in enumerate(zip(*both, strict=True)) if filled != copied})
    named = divergence["row"].to_pylist()
    need(set(differing) <= set(named), "divergence misses rows", lambda: (differing, named))
    need(differing == named, "divergence names other rows", lambda: (differing, named))


def kept(draw: Draw, case: Case, renderer: pp.Renderer, table: pa.Table) -> None:
    """Kept columns stand beside the requests of their own sample."""
    names = draw.subset([n for n in case.samples.column_names if n not in table.column_names], 3)
    both = renderer.render(case.samples, keep=names)
    need(both.column_names == [*names, *table.column_names], "other columns are kept")
    need(same(both.select(table.column_names), table), "keeping columns changes prompts")
    each = len(table) // len(case.samples) if len(case.samples) else 1
    for name in names:
        values = [repr(value) for value in values_of(case.samples[name]) for _ in range(each)]
        need([repr(value) for value in values_of(both[name])] == values, "a kept column has other values", name)


def pickled(case: Case, renderer: pp.Renderer, table: pa.Table) -> None:
    """A renderer that comes out of a pickle renders the same."""
    again = pickle.loads(pickle.dumps(renderer))
    need(again == renderer, "a pickled renderer isn't equal")
    need(same(again.render(case.samples), table), "a pickled renderer renders something else")


def narrowed(case: Case, renderer: pp.Renderer, table: pa.Table) -> None:
    """Columns that aren't required make no difference, where no value can bring them in."""
    if case.config.get("substitution") != "single_pass":
        return
    expanded = set(texts_of(case.config, "expand_column"))
    names = [n for n in case.samples.column_names if n in renderer.required_columns or n in expanded]
    if not names or any("{" in n or "}" in n for n in case.samples.column_names):
        return
    need(same(renderer.render(case.samples.select(names)), table), "a column that isn't required changes prompts")


def texts_of(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        for name, item in value.items():
            if name == key:
                yield item
            yield from texts_of(item, key)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from texts_of(item, key)
