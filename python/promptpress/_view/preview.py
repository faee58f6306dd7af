"""What `Renderer.preview` returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptpress._view.prompt import Prompt

# What shows prompts is imported when they are shown: whoever imports promptpress mostly renders.

__all__ = ["Preview"]


class Preview:
    """Some prompts to look at: coloured by where their pieces come from in notebooks, text elsewhere.

    Made by `Renderer.preview`. Nothing of a value is markup: it is escaped, and characters that can't be seen, or that
    would steer a terminal, are shown as Python writes them.

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
        from promptpress._view.layout import Layout  # noqa: PLC0415
        from promptpress._view.lines import plain  # noqa: PLC0415

        blocks = ["\n".join(map(plain, Layout().prompt(prompt))) for prompt in self._prompts]
        return "\n\n".join(blocks) if blocks else "no prompts"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from promptpress._view.html import STYLESHEET, legend_html, prompt_html  # noqa: PLC0415

        shown = "".join(map(prompt_html, self._prompts)) or "<p>no prompts</p>"
        return f"<style>{STYLESHEET}</style>{legend_html(self._prompts)}{shown}"
