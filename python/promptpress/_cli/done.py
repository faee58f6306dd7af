"""What a command has rendered, and what of it couldn't be."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from promptpress._inputs.columnar_inputs import RowGroup
from promptpress._view.visible import encodable, printable

from .errors import ExitCode

_MIN_ROWS_OF_A_RATE = 10_000
"""Of fewer rows a rate is that of opening and closing files."""


@dataclass
class Done:
    """What has been rendered so far.

    Example:
        >>> Done(rows=1_000_000, prompt_bytes=250_000_000).summary(0.5)
        '1,000,000 rows, 250.0 MB of prompts in 0.500 s: 2,000,000 rows/s, 0.500 GB/s'
        >>> Done(rows=1, prompt_bytes=25).summary(0.01)
        '1 row, 25 B of prompts in 0.010 s'

    """

    rows: int = 0
    prompt_bytes: int = 0
    fingerprint: str | None = None
    hash: str | None = None
    errors: int = 0
    """Requests that couldn't be rendered, under `--errors column`."""
    skipped: list[RowGroup] = field(default_factory=list)
    """What `--skip-corrupt` has left out."""

    @property
    def exit_code(self) -> ExitCode:
        """How the process ends."""
        return ExitCode.INCOMPLETE if self.errors or self.skipped else ExitCode.OK

    def tell_faults(self) -> None:
        """Say on standard error what is wrong with the output, that was asked for to be no error."""
        if self.errors:
            said = "1 row has" if self.errors == 1 else f"{self.errors:,} rows have"
            print(f"promptpress: {said} an error in the place of a prompt", file=sys.stderr)
        for group in self.skipped:
            line = f"promptpress: left out: {printable(str(group))}"
            print(encodable(line, sys.stderr.encoding), file=sys.stderr)
        if self.skipped:
            rows = sum(group.rows for group in self.skipped)
            groups = f"{len(self.skipped):,} row group{'s' if len(self.skipped) != 1 else ''}"
            print(f"promptpress: {groups} with {rows:,} rows left out", file=sys.stderr)

    def summary(self, seconds: float) -> str:
        """Say in one line what was done.

        Args:
            seconds: how long it took.

        Returns:
            The line.

        """
        size, unit = float(self.prompt_bytes), "B"
        for unit in ("B", "kB", "MB", "GB"):
            if size < 1000 or unit == "GB":
                break
            size /= 1000
        length = f"{size:.1f} {unit}" if unit != "B" else f"{self.prompt_bytes} B"
        said = f"{self.rows:,} row{'s' if self.rows != 1 else ''}, {length} of prompts in {seconds:.3f} s"
        if self.rows < _MIN_ROWS_OF_A_RATE or not seconds:
            return said
        return f"{said}: {self.rows / seconds:,.0f} rows/s, {self.prompt_bytes / seconds / 1e9:.3f} GB/s"
