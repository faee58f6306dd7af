"""Failures of an oracle: counted by kind and by template, and made small."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .conversations import Case


@dataclass(frozen=True)
class Failure:
    """A failure: its kind, and what was found."""

    kind: str
    detail: str


@dataclass
class Report:
    """Counts over all templates of a run, and the first failing case of each kind."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    templates: dict[str, Counter[str]] = field(default_factory=dict)
    refusals: Counter[str] = field(default_factory=Counter)
    first: dict[str, tuple[Any, Case, str]] = field(default_factory=dict)

    def count(self, name: str, number: int = 1) -> None:
        self.counts[name] += number

    def refuse(self, template: str, error: str) -> None:
        """Count a row that is refused, by its template and by its error without the row's own words."""
        self.counts["refused"] += 1
        self.refusals[re.sub(r"\d+", "N", error)[:150]] += 1
        self.templates.setdefault(template, Counter())["refused"] += 1

    def fail(self, source: Any, case: Case, failures: list[Failure]) -> None:
        """Count the failures of a row; a kind counts once a row."""
        for kind, detail in {failure.kind: failure.detail for failure in failures}.items():
            self.failures[kind] += 1
            self.templates.setdefault(source.id, Counter())[kind] += 1
            best = self.first.get(kind)
            if best is None or len(repr(case)) < len(repr(best[1])):
                self.first[kind] = (source, case, detail)

    @property
    def failed(self) -> int:
        return sum(self.failures.values())

    def of_kind(self, kind: str) -> int:
        """Return how many templates have failures of a kind."""
        return sum(1 for counts in self.templates.values() if counts[kind])

    def show(self, top: int, failures_of: Callable[[Any, Case], list[Failure]] | None) -> None:
        """Print counts, kinds of failures, templates with most of them, and the smallest cases.

        Args:
            top: How many of each list.
            failures_of: Returns the failures of a case; if it is given, the first case of each kind is made smaller.

        """
        print(", ".join(f"{name} {number:,}" for name, number in sorted(self.counts.items())))
        if self.counts["refused"]:
            print(f"refused: {self.counts['refused'] / self.counts['rendered']:.2%} of the rows that render")
            for reason, number in self.refusals.most_common(top):
                print(f"  {number:6}  {reason}")
        print(
            f"failures: {self.failed:,} in {sum(1 for c in self.templates.values() if set(c) - {'refused'})} templates"
        )
        for kind, number in self.failures.most_common():
            print(f"  {number:6} rows {self.of_kind(kind):4} templates  {kind}")
        ranked = sorted(self.templates.items(), key=lambda item: -item[1].total())
        for template, counts in ranked[:top]:
            print(f"  {template}: " + ", ".join(f"{kind} {number}" for kind, number in counts.most_common(4)))
        for kind, _ in self.failures.most_common(top):
            source, case, detail = self.first[kind]
            if failures_of is None:
                print(f"\n{kind}: {source.id}\n  {detail}")
                continue
            case, detail = shrunk(source, case, kind, failures_of)
            print(f"\n{kind}: {source.id}\n  {detail}\n  messages={case.messages!r}")
            if case.arguments:
                print(f"  arguments={case.arguments!r}")


def shrunk(
    source: Any, case: Case, kind: str, failures_of: Callable[[Any, Case], list[Failure]], tries: int = 200
) -> tuple[Case, str]:
    """Return the smallest case that was found to fail in the same way, and what was found of it."""
    details = {failure.kind: failure.detail for failure in failures_of(source, case)}
    detail, progress = details.get(kind, "(in this row only after others)"), kind in details
    while progress:
        progress = False
        for smaller in smaller_cases(case):
            tries -= 1
            if tries < 0:
                break
            details = {failure.kind: failure.detail for failure in failures_of(source, smaller)}
            if kind in details:
                case, detail, progress = smaller, details[kind], True
                break
    return case, detail


def smaller_cases(case: Case) -> Iterator[Case]:
    """Yield cases with one thing less, large things first."""
    for arguments in smaller(case.arguments):
        yield Case(case.messages, arguments)
    for messages in smaller(case.messages):
        if all("role" in message for message in messages):
            yield Case(messages, case.arguments)


def smaller(value: Any) -> Iterator[Any]:
    """Yield a value with an item or a key less, at any depth, or a text with fewer words."""
    if isinstance(value, dict):
        for key in value:
            yield {name: item for name, item in value.items() if name != key}
        for key, item in value.items():
            yield from ({**value, key: less} for less in smaller(item))
    elif isinstance(value, list):
        for number in range(len(value)):
            yield value[:number] + value[number + 1 :]
        for number, item in enumerate(value):
            yield from ([*value[:number], less, *value[number + 1 :]] for less in smaller(item))
    elif isinstance(value, str) and len(value.split()) > 1:
        yield from value.split()
