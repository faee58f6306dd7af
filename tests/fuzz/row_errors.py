"""One case of `errors="column"`: the rows with an error are those that fail alone, and all others stay as they are."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import promptpress as pp
import pyarrow as pa
from comparing import clean
from promptpress._engine.table_engine import engine_of

from . import shrink, spoiled
from .configurations import Case
from .draw import Draw
from .oracle import need
from .properties import pieces

ERRORS = (pp.TemplateError, pp.RenderError)
CHOICE = "the examples' rows"
"""A column of choices, by which a row that is rendered alone has the examples of its position."""


OF_TYPES = ("wrong_column_type", "unsupported_column_type")
"""Codes of errors of a column's type, which without rows nobody looks at."""

BATCH = "the batch is too large"


@dataclass(frozen=True)
class Fault:
    """An error of a row, without the row's number."""

    code: str
    column: str | None
    message: str

    @classmethod
    def of(cls, error: Any) -> Fault:
        """Return what stays of an error wherever its row is."""
        # How much a batch would take is another number for each way to split.
        message = BATCH if "batch's prompts" in error.message else error.message
        return cls(error.code, None if error.column == CHOICE else error.column, message)

    @property
    def text(self) -> str:
        """The text of the column `error`."""
        column = "" if self.column is None else f'column "{self.column}": '
        return f"{self.code}: {column}{self.message}"


def make(seed: int, number: int) -> Case:
    return spoiled.case_of(Draw.of(seed, number, "row errors"))


def run(seed: int, number: int) -> int:
    return check(seed, number, make(seed, number))


def check(seed: int, number: int, case: Case) -> int:
    """Check a case; 1 where its configuration is valid."""
    draw = Draw.of(seed, number, "row errors, checked")
    try:
        renderer = pp.Renderer(**case.config, unknown="keep", examples=case.train)
    except ERRORS:
        return 0
    options: dict[str, Any] = {
        "index": draw.pick(None, "row"),
        "hashes": draw.chance(3),
        "spans": draw.pick(False, False, True, "detailed"),
    }
    try:
        schema = renderer.output_schema(case.samples.schema, errors="column", **options)
    except ERRORS:
        return 0
    try:
        table = renderer.render(case.samples, errors="column", **options)
    except ERRORS as error:
        refused(case, renderer, options, error)
        return 1
    need(table.schema == schema, "another schema than foretold", lambda: (table.schema, schema))
    table.validate(full=False)
    split(draw, case, renderer, options, table)
    if engine_of(renderer).core.label_column is None:
        alone(draw, case, renderer, options)
    return 1


def refused(case: Case, renderer: pp.Renderer, options: dict[str, Any], error: Any) -> None:
    """Check an error of the whole table: it has no row, and the same table without rows or labels has it too."""
    if error.code in OF_TYPES:
        return
    if engine_of(renderer).core.label_column is not None:
        return  # labels that can't be read leave no row that could be rendered
    try:
        renderer.render(case.samples.slice(0, 0), errors="column", **options)
    except ERRORS as other:
        need(Fault.of(other) == Fault.of(error), "an empty table has another error", (error, other))
        return
    need(False, f"an error of rows is raised: {error.code}", error)


def split(draw: Draw, case: Case, renderer: pp.Renderer, options: dict[str, Any], table: pa.Table) -> None:
    """Splits into chunks, batches and threads change neither the table nor the error that is raised."""
    whole = raised(lambda: renderer.render(case.samples, **options))
    pp.set_threads(draw.pick(1, 2))
    try:
        chunked = pa.concat_tables(pieces(draw, case.samples)) if len(case.samples) else case.samples
        again = renderer.render(chunked, errors="column", **options)
        need(same(again, table), "another table for other chunks", lambda: (again, table))
        other = raised(lambda: renderer.render(chunked, **options))
        need(agree(other, whole), "another error for other chunks", lambda: (other, whole))
        if engine_of(renderer).core.label_column is not None:
            return
        batches = [batch for piece in pieces(draw, case.samples) for batch in piece.to_batches() or empty(piece)]
        streamed = renderer.stream(reader(case, batches), errors="column", **options).read_all()
        need(same(streamed, table), "another table for a stream", lambda: (streamed, table))
        other = raised(lambda: renderer.stream(reader(case, batches), **options).read_all())
        need(agree(other, whole), "another error for a stream", lambda: (other, whole))
    finally:
        pp.set_threads(2)


def agree(first: tuple[int | None, Fault] | None, second: tuple[int | None, Fault] | None) -> bool:
    """Return whether two errors are the same; the limit of a batch depends on the batch."""
    return first == second or any(error is not None and error[1].message == BATCH for error in (first, second))


def empty(table: pa.Table) -> list[pa.RecordBatch]:
    """Return a batch without rows, where pyarrow can make one."""
    try:
        return [pa.RecordBatch.from_pylist([], schema=table.schema)]
    except (pa.ArrowException, NotImplementedError, TypeError, ValueError):
        return []


def reader(case: Case, batches: list[pa.RecordBatch]) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(case.samples.schema, batches)


def raised(call: Any) -> tuple[int | None, Fault] | None:
    """Return the row and the error that a call raises; None if it raises none."""
    try:
        call()
    except ERRORS as error:
        return error.row, Fault.of(error)
    return None


def same(first: pa.Table, second: pa.Table) -> bool:
    """Return whether two tables have the same rows and types; how dictionaries are laid out makes no difference."""
    if first.schema != second.schema or len(first) != len(second):
        return False
    return all(
        a.to_pylist() == b.to_pylist() if name == "spans" else a.combine_chunks() == b.combine_chunks()
        for name, a, b in zip(first.column_names, first.columns, second.columns, strict=True)
    )


def alone(draw: Draw, case: Case, renderer: pp.Renderer, options: dict[str, Any]) -> None:
    """Each row that fails alone has the same error in the table, and each other row has the same requests."""
    faults: dict[int, Fault] = {}
    want: list[tuple[int, Any]] = []
    try:
        alone_renderer, samples = by_choice(case, renderer)
    except pp.RenderError:
        return  # more choices than the limit of a batch allows at once
    each = len(renderer.labels) if renderer.labels is not None else 1
    for row in range(len(samples)):
        try:
            requests = alone_renderer.render(samples.slice(row, 1))["prompt"]
        except ERRORS as error:
            faults[row] = Fault.of(error)
            want += [(row, faults[row].text)] * each
        else:
            want += [(row, request) for request in values(case, requests)]
    numbered = renderer.render(case.samples, errors="column", **{**options, "index": "row"})
    errors, prompts = numbered["error"].to_pylist(), values(case, numbered["prompt"])
    actual = [
        (row, request if error is None else text_of(error))
        for row, request, error in zip(numbered["row"].to_pylist(), prompts, errors, strict=True)
    ]
    need([row for row, _ in actual] == [row for row, _ in want], "other rows", lambda: (actual, want))
    for have, should in zip(actual, want, strict=True):
        need(have == should, "another error or request than the row alone has", (have, should))
    for name in ("prompt", "hash", "spans"):
        if name in numbered.column_names:
            nulls = numbered[name].is_null().to_pylist()
            need(nulls == [error is not None for error in errors], f"{name}: other nulls than errors", nulls)
    first = raised(lambda: renderer.render(case.samples, **options))
    if faults:
        need(first is not None, "rows fail alone, and nothing is raised", faults)
        assert first is not None
        row = min(faults)
        # The rows before may be more than a batch may have, whatever their number.
        is_of_batch = (
            first[0] is None
            and first[1].code == "limit_exceeded"
            and "batch_bytes" in (case.config.get("limits") or {})
        )
        right = is_of_batch or (first[1] == faults[row] and (first[0] == row or is_placeless(first)))
        need(right, "another error is raised than the first row's", lambda: (first, row, faults[row]))
    elif first is not None:
        need(first[1].code == "limit_exceeded", "an error is raised that no row has", first)
    if first is None or first[1].code != "limit_exceeded":
        called(draw, case, renderer, faults)
    others(draw, case, renderer, numbered, faults)


def called(draw: Draw, case: Case, renderer: pp.Renderer, faults: dict[int, Fault]) -> None:
    """Batches that are rendered by a call raise the error of the first row that is theirs."""
    if engine_of(renderer).core.by_position:
        return
    start = 0
    for piece in pieces(draw, case.samples):
        for batch in piece.to_batches():
            bad = [row for row in faults if start <= row < start + len(batch)]
            error = raised(lambda batch=batch: renderer(batch))
            if bad:
                need(error is not None, "a call raises nothing", bad)
                right = error[1] == faults[min(bad)] or error[1].code == "duplicate_output_column"
                need(right, "a call raises another error than the first row's", lambda e=error, b=bad: (e, b, faults))
            start += len(batch)


def is_placeless(first: tuple[int | None, Fault]) -> bool:
    """Return true if an error names no row of the samples."""
    row, fault = first
    return row is None or (fault.column or "").startswith("examples.")


def others(draw: Draw, case: Case, renderer: pp.Renderer, table: pa.Table, faults: dict[int, Fault]) -> None:
    """The good rows are those of the same table with good rows in the place of the bad ones."""
    good = [row for row in range(len(case.samples)) if row not in faults]
    if not good or not faults:
        return
    rows = [draw.choice(good) if row in faults else row for row in range(len(case.samples))]
    replaced = pa.concat_tables([case.samples.slice(row, 1) for row in rows])
    try:
        without = renderer.render(replaced, index="row")
    except ERRORS:
        return  # the position is what fails
    first, second = kept(table.select(without.column_names), faults), kept(without, faults)
    need(same(first, second), "good rows aren't the same without bad", lambda: (first, second))


def kept(table: pa.Table, faults: dict[int, Fault]) -> pa.Table:
    """Return the requests of good rows."""
    rows = [n for n, row in enumerate(table["row"].to_pylist()) if row not in faults]
    return pa.concat_tables([table.slice(0, 0), *(table.slice(n, 1) for n in rows)])


def text_of(error: str) -> str:
    """Return a text of the column `error` without what goes by the batch."""
    return f"limit_exceeded: {BATCH}" if "batch's prompts" in error else error


def by_choice(case: Case, renderer: pp.Renderer) -> tuple[pp.Renderer, pa.Table]:
    """Return a renderer that needs no position, and the samples with what it needs."""
    if not engine_of(renderer).core.by_position:
        return renderer, case.samples
    retriever = case.config["retriever"]
    joints = {key: value for key, value in retriever.items() if key.endswith(("separator", "token"))}
    config = {**case.config, "retriever": {"type": "IndexColumn", "column": CHOICE, **joints}}
    chosen = renderer.retrieve(len(case.samples))
    return pp.Renderer(**config, unknown="keep", examples=case.train), case.samples.append_column(CHOICE, chosen)


def values(case: Case, column: pa.ChunkedArray) -> list[Any]:
    """Return requests as Python's values, without what only their types show."""
    requests = pp.to_pylist(column)
    if case.config.get("output") == "messages_json":
        return [None if request is None else json.loads(request) for request in requests]
    return [None if request is None else clean(request) for request in requests]


smaller = shrink.shrunk
