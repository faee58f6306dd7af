"""The columns of a row that its prompt doesn't show, as HTML next to the prompt."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from promptpress_workbench.prompts.escapes import one_line, visible
from promptpress_workbench.prompts.prompt import Prompt

_MAX_TEXT = 2000


def columns_html(values: Mapping[str, Any], prompts: Iterable[Prompt]) -> str:
    """Return the names and values of the columns that no prompt of the row shows; nothing if there are none.

    >>> from promptpress_workbench.prompts.prompt import Piece
    >>> columns_html({"q": "1+1", "a": 2}, [Prompt(0, "1+1", (Piece("1+1", "field", "q"),))])
    '<dl class="pp-values"><dt>a</dt><dd>2</dd></dl>'

    """
    pieces = [piece for prompt in prompts for piece in prompt.all_pieces()]
    in_prompt = {piece.column for piece in pieces if piece.example is None and not piece.masked}
    rows = [
        f"<dt>{escape(one_line(name))}</dt><dd>{escape(visible(_text(value)))}</dd>"
        for name, value in values.items()
        if name not in in_prompt
    ]
    return f'<dl class="pp-values">{"".join(rows)}</dl>' if rows else ""


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    left = len(text) - _MAX_TEXT
    return text if left <= 0 else f"{text[:_MAX_TEXT]}… {left:,} more characters"
