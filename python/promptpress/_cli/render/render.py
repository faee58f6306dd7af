"""`promptpress render`: renders files of samples into a file of prompts."""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import pyarrow as pa

import promptpress
from promptpress._cli.render.prompt_stream import AnySamples, has_only_prompts, rendered, rendered_as_lines
from promptpress._cli.render.resume import Rendering, finish_parts, finished_parts, remember_clock
from promptpress._cli.render.stamp import Stamp
from promptpress._cli.shell.done import Done
from promptpress._cli.shell.errors import ExitCode, report_no_rows, say
from promptpress._cli.shell.progress import Progress
from promptpress._cli.sources.configured_renderer import make_renderer, open_samples
from promptpress._cli.sources.jinja_runs import AnyRenderer, RendererOrTemplate, RunCounts
from promptpress._cli.sources.jinja_sources import template_of
from promptpress._cli.sources.notes import held_warnings, report_notes
from promptpress._cli.sources.template_option import TEMPLATE
from promptpress._engine.options import INDEX, SHARED, RenderOptions
from promptpress._engine.table_renderer import engine_of
from promptpress._errors.file_errors import ConfigError, UsageError
from promptpress._errors.suggestions import close_names
from promptpress._io.write.background_writer import background_writer, write_or_raise
from promptpress._io.write.formats import OUT_FORMATS, FileFormat, check_compression, open_writer, out_format
from promptpress._io.write.output_file import STDOUT, STDOUT_DEVICES, is_stream, output_file, standard_output
from promptpress._io.write.rendered_lines import RenderedLines
from promptpress._io.write.streams import CompressedFile
from promptpress._io.write.writers import lines_of
from promptpress._utils import lazy_compute as pc
from promptpress._utils.escapes import encodable, visible

_SKIPPED_GROUPS = "promptpress.skipped_row_groups"
_SKIPPED_ROWS = "promptpress.skipped_rows"
"""Keys of a file's metadata."""

_NO_NUMBERS = (
    "rows are left out, and no column of the output says which are there: answers would be joined to other rows; "
    "--index sample adds their numbers, by which export and join find them"
)

_SAVED_COUNTS = ("rows", "samples", "prompt_bytes", "tokens", "fingerprint", "hash", "errors")
"""The counts of a complete output that a resumed run reports again."""


def render(arguments: Namespace, tokens: Mapping[str, Any] | None = None) -> ExitCode:
    """Render samples with one dataset and one model; `tokens` are the arguments of `tokenize`, to encode prompts."""
    out = chosen_out_format(arguments)
    check_compression(out.format, arguments.compression)
    if not arguments.data:
        raise UsageError("--data FILE is needed: the samples, a row each")
    refuse_overwriting(arguments)
    remember_clock(arguments)
    with held_warnings(arguments) as held:
        renderer = template_of(arguments) or make_renderer(arguments)
    start = time.perf_counter()
    samples = open_samples(arguments, arguments.data, renderer)
    done = render_samples(arguments, out, renderer, samples, held, tokens=tokens)
    samples.close()
    if not arguments.quiet:
        if arguments.hashes:
            say(f"hash {done.hash}, fingerprint {done.fingerprint}")
        done.report_faults()
        say(done.summary(time.perf_counter() - start))
    return done.exit_code


def render_samples(
    arguments: Namespace,
    out: FileFormat,
    renderer: RendererOrTemplate,
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
    _refuse_order(arguments)
    keep = keep_columns(arguments.keep, samples.schema)
    added = [*(["hash"] if arguments.hashes else []), *(["error"] if arguments.errors == "column" else [])]
    added += SHARED if arguments.shared else ()
    if arguments.order is not None and arguments.index is None:
        arguments.index = INDEX
    options = RenderOptions.of(
        keep, arguments.index, errors=arguments.errors or "raise", order=arguments.order, shared=bool(arguments.shared)
    )
    writer: AnyRenderer = renderer
    if tokens is not None:
        from promptpress._tokens.token_engine import TokenRenderer, token_engine  # noqa: PLC0415 - most runs render

        writer = TokenRenderer(token_engine(engine_of(renderer), tokens, options))
    refuse_clash(writer, samples.schema, keep, arguments.config, added)
    schema = writer.output_schema(samples.schema, keep=keep)
    _refuse_index(arguments.index, Stamp(writer, schema, out.format, hashes=bool(arguments.hashes)).schema)
    columns_after = len(options.fields()) + len(engine_of(writer).shot_fields)
    schema = _schema(writer, samples, options)
    stamp = Stamp(writer, schema, out.format, hashes=bool(arguments.hashes), columns_after=columns_after)
    report_notes(renderer, samples.schema, arguments, held)
    counts = RunCounts(renderer)
    rendering = Rendering(writer, renderer, samples, schema, options)
    with finished_parts(arguments, rendering) as parts:
        if parts is not None and (saved_counts := parts.finished) is not None:
            return Done(**saved_counts, skipped=samples.skipped, is_strict=arguments.strict)
        is_continued = parts is not None and parts.rows > 0
        with Progress(arguments, samples.num_rows) as progress:
            batches: Iterable[pa.RecordBatch | RenderedLines]
            if parts is not None:
                batches = finish_parts(parts, rendering, progress, counts)
            elif (
                out.format == "jsonl"
                and not options.collects_errors
                and not arguments.print_first
                and has_only_prompts(writer, stamp.schema)
                and (frame := lines_of(stamp.schema, stamp.prompts).frame) is not None
            ):
                batches = rendered_as_lines(writer, samples, progress.advance, frame)
            else:
                batches = counts.counted(rendered(writer, samples, progress.advance, options))
            if arguments.print_first:
                batches = _with_first_printed(batches, columns_after, to_stderr=arguments.out == STDOUT)
            batches, compression = stamp.stamped(batches), arguments.compression
            done = write_prompts(
                arguments.out,
                out,
                stamp.schema,
                batches,
                compression,
                stamp=stamp,
                has_errors=options.has_error_column,
                token_counts=engine_of(writer).token_counts,
            )
            done.samples, done.leaves_out, done.is_strict = progress.rows, options.errors == "skip", arguments.strict
            if options.collects_errors and not is_continued and (run := engine_of(writer).last_run) is not None:
                done.errors, done.first_errors = run.errors.rows, run.errors.first
        if parts is not None and is_one_of_many:
            parts.finish({name: getattr(done, name) for name in _SAVED_COUNTS})
        elif parts is not None:
            parts.remove()
    done.skipped = samples.skipped
    if not arguments.quiet:
        counts.report()
    report_no_rows(arguments, done.samples)
    leaves_out = done.samples and (samples.chosen is not None or (done.leaves_out and done.errors))
    if leaves_out and options.index is None and not keep:
        warnings.warn(_NO_NUMBERS, promptpress.PromptWarning, stacklevel=2)
    return done


def _refuse_order(arguments: Namespace) -> None:
    """Refuse `--shared` without an order, and an order in a run that could be resumed."""
    if arguments.shared and arguments.order is None:
        raise UsageError("--shared: the columns are those of prompts in prefix order; add --order prefix")
    if arguments.resume and arguments.order is not None:
        raise UsageError("--order with --resume: a run is continued in the order of the samples; leave one of both out")


def _schema(renderer: AnyRenderer, samples: AnySamples, options: RenderOptions) -> pa.Schema:
    """Return the schema of the output; its metadata count the row groups that `--skip-corrupt` leaves out."""
    schema = engine_of(renderer).output_schema(samples.schema, options)
    if not samples.skipped:
        return schema
    rows = sum(group.rows for group in samples.skipped)
    counts = {_SKIPPED_GROUPS: str(len(samples.skipped)), _SKIPPED_ROWS: str(rows)}
    return schema.with_metadata({**(schema.metadata or {}), **counts})


def write_prompts(
    path: str,
    out: FileFormat,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch | RenderedLines],
    compression: str | None,
    *,
    prompts: int = -1,
    stamp: Stamp | None = None,
    has_errors: bool = False,
    token_counts: str | None = None,
) -> Done:
    """Write batches to a file that exists only if it is complete, and count their rows, bytes and errors.

    `prompts` is the index of the column of prompts; a stamp has its own index. `has_errors` says that the last column
    holds the errors of rows. `token_counts` is the column of the numbers of tokens, if there are no prompts.
    """
    done = Done(tokens=None if token_counts is None else 0)
    options: dict[str, Any] = {}
    if stamp is not None:
        prompts, options = stamp.prompts, {"requests": stamp.prompts, "at_end": stamp.at_end}
    with output_file(path) as file:
        packed = CompressedFile(file, out.codec) if out.codec is not None else None
        writer = open_writer(file if packed is None else packed.as_file(), out.format, schema, compression, **options)
        try:
            with background_writer(writer.write_batch) as write:
                for batch in batches:
                    done.rows += batch.num_rows
                    if isinstance(batch, RenderedLines):
                        done.prompt_bytes += batch.text_bytes
                    else:
                        if token_counts is not None and done.tokens is not None:
                            done.tokens += pc.sum(batch.column(token_counts)).as_py() or 0
                        else:
                            done.prompt_bytes += text_bytes(batch.column(prompts % batch.num_columns))
                        if has_errors:
                            done.errors += batch.num_rows - batch.column(batch.num_columns - 1).null_count
                    write(batch)
            write_or_raise(writer.close)
            if packed is not None:
                packed.finish()
        except BaseException:
            writer.abandon()
            raise
    if stamp is not None:
        done.fingerprint, done.hash = stamp.fingerprint, stamp.hash
    return done


def _with_first_printed(
    batches: Iterable[pa.RecordBatch], columns_after: int, *, to_stderr: bool
) -> Iterator[pa.RecordBatch]:
    is_printed = False
    for batch in batches:
        if batch.num_rows and not is_printed:
            print_first(batch.select(range(batch.num_columns - columns_after)), to_stderr=to_stderr)
            is_printed = True
        yield batch


def chosen_out_format(arguments: Namespace) -> FileFormat:
    """Return the format of `--out`; other names of standard output are replaced by `-`."""
    if arguments.out in STDOUT_DEVICES:
        arguments.out = STDOUT
    if is_stream(arguments.out):
        return FileFormat(arguments.out_format or "jsonl", None)
    if arguments.out != STDOUT:
        return out_format(arguments.out, arguments.out_format)
    if arguments.out_format is not None and not OUT_FORMATS[arguments.out_format].is_text:
        raise UsageError(
            f"--out-format {arguments.out_format}: standard output is JSONL or CSV; --out names a file for others"
        )
    return FileFormat(arguments.out_format or "jsonl", None)


def refuse_overwriting(arguments: Namespace) -> None:
    """Refuse an output that is one of the inputs."""
    if arguments.out == STDOUT:
        return
    out = os.path.realpath(arguments.out)
    others = [getattr(arguments, name, None) for name in ("config", "model", "jinja", "chat_template")]
    paths = [path for path in (*(arguments.data or ()), *(arguments.examples or ()), *others) if path is not None]
    for path in paths:
        is_same = os.path.exists(path) and os.path.exists(out) and os.path.samefile(path, out)
        if is_same or os.path.realpath(path) == out:
            raise UsageError(f"--out {arguments.out}: the same file as the input {path}")


def keep_columns(names: list[str] | None, schema: pa.Schema) -> list[str]:
    """Return the columns that `--keep` chooses; `all` chooses all columns, unless a column has this name."""
    if names == ["all"] and "all" not in schema.names:
        return list(schema.names)
    present = set(schema.names)
    for name in names or ():
        if name not in present:
            close = close_names(name, schema.names)
            hint = f"did you mean {close[0]!r}?" if close else f"they have {', '.join(map(repr, schema.names))}"
            raise UsageError(f"--keep {name}: the data have no such column; {hint}")
    return names or []


def refuse_clash(
    renderer: AnyRenderer,
    schema: pa.Schema,
    keep: list[str],
    config: str,
    added: Sequence[str] = (),
) -> None:
    """Refuse a kept column with the name of an output column; the renderer's error would name Python arguments.

    `added` are the usual names of the columns that options add to the output.
    """
    names = engine_of(renderer).names
    output_names = [*renderer.output_schema(schema).names, *(names.get(name, name) for name in added)]
    usual_names = {name: usual for usual, name in names.items()}
    for name in keep:
        if name in output_names:
            if not isinstance(renderer, promptpress.Renderer):
                raise ConfigError(f"--keep: the column {name!r} has the name of the output column; rename it")
            if config == TEMPLATE:
                raise ConfigError(
                    f"--keep: the column {name!r} has the name of an output column; rename it, or write the template"
                    f" into a file, with names: {{{usual_names.get(name, name)}: ...}} next to it"
                )
            raise ConfigError(
                f"--keep: the column {name!r} has the name of an output column; {config} can give that another, by"
                f" names: {{{usual_names.get(name, name)}: ...}} next to its prompt_template"
                " (for a harness's dataset: rename the column)"
            )


def _refuse_index(name: str | None, schema: pa.Schema) -> None:
    """Refuse an index whose name is invalid or belongs to another column."""
    if name is None:
        return
    if not name or "\0" in name or name != name.encode("utf-8", "replace").decode():
        raise UsageError(f"--index: {name!r} is no name for a column; give another, such as --index sample")
    if name in schema.names:
        columns = ", ".join(map(repr, schema.names))
        raise UsageError(f"--index {name}: is the name of a column of the output, which has {columns}; give another")


def print_first(batch: pa.RecordBatch, *, to_stderr: bool = False) -> None:
    """Print the first prompt, which is in the last column: a text as the model gets it, messages as JSON."""
    prompt = batch.column(batch.num_columns - 1)[0].as_py()
    if not isinstance(prompt, str):
        prompt = json.dumps(_compact(prompt), ensure_ascii=False, indent=2, default=str)
    with nullcontext(sys.stderr) if to_stderr else standard_output() as stream:
        # Only a terminal needs escapes; programs that read a pipe or a file get the prompt unchanged.
        if (sys.stderr if to_stderr else sys.stdout).isatty():
            prompt = visible(prompt)
        print(encodable(prompt, stream.encoding), file=stream)


def _compact(value: Any) -> Any:
    """Leave out the missing fields of messages, which are null in Arrow."""
    if isinstance(value, dict):
        kept = {key: _compact(item) for key, item in value.items() if item is not None}
        return kept["prompt"] if set(kept) == {"prompt"} and len(value) > 1 else kept
    return [_compact(item) for item in value] if isinstance(value, list) else value


def text_bytes(column: pa.Array) -> int:
    """Count the bytes of text in a column, also in lists and structs."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        if column.null_count == 0 and len(column):
            offsets = memoryview(column.buffers()[1]).cast("q" if pa.types.is_large_string(kind) else "i")
            return int(offsets[column.offset + len(column)] - offsets[column.offset])
        return pc.sum(pc.binary_length(column)).as_py() or 0
    if pa.types.is_string_view(kind):
        return text_bytes(column.cast(pa.large_string()))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return text_bytes(column.flatten())
    if pa.types.is_struct(kind):
        return sum(text_bytes(column.field(i)) for i in range(kind.num_fields))
    return 0
