"""Streams of rendered prompts: as record batches or JSON lines, and continued after an interrupted run."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias, TypeGuard, TypeVar

import promptpress
import pyarrow as pa
from promptpress import DataError
from promptpress.engine import (
    HASH_FORMAT,
    BatchCuts,
    ConfiguredEngine,
    RenderedLines,
    RenderOptions,
    TableEngine,
    engine_of,
    ordered_batches,
)
from promptpress.engine import core as _core
from promptpress.engine.errors import ABOUT_THE_TABLE, UsageError, counted, of_row, reason
from promptpress.engine.tables import bytes_of

from promptpress_workbench.cli.options import FORMAT_OPTIONS, option_name
from promptpress_workbench.cli.run_counts import AnyRenderer, RunCounts
from promptpress_workbench.cli.settings import Settings
from promptpress_workbench.cli.terminal import Progress, print_error_line
from promptpress_workbench.files.read.row_filter import TIME_ZONE
from promptpress_workbench.files.read.samples import AnySamples, ChosenRows, Samples, TableSamples
from promptpress_workbench.files.write.output_file import STDOUT, is_stream
from promptpress_workbench.files.write.parts import Parts, read_manifest, refuse_other_run
from promptpress_workbench.threads import background_writer

_Batch = TypeVar("_Batch")

_REMEDY = "--errors skip leaves such rows out"

_Count: TypeAlias = Callable[[int], object]
PART_BYTES = 32 << 20
PART_SECONDS = 0.5
"""A part is written when it has this many bytes or took this long, at the end of a batch of samples."""


def batch_cuts(samples: AnySamples) -> BatchCuts:
    """Return what cuts the batches of samples: nothing if their number of rows was asked for."""
    return BatchCuts() if samples.batch_size is None else BatchCuts(None)


def rendered(
    renderer: AnyRenderer,
    samples: AnySamples,
    count: _Count,
    options: RenderOptions,
    first: int = 0,
    *,
    cuts: BatchCuts | None = None,
) -> Iterator[pa.RecordBatch]:
    """Return a stream of rendered batches from the sample `first` on; `count` gets the sizes of finished batches.

    Batches are cut by `cuts`, or else as `batch_cuts` says.
    If a column holds the labels, or the prompts come in prefix order, all samples are read before one is rendered.
    """
    engine, labels = engine_of(renderer), None
    cuts = batch_cuts(samples) if cuts is None else cuts
    texts = engine.text_engine
    engine.check_table()
    if options.order is not None:
        return _in_prefix_order(engine, samples, count, options)
    if isinstance(texts, ConfiguredEngine) and texts.core.label_column is not None:
        table = samples.table()
        labels = engine.labels_of_table(table)
        chosen = samples.chosen
        samples = TableSamples(table, samples.batch_size)
        samples.chosen = chosen
    if isinstance(texts, ConfiguredEngine) and isinstance(samples, Samples) and not options.collects_errors:
        # Kept columns must keep their types; the others may come as dictionaries.
        reader = samples.reader(count, first, set(samples.schema.names).difference(options.kept))
    else:
        reader = samples.reader(count, first)
    if samples.chosen is not None:
        engine.row_number = samples.chosen.number
    batches = _with_reading_errors(engine.stream(reader, options, labels=labels, first=first, cuts=cuts), samples)
    if samples.chosen is None or options.index is None:
        return batches
    return _with_row_numbers(batches, samples.chosen)


def _in_prefix_order(
    engine: TableEngine, samples: AnySamples, count: _Count, options: RenderOptions
) -> Iterator[pa.RecordBatch]:
    """Yield rendered batches in prefix order."""
    with reading_errors(samples), row_remedies():
        table = samples.table()
        if samples.chosen is not None:
            engine.row_number = samples.chosen.number
        batches = ordered_batches(engine, table, options, count)
        yield from batches if samples.chosen is None else _with_row_numbers(batches, samples.chosen)


def has_only_prompts(renderer: AnyRenderer, schema: pa.Schema) -> TypeGuard[promptpress.Renderer]:
    """Return true if the core makes the whole output, one prompt for each sample, so that `rendered_as_lines` works.

    If `limits` bound the bytes of a batch, prompts need the batches of their samples.
    """
    if len(schema) != 1 or not isinstance(renderer, promptpress.Renderer):
        return False
    engine = engine_of(renderer)
    return engine.chat is None and not engine.bounds_batches


def rendered_as_lines(
    renderer: promptpress.Renderer, samples: AnySamples, count: _Count, frame: _core.LineLayout
) -> Iterator[RenderedLines | pa.RecordBatch]:
    """Return a stream of JSON lines, or of record batches where lines would take longer than copying."""
    engine = engine_of(renderer)
    engine.check_table()
    if samples.chosen is not None:
        engine.row_number = samples.chosen.number
    reader = samples.reader(count, 0, samples.schema.names) if isinstance(samples, Samples) else samples.reader(count)
    return _with_reading_errors(engine.lines(reader, frame), samples)


def _with_reading_errors(stream: Iterable[_Batch], samples: AnySamples) -> Iterator[_Batch]:
    """Yield the rendered batches; raise errors of reading in their original form."""
    with reading_errors(samples), row_remedies():
        try:
            yield from stream
        except (promptpress.RenderError, promptpress.TemplateError):
            raise
        except (pa.ArrowException, OSError, ValueError) as error:
            raise DataError(reason(error)) from error  # Arrow's C stream passes only the text of errors


@contextmanager
def row_remedies(remedy: str = _REMEDY) -> Iterator[None]:
    """Add to the error of a row what to do about such rows; the commands that use the default have the option."""
    try:
        yield
    except promptpress.RenderError as error:
        if error.row is None or error.code in ABOUT_THE_TABLE:
            raise
        error.message = f"{error.message}; {remedy}"
        raise of_row(error, error.row) from error.__cause__


def _with_row_numbers(batches: Iterable[pa.RecordBatch], chosen: ChosenRows) -> Iterator[pa.RecordBatch]:
    """Replace the index, which counts the chosen rows, by their numbers in the data."""
    for batch in batches:
        yield batch.set_column(0, batch.schema.field(0), chosen.numbers(batch.column(0)))


@contextmanager
def reading_errors(samples: AnySamples) -> Iterator[None]:
    """Raise the original error of reading samples, of which Arrow's C stream passes only the text.

    If only some rows are read, the error of a row names its number in the data.
    """
    try:
        yield
    except Exception as error:
        if samples.error is not None:
            raise samples.error from None
        if samples.chosen is not None and isinstance(error, promptpress.RenderError) and error.row is not None:
            raise of_row(error, samples.chosen.number(error.row)) from error.__cause__
        raise


def with_clock(settings: Settings) -> Settings:
    """Set the clock of templates to that of the resumed run, or to the present time for a first run."""
    if not settings.resume:
        return settings
    if settings.errors == "skip":
        raise UsageError(
            "--errors skip with --resume: the rows left out would be lost count of; --errors column has them"
        )
    if settings.out == STDOUT or is_stream(settings.out):
        what = "standard output" if settings.out == STDOUT else settings.out
        raise UsageError(f"--resume: {what} can't be gone on with; name a file by --out")
    if settings.now is not None or not _has_clock(settings):
        return settings
    clock = (read_manifest(settings.out) or {}).get("clock")
    return replace(settings, now=datetime.fromisoformat(clock) if isinstance(clock, str) else datetime.now())


class Rendering(NamedTuple):
    """The inputs of a rendering, and the schema of its output."""

    renderer: AnyRenderer
    texts: AnyRenderer
    samples: AnySamples
    schema: pa.Schema
    options: RenderOptions


@contextmanager
def finished_parts(settings: Settings, rendering: Rendering) -> Iterator[Parts | None]:
    """Open the parts that an earlier run of the same has finished; without `--resume` there are none."""

    def report(text: str) -> None:
        if not settings.quiet:
            print_error_line(f"promptpress: {text}")

    if not settings.resume:
        if (
            not (settings.out == STDOUT or is_stream(settings.out))
            and (folder := refuse_other_run(settings.out)) is not None
        ):
            report(f"{folder} holds what an interrupted run has finished; --resume would go on with it")
        yield None
        return
    with Parts(settings.out, _run(settings, rendering)) as parts:
        if parts.dropped:
            report(
                f"parts of {counted(parts.dropped, 'row')} don't hold what was written; those rows are rendered anew"
            )
        if parts.count:
            report(f"goes on after row {parts.rows:,}, with {counted(parts.count, 'finished part')} of an earlier run")
        try:
            yield parts
        except BaseException:
            if parts.count:
                where = f"{counted(parts.count, 'finished part')} with {counted(parts.rows, 'row')} in {parts.folder}"
                report(f"{where} {'stays' if parts.count == 1 else 'stay'}; the same command goes on there")
            raise


def finish_parts(parts: Parts, rendering: Rendering, progress: Progress, counts: RunCounts) -> Iterator[pa.RecordBatch]:
    """Render the remaining samples into parts, and return the batches of all parts."""
    waiting: list[pa.RecordBatch] = []
    cuts = batch_cuts(rendering.samples)
    if parts.state is not None:
        cuts.restore(parts.state)
    state = cuts.state
    complete = rows = size = 0
    since = time.monotonic()

    def count(number: int) -> None:
        # The renderer asks for more samples, so all prompts of the earlier samples are waiting.
        nonlocal complete, rows, state
        complete, rows, state = len(waiting), rows + number, cuts.state
        progress.advance(number)

    progress.advance(parts.rows)
    stream = rendered(rendering.renderer, rendering.samples, count, rendering.options, parts.rows, cuts=cuts)

    def write_part(part: tuple[list[pa.RecordBatch], int, dict[str, Any]]) -> None:
        parts.write(rendering.schema, *part)

    with background_writer(write_part) as write:
        for batch in counts.counted(stream):
            if rows and (size >= PART_BYTES or time.monotonic() - since >= PART_SECONDS):
                write((waiting[:complete], rows, state))
                del waiting[:complete]
                complete = rows = size = 0
                since = time.monotonic()
            waiting.append(batch)
            size += bytes_of(batch)
        if rows:
            write((waiting, rows, cuts.state))
    return parts.batches()


def _run(settings: Settings, rendering: Rendering) -> dict[str, Any]:
    """Return everything that decides the prompts and the ends of their batches; equal runs can share parts."""
    renderer, samples = rendering.renderer, rendering.samples
    run: dict[str, Any] = {
        "version of promptpress": promptpress.__version__,
        "version of pyarrow": pa.__version__,
        "version of Python": platform.python_version(),
        "fingerprint of the configuration and the examples": engine_of(renderer).fingerprint(),
        "columns": [f"{field.name}: {field.type}" for field in rendering.schema],
        "--index": rendering.options.index,
        "--limit": settings.limit,
        "--where": settings.where,
        "time zone of --where": None if settings.where is None else TIME_ZONE,
        "--sample": [settings.sample, settings.seed],
        "--errors": rendering.options.errors,
        "--batch-size": settings.batch_size,
        "format of the hash": HASH_FORMAT,
        **{option_name(name): getattr(settings, name) for name in FORMAT_OPTIONS},
        "rows left out by --skip-corrupt": sum(group.rows for group in samples.skipped),
        "--data": samples.identity(),
    }
    texts = rendering.texts
    if not isinstance(texts, promptpress.Renderer) or engine_of(texts).chat is not None:
        from importlib.metadata import version  # noqa: PLC0415 - slow, and few runs need it

        run["version of Jinja2"] = version("jinja2")
    if _has_clock(settings) and settings.now is not None:
        run["clock"] = settings.now.isoformat()
    return run


def _has_clock(settings: Settings) -> bool:
    return settings.jinja is not None or settings.chat_template is not None
