"""The state of one open page: a choice, another to compare it with, a label, and a search through all prompts.

A search has a thread of its own: for a text, or for rows that differ.
"""

from __future__ import annotations

import json
import os.path
import threading
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import pyarrow as pa
from promptpress import RenderError, Statistics, to_pylist
from promptpress.engine.errors import counted, reason
from promptpress.engine.tables import is_text, without_views
from promptpress.engine.tables import lazy_compute as pc
from pyarrow import types

from promptpress_workbench.audit.findings import Finding
from promptpress_workbench.diff.comparison import Pairs, paired, unequal
from promptpress_workbench.prompts.escapes import one_line, printable
from promptpress_workbench.prompts.failed_rows import row_values
from promptpress_workbench.prompts.kinds import described, kind_of
from promptpress_workbench.prompts.layout import COLORS
from promptpress_workbench.prompts.prompt import Piece, Prompt, as_request, prompt_of
from promptpress_workbench.prompts.prompt_source import PromptSource, RequestFilter, parent_rows
from promptpress_workbench.viewer.sources import Choice, SampleStore, Source, Sources, StoredRendered

_LINE = 300  # characters of a prompt in a line of the list
_MIN_COMMON = 24  # characters of a common beginning that stays in the list

_MAX_SHARES = 14


class View:
    """The state of one open page; prompts come from `sources`, samples from `store`."""

    def __init__(self, store: SampleStore, sources: Sources, choice: Choice) -> None:
        self.store = store
        self.sources = sources
        self.choice = choice
        self.other: Choice | None = None
        self.label: str | None = None
        self.finder: RowFinder | None = None

    @property
    def source(self) -> Source:
        return self.sources.of(self.choice)

    @property
    def search(self) -> TextSearch | None:
        """The text search whose rows the list shows, if there is one."""
        return self.finder if isinstance(self.finder, TextSearch) else None

    def count(self) -> int | None:
        """Return the number of lines of the list; None while it isn't known."""
        return self.total() if self.finder is None else len(self.finder.rows)

    def total(self) -> int | None:
        """Return the number of samples; None while it isn't known."""
        if self.sources.is_rendered and self.store.done:
            return self.source.num_samples
        return self.store.num_rows

    def labels_of(self, choice: Choice) -> list[str]:
        """Return the labels of a choice's prompts; none if it has none."""
        source = self.sources.of(choice)
        self.store.wait(1)
        if not self.store.ready:
            return []
        return [prompt.label for prompt in source.prompts(0) if prompt.label is not None]

    def row_of(self, line: int) -> int:
        return line if self.finder is None else self.finder.rows[line]

    def window(self, start: int, stop: int) -> tuple[list[dict[str, Any]], str]:
        """Return the lines of the list from `start` up to `stop`, and the beginning that their texts share.

        Each line has the sample's `row`, the `size` of its first request and its `text`, which starts after the shared
        beginning. If a row can't be rendered, the text is the reason, and the size is None.
        """
        lines = self._whole_lines(start, stop)
        texts = [line["text"] for line in lines if line["size"] is not None]
        shared = "" if self.search is not None else _shared_beginning(texts)
        for line in lines:
            line["text"] = _excerpt(line["text"], "" if line["size"] is None else shared, self.search)
        return lines, shared

    def _whole_lines(self, start: int, stop: int) -> list[dict[str, Any]]:
        """Return the lines of the list with whole texts."""
        rows: Sequence[int] = range(start, stop) if self.finder is None else self.finder.rows[start:stop]
        try:
            if self.finder is not None:
                return [line for row in rows for line in self._lines(row, row + 1)]
            self.store.wait(stop, 30.0)
            return list(self._lines(start, stop))
        except RenderError as error:  # of the whole table
            return [{"row": row, "size": None, "text": reason(error)} for row in rows if row < self.store.ready]

    def _lines(self, start: int, stop: int) -> Iterator[dict[str, Any]]:
        last = None
        for batch in map(RequestFilter(self.label).apply, self.source.window(start, stop)):
            sizes = _sizes(batch.prompts)
            errors = [None] * len(batch) if batch.errors is None else batch.errors.to_pylist()
            for index, row in enumerate(batch.samples.to_pylist()):
                if row != last and errors[index] is not None:
                    yield {"row": row, "size": None, "text": errors[index]}
                elif row != last:
                    (value,) = to_pylist(batch.prompts.slice(index, 1))
                    yield {"row": row, "size": sizes[index], "text": _text(value)}
                last = row

    def prompts(self, row: int, *, other: bool = False) -> list[Prompt]:
        """Return the requests of one sample, by the choice or by the other one: all of them, or that of the label."""
        choice = self.other if other and self.other is not None else self.choice
        prompts = self.sources.of(choice).prompts(row)
        labels = {prompt.label: prompt for prompt in prompts if prompt.label is not None}
        return [labels[self.label]] if self.label in labels else prompts

    def columns(self, row: int) -> dict[str, Any]:
        """Return the columns of a sample; of a rendered one those of its first request, but for the prompt."""
        source, without = self.source, None
        if isinstance(source, StoredRendered):
            row, without = source.requests_of(row)[0], source.prompt_column
        table = source.rows.row(row)
        return dict(row_values(table, [name for name in table.column_names if name != without]))

    def names(self) -> tuple[str, str]:
        """Return what tells the two compared choices apart."""
        other = self.other or self.choice
        pairs = {field.name: (getattr(self.choice, field.name), getattr(other, field.name)) for field in fields(Choice)}
        different = [(name, *pair) for name, pair in pairs.items() if pair[0] != pair[1]]
        mine, yours = ([of[side] or f"{of[0]} as configured" for of in different] for side in (1, 2))
        return ", ".join(mine), ", ".join(yours)


def _shared_beginning(texts: Sequence[str]) -> str:
    """Return the words that all texts begin with; nothing if they are few, or the texts are the same."""
    common = os.path.commonprefix(texts) if len(set(texts)) > 1 else ""  # noqa: RUF071 - of any texts
    words = common[: max(map(common.rfind, " \n\t")) + 1]
    return words if len(words) > _MIN_COMMON else ""


def _sizes(prompts: pa.Array) -> Sequence[int]:
    if pa.types.is_string(prompts.type) or pa.types.is_large_string(prompts.type):
        sizes: list[int] = pc.fill_null(pc.binary_length(prompts), 0).to_pylist()
        return sizes
    return [prompt_of(as_request(value, is_json=None), 0).bytes for value in to_pylist(prompts)]


def _text(value: Any) -> str:
    """Return a request as one text: of messages the roles and the texts."""
    request = as_request(value, is_json=None)
    if isinstance(request, str) or request is None:
        return request or ""
    prompt = prompt_of(request, 0)
    return "\n".join(f"{message.role or ''}: {message.text}" for message in prompt.messages or ())


def _excerpt(text: str, beginning: str, search: TextSearch | None) -> str:
    """Return a line of a text: from before the match of a search on, or from after the common beginning on."""
    if search is not None:
        wanted, within = (_lowercase(search.wanted), _lowercase(text)) if search.ignore_case else (search.wanted, text)
        index = within.find(wanted)
        if index > _LINE // 8:
            start = index - _LINE // 16
            word = text.find(" ", start, index) + 1
            return "…" + text[word or start : index + _LINE]
    elif beginning:
        return "…" + text[len(beginning) : len(beginning) + _LINE]
    return text[:_LINE]


def _lowercase(text: str) -> str:
    """Lower the case of a text and keep its length: the dotted capital I alone would become two characters."""
    return text.replace("\u0130", "\ufdd0").lower()


class RowFinder(ABC):
    """Renders all prompts in a background thread and keeps the numbers of some samples, but no prompts."""

    def __init__(self) -> None:
        self.rows: array[int] = array("q")
        """The samples found so far, ascending."""
        self.seen = 0
        """The number of samples that were looked at."""
        self.failed = 0
        """The number of those that can't be rendered."""
        self.error: str | None = None
        """The reason of an early end, in one line."""
        self._cancelled = threading.Event()
        self._done = threading.Event()
        threading.Thread(target=self._run, name="promptpress-finder", daemon=True).start()

    @property
    def done(self) -> bool:
        return self._done.is_set()

    @property
    def cancelled(self) -> bool:
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Stop after the current batch; the rows found so far stay."""
        self._cancelled.set()

    def wait(self, timeout: float | None = None) -> bool:
        return self._done.wait(timeout)

    def _run(self) -> None:
        try:
            for samples, seen in self._steps():
                if self._cancelled.is_set():
                    return
                self.seen = max(self.seen, seen)  # before the rows, so that no more are found than were seen
                for sample in samples:
                    if not self.rows or sample > self.rows[-1]:
                        self.rows.append(sample)
        except Exception as error:
            self.error = reason(error)
        finally:
            self._done.set()

    @abstractmethod
    def _steps(self) -> Iterator[tuple[Iterable[int], int]]:
        """Yield the samples that a step found, ascending, and how many samples were looked at so far."""


class TextSearch(RowFinder):
    """Finds the rows with a request that holds a text: of one label, or of all if that is None."""

    def __init__(
        self, source: PromptSource, wanted: str, *, ignore_case: bool = False, label: str | None = None
    ) -> None:
        self.wanted = wanted
        self.ignore_case = ignore_case
        self._source = source
        self._filter = RequestFilter(label)
        super().__init__()

    def _steps(self) -> Iterator[tuple[Iterable[int], int]]:
        for batch in self._source.requests():
            if len(batch):
                kept = self._filter.apply(batch)
                self.failed += len(pc.unique(kept.samples.take(kept.failed)))
                matches = _matches(kept.prompts, self.wanted, ignore_case=self.ignore_case)
                yield kept.samples.filter(matches).to_pylist(), batch.samples[-1].as_py() + 1


class ErrorSearch(RowFinder):
    """Finds the rows that can't be rendered."""

    def __init__(self, source: PromptSource) -> None:
        self._source = source
        super().__init__()

    def _steps(self) -> Iterator[tuple[Iterable[int], int]]:
        for batch in self._source.requests():
            if len(batch):
                rows = pc.unique(batch.samples.take(batch.failed)).to_pylist()
                self.failed += len(rows)
                yield rows, batch.samples[-1].as_py() + 1


class DifferenceSearch(RowFinder):
    """Finds the rows for which two sources give different requests or errors, or one lacks a request."""

    def __init__(self, a: PromptSource, b: PromptSource) -> None:
        self._a, self._b = a, b
        super().__init__()

    def _steps(self) -> Iterator[tuple[Iterable[int], int]]:
        for step in paired(self._a.requests(), self._b.requests()):
            if isinstance(step, Pairs):
                samples = step.a.samples
                if step.has_errors:
                    self.failed += len(pc.unique(samples.filter(pc.or_(*step.failed))))
                yield samples.take(unequal(self._a, self._b, step)).to_pylist(), samples[-1].as_py() + 1
            else:
                yield [step.sample], step.sample + 1


def _matches(prompts: pa.Array, wanted: str, *, ignore_case: bool) -> pa.Array:
    """Return a mask of the requests of which a text holds `wanted`."""
    if not types.is_list(prompts.type) and not types.is_large_list(prompts.type):
        # Within JSON a text is escaped, in any other request it isn't.
        texts = [wanted, json.dumps(wanted, ensure_ascii=False)[1:-1]]
        masks = [_match(prompts, text, ignore_case=ignore_case) for text in dict.fromkeys(texts)]
        return masks[0] if len(masks) == 1 else pc.or_(*masks)
    numbers = pa.array(range(len(prompts)), pa.int64())
    matches = pa.array([], pa.int64())
    for texts, rows in _texts(prompts, numbers):
        matches = pa.concat_arrays([matches, rows.filter(_match(texts, wanted, ignore_case=ignore_case))])
    return pc.is_in(numbers, value_set=matches)


def _match(texts: pa.Array, wanted: str, *, ignore_case: bool) -> pa.Array:
    return pc.fill_null(pc.match_substring(without_views(texts), wanted, ignore_case=ignore_case), False)


def _texts(values: pa.Array, rows: pa.Array) -> Iterator[tuple[pa.Array, pa.Array]]:
    """Yield the texts in messages, without roles, each with the number of its request."""
    kind = values.type
    if is_text(kind):
        yield values, rows
    elif types.is_list(kind) or types.is_large_list(kind):
        yield from _texts(values.flatten(), rows.take(parent_rows(values)))
    elif types.is_struct(kind):
        for number, field in enumerate(kind):
            if field.name not in ("role", "type"):
                yield from _texts(values.field(number), rows)


def _mixed(colour: str, other: str) -> str:
    """Mix two colours, so that the result can be seen on white and on black."""
    parts = ((int(colour[i : i + 2], 16) + int(other[i : i + 2], 16)) // 2 for i in (1, 3, 5))
    return "#" + "".join(f"{part:02x}" for part in parts)


ORIGIN_COLOURS = {kind: _mixed(colours[0], colours[2]) for kind, colours in COLORS.items()} | {"unknown": "#808791"}
"""The colour of each kind of origin: the mean of its text colours, light and dark."""


@dataclass(frozen=True)
class Share:
    """The bytes of one origin in all prompts, and their share in all bytes; the kind decides the colour."""

    name: str
    kind: str
    bytes: int
    share: float


def shares_of(figures: Statistics) -> list[Share]:
    """Return the bytes of each origin, the largest first and small ones together as the last; none without origins."""
    if figures.by_origin is None:
        return []
    out = []
    for origin in figures.by_origin.to_pylist():
        piece = Piece("", origin["source"], origin["column"], None, origin["role"])
        example = Piece("", origin["source"], origin["column"], 0, None) if origin["example"] else piece
        name = described(piece) + (", in examples" if origin["example"] else "")
        out.append(Share(one_line(name), kind_of(example), origin["bytes"], origin["share"]))
    out, rest = out[:_MAX_SHARES], out[_MAX_SHARES:]
    if rest:
        both = sum(share.bytes for share in rest), sum(share.share for share in rest)
        out.append(Share(f"{len(rest)} others", "unknown", *both))
    return out


def lengths_of(table: pa.Table) -> list[tuple[int, str]]:
    """Return the rows of the longest or shortest prompts, each with its size and label."""
    out = []
    for entry in table.to_pylist():
        row = entry["request"] if entry["sample"] is None else entry["sample"]
        label = "" if entry["label"] is None else f", label {entry['label']}"
        out.append((row, f"{counted(entry['bytes'], 'byte')}{label}"))
    return out


def repeated_of(figures: Statistics) -> list[tuple[int, list[int]]]:
    """Return the size and the first rows of the largest groups of equal prompts; no rows if samples aren't known."""
    times, left = divmod(figures.requests, figures.samples or figures.requests or 1)
    groups = figures.duplicates.to_pylist()
    if left or not times:
        return [(group["requests"], []) for group in groups]
    return [(group["requests"], sorted({request // times for request in group["first"]})) for group in groups]


def listed_findings(table: pa.Table) -> list[Finding]:
    """Return the findings of a table of `Renderer.audit`, in its order, without hidden characters in their texts."""
    out = [Finding(**entry) for entry in table.to_pylist()]
    for finding in out:
        count = "" if finding.rows is None else f" ({counted(finding.rows, 'row')})"
        finding.message, finding.remedy = printable(finding.message) + count, printable(finding.remedy)
    return out
