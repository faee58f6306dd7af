"""`promptpress join`: results of batches beside the rows that were asked."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace

import pyarrow as pa

import promptpress
from promptpress import _compute as pc
from promptpress._cli.configured_renderer import make_renderer
from promptpress._cli.export import default_custom_id
from promptpress._cli.notes import held_back, tell_notes
from promptpress._cli.render import chosen_out_format, keep_columns, refuse_clash, write_prompts
from promptpress._cli.threads import set_threads
from promptpress._export.custom_ids import SAMPLE, columns_of
from promptpress._export.join_results import join as join_results
from promptpress._file_errors import DataError, UsageError, reason
from promptpress._inputs.found_files import found_files
from promptpress._inputs.samples import Samples
from promptpress._outputs.formats import check_compression
from promptpress._outputs.output_file import STDOUT
from promptpress._places import missing


def join(arguments: Namespace) -> None:
    """Do what the command line says.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Raises:
        FileError: when something is wrong, by kind.
        promptpress.TemplateError: when the configuration is.
        promptpress.RenderError: when the data don't fit it, or a line is no result.

    """
    out = chosen_out_format(arguments)
    check_compression(out.format, arguments.compression)
    _refuse_overwriting(arguments)
    set_threads(arguments.threads)
    start = time.perf_counter()
    table, pattern = _table_and_pattern(arguments)
    try:
        joined = join_results(
            arguments.results,
            table,
            custom_id=pattern,
            choices=arguments.choices,
            raw=arguments.raw,
            prefix=arguments.prefix,
        )
    except OSError as error:
        path = str(error.filename or "the results")
        raise DataError(f"{path}: {missing(path, error)}") from error
    except promptpress.TemplateError as error:
        raise UsageError(f"--custom-id: {error.message}") from error
    write_prompts(arguments.out, out, joined.schema, joined.to_batches(), arguments.compression)
    if not arguments.quiet:
        counts = dict(
            zip(
                *(column.to_pylist() for column in pc.value_counts(joined[f"{arguments.prefix}status"]).flatten()),
                strict=True,
            )
        )
        told = ", ".join(f"{counts.get(word, 0):,} {word}" for word in ("ok", "error", "missing"))
        print(f"promptpress: {len(joined):,} rows: {told}; in {time.perf_counter() - start:.3f} s", file=sys.stderr)


def _refuse_overwriting(arguments: Namespace) -> None:
    results = [found for path in arguments.results for found, _ in found_files(path, "jsonl")]
    for path in (*results, arguments.table, *(arguments.data or ()), *(arguments.examples or ())):
        if arguments.out != STDOUT and os.path.realpath(path) == os.path.realpath(arguments.out):
            raise UsageError(f"--out {arguments.out}: the same file as the input {path}")


def _table_and_pattern(arguments: Namespace) -> tuple[pa.Table, str]:
    """Read the rows that were asked, or render them again; and say by which ids."""
    if not arguments.data:
        samples = Samples([arguments.table], arguments.data_format)
        try:
            table = samples.table()
            return table, arguments.custom_id or _pattern_of(table)
        finally:
            samples.close()
    arguments.config = arguments.table
    with held_back(arguments) as held:
        renderer = make_renderer(arguments)
    samples = Samples(arguments.data, arguments.data_format, limit=arguments.limit)
    own = renderer.output_schema(samples.schema).names
    keep = keep_columns(arguments.keep, samples.schema) or [name for name in samples.schema.names if name not in own]
    pattern = arguments.custom_id or default_custom_id(renderer.output_schema(samples.schema))
    # Ids are of the data's own columns where export took them from there.
    named = dict.fromkeys(columns_of(pattern))
    keep += [name for name in named if name in samples.schema.names and name not in (*keep, *own)]
    refuse_clash(renderer, samples.schema, keep, arguments.config)
    tell_notes(renderer, samples.schema, arguments, held)
    index = None if SAMPLE in (*keep, *own) else SAMPLE
    try:
        return renderer.render(samples.table(), keep=keep, index=index), pattern
    except OSError as error:
        raise DataError(reason(error)) from error
    finally:
        samples.close()


def _pattern_of(table: pa.Table) -> str:
    """Say by what export told the rows of a table apart: a `label` may be the data's own, and one row a sample has."""
    if SAMPLE not in table.column_names or _is_unique(table[SAMPLE]):
        return f"{{{SAMPLE}}}"
    return default_custom_id(table.schema)


def _is_unique(column: pa.ChunkedArray) -> bool:
    try:
        return bool(pc.count_distinct(column, mode="all").as_py() == len(column))
    except pa.ArrowNotImplementedError:  # nested types
        return False
