"""`promptpress render TASK.yaml`: the requests of a task of lm-evaluation-harness."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from promptpress._cli.jinja_sources import chat_template
from promptpress._cli.lm_eval_options import refuse_others
from promptpress._cli.lm_eval_yaml import Function, read_task
from promptpress._cli.render import chosen_out_format, print_first, refuse_overwriting, write_prompts
from promptpress._cli.threads import set_threads
from promptpress._file_errors import ConfigError, UsageError
from promptpress._inputs.samples import Samples, example_rows
from promptpress._outputs.formats import check_compression
from promptpress._outputs.output_file import STDOUT

_BATCH_ROWS = 4096
_ARGUMENTS = 1
_READ_BY_NONE = ("process_results", "filter_list", "metric_list", "metadata", "doc_to_decontamination_query")


def render_lm_eval(arguments: Namespace) -> None:
    """Write the requests of a task.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Raises:
        FileError: when something is wrong, by kind.
        promptpress.TemplateError: when the task is, or holds what only the harness can do.
        promptpress.RenderError: when a document doesn't fit it.

    """
    refuse_others(arguments)
    for name in ("errors", "skip_corrupt"):
        if getattr(arguments, name):
            raise UsageError(
                f"--{name.replace('_', '-')}: not of a task of lm-evaluation-harness, whose rows belong together"
            )
    out = chosen_out_format(arguments)
    check_compression(out.format, arguments.compression)
    if out.format == "csv":
        raise UsageError(f"--out {arguments.out}: requests have several fields; write Parquet, Arrow or JSONL")
    if not arguments.data:
        raise UsageError("--data FILE is needed: the documents of the split that is evaluated, a row each")
    refuse_overwriting(arguments)
    set_threads(arguments.threads)
    start = time.perf_counter()
    config = read_task(arguments.config)
    if arguments.processed_docs:
        _forget_process_docs(config)
    elif any(isinstance(one.get("process_docs"), Function) for one in _with_process_docs(config)):
        raise ConfigError(
            f"{arguments.config}: process_docs: it is a function, which is never called here; "
            "--processed-docs says that --data, and --examples, hold what it returns"
        )
    table = _requests(arguments, config)
    schema, batches = _plain_schema(table.schema), _plain_batches(table)
    if arguments.print_first:
        print_first(next(_plain_batches(table.slice(0, 1))).select([_ARGUMENTS]), to_stderr=arguments.out == STDOUT)
    done = write_prompts(arguments.out, out, schema, batches, arguments.compression, prompts=_ARGUMENTS)
    if not arguments.quiet:
        print(f"promptpress: {done.summary(time.perf_counter() - start)}", file=sys.stderr)


def _requests(arguments: Namespace, config: dict[str, Any]) -> pa.Table:
    try:
        import jinja2  # noqa: F401, PLC0415 - an extra
    except ImportError:
        raise ConfigError(
            f"{arguments.config}: a task's templates need Jinja2: pip install 'promptpress[jinja]'"
        ) from None
    from promptpress import lm_eval  # noqa: PLC0415 - needs Jinja2

    kept = {key: value for key, value in config.items() if not _is_unread(key, value)}
    samples = Samples(arguments.data, arguments.data_format)
    given: dict[str, Any] = {} if arguments.seed is None else {"seed": arguments.seed}
    table = lm_eval.requests(
        kept,
        samples.table(),
        example_rows(arguments.examples, arguments.data_format),
        num_fewshot=arguments.num_fewshot,
        system_instruction=arguments.system_instruction,
        chat_template=None if arguments.chat_template is None else chat_template(arguments),
        fewshot_as_multiturn=bool(arguments.fewshot_as_multiturn),
        limit=arguments.limit,
        **given,
    )
    samples.close()
    return table


def _is_unread(key: str, value: Any) -> bool:
    """Whether a key says nothing of requests, and holds a function or what only the harness's YAML has."""
    return isinstance(value, Function) and key in _READ_BY_NONE


def _with_process_docs(config: dict[str, Any]) -> list[dict[str, Any]]:
    shots = config.get("fewshot_config")
    return [one for one in (config, shots) if isinstance(one, dict) and "process_docs" in one]


def _forget_process_docs(config: dict[str, Any]) -> None:
    for one in _with_process_docs(config):
        del one["process_docs"]


def _plain_batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """The requests in types that every reader knows; what several of them share is written out."""
    schema = _plain_schema(table.schema)
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


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema([(field.name, _plain_type(field.type)) for field in schema])


def _plain_type(data_type: pa.DataType) -> pa.DataType:
    if isinstance(data_type, pa.ExtensionType):
        return _plain_type(data_type.storage_type)
    if pa.types.is_dictionary(data_type):
        return data_type.value_type
    if pa.types.is_struct(data_type):
        return pa.struct([(field.name, _plain_type(field.type)) for field in data_type])
    return data_type
