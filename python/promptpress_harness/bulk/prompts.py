"""Placeholders for prompts and examples, and the parsers' method that takes them.

The harness's loops carry a placeholder to a parser, which takes the rendered text or messages. Any other use builds the
harness's own object, by the harness's own code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True, eq=False, repr=False)
class Prompt:
    """The prompt of one sample, before any parser, from a `PromptSource`."""

    source: Any
    row: int
    shots: Sequence[int]
    """The rows of the sample's examples."""

    __hash__ = None  # type: ignore[assignment]

    def build(self) -> Any:
        """Return the harness's own object."""
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

    def __getitem__(self, index: Any) -> Any:
        return self.build()[index]


@dataclass(slots=True, eq=False, repr=False)
class Shots:
    """The examples of one sample, before any parser, from `Examples`."""

    source: Any
    rows: Sequence[int]

    def build(self) -> Any:
        """Return the harness's own object."""
        return self.source.build(self.rows)


class Prompts(Sequence[Any]):
    """A sequence that makes the item of a row when the item is read.

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

    def __getitem__(self, index: Any) -> Any:
        rows = self._rows[index]
        return Prompts(self._make, rows) if isinstance(rows, range) else self._make(rows)

    def __iter__(self) -> Iterator[Any]:
        return map(self._make, self._rows)


def accept_placeholders(parse: Callable[[Any, Any, str], Any]) -> Callable[[Any, Any, str], Any]:
    """Return a replacement for a parser's `parse_template` that takes placeholders too."""

    def parse_template(self: Any, prompt_template: Any, mode: str) -> Any:
        kind = type(prompt_template)
        if kind is Prompt or kind is Shots:
            return prompt_template.source.parsed(self, parse, prompt_template, mode)
        if kind is Prompts:
            prompt_template = list(prompt_template)
            kind = list
        if (kind is tuple or kind is list) and prompt_template:
            first = prompt_template[0]
            if type(first) is Prompt or type(first) is Shots:
                parsed = first.source.parsed_batch(self, parse, prompt_template, mode)
                if parsed is not None:
                    return parsed
                built = (item.build() if type(item) in {Prompt, Shots} else item for item in prompt_template)
                return parse(self, kind(built), mode)
        return parse(self, prompt_template, mode)

    parse_template.__wrapped__ = parse  # type: ignore[attr-defined]
    return parse_template
