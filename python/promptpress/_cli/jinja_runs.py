"""How many rows of a Jinja template were compiled, and how many Jinja2 rendered: told when all are done."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import promptpress
from promptpress._view.visible import encodable, printable

if TYPE_CHECKING:
    from promptpress import ChatTemplate, JinjaTemplate

Maker: TypeAlias = "promptpress.Renderer | JinjaTemplate | ChatTemplate"
"""What makes prompts of rows."""

_Batch = TypeVar("_Batch")
_MAX_SHOWN = 5


class RunCounts:
    """Counts the rows of a template as they are rendered.

    Args:
        maker: what renders; of a renderer without a chat template nothing is counted.

    """

    def __init__(self, maker: Maker) -> None:
        self._is_renderer = isinstance(maker, promptpress.Renderer)
        self._template: Any
        if isinstance(maker, promptpress.Renderer):
            chat = maker._configuration.chat
            self._template = None if chat is None else chat.chat
        else:
            self._template = maker
        self._seen: Any = None
        self.rows = 0
        self.jinja2 = 0
        self.reasons: Counter[str] = Counter()

    def counted(self, batches: Iterable[_Batch]) -> Iterator[_Batch]:
        """Go through rendered batches, and count what they were made of.

        Args:
            batches: as the template's stream gives them.

        Yields:
            The batches.

        """
        if self._template is None:
            yield from batches
            return
        for batch in batches:
            if self._is_renderer:  # each batch is a run of its own there
                self._count()
            yield batch

    def _count(self) -> None:
        run = self._template._last_run
        if run is None or run is self._seen:
            return
        self._seen = run
        self.rows += run.rows
        self.jinja2 += run.rows - run.compiled
        self.reasons.update(run.reasons)

    def tell(self) -> None:
        """Say it in a line of standard error."""
        if self._template is not None and not self._is_renderer:
            self._count()
        if self.rows:
            line = f"promptpress: {self.told()}"
            print(encodable(printable(line), sys.stderr.encoding), file=sys.stderr)

    def told(self) -> str:
        """Say it in a line.

        Returns:
            The line.

        """
        compiled = self.rows - self.jinja2
        said = f"{compiled:,} row{'s' if compiled != 1 else ''} compiled, {self.jinja2:,} rendered by Jinja2"
        shown = [f"{reason} ({rows:,})" for reason, rows in self.reasons.most_common(_MAX_SHOWN)]
        return f"{said}: {'; '.join(shown)}" if shown else said
