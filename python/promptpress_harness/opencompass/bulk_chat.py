"""The bulk chats of ChatInferencer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from promptpress import Renderer, to_pylist
from promptpress.engine import silent
from promptpress.engine.tables import is_text, values_of
from pyarrow import types

from promptpress_harness.bulk.bulk_call import check_inferencer, try_bulk
from promptpress_harness.bulk.dataset import Rows, materialized
from promptpress_harness.bulk.monkeypatches import NotCoveredError
from promptpress_harness.bulk.objects import same
from promptpress_harness.bulk.prompts import Prompts
from promptpress_harness.bulk.report import fall_back
from promptpress_harness.opencompass.bulk_call import OpenCompassBulkCall
from promptpress_harness.opencompass.chat_parsers import promptlist_to_openai
from promptpress_harness.single.harness import loaded

INFERENCER = "opencompass.openicl.icl_inferencer.icl_chat_inferencer"
PARALLEL_INFERENCER = "opencompass.openicl.icl_inferencer.icl_chat_inferencer_parallel"
_BLOCK_ROWS = 512


class Chats:
    """The chats of columns of strings, of lists of strings, or of messages; each is built when it is used.

    Raises:
        NotCoveredError: For other columns, and for nulls in them.
    """

    def __init__(self, retriever: Any, prompt_template: Any) -> None:
        reader = retriever.dataset_reader
        self._rows = rows = Rows(retriever.test_ds)
        reader_columns = [*reader.input_columns, reader.output_column]
        self._columns = [name for name in rows.schema.names if name in reader_columns]
        input_column = reader.input_columns[0] if len(reader.input_columns) == 1 else None
        kinds = {name: _kind(rows.schema.field(name).type) for name in self._columns}
        self._rounds: _Rounds | None = None
        if set(kinds.values()) in ({"text"}, {"texts"}):
            self._rounds = _Rounds(prompt_template, input_column, reader.output_column)
            self._has_lists = "texts" in kinds.values()
        else:
            # If all columns are lists, the harness takes an empty dialogue for rounds, and it doesn't set the
            # inferencer's mode.
            are_lists = input_column is None and set(kinds.values()) <= {"texts", "messages", "list"}
            dialogue = "dialogue" if "dialogue" in reader.input_columns else None
            message_column = dialogue if input_column is None else input_column
            if message_column is None or kinds.get(message_column) != "messages" or are_lists:
                raise NotCoveredError("chats of columns that are neither strings nor lists of strings or messages")
            self._columns = [message_column]
        if any(_has_null(rows.column(name)) for name in self._columns):
            raise NotCoveredError("a column of chats has a null")
        self._start = -1
        self._chats: list[Any] = []

    def chat(self, row: int) -> Any:
        """Return a new chat, because the inferencer writes into it."""
        start = row - row % _BLOCK_ROWS
        if start != self._start:
            self._chats = self._block(start)
            self._start = start
        if self._rounds is None:
            return self._chats[row - start].as_py()
        return [message for entry in self._chats[row - start] for message in self._rounds.messages(*entry)]

    def _block(self, start: int) -> Any:
        table = self._rows.slice(start, start + _BLOCK_ROWS).select(self._columns)
        if self._rounds is None:
            return table[0]
        if not self._has_lists:
            return [[entry] for entry in self._rounds.filled(table)]
        # A chat has as many rounds as its shortest list has items.
        lists = zip(*(column.to_pylist() for column in table.columns), strict=True)
        chats = [list(zip(*columns, strict=False)) for columns in lists]
        rounds = list(chain.from_iterable(chats))
        columns = [pa.array([entry[n] for entry in rounds], pa.string()) for n in range(table.num_columns)]
        filled = iter(self._rounds.filled(pa.table(columns, names=table.column_names)))
        return [list(islice(filled, len(chat))) for chat in chats]


class _Rounds:
    """The rounds of a chat, each with a question and an answer."""

    def __init__(self, prompt_template: Any, question: str | None, answer: str | None) -> None:
        self._question = question
        self._answer = answer
        self._renderer: Renderer | None = None
        if prompt_template is not None:
            template = OpenCompassBulkCall.template(prompt_template)
            if prompt_template.prompt_type == "raw_messages":
                raise NotCoveredError("raw messages, in a chat")
            shape = "text" if isinstance(prompt_template.template, str) else "prompt_list"
            # If such a string is filled with "" or the word "section", the harness fails before the first chat.
            if shape == "prompt_list" and any("{" in text for text in _bare_strings(prompt_template.template)):
                raise NotCoveredError("bare strings with placeholders, in the template of a chat")
            self._renderer = silent(Renderer(template, output=shape, mode="gen"))  # type: ignore[arg-type]
        elif question is None:
            raise NotCoveredError("a chat of several columns without a template")

    def filled(self, table: pa.Table) -> list[tuple[Any, str]]:
        """Return the prompt and the answer of each row."""
        names = table.column_names
        if self._renderer is not None:
            prompts = to_pylist(self._renderer.render(table)["prompt"])
        else:
            prompts = (
                values_of(table, self._question)
                if self._question is not None and self._question in names
                else [None] * len(table)
            )
        golds = (
            values_of(table, self._answer) if self._answer is not None and self._answer in names else [""] * len(table)
        )
        return list(zip(prompts, golds, strict=True))

    def messages(self, prompt: Any, gold: str) -> list[dict[str, Any]]:
        """Return the messages of a round."""
        chat = promptlist_to_openai(prompt)
        if self._renderer is None or chat[-1]["role"] != "assistant":
            chat.append({"role": "assistant", "content": gold})
        return chat


def _kind(data_type: pa.DataType) -> str:
    """Return the kind of a column's values, as the harness distinguishes them."""
    if is_text(data_type):
        return "text"
    if types.is_list(data_type) or types.is_large_list(data_type):
        return {"text": "texts", "struct": "messages"}.get(_kind(data_type.value_type), "list")
    return "struct" if types.is_struct(data_type) else "other"


def _bare_strings(template: Any) -> Iterator[str]:
    """Yield the strings of a dialogue that have no role."""
    for part in template.values() if isinstance(template, dict) else ():
        items = part if isinstance(part, (list, tuple)) else [part]
        yield from (item for item in items if isinstance(item, str))


def _has_null(column: pa.ChunkedArray) -> bool:
    """Return true if values of a column, or of its lists, are missing."""
    if column.null_count:
        return True
    return types.is_nested(column.type) and any(pc.list_flatten(chunk).null_count for chunk in column.chunks)


def bulk_chats(harness: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ChatInferencer's `get_chat_list`, so that chats are made in bulk if they are covered."""

    def get_chat_list(self: Any, ice_idx_list: Any, retriever: Any, prompt_template: Any = None) -> Any:
        classes = loaded(INFERENCER, "ChatInferencer"), loaded(PARALLEL_INFERENCER, "ParallelChatInferencer")
        if type(self) not in classes:
            fall_back(f"{type(self).__name__} isn't covered")
            return harness(self, ice_idx_list, retriever, prompt_template=prompt_template)
        # The harness counts them and reads none.
        shots = materialized(ice_idx_list, is_read_once=True)
        if shots:
            expected = harness(self, shots[:1], retriever, prompt_template=prompt_template)
            parts = (self, expected, retriever, len(shots), prompt_template)
            chats = try_bulk(lambda: _checked_chats(*parts), len(shots))
            if chats is not None:
                return Prompts(chats.chat, range(len(shots)))
        return harness(self, shots, retriever, prompt_template=prompt_template)

    return get_chat_list


def _checked_chats(inferencer: Any, expected: Any, retriever: Any, count: int, prompt_template: Any) -> Chats:
    """Return `count` chats; raise NotCoveredError if the first isn't that of the harness, which `expected` holds."""
    check_inferencer(inferencer, "get_chat_list")
    chats = Chats(retriever, prompt_template)
    # A chat without a round doesn't show how the template fills one.
    if not expected[0]:
        raise NotCoveredError("the first chat is empty")
    if count != len(retriever.test_ds) or not same([chats.chat(0)], expected):
        raise NotCoveredError("the harness's chat is another")
    return chats
