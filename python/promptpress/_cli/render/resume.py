"""`promptpress render --resume`: keeps the finished parts of a run, so that the next run of the same continues it."""

from __future__ import annotations

import platform
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

import pyarrow as pa

import promptpress
from promptpress._arrow.sizes import bytes_of
from promptpress._cli.render.prompt_stream import AnySamples, rendered
from promptpress._cli.shell.errors import print_error_line
from promptpress._cli.shell.options import FORMAT_OPTIONS, option_name
from promptpress._cli.shell.progress import Progress
from promptpress._cli.sources.jinja_runs import AnyRenderer, RendererOrTemplate, RunCounts
from promptpress._engine.options import RenderOptions
from promptpress._engine.table_renderer import engine_of
from promptpress._errors.file_errors import UsageError
from promptpress._io.read.row_filter import TIME_ZONE
from promptpress._io.write.background_writer import background_writer
from promptpress._io.write.output_file import STDOUT, is_stream
from promptpress._io.write.parts import Parts, read_manifest, refuse_other_run
from promptpress._utils.counted import counted

PART_BYTES = 32 << 20
PART_SECONDS = 0.5
"""A part is written when it has this many bytes or took this long, at the end of a batch of samples."""


def remember_clock(arguments: Namespace) -> None:
    """Set the clock of templates to that of the resumed run, or to the present time for a first run."""
    if not arguments.resume:
        return
    if arguments.errors == "skip":
        raise UsageError(
            "--errors skip with --resume: the rows left out would be lost count of; --errors column has them"
        )
    if arguments.out == STDOUT or is_stream(arguments.out):
        what = "standard output" if arguments.out == STDOUT else arguments.out
        raise UsageError(f"--resume: {what} can't be gone on with; name a file by --out")
    if arguments.now is None and _has_clock(arguments):
        clock = (read_manifest(arguments.out) or {}).get("clock")
        arguments.now = datetime.fromisoformat(clock) if isinstance(clock, str) else datetime.now()


class Rendering(NamedTuple):
    """The inputs of a rendering, and the schema of its output."""

    renderer: AnyRenderer
    texts: RendererOrTemplate
    samples: AnySamples
    schema: pa.Schema
    options: RenderOptions


@contextmanager
def finished_parts(arguments: Namespace, rendering: Rendering) -> Iterator[Parts | None]:
    """Open the parts that an earlier run of the same has finished; without `--resume` there are none."""

    def report(text: str) -> None:
        if not arguments.quiet:
            print_error_line(f"promptpress: {text}")

    if not arguments.resume:
        if (
            not (arguments.out == STDOUT or is_stream(arguments.out))
            and (folder := refuse_other_run(arguments.out)) is not None
        ):
            report(f"{folder} holds what an interrupted run has finished; --resume would go on with it")
        yield None
        return
    with Parts(arguments.out, _run(arguments, rendering)) as parts:
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
    complete = rows = size = 0
    since = time.monotonic()

    def count(number: int) -> None:
        # The renderer asks for more samples, so all prompts of the earlier samples are waiting.
        nonlocal complete, rows
        complete, rows = len(waiting), rows + number
        progress.advance(number)

    progress.advance(parts.rows)
    stream = rendered(rendering.renderer, rendering.samples, count, rendering.options, parts.rows)

    def write_part(part: tuple[list[pa.RecordBatch], int]) -> None:
        parts.write(rendering.schema, *part)

    with background_writer(write_part) as write:
        for batch in counts.counted(stream):
            if rows and (size >= PART_BYTES or time.monotonic() - since >= PART_SECONDS):
                write((waiting[:complete], rows))
                del waiting[:complete]
                complete = rows = size = 0
                since = time.monotonic()
            waiting.append(batch)
            size += bytes_of(batch)
        if rows:
            write((waiting, rows))
    return parts.batches()


def _run(arguments: Namespace, rendering: Rendering) -> dict[str, Any]:
    """Return everything that decides the prompts and the ends of their batches; equal runs can share parts."""
    renderer, samples = rendering.renderer, rendering.samples
    run: dict[str, Any] = {
        "version of promptpress": promptpress.__version__,
        "version of pyarrow": pa.__version__,
        "version of Python": platform.python_version(),
        "fingerprint of the configuration and the examples": engine_of(renderer).fingerprint(),
        "columns": [f"{field.name}: {field.type}" for field in rendering.schema],
        "--index": rendering.options.index,
        "--limit": arguments.limit,
        "--where": arguments.where,
        "time zone of --where": None if arguments.where is None else TIME_ZONE,
        "--sample": [arguments.sample, arguments.seed],
        "--errors": rendering.options.errors,
        "--batch-size": arguments.batch_size,
        **{option_name(name): getattr(arguments, name) for name in FORMAT_OPTIONS},
        "rows left out by --skip-corrupt": sum(group.rows for group in samples.skipped),
        "--data": samples.identity(),
    }
    texts = rendering.texts
    if not isinstance(texts, promptpress.Renderer) or engine_of(texts).chat is not None:
        from importlib.metadata import version  # noqa: PLC0415 - slow, and few runs need it

        run["version of Jinja2"] = version("jinja2")
    if _has_clock(arguments):
        run["clock"] = arguments.now.isoformat()
    return run


def _has_clock(arguments: Namespace) -> bool:
    return getattr(arguments, "jinja", None) is not None or getattr(arguments, "chat_template", None) is not None
