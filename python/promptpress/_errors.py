"""The core's exceptions with what a program may ask of them, and the warning."""

from __future__ import annotations

from promptpress._core import RenderError, TemplateError

__all__ = ["PromptWarning", "of_row", "render_error", "template_error"]


class PromptWarning(UserWarning):
    """What a renderer does is probably not what is meant: see `promptpress.Renderer.notes`."""


def template_error(code: str, path: str, message: str) -> TemplateError:
    """Make the error for a fault of the configuration.

    Args:
        code: What kind of fault it is, one of `promptpress._core.ERROR_CODES`.
        path: Where, such as `prompt_template.begin[0]`.
        message: What was found and what would be right; without the path.

    Returns:
        The error to raise; its text begins with the path.

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
        code: What kind of fault it is, one of `promptpress._core.ERROR_CODES`.
        message: What was found and what would be right; without the place.
        row: The row of all samples that it is about.
        column: The column that it is about.
        placed: Whether its text begins with row and column; the message may name them itself.

    Returns:
        The error to raise.

    >>> print(render_error("row_out_of_range", "no such row", row=3))
    row 3: no such row

    """
    row_of = [] if row is None else [f"row {row}"]
    column_of = [] if column is None else [f'column "{column}"']
    place = ", ".join(row_of + column_of) if placed else ""
    # A NUL byte ends a C string: an exported stream's message would be cut there.
    error = RenderError(f"{place}: {message}".replace("\0", "\\x00") if place else message.replace("\0", "\\x00"))
    error.code, error.message = code, message
    error.path, error.row, error.column = None, row, column
    return error


def of_row(error: RenderError, row: int) -> RenderError:
    """Say of an error for the only row of a table which row that is of a larger one.

    Args:
        error: As it was raised; if it names no row it stays about none.
        row: The row's number.

    Returns:
        The error to raise.

    >>> print(of_row(render_error("null_value", "null", row=0, column="q"), 5))
    row 5, column "q": null

    """
    message = error.message if error.path in (None, "") else f"{error.path}: {error.message}"
    out = render_error(error.code, message, error.row if error.row is None else row, error.column)
    out.message, out.path, out.row = error.message, error.path, row
    return out
