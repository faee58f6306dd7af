"""A column of prompts as messages that chat APIs take: `role` and `content`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal

import pyarrow as pa
from pyarrow import types

from promptpress import _compute as pc
from promptpress import _core
from promptpress._errors import render_error, template_error
from promptpress._input_checks import checked
from promptpress._model_classes import did_you_mean
from promptpress._outputs.json_lines import json_text

__all__ = ["Form", "Prompts", "are_plain", "check_answer", "is_text", "lists_of", "prompt_column"]

Form = Literal["text", "messages", "messages_json"]
"""What the prompts are: texts, messages, or messages as JSON."""

ROLES = ("system", "user", "assistant", "tool", "developer", "function")
"""The roles of chat APIs."""

_SAME_ROLES = {"human": "user", "bot": "assistant", "gpt": "assistant", "model": "assistant"}
"""Other names of roles, in any case; as `output="openai"` has them."""

_AS_OPENAI = 'render with output="openai" (and roles= for roles of your own)'


def prompt_column(schema: pa.Schema, name: str) -> pa.Field:
    """Find the column of prompts.

    Args:
        schema: of a rendered table.
        name: the column's.

    Returns:
        Its field.

    Raises:
        RenderError: when there is none.

    """
    if name not in schema.names:
        remedy = did_you_mean(name, schema.names) or "; prompt= names the column of prompts"
        raise render_error("missing_column", f"the table has no such column{remedy}", column=name)
    return schema.field(name)


def are_plain(messages: list[dict[str, Any]]) -> bool:
    """Whether a request is what every chat API takes.

    Args:
        messages: the request.

    >>> are_plain([{"role": "user", "content": "1+1=?"}]), are_plain([{"role": "narrator", "content": "1+1=?"}])
    (True, False)

    """
    return bool(messages) and all(
        message.get("role") in ROLES and isinstance(message.get("content"), str) for message in messages
    )


class Prompts:
    """Makes the prompts of batches messages whose fields are `role` and `content`.

    Args:
        schema: of the batches.
        name: the column of prompts.
        form: what it holds; None: text for strings, messages for lists of structs. Texts that look like the JSON of
            messages are refused then, for only who made them knows.

    Raises:
        TemplateError: when the column isn't of that form.
        RenderError: when there is no such column.

    Example:
        >>> batch = pa.record_batch({"prompt": [[{"role": "user", "prompt": "1+1=?"}]]})
        >>> prompts = Prompts(batch.schema, "prompt", None)
        >>> prompts.form, prompts.converted(batch.column(0), 0).to_pylist()
        ('messages', [[{'role': 'user', 'content': '1+1=?'}]])

    """

    def __init__(self, schema: pa.Schema, name: str, form: Form | None) -> None:
        self.name = name
        kind = prompt_column(schema, name).type
        natural: Form = "text" if is_text(kind) else "messages"
        if form not in (None, "text", "messages", "messages_json"):
            raise template_error("unknown_name", "form", f"{form!r} is none of 'text', 'messages', 'messages_json'")
        if form is not None and (form == "messages") != (natural == "messages"):
            raise template_error("wrong_column_type", "form", f"{form!r} isn't what a column of {kind} holds")
        self.form: Form = form or natural
        self._guessed = form is None and natural == "text"
        self._convert = self._converter(kind)
        self.type: pa.DataType = (
            pa.large_string() if self.form == "messages_json" else self._convert(pa.nulls(0, kind), 0).type
        )

    def converted(self, column: pa.Array, first_row: int) -> pa.Array:
        """Make a batch's prompts messages.

        Args:
            column: the prompts of a batch.
            first_row: its first row's number, from which errors count.

        Returns:
            Texts as they are, messages as lists of structs with `role` and `content`, or the JSON of such messages.

        Raises:
            RenderError: for a null, and for a role that chat APIs don't have.

        """
        if column.null_count:
            row = first_row + column.is_null().to_pylist().index(True)
            raise render_error("null_value", "it has no prompt", row, self.name)
        if self._guessed and len(column):
            self._guessed = False
            if _looks_like_messages(column[0].as_py()):
                message = (
                    'its text looks like the JSON of messages; form="messages_json" sends it as messages, form="text"'
                    " as the text of one"
                )
                raise render_error("wrong_column_type", message, first_row, self.name)
        return self._convert(column, first_row)

    def as_messages(self, column: pa.Array, first_row: int) -> pa.Array:
        """Make a batch's prompts messages whatever their form: a text is the one message of a user.

        Args:
            column: the prompts of a batch.
            first_row: its first row's number, from which errors count.

        Returns:
            Lists of structs with `role`, `content` and what else the messages have.

        Raises:
            RenderError: as `converted`; and for JSON messages whose contents aren't texts.

        """
        prompts = self.converted(column, first_row)
        if self.form == "messages":
            return prompts
        if self.form == "messages_json":
            rows = [json.loads(text) for text in prompts.to_pylist()]
            for row, messages in enumerate(rows, first_row):
                for message in messages:
                    if set(message) != {"role", "content"} or not isinstance(message["content"], str):
                        text = f"a message has more than a role and a text: {json_text(message)[:60]}"
                        raise render_error("wrong_column_type", text, row, self.name)
            return pa.array(rows, _MESSAGES)
        texts = prompts.cast(pa.string()) if types.is_dictionary(prompts.type) else prompts
        roles = pa.repeat(pa.scalar("user"), len(texts))
        items = pa.StructArray.from_arrays([roles, texts], ["role", "content"])
        return pa.ListArray.from_arrays(pa.array(range(len(texts) + 1), pa.int32()), items)

    def _converter(self, kind: pa.DataType) -> Callable[[pa.Array, int], pa.Array]:
        if self.form == "text":
            return lambda column, _: column
        if self.form == "messages_json":
            return self._of_json
        if not (types.is_list(kind) or types.is_large_list(kind)) or not types.is_struct(kind.value_type):
            message = f"messages are lists of structs, and it is {kind}; {_AS_OPENAI}"
            raise render_error("wrong_column_type", message, column=self.name)
        fields = [field.name for field in kind.value_type]
        if "role" not in fields or "parts" in fields or not {"content", "prompt"} & set(fields):
            message = (
                f"its messages have {', '.join(map(repr, fields))}, and APIs take 'role' and 'content'; {_AS_OPENAI}"
            )
            raise render_error("wrong_column_type", message, column=self.name)
        renamed = ["content" if name == "prompt" and "content" not in fields else name for name in fields]

        def messages(column: pa.Array, first_row: int) -> pa.Array:
            name = "content" if "content" in fields else "prompt"
            # Of what isn't so only some is wrong.
            if len(column) and not _core.are_plain_chats(checked(pa.table({self.name: column})), ROLES, name):
                self._check_roles(column, first_row)
                self._check_contents(column, first_row, name)
            return column if renamed == fields else _renamed(column, renamed)

        return messages

    def _check_roles(self, column: pa.Array, first_row: int) -> None:
        roles = pc.unique(column.flatten().field("role")).to_pylist()
        wrong = [role for role in roles if role not in ROLES]
        if not wrong:
            return
        for row, messages in enumerate(column.to_pylist()):
            for message in messages:
                if message is None or message["role"] not in ROLES:
                    raise self._wrong_role(None if message is None else message["role"], first_row + row)

    def _check_contents(self, column: pa.Array, first_row: int, name: str) -> None:
        """Refuse what every API refuses: no message at all, or one of anybody but the assistant that says nothing."""
        at = pc.index(pc.equal(pc.list_value_length(column), 0), True).as_py()
        if at >= 0:
            raise render_error("incomplete_message", "it has no message", first_row + at, self.name)
        items = column.flatten()
        if not items.field(name).null_count:
            return
        for row, messages in enumerate(column.to_pylist(), first_row):
            for message in messages:
                if message[name] is None and message["role"] != "assistant":
                    found = f"a message of {message['role']!r} has no content"
                    raise render_error("incomplete_message", found, row, self.name)

    def _wrong_role(self, role: Any, row: int) -> Exception:
        found = "a message has no role" if role is None else f"the role {role!r} is none that chat APIs have"
        return render_error("invalid_role", f"{found} ({', '.join(ROLES)}); {_AS_OPENAI}", row, self.name)

    def _of_json(self, column: pa.Array, first_row: int) -> pa.Array:
        texts = enumerate(column.to_pylist(), first_row)
        return pa.array([json_text(self._messages_of(text, row)) for row, text in texts], pa.large_string())

    def _messages_of(self, text: str, row: int) -> list[Any]:
        try:
            value = json.loads(text, parse_constant=_no_constant)
            json_text(value).encode()
        except (ValueError, RecursionError) as error:
            raise render_error("no_json_form", f"it is no JSON: {error}", row, self.name) from error
        if isinstance(value, str):
            return [{"role": "user", "content": value}]
        if not isinstance(value, list) or not value or not all(isinstance(one, dict) for one in value):
            raise render_error("wrong_column_type", f"it is no list of messages; {_AS_OPENAI}", row, self.name)
        return [self._message_of(message, row) for message in value]

    def _message_of(self, message: dict[str, Any], row: int) -> dict[str, Any]:
        role = message.get("role")
        known = role if role in ROLES else _known_role(role)
        if known is None:
            raise self._wrong_role(role, row)
        out = {"content" if key == "prompt" else key: value for key, value in message.items()}
        out["role"] = known
        if out.get("content") is None and (known != "assistant" or out.keys() <= {"role", "content", "name"}):
            message_ = f"a message of {role!r} has no content"
            raise render_error("incomplete_message", message_, row, self.name)
        return out


def _no_constant(name: str) -> Any:
    message = f"it has no {name}"
    raise ValueError(message)


_MESSAGES = pa.list_(pa.struct({"role": pa.string(), "content": pa.string()}))


def _known_role(role: Any) -> str | None:
    lower = role.lower() if isinstance(role, str) else ""
    return lower if lower in ROLES else _SAME_ROLES.get(lower)


def check_answer(schema: pa.Schema, name: str) -> None:
    """Refuse a column whose values aren't what an assistant says.

    Args:
        schema: of a rendered table that has it.
        name: the column's.

    Raises:
        RenderError: for lists, structs and bytes; numbers and the like are said as a prompt would have them.

    """
    kind = schema.field(name).type
    if types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind):
        raise render_error("wrong_column_type", f"an answer is a text, and it is {kind}", column=name)


def is_text(kind: pa.DataType) -> bool:
    """Say whether a column holds texts.

    Args:
        kind: its type.

    Returns:
        Whether it is one of strings, be they encoded by a dictionary.

    >>> is_text(pa.string_view()), is_text(pa.binary())
    (True, False)

    """
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _looks_like_messages(text: Any) -> bool:
    if not isinstance(text, str) or text[:1] != "[":
        return False
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) and "role" in one for one in value)


def _renamed(column: pa.Array, names: list[str]) -> pa.Array:
    """Give the fields of messages other names; nothing is copied but offsets."""
    items = column.flatten()
    kinds = [field.type for field in items.type]
    structs = pa.StructArray.from_arrays(
        [items.field(index) for index in range(len(names))],
        fields=[pa.field(name, kind) for name, kind in zip(names, kinds, strict=True)],
        mask=items.is_null() if items.null_count else None,
    )
    return lists_of(column, structs)


def lists_of(column: pa.Array, items: pa.Array) -> pa.Array:
    """Make lists as long as those of a column without nulls, of other items.

    Args:
        column: lists.
        items: as many as all its lists have, in order.

    Returns:
        The lists.

    >>> lists_of(pa.array([[1], [2, 3], []]).slice(1), pa.array(["a", "b"])).to_pylist()
    [['a', 'b'], []]

    """
    offsets = column.offsets
    offsets = pc.subtract(offsets, offsets[0])
    make = pa.LargeListArray if types.is_large_list(column.type) else pa.ListArray
    return make.from_arrays(offsets, items)
