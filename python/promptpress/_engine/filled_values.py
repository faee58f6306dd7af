"""Counts of a run of `Renderer`: rows whose values were filled in, of which a warning tells, and rows with errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

from promptpress._core import StreamState
from promptpress._errors.errors import FilledValuesWarning
from promptpress._errors.row_errors import RowErrors
from promptpress._utils.callers import callers_level
from promptpress._utils.counted import counted
from promptpress._utils.encoded_requests import EncodedRequests

_MAX_COLUMNS = 3


@dataclass(frozen=True)
class LastRun:
    """The samples of a run that are worth a look: those whose values were filled in, and those with errors.

    Args:
        rows: The number of samples whose values were filled in, or took part in a placeholder: those of
            `Renderer.divergence`.
        first_row: The first of them; None if there are none.
        columns: The columns whose values did so in the first row.
        is_partial: True if some rows couldn't be compared.
        samples: The number of all samples of the run.
        errors: The samples that couldn't be rendered, under `errors="column"` or `"skip"`: their number is
            `errors.rows`, and `errors.first` has the first three with their messages.
        tokens: The requests by what has encoded them; None if nobody asked for tokens.

    >>> LastRun(2, 17, ("q",), samples=5000).message.partition("; ")[0]
    "in 2 of 5,000 rows, values were filled in as templates, first in row 17, column 'q'"

    """

    rows: int = 0
    first_row: int | None = None
    columns: tuple[str, ...] = ()
    is_partial: bool = False
    samples: int = 0
    errors: RowErrors = field(default_factory=RowErrors)
    tokens: EncodedRequests | None = None

    @classmethod
    def of(
        cls, state: StreamState, samples: int, errors: RowErrors | None = None, row_number: Callable[[int], int] = int
    ) -> LastRun:
        """Return what the state of a run has counted."""
        rows, first, is_partial = state.filled
        first_row, columns = (row_number(first[0]), first[1]) if first is not None else (None, [])
        errors = RowErrors() if errors is None else errors.renumbered(row_number)
        return cls(rows, first_row, tuple(columns), is_partial, samples, errors)

    @property
    def message(self) -> str:
        """The text of the warning of filled values."""
        names = ", ".join(map(repr, self.columns[:_MAX_COLUMNS])) + (
            ", ..." if len(self.columns) > _MAX_COLUMNS else ""
        )
        count = f"in {'at least ' if self.is_partial else ''}{self.rows:,} of {counted(self.samples, 'row')}"
        of_columns = f", column{'' if len(self.columns) == 1 else 's'} {names}" if self.columns else ""
        return (
            f"{count}, values were filled in as templates, first in row {self.first_row}{of_columns}; "
            'substitution="single_pass" leaves values alone'
        )


def warn_of_filled_values(run: LastRun) -> None:
    """Warn that values were filled in, if any were."""
    if run.rows:
        warnings.warn(run.message, FilledValuesWarning, stacklevel=callers_level())
