"""`promptpress render`: samples in, prompts out."""

from __future__ import annotations

import difflib
import json
import os
import re
import sys
import time
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import promptpress
from promptpress import _core

from .. import _compute as pc
from .config_file import Config, read_config
from .errors import ConfigError, DataError, OutputError, UsageError, reason
from .notes import held_back, tell_notes
from .output_file import STDOUT, STDOUT_DEVICES, Writer, check_compression, open_writer, output_file, standard_output
from .progress import Progress
from .samples import Samples, format_of
from .selection import Selection, choose_dataset, choose_model

_OVERRIDES = ("output", "mode", "labels", "substitution", "dialect", "strings")
_NUMBER = re.compile(r"\+?[0-9]{1,9}")
_MAX_THREADS = 1024
_INFER_PARTS = ("prompt_template", "ice_template", "retriever", "inferencer")


@dataclass
class Done:
    """What has been rendered so far.

    Example:
        >>> Done(rows=1000, prompt_bytes=250_000).summary(0.5)
        '1,000 rows, 250.0 kB of prompts in 0.500 s: 2,000 rows/s, 0.001 GB/s'

    """

    rows: int = 0
    prompt_bytes: int = 0

    def summary(self, seconds: float) -> str:
        """Say in one line what was done.

        Args:
            seconds: how long it took.

        Returns:
            The line.

        """
        size, unit = float(self.prompt_bytes), "B"
        for unit in ("B", "kB", "MB", "GB"):
            if size < 1000 or unit == "GB":
                break
            size /= 1000
        shown = f"{size:.1f} {unit}" if unit != "B" else f"{self.prompt_bytes} B"
        per_second = self.rows / seconds if seconds else 0.0
        rate = self.prompt_bytes / seconds / 1e9 if seconds else 0.0
        return f"{self.rows:,} rows, {shown} of prompts in {seconds:.3f} s: {per_second:,.0f} rows/s, {rate:.3f} GB/s"


def render(arguments: Namespace) -> None:
    """Do what the command line says.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Raises:
        CommandError: when something is wrong, by kind.
        promptpress.TemplateError: when the configuration is.
        promptpress.RenderError: when the data don't fit it.

    """
    out_kind = _out_kind(arguments)
    check_compression(out_kind, arguments.compression)
    _refuse_overwriting(arguments)
    _set_threads(arguments.threads)
    with held_back(arguments) as held:
        renderer = make_renderer(arguments)
    start = time.perf_counter()
    samples = Samples(arguments.data, arguments.data_format, arguments.batch_size, arguments.limit)
    keep = _keep_columns(arguments.keep, samples.schema)
    _refuse_clash(renderer, samples.schema, keep, arguments.config)
    schema = renderer.output_schema(samples.schema, keep=keep)
    tell_notes(renderer, samples.schema, arguments, held)
    done = Done()
    shown = arguments.progress or (not arguments.quiet and sys.stderr.isatty())
    with output_file(arguments.out) as file, Progress(samples.num_rows, shown=shown) as progress:
        stream = _rendered(renderer, samples, progress, keep)
        writer = open_writer(file, out_kind, schema, arguments.compression)
        try:
            with written_meanwhile(writer) as write:
                for batch in _pulled(stream, samples):
                    if arguments.print_first and not done.rows and batch.num_rows:
                        print_first(batch, to_stderr=arguments.out == STDOUT)
                    done.rows += batch.num_rows
                    done.prompt_bytes += text_bytes(batch.column(batch.num_columns - 1))
                    write(batch)
            _written(writer.close)
        except BaseException:
            writer.abandon()
            raise
    samples.close()
    if not arguments.quiet:
        print(f"promptpress: {done.summary(time.perf_counter() - start)}", file=sys.stderr)


def _out_kind(arguments: Namespace) -> str:
    if arguments.out in STDOUT_DEVICES:
        arguments.out = STDOUT
    if arguments.out != STDOUT:
        return format_of(arguments.out, arguments.out_format, "--out-format")
    if arguments.out_format not in (None, "jsonl"):
        raise UsageError(
            f"--out-format {arguments.out_format}: standard output is JSONL; --out names a file for others"
        )
    return "jsonl"


def _set_threads(asked: int | None) -> None:
    if asked is not None:
        try:
            promptpress.set_threads(asked)
        except ValueError as error:
            raise UsageError(f"--threads: {reason(error)}") from error
        pa.set_cpu_count(asked)
        return
    given = os.environ.get("PROMPTPRESS_THREADS", "").strip()
    number = int(given) if _NUMBER.fullmatch(given) else 0
    if given and not 1 <= number <= _MAX_THREADS:
        used = f"{_core.threads()} may be used"
        text = f"PROMPTPRESS_THREADS={given}: not a whole number from 1 to {_MAX_THREADS}; {used}"
        warnings.warn(text, UserWarning, stacklevel=2)


def make_renderer(arguments: Namespace) -> promptpress.Renderer:
    """Make the renderer that the configuration files and options describe.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Returns:
        The renderer.

    Raises:
        ConfigError: when a file can't be read, or holds nothing of the kind.
        promptpress.TemplateError: when the configuration is wrong.

    """
    chosen, model = configuration(arguments)
    options: dict[str, Any] = {n: getattr(arguments, n) for n in _OVERRIDES if getattr(arguments, n) is not None}
    if arguments.examples:
        options["examples"] = Samples(arguments.examples, None).table()
    try:
        return _made(chosen, model, options)
    except promptpress.TemplateError as error:
        found = f"{error.path}: {error.message.partition('; ')[0]}"  # without what to do in Python
        if error.code == "missing_examples" and not arguments.examples:
            raise ConfigError(f"{found}; --examples FILE gives the rows, usually the train split") from error
        if error.code == "missing_output_column":
            raise ConfigError(
                f"{arguments.config}: {found}; name it there, by reader: {{output_column: ...}}, a dataset's reader_cfg"
            ) from error
        raise


def _made(chosen: Selection, model: Mapping[str, Any] | None, options: Mapping[str, Any]) -> promptpress.Renderer:
    if chosen.dataset is not None:
        return promptpress.Renderer.from_config(chosen.dataset, model, **options)
    given = dict(chosen.arguments or {})
    if model is None:
        return promptpress.Renderer(**{**given, **options})
    infer = {name: given.pop(name) for name in _INFER_PARTS if name in given}
    dataset = {"reader_cfg": given.pop("reader", None), "infer_cfg": infer}
    return promptpress.Renderer.from_config(dataset, model, **{**given, **options})


def configuration(
    arguments: Namespace,
    read: Callable[[str], Config] = read_config,
    *,
    dataset: Selection | None = None,
    model: Mapping[str, Any] | None = None,
) -> tuple[Selection, Mapping[str, Any] | None]:
    """Read the dataset and the model that the command line means.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.
        read: what reads a configuration file.
        dataset: the dataset, where it is chosen already.
        model: the model, likewise.

    Returns:
        What the renderer is made of, and the model's dict.

    Raises:
        CommandError: when a file can't be read, holds nothing of the kind, or holds several.

    """
    config = read(arguments.config)
    chosen = choose_dataset(config, arguments.dataset) if dataset is None else dataset
    return chosen, _model(arguments, config, chosen, read) if model is None else model


def _model(
    arguments: Namespace, config: Config, chosen: Selection, read: Callable[[str], Config]
) -> Mapping[str, Any] | None:
    own = chosen.arguments is not None and chosen.arguments.get("meta_template") is not None
    if arguments.model is None:
        # A harness's job file names its models beside its datasets.
        has_models = isinstance(config.value, Mapping) and "models" in config.value
        return choose_model(config, arguments.model_abbr) if has_models or arguments.model_abbr else None
    if own:
        raise ConfigError(f"{arguments.config}: has a meta_template of its own, so --model has nothing to add")
    model = choose_model(read(arguments.model), arguments.model_abbr)
    if model is None:
        raise ConfigError(f"{arguments.model}: holds no model (a list 'models', a model dict or a meta_template)")
    return model


def _refuse_overwriting(arguments: Namespace) -> None:
    if arguments.out == STDOUT:
        return
    out = os.path.realpath(arguments.out)
    for path in (*arguments.data, *(arguments.examples or ()), arguments.config, arguments.model):
        if path is None:
            continue
        same = os.path.exists(path) and os.path.exists(out) and os.path.samefile(path, out)
        if same or os.path.realpath(path) == out:
            raise UsageError(f"--out {arguments.out}: the same file as the input {path}")


def _keep_columns(names: list[str] | None, schema: pa.Schema) -> list[str]:
    if names == ["all"] and "all" not in schema.names:
        return list(schema.names)
    for name in names or ():
        if name not in schema.names:
            close = difflib.get_close_matches(name, schema.names, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"they have {', '.join(map(repr, schema.names))}"
            raise UsageError(f"--keep {name}: the data have no such column; {hint}")
    return names or []


def _refuse_clash(renderer: promptpress.Renderer, schema: pa.Schema, keep: list[str], config: str) -> None:
    """Refuse two columns of one name; what the renderer says of it is an argument's name in Python."""
    own = renderer.output_schema(schema).names
    asked = {name: usual for usual, name in (renderer._configuration.settings["names"] or {}).items()}
    for name in keep:
        if name in own:
            raise ConfigError(
                f"--keep: the column {name!r} has the name of an output column; {config} can give that another, by"
                f" names: {{{asked.get(name, name)}: ...}} beside its prompt_template"
                " (for a harness's dataset: rename the column)"
            )


def _rendered(
    renderer: promptpress.Renderer, samples: Samples, progress: Progress, keep: list[str]
) -> pa.RecordBatchReader:
    """Render as a stream; or at once where the configuration depends on all rows, such as labels of a column."""
    try:
        return renderer.stream(samples.reader(progress.advance), keep=keep)
    except promptpress.TemplateError:
        return renderer.render(samples.table(), keep=keep).to_reader()


def _pulled(stream: pa.RecordBatchReader, samples: Samples) -> Iterator[pa.RecordBatch]:
    """Give the rendered batches; what went wrong while reading is raised as itself."""
    while True:
        try:
            batch = stream.read_next_batch()
        except StopIteration:
            return
        except Exception as error:
            if samples.error is not None:
                raise samples.error from None
            if isinstance(error, (promptpress.RenderError, promptpress.TemplateError)):
                raise
            if isinstance(error, (pa.ArrowException, OSError, ValueError)):
                raise DataError(reason(error)) from error  # Arrow's C stream hands errors on as text
            raise
        yield batch


@contextmanager
def written_meanwhile(writer: Writer) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Write each batch in a thread of its own while the next one is read and rendered.

    At most one batch is being written, and one waits to be. Rendering stays with the thread that asks, since signals
    reach the main one alone.

    Args:
        writer: what writes.

    Yields:
        What takes a batch; it raises what went wrong with an earlier one. When the block ends, all are written.

    Raises:
        OutputError: when Arrow can't write a batch.

    Example:
        >>> class Print:
        ...     def write_batch(self, batch):
        ...         print(batch)
        >>> with written_meanwhile(Print()) as write:
        ...     write("a batch")
        a batch

    """
    coming: Future[None] | None = None

    def write(batch: pa.RecordBatch) -> None:
        nonlocal coming
        if coming is not None:
            coming.result()
        coming = thread.submit(_written, writer.write_batch, batch)

    with ThreadPoolExecutor(1, "promptpress-writer") as thread:
        yield write
        if coming is not None:
            coming.result()


def _written(write: Any, *arguments: Any) -> None:
    try:
        write(*arguments)
    except OSError:
        raise  # told by output_file
    except pa.ArrowException as error:
        raise OutputError(reason(error)) from error


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
        encoding = stream.encoding or "utf-8"
        print(prompt.encode(encoding, "backslashreplace").decode(encoding), file=stream)


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
