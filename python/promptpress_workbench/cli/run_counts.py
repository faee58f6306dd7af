"""Counts of a run: its rows and bytes, the rows that couldn't be rendered, and those that Jinja2 rendered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import promptpress
from promptpress.engine import PromptColumn, engine_of
from promptpress.engine.errors import RowError, counted

from promptpress_workbench.cli.errors import NO_ROWS, ExitCode, in_options
from promptpress_workbench.cli.settings import Settings
from promptpress_workbench.cli.terminal import print_error_line, say
from promptpress_workbench.files.read.columnar_inputs import RowGroup

if TYPE_CHECKING:
    from promptpress import ChatTemplate, JinjaTemplate
    from promptpress.engine.templates import StagedRenderer, TurnsRenderer
    from promptpress.engine.tokens import TokenRenderer

AnyRenderer: TypeAlias = (
    "promptpress.Renderer | JinjaTemplate | ChatTemplate | PromptColumn | StagedRenderer | TokenRenderer"
    " | TurnsRenderer"
)
"""Sources of prompts or of their tokens; the column of a file that holds prompts is one, too."""

_Batch = TypeVar("_Batch")
_MAX_REASONS = 5
_COMPARED = "the first of its shape"  # Jinja2 renders it, so that a program for the shape can be compared
_MAX_COMPARED = 100  # more such rows are worth a line
_MIN_ROWS_OF_A_RATE = 10_000  # with fewer rows, a rate measures the opening and closing of files


@dataclass
class Done:
    """The counts of a run so far."""

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


def report_no_rows(settings: Settings, rows: int) -> None:
    """Report that the condition of `--where` holds for no row."""
    if not rows and settings.where is not None and not settings.quiet:
        say(f"note: {NO_ROWS}")


class RunCounts:
    """Counts the rows of a template as they are rendered; other prompts may have a chat template after them."""

    def __init__(self, renderer: AnyRenderer) -> None:
        template: Any = engine_of(renderer).chat_template
        self._is_stage = template is not None  # then it runs once for each batch
        is_template = not isinstance(renderer, (promptpress.Renderer, PromptColumn))
        self._template: Any = renderer if template is None and is_template else template
        self._last_run: Any = None
        self._rows = self._jinja2 = 0
        self._reasons: Counter[str] = Counter()
        self._argument_columns: dict[str, str] = {}

    def counted(self, batches: Iterable[_Batch]) -> Iterator[_Batch]:
        """Yield the rendered batches, and count their rows."""
        for batch in batches:
            if self._is_stage:
                self._count()
            yield batch

    def _count(self) -> None:
        run = self._template.last_run
        if run is None or run is self._last_run:
            return
        self._last_run = run
        self._rows += run.rows
        self._jinja2 += run.rows - run.compiled
        self._reasons.update(run.reasons)
        self._argument_columns |= run.argument_columns

    def report(self) -> None:
        """Say which columns arguments came from, and how many rows Jinja2 has rendered, if more than a hundredth."""
        if self._template is not None:
            self._count()
        columns = [
            f"{'arguments' if name == '*' else name} from the column {column!r}"
            for name, column in self._argument_columns.items()
        ]
        if columns:
            print_error_line(f"promptpress: {', '.join(columns)}")
        slow = self._jinja2 - min(self._reasons[_COMPARED], _MAX_COMPARED)
        if slow * 100 <= self._rows:
            return
        counts = f"{counted(self._rows - self._jinja2, 'row')} compiled, {self._jinja2:,} rendered by Jinja2"
        reasons = [f"{reason} ({rows:,})" for reason, rows in self._reasons.most_common(_MAX_REASONS)]
        print_error_line(f"promptpress: {counts}" + (f": {'; '.join(reasons)}" if reasons else ""))
