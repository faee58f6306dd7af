"""Conversations whose later requests hold the model's own replies."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

import promptpress._core as _core
from promptpress._arrow.core_tables import for_core
from promptpress._arrow.validation import check_values
from promptpress._errors.errors import render_error
from promptpress.typing import ArrowArrayExportable, ArrowStreamExportable


class Conversation:
    """The requests of the current turn, and the way to the next. Made by `Renderer.converse`.

    Conversations of one table may have different lengths: those that are over give no more requests.

    >>> import pyarrow as pa
    >>> from promptpress import Renderer
    >>> talk = {"round": [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]}
    >>> renderer = Renderer(
    ...     {"type": "MultiTurnPromptTemplate", "template": talk},
    ...     inferencer={"type": "MultiTurnGenInferencer", "infer_mode": "every"},
    ...     dialect="aisbench",
    ... )
    >>> samples = pa.table({"question": [["Hi.", "And 2+2?"], ["Bye."]], "answer": [["Hello!", "4"], ["Ciao."]]})
    >>> conversation = renderer.converse(samples)
    >>> conversation.requests["sample"].to_pylist()
    [0, 1]
    >>> print(conversation.reply(["Good day.", "So long."])["prompt"][0])
    Hi.
    Good day.
    And 2+2?
    >>> len(conversation.reply(["Four."]))
    0

    """

    def __init__(self, core: _core.CompiledRenderer, samples: pa.Table, schema: pa.Schema) -> None:
        self._core = core
        check_values(samples)  # the core puts chunks together, which believes all that they say
        self._samples, self._python_text = for_core(samples)
        self._schema = schema
        self._replies: list[list[str]] = [[] for _ in range(len(samples))]
        self._turn = 0
        self._requests = self._render()

    @property
    def requests(self) -> pa.Table:
        """Requests of the current turn, in the columns `sample` (its row, int64), `turn` (int64) and `prompt`.

        The table has no rows when all turns are done.

        """
        return self._requests

    def reply(self, replies: ArrowArrayExportable | ArrowStreamExportable | Iterable[str]) -> pa.Table:
        """Put the model's replies in and go to the next turn.

        Args:
            replies: An Arrow array of strings, one for each of `requests`, in their order.

        Returns:
            The next turn's requests.

        Raises:
            RenderError: If there are more or fewer replies than requests, or one is null or no string; the conversation
                stays where it is.

        """
        try:
            array = replies if isinstance(replies, (pa.Array, pa.ChunkedArray)) else pa.array(replies)
            array.validate(full=True)
            texts = array.to_pylist()
        except (pa.ArrowException, UnicodeError) as error:
            raise render_error("invalid_replies", f"replies: they are no array of strings: {error}") from error
        samples = self._requests.column("sample").to_pylist()
        if len(texts) != len(samples):
            raise render_error(
                "invalid_replies", f"replies: {len(samples)} requests are waiting, but {len(texts)} replies came"
            )
        for sample, text in zip(samples, texts, strict=True):
            if not isinstance(text, str):
                raise render_error("invalid_replies", f"the reply is {text!r}, and a str is needed", row=sample)
        for sample, text in zip(samples, texts, strict=True):
            self._replies[sample].append(text)
        self._turn += 1
        self._requests = self._render()
        return self._requests

    def _render(self) -> pa.Table:
        pending = [replies if len(replies) == self._turn else [] for replies in self._replies]
        replies = pa.array(pending, pa.large_list(pa.large_string()))
        parts = self._core.turn(self._samples, self._turn, replies, self._python_text)
        prompt = self._schema.field(len(self._schema) - 1)
        turn = self._schema.field(len(self._schema) - 2)
        schema = pa.schema([pa.field("sample", pa.int64()), turn, prompt])
        arrays = zip(*((part.samples, part.turns, part.prompts) for part in parts), strict=True)
        columns = [pa.chunked_array(list(chunks), field.type) for chunks, field in zip(arrays, schema, strict=True)]
        return pa.Table.from_arrays(columns, schema=schema)
