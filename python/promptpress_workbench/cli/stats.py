"""`promptpress stats`: measures the lengths, origins and duplicates of prompts."""

from __future__ import annotations

import json
import shutil
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace

import promptpress
import pyarrow as pa

from promptpress_workbench.cli.configurations import make_renderer, open_samples, report_notes, token_counter
from promptpress_workbench.cli.errors import in_options
from promptpress_workbench.cli.jinja_sources import template_of
from promptpress_workbench.cli.prompt_sources import is_rendered, prompt_column_of, refuse_prompts, refuse_rendering
from promptpress_workbench.cli.prompt_stream import reading_errors
from promptpress_workbench.cli.run_counts import RendererOrTemplate, RunCounts, report_no_rows
from promptpress_workbench.cli.settings import Settings
from promptpress_workbench.cli.terminal import Progress, can_encode
from promptpress_workbench.files.read.samples import ChosenRows
from promptpress_workbench.files.write.output_file import standard_output
from promptpress_workbench.prompts.escapes import encodable
from promptpress_workbench.statistics.statistics import BLOCKS, text_report


def stats(settings: Settings, arguments: Namespace) -> None:
    """Measure the prompts, rendered now or before, and print the statistics."""
    counter = None if settings.tokenizer is None else token_counter(settings.tokenizer)
    renderer: RendererOrTemplate | None = None
    paths = settings.data or []
    if settings.config is not None and is_rendered(settings.config):
        refuse_rendering(settings)
        paths = [settings.config]
    else:
        refuse_prompts(settings)
        renderer = template_of(settings) or make_renderer(settings)
    samples = open_samples(settings, paths, renderer)
    column = prompt_column_of(settings, samples.schema) if renderer is None else None
    if renderer is not None:
        report_notes(renderer, samples.schema, settings)
    with Progress(settings, samples.num_rows) as progress, reading_errors(samples):
        reader = samples.reader(progress.advance)
        sources = (reader, None) if renderer is None else (renderer, reader)
        statistics = promptpress.stats(*sources, tokenizer=counter, column=column)
    if not (settings.quiet or renderer is None or isinstance(renderer, promptpress.Renderer)):
        RunCounts(renderer).report()
    samples.close()
    report_no_rows(settings, progress.rows)
    if samples.chosen is not None:
        tables = {name: getattr(statistics, name) for name in ("longest", "shortest")}
        numbered = {name: _with_row_numbers(table, samples.chosen) for name, table in tables.items()}
        statistics = replace(statistics, **numbered)
    number = int if samples.chosen is None else samples.chosen.number
    statistics = replace(statistics, errors=_of_command(statistics.errors, number))
    with standard_output() as stream:
        if arguments.json:
            print(json.dumps(statistics.to_dict()), file=stream)
            return
        encoding, width = stream.encoding or "utf-8", shutil.get_terminal_size().columns
        text = text_report(statistics.to_dict(), width, is_ascii=not can_encode(BLOCKS, encoding))
        print(encodable(text, encoding), file=stream)


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
