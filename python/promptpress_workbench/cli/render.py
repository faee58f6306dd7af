"""`promptpress render` and `tokenize`, which write a file of prompts or token ids, and `fingerprint`."""

from __future__ import annotations

import json
import time
import warnings
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import promptpress
import pyarrow as pa
from promptpress import ConfigError
from promptpress.engine import RULES, SHARED, RenderedLines, RenderOptions, engine_of
from promptpress.engine.errors import UsageError

from promptpress_workbench.cli.configurations import held_warnings, make_renderer, report_notes, token_counter
from promptpress_workbench.cli.errors import ExitCode
from promptpress_workbench.cli.jinja_sources import template_of
from promptpress_workbench.cli.lm_eval_tasks import is_task
from promptpress_workbench.cli.output import (
    Stamp,
    chosen_out_format,
    keep_columns,
    print_first,
    refuse_clash,
    refuse_overwriting,
    write_prompts,
)
from promptpress_workbench.cli.prompt_sources import NO_FINGERPRINT, holds_prompts, open_source, refuse_messages
from promptpress_workbench.cli.prompt_stream import (
    Rendering,
    finish_parts,
    finished_parts,
    has_only_prompts,
    rendered,
    rendered_as_lines,
    with_clock,
)
from promptpress_workbench.cli.run_counts import AnyRenderer, Done, RunCounts, report_no_rows
from promptpress_workbench.cli.settings import Settings, token_settings
from promptpress_workbench.cli.terminal import Progress, print_error_line, say
from promptpress_workbench.files.read.samples import AnySamples
from promptpress_workbench.files.write.formats import FileFormat
from promptpress_workbench.files.write.output_file import STDOUT, standard_output
from promptpress_workbench.files.write.writers import lines_of

_SKIPPED_GROUPS = "promptpress.skipped_row_groups"
_SKIPPED_ROWS = "promptpress.skipped_rows"  # keys of a file's metadata
_NO_NUMBERS = (
    "rows are left out, and no column of the output says which are there: answers would be joined to other rows; "
    "--index sample adds their numbers, by which export and join find them"
)

_SAVED_COUNTS = ("rows", "samples", "prompt_bytes", "tokens", "fingerprint", "hash", "errors")
"""The counts of a complete output that a resumed run reports again."""


_SUMMARY_DIGITS = 6  # digits of the prompt hash in OpenCompass's summaries


def render(settings: Settings, tokens: Mapping[str, Any] | None = None) -> ExitCode:
    """Render samples with one dataset and one model; `tokens` are the arguments of `tokenize`, to encode prompts."""
    out = chosen_out_format(settings)
    refuse_overwriting(settings)
    settings = with_clock(settings)
    start = time.perf_counter()
    with held_warnings(settings) as held:
        renderer, samples = open_source(settings)
    if tokens is not None:
        refuse_messages("tokenize", renderer, samples)
    done = render_samples(settings, out, renderer, samples, held, tokens=tokens)
    samples.close()
    if not settings.quiet:
        if settings.hashes:
            say(f"hash {done.hash}, fingerprint {done.fingerprint}")
        done.report_faults()
        say(done.summary(time.perf_counter() - start))
    return done.exit_code


def tokenize(settings: Settings, arguments: Namespace) -> ExitCode:
    """Render the samples of a command line, and encode the prompts."""
    tokens = token_settings(arguments)
    if arguments.mask is not None and settings.answer is not None:
        tokens["answer"] = settings.answer
        settings = settings if settings.template is not None else replace(settings, answer=None)
    return render(settings, {"tokenizer": token_counter(arguments.tokenizer), **tokens})


def fingerprint(settings: Settings, arguments: Namespace) -> None:
    """Print the fingerprint of a configuration, and OpenCompass's prompt hash if it has one."""
    if holds_prompts(settings) or is_task(settings.config):
        raise UsageError(f"{settings.config}: {NO_FINGERPRINT}")
    digits = (template_of(settings) or make_renderer(settings)).fingerprint()
    prompt_hash = _prompt_hash(settings)
    with standard_output() as stream:
        if arguments.json:
            report = {"fingerprint": digits, "prompt_hash": prompt_hash, "rules": RULES}
            print(json.dumps({**report, "promptpress": promptpress.__version__}), file=stream)
            return
        print(f"fingerprint  {digits}", file=stream)
        if prompt_hash is not None:
            print(f"prompt hash  {prompt_hash} (OpenCompass's summaries: {prompt_hash[:_SUMMARY_DIGITS]})", file=stream)


def _prompt_hash(settings: Settings) -> str | None:
    """Return OpenCompass's hash of the dataset, or None if there is no dataset; a note tells why a hash fails."""
    from promptpress.opencompass import get_prompt_hash  # noqa: PLC0415 - for `fingerprint` only
    from promptpress_harness.configs.config_file import read_config  # noqa: PLC0415
    from promptpress_harness.configs.selection import dataset_as_read  # noqa: PLC0415

    if settings.config is None:
        return None
    try:
        dataset = dataset_as_read(read_config(settings.config), settings.dataset)
        return None if dataset is None else get_prompt_hash(dataset)
    except (ConfigError, promptpress.TemplateError, TypeError) as error:
        if not settings.quiet:
            print_error_line(f"promptpress: note: no prompt hash: {error}")
        return None


def render_samples(
    settings: Settings,
    out: FileFormat,
    renderer: AnyRenderer,
    samples: AnySamples,
    held: Sequence[str],
    *,
    is_one_of_many: bool = False,
    tokens: Mapping[str, Any] | None = None,
) -> Done:
    """Render samples into one file.

    `held` are the warnings that `held_warnings` collected while the renderer was made. If the file is one of many, its
    counts are kept for a resumed run. `tokens` are the arguments of `tokenize`, if prompts are to be encoded.
    """
    _refuse_order(settings)
    keep = keep_columns(settings.keep, samples.schema)
    added = [*(["hash"] if settings.hashes else []), *(["error"] if settings.errors == "column" else [])]
    added += SHARED if settings.shared else ()
    of_order: dict[str, Any] = {"order": settings.order, "shared": bool(settings.shared)}
    errors = settings.errors or "raise"
    options = RenderOptions.of(keep, settings.index, errors=errors, turns=settings.turns or "all", **of_order)
    writer = _writer(renderer, tokens, options)
    refuse_clash(writer, samples.schema, keep, settings, added)
    schema = writer.output_schema(samples.schema, keep=keep)
    _refuse_index(options.index, Stamp(writer, schema, out.format, hashes=bool(settings.hashes)).schema)
    columns_after = len(options.fields()) + len(engine_of(writer).shot_fields)
    schema = _schema(writer, samples, options)
    stamp = Stamp(writer, schema, out.format, hashes=bool(settings.hashes), columns_after=columns_after)
    report_notes(renderer, samples.schema, settings, held)
    counts = RunCounts(renderer)
    rendering = Rendering(writer, renderer, samples, schema, options)
    with finished_parts(settings, rendering) as parts:
        if parts is not None and (saved_counts := parts.finished) is not None:
            return Done(**saved_counts, skipped=samples.skipped, is_strict=settings.strict)
        is_continued = parts is not None and parts.rows > 0
        with Progress(settings, samples.num_rows) as progress:
            batches: Iterable[pa.RecordBatch | RenderedLines]
            if parts is not None:
                batches = finish_parts(parts, rendering, progress, counts)
            elif (
                out.format == "jsonl"
                and not options.collects_errors
                and not settings.print_first
                and has_only_prompts(writer, stamp.schema)
                and (frame := lines_of(stamp.schema, stamp.prompts).frame) is not None
            ):
                batches = rendered_as_lines(writer, samples, progress.advance, frame)
            else:
                batches = counts.counted(rendered(writer, samples, progress.advance, options))
            if settings.print_first:
                batches = _with_first_printed(batches, columns_after, to_stderr=settings.out == STDOUT)
            done = write_prompts(
                settings.out,
                out,
                stamp.schema,
                stamp.stamped(batches),
                settings.compression,
                stamp=stamp,
                has_errors=options.has_error_column,
                token_counts=engine_of(writer).token_counts,
            )
            done.samples, done.leaves_out, done.is_strict = progress.rows, options.errors == "skip", settings.strict
            if options.collects_errors and not is_continued and (run := engine_of(writer).last_run) is not None:
                done.errors, done.first_errors = run.errors.rows, run.errors.first
        if parts is not None and is_one_of_many:
            parts.finish({name: getattr(done, name) for name in _SAVED_COUNTS})
        elif parts is not None:
            parts.remove()
    done.skipped = samples.skipped
    if not settings.quiet:
        counts.report()
    report_no_rows(settings, done.samples)
    leaves_out = done.samples and (samples.chosen is not None or (done.leaves_out and done.errors))
    if leaves_out and options.index is None and not keep:
        warnings.warn(_NO_NUMBERS, promptpress.PromptWarning, stacklevel=2)
    return done


def _writer(renderer: AnyRenderer, tokens: Mapping[str, Any] | None, options: RenderOptions) -> AnyRenderer:
    """Return what makes the rows: the renderer itself, or one of each turn or of tokens."""
    if tokens is None and options.turns == "all":
        return renderer
    engine = engine_of(renderer)
    if tokens is None:
        from promptpress.engine.templates import TurnsEngine, TurnsRenderer  # noqa: PLC0415 - most runs need none

        return TurnsRenderer(TurnsEngine.of(engine))
    from promptpress.engine.tokens import TokenRenderer, token_engine  # noqa: PLC0415 - most runs render texts

    return TokenRenderer(token_engine(engine, tokens, options))


def _refuse_order(settings: Settings) -> None:
    """Refuse `--shared` without an order, and an order in a run that could be resumed."""
    if settings.shared and settings.order is None:
        raise UsageError("--shared: the columns are those of prompts in prefix order; add --order prefix")
    if settings.resume and settings.order is not None:
        raise UsageError("--order with --resume: a run is continued in the order of the samples; leave one of both out")


def _schema(renderer: AnyRenderer, samples: AnySamples, options: RenderOptions) -> pa.Schema:
    """Return the schema of the output; its metadata count the row groups that `--skip-corrupt` leaves out."""
    schema = engine_of(renderer).output_schema(samples.schema, options)
    if not samples.skipped:
        return schema
    rows = sum(group.rows for group in samples.skipped)
    counts = {_SKIPPED_GROUPS: str(len(samples.skipped)), _SKIPPED_ROWS: str(rows)}
    return schema.with_metadata({**(schema.metadata or {}), **counts})


def _with_first_printed(
    batches: Iterable[pa.RecordBatch], columns_after: int, *, to_stderr: bool
) -> Iterator[pa.RecordBatch]:
    is_printed = False
    for batch in batches:
        if batch.num_rows and not is_printed:
            print_first(batch.select(range(batch.num_columns - columns_after)), to_stderr=to_stderr)
            is_printed = True
        yield batch


def _refuse_index(name: str | None, schema: pa.Schema) -> None:
    """Refuse an index whose name is invalid or belongs to another column."""
    if name is None:
        return
    if not name or "\0" in name or name != name.encode("utf-8", "replace").decode():
        raise UsageError(f"--index: {name!r} is no name for a column; give another, such as --index sample")
    if name in schema.names:
        columns = ", ".join(map(repr, schema.names))
        raise UsageError(f"--index {name}: is the name of a column of the output, which has {columns}; give another")
