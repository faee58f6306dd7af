"""Errors and warnings for tools: each names its place, what was found, and what would be right."""

from promptpress._errors.errors import (
    ABOUT_THE_TABLE,
    FilledValuesWarning,
    LeftOutWarning,
    NothingRenderedWarning,
    RowError,
    RowErrors,
    callers_level,
    close_names,
    counted,
    did_you_mean,
    of_row,
    render_error,
    row_error_text,
    template_error,
)
from promptpress._errors.file_errors import Choice, FileError, OutputError, ReaderGoneError, UsageError, located, reason

__all__ = [
    "ABOUT_THE_TABLE",
    "Choice",
    "FileError",
    "FilledValuesWarning",
    "LeftOutWarning",
    "NothingRenderedWarning",
    "OutputError",
    "ReaderGoneError",
    "RowError",
    "RowErrors",
    "UsageError",
    "callers_level",
    "close_names",
    "counted",
    "did_you_mean",
    "located",
    "of_row",
    "reason",
    "render_error",
    "row_error_text",
    "template_error",
]
