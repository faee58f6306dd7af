"""`promptpress render TASK.yaml`: writes the requests of a task of lm-evaluation-harness."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from promptpress import ConfigError
from promptpress.engine.errors import UsageError

from promptpress_workbench.cli.render.render import chosen_out_format, print_first, refuse_overwriting, write_prompts
from promptpress_workbench.cli.shell.errors import say
from promptpress_workbench.cli.shell.options import format_of, option_name
from promptpress_workbench.cli.sources.jinja_sources import chat_template
from promptpress_workbench.cli.sources.lm_eval_tasks import refuse_others
from promptpress_workbench.cli.sources.lm_eval_yaml import Function, read_task
from promptpress_workbench.files.read.samples import Samples, example_rows
from promptpress_workbench.files.write.formats import check_compression
from promptpress_workbench.files.write.output_file import STDOUT

_BATCH_ROWS = 4096
_ARGUMENTS = 1
_KEYS_WITHOUT_EFFECT = ("process_results", "filter_list", "metric_list", "metadata", "doc_to_decontamination_query")
"""Keys of a task that don't affect requests, and may hold functions."""


def render_lm_eval(arguments: Namespace) -> None:
    """Render the requests of a task and write them."""
    refuse_others(arguments)
    for name in ("errors", "skip_corrupt"):
        if getattr(arguments, name):
            raise UsageError(f"{option_name(name)}: not of a task of lm-evaluation-harness, whose rows belong together")
    out = chosen_out_format(arguments)
    check_compression(out.format, arguments.compression)
    if out.format == "csv":
        raise UsageError(f"--out {arguments.out}: requests have several fields; write Parquet, Arrow or JSONL")
    if not arguments.data:
        raise UsageError("--data FILE is needed: the documents of the split that is evaluated, a row each")
    refuse_overwriting(arguments)
    start = time.perf_counter()
    config = read_task(arguments.config)
    for part in (config, config.get("fewshot_config")):
        if not isinstance(part, dict):
            continue
        if arguments.processed_docs:
            part.pop("process_docs", None)
        elif isinstance(part.get("process_docs"), Function):
            raise ConfigError(
                f"{arguments.config}: process_docs: it is a function, which is never called here; "
                "--processed-docs says that --data, and --examples, hold what it returns"
            )
    table = _requests(arguments, config)
    schema = pa.schema([(field.name, _plain(pa.nulls(0, field.type)).type) for field in table.schema])
    if arguments.print_first:
        first = next(_plain_batches(table.slice(0, 1), schema))
        print_first(first.select([_ARGUMENTS]), to_stderr=arguments.out == STDOUT)
    batches = _plain_batches(table, schema)
    done = write_prompts(arguments.out, out, schema, batches, arguments.compression, prompts=_ARGUMENTS)
    if not arguments.quiet:
        say(done.summary(time.perf_counter() - start))


def _requests(arguments: Namespace, config: dict[str, Any]) -> pa.Table:
    try:
        import jinja2  # noqa: F401, PLC0415 - an extra
    except ImportError:
        raise ConfigError(
            f"{arguments.config}: a task's templates need Jinja2: pip install 'promptpress[jinja]'"
        ) from None
    from promptpress import lm_eval  # noqa: PLC0415 - needs Jinja2

    task = {
        key: value for key, value in config.items() if not (isinstance(value, Function) and key in _KEYS_WITHOUT_EFFECT)
    }
    samples = Samples(arguments.data, format_of(arguments), harness_types="all")
    options: dict[str, Any] = {} if arguments.seed is None else {"seed": arguments.seed}
    table = lm_eval.requests(
        task,
        samples.table(),
        example_rows(arguments.examples, format_of(arguments), harness_types="all"),
        num_fewshot=arguments.num_fewshot,
        system_instruction=arguments.system_instruction,
        chat_template=None if arguments.chat_template is None else chat_template(arguments),
        fewshot_as_multiturn=bool(arguments.fewshot_as_multiturn),
        limit=arguments.limit,
        **options,
    )
    samples.close()
    return table


def _plain_batches(table: pa.Table, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the requests in types that all readers support, with dictionaries decoded."""
    for batch in table.to_batches(_BATCH_ROWS):
        yield pa.RecordBatch.from_arrays([_plain(column) for column in batch.columns], schema=schema)


def _plain(array: pa.Array) -> pa.Array:
    if isinstance(array.type, pa.ExtensionType):
        return _plain(array.storage)
    if pa.types.is_dictionary(array.type):
        return array.dictionary_decode()
    if pa.types.is_struct(array.type):
        names = [field.name for field in array.type]
        return pa.StructArray.from_arrays([_plain(child) for child in array.flatten()], names)
    return array
