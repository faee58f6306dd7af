"""Prompts of a renderer and its samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa

from promptpress import _core
from promptpress._configuration import Configuration
from promptpress._core import Position, RenderError
from promptpress._errors import of_row, render_error
from promptpress._label_values import label_or_text, labels_of
from promptpress._renderer import Renderer
from promptpress._tables import for_core
from promptpress._to_pylist import to_pylist
from promptpress._view.masks import marking, with_masked
from promptpress._view.pieces import as_request, prompt_of
from promptpress._view.prompt import Prompt
from promptpress._view.prompt_source import RequestBatch
from promptpress._view.sample_rows import SampleRows

__all__ = ["RendererSource"]

_JOINTS = ("ice_separator", "ice_eos_token", "prompt_eos_token")


class RendererSource:
    """The prompts that a renderer makes of samples, with their origins.

    One sample is rendered without the others: labels that are a column's values are taken once, and the choice of a
    retriever that goes by position is handed over. Of a conversation whose later turns hold the model's own replies
    there is the first turn.

    Args:
        renderer: What renders.
        rows: The samples.

    >>> from promptpress._view.sample_rows import TableRows
    >>> source = RendererSource(Renderer("Q: {q}"), TableRows(pa.table({"q": ["1+1", "2+2"]})))
    >>> [piece.text for piece in source.prompts(1)[0].pieces]
    ['Q: ', '2+2']

    """

    has_origins = True

    def __init__(self, renderer: Renderer, rows: SampleRows) -> None:
        renderer._configuration.refuse_chat("a look at prompts by their origins")
        self.renderer = renderer
        self.rows = rows
        self._chosen: Any = ()
        self._shots = "promptpress.shots"
        while self._shots in rows.schema.names:
            self._shots += "_"

    @property
    def num_samples(self) -> int:
        """How many samples there are."""
        return self.rows.num_rows

    @cached_property
    def labels(self) -> list[Any] | None:
        """The labels of ppl; None for gen."""
        name = self.renderer._core.label_column
        if name is None:
            return self.renderer._core.labels
        schema = pa.schema([field for field in self.rows.schema if field.name == name])
        batches = [batch.select(schema.names) for batch in self.rows.batches()] if len(schema) else []
        table = pa.Table.from_batches(batches, schema)
        return labels_of(self.renderer._core, table, for_core(table)[0])

    @cached_property
    def _one(self) -> Renderer:
        """A renderer that needs no more than the row."""
        configuration = self.renderer._configuration
        if not configuration.core.by_position:
            return self.renderer
        settings = configuration.settings
        retriever = settings["retriever"] or {}
        joints = {name: retriever[name] for name in _JOINTS if name in retriever}
        return _renderer(configuration, {"retriever": {"type": "IndexColumn", "column": self._shots, **joints}})

    @cached_property
    def _marking(self) -> Renderer | None:
        return marking(self._one)

    def prompts(self, row: int, label: Any = None, turn: int | None = None) -> list[Prompt]:
        """Return the requests of one sample, as `PromptSource.prompts`."""
        table = self._row(row)
        try:
            return self._prompts(table, row, label, turn)
        except RenderError as error:
            raise of_row(error, row) from None

    def taken_for_templates(self, row: int) -> list[str]:
        """Name the columns whose values were looked into for placeholders, with another prompt for it.

        Args:
            row: The sample's number.

        Returns:
            The columns, as `Renderer.divergence` has them; none where values aren't looked into.

        >>> from promptpress._view.sample_rows import TableRows
        >>> rows = TableRows(pa.table({"q": ["1+1", "{a}?"], "a": ["2", "4"]}))
        >>> source = RendererSource(Renderer("Q: {q}"), rows)
        >>> source.taken_for_templates(0), source.taken_for_templates(1)
        ([], ['q'])

        """
        if self.renderer._configuration.settings["substitution"] != "harness":
            return []
        table, lower = for_core(self._row(row))
        found = self._one._core.divergence(table, self.labels, lower).to_pylist()
        return [name for one in found for name in one["columns"]]

    def _prompts(self, table: pa.Table, row: int, label: Any, turn: int | None) -> list[Prompt]:
        core_table, lower = for_core(table)
        labels = self.labels
        requests: list[tuple[Any, Any, int | None]] = []
        for part in _outcomes(self._one._core, core_table, labels, Position(), lower):
            shown: Sequence[Any] = [None] * len(part.prompts) if part.labels is None else part.labels.to_pylist()
            turns: Sequence[Any] = [None] * len(part.prompts) if part.turns is None else part.turns.to_pylist()
            requests += zip(to_pylist(part.prompts), shown, turns, strict=True)
        kept = list(range(len(requests)))
        if label is not None and labels is None:
            raise render_error("unknown_label", "there are no labels: only ppl has some")
        if label is not None or turn is not None:
            # What isn't there is told as `explain` tells it.
            self._one._core.explain(core_table, 0, labels, label_or_text(label), turn, lower)
        if label is not None and labels is not None:
            kept = [_place(labels, [own for _, own, _ in requests], label)]
        if turn is not None:
            kept = [at for at in kept if requests[at][2] == turn]
        prompts = []
        for at in kept:
            request, shown_label, own_turn = requests[at]
            own_label = None if labels is None else labels[at]
            spans = self._spans(core_table, labels, own_label, own_turn, lower)
            prompts.append(self._prompt(request, row, spans, shown_label, own_turn))
        return prompts

    def _spans(
        self, table: pa.Table, labels: list[Any] | None, label: Any, turn: int | None, lower: Any
    ) -> list[dict[str, Any]]:
        spans = self._one._core.explain(table, 0, labels, label, turn, lower).to_pylist()
        if self._marking is None:
            return list(spans)
        try:
            marked = self._marking._core.explain(table, 0, labels, label, turn, lower).to_pylist()
        except RenderError:
            return list(spans)
        return with_masked(spans, marked)

    def _prompt(self, request: Any, row: int, spans: Any, label: Any, turn: int | None) -> Prompt:
        is_json = self.renderer._configuration.settings["output"] == "messages_json"
        return prompt_of(as_request(request, is_json=is_json), row, spans, label=label, turn=turn)

    def request(self, value: Any, sample: int, label: Any = None, turn: int | None = None) -> Prompt:
        """Make a prompt without origins, as `PromptSource.request`."""
        return self._prompt(value, sample, (), label, turn)

    def requests(self) -> Iterator[RequestBatch]:
        """Go through all requests, as `PromptSource.requests`."""
        core, labels, position, first = self.renderer._core, self.labels, Position(), 0
        times = 1 if labels is None else len(labels)
        for batch in self.rows.batches():
            table, lower = for_core(pa.Table.from_batches([batch]), first)
            for part in _outcomes(core, table, labels, position, lower):
                samples = part.samples
                if samples is None:
                    samples = _core.repeated_rows(part.start, part.rows, times)
                elif core.wants_replies:  # which count from the batch's first row
                    samples = pa.array([first + sample for sample in samples.to_pylist()], pa.int64())
                yield RequestBatch(samples, part.prompts, part.labels, part.turns, "own")
            first += batch.num_rows

    def _row(self, row: int) -> pa.Table:
        table = self.rows.row(row)
        if not self.renderer._core.by_position:
            return table
        if row >= len(self._chosen):
            # Draws go on from one sample to the next: asking for twice as many spares most of drawing again.
            self._chosen = self.renderer.retrieve(max(row + 1, min(2 * row, self.num_samples)))
        return table.append_column(self._shots, self._chosen.slice(row, 1))


def _renderer(configuration: Configuration, changed: dict[str, Any]) -> Renderer:
    renderer = Renderer.__new__(Renderer)
    renderer._set(Configuration({**configuration.settings, **changed}, configuration.examples, configuration.tokens))
    return renderer


def _outcomes(
    core: _core.CompiledRenderer, table: pa.Table, labels: list[Any] | None, position: Position, lower: Any
) -> list[_core.Outcome]:
    if core.wants_replies:
        none = pa.array([[]] * len(table), pa.large_list(pa.large_string()))
        return core.turn(table, 0, none, lower)
    return core.render(table, labels, position, False, lower)


def _place(labels: Sequence[Any], shown: Sequence[Any], label: Any) -> int:
    """Which of the labels is meant: the very one, else an equal one, else the one that the label column shows so."""
    wanted = label_or_text(label)
    rules = (
        lambda at: type(labels[at]) is type(wanted) and labels[at] == wanted,
        lambda at: labels[at] == wanted,
        lambda at: str(shown[at]) == str(wanted),
    )
    for rule in rules:
        for at in range(len(labels)):
            if rule(at):
                return at
    raise render_error("unknown_label", f"there is no label {label!r}")
