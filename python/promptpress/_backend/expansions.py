"""Raw messages, some of which are expanded from columns."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from promptpress._backend.call_renderer import CallRenderer
from promptpress._backend.dataset import Rows
from promptpress._backend.monkeypatches import NotCoveredError
from promptpress._renderer import Renderer

_RAW_PROMPT_TYPE = "raw_messages"
_MESSAGE_KEYS = {"role", "content"}


def expands(template: Any) -> bool:
    """Whether messages of a template come from a column."""
    return any(isinstance(one, dict) and "expand_column" in one for one in getattr(template, "messages", ()))


class ExpandingCallRenderer(CallRenderer):
    """Renders messages, some of which are expanded from columns.

    A message is an object of the configuration's class with its keys, or one of a column with those of the column. No
    Arrow type holds both. So texts are rendered in bulk, column by column, and each prompt is put together of them.

    Args:
        prompt_template: The harness's template of prompts; without one that of examples makes them.
        ice_template: The harness's template of examples, or None.
        parts: The arguments of `CallRenderer`.

    Raises:
        NotCoveredError: If one of the templates isn't one of messages, or a column doesn't hold lists of them.
    """

    def __init__(self, prompt_template: Any, ice_template: Any, *parts: Any) -> None:
        super().__init__(*parts)
        templates = [one for one in (prompt_template, ice_template) if one is not None]
        if any(one.prompt_type != _RAW_PROMPT_TYPE for one in templates):
            raise NotCoveredError("messages that are expanded from a column, beside a template of another kind")
        self._prompts = _Messages(templates[0], self.samples)
        self._ice_token = templates[0].ice_token
        self._example_messages: dict[int, list[Any]] = {}
        if self._examples is not None:
            used = list(self._places)
            filled = _Messages(ice_template, self.example_rows).filled(self._examples)
            # In examples a bare string is no message.
            self._example_messages = {
                row: [one for one in filled(at) if not isinstance(one, str)] for at, row in enumerate(used)
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

        def request(at: int) -> Any:
            messages: list[Any] = []
            for one in filled(at):
                if not isinstance(one, str):
                    messages.append(one)
                elif one == self._ice_token:
                    messages += copy.deepcopy([one for row in shots[at] for one in self._example_messages[row]])
            return arguments["finish"](messages) if is_merged else messages

        return request


class _Messages:
    """The messages of one template, filled from one dataset.

    Args:
        template: The harness's template.
        rows: The dataset's rows.
    """

    def __init__(self, template: Any, rows: Rows) -> None:
        self._messages = template.messages
        self._renderers: dict[int, Renderer] = {}
        names = rows.schema.names
        for place, message in enumerate(self._messages):
            if not isinstance(message, dict):
                continue
            if "expand_column" in message:
                if message["expand_column"] in names:
                    _check_column(message["expand_column"], rows.column(message["expand_column"]))
            elif not message.keys() >= _MESSAGE_KEYS:
                raise NotCoveredError("a message of the configuration has no role or no content")
            elif template.format_variables and isinstance(message["content"], str):
                filling = {"type": "PromptTemplate", "template": message["content"]}
                self._renderers[place] = Renderer(filling, output="text", mode="gen")

    def filled(self, table: pa.Table) -> Callable[[int], Iterator[Any]]:
        """What gives a row's messages, each a new object, and the bare strings among them."""
        texts = {place: one.render(table)["prompt"].to_pylist() for place, one in self._renderers.items()}
        wanted = {one["expand_column"] for one in self._messages if isinstance(one, dict) and "expand_column" in one}
        columns = {name: table[name] for name in wanted if name in table.column_names}

        def messages(at: int) -> Iterator[Any]:
            for place, message in enumerate(self._messages):
                if not isinstance(message, dict):
                    yield message
                elif "expand_column" not in message:
                    made = copy.deepcopy(message)
                    if place in texts:
                        made["content"] = texts[place][at]
                    yield made
                elif message["expand_column"] in columns:
                    yield from columns[message["expand_column"]][at].as_py() or ()

        return messages


def _check_column(name: str, column: pa.ChunkedArray) -> None:
    """Check that a parser can't fail at a row of a column.

    Raises:
        NotCoveredError: If it can.
    """
    kind = column.type
    if not (types.is_list(kind) or types.is_large_list(kind)) or not types.is_struct(kind.value_type):
        raise NotCoveredError(f"the column {name!r}, from which messages are expanded, isn't one of lists of them")
    fields = {kind.value_type.field(n).name for n in range(kind.value_type.num_fields)}
    if not fields >= _MESSAGE_KEYS or any(pc.list_flatten(chunk).null_count for chunk in column.chunks):
        raise NotCoveredError(f"messages in the column {name!r} are missing, or their role or content")
