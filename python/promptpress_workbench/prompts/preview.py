"""`preview` of the renderers: some prompts, shown as text or in a notebook."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from promptpress.engine import engine_of
from promptpress.engine.errors import render_error
from promptpress.typing import TableLike

if TYPE_CHECKING:
    from promptpress.engine import TableRenderer

    from promptpress_workbench.prompts.prompt import Prompt

# The modules that make and show prompts are imported at the first preview: most programs only render.


class Preview:
    """Some prompts to look at: coloured by where their pieces come from in notebooks, text elsewhere.

    Made by `preview` of a `Renderer`, a `JinjaTemplate` or a `ChatTemplate`. Nothing of a value is markup: it is
    escaped, and characters that can't be seen, or that would steer a terminal, are shown as Python writes them.

    >>> import pyarrow as pa
    >>> from promptpress import Renderer
    >>> Renderer("Q: {q}").preview(pa.table({"q": ["1+1=?"]}))
    ── row 0 · 8 bytes · 8 characters
    Q: 1+1=?

    """

    __slots__ = ("_prompts",)

    def __init__(self, prompts: Sequence[Prompt]) -> None:
        self._prompts = tuple(prompts)

    def __len__(self) -> int:
        return len(self._prompts)

    def __str__(self) -> str:
        from promptpress_workbench.prompts.layout import Layout  # noqa: PLC0415
        from promptpress_workbench.prompts.lines import plain  # noqa: PLC0415

        blocks = ["\n".join(map(plain, Layout().prompt(prompt))) for prompt in self._prompts]
        return "\n\n".join(blocks) if blocks else "no prompts"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from promptpress_workbench.prompts.html import STYLESHEET, legend_html, prompt_html  # noqa: PLC0415

        body = "".join(map(prompt_html, self._prompts)) or "<p>no prompts</p>"
        return f"<style>{STYLESHEET}</style>{legend_html(self._prompts)}{body}"


def preview_of(
    renderer: TableRenderer[Any],
    samples: TableLike,
    n: int,
    *,
    rows: Sequence[int] | None,
    label: object = None,
    turn: int | None = None,
) -> Preview:
    """Render and explain some samples for `preview`."""
    from promptpress_workbench.prompts.sample_rows import TableRows  # noqa: PLC0415
    from promptpress_workbench.prompts.sources import source_of  # noqa: PLC0415

    source = source_of(renderer, TableRows(samples, engine_of(renderer).value_reading))
    if operator.index(n) < 0:
        raise render_error("invalid_number", f"n: expected a number from 0 on, found {n}")
    numbers = range(min(n, source.num_samples)) if rows is None else [operator.index(row) for row in rows]
    turn = None if turn is None else operator.index(turn)
    if turn is not None and turn < 0:
        raise render_error("turn_out_of_range", "turn: turns count from 0")
    return Preview([prompt for row in numbers for prompt in source.prompts(row, label, turn)])
