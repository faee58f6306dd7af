"""Jinja templates over tables: compiled to programs of the core, or rendered by Jinja2 where that isn't certain."""

from __future__ import annotations

import importlib
from typing import Any

from promptpress._utils.public_names import name_publicly

_HOME = {
    "ChatTemplate": "promptpress._renderers.chat_template",
    "JinjaTemplate": "promptpress._renderers.jinja_template",
}


def public(name: str) -> Any:
    """Import a class that needs Jinja2, under the name by which users know it.

    Raises:
        ImportError: If Jinja2 isn't installed; the message says what to install.

    >>> public("JinjaTemplate")
    <class 'promptpress.JinjaTemplate'>
    """
    try:
        import jinja2  # noqa: F401, PLC0415
    except ModuleNotFoundError as error:
        message = f'promptpress.{name} needs Jinja2: pip install "promptpress[jinja]"'
        raise ImportError(message, name="jinja2") from error
    public_class = getattr(importlib.import_module(_HOME[name]), name)
    name_publicly("promptpress", {name: public_class})
    return public_class
