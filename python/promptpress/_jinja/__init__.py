"""Jinja templates over tables: compiled to programs of the core, and by Jinja2 itself where that isn't certain."""

from __future__ import annotations

import importlib
from typing import Any

from promptpress._public_names import name_publicly

__all__ = ["public"]

_HOME = {"ChatTemplate": "promptpress._jinja.chat.template", "JinjaTemplate": "promptpress._jinja.template"}


def public(name: str) -> Any:
    """Import a class that needs Jinja2, under the name by which users know it.

    Args:
        name: `ChatTemplate` or `JinjaTemplate`.

    Returns:
        The class.

    Raises:
        ImportError: If Jinja2 isn't installed; it says what to install.

    >>> public("JinjaTemplate")
    <class 'promptpress.JinjaTemplate'>

    """
    try:
        import jinja2  # noqa: F401, PLC0415
    except ModuleNotFoundError as error:
        message = f'promptpress.{name} needs Jinja2: pip install "promptpress[jinja]"'
        raise ImportError(message, name="jinja2") from error
    found = getattr(importlib.import_module(_HOME[name]), name)
    name_publicly("promptpress", {name: found})
    return found
