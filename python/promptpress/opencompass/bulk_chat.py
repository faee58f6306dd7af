"""ChatInferencer's chats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyarrow import types

from promptpress._backend.dataset import NotCoveredError, Rows
from promptpress._backend.log import fall_back
from promptpress._backend.objects import same
from promptpress._backend.prompts import Prompts
from promptpress._backend.run import loaded
from promptpress.opencompass.bulk_course import OpenCompassRun
from promptpress.opencompass.chat_parsers import promptlist_to_openai
from promptpress.renderer import Renderer
from promptpress.requests import to_pylist

INFERENCER = "opencompass.openicl.icl_inferencer.icl_chat_inferencer"
_BLOCK = 512


class Chats:
    """Chats of one round, of columns that hold strings; each is built when it is touched.

    Args:
        retriever: The harness's retriever.
        prompt_template: The harness's template, or None.

    Raises:
        NotCoveredError: For chats of several rounds, and those that a column holds.
    """

    def __init__(self, retriever: Any, prompt_template: Any) -> None:
        reader = retriever.dataset_reader
        rows = Rows(retriever.test_ds)
        wanted = [*reader.input_columns, reader.output_column]
        self._columns = [name for name in rows.schema.names if name in wanted]
        if not self._columns or not all(types.is_string(rows.schema.field(name).type) for name in self._columns):
            raise NotCoveredError("chats of several rounds, or of columns that aren't strings")
        self._rows = rows
        if any(rows.slice(0, rows.count)[name].null_count for name in self._columns):
            raise NotCoveredError("a column of chats has a null")
        self._output = reader.output_column
        self._input = reader.input_columns[0] if len(reader.input_columns) == 1 else None
        self._renderer = None
        if prompt_template is not None:
            template = OpenCompassRun.template(prompt_template)
            if prompt_template.prompt_type == "raw_messages":
                raise NotCoveredError("raw messages, in a chat")
            shape = "text" if isinstance(prompt_template.template, str) else "prompt_list"
            self._renderer = Renderer(template, output=shape, mode="gen")  # type: ignore[arg-type]
        elif self._input is None:
            raise NotCoveredError("a chat of several columns without a template")
        self._start = -1
        self._chats: list[Any] = []

    def chat(self, row: int) -> list[dict[str, Any]]:
        """A chat of its own: the inferencer writes into it."""
        start = row - row % _BLOCK
        if start != self._start:
            self._chats = self._block(start)
            self._start = start
        prompt, gold = self._chats[row - start]
        chat = promptlist_to_openai(prompt)
        if self._renderer is None or chat[-1]["role"] != "assistant":
            chat.append({"role": "assistant", "content": gold})
        return chat

    def _block(self, start: int) -> list[tuple[Any, str]]:
        table = self._rows.slice(start, min(start + _BLOCK, self._rows.count)).select(self._columns)
        if self._renderer is not None:
            prompts = to_pylist(self._renderer.render(table)["prompt"])
        else:
            prompts = table[self._input].to_pylist() if self._input in self._columns else [None] * len(table)
        golds = table[self._output].to_pylist() if self._output in self._columns else [""] * len(table)
        return list(zip(prompts, golds, strict=True))


def bulk_chats(harness: Callable[..., Any]) -> Callable[..., Any]:
    """ChatInferencer's `get_chat_list`, in bulk where it is covered."""

    def get_chat_list(self: Any, ice_idx_list: Any, retriever: Any, prompt_template: Any = None) -> Any:
        if type(self) is not loaded(INFERENCER, "ChatInferencer"):
            fall_back(f"{type(self).__name__} isn't covered")
        elif ice_idx_list:
            expected = harness(self, ice_idx_list[:1], retriever, prompt_template=prompt_template)
            try:
                chats = Chats(retriever, prompt_template)
                if len(ice_idx_list) == len(retriever.test_ds) and same([chats.chat(0)], expected):
                    return Prompts(chats.chat, range(len(ice_idx_list)))
                fall_back("the harness's chat is another")
            except NotCoveredError as reason:
                fall_back(str(reason))
            except Exception as error:
                fall_back(f"rendering failed ({error})")
        return harness(self, ice_idx_list, retriever, prompt_template=prompt_template)

    return get_chat_list
