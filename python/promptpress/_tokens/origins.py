"""Sources of a prompt's bytes, as far as tokens ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FRAMES = ("template", "chat_template", "role.begin", "role.end", "meta_template.begin", "meta_template.end")
"""The sources of what stands around messages."""


_ROLES = frozenset({"assistant", "developer", "function", "model", "observation", "system", "tool", "user"})
"""Roles that are the template's own words, too: `<|{{ message.role }}|>` writes a token."""


def is_usual_role(span: Mapping[str, Any], text: bytes) -> bool:
    """Return true for a span of a text that is a message's role, of those that templates make tokens of."""
    return span.get("path") == "role" and text[span["start"] : span["end"]].decode() in _ROLES


class UnknownOriginError(Exception):
    """It isn't known which bytes of a prompt data brought, or whose they are; the message says why."""


def check_origin(span: Mapping[str, Any], *, takes_computed: bool = False) -> None:
    """Refuse a span of which nothing is known."""
    source = span["source"]
    if source == "jinja2":
        raise UnknownOriginError("the template looks at values in a way that loses where its text comes from")
    if source == "computed" and not takes_computed:
        raise UnknownOriginError("the template makes a text of several, so it isn't known which message it is of")
