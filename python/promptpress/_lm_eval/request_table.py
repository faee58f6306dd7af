"""Requests as an Arrow table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from promptpress._errors import render_error
from promptpress._lm_eval.columns import values
from promptpress._lm_eval.documents import Documents
from promptpress._lm_eval.python_values import to_json
from promptpress._lm_eval.request_types import ArgumentsType, MetadataType
from promptpress._lm_eval.task import Task

__all__ = ["request_table"]


def request_table(
    task: Task, documents: Documents, numbers: list[int], contexts: list[Any], chat: bool, stop: int
) -> pa.Table:
    kind = task.config.output_type
    config = task.config
    request_type = "loglikelihood" if kind == "multiple_choice" else kind
    rows: list[tuple[tuple, int, int]] = []
    if kind == "generate_until":
        arguments = [(context, config.generation_kwargs) for context in contexts]
        items = [(a, 0, n) for a, n in zip(arguments, numbers)][:stop]
    elif kind == "loglikelihood":
        items = [((c, t), 0, n) for c, t, n in zip(contexts, values(task.target(documents)), numbers)][:stop]
    elif kind == "loglikelihood_rolling":
        items = [((t,), 0, n) for t, n in zip(values(task.target(documents)), numbers)][:stop]
    else:
        items = []
        delimiter = config.target_delimiter
        if chat and not (config.gen_prefix and not config.gen_prefix[-1].isspace()):
            delimiter = ""
        choices = values(task.choices(documents))
        targets = values(task.target(documents)) if task.several_inputs else [None] * len(documents)
        for i in range(len(documents)):
            try:
                if task.several_inputs:
                    args = [(c, f"{delimiter}{targets[i]}") for c in contexts[i]]
                else:
                    args = [(contexts[i], f"{delimiter}{c}") for c in choices[i]]
                if config.mutual_information:
                    args += [("", f"{delimiter}{c}") for c in choices[i]]
            except Exception as error:
                raise documents.raised(error, i) from error
            if i < stop:
                items += [(a, k, numbers[i]) for k, a in enumerate(args)]
    if not items:
        raise render_error("unconvertible_value", "ValueError: no requests")
    names = {
        "generate_until": ("context", "generation_kwargs"),
        "loglikelihood": ("context", "target"),
        "loglikelihood_rolling": ("target",),
        "multiple_choice": ("context", "continuation"),
    }[kind]
    json_fields = []
    arrays = []
    for at, name in enumerate(names):
        vals = [a[at] for a, _, _ in items]
        if not all(isinstance(v, str) for v in vals):
            json_fields.append(name)
            vals = [to_json(v) for v in vals]
        arrays.append(pa.array(vals, pa.large_string()))
    storage = pa.StructArray.from_arrays(arrays, list(names))
    args_type = ArgumentsType(storage.type, tuple(json_fields))
    n = len(items)
    metadata = pa.StructArray.from_arrays(
        [pa.array([config.task] * n, pa.string()), pa.array([d for _, _, d in items], pa.int64()), pa.array([config.repeats] * n, pa.int64())],
        ["task", "doc_id", "repeats"],
    )
    return pa.table(
        {
            "request_type": pa.array([request_type] * n),
            "arguments": pa.ExtensionArray.from_storage(args_type, storage),
            "idx": pa.array([k for _, k, _ in items], pa.int64()),
            "doc_id": pa.array([d for _, _, d in items], pa.int64()),
            "metadata": pa.ExtensionArray.from_storage(MetadataType(metadata.type), metadata),
        }
    )
