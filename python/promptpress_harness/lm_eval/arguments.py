"""Arguments of requests as Arrow columns, with the document and the choice that each request belongs to."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa
from promptpress.engine import core as _core
from promptpress.engine.errors import render_error
from promptpress.engine.tables import lazy_compute as pc

from promptpress_harness.lm_eval.columns import Column, Constant, Lists, Texts, values
from promptpress_harness.lm_eval.contexts import Contexts
from promptpress_harness.lm_eval.documents import Documents
from promptpress_harness.lm_eval.plain_contexts import is_blank_at
from promptpress_harness.lm_eval.python_values import to_json
from promptpress_harness.lm_eval.row_numbers import as_array
from promptpress_harness.lm_eval.task import Task


@dataclass(frozen=True)
class Arguments:
    """The requests of some documents.

    Args:
        fields: The arguments by name, in order: dictionary arrays, so that a value that requests share is stored once.
        json_fields: Names of the fields that hold Python values as JSON texts.
        rows: The row of each request's document.
        numbers: The number of each request among the requests of its document.
    """

    fields: dict[str, pa.Array]
    json_fields: tuple[str, ...]
    rows: pa.Array
    numbers: pa.Array


def build_arguments(task: Task, documents: Documents, contexts: Contexts, chat: bool) -> Arguments:
    """Return the arguments of the documents' requests; continuations follow a chat without a delimiter."""
    output_type = task.config.output_type
    if output_type == "multiple_choice":
        return _choice_arguments(task, documents, contexts, chat)
    count = len(documents)
    columns: dict[str, Column] = {}
    if output_type != "loglikelihood_rolling":
        columns["context"] = Texts(contexts.texts)
        if contexts.counts is not None:
            texts = iter(contexts.texts.to_pylist())
            columns["context"] = [list(islice(texts, several)) for several in contexts.counts]
    if output_type == "generate_until":
        columns["generation_kwargs"] = Constant(task.config.generation_kwargs, count)
    else:
        columns["target"] = task.target(documents)
    fields: dict[str, pa.Array] = {}
    json_fields = []
    for name, column in columns.items():
        if isinstance(column, Texts):
            fields[name] = _dictionary(column.array)
            continue
        field_values = [column.value] if isinstance(column, Constant) else values(column)
        if not all(isinstance(value, str) for value in field_values):
            json_fields.append(name)
            field_values = documents.each(to_json, field_values)
        rows = pa.repeat(pa.scalar(0, pa.int32()), count) if isinstance(column, Constant) else None
        fields[name] = _dictionary(_text_array(field_values), rows)
    numbers = pa.repeat(pa.scalar(0, pa.int64()), count)
    return Arguments(fields, tuple(json_fields), _core.repeated_rows(0, count, 1), numbers)


def _choice_arguments(task: Task, documents: Documents, contexts: Contexts, chat: bool) -> Arguments:
    """Return a request for each choice; for mutual information, then one for each choice without context."""
    config = task.config
    prefix = config.gen_prefix
    delimiter = config.target_delimiter
    if chat and not (prefix and not prefix[-1].isspace()):
        delimiter = ""
    choices = task.choices(documents)
    if config.by_format:
        return _choice_arguments_by_format(task, documents, contexts, choices, delimiter)
    if task.several_inputs or config.mutual_information or not isinstance(choices, (Constant, Lists)):
        return _choice_arguments_one_by_one(task, documents, contexts, choices, delimiter)
    count = len(documents)
    if isinstance(choices, Constant):
        (texts,) = documents.each(lambda listed: [f"{delimiter}{choice}" for choice in listed], [choices.value])
        rows = _core.repeated_rows(0, count, len(texts))
        numbers = as_array(array("q", range(len(texts))) * count)
        continuations = _dictionary(_text_array(texts), as_array(array("i", range(len(texts))) * count))
    else:
        lists = choices.array.combine_chunks()
        rows = pc.list_parent_indices(lists)
        starts = pc.subtract(lists.offsets, lists.offsets[0]).take(rows)
        numbers = pc.subtract(_core.repeated_rows(0, len(rows), 1), starts)
        empty = pa.scalar("", pa.large_string())
        texts = pc.binary_join_element_wise(pa.scalar(delimiter, empty.type), lists.flatten(), empty)
        continuations = _dictionary(texts)
    fields = {"context": _dictionary(contexts.texts, rows), "continuation": continuations}
    return Arguments(fields, (), rows, numbers)


def _choice_arguments_one_by_one(
    task: Task, documents: Documents, contexts: Contexts, choices: Column, delimiter: str | None
) -> Arguments:
    """Return the arguments if they depend on more than the choices."""
    rows, numbers, context_indices, continuations = array("q"), array("q"), array("i"), []
    targets = values(task.target(documents)) if task.several_inputs else [None] * len(documents)
    counts = contexts.counts or [1] * len(documents)
    first_context, empty_context = 0, sum(counts)
    for row, (listed, target, count) in enumerate(zip(values(choices), targets, counts, strict=True)):
        try:
            endings = [target] * count if task.several_inputs else list(listed)
            indices = [first_context] * len(endings)
            if task.several_inputs:
                indices = list(range(first_context, first_context + count))
            if task.config.mutual_information:
                indices += [empty_context] * len(listed)
                endings += listed
            texts = [f"{delimiter}{ending}" for ending in endings]
            for text in texts:
                text.encode()
        except Exception as error:
            raise documents.raised_at(error, row) from error
        first_context += count
        rows.extend([row] * len(texts))
        numbers.extend(range(len(texts)))
        context_indices.extend(indices)
        continuations += texts
    return _listed_arguments(contexts, rows, numbers, context_indices, continuations)


def _choice_arguments_by_format(
    task: Task, documents: Documents, contexts: Contexts, choices: Column, delimiter: str | None
) -> Arguments:
    """Return the arguments of a task with a format: none of a document without choices, or whose target isn't one.

    A delimiter stands only between texts without white space, and not before a choice without a context.
    """
    rows, numbers, context_indices, continuations = array("q"), array("q"), array("i"), []
    targets = values(task.target(documents))
    blank = is_blank_at(contexts.texts, len(documents), -1).to_pylist()
    for row, (listed, target, is_blank) in enumerate(zip(values(choices), targets, blank, strict=True)):
        if not listed or target is None:
            continue
        try:
            texts = [f"{'' if is_blank or choice[0].isspace() else delimiter}{choice}" for choice in listed]
            if task.config.mutual_information:
                texts += [f"{choice}" for choice in listed]
            for text in texts:
                text.encode()
        except Exception as error:
            raise documents.raised_at(error, row) from error
        rows.extend([row] * len(texts))
        numbers.extend(range(len(texts)))
        context_indices.extend([row] * len(listed) + [len(documents)] * (len(texts) - len(listed)))
        continuations += texts
    return _listed_arguments(contexts, rows, numbers, context_indices, continuations)


def _listed_arguments(
    contexts: Contexts, rows: array[int], numbers: array[int], context_indices: array[int], continuations: list[str]
) -> Arguments:
    """Return arguments as columns; the number of contexts stands for an empty one."""
    all_contexts = pa.concat_arrays([*contexts.texts.chunks, pa.array([""], pa.large_string())])
    fields = {
        "context": _dictionary(all_contexts, as_array(context_indices)),
        "continuation": _dictionary(_text_array(continuations)),
    }
    return Arguments(fields, (), as_array(rows), as_array(numbers))


def _text_array(texts: list[str]) -> pa.Array:
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError as error:
        raise render_error("invalid_utf8", f"{type(error).__name__}: {error}") from error


def _dictionary(texts: pa.Array | pa.ChunkedArray, rows: pa.Array | None = None) -> pa.Array:
    """Return the texts of these rows, or one for each request, without copying them."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.chunk(0) if texts.num_chunks == 1 else texts.combine_chunks()
    rows = _core.repeated_rows(0, len(texts), 1) if rows is None else rows
    return pa.DictionaryArray.from_arrays(rows.cast(pa.int32()), texts)
