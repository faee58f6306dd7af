"""`audit` of the renderers: renders the samples batch by batch, and gives each batch to the checks."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

import pyarrow as pa
from promptpress import RenderError
from promptpress.engine import ConfiguredEngine, RenderOptions, TableRenderer, engine_of, sample_numbers
from promptpress.engine import core as _core
from promptpress.engine.errors import ABOUT_THE_TABLE, did_you_mean, render_error
from promptpress.engine.tables import for_core
from promptpress.engine.tables import lazy_compute as pc
from promptpress.engine.tokens import load_tokenizer
from promptpress.typing import Mask

from promptpress_workbench.audit.batch import Batch, ConfiguredBatch, TemplateBatch
from promptpress_workbench.audit.check import Check, ConfiguredCheck
from promptpress_workbench.audit.codes import ALL_CODES, LIMITS, known_codes, with_superseding
from promptpress_workbench.audit.configuration import LastRole, Notes, Roles, UnknownOrigins, UnusedColumns
from promptpress_workbench.audit.findings import Finding, findings_html, table_of
from promptpress_workbench.audit.good_rows import UNRENDERABLE, GoodRows
from promptpress_workbench.audit.leaks import Answers, OwnExamples
from promptpress_workbench.audit.left_out import LeftOutParts
from promptpress_workbench.audit.requests import EmptyPrompts, EqualLabels, EqualPrompts, Lengths
from promptpress_workbench.audit.special_tokens import DoubleBos, MediaTags, SpecialTokens, TemplateTokens
from promptpress_workbench.audit.subject import ConfiguredSubject, TemplateSubject, token_batches
from promptpress_workbench.audit.tokens import Budgets, GrowingChats, TokenBorders, TrainedTokens
from promptpress_workbench.audit.values import EncodedArguments, Nulls, OddCharacters, Placeholders
from promptpress_workbench.prompts.preview import show_table
from promptpress_workbench.prompts.prompt_source import take
from promptpress_workbench.statistics.collect import open_samples, sliced
from promptpress_workbench.threads import Threads

CHECKS: tuple[type[Check | ConfiguredCheck], ...] = (
    *(OwnExamples, Answers, Placeholders, TemplateTokens, MediaTags, SpecialTokens),
    *(EmptyPrompts, EqualPrompts, EqualLabels, Lengths, Budgets, DoubleBos, LastRole, Roles),
    *(LeftOutParts, TrainedTokens, GrowingChats, TokenBorders),
    *(Nulls, EncodedArguments, OddCharacters, Notes, UnusedColumns, UnknownOrigins),
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
    output_column: str | None = None,
    answer: str | None = None,
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
    subject: Any
    batches: Iterator[Batch]
    reader, labels = open_samples(engine, samples, RenderOptions())
    good_rows = GoodRows(row_number)
    facts: dict[str, Any] = {"limits": limits, "counter": counter, "row_number": good_rows.number, "mask": mask}
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
    answered = copy.copy(engine) if answer is None else engine.answered(answer)
    subject.tokens = token_batches(answered, reader.schema, token_counter, labels, mask)
    checks = [kind(subject) for kind in kinds if kind.applies_to(subject)]
    reads = UNRENDERABLE in codes or any(check.reads_requests for check in checks)
    if isinstance(subject, ConfiguredSubject):
        good_rows.has_gaps = subject.has_examples  # which are chosen by, or compared with, the numbers of rows
        reads = reads or subject.tokens is not None or subject.core.index_column is not None
        batches = _configured_batches(subject, reader, good_rows, reads=reads)
    else:
        batches = _template_batches(subject, reader, good_rows, checks) if checks or reads else iter(())
    # Checks share no state, and most of their time is spent outside of Python.
    with Threads(min(_core.threads(), _MAX_THREADS)) as threads:
        for batch in _rendered_ahead(batches, threads):
            for done in [threads.submit(check.add, batch) for check in checks]:
                done.result()
    findings = list(good_rows.findings())
    findings += [finding for check in checks for finding in check.findings()]
    findings = _listed([finding for finding in findings if finding.rows != 0], listed)
    for finding in findings:
        if finding.first_rows is not None and finding.code != UNRENDERABLE:
            finding.first_rows = list(map(good_rows.number, finding.first_rows))
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


def _template_batches(
    subject: TemplateSubject, reader: Iterable[pa.RecordBatch], good_rows: GoodRows, checks: Sequence[Any]
) -> Iterator[Batch]:
    """Yield the rows that a template renders, with their texts."""
    has_spans = any(check.reads_columns for check in checks)
    run = subject.engine.begin(RenderOptions(spans="detailed" if has_spans else False, errors="column"), None)
    for batch in sliced(reader):
        parts: list[Any] = list(run.parts(pa.Table.from_batches([batch]), good_rows.seen))
        errors = pa.concat_arrays([part.errors for part in parts]) if parts else pa.array([], pa.string())
        numbers = _core.repeated_rows(good_rows.seen, batch.num_rows, 1)
        for first, rows in good_rows.of_batch(batch, numbers, errors):
            prompts = _rendered([part.prompts for part in parts], errors)
            spans = _rendered([part.spans for part in parts], errors) if has_spans else None
            yield TemplateBatch(subject, rows, first, prompts, spans)
    subject.lacking = run.lacking.renumbered(good_rows.checked_row)


def _rendered(arrays: Sequence[pa.Array], errors: pa.Array) -> pa.Array:
    """Return what was rendered of the rows without an error."""
    if not errors.null_count < len(errors):
        return pa.concat_arrays(arrays) if len(arrays) > 1 else arrays[0]
    return take(pa.chunked_array(arrays), pc.indices_nonzero(errors.is_null()).cast(pa.int64()))


def _configured_batches(
    subject: ConfiguredSubject, reader: Iterable[pa.RecordBatch], good_rows: GoodRows, *, reads: bool
) -> Iterator[Batch]:
    """Yield the samples that can be rendered; if `reads` is true, their requests are rendered already.

    Only where a sample can't be rendered, all samples of its batch are rendered once more to find the bad ones.
    """
    position, rendered = _core.StreamState(), _core.StreamState(counts=subject.is_harness)
    run: Any = None

    def rows_of(first: int, samples: pa.RecordBatch) -> ConfiguredBatch:
        core_table, python_text = for_core(pa.Table.from_batches([samples]), first)
        subject.core.skip(position, first - position.rows)
        tables = {"core_table": core_table, "python_text": python_text}
        batch = ConfiguredBatch(subject, samples, first, **tables, position=position.copy(), rendered=rendered)
        if reads:
            for requests in batch.requests:
                requests.prompts  # noqa: B018 - reading renders them
        return batch

    for samples in sliced(reader):
        try:
            batch = rows_of(good_rows.next, samples)
        except RenderError as error:
            if error.row is None or error.code in ABOUT_THE_TABLE:
                raise
            rendered = _core.StreamState(counts=subject.is_harness)  # the other may be anywhere in the batch
            run = run or copy.copy(subject.engine).begin(RenderOptions(errors="column"), subject.labels)
            parts: list[Any] = list(run.parts(pa.Table.from_batches([samples]), good_rows.seen))
            numbers = pa.concat_arrays([sample_numbers(part, run.times).cast(pa.int64()) for part in parts])
            errors = pa.concat_arrays([part.errors for part in parts])
            for first, rows in good_rows.of_batch(samples, numbers, errors):
                yield rows_of(first, rows)
        else:
            good_rows.add(samples.num_rows)
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
