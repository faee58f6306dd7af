"""Runs of configured renderers: samples through the compiled configuration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from promptpress._arrow.core_tables import for_core
from promptpress._config.configuration import Configuration
from promptpress._core import RenderedRows, StreamState
from promptpress._engine.options import RenderOptions
from promptpress._engine.run import Part, Run

if TYPE_CHECKING:
    from promptpress._engine.chat_stage import ChatStage


class ConfiguredRun(Run):
    """Renders samples by a configuration."""

    def __init__(
        self,
        configuration: Configuration,
        chat: ChatStage | None,
        labels: list[Any] | None,
        options: RenderOptions,
        first: int = 0,
        *,
        counts: bool = False,
    ) -> None:
        super().__init__(first)
        self.configuration = configuration
        self.chat = chat
        self.labels = labels
        self.options = options
        self.position = StreamState(counts)
        if labels is not None:
            self.times = len(labels)
        if first:
            configuration.core.skip(self.position, first)

    @property
    def writes_json(self) -> bool:
        return self.configuration.writes_json

    def parts(self, table: pa.Table, first: int, *, single: bool = False) -> Iterator[RenderedRows | Part]:
        """Render the next samples, as `Run.parts`; those between them and the last ones count as rendered."""
        if first > self.position.rows:
            self.configuration.core.skip(self.position, first - self.position.rows)
        core_table, python_text = for_core(table, first)
        options, hashes, detail = self.options, self.options.hashes, self.options.span_detail
        if self.chat is not None:
            # The hashes are those of the texts, and their spans need to know which message is whose.
            hashes, detail = False, None if detail is None else True
        outcomes = self.configuration.core.render(
            core_table,
            self.labels,
            self.position,
            single,
            python_text,
            detail,
            hashes,
            options.collects_errors,
        )
        # What was read is let go before it is written: a batch may be most of the memory there is.
        del table, core_table, python_text
        outcomes.reverse()
        while outcomes:
            yield outcomes.pop() if self.chat is None else self.chat.finished(outcomes.pop(), self.times, options)
