"""Prompts and examples that are built when they are touched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any


class Prompt:
    """The prompt of one sample, before any parser.

    The harness's loops carry it to a parser, which takes what was rendered. Anything else that is done with it builds
    the harness's own object, by the harness's own code.

    Args:
        source: What it is made of.
        row: The sample's number.
        shots: The numbers of its examples.
    """

    __slots__ = ("row", "shots", "source")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, source: Any, row: int, shots: Sequence[int]) -> None:
        self.source = source
        self.row = row
        self.shots = shots

    def build(self) -> Any:
        """The harness's own object."""
        return self.source.build(self.row, self.shots)

    def __eq__(self, other: object) -> bool:
        return bool(self.build() == (other.build() if isinstance(other, Prompt) else other))

    def __str__(self) -> str:
        return str(self.build())

    def __repr__(self) -> str:
        return repr(self.build())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.build())

    def __len__(self) -> int:
        return len(self.build())

    def __getitem__(self, at: Any) -> Any:
        return self.build()[at]


class Shots:
    """The rendered examples of one sample, before any parser.

    Args:
        source: What they are made of.
        rows: The numbers of the examples.
    """

    __slots__ = ("rows", "source")

    def __init__(self, source: Any, rows: Sequence[int]) -> None:
        self.source = source
        self.rows = rows

    def build(self) -> Any:
        """The harness's own object."""
        return self.source.build(self.rows)


class Prompts(Sequence[Any]):
    """A sequence whose items are made when they are touched.

    Args:
        make: What makes the item of a row.
        rows: The rows.

    Example:
        >>> tens = Prompts(lambda row: row * 10, range(5))
        >>> tens[3], list(tens[1:3])
        (30, [10, 20])
    """

    __slots__ = ("_make", "_rows")

    def __init__(self, make: Callable[[int], Any], rows: range) -> None:
        self._make = make
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, at: Any) -> Any:
        rows = self._rows[at]
        return Prompts(self._make, rows) if isinstance(rows, range) else self._make(rows)

    def __iter__(self) -> Iterator[Any]:
        return map(self._make, self._rows)
