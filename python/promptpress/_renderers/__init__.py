"""The public renderers: Renderer, JinjaTemplate, ChatTemplate, and what builds them from configuration files."""

from __future__ import annotations

from typing import Any

from promptpress._importing import name_publicly


def template_class(name: str) -> Any:
    """Import a class that imports Jinja2, under the name by which users know it.

    >>> template_class("JinjaTemplate")
    <class 'promptpress.JinjaTemplate'>
    """
    from promptpress._renderers import templates  # noqa: PLC0415 - imports Jinja2, which not every run needs

    public_class = getattr(templates, name)
    name_publicly("promptpress", {name: public_class})
    return public_class
