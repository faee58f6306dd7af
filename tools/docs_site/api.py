"""A page for each public module; what stands on it is filled in from docstrings when the site is built."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType

import promptpress

MEMBERS = {"autoclass": ["   :members:", "   :special-members: __call__"]}


def public_modules() -> list[str]:
    """Modules of which no part of the name begins with an underscore."""
    found = [one.name for one in pkgutil.walk_packages(promptpress.__path__, "promptpress.")]
    return ["promptpress", *sorted(name for name in found if not any(part[:1] == "_" for part in name.split(".")))]


def api_pages() -> dict[str, str]:
    """The pages by their names in the site, in reStructuredText, and one that lists them."""
    names = public_modules()
    pages = {f"api/{name}.rst": page(name) for name in names}
    about = "What may be imported; every other module begins with an underscore."
    lines = [title("In Python"), about, "", ".. toctree::", "", *(f"   {name}" for name in names), ""]
    return {**pages, "api/index.rst": "\n".join(lines)}


def page(name: str) -> str:
    """A module: what it says, then each of its names."""
    module = importlib.import_module(name)
    lines = [title(name), f".. automodule:: {name}", "   :no-members:", ""]
    for member in module.__all__:
        kind = kind_of(module, member)
        if kind is not None:
            lines += [f".. {kind}:: {name}.{member}", *MEMBERS.get(kind, []), ""]
    return "\n".join(lines)


def kind_of(module: ModuleType, member: str) -> str | None:
    """The directive that describes a name; None for what has a page of its own, or nothing to say."""
    value = getattr(module, member)
    if inspect.ismodule(value):
        return None
    if inspect.isclass(value):
        return "autoexception" if issubclass(value, BaseException) else "autoclass"
    if inspect.isroutine(value):
        return "autofunction"
    return None if member.startswith("__") else "autodata"


def title(text: str) -> str:
    """A heading."""
    return f"{text}\n{'=' * len(text)}\n"
