"""Requests as an Arrow table."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from promptpress._errors import render_error
from promptpress._lm_eval.arguments import Arguments
from promptpress._lm_eval.request_types import ArgumentsType, MetadataType
from promptpress._lm_eval.task_config import TaskConfig

__all__ = ["request_table"]


def request_table(config: TaskConfig, numbers: pa.Array, arguments: Arguments, stop: int) -> pa.Table:
    """Lay requests out as a table.

    Args:
        config: The task.
        numbers: The documents' numbers (int64).
        arguments: The requests' arguments.
        stop: Of how many documents requests are wanted; the others only take part in the random draws.

    Returns:
        The table.

    Raises:
        RenderError: If there is no request at all.

    """
    if stop < len(numbers):
        arguments = arguments.until(stop)
    count = len(arguments.rows)
    if not count:
        raise render_error("unconvertible_value", "ValueError: no document gives a request")
    documents = numbers.take(arguments.rows)
    request_type = "loglikelihood" if config.output_type == "multiple_choice" else config.output_type
    storage = pa.StructArray.from_arrays(list(arguments.fields.values()), list(arguments.fields))
    metadata = pa.StructArray.from_arrays(
        [_repeated(config.task, pa.string(), count), documents, _repeated(config.repeats, pa.int64(), count)],
        ["task", "doc_id", "repeats"],
    )
    return pa.table(
        {
            "request_type": _repeated(request_type, pa.string(), count),
            "arguments": ArgumentsType(storage.type, arguments.json_fields).wrap_array(storage),
            "idx": arguments.numbers,
            "doc_id": documents,
            "metadata": MetadataType(metadata.type).wrap_array(metadata),
        }
    )


def _repeated(value: Any, data_type: pa.DataType, count: int) -> pa.Array:
    values = pa.array([value], data_type)
    zeros = pa.Array.from_buffers(pa.int32(), count, [None, pa.py_buffer(bytes(4 * count))])
    return pa.DictionaryArray.from_arrays(zeros, values) if data_type == pa.string() else values.take(zeros)
