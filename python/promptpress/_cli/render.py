"""`promptpress render`: samples in, prompts out."""

from __future__ import annotations

import difflib
import json
import os
import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import pyarrow as pa

import promptpress
from promptpress import _compute as pc
from promptpress._cli.prompt_stream import TableSamples, is_prompt_alone, pulled, rendered, rendered_as_lines
from promptpress._cli.threads import set_threads
from promptpress._file_errors import ConfigError, UsageError
from promptpress._inputs.formats import Written
from promptpress._inputs.samples import Samples
from promptpress._outputs.background_writer import background_writer, write_or_raise
from promptpress._outputs.formats import check_compression, lines_of, open_writer
from promptpress._outputs.out_format import CompressedFile, out_format
from promptpress._outputs.output_file import STDOUT, STDOUT_DEVICES, output_file, standard_output
from promptpress._render_options import RenderOptions
from promptpress._rendered_lines import RenderedLines
from promptpress._view.visible import encodable, visible

from .configured_renderer import make_renderer
from .done import Done
from .errors import ExitCode
from .jinja_runs import Maker, RunCounts
from .jinja_sources import template_of
from .notes import held_back, tell_notes, tell_template_notes
from .progress import Progress
from .resume import Job, finish_parts, finished_parts, remember_clock
from .stamp import Stamp
from .template_option import TEMPLATE

_SKIPPED_GROUPS = "promptpress.skipped_row_groups"
_SKIPPED_ROWS = "promptpress.skipped_rows"
"""Keys of a file's metadata."""

_REMEMBERED = ("rows", "prompt_bytes", "fingerprint", "hash", "errors")
"""What a run that is resumed says again of an output that is complete."""


def render(arguments: Namespace) -> ExitCode:
    """Do what the command line says.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Returns:
        How the process ends: not as usual, where the output lacks what can't be read or rendered.

    Raises:
        FileError: when something is wrong, by kind.
        promptpress.TemplateError: when the configuration is.
        promptpress.RenderError: when the data don't fit it.

    """
    out = chosen_out_format(arguments)
    check_compression(out.format, arguments.compression)
    if not arguments.data:
        raise UsageError("--data FILE is needed: the samples, a row each")
    refuse_overwriting(arguments)
    remember_clock(arguments)
    set_threads(arguments.threads)
    with held_back(arguments) as held:
        renderer = template_of(arguments) or make_renderer(arguments)
    start = time.perf_counter()
    samples = open_samples(arguments, arguments.data)
    done = render_samples(arguments, out, renderer, samples, held)
    samples.close()
    if arguments.hashes and not arguments.quiet:
        print(f"promptpress: hash {done.hash}, fingerprint {done.fingerprint}", file=sys.stderr)
    if not arguments.quiet:
        done.tell_faults()
        print(f"promptpress: {done.summary(time.perf_counter() - start)}", file=sys.stderr)
    return done.exit_code


def open_samples(arguments: Namespace, paths: Sequence[str]) -> Samples:
    """Open the samples.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.
        paths: their files.

    Returns:
        The samples.

    Raises:
        DataError: when a file can't be read.

    """
    return Samples(
        paths,
        arguments.data_format,
        arguments.batch_size,
        arguments.limit,
        skip_corrupt=arguments.skip_corrupt,
    )


def render_samples(
    arguments: Namespace,
    out: Written,
    renderer: Maker,
    samples: Samples | TableSamples,
    held: Sequence[str],
    *,
    is_one_of_many: bool = False,
) -> Done:
    """Render samples into one file.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.
        out: how the file is written.
        renderer: what renders: a renderer, or a Jinja template.
        samples: the samples.
        held: notes that were held back while the renderer was made.
        is_one_of_many: whether a run that is resumed is to know that this file is complete.

    Returns:
        How many prompts there were.

    Raises:
        FileError: when something is wrong, by kind.
        promptpress.RenderError: when the data don't fit the configuration.

    """
    keep = keep_columns(arguments.keep, samples.schema)
    own = [*(["hash"] if arguments.hashes else []), *(["error"] if arguments.errors == "column" else [])]
    refuse_clash(renderer, samples.schema, keep, arguments.config, own)
    unnumbered = Stamp(
        renderer, renderer.output_schema(samples.schema, keep=keep), out.format, hashes=bool(arguments.hashes)
    )
    _refuse_index(arguments.index, unnumbered.schema)
    options = RenderOptions.of(keep, arguments.index, errors=arguments.errors or "raise")
    behind = len(options.fields())
    schema = _schema(renderer, samples, options)
    stamp = Stamp(renderer, schema, out.format, hashes=bool(arguments.hashes), behind=behind)
    if isinstance(renderer, promptpress.Renderer):
        tell_notes(renderer, samples.schema, arguments, held)
    else:
        tell_template_notes(renderer, samples.schema, arguments, held)
    counts = RunCounts(renderer)
    is_shown = arguments.progress or (not arguments.quiet and sys.stderr.isatty())
    job = Job(renderer, samples, schema, options)
    with finished_parts(arguments, job) as parts:
        if parts is not None and (known := parts.finished) is not None:
            return Done(**known, skipped=samples.skipped)
        with Progress(samples.num_rows, is_shown=is_shown) as progress:
            batches: Iterable[pa.RecordBatch | RenderedLines]
            if parts is not None:
                batches = finish_parts(parts, job, progress, counts)
            elif (
                out.format == "jsonl"
                and not arguments.print_first
                and is_prompt_alone(renderer, stamp.schema)
                and (frame := lines_of(stamp.schema, stamp.prompts).frame) is not None
            ):
                batches = pulled(rendered_as_lines(renderer, samples, progress.advance, frame), samples)
            else:
                batches = counts.counted(pulled(rendered(renderer, samples, progress.advance, options), samples))
            if arguments.print_first:
                batches = _first_printed(batches, behind, to_stderr=arguments.out == STDOUT)
            done = write_prompts(
                arguments.out,
                out,
                stamp.schema,
                stamp.stamped(batches),
                arguments.compression,
                stamp=stamp,
                has_errors=options.errors,
            )
        if parts is not None and is_one_of_many:
            parts.finish({name: getattr(done, name) for name in _REMEMBERED})
        elif parts is not None:
            parts.remove()
    done.skipped = samples.skipped
    if not arguments.quiet:
        counts.tell()
    return done


def _schema(renderer: Maker, samples: Samples | TableSamples, options: RenderOptions) -> pa.Schema:
    """The prompts' schema, which says what is left out."""
    if isinstance(renderer, promptpress.Renderer):
        schema = renderer._output_schemas.of(samples.schema, options)
    elif options.errors:
        raise UsageError("--errors column: goes with a configuration; a row of a Jinja template is an error or none")
    else:
        schema = renderer.output_schema(samples.schema, keep=options.keep, index=options.index)
    if not samples.skipped:
        return schema
    rows = sum(group.rows for group in samples.skipped)
    told = {_SKIPPED_GROUPS: str(len(samples.skipped)), _SKIPPED_ROWS: str(rows)}
    return schema.with_metadata({**(schema.metadata or {}), **told})


def write_prompts(
    path: str,
    out: Written,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch | RenderedLines],
    compression: str | None,
    *,
    prompts: int = -1,
    stamp: Stamp | None = None,
    has_errors: bool = False,
) -> Done:
    """Write prompts to a file that is there when all of them are.

    Args:
        path: the file; `-` is standard output.
        out: how it is written.
        schema: of the batches.
        batches: the prompts, as they come; as lines only where JSON lines are written.
        compression: of Parquet and Arrow.
        prompts: the number of their column; the last.
        stamp: what the file says of its making, and where the prompts are.
        has_errors: whether the last column has what is wrong with rows.

    Returns:
        How many there were.

    Raises:
        OutputError: when they can't be written.

    """
    done = Done()
    more: dict[str, Any] = {}
    if stamp is not None:
        prompts, more = stamp.prompts, {"requests": stamp.prompts, "at_end": stamp.at_end}
    with output_file(path) as file:
        packed = CompressedFile(file, out.codec) if out.codec is not None else None
        writer = open_writer(file if packed is None else packed.as_file(), out.format, schema, compression, **more)
        try:
            with background_writer(writer.write_batch) as write:
                for batch in batches:
                    done.rows += batch.num_rows
                    if isinstance(batch, RenderedLines):
                        done.prompt_bytes += batch.text_bytes
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


def _first_printed(batches: Iterable[pa.RecordBatch], behind: int, *, to_stderr: bool) -> Iterator[pa.RecordBatch]:
    is_printed = False
    for batch in batches:
        if batch.num_rows and not is_printed:
            print_first(batch.select(range(batch.num_columns - behind)), to_stderr=to_stderr)
            is_printed = True
        yield batch


def chosen_out_format(arguments: Namespace) -> Written:
    """Say how `--out` is to be written.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them; other names of standard output become `-`.

    Returns:
        The format and the codec.

    Raises:
        UsageError: when neither the name nor `--out-format` says it.

    """
    if arguments.out in STDOUT_DEVICES:
        arguments.out = STDOUT
    if arguments.out != STDOUT:
        return out_format(arguments.out, arguments.out_format)
    if arguments.out_format not in (None, "jsonl", "csv"):
        raise UsageError(
            f"--out-format {arguments.out_format}: standard output is JSONL or CSV; --out names a file for others"
        )
    return Written(arguments.out_format or "jsonl", None)


def refuse_overwriting(arguments: Namespace) -> None:
    """Refuse an output that is one of the inputs.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Raises:
        UsageError: naming both.

    """
    if arguments.out == STDOUT:
        return
    out = os.path.realpath(arguments.out)
    others = [getattr(arguments, name, None) for name in ("config", "model", "jinja", "chat_template")]
    for path in (*arguments.data, *(arguments.examples or ()), *others):
        if path is None:
            continue
        same = os.path.exists(path) and os.path.exists(out) and os.path.samefile(path, out)
        if same or os.path.realpath(path) == out:
            raise UsageError(f"--out {arguments.out}: the same file as the input {path}")


def keep_columns(names: list[str] | None, schema: pa.Schema) -> list[str]:
    """Say which columns `--keep` means.

    Args:
        names: what it names; None where it isn't given.
        schema: of the samples.

    Returns:
        The names.

    Raises:
        UsageError: for a name that is no column's.

    Example:
        >>> keep_columns(["all"], pa.schema({"id": pa.int64(), "q": pa.string()}))
        ['id', 'q']

    """
    if names == ["all"] and "all" not in schema.names:
        return list(schema.names)
    for name in names or ():
        if name not in schema.names:
            close = difflib.get_close_matches(name, schema.names, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"they have {', '.join(map(repr, schema.names))}"
            raise UsageError(f"--keep {name}: the data have no such column; {hint}")
    return names or []


def refuse_clash(renderer: Maker, schema: pa.Schema, keep: list[str], config: str, behind: Sequence[str] = ()) -> None:
    """Refuse two columns of one name; what the renderer says of it is an argument's name in Python.

    Args:
        renderer: what renders.
        schema: of the samples.
        keep: the columns to keep.
        config: the configuration's file.
        behind: what the columns behind the prompts are called where nobody gives them another name.

    Raises:
        ConfigError: naming the column.

    """
    own = renderer._configuration.settings["names"] if isinstance(renderer, promptpress.Renderer) else None
    output_names = [*renderer.output_schema(schema).names, *((own or {}).get(name, name) for name in behind)]
    usual_names = {name: usual for usual, name in (own or {}).items()}
    for name in keep:
        if name in output_names:
            if not isinstance(renderer, promptpress.Renderer):
                raise ConfigError(f"--keep: the column {name!r} has the name of the output column; rename it")
            if config == TEMPLATE:
                raise ConfigError(
                    f"--keep: the column {name!r} has the name of an output column; rename it, or write the template"
                    f" into a file, with names: {{{usual_names.get(name, name)}: ...}} beside it"
                )
            raise ConfigError(
                f"--keep: the column {name!r} has the name of an output column; {config} can give that another, by"
                f" names: {{{usual_names.get(name, name)}: ...}} beside its prompt_template"
                " (for a harness's dataset: rename the column)"
            )


def _refuse_index(name: str | None, schema: pa.Schema) -> None:
    """Refuse an index that would be another column's namesake."""
    if name is None:
        return
    is_name = bool(name) and "\0" not in name and name == name.encode("utf-8", "replace").decode()
    if not is_name or name in schema.names:
        if not is_name:
            raise UsageError(f"--index: {name!r} is no name for a column; give another, such as --index sample")
        taken = ", ".join(map(repr, schema.names))
        raise UsageError(f"--index {name}: is the name of a column of the output, which has {taken}; give another")


def print_first(batch: pa.RecordBatch, *, to_stderr: bool = False) -> None:
    r"""Print the first prompt as the model gets it: text as it is, messages as JSON.

    Args:
        batch: rendered rows; the last column is the prompt.
        to_stderr: where standard output carries the rows themselves.

    Example:
        >>> print_first(pa.record_batch({"prompt": ["Q: 1+1?\nA:"]}))
        Q: 1+1?
        A:

    """
    prompt = batch.column(batch.num_columns - 1)[0].as_py()
    if not isinstance(prompt, str):
        prompt = json.dumps(_compact(prompt), ensure_ascii=False, indent=2, default=str)
    with nullcontext(sys.stderr) if to_stderr else standard_output() as stream:
        # Elsewhere than at a terminal a prompt goes out as it is, to be read by programs.
        if (sys.stderr if to_stderr else sys.stdout).isatty():
            prompt = visible(prompt)
        print(encodable(prompt, stream.encoding), file=stream)


def _compact(value: Any) -> Any:
    """Leave out what a message doesn't have; Arrow gives it as null."""
    if isinstance(value, dict):
        kept = {key: _compact(item) for key, item in value.items() if item is not None}
        return kept["prompt"] if set(kept) == {"prompt"} and len(value) > 1 else kept
    return [_compact(item) for item in value] if isinstance(value, list) else value


def text_bytes(column: pa.Array) -> int:
    """Count the bytes of text in a column, at any depth.

    Args:
        column: any Arrow array.

    Returns:
        The number of bytes.

    Example:
        >>> text_bytes(pa.array([[{"role": "user", "prompt": "é"}]]))
        6

    """
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
