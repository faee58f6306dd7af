"""Origins of bytes: the template, a column, or a value within a conversation or an argument."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


class Origin(NamedTuple):
    """An origin of bytes.

    Args:
        source: `template`, `field` (a value of the row), `argument` (a value that was given for all rows), `computed`
            (from several values), or `jinja2` (not known).
        column: The column.
        message: The number of the message in its conversation.
        role: The message's role.
        path: The path of the value in the message or the argument, such as `content` or
            `tool_calls[0].function.arguments`.
    """

    source: str
    column: str | None = None
    message: int | None = None
    role: str | None = None
    path: str | None = None

    def under(self, key: str) -> Origin:
        """Return the origin of a dict's value.

        >>> Origin("field", path="function").under("name").path
        'function.name'
        """
        return self._replace(path=f"{self.path}.{key}" if self.path else key)

    def item(self, number: int) -> Origin:
        """Return the origin of a list's item.

        >>> Origin("field", path="content").item(2).path
        'content[2]'
        """
        return self._replace(path=f"{self.path or ''}[{number}]")

    def parent(self) -> Origin:
        """Return the origin of the list or dict that holds a value.

        >>> Origin("field", path="content[2]").parent().path, Origin("field", path="content").parent().path
        ('content', None)
        """
        steps = _STEPS.findall(self.path or "")[:-1]
        return self._replace(path=_path(steps))


TEMPLATE = Origin("template")
COMPUTED = Origin("computed")
UNKNOWN = Origin("jinja2")

_STEPS = re.compile(r"[^.\[]+|\[\d+\]")


def common_origin(origins: Iterable[Origin | None]) -> Origin | None:
    """Return the origin of a text that was made of several values; None stands for the template.

    Values within one message give the part of it that holds all of them.

    >>> call = Origin("field", "messages", 1, "assistant", "tool_calls[0]")
    >>> common_origin([call.under("id"), None, call.under("function.name")]).path
    'tool_calls[0]'
    >>> common_origin([call, Origin("field", "messages", 2)]).source
    'computed'
    """
    different = list(dict.fromkeys(origin for origin in origins if origin is not None))
    if len(different) < 2:
        return different[0] if different else None
    first = different[0]
    if any(other[:4] != first[:4] for other in different) or first == COMPUTED:
        return COMPUTED
    paths = [_STEPS.findall(origin.path or "") for origin in different]
    common: list[str] = []
    for steps in zip(*paths, strict=False):
        if len(set(steps)) > 1:
            break
        common.append(steps[0])
    if not common and first.source == "argument":
        return COMPUTED
    return first._replace(path=_path(common))


def _path(steps: list[str]) -> str | None:
    return ".".join(steps).replace(".[", "[") or None
