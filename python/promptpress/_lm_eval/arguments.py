"""The arguments of requests, field by field, and which document and choice each request is of."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from promptpress import _compute as pc
from promptpress import _core
from promptpress._errors import render_error
from promptpress._lm_eval.columns import Column, Constant, Lists, Texts, values
from promptpress._lm_eval.contexts import Contexts
from promptpress._lm_eval.documents import Documents
from promptpress._lm_eval.python_values import from_json, to_json
from promptpress._lm_eval.task import Task

__all__ = ["Arguments", "arguments"]


@dataclass(frozen=True)
class Arguments:
    """The requests of some documents.

    Args:
        fields: The arguments by name, in order: dictionaries, so that what several requests share is there once.
        json_fields: Names of those that are JSON texts of Python's values.
        rows: Each request's document.
        numbers: Each request's number among its document's.

    """

    fields: dict[str, pa.Array]
    json_fields: tuple[str, ...]
    rows: pa.Array
    numbers: pa.Array

    def tuples(self) -> list[tuple[Any, ...]]:
        """Return each request's arguments in Python; texts that requests share are one object."""
        fields = []
        for name, field in self.fields.items():
            own = field.dictionary.to_pylist()
            places = field.indices.to_pylist()
            if name in self.json_fields:
                fields.append([from_json(own[at]) for at in places])
            else:
                fields.append([own[at] for at in places])
        return list(zip(*fields, strict=True))

    def until(self, stop: int) -> Arguments:
        """Return the requests of the documents before this one."""
        count = pc.sum(pc.less(self.rows, stop)).as_py() or 0
        fields = {name: field.slice(0, count) for name, field in self.fields.items()}
        return Arguments(fields, self.json_fields, self.rows.slice(0, count), self.numbers.slice(0, count))


def arguments(task: Task, documents: Documents, contexts: Contexts, chat: bool) -> Arguments:
    """Put together the requests' arguments.

    Args:
        task: The task.
        documents: The documents.
        contexts: Their contexts.
        chat: Whether the contexts are chats: continuations follow them without a delimiter.

    Returns:
        The arguments.

    Raises:
        RenderError: Where the harness raises at a document.

    """
    kind = task.config.output_type
    if kind == "multiple_choice":
        return _choices(task, documents, contexts, chat)
    count = len(documents)
    fields: dict[str, pa.Array] = {}
    json_fields: list[str] = []
    if kind != "loglikelihood_rolling":
        if contexts.counts is None:
            fields["context"] = _shared(contexts.texts)
        else:
            lists = iter(contexts.texts.to_pylist())
            own = [[next(lists) for _ in range(several)] for several in contexts.counts]
            _add_values(fields, json_fields, "context", own, documents)
    if kind == "generate_until":
        _add_values(fields, json_fields, "generation_kwargs", Constant(task.config.generation_kwargs, count), documents)
    else:
        _add_values(fields, json_fields, "target", task.target(documents), documents)
    return Arguments(fields, tuple(json_fields), _core.repeated_rows(0, count, 1), _zeros(count, pa.int64()))


def _add_values(
    fields: dict[str, pa.Array], json_fields: list[str], name: str, column: Column, documents: Documents
) -> None:
    """Add a field; as JSON where a value is no text."""
    if isinstance(column, Texts):
        fields[name] = _shared(column.array)
        return
    own = [column.value] if isinstance(column, Constant) else values(column)
    if not all(isinstance(value, str) for value in own):
        json_fields.append(name)
        own = _each(to_json, own, documents)
    texts = _text_array(own)
    if isinstance(column, Constant):
        fields[name] = pa.DictionaryArray.from_arrays(_zeros(column.length, pa.int32()), texts)
    else:
        fields[name] = _shared(texts)


def _choices(task: Task, documents: Documents, contexts: Contexts, chat: bool) -> Arguments:
    """Return an argument for each choice; behind them one for each without context, for mutual information."""
    config = task.config
    prefix = config.gen_prefix
    delimiter = config.target_delimiter
    if chat and not (prefix and not prefix[-1].isspace()):
        delimiter = ""
    choices = task.choices(documents)
    if task.several_inputs or config.mutual_information or not isinstance(choices, (Constant, Lists)):
        return _one_by_one(task, documents, contexts, choices, delimiter)
    count = len(documents)
    if isinstance(choices, Constant):
        (own,) = _each(lambda listed: [f"{delimiter}{choice}" for choice in listed], [choices.value], documents)
        texts = _text_array(own)
        each = len(texts)
        rows = _core.repeated_rows(0, count, each)
        numbers = _counting(pa.int64(), "q", each, count)
        continuation = pa.DictionaryArray.from_arrays(_counting(pa.int32(), "i", each, count), texts)
    else:
        lists = choices.array.combine_chunks()
        rows = pc.list_parent_indices(lists)
        starts = pc.subtract(lists.offsets, lists.offsets[0]).take(rows)
        numbers = pc.subtract(_core.repeated_rows(0, len(rows), 1), starts)
        empty = pa.scalar("", pa.large_string())
        continuation = _shared(pc.binary_join_element_wise(pa.scalar(delimiter, empty.type), lists.flatten(), empty))
    return Arguments({"context": _shared(contexts.texts, rows), "continuation": continuation}, (), rows, numbers)


def _one_by_one(
    task: Task, documents: Documents, contexts: Contexts, choices: Column, delimiter: str | None
) -> Arguments:
    """Return choices' arguments where they depend on more than the choices."""
    config = task.config
    rows, numbers, of_contexts, continuations = array("q"), array("q"), array("i"), []
    targets = values(task.target(documents)) if task.several_inputs else [None] * len(documents)
    counts = contexts.counts or [1] * len(documents)
    nothing = sum(counts)
    first = 0
    for row, (listed, target, count) in enumerate(zip(values(choices), targets, counts, strict=True)):
        try:
            own = [target] * count if task.several_inputs else list(listed)
            places = list(range(first, first + count)) if task.several_inputs else [first] * len(own)
            if config.mutual_information:
                places += [nothing] * len(listed)
                own += listed
            texts = [f"{delimiter}{choice}" for choice in own]
            for text in texts:
                text.encode()
        except Exception as error:
            raise documents.raised(error, row) from error
        first += count
        rows.extend([row] * len(texts))
        numbers.extend(range(len(texts)))
        of_contexts.extend(places)
        continuations += texts
    all_contexts = pa.concat_arrays([*contexts.texts.chunks, pa.array([""], pa.large_string())])
    fields = {
        "context": pa.DictionaryArray.from_arrays(_of_buffer(pa.int32(), of_contexts), all_contexts),
        "continuation": _shared(_text_array(continuations)),
    }
    return Arguments(fields, (), _of_buffer(pa.int64(), rows), _of_buffer(pa.int64(), numbers))


def _each(function: Callable[[Any], Any], own: list[Any], documents: Documents) -> list[Any]:
    """Call a function for values of documents."""
    out = []
    for row, value in enumerate(own):
        try:
            out.append(function(value))
        except Exception as error:
            raise documents.raised(error, row) from error
    return out


def _text_array(texts: list[str]) -> pa.Array:
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError as error:
        raise render_error("invalid_utf8", f"{type(error).__name__}: {error}") from error


def _shared(texts: pa.Array | pa.ChunkedArray, rows: pa.Array | None = None) -> pa.Array:
    """Return texts as a dictionary, of which each request takes one."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.chunk(0) if texts.num_chunks == 1 else texts.combine_chunks()
    rows = _core.repeated_rows(0, len(texts), 1) if rows is None else rows
    return pa.DictionaryArray.from_arrays(rows.cast(pa.int32()), texts)


def _zeros(count: int, data_type: pa.DataType) -> pa.Array:
    return _of_buffer(data_type, bytes(data_type.byte_width * count))


def _counting(data_type: pa.DataType, code: str, each: int, count: int) -> pa.Array:
    """Return the numbers below `each`, `count` times over."""
    return _of_buffer(data_type, array(code, range(each)) * count)


def _of_buffer(data_type: pa.DataType, buffer: Any) -> pa.Array:
    own = pa.py_buffer(buffer)
    return pa.Array.from_buffers(data_type, own.size // data_type.byte_width, [None, own])
