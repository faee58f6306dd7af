"""Lines of the input files of batch services, a request each, and the parameters in them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from promptpress import PromptWarning
from promptpress.engine import RenderedLines
from promptpress.engine import core as _core
from promptpress.engine.errors import callers_level, render_error, template_error
from promptpress.engine.tables import argument_texts, checked_columns, named_json_field
from promptpress.engine.tables import lazy_compute as pc
from pyarrow import types

from promptpress_workbench.export.chat_messages import Form, Prompts, are_plain, column_field, holds_texts, refuse_nulls
from promptpress_workbench.export.custom_ids import CustomIds
from promptpress_workbench.export.message_columns import MARKS, MessageMembers
from promptpress_workbench.export.services import RefusedError, Service
from promptpress_workbench.files.write.json_lines import LineWriter, Piece, json_text, unique

CHAT = "/v1/chat/completions"
_COMPLETIONS = "/v1/completions"

_KWARGS = "chat_template_kwargs"
"""The key of the arguments of the server's chat template, in vLLM."""

_NUMBERS = (
    *("frequency_penalty", "max_completion_tokens", "max_tokens", "n", "presence_penalty", "seed", "temperature"),
    *("top_k", "top_logprobs", "top_p", "max_output_tokens", "maxOutputTokens", "topK", "topP"),
)
"""Parameters that are numbers, without the objects that hold them."""


@dataclass(frozen=True)
class RequestSettings:
    """Settings of the lines of requests: the arguments of `promptpress.export.openai_batch`, which describes them."""

    service: Service
    model: str | None
    body: Mapping[str, Any] | None = None
    body_columns: Mapping[str, str] | None = None
    custom_id: str = "{sample}"
    custom_id_length: int | None = None
    url: str | None = CHAT
    prompt: str = "prompt"
    form: Form | None = None
    argument_columns: Mapping[str, str] | None = None


class BatchRequests:
    """Makes a line for each row of batches of one schema."""

    def __init__(self, schema: pa.Schema, settings: RequestSettings) -> None:
        prompt, model, service = settings.prompt, settings.model, settings.service
        self._service = service
        self._prompts = Prompts(schema, prompt, settings.form)
        self._prompt_index = schema.get_field_index(prompt)
        self._given_type = schema.field(self._prompt_index).type
        self._ids = CustomIds(settings.custom_id, schema, settings.custom_id_length, service.id_pattern)
        key = service.prompts if service.roles else self._prompt_key(settings.url)
        self._model_column: str | None = None
        body = _mapping(settings.body, "body", service)
        columns = _mapping(settings.body_columns, "body_columns", service)
        _check_parameters(schema, settings, body, columns)
        self._are_named = settings.argument_columns is not None
        self._arguments = _argument_columns(schema, settings.argument_columns, {**body, **columns}, key, service)
        self._parameters = list(columns.values())
        self._required = [columns[name] for name in service.required if name in columns]
        if model is None and service.has_model:
            self._model_column = columns.pop("model")
        arguments = {_KWARGS if name == "*" else name: column for name, column in self._arguments.items()}
        members = _members_given(service, key, body, columns, arguments)
        self._marks = _marks_index(schema, service, key, members)
        self._objects = _objects(body, columns)
        columns |= arguments
        longer = "." * (1 + max(map(len, schema.names)))  # than the table's names, and so no column of it
        self._members: MessageMembers | None = None
        if self._marks >= 0 or (service.roles and (self._prompts.form != "text" or not service.takes_blank)):
            has_system = service.system in members
            self._members = MessageMembers(service, self._prompts, has_system=has_system)
        pieces = [Piece("literal", f'{{"{service.id_key}": "'), *self._ids.pieces()]
        ids = range(1, len(pieces))
        to = "" if settings.url is None else f'"method": "POST", "url": {_json(settings.url, "url")}, '
        pieces.append(Piece("literal", f'", {to}"{service.body}": {{'))
        if self._model_column is not None:
            pieces += [Piece("literal", '"model": '), Piece("value", column=self._model_column), Piece("literal", ", ")]
        elif service.has_model:
            pieces.append(Piece("literal", f'"model": {_json(model, "model")}, '))
        pieces += self._prompt_pieces(key, prompt) if self._members is None else [Piece("json", column=longer)]
        for name, value in body.items():
            pieces.append(Piece("literal", f", {_json(name, 'body')}: {_json(value, f'body[{name!r}]')}"))
        for name, column in columns.items():
            pieces.append(Piece("member", f", {_json(name, 'body_columns')}: ", column))
        pieces += [Piece("member", f", {_json(head, 'body_columns')}: ", head + longer) for head in self._objects]
        pieces.append(Piece("literal", "}}\n"))
        written = schema
        if self._members is None:
            written = schema.set(self._prompt_index, pa.field(prompt, self._prompts.type))
        for column in self._arguments.values():
            written = written.set(schema.get_field_index(column), named_json_field(column, pa.large_string()))
        added = [] if self._members is None else [pa.field(longer, pa.large_string())]
        objects = (named_json_field(head + longer, pa.large_string()) for head in self._objects)
        self._written = pa.schema([*written, *added, *objects])
        self._writer = LineWriter(self._written, pieces, ids)
        self._are_roles_checked = False

    def _prompt_key(self, url: str | None) -> str:
        if isinstance(url, str) and url.endswith("/chat/completions"):
            return "messages"
        if not isinstance(url, str) or not url.endswith("/completions"):
            hint = "; openai_responses (openai-responses) writes those" if str(url).endswith("/responses") else ""
            raise template_error("unknown_name", "url", f"expected {CHAT!r} or {_COMPLETIONS!r}, found {url!r}{hint}")
        if self._prompts.form != "text":
            message = f"{url!r} takes texts, and the prompts are messages; {CHAT!r} takes them"
            raise template_error("unsupported_mode", "url", message)
        return "prompt"

    def _prompt_pieces(self, key: str, prompt: str) -> list[Piece]:
        value = Piece("json" if self._prompts.form == "messages_json" else "request", column=prompt)
        if self._prompts.form != "text" or key == "prompt":
            return [Piece("literal", f'"{key}": '), value]
        head, tail = self._service.frame("user", marked=False)
        return [Piece("literal", f'"{key}": [{head}'), value, Piece("literal", f"{tail}]")]

    @property
    def frame(self) -> _core.LineLayout | None:
        """The text around each request; None if lines have more of a row, or if its messages are converted."""
        is_shown = self._prompts.type == self._given_type and self._prompts.form != "messages_json"
        return self._writer.frame if is_shown and self._members is None else None

    def lines(self, batch: pa.RecordBatch | RenderedLines, first_row: int) -> list[pa.LargeBinaryArray]:
        """Make the lines of the next batch, in several arrays; rendered lines in `frame` are only checked."""
        if isinstance(batch, RenderedLines):
            self._check_first(batch, first_row)
            self._ids.check_numbers(first_row, batch.num_rows)
            return [batch.lines]
        self._check_values(batch, first_row)
        columns = batch.columns
        prompts = columns[self._prompt_index]
        if self._members is None:
            columns[self._prompt_index] = self._prompts.converted(prompts, first_row)
        else:
            marks = None if self._marks < 0 else columns[self._marks]
            columns.append(self._members.texts(prompts, marks, first_row))
        for name, column in self._arguments.items():
            index = batch.schema.get_field_index(column)
            field = batch.schema.field(index)
            texts = argument_texts(name, batch.column(index), field, first_row, is_named=self._are_named)
            if name == "tools":
                texts = self._tools(texts, column, first_row)
            columns[index] = pa.array(texts, pa.large_string())
        columns += [_object_texts(batch, head, *given) for head, given in self._objects.items()]
        out, ids = self._writer.lines_and_ids(pa.RecordBatch.from_arrays(columns, schema=self._written), first_row)
        self._ids.check(ids, batch, first_row)
        return out

    def _tools(self, texts: list[str | None], column: str, first_row: int) -> list[str | None]:
        """Return tools in the service's form; rows often have the same."""
        if not self._service.roles:
            return texts
        made: dict[str | None, str | None] = {None: None}
        for row, text in enumerate(texts, first_row):
            if text is not None and text not in made:
                try:
                    made[text] = self._service.tools(json.loads(text))
                except RefusedError as error:
                    message = f"{self._service.title} doesn't take its tools: {error}"
                    raise render_error(error.code, message, row, column) from None
        return [made[text] for text in texts]

    def _check_first(self, rendered: RenderedLines, first_row: int) -> None:
        """Refuse messages that no API takes; one row is enough, because the roles are the same in all rows."""
        if self._prompts.form == "messages" and not self._are_roles_checked and rendered.num_rows:
            self._are_roles_checked = True
            messages = json.loads(rendered.lines[0].as_py())["body"]["messages"]
            # To make an array of Python's values pyarrow imports pandas: only for the error.
            if not are_plain(messages):
                self._prompts.converted(pa.array([messages], self._given_type), first_row)

    def _check_values(self, batch: pa.RecordBatch, first_row: int) -> None:
        """Refuse rows without a model, or with a number that JSON doesn't have."""
        if self._model_column is not None:
            models = batch.column(self._model_column)
            refuse_nulls(models, first_row, self._model_column, "the request names no model")
        for name in self._required:
            refuse_nulls(batch.column(name), first_row, name, f"{self._service.title} requires it in each request")
        for name in self._parameters:
            column = batch.column(name)
            if not pa.types.is_floating(column.type):
                continue
            index = pc.index(pc.is_finite(column.cast(pa.float64())), False).as_py()  # a null is neither
            if index >= 0:
                message = f"JSON has no {column[index].as_py()}; a null leaves the parameter out"
                raise render_error("no_json_form", message, first_row + index, name)


def _members_given(service: Service, key: str, body: dict[str, Any], *columns: dict[str, str]) -> dict[str, Any]:
    """Return what a body has besides the prompts and the model; refuse what is there twice, or within another value."""
    model = "model= says it" if service.has_model else "the model is named when the batch is created"
    reasons = {key: "the prompts are it", "model": model}
    out: dict[str, Any] = {}
    for path, given in zip(("body", "body_columns", "argument_columns"), (body, *columns), strict=True):
        for name, value in given.items():
            names = name.split(".") if path == "body_columns" else [name]
            if names[0] in reasons:
                raise template_error("unknown_key", path, f"{names[0]!r}: {reasons[names[0]]}")
            _put(out, names, value, path)
    return out


def _objects(body: dict[str, Any], columns: dict[str, str]) -> dict[str, tuple[str, dict[str, str]]]:
    """Take the objects with values of a row's own out of the body and the columns.

    Return what all rows have of each object, as JSON, and the columns of its values.
    """
    out: dict[str, tuple[str, dict[str, str]]] = {}
    for name in [name for name in columns if "." in name]:
        head = name.partition(".")[0]
        fixed = {head: body.pop(head)} if head in body else {}
        out.setdefault(head, (json_text(fixed), {}))[1][name] = columns.pop(name)
    return out


def _object_texts(batch: pa.RecordBatch, head: str, fixed: str, columns: dict[str, str]) -> pa.Array:
    """Return an object of each row as JSON; null if a row has nothing of it."""
    texts = []
    for values in zip(*(batch.column(column).to_pylist() for column in columns.values()), strict=True):
        made = json.loads(fixed)
        for name, value in zip(columns, values, strict=True):
            if value is not None:
                _put(made, name.split("."), value, "body_columns")
        texts.append(json_text(made[head]) if made else None)
    return pa.array(texts, pa.large_string())


def _put(body: dict[str, Any], names: list[str], value: Any, path: str) -> None:
    """Put a value into the object that its names lead to, whose values are all of different places."""
    inner: Any = body
    heads = names if isinstance(value, Mapping) else names[:-1]
    for name in heads:
        inner = inner.setdefault(name, {}) if isinstance(inner, dict) else None
    if not isinstance(inner, dict) or (heads is not names and names[-1] in inner):
        raise template_error("unknown_key", path, f"{'.'.join(names)!r} is given twice")
    if isinstance(value, Mapping):
        for key, item in value.items():
            _put(body, [*names, key], item, path)
    else:
        inner[names[-1]] = value


def _marks_index(schema: pa.Schema, service: Service, key: str, members: dict[str, Any]) -> int:
    """Return the index of the column of marks, or -1; refuse one that the service has no place for."""
    index: int = schema.get_field_index(MARKS)
    kind = schema.field(MARKS).type if index >= 0 else None
    if kind is not None and (service.mark is None or key == "prompt"):
        message = f"{service.title} has no marks of cached beginnings in these requests; leave the column out"
        raise render_error("unsupported_mode", message, column=MARKS)
    if kind is not None and not (types.is_list(kind) and types.is_integer(kind.value_type)):
        raise render_error("wrong_column_type", f"it has lists of whole numbers, and it is {kind}", column=MARKS)
    if kind is not None and service.mark is not None and service.mark.keys() & members.keys():
        message = f"{min(service.mark)!r}: the marks of the rows are in the column {MARKS!r}; leave one out"
        raise template_error("unknown_key", "body", message)
    return index


def _mapping(value: Mapping[str, Any] | None, path: str, service: Service) -> dict[str, Any]:
    """Return parameters in their objects, or the columns of those of each row, as the service spells their names."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        example = '{"max_tokens": "answer_length"}' if path == "body_columns" else '{"temperature": 0}'
        raise template_error("wrong_type", path, f"expected a dict, such as {example}, found {type(value).__name__}")
    out: dict[str, Any] = {}
    for name, item in value.items():
        if not isinstance(name, str):
            raise template_error("wrong_type", path, f"expected names of parameters, found {name!r}")
        if path == "body_columns" and not isinstance(item, str):
            raise template_error("wrong_type", f"{path}[{name!r}]", f"expected a column's name, found {item!r}")
        given = item if path == "body_columns" else json.loads(_json(item, f"body[{name!r}]"))
        members: list[tuple[list[str], Any]] = [(name.split("."), given)]
        if isinstance(given, dict) and given and "." not in name:
            members = [([name, key], inner) for key, inner in given.items()]
        for names, inner in members:
            hint = service.hint(names)
            if hint is not None:
                raise template_error("unknown_key", path, f"{'.'.join(names)!r}: {service.title} {hint}")
            way = service.spelt(names)
            _put(out, way if path == "body" else [".".join(way)], inner, path)
    return out


def _argument_columns(
    schema: pa.Schema, given: Mapping[str, str] | None, parameters: Mapping[str, Any], key: str, service: Service
) -> dict[str, str]:
    """Return the columns of the arguments that go into a request; a request of texts has none."""
    if given is None:
        if key == "prompt" or "tools" not in schema.names or parameters.get("tools") == "tools":
            return {}
        if any(name.partition(".")[0] == "tools" for name in parameters):
            message = "the tools of the rows are in the column 'tools'; leave one out, such as by argument_columns={}"
            raise template_error("unknown_key", "body", f"'tools': {message} (--argument-column none)")
        return {"tools": "tools"}
    columns = checked_columns(given, parameters) or {}
    for column in columns.values():
        column_field(schema, column)
    others = [name for name in columns if name != "tools"] if service.roles else []
    if others:
        message = f"{others[0]!r}: {service.title} has `tools` alone; a chat template's arguments are of other servers"
        raise template_error("unsupported_mode", "argument_columns", message)
    if columns and key == "prompt":
        message = "a request of texts has no such arguments: a chat template has written them into the text"
        raise template_error("unsupported_mode", "argument_columns", message)
    return columns


def _check_parameters(
    schema: pa.Schema, settings: RequestSettings, body: Mapping[str, Any], columns: Mapping[str, str]
) -> None:
    model, service = settings.model, settings.service
    is_of_rows = model is None and service.has_model
    if is_of_rows and "model" not in columns:
        raise template_error(
            "missing_key", "model", 'each request names a model: model="...", or its column in body_columns'
        )
    if model is not None and not isinstance(model, str):
        raise template_error("wrong_type", "model", f"expected a string, found {type(model).__name__}")
    for name in service.required:
        if {**body, **columns}.get(name) is None:
            message = f'{service.title} requires {name!r} in each request, such as {{"{name}": 1024}}'
            raise template_error("missing_key", "body", message)
    if is_of_rows and columns["model"] in schema.names:
        kind = schema.field(columns["model"]).type
        if not holds_texts(kind):
            raise render_error(
                "wrong_column_type", f"models are named by texts, and it is {kind}", column=columns["model"]
            )
    for name, column in columns.items():
        if name.rpartition(".")[2] in _NUMBERS and column in schema.names and holds_texts(schema.field(column).type):
            message = (
                f"body_columns: {name!r} is a number for APIs, and the column {column!r} is text, which most of them"
                " refuse; columns of CSV files are text, and JSON lines have numbers"
            )
            warnings.warn(message, PromptWarning, stacklevel=callers_level())
        column_field(schema, column)


def _json(value: Any, path: str) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
        json.loads(text, object_pairs_hook=unique)  # keys 1 and "1" are one key
    except (TypeError, ValueError, RecursionError) as error:
        raise template_error("no_json_form", path, f"it can't be JSON: {error}") from error
    return text
