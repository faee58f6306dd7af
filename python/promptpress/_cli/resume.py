"""`promptpress render --resume`: what a run has finished is kept, and the next run of the same goes on behind it."""

from __future__ import annotations

import platform
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

import pyarrow as pa

import promptpress
from promptpress._cli.jinja_runs import Maker, RunCounts
from promptpress._cli.progress import Progress
from promptpress._cli.prompt_stream import TableSamples, pulled, rendered
from promptpress._file_errors import UsageError
from promptpress._inputs.samples import Samples
from promptpress._outputs.background_writer import background_writer
from promptpress._outputs.output_file import STDOUT
from promptpress._outputs.parts import Parts, read_manifest, refuse_other_run
from promptpress._render_options import RenderOptions
from promptpress._sizes import bytes_of
from promptpress._view.visible import encodable, printable

__all__ = ["PART_BYTES", "PART_SECONDS", "Job", "finish_parts", "finished_parts", "remember_clock"]

PART_BYTES = 32 << 20
"""A part is written when it holds so much..."""
PART_SECONDS = 0.5
"""... or took so long, and a batch of samples is through."""


def remember_clock(arguments: Namespace) -> None:
    """Let templates read the clock of the run that is resumed; of a first run the time it is now.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them; `now` changes.

    Raises:
        UsageError: when the output can't be resumed.

    """
    if not arguments.resume:
        return
    if arguments.out == STDOUT:
        raise UsageError("--resume: standard output can't be gone on with; name a file by --out")
    if arguments.now is None and _has_clock(arguments):
        clock = (read_manifest(arguments.out) or {}).get("clock")
        arguments.now = datetime.fromisoformat(clock) if isinstance(clock, str) else datetime.now()


class Job(NamedTuple):
    """What is rendered, and into what.

    Args:
        renderer: what renders.
        samples: the samples.
        schema: of the prompts.
        options: what comes beside them.

    """

    renderer: Maker
    samples: Samples | TableSamples
    schema: pa.Schema
    options: RenderOptions


@contextmanager
def finished_parts(arguments: Namespace, job: Job) -> Iterator[Parts | None]:
    """Open what an earlier run of the same has finished.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.
        job: what is rendered.

    Yields:
        The parts; None without `--resume`. They stay when the block ends, unless they are removed.

    Raises:
        OutputError: when another run writes this output.
        UsageError: when the parts are of another run.

    """
    if not arguments.resume:
        if arguments.out != STDOUT and (left := refuse_other_run(arguments.out)) is not None:
            _say(f"{left} holds what an interrupted run has finished; --resume would go on with it", arguments)
        yield None
        return
    with Parts(arguments.out, _run(arguments, job)) as parts:
        if parts.dropped:
            _say(
                f"parts of {parts.dropped:,} rows don't hold what was written; those rows are rendered anew", arguments
            )
        if parts.count:
            _say(f"goes on behind row {parts.rows:,}, with {_counted(parts)} of an earlier run", arguments)
        try:
            yield parts
        except BaseException:
            if parts.count:
                where = f"{_counted(parts)} with {parts.rows:,} rows in {parts.folder}"
                _say(f"{where} {'stays' if parts.count == 1 else 'stay'}; the same command goes on there", arguments)
            raise


def finish_parts(parts: Parts, job: Job, progress: Progress, counts: RunCounts) -> Iterator[pa.RecordBatch]:
    """Render what no part holds yet, into parts.

    Args:
        parts: those that there are.
        job: what is rendered.
        progress: is told of the rows.
        counts: is told of the batches.

    Returns:
        All prompts, as they would have come in one run.

    Raises:
        FileError: when something is wrong, by kind.
        promptpress.RenderError: when a row can't be rendered.

    """
    waiting: list[pa.RecordBatch] = []
    complete = rows = size = 0
    since = time.monotonic()

    def count(number: int) -> None:
        # The next samples are asked for: all prompts of those before are waiting.
        nonlocal complete, rows
        complete, rows = len(waiting), rows + number
        progress.advance(number)

    progress.advance(parts.rows)
    stream = rendered(job.renderer, job.samples, count, job.options, parts.rows)

    def write_part(part: tuple[list[pa.RecordBatch], int]) -> None:
        parts.write(job.schema, *part)

    with background_writer(write_part) as write:
        for batch in counts.counted(pulled(stream, job.samples)):
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


def _run(arguments: Namespace, job: Job) -> dict[str, Any]:
    """Everything that decides the prompts, and where batches of them end."""
    run: dict[str, Any] = {
        "version of promptpress": promptpress.__version__,
        "version of pyarrow": pa.__version__,
        "version of Python": platform.python_version(),
        "fingerprint of the configuration and the examples": job.renderer.fingerprint(),
        "columns": [f"{field.name}: {field.type}" for field in job.schema],
        "--index": job.options.index,
        "--limit": arguments.limit,
        "--batch-size": arguments.batch_size,
        "--data-format": arguments.data_format,
        "rows left out by --skip-corrupt": sum(group.rows for group in job.samples.skipped),
        "--data": job.samples.identity(),
    }
    if not isinstance(job.renderer, promptpress.Renderer) or job.renderer._configuration.chat is not None:
        from importlib.metadata import version  # noqa: PLC0415 - slow, and few runs need it

        run["version of Jinja2"] = version("jinja2")
    if _has_clock(arguments):
        run["clock"] = arguments.now.isoformat()
    return run


def _has_clock(arguments: Namespace) -> bool:
    return getattr(arguments, "jinja", None) is not None or getattr(arguments, "chat_template", None) is not None


def _counted(parts: Parts) -> str:
    return f"{parts.count:,} finished part{'s' if parts.count != 1 else ''}"


def _say(text: str, arguments: Namespace) -> None:
    if not arguments.quiet:
        print(encodable(f"promptpress: {printable(text)}", sys.stderr.encoding), file=sys.stderr, flush=True)
