"""Attributes of a harness's classes, replaced and put back."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from promptpress._backend.monkeypatches import originals

Wrap = Callable[[Any], Any]
"""Takes the harness's function, returns what stands in its place."""


class Patches:
    """Replacements for methods in modules that are loaded already or will be.

    Args:
        methods: `{module: {"Class.method": wrap}}`, or `"function"` for a function of the module.

    Example:
        >>> import json
        >>> shout = Patches({"json": {"JSONEncoder.encode": lambda encode: lambda self, o: encode(self, o).upper()}})
        >>> shout.apply()
        >>> json.JSONEncoder().encode("a")
        '"A"'
        >>> shout.revert()
        >>> json.JSONEncoder().encode("a")
        '"a"'
    """

    def __init__(self, methods: dict[str, dict[str, Wrap]]) -> None:
        self._methods = methods
        self._replaced: list[tuple[Any, str, Any, Any]] = []
        self._finder = _Finder(self)

    @property
    def modules(self) -> Sequence[str]:
        """The modules that have such methods."""
        return tuple(self._methods)

    def apply(self) -> None:
        """Replace what is loaded; the rest when it is."""
        for name in self._methods:
            module = sys.modules.get(name)
            if module is not None:
                self.apply_to(module)
        sys.meta_path.insert(0, self._finder)

    def apply_to(self, module: ModuleType) -> None:
        """Replace the methods of one module."""
        for path, wrap in self._methods[module.__name__].items():
            owner_name, _, name = path.rpartition(".")
            owner: Any = getattr(module, owner_name, None) if owner_name else module
            if owner is not None and name in vars(owner):
                own = vars(owner)[name]
                own = originals.get(own, own)  # someone may have put back what was there while the backend was on
                made = wrap(own)
                self._replaced.append((owner, name, own, made))
                originals[made] = own
                setattr(owner, name, made)

    def revert(self) -> None:
        """Put everything back."""
        sys.meta_path.remove(self._finder)
        while self._replaced:
            owner, name, own, made = self._replaced.pop()
            # What someone else has put there since then stays.
            if vars(owner).get(name) is made:
                setattr(owner, name, own)
                originals.pop(made, None)


class _Finder(MetaPathFinder):
    """Finds what the others find, and has the module patched once it has run."""

    def __init__(self, patches: Patches) -> None:
        self._patches = patches
        self._asking: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # noqa: ARG002
        if name not in self._patches.modules or name in self._asking:
            return None
        self._asking.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._asking.discard(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._patches)
        return spec


class _Loader(Loader):
    def __init__(self, own: Any, patches: Patches) -> None:
        self._own = own
        self._patches = patches

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._own.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        self._own.exec_module(module)
        self._patches.apply_to(module)
