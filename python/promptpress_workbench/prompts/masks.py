"""The positions of answers that were masked by an empty text.

`Renderer.explain` returns spans of bytes, so it has none for an empty text. The request is therefore explained once
more with a mark in place of each answer, and the mark is removed again. The result only counts if the rest equals the
request to the byte, because a mark can keep a message that is dropped when it is empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from promptpress.engine import ConfiguredEngine
from promptpress.engine.core import TemplateError

_MARK = "\ue000"
"""A character of private use, which no template has and which isn't part of a placeholder."""

_MASKED = ("masked", "filled_masked")
"""The sources of text that replaces an answer."""

_Span = dict[str, Any]


def marking_engine(engine: ConfiguredEngine) -> ConfiguredEngine | None:
    """Return an engine that renders a mark in place of each answer; None if no answer is masked by an empty text."""
    if engine.core.masked_column is None:
        return None
    inferencer = dict(engine.settings["inferencer"] or {})
    if inferencer.get("gen_field_replace_token"):
        return None
    inferencer["gen_field_replace_token"] = _MARK
    marking = engine.changed(inferencer=inferencer)
    try:
        marking.core  # noqa: B018 - compiles it
    except TemplateError:
        return None
    return marking


def with_masked_spans(spans: Sequence[_Span], marked: Sequence[_Span]) -> list[_Span]:
    """Add an empty span where an answer is masked, found in the spans of the same request by `marking_engine`.

    If more than the marks differs, the spans stay as they are.

    >>> def span(start, end, source):
    ...     return {"message": 0, "part": None, "start": start, "end": end, "source": source}
    >>> spans = with_masked_spans([span(0, 4, "prompt_template")], [span(0, 2, "prompt_template"),
    ...     span(2, 5, "masked"), span(5, 7, "prompt_template")])
    >>> [(span["start"], span["end"], span["source"]) for span in spans]
    [(0, 2, 'prompt_template'), (2, 2, 'masked'), (2, 4, 'prompt_template')]

    """
    out: list[_Span] = []
    start, last_text = 0, None
    for span in marked:
        text = (span["message"], span["part"])
        start = start if text == last_text else 0
        end = start + (0 if span["source"] in _MASKED else span["end"] - span["start"])
        out.append({**span, "start": start, "end": end})
        start, last_text = end, text
    return out if _merged(out) == _merged(spans) else list(spans)


def _merged(spans: Sequence[_Span]) -> list[_Span]:
    """Drop empty spans, and join neighbours of one origin."""
    out: list[_Span] = []
    for span in spans:
        if span["start"] == span["end"]:
            continue
        if out and {**out[-1], "start": 0, "end": 0} == {**span, "start": 0, "end": 0}:
            out[-1] = {**out[-1], "end": span["end"]}
        else:
            out.append(dict(span))
    return out
