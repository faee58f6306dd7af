"""`audit` of the renderers: renders the samples batch by batch, and gives each batch to the checks."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, get_args

import pyarrow as pa
from promptpress.engine import (
    ConfiguredEngine,
    RenderOptions,
    TableEngine,
    TableRenderer,
    engine_of,
    sample_numbers,
)
from promptpress.engine import core as _core
from promptpress.engine.errors import did_you_mean, render_error
from promptpress.engine.tables import for_core
from promptpress.engine.tokens import load_tokenizer
from promptpress.typing import Mask

from promptpress_workbench.audit.batch import Batch, ConfiguredBatch, TemplateBatch
from promptpress_workbench.audit.check import Check, ConfiguredCheck
from promptpress_workbench.audit.codes import ALL_CODES, LIMITS, known_codes, with_superseding
from promptpress_workbench.audit.configuration import LastRole, Notes, Roles, UnknownOrigins, UnusedColumns
from promptpress_workbench.audit.findings import Finding, Rows, finding_of, findings_html, table_of
from promptpress_workbench.audit.leaks import Answers, OwnExamples
from promptpress_workbench.audit.requests import EmptyPrompts, EqualLabels, EqualPrompts, Lengths
from promptpress_workbench.audit.special_tokens import DoubleBos, MediaTags, SpecialTokens, TemplateTokens
from promptpress_workbench.audit.subject import ConfiguredSubject, TemplateSubject, token_batches
from promptpress_workbench.audit.tokens import Budgets, GrowingChats, TokenBorders, TrainedTokens
from promptpress_workbench.audit.values import Nulls, OddCharacters, Placeholders
from promptpress_workbench.prompts.preview import show_table
from promptpress_workbench.statistics.collect import open_samples, sliced
from promptpress_workbench.threads import Threads

CHECKS: tuple[type[Check | ConfiguredCheck], ...] = (
    *(OwnExamples, Answers, Placeholders, TemplateTokens, MediaTags, SpecialTokens),
    *(EmptyPrompts, EqualPrompts, EqualLabels, Lengths, Budgets, DoubleBos, LastRole, Roles),
    *(TrainedTokens, GrowingChats, TokenBorders),
    *(Nulls, OddCharacters, Notes, UnusedColumns, UnknownOrigins),
)
"""Every check, in the order in which findings of equal severity are listed."""

_MAX_THREADS = 4
"""More threads would have nothing to do, because the core has threads too."""


def audit(
    renderer: TableRenderer[Any],
    samples: Any,
    tokenizer: Any,
    limits: Mapping[str, int] | None,
    allow: Any,
    *,
    only: Any = None,
    mask: Mask | None = None,
    errors: str = "raise",
    output_column: str | None = None,
    row_number: Callable[[int], int] = int,
) -> pa.Table:
    """Return the table of findings, as `audit` of the renderers; `row_number` gives a row's number in the findings."""
    listed = (ALL_CODES if only is None else known_codes(only, "only")) - known_codes(allow)
    codes = with_superseding(listed)
    kinds = [kind for kind in CHECKS if not codes.isdisjoint(kind.codes)]
    engine = engine_of(renderer)
    counter = engine.tokenizer if tokenizer is None else load_tokenizer(tokenizer)
    limits = _validate_limits(limits, has_tokenizer=counter is not None)
    _check_mask(mask, has_tokenizer=counter is not None)
    token_counter = None if codes.isdisjoint([*TrainedTokens.codes, *TokenBorders.codes]) else counter
    if errors not in ("raise", "skip"):
        raise ValueError(f"errors: {errors!r} is not one of 'raise', 'skip'")
    left_out = _LeftOut() if errors == "skip" else None
    subject: Any
    batches: Iterator[Batch]
    reader, labels = open_samples(engine, samples, RenderOptions())
    facts: dict[str, Any] = {"limits": limits, "counter": counter, "row_number": row_number, "mask": mask}
    facts |= {"codes": codes, "engine": engine}
    if isinstance(engine, ConfiguredEngine):
        subject = ConfiguredSubject(reader.schema, labels, **facts)
    else:
        if output_column is not None and output_column not in reader.schema.names:
            names = reader.schema.names
            hint = did_you_mean(output_column, names) or f"; there are {', '.join(map(repr, names))}"
            message = f"output_column: the samples have no such column{hint}"
            raise render_error("missing_column", message, column=output_column)
        subject = TemplateSubject(reader.schema, output_column=output_column, **facts)
        kinds = [kind for kind in kinds if issubclass(kind, Check)]
    subject.tokens = token_batches(copy.copy(engine), reader.schema, token_counter, labels, mask)
    checks = [kind(subject) for kind in kinds if kind.applies_to(subject)]
    good = _good_batches(engine, labels, reader, left_out)
    if isinstance(subject, ConfiguredSubject):
        batches = _configured_batches(subject, good)
    else:
        options = RenderOptions(spans="detailed" if any(check.reads_columns for check in checks) else False)
        run = engine.begin(options, None)
        batches = (TemplateBatch(subject, samples, first, run) for first, samples in good)
    if any(check.reads_requests for check in checks):
        batches = _with_requests(batches)
    # Checks share no state, and most of their time is spent outside of Python.
    with Threads(min(_core.threads(), _MAX_THREADS)) as threads:
        for batch in _rendered_ahead(batches, threads):
            for done in [threads.submit(check.add, batch) for check in checks]:
                done.result()
    findings = [] if left_out is None else list(left_out.findings())
    findings += [finding for check in checks for finding in check.findings()]
    findings = _listed([finding for finding in findings if finding.rows != 0], listed)
    for finding in findings:
        finding.first_rows = None if finding.first_rows is None else list(map(row_number, finding.first_rows))
    table = table_of(findings)
    show_table(table, findings_html)
    return table


def _listed(findings: list[Finding], listed: frozenset[str]) -> list[Finding]:
    """Return the findings whose codes are listed, without those that others make superfluous."""
    if any(finding.code == "answer_in_prompt" for finding in findings):
        listed -= {"unmasked_output_column"}  # this note says the same about the template
    examples = [(item.rows, item.first_rows) for item in findings if item.code.startswith("own_example")]
    if any(item.code == "answer_in_example" and (item.rows, item.first_rows) in examples for item in findings):
        listed -= {"answer_in_example"}  # which follows if samples are their own examples
    return [finding for finding in findings if finding.code in listed]


class _LeftOut:
    """The rows that can't be rendered, and so are left out of all other checks."""

    def __init__(self) -> None:
        self._rows = Rows()
        self._message = ""

    def add(self, row: int, message: str) -> None:
        if not self._rows:
            self._message = message.partition(": ")[2]
        self._rows.add([row])

    def findings(self) -> Iterator[Finding]:
        message = f"the row can't be rendered, and is left out of all other checks: {self._message}"
        yield finding_of("unrenderable_row", message, self._rows)


def _bad_rows(run: Any, batch: pa.RecordBatch, first: int) -> Iterator[tuple[int, str]]:
    """Yield the rows of the next batch that can't be rendered, by their numbers in it, with their errors."""
    last = None
    for part in run.parts(pa.Table.from_batches([batch]), first):
        if part.errors is None or part.errors.null_count == len(part.errors):
            continue
        rows = sample_numbers(part, run.times).filter(part.errors.is_valid()).to_pylist()
        for row, message in zip(rows, part.errors.drop_null().to_pylist(), strict=True):
            if row != last:
                yield row - first, message
            last = row


def _good_batches(
    engine: TableEngine, labels: list[Any] | None, reader: Iterable[pa.RecordBatch], left_out: _LeftOut | None
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield batches with the numbers of their first rows, cut where rows that can't be rendered are left out."""
    first = 0
    run = None if left_out is None else copy.copy(engine).begin(RenderOptions(errors="column"), labels)
    for batch in sliced(reader):
        start = 0
        if left_out is not None:
            for bad, message in _bad_rows(run, batch, first):
                left_out.add(first + bad, message)
                if bad > start:
                    yield first + start, batch.slice(start, bad - start)
                start = bad + 1
        if start < batch.num_rows:
            yield first + start, batch.slice(start)
        first += batch.num_rows


def _configured_batches(subject: ConfiguredSubject, batches: Iterable[tuple[int, pa.RecordBatch]]) -> Iterator[Batch]:
    position, rendered = _core.StreamState(), _core.StreamState(counts=subject.is_harness)
    for first, samples in batches:
        core_table, python_text = for_core(pa.Table.from_batches([samples]), first)
        subject.core.skip(position, first - position.rows)
        tables = {"core_table": core_table, "python_text": python_text}
        yield ConfiguredBatch(subject, samples, first, **tables, position=position.copy(), rendered=rendered)


def _with_requests(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Yield batches with their requests, which are rendered in the thread that asks for the next batch."""
    for batch in batches:
        batch.requests  # noqa: B018 - reading renders them
        yield batch


def _rendered_ahead(batches: Iterator[Batch], threads: Threads) -> Iterator[Batch]:
    """Yield batches, each read and rendered while the one before is checked."""
    following = threads.submit(next, batches, None)
    while (batch := following.result()) is not None:
        following = threads.submit(next, batches, None)
        yield batch


def _check_mask(mask: Mask | None, *, has_tokenizer: bool) -> None:
    if mask is None:
        return
    if mask not in get_args(Mask):
        raise ValueError(f"mask: {mask!r} is not one of {', '.join(map(repr, get_args(Mask)))}")
    if not has_tokenizer:
        raise ValueError("mask: what is trained are tokens; give tokenizer=")


def _validate_limits(limits: Mapping[str, int] | None, *, has_tokenizer: bool) -> dict[str, int]:
    out = {}
    for name, limit in (limits or {}).items():
        if name not in LIMITS:
            hint = did_you_mean(name, LIMITS) or f"; there are {' and '.join(map(repr, LIMITS))}"
            raise ValueError(f"limits: there is no limit of {name!r}{hint}")
        try:
            out[name] = operator.index(limit)
        except TypeError:
            raise TypeError(f"limits: {name!r} is a whole number, found a {type(limit).__name__}") from None
        if out[name] < 0:
            raise ValueError(f"limits: {name!r} is a number from 0 on, found {limit}")
        if out[name] >= 2**63:
            raise ValueError(f"limits: {name!r} is a number below 2**63, which no prompt reaches")
    if not has_tokenizer and any(LIMITS[name].needs_tokenizer for name in out):
        raise ValueError("limits: tokens are counted by a tokenizer; give tokenizer=")
    return out
