"""All requests of a task as an Arrow table, with tuples for the arguments of each."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import re
import warnings
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any

import pyarrow as pa
from promptpress import PromptWarning
from promptpress.engine import as_table
from promptpress.engine import core as _core
from promptpress.engine.errors import callers_level, render_error, template_error
from promptpress.engine.tables import OF_HARNESS, check_values, checked, with_exact_types
from promptpress.engine.tables import lazy_compute as pc
from promptpress.typing import TableLike

from promptpress_harness.lm_eval.contexts import ChatFunction, Contexts, build_contexts
from promptpress_harness.lm_eval.documents import (
    Column,
    Constant,
    Documents,
    ListedDocuments,
    Lists,
    TableDocuments,
    Texts,
    as_array,
    values,
)
from promptpress_harness.lm_eval.task import Task, TaskConfig, choose_documents


def to_json(value: Any) -> str:
    """Write a value as JSON, with `NaN` and `Infinity` as Python writes them.

    A value of a type that JSON lacks is an object whose only key begins with `$`.
    """
    return json.dumps(_tagged(value))


def from_json(text: str) -> Any:
    """Read a text that `to_json` wrote."""
    return json.loads(text, object_hook=_untagged)


def _tagged(value: Any) -> Any:
    kind = type(value)
    if value is None or kind in (str, bool, int, float):
        return value
    if kind is list:
        return _tagged_items(value)
    if kind is dict:
        if all(type(key) is str for key in value) and not any(key.startswith("$") for key in value):
            return {key: _tagged(item) for key, item in value.items()}
        return {"$items": [[_tagged(key), _tagged(item)] for key, item in value.items()]}
    if kind not in _FORMS or getattr(value, "tzinfo", None) is not None:
        raise TypeError(f"a {kind.__name__} has no form in JSON: {value!r:.80}")
    write, _ = _FORMS[kind]
    return {f"${kind.__name__.lower()}": write(value)}


def _tagged_items(values: Iterable[Any]) -> list[Any]:
    return [_tagged(item) for item in values]


def _untagged(value: dict[str, Any]) -> Any:
    if len(value) == 1:
        ((key, item),) = value.items()
        if key in _READERS:
            return _READERS[key](item)
    return value


_FORMS: dict[type, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    tuple: (_tagged_items, tuple),
    set: (_tagged_items, set),
    frozenset: (_tagged_items, frozenset),
    bytes: (lambda value: base64.b64encode(value).decode(), base64.b64decode),
    complex: (lambda value: [value.real, value.imag], lambda parts: complex(*parts)),
    type(Ellipsis): (lambda _: [], lambda _: ...),
    decimal.Decimal: (str, decimal.Decimal),
    datetime.timedelta: (
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda parts: datetime.timedelta(*parts),
    ),
    **{kind: (kind.isoformat, kind.fromisoformat) for kind in (datetime.datetime, datetime.date, datetime.time)},
}
"""Functions that write values of each type as JSON values and read them; the type's name in lower case is the key."""

_READERS = {"$items": dict, **{f"${kind.__name__.lower()}": read for kind, (_, read) in _FORMS.items()}}


@dataclass(frozen=True)
class Arguments:
    """The requests of some documents, with the row of each request's document and its number among that one's requests.

    The fields are dictionary arrays, so that a value that requests share is stored once.
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


class _Tuple(pa.ExtensionScalar):  # type: ignore[misc]
    def as_py(self, **options: Any) -> tuple[Any, ...] | None:
        storage = self.value
        if storage is None:
            return None
        json_fields = self.type.json_fields
        items = storage.as_py(**options).items()
        return tuple([from_json(item) if name in json_fields else item for name, item in items])


class _TupleType(pa.ExtensionType):  # type: ignore[misc]
    """A struct whose values are tuples in Python; some fields hold JSON, as their values have no one Arrow type."""

    type_name = ""

    def __init__(self, storage: pa.StructType, json_fields: tuple[str, ...] = ()) -> None:
        self.json_fields = frozenset(json_fields)
        super().__init__(storage, self.type_name)

    def __arrow_ext_serialize__(self) -> bytes:
        return json.dumps({"json_fields": sorted(self.json_fields)}).encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.StructType, serialized: bytes) -> _TupleType:
        return cls(storage, tuple(json.loads(serialized)["json_fields"]))

    def __arrow_ext_scalar_class__(self) -> type[_Tuple]:
        return _Tuple

    def __reduce__(self) -> Any:
        return type(self), (self.storage_type, tuple(sorted(self.json_fields)))


class ArgumentsType(_TupleType):
    """A request's arguments, which a model's `loglikelihood` or `generate_until` gets."""

    type_name = "promptpress.lm_eval.arguments"


class MetadataType(_TupleType):
    """A request's metadata: task, document, repeats."""

    type_name = "promptpress.lm_eval.metadata"


def request_table(config: TaskConfig, numbers: pa.Array, arguments: Arguments, stop: int) -> pa.Table:
    """Return the requests of the first documents, up to `stop`; others only take part in the random draws."""
    rows = arguments.rows
    count = len(rows) if stop >= len(numbers) else pc.sum(pc.less(rows, stop)).as_py() or 0
    if not count:
        raise render_error("unconvertible_value", "ValueError: no document gives a request")
    documents = numbers.take(rows.slice(0, count))
    fields = [field.slice(0, count) for field in arguments.fields.values()]
    request_type = "loglikelihood" if config.output_type == "multiple_choice" else config.output_type
    storage = pa.StructArray.from_arrays(fields, list(arguments.fields))
    repeats = pa.repeat(pa.scalar(config.repeats, pa.int64()), count)
    metadata = pa.StructArray.from_arrays(
        [_repeated_text(config.task, count), documents, repeats], ["task", "doc_id", "repeats"]
    )
    return pa.table(
        {
            "request_type": _repeated_text(request_type, count),
            "arguments": ArgumentsType(storage.type, arguments.json_fields).wrap_array(storage),
            "idx": arguments.numbers.slice(0, count),
            "doc_id": documents,
            "metadata": MetadataType(metadata.type).wrap_array(metadata),
        }
    )


def _repeated_text(text: str | None, count: int) -> pa.Array:
    indices = pa.repeat(pa.scalar(0, pa.int32()), count)
    return pa.DictionaryArray.from_arrays(indices, pa.array([text], pa.string()))


# Files and streams with such columns are then read as these types.
for _type in (ArgumentsType, MetadataType):
    try:
        pa.register_extension_type(_type(pa.struct([])))
    except pa.ArrowKeyError:
        pa.unregister_extension_type(_type.type_name)
        pa.register_extension_type(_type(pa.struct([])))


_JINJA = re.compile(r"\{[{%#]")
_IN_BRACES = re.compile(r"\{([^{}]+)\}")


def requests(
    task_config: Mapping[str, Any],
    docs: TableLike,
    fewshot_docs: TableLike | None = None,
    *,
    num_fewshot: int | None = None,
    seed: int | float | str | bytes | None = 1234,
    system_instruction: str | None = None,
    chat_template: ChatFunction | None = None,
    fewshot_as_multiturn: bool = False,
    limit: int | None = None,
    samples: Sequence[int] | None = None,
    rank: int = 0,
    world_size: int = 1,
) -> pa.Table:
    r"""Make all requests of a task, as lm-evaluation-harness 0.4.13 would make them for a model.

    Neither the harness nor a model is needed. `table.to_pylist()` has the same texts and numbers in the same order as
    the harness's `task.instances`. The harness's own random numbers draw the few-shot documents.

    Args:
        task_config: The task's YAML as a dict, with its includes merged. Functions (`!function`) are never called: put
            what they return into a column of the documents, and pass the documents that `process_docs` returns.
        docs: The documents of the evaluated split, in any form that `Renderer.render` takes.
        fewshot_docs: The documents of the split that shots are drawn from, if it is another split and the
            configuration doesn't list its documents.
        num_fewshot: Number of shots for each document; None for the configured number.
        seed: Seed of the random draws; None for a different one in each call.
        system_instruction: A text before the description.
        chat_template: Makes a text of a list of messages (`role`, `content`) and `add_generation_prompt`, which is
            false if the last message is the beginning of the answer; None for plain text. A `promptpress.ChatTemplate`
            is applied as the harness's Hugging Face models apply theirs, whatever its settings for the prompt's end.
        fewshot_as_multiturn: Whether each shot is two messages in a chat, instead of a part of the user's one message.
        limit: The largest number of documents to make requests of.
        samples: Numbers of the documents to use; None for all.
        rank: Number of this process among those that share the documents.
        world_size: Number of processes that share the documents.

    Returns:
        One row for each request: `request_type`; `arguments`, a tuple in Python; `idx`, the number of the request among
        its document's requests (the choice); `doc_id`; `metadata`, the tuple of task, document and repeats. A value
        that requests share, such as a context before several choices, is stored once.

    Raises:
        TemplateError: If the configuration or an option is wrong, or needs the harness itself.
        RenderError: If the harness raises an exception at a document; the message has the exception's name.

    >>> import pyarrow as pa
    >>> config = {
    ...     "task": "sums",
    ...     "output_type": "multiple_choice",
    ...     "test_split": "test",
    ...     "doc_to_text": "{{question.strip()}}\nAnswer:",
    ...     "doc_to_choice": ["2", "3"],
    ...     "doc_to_target": "answer",
    ... }
    >>> table = requests(config, pa.table({"question": ["1+1=? "], "answer": [0]}))
    >>> for request in table.to_pylist():
    ...     print(request["idx"], request["arguments"])
    0 ('1+1=?\nAnswer:', ' 2')
    1 ('1+1=?\nAnswer:', ' 3')
    """
    config = TaskConfig.of(task_config, num_fewshot)
    evaluated = TableDocuments(_table(docs), "row")
    task = Task(config, evaluated, _pool(config, evaluated, fewshot_docs) if config.num_fewshot else None)
    _warn_of_single_braces(config.doc_to_text, evaluated.names)
    numbers, rows = choose_documents(len(evaluated), limit, samples, rank, world_size)
    documents = evaluated.take(rows)
    try:
        random = Random(seed)
        stop = len(rows[:limit])
    except TypeError as error:
        raise template_error("wrong_type", "seed or limit", f"TypeError: {error}") from error
    contexts = build_contexts(
        task,
        documents,
        random,
        system_instruction=system_instruction,
        chat_template=chat_template,
        as_turns=fewshot_as_multiturn,
    )
    arguments = build_arguments(task, documents, contexts, chat_template is not None)
    return request_table(config, as_array(numbers), arguments, stop)


def _warn_of_single_braces(text: Any, columns: Collection[str]) -> None:
    """Warn of a `doc_to_text` that names columns as `str.format` would, so that Jinja puts nothing in."""
    if not isinstance(text, str) or text in columns or _JINJA.search(text):
        return
    name = next((name for name in _IN_BRACES.findall(text) if name in columns), None)
    if name is not None:
        message = (
            f"doc_to_text: '{{{name}}}' has single braces, which are text in Jinja, so every document gets the same "
            f"text; '{{{{{name}}}}}' is the document's"
        )
        warnings.warn(message, PromptWarning, stacklevel=callers_level())


def _table(documents: TableLike) -> pa.Table:
    """Return documents as a table whose values can be copied and compared."""
    table = with_exact_types(checked(as_table(documents, OF_HARNESS)))
    check_values(table)
    return table


def _pool(config: TaskConfig, evaluated: TableDocuments, fewshot_docs: Any) -> Documents:
    """Return the documents that shots are drawn from."""
    split = config.pool_split
    if split is None:
        return ListedDocuments(config.fewshot.samples, "few-shot document")
    if split == config.evaluated_split:
        return TableDocuments(evaluated.table, "few-shot document")
    if fewshot_docs is None:
        message = f"shots are drawn from the split {split!r}; give its documents"
        raise template_error("missing_examples", "fewshot_docs", message)
    return TableDocuments(_table(fewshot_docs), "few-shot document")
