"""Where answers were masked by nothing: places that no byte of a prompt shows.

`Renderer.explain` gives spans of bytes, and what is hidden by an empty text has none. So the request is explained once
more with a mark in the place of each answer, and the mark is taken away again. That is only believed where the rest is
the request's own to the byte: a mark can keep a message that is dropped where it is empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from promptpress._configuration import Configuration
from promptpress._core import TemplateError
from promptpress._renderer import Renderer

__all__ = ["marking", "with_masked"]

_MARK = "\ue000"
"""A character of private use: no template's, and part of no placeholder."""

_Span = dict[str, Any]


def marking(renderer: Renderer) -> Renderer | None:
    """Return a renderer that puts a mark in the place of each hidden answer.

    Args:
        renderer: What renders.

    Returns:
        The other, or None where nothing is masked by an empty text.

    >>> marking(Renderer("Q: {q}")) is None
    True

    """
    configuration = renderer._configuration
    if configuration.core.masked_column is None:
        return None
    settings = configuration.settings
    inferencer = dict(settings["inferencer"] or {})
    if inferencer.get("gen_field_replace_token"):
        return None
    inferencer["gen_field_replace_token"] = _MARK
    marked = Renderer.__new__(Renderer)
    try:
        marked._set(Configuration({**settings, "inferencer": inferencer}, configuration.examples, configuration.tokens))
        marked._core  # noqa: B018 - compiles it
    except TemplateError:
        return None
    return marked


def with_masked(spans: Sequence[_Span], marked: Sequence[_Span]) -> list[_Span]:
    """Add empty spans where answers were masked.

    Args:
        spans: What `explain` says of a request.
        marked: What it says of the same by the renderer of `marking`.

    Returns:
        Spans over the same bytes, with empty ones among them whose source is `masked`; or `spans` as they are, where
        more than the marks differs.

    >>> def span(start, end, source):
    ...     return {"message": 0, "part": None, "start": start, "end": end, "source": source}
    >>> found = with_masked([span(0, 4, "prompt_template")], [span(0, 2, "prompt_template"), span(2, 5, "masked"),
    ...     span(5, 7, "prompt_template")])
    >>> [(one["start"], one["end"], one["source"]) for one in found]
    [(0, 2, 'prompt_template'), (2, 2, 'masked'), (2, 4, 'prompt_template')]

    """
    out: list[_Span] = []
    at, last = 0, None
    for span in marked:
        place = (span["message"], span["part"])
        at = at if place == last else 0
        end = at + (0 if span["source"] == "masked" else span["end"] - span["start"])
        out.append({**span, "start": at, "end": end})
        at, last = end, place
    return out if _merged(out) == _merged(spans) else list(spans)


def _merged(spans: Sequence[_Span]) -> list[_Span]:
    """Spans without empty ones, and with neighbours of one origin as one."""
    out: list[_Span] = []
    for span in spans:
        if span["start"] == span["end"]:
            continue
        if out and {**out[-1], "start": 0, "end": 0} == {**span, "start": 0, "end": 0}:
            out[-1] = {**out[-1], "end": span["end"]}
        else:
            out.append(dict(span))
    return out
