"""The renderer of raw messages, some of which are expanded from columns."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from promptpress import Renderer
from pyarrow import types

from promptpress_harness.bulk.call_renderer import CallRenderer
from promptpress_harness.bulk.dataset import Rows
from promptpress_harness.bulk.monkeypatches import NotCoveredError

_RAW_PROMPT_TYPE = "raw_messages"
_MESSAGE_KEYS = {"role", "content"}


def expands(template: Any) -> bool:
    """Return true if messages of a template come from a column."""
    return any(_is_expanded(message) for message in getattr(template, "messages", ()))


def _is_expanded(message: Any) -> bool:
    return isinstance(message, dict) and "expand_column" in message


class ExpandingCallRenderer(CallRenderer):
    """Renders messages, some of which are expanded from columns.

    A message has the class and the keys of the configuration's message, or those of the column's value, and no Arrow
    type holds both. So texts are rendered in bulk, a column for each message, and a prompt is put together from them.

    Args:
        prompt_template: The harness's template of prompts; without one `ice_template` is.
        ice_template: The harness's template of examples, or None.
        parts: The arguments of `CallRenderer`.

    Raises:
        NotCoveredError: If a template has no raw messages, or a column doesn't hold lists of messages.
    """

    def __init__(self, prompt_template: Any, ice_template: Any, *parts: Any) -> None:
        super().__init__(*parts)
        templates = [template for template in (prompt_template, ice_template) if template is not None]
        if any(template.prompt_type != _RAW_PROMPT_TYPE for template in templates):
            raise NotCoveredError("messages that are expanded from a column, beside a template of another kind")
        self._prompts = _Messages(templates[0], self.samples)
        self._ice_token = templates[0].ice_token
        self._example_messages: dict[int, list[Any]] = {}
        if self._examples is not None:
            filled = _Messages(ice_template, self.example_rows).filled(self._examples)
            # In examples a bare string is no message.
            self._example_messages = {
                row: [message for message in filled(index) if not isinstance(message, str)]
                for row, index in self._example_indexes.items()
            }

    def render(self, arguments: dict[str, Any], key: Any, start: int, shots: list[Sequence[int]]) -> Any:  # noqa: ARG002
        # The harness's prompts of labels leave examples out.
        examples = [()] * len(shots) if arguments["mode"] == "ppl" else shots
        return self._prompts.filled(self.samples.slice(start, start + len(shots))), examples

    def kind_of(self, arguments: dict[str, Any], request: Any) -> Callable[[Any], Any]:  # noqa: ARG002
        return list

    def requests_of(self, arguments: dict[str, Any], prompts: Any, kind: Callable[[Any], Any]) -> Callable[[int], Any]:  # noqa: ARG002
        filled, shots = prompts
        is_merged = arguments["meta_template"] is not None

        def request(index: int) -> Any:
            messages: list[Any] = []
            for message in filled(index):
                if not isinstance(message, str):
                    messages.append(message)
                elif message == self._ice_token:
                    examples = [self._example_messages[row] for row in shots[index]]
                    messages += copy.deepcopy(list(chain.from_iterable(examples)))
            return arguments["finish"](messages) if is_merged else messages

        return request


class _Messages:
    """The messages of one template, filled from one dataset."""

    def __init__(self, template: Any, rows: Rows) -> None:
        self._messages = template.messages
        self._renderers: dict[int, Renderer] = {}
        for n, message in enumerate(self._messages):
            if not isinstance(message, dict):
                continue
            if _is_expanded(message):
                if message["expand_column"] in rows.schema.names:
                    _check_column(message["expand_column"], rows.column(message["expand_column"]))
            elif not message.keys() >= _MESSAGE_KEYS:
                raise NotCoveredError("a message of the configuration has no role or no content")
            elif template.format_variables and isinstance(message["content"], str):
                filling = {"type": "PromptTemplate", "template": message["content"]}
                self._renderers[n] = Renderer(filling, output="text", mode="gen")

    def filled(self, table: pa.Table) -> Callable[[int], Iterator[Any]]:
        """Return a function that yields a row's messages, each a new object, and the bare strings among them."""
        texts = {n: renderer.render(table)["prompt"].to_pylist() for n, renderer in self._renderers.items()}
        names = {message["expand_column"] for message in self._messages if _is_expanded(message)}
        columns = {name: table[name] for name in names if name in table.column_names}

        def messages(index: int) -> Iterator[Any]:
            for n, message in enumerate(self._messages):
                if not isinstance(message, dict):
                    yield message
                elif not _is_expanded(message):
                    filled = copy.deepcopy(message)
                    if n in texts:
                        filled["content"] = texts[n][index]
                    yield filled
                elif message["expand_column"] in columns:
                    yield from columns[message["expand_column"]][index].as_py() or ()

        return messages


def _check_column(name: str, column: pa.ChunkedArray) -> None:
    """Raise NotCoveredError if a parser can fail at a row of a column."""
    kind = column.type
    if not (types.is_list(kind) or types.is_large_list(kind)) or not types.is_struct(kind.value_type):
        raise NotCoveredError(f"the column {name!r}, from which messages are expanded, isn't one of lists of them")
    fields = {kind.value_type.field(n).name for n in range(kind.value_type.num_fields)}
    if not fields >= _MESSAGE_KEYS or any(pc.list_flatten(chunk).null_count for chunk in column.chunks):
        raise NotCoveredError(f"messages in the column {name!r} are missing, or their role or content")
