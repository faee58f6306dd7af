"""`promptpress stats`: measures the lengths, origins and duplicates of prompts."""

from __future__ import annotations

import json
import shutil
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import promptpress
import pyarrow as pa
from promptpress.engine import PromptColumn, engine_of
from promptpress.engine.errors import UsageError

from promptpress_workbench.cli.bill import bill_of, in_memory
from promptpress_workbench.cli.configurations import open_samples, report_notes, token_counter
from promptpress_workbench.cli.errors import in_options
from promptpress_workbench.cli.prompt_sources import (
    holds_prompts,
    open_source,
    prepared_ids,
    prompt_files,
    refuse_rendering,
)
from promptpress_workbench.cli.prompt_stream import reading_errors
from promptpress_workbench.cli.run_counts import RunCounts, report_no_rows
from promptpress_workbench.cli.settings import Settings
from promptpress_workbench.cli.terminal import Progress, can_encode
from promptpress_workbench.files.read.samples import AnySamples, ChosenRows
from promptpress_workbench.files.write.output_file import standard_output
from promptpress_workbench.prompts.escapes import encodable
from promptpress_workbench.statistics.bill import bill_report
from promptpress_workbench.statistics.prepared import prepared_report, prepared_statistics
from promptpress_workbench.statistics.prices import read_prices
from promptpress_workbench.statistics.statistics import BLOCKS, text_report


def stats(settings: Settings, arguments: Namespace) -> None:
    """Measure the prompts, rendered now or before, and print the statistics."""
    if holds_prompts(settings):
        prepared = open_samples(settings, prompt_files(settings), None)
        if (ids := prepared_ids(settings, prepared.schema)) is not None:
            refuse_rendering(settings)
            _print_prepared(settings, arguments, prepared, ids)
            return
        prepared.close()
    counter = None if settings.tokenizer is None else token_counter(settings.tokenizer)
    renderer, samples = open_source(settings, repeated=True)
    (column,) = engine_of(renderer).required_columns if isinstance(renderer, PromptColumn) else (None,)
    report_notes(renderer, samples.schema, settings, looks=True)
    if arguments.prices is None and arguments.expected_output is not None:
        raise UsageError("--expected-output: is for --prices FILE")
    prices = None if arguments.prices is None else read_prices(arguments.prices)
    samples = samples if prices is None else in_memory(samples)
    with Progress(settings, samples.num_rows) as progress, reading_errors(samples):
        reader = samples.reader(progress.advance)
        sources = (renderer, reader) if column is None else (reader, None)
        statistics = promptpress.stats(*sources, tokenizer=counter, column=column)
    if not settings.quiet:
        RunCounts(renderer).report()
    samples.close()
    report_no_rows(settings, progress.rows)
    if samples.chosen is not None:
        tables = {name: getattr(statistics, name) for name in ("longest", "shortest")}
        numbered = {name: _with_row_numbers(table, samples.chosen) for name, table in tables.items()}
        statistics = replace(statistics, **numbered)
    number = int if samples.chosen is None else samples.chosen.number
    statistics = replace(statistics, errors=_of_command(statistics.errors, number))
    data, bill = statistics.to_dict(), None
    if prices is not None:
        with Progress(settings, samples.num_rows) as progress:
            given = {"counter": counter, "expected_output": arguments.expected_output, "count": progress.advance}
            data["bill"] = bill = bill_of(prices, renderer, samples, **given)

    def page(width: int, is_ascii: bool) -> str:
        text = text_report(data, width, is_ascii=is_ascii)
        return text if bill is None else f"{text}\n\n{bill_report(bill, width)}"

    _print(arguments, data, page)


def _print(arguments: Namespace, data: dict[str, Any], page: Callable[[int, bool], str]) -> None:
    """Print statistics as JSON, or as a page of text of some width, in ASCII or not."""
    with standard_output() as stream:
        if arguments.json:
            print(json.dumps(data), file=stream)
            return
        encoding, width = stream.encoding or "utf-8", shutil.get_terminal_size().columns
        print(encodable(page(width, not can_encode(BLOCKS, encoding)), encoding), file=stream)


def _print_prepared(settings: Settings, arguments: Namespace, samples: AnySamples, ids_column: str) -> None:
    """Measure the rows of a prepared data set of token ids."""
    with Progress(settings, samples.num_rows) as progress, reading_errors(samples):
        statistics = prepared_statistics(samples.reader(progress.advance), ids_column)
    samples.close()
    report_no_rows(settings, progress.rows)
    _print(arguments, statistics, lambda width, is_ascii: prepared_report(statistics, width, is_ascii=is_ascii))


def _of_command(errors: pa.Table, number: Callable[[int], int]) -> pa.Table:
    """Return the kinds of errors with the numbers that their rows have in the data, and options in their texts."""
    kinds = errors.to_pylist()
    for kind in kinds:
        kind["error"], kind["first_rows"] = in_options(kind["error"]), list(map(number, kind["first_rows"]))
    return pa.Table.from_pylist(kinds, errors.schema)


def _with_row_numbers(requests: pa.Table, chosen: ChosenRows) -> pa.Table:
    """Return a table of requests with the numbers that their samples have in the data."""
    index = requests.schema.get_field_index("sample")
    samples = requests.column(index).combine_chunks()
    return requests.set_column(index, requests.schema.field(index), chosen.numbers(samples))
