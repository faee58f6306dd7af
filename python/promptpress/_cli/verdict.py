"""What `promptpress verify` says of one dataset and one model."""

from __future__ import annotations

from dataclasses import dataclass

import promptpress
from promptpress._cli.errors import ExitCode

from .outcome import Outcome, Refusal, first_difference
from .refusals import same_fault

# From what is hoped for to what is looked for: a difference isn't hidden by a dataset that can't be loaded.
_SEVERITY_ORDER = (
    ExitCode.OK,
    ExitCode.UNSUPPORTED,
    ExitCode.USAGE,
    ExitCode.CONFIGURATION,
    ExitCode.DATA,
    ExitCode.DIFFERENT,
)
_WORDS = {ExitCode.OK: "equal", ExitCode.DIFFERENT: "different", ExitCode.UNSUPPORTED: "not supported"}


@dataclass(frozen=True)
class Verdict:
    """One of three outcomes, or an error that stood in the way of all of them.

    Example:
        >>> Verdict(ExitCode.UNSUPPORTED, "retriever.type: ...").word
        'not supported'

    """

    code: ExitCode
    found: str
    """What is said after the word, on the same line."""
    details: tuple[str, ...] = ()
    """Further lines."""

    @property
    def word(self) -> str:
        """The outcome in a word or two."""
        return _WORDS.get(self.code, "error")


def worst(verdicts: list[Verdict]) -> ExitCode:
    """Give the exit code of several verdicts.

    Args:
        verdicts: what was found.

    Returns:
        A difference if there is one, else an error, else what isn't supported.

    Example:
        >>> worst([Verdict(ExitCode.UNSUPPORTED, ""), Verdict(ExitCode.OK, "")]).name
        'UNSUPPORTED'

    """
    return max((one.code for one in verdicts), key=_SEVERITY_ORDER.index, default=ExitCode.OK)


def judged(theirs: Outcome, ours: Outcome, name: str, rows: int) -> Verdict:
    """Compare what both sides gave.

    Args:
        theirs: the harness's requests.
        ours: promptpress's.
        name: the harness and its version.
        rows: how many rows there are.

    Returns:
        The verdict.

    Example:
        >>> same = Outcome([{None: "a"}])
        >>> print(judged(same, same, "opencompass 0.5.4", 1).found.partition(",")[0])
        1 request of 1 row (opencompass 0.5.4

    """
    sides = {name: theirs, f"promptpress {promptpress.__version__}": ours}
    width = max(map(len, sides))
    of_rows = f"of {counted(rows, 'row')}"
    found = first_difference(theirs, ours)
    if found is None:
        equal = counted(theirs.count, "request")
        if theirs.refusal is None:
            return Verdict(ExitCode.OK, f"{equal} {of_rows} ({', '.join(sides)})")
        return Verdict(
            ExitCode.OK,
            f"both refuse row {len(theirs.rows)} for the same reason ({of_rows}; equal before it: {equal})",
            tuple(f"  {side:{width}}  {outcome.refusal}" for side, outcome in sides.items()),
        )
    if _unsupported(ours.refusal) and not (
        theirs.refusal is not None and ours.refusal is not None and same_fault(theirs.refusal.error, ours.refusal.error)
    ):
        return Verdict(ExitCode.UNSUPPORTED, str(ours.refusal.error) if ours.refusal else "", _of_harness(name, theirs))
    both = theirs.refusal is not None and ours.refusal is not None and len(theirs.rows) == len(ours.rows)
    details = [f"  {side:{width}}  {text}" for side, text in zip(sides, (found.one, found.other), strict=True)]
    if both:
        details.append("both refuse it, and nothing that both name says that it is for the same reason")
    elif theirs.refusal is not None and len(theirs.rows) < len(ours.rows):
        details.append(
            "where the harness fails on what it documents, promptpress does what is documented: docs/fidelity.md"
        )
    at = f"at {found.place} ({of_rows}; equal before it: {counted(found.equal, 'request')})"
    return Verdict(ExitCode.DIFFERENT, at, tuple(details))


def _unsupported(refusal: Refusal | None) -> bool:
    """Whether promptpress refuses a class: one that it has no part for, not one that is used wrongly."""
    path = None if refusal is None else getattr(refusal.error, "path", None)
    return isinstance(path, str) and path.endswith(".type")


def _of_harness(name: str, outcome: Outcome) -> tuple[str, ...]:
    if outcome.refusal is None:
        return (f"  {name} renders it ({counted(len(outcome.rows), 'row')})",)
    return (f"  {name} refuses it too, in other words: {outcome.refusal}",)


def counted(number: int, what: str) -> str:
    """Give a number and its noun.

    Args:
        number: how many.
        what: of what, in the singular.

    Returns:
        Both, the noun in its form.

    Example:
        >>> counted(2, "row")
        '2 rows'

    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"
