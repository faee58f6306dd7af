"""ChatInferencer's chats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from promptpress._backend.bulk_call import check_inferencer, loaded
from promptpress._backend.dataset import Rows
from promptpress._backend.monkeypatches import NotCoveredError
from promptpress._backend.objects import same
from promptpress._backend.prompts import Prompts
from promptpress._backend.report import current_record, fall_back
from promptpress._backend.retrieved_rows import materialized
from promptpress._notes import silent
from promptpress._renderer import Renderer
from promptpress._to_pylist import to_pylist
from promptpress.opencompass._bulk_call import OpenCompassBulkCall
from promptpress.opencompass._chat_parsers import promptlist_to_openai

INFERENCER = "opencompass.openicl.icl_inferencer.icl_chat_inferencer"
PARALLEL_INFERENCER = "opencompass.openicl.icl_inferencer.icl_chat_inferencer_parallel"
_BLOCK_ROWS = 512


class Chats:
    """Chats of columns of strings, of lists of strings, or of messages; each is built when it is touched.

    Args:
        retriever: The harness's retriever.
        prompt_template: The harness's template, or None.

    Raises:
        NotCoveredError: For other columns, and for nulls in them.
    """

    def __init__(self, retriever: Any, prompt_template: Any) -> None:
        reader = retriever.dataset_reader
        self._rows = rows = Rows(retriever.test_ds)
        wanted = [*reader.input_columns, reader.output_column]
        self._columns = [name for name in rows.schema.names if name in wanted]
        self._output = reader.output_column
        self._input = reader.input_columns[0] if len(reader.input_columns) == 1 else None
        kinds = {name: _kind(rows.schema.field(name).type) for name in self._columns}
        self._rounds: _Rounds | None = None
        if set(kinds.values()) in ({"text"}, {"texts"}):
            self._rounds = _Rounds(prompt_template, self._input, self._output)
            self._several = "texts" in kinds.values()
            used = self._columns
        else:
            used = self._held(reader.input_columns, kinds)
        if any(_has_null(rows.column(name)) for name in used):
            raise NotCoveredError("a column of chats has a null")
        self._start = -1
        self._chats: list[Any] = []

    def _held(self, input_columns: Sequence[str], kinds: dict[str, str]) -> list[str]:
        """The column that holds messages."""
        held = self._input if self._input is not None else "dialogue" if "dialogue" in input_columns else None
        # An empty dialogue among nothing but lists is taken for rounds, and then the inferencer's mode isn't set by it.
        lists = self._input is None and set(kinds.values()) <= {"texts", "messages", "list"}
        if held is None or kinds.get(held) != "messages" or lists:
            raise NotCoveredError("chats of columns that are neither strings nor lists of strings or messages")
        self._message_column = held
        return [held]

    def chat(self, row: int) -> Any:
        """A chat of its own: the inferencer writes into it."""
        start = row - row % _BLOCK_ROWS
        if start != self._start:
            self._chats = self._block(start)
            self._start = start
        if self._rounds is None:
            return self._chats[row - start].as_py()
        return [message for one in self._chats[row - start] for message in self._rounds.messages(*one)]

    def _block(self, start: int) -> Any:
        table = self._rows.slice(start, min(start + _BLOCK_ROWS, self._rows.count))
        if self._rounds is None:
            return table[self._message_column]
        table = table.select(self._columns)
        if not self._several:
            return [[one] for one in self._rounds.filled(table)]
        # A round for each place that all lists have.
        entries = [
            list(zip(*lists, strict=False)) for lists in zip(*(c.to_pylist() for c in table.columns), strict=True)
        ]
        flat = [entry for rounds in entries for entry in rounds]
        columns = [pa.array([entry[n] for entry in flat], pa.string()) for n in range(table.num_columns)]
        filled = iter(self._rounds.filled(pa.table(columns, names=table.column_names)))
        return [list(islice(filled, len(rounds))) for rounds in entries]


class _Rounds:
    """Rounds of a question and an answer."""

    def __init__(self, prompt_template: Any, question: str | None, answer: str | None) -> None:
        self._question = question
        self._answer = answer
        self._renderer: Renderer | None = None
        if prompt_template is not None:
            template = OpenCompassBulkCall.template(prompt_template)
            if prompt_template.prompt_type == "raw_messages":
                raise NotCoveredError("raw messages, in a chat")
            shape = "text" if isinstance(prompt_template.template, str) else "prompt_list"
            # Filled with nothing, or with the word "section", such a string has the harness fail before the first chat.
            if shape == "prompt_list" and any("{" in one for one in _bare(prompt_template.template)):
                raise NotCoveredError("bare strings with placeholders, in the template of a chat")
            self._renderer = silent(Renderer(template, output=shape, mode="gen"))  # type: ignore[arg-type]
        elif question is None:
            raise NotCoveredError("a chat of several columns without a template")

    def filled(self, table: pa.Table) -> list[tuple[Any, str]]:
        """The prompt and the answer of each row."""
        names = table.column_names
        if self._renderer is not None:
            prompts = to_pylist(self._renderer.render(table)["prompt"])
        else:
            prompts = table[self._question].to_pylist() if self._question in names else [None] * len(table)
        golds = table[self._answer].to_pylist() if self._answer in names else [""] * len(table)
        return list(zip(prompts, golds, strict=True))

    def messages(self, prompt: Any, gold: str) -> list[dict[str, Any]]:
        """The messages of a round."""
        chat = promptlist_to_openai(prompt)
        if self._renderer is None or chat[-1]["role"] != "assistant":
            chat.append({"role": "assistant", "content": gold})
        return chat


def _kind(data_type: pa.DataType) -> str:
    """What the harness sees in a column."""
    if types.is_string(data_type) or types.is_large_string(data_type):
        return "text"
    if types.is_list(data_type) or types.is_large_list(data_type):
        return {"text": "texts", "struct": "messages"}.get(_kind(data_type.value_type), "list")
    return "struct" if types.is_struct(data_type) else "other"


def _bare(template: Any) -> Iterator[str]:
    """The strings of a dialogue that stand by themselves."""
    for part in template.values() if isinstance(template, dict) else ():
        yield from (one for one in (part if isinstance(part, (list, tuple)) else [part]) if isinstance(one, str))


def _has_null(column: pa.ChunkedArray) -> bool:
    """Whether values are missing: of the column, or of its lists."""
    if column.null_count:
        return True
    return types.is_nested(column.type) and any(pc.list_flatten(chunk).null_count for chunk in column.chunks)


def bulk_chats(harness: Callable[..., Any]) -> Callable[..., Any]:
    """ChatInferencer's `get_chat_list`, in bulk where it is covered."""

    def get_chat_list(self: Any, ice_idx_list: Any, retriever: Any, prompt_template: Any = None) -> Any:
        known = loaded(INFERENCER, "ChatInferencer"), loaded(PARALLEL_INFERENCER, "ParallelChatInferencer")
        if type(self) not in known:
            fall_back(f"{type(self).__name__} isn't covered")
            return harness(self, ice_idx_list, retriever, prompt_template=prompt_template)
        # The harness counts them and looks at none.
        shots = materialized(ice_idx_list, is_read_once=True)
        chats = (
            chats_of(
                self,
                lambda: harness(self, shots[:1], retriever, prompt_template=prompt_template),
                retriever,
                len(shots),
                prompt_template,
            )
            if shots
            else None
        )
        if chats is not None:
            return Prompts(chats.chat, range(len(shots)))
        return harness(self, shots, retriever, prompt_template=prompt_template)

    return get_chat_list


def chats_of(
    inferencer: Any, first: Callable[[], Any], retriever: Any, count: int, prompt_template: Any
) -> Chats | None:
    """Chats in bulk; None, after a word in the log, if they aren't covered.

    Args:
        inferencer: The harness's inferencer.
        first: What makes a list of the first chat, by the harness's own code.
        retriever: The harness's retriever.
        count: For how many samples it chose.
        prompt_template: The harness's template, or None.
    """
    expected = first()
    try:
        check_inferencer(inferencer, "get_chat_list")
        chats = Chats(retriever, prompt_template)
        # A chat without a round doesn't show what the template makes of one.
        if not expected[0]:
            raise NotCoveredError("the first chat is empty")
        if count != len(retriever.test_ds) or not same([chats.chat(0)], expected):
            raise NotCoveredError("the harness's chat is another")
    except NotCoveredError as reason:
        fall_back(str(reason))
    except Exception as error:
        fall_back(f"rendering failed ({error})")
    else:
        current_record().rendered(count)
        return chats
    return None
