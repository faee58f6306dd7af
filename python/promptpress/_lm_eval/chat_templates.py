"""Chat templates as the harness calls them: functions of one conversation, and promptpress's own for many."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import pyarrow as pa

if TYPE_CHECKING:
    from promptpress._jinja.chat.chat_renderer import ChatRenderer
    from promptpress._jinja.chat.template import ChatTemplate

__all__ = ["ChatFunction", "ManyChats", "chat_function"]

ChatFunction: TypeAlias = Union[Callable[..., str], "ChatTemplate"]
"""Makes a text of a list of messages; called with `add_generation_prompt`, too."""


class ManyChats:
    """A `ChatTemplate`, as the harness's model of Hugging Face applies its tokenizer's template.

    The last message is open where there is no generation prompt. Where the template refuses a conversation, it is given
    once more, without its system message.

    Args:
        template: Its own `add_generation_prompt` and `continue_final_message` don't count.

    """

    def __init__(self, template: ChatTemplate) -> None:
        from promptpress._jinja.chat.chat_renderer import ChatRenderer  # noqa: PLC0415 - needs Jinja2
        from promptpress._jinja.chat.settings import ChatSettings  # noqa: PLC0415 - likewise

        settings = template.__getstate__()["settings"]
        self._renderers: dict[bool, ChatRenderer] = {}
        for prompted in (False, True):
            end = {"add_generation_prompt": prompted, "continued": None if prompted else "content"}
            self._renderers[prompted] = ChatRenderer(ChatSettings(**{**settings, **end}))

    def __call__(self, messages: list[dict[str, Any]], add_generation_prompt: bool = True) -> str:
        """Render one conversation."""
        from jinja2 import TemplateError  # noqa: PLC0415 - likewise

        renderer = self._renderers[add_generation_prompt]
        try:
            return renderer.text(messages)
        except TemplateError:
            return renderer.text([message for message in messages if message["role"] != "system"])

    def texts(self, conversations: pa.Array, add_generation_prompt: bool) -> pa.ChunkedArray:
        """Render conversations.

        Raises:
            RenderError: If the template refuses one.

        """
        from promptpress._jinja.run import JinjaRun  # noqa: PLC0415 - likewise

        table = pa.table({"messages": conversations})
        arrays = self._renderers[add_generation_prompt].texts(table, "messages", 0, "large_string", JinjaRun())
        return pa.chunked_array(list(arrays), pa.large_string())


def chat_function(template: ChatFunction | None) -> Callable[..., str] | None:
    """Return what is called with a conversation; None where there is no template."""
    module = sys.modules.get("promptpress._jinja.chat.template")
    return ManyChats(template) if module is not None and isinstance(template, module.ChatTemplate) else template
