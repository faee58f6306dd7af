"""The public classes of templates, which need Jinja2: imported when they are first used."""

from __future__ import annotations

from typing import Any

from promptpress._utils.public_names import name_publicly


def template_class(name: str) -> Any:
    """Import a class that needs Jinja2, under the name by which users know it.

    >>> template_class("JinjaTemplate")
    <class 'promptpress.JinjaTemplate'>

    """
    try:
        import jinja2  # noqa: F401, PLC0415
    except ModuleNotFoundError as error:
        raise ImportError(
            f'promptpress.{name} needs Jinja2: pip install "promptpress[jinja]"', name="jinja2"
        ) from error
    from promptpress._renderers.chat_template import ChatTemplate  # noqa: PLC0415 - needs Jinja2
    from promptpress._renderers.jinja_template import JinjaTemplate  # noqa: PLC0415 - needs Jinja2

    public_class = {"ChatTemplate": ChatTemplate, "JinjaTemplate": JinjaTemplate}[name]
    name_publicly("promptpress", {name: public_class})
    return public_class
