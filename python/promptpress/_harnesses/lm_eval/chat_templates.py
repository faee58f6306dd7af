"""Chat templates in the two forms that contexts are made with: functions of one conversation, or of many."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import pyarrow as pa

if TYPE_CHECKING:
    from promptpress._jinja.chat.chat_renderer import ChatRenderer
    from promptpress._renderers.chat_template import ChatTemplate

ChatFunction: TypeAlias = Union[Callable[..., str], "ChatTemplate"]
"""Makes a text of a list of messages; it is also called with `add_generation_prompt`."""


class ManyChats:
    """Applies a `ChatTemplate` as the harness's Hugging Face model applies its tokenizer's template.

    Without a generation prompt, the last message is left open. If the template refuses a conversation, it is applied
    once more without the system message.

    Args:
        template: The template. Its settings `add_generation_prompt` and `continue_final_message` are ignored.
    """

    def __init__(self, template: ChatTemplate) -> None:
        from promptpress._jinja.chat.chat_renderer import ChatRenderer  # noqa: PLC0415 - needs Jinja2
        from promptpress._jinja.chat.settings import ChatSettings  # noqa: PLC0415 - needs Jinja2

        settings = template.__getstate__()["settings"]
        self._renderers: dict[bool, ChatRenderer] = {}
        for prompted in (False, True):
            end = {"add_generation_prompt": prompted, "continued": None if prompted else "content"}
            self._renderers[prompted] = ChatRenderer(ChatSettings(**{**settings, **end}))

    def __call__(self, messages: list[dict[str, Any]], add_generation_prompt: bool = True) -> str:
        """Render one conversation."""
        from jinja2 import TemplateError  # noqa: PLC0415 - needs Jinja2

        renderer = self._renderers[add_generation_prompt]
        try:
            return renderer.text(messages)
        except TemplateError:
            return renderer.text([message for message in messages if message["role"] != "system"])

    def texts(self, conversations: pa.Array, add_generation_prompt: bool) -> pa.ChunkedArray:
        """Render many conversations; raise RenderError if the template refuses one."""
        from promptpress._jinja.run import JinjaRun  # noqa: PLC0415 - needs Jinja2

        table = pa.table({"messages": conversations})
        parts = self._renderers[add_generation_prompt].texts(table, "messages", 0, "large_string", JinjaRun())
        return pa.chunked_array([texts for texts, _ in parts], pa.large_string())


def chat_function(template: ChatFunction | None) -> Callable[..., str] | None:
    """Return the function that is called with a conversation; None if there is no template."""
    module = sys.modules.get("promptpress._renderers.chat_template")
    return ManyChats(template) if module is not None and isinstance(template, module.ChatTemplate) else template
