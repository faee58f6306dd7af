"""The core's exceptions with the places that a program may ask for, and the warning."""

from __future__ import annotations

from promptpress._core import RenderError, TemplateError

__all__ = ["PromptWarning", "render_error", "template_error"]


class PromptWarning(UserWarning):
    """What a renderer does is probably not what is meant: see `promptpress.Renderer.notes`."""


def template_error(message: str, path: str) -> TemplateError:
    """Make the error for a fault of the configuration.

    Args:
        message: What was found and what would be right; without the path.
        path: Where, such as `prompt_template.begin[0]`.

    Returns:
        The error to raise; its message begins with the path.

    >>> template_error("found nothing", "reader").path
    'reader'

    """
    error = TemplateError(f"{path}: {message}")
    error.path, error.row, error.column = path, None, None
    return error


def render_error(message: str, row: int | None = None, column: str | None = None) -> RenderError:
    """Make the error for a fault of the data.

    Args:
        message: The whole message.
        row: The row of all samples that it is about.
        column: The column that it is about.

    Returns:
        The error to raise.

    >>> render_error("row 3: no such row", row=3).row
    3

    """
    error = RenderError(message)
    error.path, error.row, error.column = None, row, column
    return error
