"""Some samples with their requests, and what several checks want to know of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from promptpress import _compute as pc
from promptpress import _core
from promptpress._audit.shown import Shown
from promptpress._audit.subject import Subject
from promptpress._audit.texts import Texts, is_text, request_texts, texts_within
from promptpress._core import Outcome, RenderError
from promptpress._sample_numbers import sample_numbers
from promptpress._shared_property import shared_property

__all__ = ["Batch", "Columns", "Requests"]


class Requests:
    """Requests of some samples.

    Args:
        subject: What is audited.
        part: What was rendered.

    """

    def __init__(self, subject: Subject, part: Outcome) -> None:
        self._subject = subject
        self._times = 1 if subject.labels is None else len(subject.labels)
        self.part = part

    @property
    def start(self) -> int:
        """The first sample."""
        return self.part.start

    @property
    def stop(self) -> int:
        """The sample after the last."""
        return self.part.start + self.part.rows

    @shared_property
    def prompts(self) -> pa.Array:
        """The requests, as they come out."""
        return self._subject.renderer._configuration.prompts(self.part, self._times)

    @shared_property
    def samples(self) -> pa.Array:
        """The sample of each request, by its number among all."""
        return sample_numbers(self.part, self._times)

    @shared_property
    def texts(self) -> list[Texts]:
        """The texts of the requests, with the numbers of their requests among these."""
        return request_texts(self.prompts, is_json=self._subject.is_json)

    @property
    def messages(self) -> pa.Array:
        """The requests before a chat template makes texts of them."""
        return self.part.prompts

    @shared_property
    def message_texts(self) -> list[Texts]:
        """Their texts, likewise."""
        if self._subject.renderer._configuration.chat is None:
            return self.texts
        return request_texts(self.messages, is_json=False)


class Columns:
    """Rows, and the texts within their columns.

    Args:
        rows: The rows.

    """

    def __init__(self, rows: pa.RecordBatch) -> None:
        self.samples = rows
        self._texts: dict[str, list[Texts]] = {}

    def column(self, name: str) -> pa.Array:
        """The values of one column."""
        return self.samples.column(self.samples.schema.get_field_index(name))

    def texts(self, name: str) -> list[Texts]:
        """The texts within one column, with the numbers of their rows among these."""
        if name not in self._texts:
            self._texts[name] = list(texts_within(self.column(name)))
        return self._texts[name]

    @property
    def names(self) -> list[str]:
        """The columns whose values stand in requests."""
        raise NotImplementedError

    def visible(self, name: str, rows: pa.Array) -> pa.Array:
        """Keep the rows in which the value of a column stands in a request.

        Args:
            name: One of `names`.
            rows: Numbers of rows among these, ascending.

        Returns:
            Those of them.

        """
        raise NotImplementedError

    def said(self, name: str, texts: Texts, places: pa.Array) -> pa.Array:
        """Keep the texts within a column that stand in a request.

        Args:
            name: One of `names`.
            texts: Texts within the column.
            places: Numbers of such texts, ascending.

        Returns:
            Those of them.

        """
        rows = texts.rows(places).cast(pa.int64())
        kept = self.visible(name, pc.unique(rows))
        return places if len(kept) == len(pc.unique(rows)) else places.filter(pc.is_in(rows, value_set=kept))

    def is_flat(self, name: str) -> bool:
        """Whether the values of a column are texts themselves, so that a place in one is a place in the value."""
        kind = self.samples.schema.field(name).type
        return is_text(kind.value_type if pa.types.is_dictionary(kind) else kind)

    def numbers(self, rows: pa.Array) -> pa.Array:
        """Numbers of rows as users count them, each once and ascending, of numbers among these."""
        unique = pc.unique(rows.cast(pa.int64()))
        return unique.take(pc.sort_indices(unique))


class Batch(Columns):
    """Some samples with their requests.

    Args:
        subject: What is audited.
        samples: The samples.
        first: The number of the first.
        parts: What was rendered of them.
        taken: The samples as the core takes them, what gives the texts of columns that it has none for, and the place
            of the first sample with the retriever's draws up to there.

    """

    def __init__(
        self,
        subject: Subject,
        samples: pa.RecordBatch,
        first: int,
        parts: Sequence[Outcome],
        taken: tuple[pa.Table, Callable[..., Any], _core.Position],
    ) -> None:
        super().__init__(samples)
        self.subject = subject
        self.first = first
        self.core_table, self.lower, self._position = taken
        self.requests = [Requests(subject, part) for part in parts]

    @property
    def stop(self) -> int:
        """The number of the sample after the last."""
        return self.first + len(self.core_table)

    @shared_property
    def divergence(self) -> tuple[pa.Array, pa.Array]:
        """The samples whose prompt depends on braces in values, by numbers in this batch, and the columns of each."""
        found = self.subject.core.divergence(self.core_table, self.subject.labels, self.lower)
        return found.column(0), found.column(1)

    @shared_property
    def shown(self) -> Shown:
        """The columns that these samples' requests show."""
        return Shown.of(self.subject, self.core_table, self._position, self.lower)

    @property
    def names(self) -> list[str]:
        """The columns whose values stand in requests of these samples."""
        return list(self.shown.columns)

    def texts(self, name: str) -> list[Texts]:
        """The texts within one column, of the rows whose requests show it: others needn't be texts at all."""
        mask = self.shown.columns.get(name)
        if mask is not None and name not in self._texts:
            self._texts[name] = [texts.of_rows(mask) for texts in super().texts(name)]
        return super().texts(name)

    def visible(self, name: str, rows: pa.Array) -> pa.Array:
        """Keep the rows in which the value of a column stands in a request."""
        mask = self.shown.columns[name]
        return rows if mask is None or not len(rows) else rows.filter(mask.take(rows))

    def said(self, name: str, texts: Texts, places: pa.Array) -> pa.Array:
        """Keep the texts within a column that stand in a request."""
        places = super().said(name, texts, places)
        if not len(places) or self.is_flat(name) or not self.subject.is_conversation:
            return places
        # A conversation doesn't show all turns of its columns: the last answer, for example.
        rows = texts.rows(places).to_pylist()
        wanted = pa.array(set(rows), pa.int64())
        requests: dict[int, list[str]] = {row: [] for row in rows}
        for part in self.requests:
            numbers = pc.subtract(part.samples, self.first)
            for said in part.message_texts:
                of_rows = numbers if said.parents is None else numbers.take(said.parents)
                here = pc.is_in(of_rows, value_set=wanted)
                own = zip(of_rows.filter(here).to_pylist(), said.array.filter(here).to_pylist(), strict=True)
                for row, text in own:
                    requests[row].append(text or "")
        values = texts.array.take(places).to_pylist()
        kept = [any(value in text for text in requests[row]) for row, value in zip(rows, values, strict=True)]
        return places.filter(pa.array(kept))

    @shared_property
    def spans(self) -> list[pa.Array]:
        """The spans of the requests of each part, in detail."""
        parts = self.subject.core.render(
            self.core_table, self.subject.labels, self._position.copy(), False, self.lower, True
        )
        return [part.spans for part in parts]

    @shared_property
    def answers(self) -> pa.Array:
        """A hash of each sample's answer; null where there is no column of answers."""
        name = self.subject.output_column
        if name is None:
            return pa.nulls(self.samples.num_rows, pa.binary())
        return _core.content_hashes(pa.table(self._columns([name])), False).cast(pa.binary())

    def _columns(self, names: Sequence[str]) -> dict[str, pa.Array]:
        return {name: self.column(name) for name in names}

    def explained(self, row: int) -> list[dict[str, Any]]:
        """Say where the bytes of a sample's first request come from, before a chat template.

        Args:
            row: The sample's number among all.

        Returns:
            The spans of `Renderer.explain`; none for a row that can't be explained.

        """
        core, labels = self.subject.core, self.subject.labels
        try:
            found = core.explain(self.core_table, row - self.first, labels, None, None, self.lower, self.first)
        except RenderError:
            return []
        spans: list[dict[str, Any]] = found.to_pylist()
        return spans

    def numbers(self, rows: pa.Array) -> pa.Array:
        """Numbers of rows among all samples, each once and ascending, of numbers in this batch."""
        return pc.add(super().numbers(rows), self.first)
