"""The warning that a table or a stream has no rows, given by what renders and by what exports."""

from __future__ import annotations

import warnings

from promptpress._errors.errors import NothingRenderedWarning
from promptpress._utils.callers import callers_level


def warn_of_no_rows(rows: int) -> None:
    """Warn if there are no rows. The text is always the same, so that Python shows it once for a line of a program."""
    if not rows:
        warnings.warn(
            "the table has no rows, so nothing was rendered", NothingRenderedWarning, stacklevel=callers_level()
        )
