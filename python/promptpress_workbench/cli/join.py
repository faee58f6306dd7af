"""`promptpress join`: joins the results of batches to the rows of their requests."""

from __future__ import annotations

import os
import time
from argparse import Namespace
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from typing import Any

import promptpress
import pyarrow as pa
from promptpress import DataError
from promptpress.engine import PREFIX_ORDER, RenderOptions, engine_of
from promptpress.engine.configs import dialect_of, missing
from promptpress.engine.errors import OutputError, UsageError, counted, reason
from promptpress.engine.tables import lazy_compute as pc
from promptpress_harness.configs.config_file import read_config
from promptpress_harness.configs.selection import all_datasets, all_models

from promptpress_workbench.cli.configurations import configuration, held_warnings, report_notes
from promptpress_workbench.cli.export import default_custom_id
from promptpress_workbench.cli.lm_eval_tasks import is_task
from promptpress_workbench.cli.options import LM_EVAL_OPTIONS, PROMPT_OPTIONS, first_given, option_name
from promptpress_workbench.cli.output import chosen_out_format, keep_columns, refuse_clash, write_prompts
from promptpress_workbench.cli.prompt_sources import open_source
from promptpress_workbench.cli.prompt_stream import rendered
from promptpress_workbench.cli.settings import Settings
from promptpress_workbench.cli.terminal import say
from promptpress_workbench.export.custom_ids import SAMPLE, columns_of
from promptpress_workbench.export.join_results import Joined, write_retry
from promptpress_workbench.export.join_results import joined as join_results
from promptpress_workbench.export.predictions import predictions
from promptpress_workbench.files.read.formats import find_files
from promptpress_workbench.files.read.samples import Samples
from promptpress_workbench.files.write.output_file import STDOUT


def join(settings: Settings, arguments: Namespace) -> None:
    """Join the results and write the rows."""
    out = chosen_out_format(settings)
    results = [file for path in arguments.results for file, _ in find_files(path, "jsonl")]
    if (arguments.requests is None) != (arguments.retry is None):
        given, missing_option = ("--retry", "--requests") if arguments.requests is None else ("--requests", "--retry")
        what = {"--requests": "the batch files that were sent", "--retry": "the file for the requests that failed"}
        raise UsageError(f"{given}: {missing_option} FILE is needed, too: {what[missing_option]}")
    inputs = (*results, arguments.table, *(settings.data or ()), *(settings.examples or ()))
    _refuse_same("--out", settings.out, inputs)
    if arguments.retry is not None:
        _refuse_same("--retry", arguments.retry, inputs)
        if os.path.realpath(arguments.retry) == os.path.realpath(settings.out):
            raise UsageError(f"--retry {arguments.retry}: the same file as --out")
    start = time.perf_counter()
    scored = _scored(settings, arguments)
    table, pattern = _table_and_pattern(settings, arguments.table, arguments.custom_id)
    try:
        options = {name: getattr(arguments, name) for name in ("choices", "raw", "prefix")}
        answered = join_results(arguments.results, table, custom_id=pattern, **options)
    except OSError as error:
        path = str(error.filename or "the results")
        raise DataError(f"{path}: {missing(path, error)}") from error
    except promptpress.TemplateError as error:
        raise UsageError(f"--custom-id: {error.message}") from error
    joined = answered.table
    write_prompts(settings.out, out, joined.schema, joined.to_batches(), settings.compression)
    retry = written = None
    if arguments.retry is not None:
        try:
            retry = write_retry(arguments.requests, arguments.retry, answered)
        except OSError as error:
            raise DataError(reason(error)) from error
    if scored is not None:
        options = {name: getattr(arguments, name) for name in ("unanswered", "prefix")}
        try:
            written = predictions(joined, arguments.predictions, **scored, **options)
        except OSError as error:
            raise OutputError(str(error)) from error
    if not settings.quiet:
        say(f"{_summary(answered, arguments.prefix)}; in {time.perf_counter() - start:.3f} s")
        if retry is not None:
            say(f"{counted(retry.requests, 'request')} to retry in {', '.join(retry.paths)}")
        if written is not None:
            say(f"predictions in {written}")


def _summary(answered: Joined, prefix: str) -> str:
    """Count the rows by their statuses, and the answers that are cut off."""
    values, numbers = pc.value_counts(answered.table[f"{prefix}status"]).flatten()
    counts = dict(zip(values.to_pylist(), numbers.to_pylist(), strict=True))
    listed = ("ok", "error", *(["refused"] if "refused" in counts else []), "missing")
    statuses = ", ".join(f"{counts.get(status, 0):,} {status}" for status in listed)
    cut = f"; {counted(answered.cut, 'answer')} cut off at the limit of tokens" if answered.cut else ""
    return f"{counted(len(answered.table), 'row')}: {statuses}{cut}"


def _refuse_same(option: str, path: str, inputs: Iterable[str]) -> None:
    """Refuse an output that is one of the inputs."""
    for other in inputs:
        if path != STDOUT and os.path.realpath(other) == os.path.realpath(path):
            raise UsageError(f"{option} {path}: the same file as the input {other}")


def _refuse_rendering(settings: Settings) -> None:
    """Refuse options of rendering if there is nothing to render: all columns and rows of a table are joined."""
    names = ("examples", "model", "dataset", "model_abbr", "keep", "limit", *PROMPT_OPTIONS, *LM_EVAL_OPTIONS)
    given = first_given(settings, names)
    if given is not None:
        raise UsageError(
            f"{given}: goes with --data, which --table's configuration renders; a table is joined as it is"
        )


def _scored(settings: Settings, arguments: Namespace) -> dict[str, Any] | None:
    """Return the dataset and the model whose predictions the answers are, as arguments of `predictions`."""
    if arguments.predictions is None:
        if arguments.unanswered is not None:
            raise UsageError("--unanswered: is a prediction; --predictions DIR writes them")
        return None
    if not settings.data or is_task(arguments.table):
        what = "; a task of lm-evaluation-harness is scored by lm_eval" if settings.data else ""
        raise UsageError(f"--predictions: are of a dataset's configuration, --table, with its --data{what}")
    selection, model = configuration(replace(settings, config=arguments.table), read_config)
    names = {}
    dataset = selection.dataset or {}
    for kind, option, of_file, path, entry in (
        ("model", "model_abbr", all_models, settings.model or arguments.table, model or {}),
        ("dataset", "dataset", all_datasets, arguments.table, dataset),
    ):
        listed = [name for name, _ in of_file(read_config(path))]
        if getattr(settings, option) is None and len(listed) > 1:
            raise UsageError(
                f"--predictions: {path} has {', '.join(listed)}; {option_name(option)} says whose they are"
            )
        if not isinstance(entry.get("abbr"), str):
            raise UsageError(f"--predictions: {path}: no {kind} with an abbr, by which the harness finds its files")
        names[kind] = entry["abbr"]
    if dataset.get("n", 1) != 1:
        raise UsageError(f"--predictions: {arguments.table}: n: the harness asks for each row {dataset['n']} times")
    gold = dataset.get("reader_cfg", {}).get("output_column")
    return {**names, "harness": settings.dialect or dialect_of(dataset, model), "gold": gold}


def _table_and_pattern(settings: Settings, path: str, custom_id: str | None) -> tuple[pa.Table, str]:
    """Return the rows of the requests, read or rendered again, and the pattern of their ids."""
    if not settings.data:
        _refuse_rendering(settings)
        with closing(Samples([path], settings.format)) as file:
            order = {key: value for key, value in file.metadata.items() if key.decode() == PREFIX_ORDER}
            table = file.table().replace_schema_metadata(order or None)
            return table, custom_id or _exported_pattern(table)
    settings = replace(settings, config=path)
    option = None if is_task(path) else first_given(settings, (*LM_EVAL_OPTIONS, "chat_template"))
    if option is not None:
        raise UsageError(f"{option}: is for tasks of lm-evaluation-harness, and {path} is none")
    with held_warnings(settings) as held:
        renderer, samples = open_source(settings, repeated=True)
    columns, output_schema = samples.schema.names, renderer.output_schema(samples.schema)
    outputs = output_schema.names
    keep = keep_columns(settings.keep, samples.schema) or [name for name in columns if name not in outputs]
    pattern = custom_id or default_custom_id(output_schema)
    # Like the export, the join may build ids from columns of the data.
    id_columns = dict.fromkeys(columns_of(pattern))
    keep += [name for name in id_columns if name in columns and name not in (*keep, *outputs)]
    refuse_clash(renderer, samples.schema, keep, settings)
    report_notes(renderer, samples.schema, settings, held)
    options = RenderOptions.of(keep, None if SAMPLE in (*keep, *outputs) else SAMPLE)
    batches = list(rendered(renderer, samples, lambda _: None, options))
    samples.close()
    return pa.Table.from_batches(batches, engine_of(renderer).output_schema(samples.schema, options)), pattern


def _exported_pattern(table: pa.Table) -> str:
    """Return the default pattern of export; if each sample has one row, a column `label` belongs to the data."""
    try:
        is_unique = SAMPLE not in table.column_names or (
            pc.count_distinct(table[SAMPLE], mode="all").as_py() == len(table)
        )
    except pa.ArrowNotImplementedError:  # nested types
        is_unique = False
    return f"{{{SAMPLE}}}" if is_unique else default_custom_id(table.schema)
