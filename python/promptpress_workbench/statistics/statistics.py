"""`promptpress.Statistics` and `promptpress.LengthSummary`, with their reports: a page of text, and HTML for notebooks.

Cells of reports may hold names and labels of the data, so all of them are escaped for their place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import pyarrow as pa
from promptpress.engine.errors import counted

from promptpress_workbench.prompts.escapes import cells, printable

BLOCKS = " ▏▎▍▌▋▊▉█"
"""The characters of bars: from nothing to a whole block, by eighths."""

_MIN_WIDTH = 80
_MIN_BAR = 10
_MAX_BAR = 60
_MAX_ORIGINS = 20
_MAX_ERRORS = 5
_MAX_ROWS = 3
# The page has the colours of the notebook, dark or light.
_TABLE = "border-collapse:collapse;font-variant-numeric:tabular-nums"
_CELL = "padding:0 .8em 0 0;text-align:{};white-space:pre-wrap;overflow-wrap:anywhere"
_BAR = "background:currentColor;opacity:.45;height:.8em;width:{:.2f}em"
_BAR_EM = 20


@dataclass(frozen=True)
class LengthSummary:
    """A summary of the lengths of requests.

    Attributes:
        sum: the sum of all lengths.
        mean: the arithmetic mean; None if there are no requests.
        min: the smallest length; None if there are no requests.
        max: the largest length; None if there are no requests.
        percentiles: for each percentage, the smallest length that this share of the requests doesn't exceed. The values
            are exact and occur among the lengths. Empty if there are no requests.
        histogram: `start`, `end` and `requests`: the number of requests with a length from `start` to below `end`. All
            bins have the same width, except the last, which may hold a few far longer requests.

    Example:
        >>> import pyarrow as pa, promptpress as pp
        >>> lengths = pp.stats(pa.table({"prompt": ["a", "bb", "é"]})).bytes
        >>> lengths.sum, lengths.max, lengths.percentiles[50]
        (5, 2, 2)
    """

    sum: int
    mean: float | None
    min: int | None
    max: int | None
    percentiles: Mapping[int, int]
    histogram: pa.Table

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain data, as `promptpress stats --json` writes it.

        Returns:
            The attributes by name.

        >>> import pyarrow as pa, promptpress as pp
        >>> pp.stats(pa.table({"prompt": ["a"]})).bytes.to_dict()["histogram"]
        [{'start': 1, 'end': 2, 'requests': 1}]
        """
        numbers = {name: getattr(self, name) for name in ("sum", "mean", "min", "max")}
        percentiles = {str(percent): length for percent, length in self.percentiles.items()}
        return {**numbers, "percentiles": percentiles, "histogram": self.histogram.to_pylist()}


@dataclass(frozen=True)
class Statistics:
    """Statistics of requests, as `promptpress.stats` returns them. Prints as a page of text, and as HTML in a notebook.

    Attributes:
        requests: the number of requests; nulls of a rendered table don't count.
        samples: the number of samples; None if it isn't known.
        bytes: the lengths of the requests in bytes of UTF-8: of a text, or of the texts of all messages and parts.
        characters: the lengths in characters, as `len` counts them.
        tokens: the lengths in tokens; None without a tokenizer.
        by_origin: `source`, `column`, `example` (true within an example), `role`, `bytes` and `share`, by size: the
            spans of `Renderer.explain`, summed over all requests. None for a rendered table.
        by_column: `column` (null for bytes of no column), `bytes` and `share`, by size. None for a rendered table.
        repeated: the number of requests that repeat an earlier one.
        duplicates: the largest groups of equal requests: `requests` (their number) and `first`, a list of the first
            ones.
        duplicate_groups: the number of such groups.
        longest: the longest requests: `request`, `sample`, `label`, `turn` and `bytes`; with a tokenizer, the longest
            by tokens, with `tokens` in the place of `bytes`.
        shortest: the shortest requests, with the same columns.
        unrendered: the number of samples that can't be rendered, and that are in no other figure; of a rendered table,
            the number of nulls.
        errors: their kinds of errors, the commonest first: `error` (that of the first row), `rows` (their number) and
            `first_rows` (the first ten).
        shots: for each number of examples (`n_shots`), how many `requests` have so many, and how many of them are
            `truncated`: too long still. None without a renderer with `max_seq_len=`.

    Example:
        >>> import pyarrow as pa, promptpress as pp
        >>> samples = pa.table({"q": ["1+1=?", "2+2=?", "1+1=?"]})
        >>> statistics = pp.stats(pp.Renderer("Q: {q}"), samples)
        >>> statistics.requests, statistics.bytes.max, statistics.repeated
        (3, 8, 1)
        >>> statistics.by_column.to_pylist()
        [{'column': 'q', 'bytes': 15, 'share': 0.625}, {'column': None, 'bytes': 9, 'share': 0.375}]
    """

    requests: int
    samples: int | None
    bytes: LengthSummary
    characters: LengthSummary
    tokens: LengthSummary | None
    by_origin: pa.Table | None
    by_column: pa.Table | None
    repeated: int
    duplicate_groups: int
    duplicates: pa.Table
    longest: pa.Table
    shortest: pa.Table
    unrendered: int
    errors: pa.Table
    shots: pa.Table | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics as plain data, as `promptpress stats --json` writes them.

        Returns:
            The attributes by name; tables are lists of dicts.

        >>> import pyarrow as pa, promptpress as pp
        >>> pp.stats(pa.table({"prompt": ["a", "a"]})).to_dict()["repeated"]
        1
        """
        return {name: _plain(getattr(self, name)) for name in self.__dataclass_fields__}

    def __str__(self) -> str:
        return text_report(self.to_dict())

    def _repr_html_(self) -> str:
        data = self.to_dict()
        tables = "".join(map(_html_table, _tables(data)))
        return f'<div class="promptpress-stats"><p><b>{escape(_heading(data))}</b></p>{tables}</div>'


def _plain(value: Any) -> Any:
    if isinstance(value, LengthSummary):
        return value.to_dict()
    return value.to_pylist() if isinstance(value, pa.Table) else value


@dataclass(frozen=True)
class Table:
    """A table of a report. The first `texts` columns are texts, the others numbers."""

    title: str
    names: list[str]
    rows: list[list[str]]
    shares: list[float] | None = None
    """The length of a bar for each row, from 0 to 1."""
    texts: int = 1
    is_cut: bool = True
    """True if columns are cut to fit the width of a page of text."""


def text_report(statistics: Mapping[str, Any], width: int = _MIN_WIDTH, *, is_ascii: bool = False) -> str:
    """Return a page of text in lines of at most `width` cells (80 or more), whose bars may be ASCII."""
    return report(_heading(statistics), _tables(statistics), width, is_ascii=is_ascii)


def report(heading: str, tables: Iterable[Table], width: int, *, is_ascii: bool) -> str:
    """Return a heading and tables as a page of text."""
    lines = [heading]
    for table in tables:
        lines += [
            "",
            *([table.title] if table.title else []),
            *_lines(table, max(width, _MIN_WIDTH), is_ascii=is_ascii),
        ]
    return "\n".join(line.rstrip() for line in lines)


def _lines(table: Table, width: int, *, is_ascii: bool) -> list[str]:
    if not table.rows:
        return []
    rows = [[printable(cell) for cell in row] for row in (table.names, *table.rows)]
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    room = width - 2 * len(widths) - (_MIN_BAR if table.shares is not None else 0)
    while table.is_cut and sum(widths) > room:  # the widest column gives way
        widths[widths.index(max(widths))] -= 1
    bar_width = min(_MAX_BAR, width - sum(widths) - 2 * len(widths) - 2)
    out = []
    for number, row in enumerate(rows):
        columns = enumerate(zip(row, widths, strict=True))
        line = "  " + "  ".join(_fitted(cell, size, right=index >= table.texts) for index, (cell, size) in columns)
        if table.shares is not None and number:
            line += "  " + _bar(table.shares[number - 1], bar_width, is_ascii=is_ascii)
        out.append(line)
    return out


def _fitted(text: str, width: int, *, right: bool) -> str:
    """Cut a text to a width, or fill it with spaces."""
    if cells(text) > width:
        while text and cells(text) > width - 3:
            text = text[:-1]
        text += "..."[:width]
    spaces = " " * (width - cells(text))
    return spaces + text if right else text + spaces


def _bar(share: float, width: int, *, is_ascii: bool) -> str:
    """Draw a bar, which isn't empty if the share isn't 0."""
    if is_ascii:
        return "#" * max(round(share * width), int(share > 0))
    eighths = max(round(share * width * 8), int(share > 0))
    return BLOCKS[-1] * (eighths // 8) + BLOCKS[eighths % 8].strip()


def _html_table(table: Table) -> str:
    title = f"<p>{escape(table.title)}</p>"
    if not table.rows:
        return title
    rows = [_html_row(table, table.names, "th", None)]
    shares: list[float] | list[None] = table.shares or [None] * len(table.rows)
    rows += [_html_row(table, row, "td", share) for row, share in zip(table.rows, shares, strict=True)]
    return f'{title}<table style="{_TABLE}">{"".join(rows)}</table>'


def _html_row(table: Table, row: list[str], tag: str, share: float | None) -> str:
    out = ""
    for index, cell in enumerate(row):
        style = _CELL.format("left" if index < table.texts else "right")
        out += f'<{tag} style="{style}">{escape(printable(cell))}</{tag}>'
    if share is not None:
        out += f'<td><div style="{_BAR.format(share * _BAR_EM)}"></div></td>'
    return f"<tr>{out}</tr>"


def _heading(statistics: Mapping[str, Any]) -> str:
    of_samples = "" if statistics["samples"] is None else f" of {counted(statistics['samples'], 'sample')}"
    unrendered = statistics["unrendered"]
    bad = f"; {counted(unrendered, 'row')} can't be rendered" if unrendered else ""
    return counted(statistics["requests"], "request") + of_samples + bad


def _tables(statistics: Mapping[str, Any]) -> list[Table]:
    """Return the tables that have rows, and that of duplicates, whose title says if there are none."""
    units = {unit: statistics[unit] for unit in ("bytes", "characters", "tokens") if statistics[unit] is not None}
    tables = [errors_table(statistics["errors"]), lengths_table("length of a request", units)]
    tables += [
        histogram_table(f"requests by length in {unit}", lengths["histogram"])
        for unit, lengths in units.items()
        if unit != "characters"
    ]
    if statistics["by_origin"] is not None:
        tables += [_origins(statistics["by_origin"]), _columns(statistics["by_column"])]
    if statistics["shots"] is not None:
        tables.append(_shots(statistics["shots"]))
    duplicates = _duplicates(statistics)
    tables += [duplicates, *(_requests(title, statistics[title]) for title in ("longest", "shortest"))]
    return [table for table in tables if table.rows or table is duplicates]


def errors_table(errors: Sequence[Mapping[str, Any]]) -> Table:
    """Make the table of the kinds of errors of rows that can't be rendered."""
    rows = []
    for kind in errors[:_MAX_ERRORS]:
        more = ", ..." if kind["rows"] > _MAX_ROWS else ""
        rows.append([f"{kind['rows']:,}", ", ".join(map(str, kind["first_rows"][:_MAX_ROWS])) + more, kind["error"]])
    return Table("rows that can't be rendered", ["rows", "first", "error"], rows, texts=3, is_cut=False)


def lengths_table(title: str, units: Mapping[str, Mapping[str, Any]]) -> Table:
    """Make the table of lengths in several units."""
    every = list(units.values())
    rows = [["sum", *(f"{lengths['sum']:,}" for lengths in every)]]
    if every[0]["mean"] is not None:
        rows.append(["mean", *(f"{lengths['mean']:,.1f}" for lengths in every)])
        rows.append(["min", *(f"{lengths['min']:,}" for lengths in every)])
        for percent in every[0]["percentiles"]:
            rows.append([f"{percent} %", *(f"{lengths['percentiles'][percent]:,}" for lengths in every)])
        rows.append(["max", *(f"{lengths['max']:,}" for lengths in every)])
    return Table(title, ["", *units], rows)


def histogram_table(title: str, bins: Sequence[Mapping[str, int]]) -> Table:
    """Make the table of the numbers of requests by length, with bars."""
    largest = max((row["requests"] for row in bins), default=0)
    rows = [[f"{row['start']:,}", f"{row['end'] - 1:,}", f"{row['requests']:,}"] for row in bins]
    shares = [row["requests"] / largest for row in bins]
    return Table(title, ["from", "to", "requests"], rows, shares, texts=0)


def _origins(origins: Sequence[Mapping[str, Any]]) -> Table:
    """Make the table of the largest origins; the other ones are summed up in the last row."""
    rows = [
        [row["source"], _text(row["column"]), "yes" if row["example"] else "", _text(row["role"]), *_size(row)]
        for row in origins[:_MAX_ORIGINS]
    ]
    shares = [row["share"] for row in origins[:_MAX_ORIGINS]]
    if rest := origins[_MAX_ORIGINS:]:
        total = {key: sum(row[key] for row in rest) for key in ("bytes", "share")}
        rows.append([f"{len(rest):,} others", "", "", "", *_size(total)])
        shares.append(total["share"])
    return Table("bytes by origin", ["source", "column", "example", "role", "bytes", "share"], rows, shares, texts=4)


def _columns(columns: Sequence[Mapping[str, Any]]) -> Table:
    rows = [["(no column)" if row["column"] is None else row["column"], *_size(row)] for row in columns]
    return Table("bytes by column", ["column", "bytes", "share"], rows, [row["share"] for row in columns])


def _shots(counts: Sequence[Mapping[str, int]]) -> Table:
    total = sum(row["requests"] for row in counts)
    rows = [[f"{row['n_shots']:,}", f"{row['requests']:,}", f"{row['truncated']:,}"] for row in counts]
    title = "requests by the number of examples that fit, and those that are too long still"
    shares = [row["requests"] / total for row in counts]
    return Table(title, ["examples", "requests", "too long"], rows, shares, texts=0)


def _duplicates(statistics: Mapping[str, Any]) -> Table:
    repeated, groups = statistics["repeated"], statistics["duplicates"]
    if not repeated:
        return Table("duplicates: no request repeats an earlier one", [], [])
    rows = []
    for group in groups:
        more = ", ..." if group["requests"] > len(group["first"]) else ""
        rows.append([f"{group['requests']:,}", ", ".join(map(str, group["first"])) + more])
    share = repeated / statistics["requests"]
    verb = "repeats" if repeated == 1 else "repeat"
    title = f"duplicates: {counted(repeated, 'request')} ({share:.1%}) {verb} an earlier one"
    if statistics["duplicate_groups"] > len(groups):
        title += f"; the largest of {statistics['duplicate_groups']:,} groups"
    return Table(title, ["equal", "requests"], rows, texts=2)


def _requests(title: str, requests: Sequence[Mapping[str, Any]]) -> Table:
    """Make the table of the longest or the shortest requests, without columns that say nothing."""
    names = ["request"]
    names += [name for name in ("sample", "label", "turn") if any(row[name] is not None for row in requests)]
    if names == ["request", "sample"] and all(row["request"] == row["sample"] for row in requests):
        names = ["sample"]
    unit = "tokens" if requests and "tokens" in requests[0] else "bytes"
    rows = [[*(_text(row[name]) for name in names), f"{row[unit]:,}"] for row in requests]
    return Table(title, [*names, unit], rows, texts=0)


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _size(row: Mapping[str, Any]) -> list[str]:
    return [f"{row['bytes']:,}", f"{row['share']:.1%}"]
