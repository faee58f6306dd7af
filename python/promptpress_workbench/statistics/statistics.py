"""`promptpress.Statistics` and `promptpress.LengthSummary`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa


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
            spans of `Renderer.explain`, summed over all requests. None for a rendered table, and with `errors="skip"`.
        by_column: `column` (null for bytes of no column), `bytes` and `share`, by size. None for a rendered table.
        repeated: the number of requests that repeat an earlier one.
        duplicates: the largest groups of equal requests: `requests` (their number) and `first`, a list of the first
            ones.
        duplicate_groups: the number of such groups.
        longest: the longest requests by bytes: `request`, `sample`, `label`, `turn` and `bytes`.
        shortest: the shortest requests, with the same columns.
        unrendered: the number of samples that couldn't be rendered and are left out, with `errors="skip"`.
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
    unrendered: int = 0
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
        from promptpress_workbench.statistics.report import text_report  # noqa: PLC0415 - only for printing

        return text_report(self.to_dict())

    def _repr_html_(self) -> str:
        from promptpress_workbench.statistics.report import html_report  # noqa: PLC0415 - only for notebooks

        return html_report(self.to_dict())


def _plain(value: Any) -> Any:
    if isinstance(value, LengthSummary):
        return value.to_dict()
    return value.to_pylist() if isinstance(value, pa.Table) else value
