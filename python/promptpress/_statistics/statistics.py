"""What is known of many requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

__all__ = ["LengthSummary", "Statistics"]


@dataclass(frozen=True)
class LengthSummary:
    """How long requests are.

    Attributes:
        sum: all lengths together.
        mean: the arithmetic mean; None where there are no requests.
        min: the smallest length; None where there are no requests.
        max: the largest; likewise.
        percentiles: by percentage the smallest length that so many requests don't pass, exactly; of those lengths that
            occur. Empty where there are no requests.
        histogram: `start`, `end` and `requests`: how many have a length from `start` up to before `end`. All bins but
            the last have one width; the last may hold a few that are far longer than the others.

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
        """Return it as plain data, as `promptpress stats --json` writes it.

        Returns:
            The attributes by name.

        >>> import pyarrow as pa, promptpress as pp
        >>> pp.stats(pa.table({"prompt": ["a"]})).bytes.to_dict()["histogram"]
        [{'start': 1, 'end': 2, 'requests': 1}]

        """
        own = {"sum": self.sum, "mean": self.mean, "min": self.min, "max": self.max}
        percentiles = {str(percent): length for percent, length in self.percentiles.items()}
        return {**own, "percentiles": percentiles, "histogram": self.histogram.to_pylist()}


@dataclass(frozen=True)
class Statistics:
    """What `promptpress.stats` knows of many requests. Prints as a page of text, and as HTML in a notebook.

    Attributes:
        requests: how many requests there are; nulls of a rendered table are none.
        samples: how many samples these are of; None where that isn't known.
        bytes: how long the requests are in bytes of UTF-8: a text, or what messages and their parts say.
        characters: the same in characters, as `len` counts them.
        tokens: the same in tokens; None where no tokenizer was given.
        by_origin: `source`, `column`, `example` (whether within an example), `role`, `bytes` and `share`, by size: what
            `Renderer.explain` says of each request, added up. None of a rendered table.
        by_column: `column` (null for what comes from no column), `bytes` and `share`, by size. Likewise.
        repeated: how many requests repeat an earlier one.
        duplicates: the largest groups of equal requests: `requests` (how many) and `first`, a list of the first ones.
        duplicate_groups: how many such groups there are.
        longest: the longest requests by bytes: `request`, `sample`, `label`, `turn` and `bytes`.
        shortest: the shortest ones.

    Example:
        >>> import pyarrow as pa, promptpress as pp
        >>> samples = pa.table({"q": ["1+1=?", "2+2=?", "1+1=?"]})
        >>> own = pp.stats(pp.Renderer("Q: {q}"), samples)
        >>> own.requests, own.bytes.max, own.repeated
        (3, 8, 1)
        >>> own.by_column.to_pylist()
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

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, as `promptpress stats --json` writes it.

        Returns:
            The attributes by name; tables as lists of dicts.

        >>> import pyarrow as pa, promptpress as pp
        >>> pp.stats(pa.table({"prompt": ["a", "a"]})).to_dict()["repeated"]
        1

        """
        return {name: _plain(getattr(self, name)) for name in self.__dataclass_fields__}

    def __str__(self) -> str:
        from promptpress._statistics.text_report import text_report  # noqa: PLC0415 - only where it is shown

        return text_report(self)

    def _repr_html_(self) -> str:
        from promptpress._statistics.html_report import html_report  # noqa: PLC0415 - only where it is shown

        return html_report(self)


def _plain(value: Any) -> Any:
    if isinstance(value, LengthSummary):
        return value.to_dict()
    return value.to_pylist() if isinstance(value, pa.Table) else value
