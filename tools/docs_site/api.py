"""A page for each public module. autodoc fills the pages with the docstrings when the site is built."""

from __future__ import annotations

import importlib
import pkgutil
import zlib
from pathlib import Path

import promptpress


def public_modules() -> list[str]:
    """Return the modules with no part of their name beginning with an underscore."""
    names = [module.name for module in pkgutil.walk_packages(promptpress.__path__, "promptpress.")]
    return ["promptpress", *sorted(name for name in names if not any(part[:1] == "_" for part in name.split(".")))]


def api_pages() -> dict[str, str]:
    """Return the pages by their names in the site, in reStructuredText, with one that lists them."""
    names = public_modules()
    pages = {f"api/{name}.rst": f"{title(name)}\n.. automodule:: {name}\n" for name in names}
    about = "What may be imported; every other module begins with an underscore."
    lines = [title("In Python"), about, "", ".. toctree::", "", *(f"   {name}" for name in names), ""]
    return {**pages, "api/index.rst": "\n".join(lines)}


def title(text: str) -> str:
    """Return a heading."""
    return f"{text}\n{'=' * len(text)}\n"


def undocumented(site: Path) -> list[str]:
    """Return the public names that a built site doesn't describe, because autodoc skips names without a docstring."""
    entries = zlib.decompress((site / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode().splitlines()
    described = {entry.partition(" ")[0] for entry in entries}
    # Names of the interface for tools have docstrings where they stand; constants among them have none for Sphinx.
    modules = [name for name in public_modules() if not name.startswith("promptpress.engine")]
    names = [f"{module}.{name}" for module in modules for name in importlib.import_module(module).__all__]
    return [name for name in names if name not in described and "__" not in name]
