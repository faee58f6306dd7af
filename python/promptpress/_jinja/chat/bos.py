"""Whether a template puts the token before its text that tokenizers may put there too."""

from __future__ import annotations

from promptpress._jinja.chat.chat_renderer import ChatRenderer
from promptpress._jinja.chat.usual_shapes import usual_conversations

__all__ = ["starts_with_bos"]


def starts_with_bos(renderer: ChatRenderer) -> bool | None:
    """Whether texts begin with the `bos_token`.

    Args:
        renderer: The template's.

    Returns:
        None where some do and some don't, none can be rendered, or there is no such token.

    """
    token = renderer.settings.variables.get("bos_token")
    if not isinstance(token, str) or not token:
        return None
    found = set()
    for content in ("Hi.", "", " \n", "<think>a</think>b"):
        for conversation in usual_conversations(content).values():
            try:
                found.add(renderer.text(conversation).startswith(token))
            except Exception:
                continue
    return found.pop() if len(found) == 1 else None
