"""`promptpress export`: samples in, requests out as the next tool takes them."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

import promptpress
from promptpress._cli.configured_renderer import make_renderer
from promptpress._cli.notes import held_back, tell_notes
from promptpress._cli.progress import Progress
from promptpress._cli.prompt_stream import is_prompt_alone, pulled, rendered, rendered_as_lines
from promptpress._cli.render import keep_columns, refuse_clash, refuse_overwriting, write_prompts
from promptpress._cli.threads import set_threads
from promptpress._core import LineLayout
from promptpress._errors import render_error
from promptpress._export.batch_requests import CHAT, BatchRequests
from promptpress._export.chat_messages import Form
from promptpress._export.chat_tables import datasets, ray_batches
from promptpress._export.conversations import SHAREGPT_ROLES, Conversations
from promptpress._export.custom_ids import SAMPLE, columns_of
from promptpress._export.limits import SERVICES
from promptpress._export.written import LinesOf, write_batches
from promptpress._file_errors import ConfigError, OutputError, UsageError, reason
from promptpress._inputs.samples import Samples
from promptpress._model_classes import did_you_mean
from promptpress._outputs.out_format import out_format
from promptpress._outputs.output_file import STDOUT, STDOUT_DEVICES
from promptpress._render_options import RenderOptions
from promptpress._rendered_lines import RenderedLines

_OPTIONS = {
    "model_name": tuple(SERVICES),
    "body": tuple(SERVICES),
    "body_columns": tuple(SERVICES),
    "custom_id": tuple(SERVICES),
    "max_requests": tuple(SERVICES),
    "url": ("openai-batch", "litellm-batch"),
    "max_bytes": ("openai-batch", "litellm-batch"),
    "answer": ("sharegpt", "messages-json", "datasets"),
    "sampling_params": ("ray",),
    "sampling_columns": ("ray",),
}
"""What each option that isn't for all is for."""

_ARGUMENTS = {"custom_id", "body", "body_columns", "url", "keep", "sampling_params", "sampling_columns", "roles"}


@dataclass
class _Job:
    """What is exported: rendered batches, or lines within a frame, and how they are to be read."""

    arguments: Namespace
    schema: pa.Schema
    batches: Callable[[LineLayout | None], Iterator[pa.RecordBatch | RenderedLines]]
    prompt: str
    form: Form | None
    keep: list[str]

    @property
    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, self.batches(None))


def export(arguments: Namespace) -> None:
    """Do what the command line says.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Raises:
        FileError: when something is wrong, by kind.
        promptpress.TemplateError: when the configuration is.
        promptpress.RenderError: when the data don't fit it.

    """
    _check(arguments)
    refuse_overwriting(arguments)
    set_threads(arguments.threads)
    texts = (arguments.url or "").endswith("/completions") and not arguments.url.endswith("/chat/completions")
    if arguments.output is None:
        arguments.output = "text" if texts else "openai"
    with held_back(arguments) as held, _about_the_model(arguments):
        renderer = make_renderer(arguments)
    start = time.perf_counter()
    samples = Samples(arguments.data, arguments.data_format, arguments.batch_size, arguments.limit)
    wanted = keep_columns(arguments.keep, samples.schema)
    own = renderer.output_schema(samples.schema)
    if arguments.kind in _OPTIONS["custom_id"] and arguments.custom_id is None:
        arguments.custom_id = default_custom_id(own)
    keep = _with_named(arguments, wanted, [name for name in samples.schema.names if name not in own.names])
    refuse_clash(renderer, samples.schema, keep, arguments.config)
    has_sample = SAMPLE in renderer.output_schema(samples.schema, keep=keep).names
    index = None if has_sample or (not keep and _numbers_tell(arguments, own)) else SAMPLE
    schema = renderer.output_schema(samples.schema, keep=keep, index=index)
    _refuse_unknown_columns(arguments, samples.schema.names, schema.names)
    tell_notes(renderer, samples.schema, arguments, held)
    is_shown = arguments.progress or (not arguments.quiet and sys.stderr.isatty())
    with Progress(samples.num_rows, is_shown=is_shown) as progress:

        def batches(frame: LineLayout | None) -> Iterator[pa.RecordBatch | RenderedLines]:
            if frame is not None and is_prompt_alone(renderer, schema):
                return pulled(rendered_as_lines(renderer, samples, progress.advance, frame), samples)
            return pulled(rendered(renderer, samples, progress.advance, RenderOptions.of(keep, index)), samples)

        form: Form | None = "messages_json" if arguments.output == "messages_json" else None
        if form is None and not pa.types.is_nested(schema.field(schema.names[-1]).type):
            form = "text"
        with _as_options():
            done = _WRITERS[arguments.kind](_Job(arguments, schema, batches, schema.names[-1], form, wanted))
    samples.close()
    if not arguments.quiet:
        print(f"promptpress: {done} in {time.perf_counter() - start:.3f} s", file=sys.stderr)


def _numbers_tell(arguments: Namespace, own: pa.Schema) -> bool:
    """Whether requests are told apart by their number in the output, which is their sample's: each has one request."""
    if arguments.kind not in _OPTIONS["custom_id"] or len(own) != 1 or arguments.body_columns:
        return False
    return set(columns_of(arguments.custom_id)) == {SAMPLE}


def _check(arguments: Namespace) -> None:
    if arguments.out in STDOUT_DEVICES:
        arguments.out = STDOUT
    for name, kinds in _OPTIONS.items():
        if getattr(arguments, name) is not None and arguments.kind not in kinds:
            raise UsageError(f"--{name.replace('_', '-')}: not of {arguments.kind}; it is for {', '.join(kinds)}")
    named = arguments.model_name is not None or "model" in (arguments.body_columns or {})
    if arguments.kind in _OPTIONS["model_name"] and not named:
        raise UsageError("--model-name: each request names the API's model (--model is a model configuration)")
    limits = [name for name in ("max_requests", "max_bytes") if getattr(arguments, name) is not None]
    if arguments.out == STDOUT and limits:
        raise UsageError(f"--{limits[0].replace('_', '-')}: standard output can't be cut into files; name one by --out")
    if arguments.out == STDOUT and arguments.kind in ("datasets", "ray"):
        raise UsageError(
            f"--out -: {arguments.kind} isn't JSON lines; name a {'folder' if arguments.kind == 'datasets' else 'file'}"
        )


def _with_named(arguments: Namespace, keep: list[str], data: list[str]) -> list[str]:
    """Keep what other options name too, of the data's columns."""
    named = [
        *columns_of(arguments.custom_id or ""),
        *(arguments.body_columns or {}).values(),
        *(arguments.sampling_columns or {}).values(),
    ]
    named += [arguments.answer] if arguments.answer is not None else []
    out = [*keep]
    for name in named:
        if name in data and name not in out:
            out.append(name)
    return out


def _refuse_unknown_columns(arguments: Namespace, data: list[str], table: list[str]) -> None:
    """Refuse columns that are nowhere, with those that there are: of the data, not only those that are kept."""
    known = [*data, *(name for name in table if name not in data)]
    for name in columns_of(arguments.custom_id or ""):
        if name not in (*known, SAMPLE):
            remedy = did_you_mean(name, known) or f"; there are {', '.join(map(repr, known))}"
            raise UsageError(f"--custom-id: neither the data nor the prompts have a column {name!r}{remedy}")
    named = [*(arguments.body_columns or {}).values(), *(arguments.sampling_columns or {}).values()]
    for name in (*named, *([arguments.answer] if arguments.answer is not None else [])):
        if name not in known:
            remedy = did_you_mean(name, known) or f"; they have {', '.join(map(repr, data))}"
            raise render_error("missing_column", f"the data have no such column{remedy}", column=name)


def default_custom_id(schema: pa.Schema) -> str:
    """Say by what a rendered table's rows are told apart.

    Args:
        schema: of the prompts, without columns that are kept of the data: their `label` is another.

    Returns:
        A pattern.

    Example:
        >>> default_custom_id(pa.schema({"sample": pa.int64(), "label": pa.string(), "prompt": pa.string()}))
        '{sample}-{label}'

    """
    return "-".join(f"{{{name}}}" for name in (SAMPLE, "label", "turn") if name == SAMPLE or name in schema.names)


@contextmanager
def _about_the_model(arguments: Namespace) -> Iterator[None]:
    """Say what to do where the model's meta template is for texts, and has no roles for chat APIs."""
    try:
        yield
    except promptpress.TemplateError as error:
        if error.code != "missing_api_role" or arguments.output != "openai":
            raise
        raise ConfigError(
            f"{error}; this meta template is for texts: leave the model out, for a chat API has its own template,"
            " or say --output text to send its text as one message"
        ) from error


@contextmanager
def _as_options() -> Iterator[None]:
    """Say of an argument's error which option it is about."""
    try:
        yield
    except promptpress.TemplateError as error:
        if error.path in _ARGUMENTS:
            raise UsageError(f"--{error.path.replace('_', '-')}: {error.message}") from error
        raise


def _requests(job: _Job) -> str:
    arguments, limits = job.arguments, SERVICES[job.arguments.kind]
    source = BatchRequests(
        job.schema,
        model=arguments.model_name,
        body=arguments.body,
        body_columns=arguments.body_columns,
        custom_id=arguments.custom_id,
        custom_id_length=limits.custom_id_length,
        url=arguments.url or CHAT,
        prompt=job.prompt,
        form=job.form,
    )
    max_requests, max_bytes = arguments.max_requests or limits.max_requests, arguments.max_bytes or limits.max_bytes
    return _written(job, source, "requests", max_requests, max_bytes)


def _sharegpt(job: _Job) -> str:
    source = Conversations(
        job.schema,
        "conversations",
        ("from", "value"),
        SHAREGPT_ROLES,
        answer=job.arguments.answer,
        keep=job.keep,
        prompt=job.prompt,
        form=job.form,
    )
    return _written(job, source, "conversations")


def _messages_json(job: _Job) -> str:
    source = Conversations(
        job.schema,
        "messages",
        ("role", "content"),
        answer=job.arguments.answer,
        keep=job.keep,
        prompt=job.prompt,
        form=job.form,
    )
    return _written(job, source, "conversations")


def _written(job: _Job, source: LinesOf, what: str, max_lines: int | None = None, max_bytes: int | None = None) -> str:
    frame = source.frame if isinstance(source, BatchRequests) else None
    done = write_batches(job.batches(frame), job.arguments.out, source, max_lines, max_bytes)
    files = done.paths[0] if len(done.paths) == 1 else f"{len(done.paths)} files, {done.paths[0]} to {done.paths[-1]},"
    size = f"{done.bytes / 1e6:,.1f} MB" if done.bytes >= 1e6 else f"{done.bytes / 1e3:,.1f} kB"
    return f"{done.requests:,} {what.removesuffix('s') if done.requests == 1 else what}, {size}, in {files}"


def _datasets(job: _Job) -> str:
    try:
        made = datasets(job.reader, job.arguments.out, answer=job.arguments.answer, prompt=job.prompt, form=job.form)
    except (ImportError, OSError) as error:
        said = isinstance(error, ImportError) or not error.errno  # what promptpress says names the place itself
        raise OutputError(str(error) if said else f"{job.arguments.out}: {reason(error)}") from error
    return f"{len(made):,} rows in {job.arguments.out}"


def _ray(job: _Job) -> str:
    arguments = job.arguments
    out = out_format(arguments.out, None)
    if out.format not in ("parquet", "arrow"):
        raise UsageError(f"--out {arguments.out}: rows for Ray Data are .parquet or .arrow")
    rows = ray_batches(
        job.reader,
        sampling_params=arguments.sampling_params,
        sampling_columns=arguments.sampling_columns,
        prompt=job.prompt,
        form=job.form,
    )
    done = write_prompts(arguments.out, out, rows.schema, rows, None)
    return f"{done.rows:,} rows in {arguments.out}"


_WRITERS: dict[str, Callable[[_Job], str]] = {
    **dict.fromkeys(SERVICES, _requests),
    "sharegpt": _sharegpt,
    "messages-json": _messages_json,
    "datasets": _datasets,
    "ray": _ray,
}
