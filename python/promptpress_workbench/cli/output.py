"""Output files of prompts: their format, columns and metadata, and the files that they may not replace."""

from __future__ import annotations

import json
import os
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import promptpress
import pyarrow as pa
from promptpress import ConfigError
from promptpress.engine import FINGERPRINT, VERSION, RenderedLines, RequestsHash, engine_of, hash_metadata
from promptpress.engine import core as _core
from promptpress.engine.errors import UsageError, close_names
from promptpress.engine.tables import lazy_compute as pc
from promptpress.engine.tables import text_bytes

from promptpress_workbench.cli.run_counts import AnyRenderer, Done
from promptpress_workbench.cli.settings import Settings
from promptpress_workbench.files.write.formats import OUT_FORMATS, FileFormat, check_compression, out_format
from promptpress_workbench.files.write.output_file import (
    STDOUT,
    CompressedFile,
    is_stream,
    output_file,
    standard_output,
)
from promptpress_workbench.files.write.writers import open_writer, takes_metadata_at_end
from promptpress_workbench.prompts.escapes import encodable, visible
from promptpress_workbench.threads import background_writer, write_or_raise

_HASH_COLUMN = "hash"
_HASH_BYTES = 16


def chosen_out_format(settings: Settings) -> FileFormat:
    """Return the format of `--out`, and check `--compression`."""
    kind = settings.out_format
    if settings.out != STDOUT and not is_stream(settings.out):
        chosen = out_format(settings.out, kind)
    elif settings.out == STDOUT and kind is not None and not OUT_FORMATS[kind].is_text:
        raise UsageError(f"--out-format {kind}: standard output is JSONL or CSV; --out names a file for others")
    else:
        chosen = FileFormat(kind or "jsonl", None)
    check_compression(chosen.format, settings.compression)
    return chosen


def refuse_overwriting(settings: Settings) -> None:
    """Refuse an output that is one of the inputs."""
    if settings.out == STDOUT:
        return
    out = os.path.realpath(settings.out)
    others = (settings.config, settings.model, settings.jinja, settings.chat_template)
    for path in (*(settings.data or ()), *(settings.examples or ()), *others):
        if path is None:
            continue
        is_same = os.path.exists(path) and os.path.exists(out) and os.path.samefile(path, out)
        if is_same or os.path.realpath(path) == out:
            raise UsageError(f"--out {settings.out}: the same file as the input {path}")


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
    renderer: AnyRenderer, schema: pa.Schema, keep: list[str], settings: Settings, added: Sequence[str] = ()
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
            if settings.template is not None:
                raise ConfigError(
                    f"--keep: the column {name!r} has the name of an output column; rename it, or write the template"
                    f" into a file, with names: {{{usual_names.get(name, name)}: ...}} next to it"
                )
            raise ConfigError(
                f"--keep: the column {name!r} has the name of an output column; {settings.config} can give that"
                f" another, by names: {{{usual_names.get(name, name)}: ...}} next to its prompt_template"
                " (for a harness's dataset: rename the column)"
            )


class Stamp:
    """Adds metadata to a rendered file, and with `hashes` a column with the hash of each prompt.

    `schema` is that of the rendered batches, in which `columns_after` columns follow the prompts.
    """

    def __init__(
        self, renderer: AnyRenderer, schema: pa.Schema, kind: str, *, hashes: bool, columns_after: int = 0
    ) -> None:
        self._is_text = OUT_FORMATS[kind].is_text
        has_total = engine_of(renderer).token_counts is None and (hashes or takes_metadata_at_end(kind))
        self._is_json = engine_of(renderer).writes_json
        self._total = RequestsHash(self._is_json) if has_total else None
        self._adds_column = hashes
        self.fingerprint = engine_of(renderer).fingerprint()
        self.prompts = (-2 if hashes else -1) - columns_after
        self._index = len(schema) - columns_after
        fields = list(schema)
        if hashes:
            name = engine_of(renderer).names.get(_HASH_COLUMN, _HASH_COLUMN)
            if name in schema.names:
                raise ConfigError(
                    f"--hashes: another column is called {name!r}, too; rename one, by names: {{hash: ...}}"
                )
            fields.insert(self._index, pa.field(name, pa.string() if self._is_text else pa.binary(_HASH_BYTES)))
        metadata = {**(schema.metadata or {}), FINGERPRINT: self.fingerprint, VERSION: promptpress.__version__}
        self.schema: pa.Schema = pa.schema(fields, None if self._is_text else metadata)

    def stamped(self, batches: Iterable[pa.RecordBatch | RenderedLines]) -> Iterator[pa.RecordBatch | RenderedLines]:
        """Yield the rendered batches with the file's schema, and hash their prompts."""
        for batch in batches:
            if isinstance(batch, RenderedLines):
                yield batch
                continue
            columns = batch.columns
            if self._total is not None:
                self._total.update(columns[self._index - 1])
                if self._adds_column:
                    hashes = _core.request_hashes(columns[self._index - 1], self._is_json)
                    columns.insert(self._index, _digits(hashes) if self._is_text else hashes)
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)

    @property
    def hash(self) -> str | None:
        """The hash of all requests so far; None if they aren't hashed."""
        return None if self._total is None else self._total.hexdigest()

    def at_end(self) -> Mapping[str, str]:
        """Return the metadata that depends on all requests, for the end of the file."""
        return {} if self._total is None else hash_metadata(self._total)


def _digits(hashes: pa.Array) -> pa.Array:
    """Return the hexadecimal digits of hashes."""
    start, size = hashes.offset * _HASH_BYTES, len(hashes) * _HASH_BYTES
    data = hashes.buffers()[1].slice(start, size).to_pybytes().hex().encode()
    ends = array("i", range(0, len(data) + 1, 2 * _HASH_BYTES))
    digits = pa.StringArray.from_buffers(len(hashes), pa.py_buffer(ends), pa.py_buffer(data))
    return pc.if_else(hashes.is_valid(), digits, None) if hashes.null_count else digits


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
