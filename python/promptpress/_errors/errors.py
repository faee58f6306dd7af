"""Constructors of the core's exceptions, and the warning class; every room raises its errors with them."""

from __future__ import annotations

from promptpress._core import RenderError, TemplateError


class PromptWarning(UserWarning):
    """Warning of a probable mistake in a configuration: see `promptpress.Renderer.notes`."""


class FilledValuesWarning(PromptWarning):
    """Warning that rendering has changed data: values were filled in as templates, as harnesses do."""


class NothingRenderedWarning(PromptWarning):
    """Warning that there was nothing to render: the samples have no rows."""


def template_error(code: str, path: str, message: str) -> TemplateError:
    """Make the error for a fault of the configuration, with a text that begins with the path.

    Args:
        code: One of `promptpress._core.ERROR_CODES`.
        path: The faulty part of the configuration, such as `prompt_template.begin[0]`.
        message: The fault and its remedy, without the path.

    >>> error = template_error("wrong_type", "reader", "found nothing")
    >>> print(error, error.code, error.path, sep=", ")
    reader: found nothing, wrong_type, reader

    """
    error = TemplateError(f"{path}: {message}")
    error.code, error.message = code, message
    error.path, error.row, error.column = path, None, None
    return error


def render_error(
    code: str, message: str, row: int | None = None, column: str | None = None, *, placed: bool = True
) -> RenderError:
    """Make the error for a fault of the data.

    Args:
        code: One of `promptpress._core.ERROR_CODES`.
        message: The fault and its remedy, without row and column.
        row: The row's number among all samples.
        column: The faulty column's name.
        placed: Begin the text with row and column. False if the message names them itself.

    >>> print(render_error("row_out_of_range", "no such row", row=3))
    row 3: no such row

    """
    row_and_column = [f"row {row}"] * (row is not None) + [f'column "{column}"'] * (column is not None)
    prefix = ", ".join(row_and_column) + ": " if placed and row_and_column else ""
    # A NUL byte ends a C string: an exported stream's message would be cut there.
    error = RenderError(f"{prefix}{message}".replace("\0", "\\x00"))
    error.code, error.message = code, message
    error.path, error.row, error.column = None, row, column
    return error


def of_row(error: RenderError, row: int) -> RenderError:
    """Renumber the error of a one-row table for a larger table; a text that names no row stays as it is."""
    message = error.message if error.path in (None, "") else f"{error.path}: {error.message}"
    out = render_error(error.code, message, error.row if error.row is None else row, error.column)
    out.message, out.path, out.row = error.message, error.path, row
    return out


ABOUT_THE_TABLE = frozenset(
    {"internal_error", "out_of_memory", "missing_column", "wrong_column_type", "unsupported_column_type"}
)
"""Codes of errors that concern the whole table, at whatever row they are raised."""


def row_error_text(error: RenderError) -> str:
    """Return an error as a column of errors shows it: code, column if any, and message."""
    column = "" if error.column is None else f'column "{error.column}": '
    return f"{error.code}: {column}{error.message}"
