"""Warnings about the schemas of samples, given once for each schema."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pyarrow as pa

from promptpress._errors.errors import PromptWarning
from promptpress._utils.callers import callers_level

_MAX_SHOWN = 5


class SchemaWarnings:
    """The schemas that a renderer has warned about, so that each is warned about once."""

    __slots__ = ("seen", "silent")

    def __init__(self, *, silent: bool = False) -> None:
        self.silent = silent
        self.seen: set[tuple[tuple[str, ...], tuple[str, ...]]] = set()

    def warn(self, schema: pa.Schema, text_of: Callable[[], str]) -> None:
        """Warn of what is probably a mistake, unless that was done for this schema."""
        key = (tuple(schema.names), tuple(map(str, schema.types)))
        if self.silent or key in self.seen:
            return
        text = text_of()
        if text:
            warnings.warn(text, PromptWarning, stacklevel=callers_level())
        # Only now: a filter that makes the warning an error does so for every call.
        self.seen.add(key)


def listed_texts(texts: list[str], where: str) -> str:
    r"""Return several texts as those of one warning: a filter that makes it an error would show the first alone.

    >>> listed_texts(["a", "b"], "notes lists them"), listed_texts([], "notes lists them")
    ('a\n  b\n(notes lists them)', '')

    """
    if not texts:
        return ""
    lines = texts[:_MAX_SHOWN]
    if len(texts) > _MAX_SHOWN:
        lines.append(f"and {len(texts) - _MAX_SHOWN} more")
    return "\n  ".join(lines) + f"\n({where})"
