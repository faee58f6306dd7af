"""The state of one open page: a choice, another to compare it with, a label, a row, and what the list shows."""

from __future__ import annotations

import os.path
import re
from argparse import ArgumentTypeError
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa
from promptpress import DataError, RenderError, Statistics, to_pylist
from promptpress.engine.errors import counted, reason

from promptpress_workbench.audit.findings import Finding
from promptpress_workbench.prompts.escapes import one_line, printable
from promptpress_workbench.prompts.failed_rows import row_values
from promptpress_workbench.prompts.kinds import described, kind_of, with_speakers
from promptpress_workbench.prompts.prepared_source import ATTENTION, LABELS, MASKS
from promptpress_workbench.prompts.prompt import Piece, Prompt, as_request, prompt_of
from promptpress_workbench.prompts.prompt_source import RequestFilter
from promptpress_workbench.prompts.stylesheet import COLORS
from promptpress_workbench.viewer.search import (
    DifferenceSearch,
    RowFinder,
    RowSearch,
    Wanted,
    request_sizes,
    value_text,
)
from promptpress_workbench.viewer.sources import (
    Catalogue,
    Choice,
    SampleStore,
    Source,
    Sources,
    StoredPrepared,
    StoredRendered,
)

_LINE = 300  # characters of a prompt in a line of the list
_MIN_COMMON = 24  # characters of a common beginning that stays in the list

_ROLE = re.compile(r"\s*(user|human)\n", re.IGNORECASE)
"""The name of the user's role, as it stands between control tokens."""

_MAX_SHARES = 14
_MAX_VALUES = 200  # values of a column that are offered
_MAX_READ = 20_000  # rows whose values are counted for that

TABS = ("prompts", "compare", "lengths", "duplicates", "audit")
_CHOICES = [field.name for field in fields(Choice)]
_WITH = "with_"
"""The beginning of the names of the other choice in an address."""


class View:
    """The state of one open page; prompts come from `sources`, samples from `store`."""

    def __init__(self, store: SampleStore, sources: Sources, choice: Choice, other: Choice | None = None) -> None:
        self.store = store
        self.sources = sources
        self.choice = choice
        self.other = other or choice
        self.label: str | None = None
        self.tab = "prompts"
        self.row = 0
        """The row whose prompt is shown."""
        self.wanted = Wanted()
        self.finder: RowFinder | None = None
        self._first = (self.choice, self.other)

    @property
    def source(self) -> Source:
        return self.sources.of(self.choice)

    def address(self) -> str:
        """Return the page's address after its token, from whose query `follow` makes the same state."""
        state = {"tab": self.tab if self.tab != "prompts" else "", "row": str(self.row or ""), "label": self.label}
        state |= asdict(self.wanted)
        for prefix, choice, first in zip(("", _WITH), (self.choice, self.other), self._first, strict=True):
            values = ((name, getattr(choice, name)) for name in _CHOICES)
            state |= {prefix + name: value or "" for name, value in values if value != getattr(first, name)}
        as_configured = {name for name, value in state.items() if value == "" and name.removeprefix(_WITH) in _CHOICES}
        query = urlencode({name: value for name, value in state.items() if value or name in as_configured})
        return f"?{query}" if query else "."

    def follow(self, query: Mapping[str, str], catalogue: Catalogue | None) -> None:
        """Take the state from the query of an address; what can't be is left out."""
        self.tab = query.get("tab", self.tab) if query.get("tab") in TABS else self.tab
        row = query.get("row", "")
        self.row = int(row) if row.isascii() and row.isdigit() and len(row) < 16 else 0
        self.label = query.get("label") or None
        wanted = {field.name: query.get(field.name, "") for field in fields(Wanted)}
        patterns = {"untrained": "yes", "bytes": r"\d{1,15}-\d{1,15}", "order": "longest|shortest", "case": "yes"}
        for name, pattern in patterns.items():
            wanted[name] = wanted[name] if re.fullmatch(pattern, wanted[name], re.ASCII) else ""
        self.wanted = Wanted(**wanted)
        for side, prefix in (("choice", ""), ("other", _WITH)):
            given = {name: query[prefix + name] for name in _CHOICES if prefix + name in query}
            if catalogue is not None:
                changes = {name: value or None for name, value in given.items() if catalogue.knows(name, value)}
                setattr(self, side, getattr(self, side).changed(**changes))

    def start_search(self, parse_rows: Callable[[str], list[int]]) -> None:
        """Begin to look for the rows that are wanted; without conditions the list has all rows."""
        if self.finder is not None:
            self.finder.cancel()
        self.finder, wanted = None, self.wanted
        if wanted == Wanted():
            return
        try:
            rows = parse_rows(wanted.rows) if wanted.rows else None
        except ArgumentTypeError as error:
            raise DataError(str(error)) from error
        names = ["error", *self.store.schema.names]
        if wanted.column and wanted.column not in names:
            raise DataError(f"{wanted.column}: there is no such column; there are {', '.join(names)}")
        tokens = self.sources.tokens
        if tokens is None and (wanted.token or wanted.untrained):
            raise DataError("tokens are looked for with a tokenizer: --tokenizer names it")
        if tokens is not None and wanted.token and not tokens.ids_of(wanted.token):
            raise DataError(f"{wanted.token}: the tokenizer has no such token")
        self.finder = RowSearch(self.source, wanted, rows=rows, label=self.label, tokens=tokens)

    def start_comparison(self) -> None:
        """Begin to look for the rows for which the two choices differ."""
        if self.finder is not None:
            self.finder.cancel()
        self.wanted = Wanted()
        self.finder = DifferenceSearch(self.source, self.sources.of(self.other))

    def values_of(self, column: str) -> list[str]:
        """Return the commonest values that the first rows have in a column, as texts."""
        if column not in self.store.schema.names:
            return []
        values = Counter(map(value_text, to_pylist(self.store.rows(0, _MAX_READ).column(column))))
        return [value for value, _ in values.most_common(_MAX_VALUES)]

    @property
    def search(self) -> Wanted | None:
        """The conditions for the list if one is a text."""
        return self.wanted if self.finder is not None and self.wanted.search else None

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

    def line_of(self, row: int) -> int | None:
        """Return the line of a row in the list; None if it isn't there, or not yet."""
        if self.finder is None:
            return row
        return self.finder.rows.index(row) if row in self.finder.rows else None

    def window(self, start: int, stop: int) -> tuple[list[dict[str, Any]], str]:
        """Return the lines of the list from `start` up to `stop`, and the beginning that their texts share.

        Each line has the sample's `row`, the `size` of its first request and its `text`, which starts after the shared
        beginning; of a chat it is what the user says last. If a row can't be rendered, the text is the reason, and the
        size is None.
        """
        rows: Sequence[int] = range(start, stop) if self.finder is None else self.finder.rows[start:stop]
        try:
            if self.finder is None:
                self.store.wait(stop, 30.0)
                lines = list(self._lines(start, stop))
            else:
                lines = [line for row in rows for line in self._lines(row, row + 1)]
        except RenderError as error:  # of the whole table
            lines = [{"row": row, "size": None, "text": reason(error)} for row in rows if row < self.store.ready]
        texts = [line["text"] for line in lines if line["size"] is not None]
        shared = "" if self.search is not None else _shared_beginning(texts)
        for line in lines:
            line["text"] = _excerpt(line["text"], "" if line["size"] is None else shared, self.search)
        return lines, shared

    def _lines(self, start: int, stop: int) -> Iterator[dict[str, Any]]:
        """Yield the lines of some rows with whole texts."""
        last = None
        for batch in map(RequestFilter(self.label).apply, self.source.window(start, stop)):
            sizes = request_sizes(self.source, batch.prompts)
            for index, row in enumerate(batch.samples.to_pylist()):
                if row != last:
                    (value,) = to_pylist(batch.prompts.slice(index, 1))
                    error = None if batch.errors is None else batch.errors[index].as_py()
                    text = error or (_text(value) if self.search is not None else _last_user_text(value))
                    yield {"row": row, "size": None if error else sizes[index].as_py() or 0, "text": text}
                last = row

    def prompts(self, row: int, *, other: bool = False) -> list[Prompt]:
        """Return the requests of one sample, by the choice or by the other one: all of them, or that of the label."""
        choice = self.other if other else self.choice
        prompts = self.sources.prompts(choice, row)
        labels = {prompt.label: prompt for prompt in prompts if prompt.label is not None}
        return [labels[self.label]] if self.label in labels else prompts

    def columns(self, row: int) -> dict[str, Any]:
        """Return the columns of a sample; of a rendered one those of its first request, but for the prompt."""
        source, without = self.source, tuple[str, ...]()
        if isinstance(source, StoredPrepared):
            without = (source.ids_column, LABELS, *MASKS, ATTENTION)
        if isinstance(source, StoredRendered):
            row, without = source.requests_of(row)[0], (source.prompt_column,)
        table = source.rows.row(row)
        return dict(row_values(table, [name for name in table.column_names if name not in without]))

    def names(self) -> tuple[str, str]:
        """Return what tells the two compared choices apart."""
        pairs = {
            field.name: (getattr(self.choice, field.name), getattr(self.other, field.name)) for field in fields(Choice)
        }
        different = [(name, *pair) for name, pair in pairs.items() if pair[0] != pair[1]]
        mine, yours = ([of[side] or f"{of[0]} as configured" for of in different] for side in (1, 2))
        return ", ".join(mine), ", ".join(yours)


def _shared_beginning(texts: Sequence[str]) -> str:
    """Return the words that all texts begin with; nothing if they are few, or the texts are the same."""
    common = os.path.commonprefix(texts) if len(set(texts)) > 1 else ""  # noqa: RUF071 - of any texts
    words = common[: max(map(common.rfind, " \n\t")) + 1]
    return words if len(words) > _MIN_COMMON else ""


def _text(value: Any) -> str:
    """Return a request as one text: of messages the roles and the texts."""
    request = as_request(value, is_json=None)
    if isinstance(request, str) or request is None:
        return request or ""
    prompt = prompt_of(request, 0)
    return "\n".join(f"{message.role or ''}: {message.text}" for message in prompt.messages or ())


def _last_user_text(value: Any) -> str:
    """Return what the user says last in a chat, in messages or between control tokens; other prompts as a whole."""
    prompt = with_speakers(prompt_of(as_request(value, is_json=None), 0))
    text = ""
    last = None
    for piece in prompt.all_pieces():
        if piece.speaker == "user" and not piece.is_control:
            text = text + piece.text if last == "user" else piece.text
        last = piece.speaker
    return (text[match.end() :] if (match := _ROLE.match(text)) else text).strip() or _text(value)


def _excerpt(text: str, beginning: str, search: Wanted | None) -> str:
    """Return a line of a text: from before the match of a search on, or from after the common beginning on."""
    if search is not None:
        wanted, within = (search.search, text) if search.case else (_lowercase(search.search), _lowercase(text))
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
        size = counted(entry["tokens"], "token") if "tokens" in entry else counted(entry["bytes"], "byte")
        out.append((row, f"{size}{label}"))
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
