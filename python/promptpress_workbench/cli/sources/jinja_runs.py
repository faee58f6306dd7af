"""Counts of the rows of a Jinja template that were compiled or that Jinja2 rendered, reported at the end of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import promptpress
from promptpress.engine import engine_of
from promptpress.engine.errors import counted

from promptpress_workbench.cli.shell.errors import print_error_line

if TYPE_CHECKING:
    from promptpress import ChatTemplate, JinjaTemplate
    from promptpress.engine import PromptColumn
    from promptpress.engine.tokens import TokenRenderer

RendererOrTemplate: TypeAlias = "promptpress.Renderer | JinjaTemplate | ChatTemplate"
"""The renderer of a configuration, or the template that takes the place of a configuration."""

AnyRenderer: TypeAlias = "RendererOrTemplate | PromptColumn | TokenRenderer"
"""Sources of prompts or of their tokens; the column of a file that holds prompts is one, too."""

_Batch = TypeVar("_Batch")
_MAX_REASONS = 5


class RunCounts:
    """Counts the rows of a template as they are rendered; a renderer may have a chat template."""

    def __init__(self, renderer: RendererOrTemplate) -> None:
        self._is_renderer = isinstance(renderer, promptpress.Renderer)
        self._template: Any = renderer
        if isinstance(renderer, promptpress.Renderer):
            chat = engine_of(renderer).chat
            self._template = None if chat is None else chat.template
        self._last_run: Any = None
        self.rows = 0
        self.jinja2 = 0
        self.reasons: Counter[str] = Counter()

    def counted(self, batches: Iterable[_Batch]) -> Iterator[_Batch]:
        """Yield the rendered batches, and count their rows."""
        for batch in batches:
            if self._template is not None and self._is_renderer:  # a renderer runs its template for each batch
                self._count()
            yield batch

    def _count(self) -> None:
        run = self._template.last_run
        if run is None or run is self._last_run:
            return
        self._last_run = run
        self.rows += run.rows
        self.jinja2 += run.rows - run.compiled
        self.reasons.update(run.reasons)

    def report(self) -> None:
        """Print the counts in a line of standard error, if a template was rendered."""
        if not self._is_renderer:
            self._count()
        if not self.rows:
            return
        compiled = self.rows - self.jinja2
        counts = f"{counted(compiled, 'row')} compiled, {self.jinja2:,} rendered by Jinja2"
        reasons = [f"{reason} ({rows:,})" for reason, rows in self.reasons.most_common(_MAX_REASONS)]
        print_error_line(f"promptpress: {counts}" + (f": {'; '.join(reasons)}" if reasons else ""))
