"""A check that a run counts the rows whose values were filled in."""

from __future__ import annotations

from typing import Any

import promptpress as pp


def check_last_run(renderer: pp.Renderer, divergent: list[dict[str, Any]]) -> None:
    """A run counts the rows that `divergence` finds, and names the first with its columns."""
    filled = renderer.last_run
    assert filled is not None
    assert not filled.is_partial
    first = (divergent[0]["row"], tuple(divergent[0]["columns"])) if divergent else (None, ())
    assert (filled.rows, filled.first_row, filled.columns) == (len(divergent), *first)
