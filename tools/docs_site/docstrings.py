"""Docstrings as Sphinx reads them: Google's sections become fields, and a fence around a doctest goes."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, GoogleDocstring

CONFIG = Config(napoleon_google_docstring=True, napoleon_numpy_docstring=False, napoleon_use_rtype=False)


def setup(app: Sphinx) -> dict[str, bool]:
    """Take docstrings in hand, in the place of napoleon, which reads a property's `words: words` as a type."""
    app.connect("autodoc-process-docstring", process)
    return {"parallel_read_safe": True}


def process(  # noqa: PLR0917 - Sphinx's event has these
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Rewrite one docstring in place."""
    # The core's are Markdown, whose doctests stand in a fence.
    plain = [line for line in lines if not line.lstrip().startswith("```")]
    kind = "method" if what in ("property", "attribute", "data") else what
    lines[:] = GoogleDocstring(plain, CONFIG, app, kind, name, obj, options).lines()
