"""The public renderers: Renderer, JinjaTemplate, ChatTemplate, and what builds them from configuration files."""

from __future__ import annotations

from typing import Any

from promptpress._importing import name_publicly


def template_class(name: str) -> Any:
    """Import a class that needs Jinja2, under the name by which users know it.

    >>> template_class("JinjaTemplate")
    <class 'promptpress.JinjaTemplate'>

    """
    try:
        import jinja2  # noqa: F401, PLC0415
    except ModuleNotFoundError as error:
        message = f'promptpress.{name} needs Jinja2: pip install "promptpress[jinja]"'
        raise ImportError(message, name="jinja2") from error
    from promptpress._renderers import templates  # noqa: PLC0415 - needs Jinja2

    public_class = getattr(templates, name)
    name_publicly("promptpress", {name: public_class})
    return public_class
