"""What one open page shows: a choice, another to compare it with, a label, and maybe what a search found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from promptpress import _compute as pc
from promptpress import to_pylist
from promptpress._view.pieces import as_request, prompt_of
from promptpress._view.prompt import Prompt
from promptpress._view.prompt_source import RequestBatch
from promptpress._viewer.catalogue import Choice
from promptpress._viewer.row_finder import RowFinder
from promptpress._viewer.sample_store import SampleStore
from promptpress._viewer.search import Search
from promptpress._viewer.sources import Source, Sources

LINE = 300
"""Characters of a prompt that a line of the list shows."""

_COMPARED = 50  # first prompts whose common beginning is left out in the list
_SAID = 24  # characters that are said again and again all the same


class View:
    """The state of a page.

    Args:
        store: the samples.
        sources: the prompts of each choice.
        choice: what is shown first.

    """

    def __init__(self, store: SampleStore, sources: Sources, choice: Choice) -> None:
        self.store = store
        self.sources = sources
        self.choice = choice
        self.other: Choice | None = None
        self.label: str | None = None
        self.finder: RowFinder | None = None
        self._beginnings: dict[tuple[Choice, str | None], str] = {}

    @property
    def source(self) -> Source:
        """The prompts of what is chosen."""
        return self.sources.of(self.choice)

    @property
    def search(self) -> Search | None:
        """The search whose rows the list shows, if it does."""
        return self.finder if isinstance(self.finder, Search) else None

    def count(self) -> int | None:
        """Say how many lines the list has; None while nobody knows."""
        return self.total() if self.finder is None else len(self.finder.found)

    def total(self) -> int | None:
        """Say how many samples there are; None while nobody knows."""
        if self.sources.is_rendered and self.store.done:
            return self.source.num_samples
        return self.store.num_rows

    def labels_of(self, choice: Choice) -> list[str]:
        """Give the labels of a choice's prompts as they are shown; none where there are none.

        Args:
            choice: the choice.

        Raises:
            FileError: when a file can't be read any more.
            promptpress.TemplateError: when the parts of the choice don't go together.
            RenderError: when the first sample can't be rendered.

        """
        source = self.sources.of(choice)
        self.store.wait(1)
        if not self.store.ready:
            return []
        return [prompt.label for prompt in source.prompts(0) if prompt.label is not None]

    def row_of(self, line: int) -> int:
        """Say which sample stands in a line of the list."""
        return line if self.finder is None else self.finder.found[line]

    def lines(self, start: int, stop: int) -> list[dict[str, Any]]:
        """Give some lines of the list.

        Args:
            start: the first.
            stop: the line after the last.

        Returns:
            Of each the line, the sample's row, the size of its first request and its beginning.

        Raises:
            RenderError: if one can't be rendered.

        """
        if self.finder is None:
            self.store.wait(stop, 30.0)
            return list(self._lines(start, stop))
        around = self.search
        return [line for row in self.finder.found[start:stop] for line in self._lines(row, row + 1, around)]

    def _lines(self, start: int, stop: int, around: Search | None = None) -> Iterator[dict[str, Any]]:
        last = None
        beginning = self._beginning() if around is None else ""
        for batch in self.source.window(start, stop):
            kept = batch if self.label is None else _of_label(batch, self.label)
            sizes = _sizes(kept.prompts)
            for at, row in enumerate(kept.samples.to_pylist()):
                if row != last:
                    (value,) = to_pylist(kept.prompts.slice(at, 1))
                    text = _excerpt(_text(value), beginning, around)
                    yield {"row": row, "size": sizes[at], "text": text}
                last = row

    def _beginning(self) -> str:
        """Give what the first prompts all begin with, which says nothing of any of them in the list."""
        key = (self.choice, self.label)
        if key not in self._beginnings:
            source = self.source
            self.store.wait(_COMPARED, 1.0)
            texts = []
            for batch in source.window(0, min(_COMPARED, self.store.ready)):
                kept = batch if self.label is None else _of_label(batch, self.label)
                texts += [_text(value) for value in to_pylist(kept.prompts)]
            common = _common(min(texts), max(texts)) if len(texts) > 1 else ""
            self._beginnings[key] = common[: common.rfind(" ") + 1] if len(common) > _SAID else ""
        return self._beginnings[key]

    def prompts(self, row: int, *, other: bool = False) -> list[Prompt]:
        """Give the requests of one sample: all of them, or the label's.

        Args:
            row: the sample.
            other: whether the other choice's are meant.

        Returns:
            The prompts, with their origins.

        Raises:
            RenderError: if one can't be rendered.

        """
        choice = self.other if other and self.other is not None else self.choice
        found = self.sources.of(choice).prompts(row)
        labels = {prompt.label: prompt for prompt in found if prompt.label is not None}
        return [labels[self.label]] if self.label in labels else found


def _of_label(batch: RequestBatch, label: str) -> RequestBatch:
    if batch.labels is None:
        return batch
    mask = pc.fill_null(pc.equal(batch.labels.cast(pa.string()), label), False)
    turns = None if batch.turns is None else batch.turns.filter(mask)
    return RequestBatch(batch.samples.filter(mask), batch.prompts.filter(mask), batch.labels.filter(mask), turns)


def _sizes(prompts: pa.Array) -> Sequence[int]:
    if pa.types.is_string(prompts.type) or pa.types.is_large_string(prompts.type):
        sizes: list[int] = pc.fill_null(pc.binary_length(prompts), 0).to_pylist()
        return sizes
    return [prompt_of(as_request(value, is_json=None), 0).bytes for value in to_pylist(prompts)]


def _text(value: Any) -> str:
    """Give a request as one text: of messages the roles and what they say."""
    request = as_request(value, is_json=None)
    if isinstance(request, str) or request is None:
        return request or ""
    prompt = prompt_of(request, 0)
    return "\n".join(f"{message.role or ''}: {message.text}" for message in prompt.messages or ())


def _excerpt(text: str, beginning: str, around: Search | None) -> str:
    """Give a line of a text: what stands around that which was found, or what follows what all begin with."""
    if around is not None:
        wanted, within = (_lower(around.wanted), _lower(text)) if around.ignore_case else (around.wanted, text)
        place = within.find(wanted)
        if place > LINE // 8:
            return "…" + text[place - LINE // 16 : place + LINE]
    elif beginning and text.startswith(beginning) and len(text) > len(beginning):
        return "…" + text[len(beginning) : len(beginning) + LINE]
    return text[:LINE]


def _lower(text: str) -> str:
    """Give a text in lower case, each character in its place: the dotted capital I alone would become two."""
    return text.replace("\u0130", "\ufdd0").lower()


def _common(one: str, other: str) -> str:
    """Give what two texts both begin with."""
    same = (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return one[: next(same, min(len(one), len(other)))]
