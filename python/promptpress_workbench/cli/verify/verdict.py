"""Verdicts of `promptpress verify` on a dataset and a model: the exit code and the lines that are printed."""

from __future__ import annotations

from dataclasses import dataclass

import promptpress
from promptpress.engine.errors import counted

from promptpress_workbench.cli.shell.errors import ExitCode
from promptpress_workbench.cli.verify.outcome import Outcome, first_difference
from promptpress_workbench.cli.verify.refusals import same_fault

# From best to worst. A difference is the worst, so that a dataset that can't be loaded doesn't hide it.
_RANKS = (ExitCode.OK, ExitCode.UNSUPPORTED, ExitCode.USAGE, ExitCode.CONFIGURATION, ExitCode.DATA, ExitCode.DIFFERENT)
_WORDS = {ExitCode.OK: "equal", ExitCode.DIFFERENT: "different", ExitCode.UNSUPPORTED: "not supported"}


@dataclass(frozen=True)
class Verdict:
    """The result of a comparison, or an error that prevented it."""

    code: ExitCode
    message: str
    """The text after the word, on the same line."""
    details: tuple[str, ...] = ()
    """Further lines."""

    @property
    def word(self) -> str:
        """The result in a word or two."""
        return _WORDS.get(self.code, "error")


def worst(verdicts: list[Verdict]) -> ExitCode:
    """Return the exit code of several verdicts."""
    return max((verdict.code for verdict in verdicts), key=_RANKS.index, default=ExitCode.OK)


def judge(theirs: Outcome, ours: Outcome, name: str, rows: int) -> Verdict:
    """Compare the outcomes of both sides; `name` is the harness's name and version, `rows` the number of given rows."""
    sides = {name: theirs, f"promptpress {promptpress.__version__}": ours}
    width = max(map(len, sides))
    of_rows = f"of {counted(rows, 'row')}"
    difference = first_difference(theirs, ours)
    if difference is None:
        equal = counted(sum(map(len, theirs.rows)), "request")
        if theirs.refusal is None:
            return Verdict(ExitCode.OK, f"{equal} {of_rows} ({', '.join(sides)})")
        return Verdict(
            ExitCode.OK,
            f"both refuse row {len(theirs.rows)} for the same reason ({of_rows}; equal before it: {equal})",
            tuple(f"  {side:{width}}  {outcome.refusal}" for side, outcome in sides.items()),
        )
    if ours.refusal and _is_unsupported(ours.refusal.error):
        detail = f"renders it ({counted(len(theirs.rows), 'row')})"
        if theirs.refusal:
            detail = f"refuses it too, in other words: {theirs.refusal}"
        if not theirs.refusal or not same_fault(theirs.refusal.error, ours.refusal.error):
            return Verdict(ExitCode.UNSUPPORTED, str(ours.refusal.error), (f"  {name} {detail}",))
    texts = (difference.theirs, difference.ours)
    details = [f"  {side:{width}}  {text}" for side, text in zip(sides, texts, strict=True)]
    if theirs.refusal and ours.refusal and len(theirs.rows) == len(ours.rows):
        details.append("both refuse it, and nothing that both name says that it is for the same reason")
    elif theirs.refusal and len(theirs.rows) < len(ours.rows):
        details.append(
            "where the harness fails on what it documents, promptpress does what is documented: docs/fidelity.md"
        )
    message = f"at {difference.location} ({of_rows}; equal before it: {counted(difference.equal, 'request')})"
    return Verdict(ExitCode.DIFFERENT, message, tuple(details))


def _is_unsupported(error: Exception) -> bool:
    """Return true if promptpress doesn't support a class; false if a supported class is used wrongly."""
    path = getattr(error, "path", None)
    return isinstance(path, str) and path.endswith(".type")
