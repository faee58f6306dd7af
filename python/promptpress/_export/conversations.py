"""Lines of conversations for training and for other tools: ShareGPT's and OpenAI's form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyarrow import types

from promptpress import _compute as pc
from promptpress._errors import render_error, template_error
from promptpress._export.chat_messages import Form, Prompts, lists_of
from promptpress._model_classes import did_you_mean
from promptpress._outputs.json_lines import LineWriter, Piece, object_pieces

__all__ = ["SHAREGPT_ROLES", "Conversations"]

SHAREGPT_ROLES = {
    "user": "human",
    "assistant": "gpt",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "function",
}
"""Who speaks, as ShareGPT's `from` has it."""


class Conversations:
    """Makes lines of the conversations of batches of one schema: kept columns, then the messages.

    Args:
        schema: of the batches.
        key: the conversation's key in each line.
        fields: what a message's role and its text are called.
        roles: other names of roles, which are the only ones then; None: chat APIs' own.
        answer: a column whose text is the assistant's last message; it has no nulls.
        keep: columns that stand before the conversation.
        prompt: the column of prompts.
        form: what it holds.

    Raises:
        TemplateError: when an argument makes no sense.
        RenderError: when a column is missing.

    Example:
        >>> table = pa.table({"a": ["2"], "prompt": ["1+1=?"]})
        >>> lines = Conversations(table.schema, "conversations", ("from", "value"), SHAREGPT_ROLES, answer="a")
        >>> print(lines.lines(table.to_batches()[0])[0][0].as_py().decode(), end="")
        {"conversations": [{"from": "human", "value": "1+1=?"}, {"from": "gpt", "value": "2"}]}

    """

    def __init__(
        self,
        schema: pa.Schema,
        key: str,
        fields: tuple[str, str],
        roles: Mapping[str, str] | None = None,
        *,
        answer: str | None = None,
        keep: Sequence[str] = (),
        prompt: str = "prompt",
        form: Form | None = None,
    ) -> None:
        self._prompts = Prompts(schema, prompt, form)
        self._prompt_at = schema.get_field_index(prompt)
        self._fields = fields
        self._roles = roles
        self._answer = answer
        if isinstance(keep, str):
            raise template_error("wrong_type", "keep", f"expected names of columns, such as [{keep!r}], found a string")
        for name in (*keep, *([answer] if answer is not None else ())):
            if name not in schema.names:
                remedy = did_you_mean(name, schema.names) or "; keep= keeps it when the table is rendered"
                raise render_error("missing_column", f"the table has no such column{remedy}", column=name)
        if len(set(keep)) < len(keep):
            raise template_error("duplicate_output_column", "keep", "a column is kept twice")
        if key in keep:
            raise template_error("duplicate_output_column", "keep", f"{key!r} is the conversation's own key")
        members = [(name, Piece("value", column=name)) for name in keep]
        self._schema = schema.set(self._prompt_at, pa.field(prompt, self._converted(_empty(schema, prompt), 0).type))
        *head, end = object_pieces([*members, (key, Piece("items" if answer else "request", column=prompt))])
        if answer is not None:
            assistant = (roles or {}).get("assistant", "assistant")
            *head, items = head
            head += [
                Piece("literal", "["),
                items,
                Piece("literal", f'{{"{fields[0]}": "{assistant}", "{fields[1]}": "'),
                Piece("text", column=answer),
                Piece("literal", '"}]'),
            ]
        self._writer = LineWriter(self._schema, [*head, end])
        self._rows = 0

    def lines(self, batch: pa.RecordBatch) -> list[pa.LargeBinaryArray]:
        """Make the lines of the next batch.

        Args:
            batch: of the schema.

        Returns:
            The lines, in order, some in each array.

        Raises:
            RenderError: when a row has no prompt of this form, or no answer.

        """
        if self._answer is not None:
            column = batch.column(batch.schema.get_field_index(self._answer))
            if column.null_count:
                row = self._rows + column.is_null().to_pylist().index(True)
                raise render_error("null_value", "it has no answer", row, self._answer)
        prompts = self._converted(batch.column(self._prompt_at), self._rows)
        columns = [prompts if at == self._prompt_at else column for at, column in enumerate(batch.columns)]
        out = self._writer.lines(pa.RecordBatch.from_arrays(columns, schema=self._schema), self._rows)
        self._rows += batch.num_rows
        return out

    def _converted(self, column: pa.Array, first_row: int) -> pa.Array:
        messages = self._prompts.as_messages(column, first_row)
        if self._roles is None:
            return messages
        items = messages.flatten()
        content = items.type.field("content").type
        if types.is_nested(content):
            message = f"its contents are {content}, and {self._fields[1]!r} is a text; export messages_json"
            raise render_error("wrong_column_type", message, column=self._prompts.name)
        for field in items.type:
            if field.name not in ("role", "content") and items.field(field.name).null_count < len(items):
                message = f"its messages have {field.name!r}, for which this form has no place; export messages_json"
                raise render_error("wrong_column_type", message, column=self._prompts.name)
        places = pc.index_in(items.field("role"), pa.array(list(self._roles), items.type.field("role").type))
        if places.null_count:
            role = items.field("role")[pc.index(pc.is_null(places), True).as_py()].as_py()
            known = ", ".join(map(repr, self._roles))
            raise template_error("unknown_role", "roles", f"it has no {role!r} (it has {known})")
        speakers = pa.array(list(self._roles.values()), pa.string()).take(places)
        return lists_of(messages, pa.StructArray.from_arrays([speakers, items.field("content")], list(self._fields)))


def _empty(schema: pa.Schema, name: str) -> pa.Array:
    return pa.nulls(0, schema.field(name).type)
