"""Counts of a finished run: rows, bytes, and the rows that couldn't be rendered."""

from __future__ import annotations

from dataclasses import dataclass, field

from promptpress.engine.errors import RowError, counted

from promptpress_workbench.cli.shell.errors import ExitCode, say
from promptpress_workbench.cli.shell.option_words import in_options
from promptpress_workbench.files.read.columnar_inputs import RowGroup

_MIN_ROWS_OF_A_RATE = 10_000
"""With fewer rows, a rate measures the opening and closing of files."""


@dataclass
class Done:
    """The counts of a run so far.

    Example:
        >>> Done(rows=1_000_000, prompt_bytes=250_000_000).summary(0.5)
        '1,000,000 rows, 250.0 MB of prompts in 0.500 s: 2,000,000 rows/s, 0.500 GB/s'
        >>> Done(rows=1, prompt_bytes=25).summary(0.01)
        '1 row, 25 B of prompts in 0.010 s'

    """

    rows: int = 0
    prompt_bytes: int = 0
    tokens: int | None = None
    """The tokens, where they take the place of the prompts."""
    fingerprint: str | None = None
    hash: str | None = None
    samples: int = 0
    errors: int = 0
    """Samples that couldn't be rendered, under `--errors column` or `skip`."""
    first_errors: list[RowError] = field(default_factory=list)
    """The first of them, unless an earlier run has rendered them."""
    leaves_out: bool = False
    """True if samples that can't be rendered are left out."""
    is_strict: bool = False
    skipped: list[RowGroup] = field(default_factory=list)
    """The row groups that `--skip-corrupt` has left out."""

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of the process."""
        return ExitCode.INCOMPLETE if self.skipped or (self.errors and self.is_strict) else ExitCode.OK

    def add_faults(self, other: Done) -> None:
        """Add the samples of another run, and those of them that couldn't be rendered or read."""
        self.samples += other.samples
        self.errors += other.errors
        self.skipped += other.skipped

    def report_faults(self) -> None:
        """Report row errors and skipped row groups, which the options allow, on standard error."""
        if self.errors:
            fate = "left out" if self.leaves_out else "null, with the reason in a column"
            verb = "is" if self.errors == 1 else "are"
            text = f"{self.errors:,} of {counted(self.samples, 'row')} can't be rendered, and {verb} {fate}"
            first = [f"row {row}: {in_options(message)}" for row, message in self.first_errors]
            more = ["..."] if first and self.errors > len(first) else []
            say(text + (f": {'; '.join([*first, *more])}" if first else ""))
        for group in self.skipped:
            say(f"left out: {group}")
        if self.skipped:
            groups = counted(len(self.skipped), "row group")
            say(f"{groups} with {counted(sum(group.rows for group in self.skipped), 'row')} left out")

    def summary(self, seconds: float) -> str:
        """Return the counts and the rates in one line."""
        if self.tokens is not None:
            made, speed = counted(self.tokens, "token"), f"{self.tokens / (seconds or 1):,.0f} tokens/s"
        else:
            size, unit = float(self.prompt_bytes), "B"
            for unit in ("B", "kB", "MB", "GB"):
                if size < 1000 or unit == "GB":
                    break
                size /= 1000
            made = f"{self.prompt_bytes if unit == 'B' else f'{size:.1f}'} {unit} of prompts"
            speed = f"{self.prompt_bytes / (seconds or 1) / 1e9:.3f} GB/s"
        text = f"{counted(self.rows, 'row')}, {made} in {seconds:.3f} s"
        has_rate = self.rows >= _MIN_ROWS_OF_A_RATE and seconds
        return f"{text}: {self.rows / seconds:,.0f} rows/s, {speed}" if has_rate else text
