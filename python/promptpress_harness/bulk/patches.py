"""Replaces methods and functions of a harness, and puts them back."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from promptpress_harness.bulk.monkeypatches import originals

Wrap = Callable[[Any], Any]
"""Takes the harness's function and returns its replacement."""


class Patches:
    """Replacements for methods in modules that are loaded now or later.

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
        self._finder = _Finder(self, frozenset(methods))

    def apply(self) -> None:
        """Replace the methods of loaded modules, and those of the others when they are imported."""
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
                original = vars(owner)[name]
                original = originals.get(original, original)  # others may have put a replacement back after `revert`
                replacement = wrap(original)
                self._replaced.append((owner, name, original, replacement))
                originals[replacement] = original
                setattr(owner, name, replacement)

    def revert(self) -> None:
        """Put everything back."""
        sys.meta_path.remove(self._finder)
        while self._replaced:
            owner, name, original, replacement = self._replaced.pop()
            # A later replacement by someone else stays.
            if vars(owner).get(name) is replacement:
                setattr(owner, name, original)
                originals.pop(replacement, None)


@contextmanager
def within(turn_on: Callable[[], bool], turn_off: Callable[[], None]) -> Iterator[None]:
    """Have something on within a `with` block; `turn_on` returns true if it was off, as it is afterwards then."""
    was_off = turn_on()
    try:
        yield
    finally:
        if was_off:
            turn_off()


class _Finder(MetaPathFinder):
    """Finds the same modules as the other finders, and has them patched once they have run."""

    def __init__(self, patches: Patches, modules: frozenset[str]) -> None:
        self._patches = patches
        self._modules = modules
        self._searching: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # noqa: ARG002
        if name not in self._modules or name in self._searching:
            return None
        self._searching.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._searching.discard(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._patches)
        return spec


class _Loader(Loader):
    def __init__(self, loader: Any, patches: Patches) -> None:
        self._loader = loader
        self._patches = patches

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._patches.apply_to(module)
