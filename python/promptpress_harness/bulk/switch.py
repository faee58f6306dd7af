"""The switch of a bulk backend, which replaces methods and functions of a harness, and puts them back."""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from promptpress_harness.bulk import report
from promptpress_harness.bulk.monkeypatches import originals
from promptpress_harness.registry import VARIABLE, Harness
from promptpress_harness.run import add_startup, remove_startup

Wrap = Callable[[Any], Any]
"""Takes the harness's function and returns its replacement."""


class Patches:
    """Replacements for methods in modules that are loaded now or later.

    They are given as `{module: {"Class.method": wrap}}`, or `"function"` for a function of the module.
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


_enabled: set[Switch] = set()
_is_startup_added = False
"""True if a switch has put the folder that switches backends on in other processes into PYTHONPATH."""


class Switch:
    """The bulk backend of a harness, which can be on or off. Its methods are what users call.

    `patches` may be a function that returns them when the backend is switched on.
    """

    def __init__(self, harness: Harness, patches: Patches | Callable[[], Patches]) -> None:
        self._harness = harness
        self._given = patches
        self._patches = Patches({})
        self._is_on = self._is_added = False
        self._lock = threading.Lock()

    def enable(self) -> None:
        """Have the harness's inferencers render their prompts in bulk from now on.

        That is so in this process and in the processes that it starts, in which a harness runs its tasks: they inherit
        `PROMPTPRESS_BACKEND` and `PYTHONPATH`, which begins with a folder of promptpress then.

        What the model receives, what is written and what is raised stay as they are. What isn't covered is done by the
        harness's own code. The log of `promptpress.backend` says for each call of an inferencer which way its prompts
        go, and in the end how many went which way. The harness may be imported before or after.

        Raises:
            ImportError: If the harness isn't installed.
        """
        self._check_installed()
        self._turn_on()

    def disable(self) -> None:
        """Have the harness make its prompts itself again; call it between runs, not within one."""
        with self._lock:
            if self._is_on:
                self._patches.revert()
                self._is_on = False
                _enabled.discard(self)
                if self._is_added:
                    names = [name for name in _listed() if name != self._harness.backend]
                    os.environ[VARIABLE] = ",".join(names)
                    self._is_added = False
                if not _enabled:
                    _leave_children()
                    report.end()
                    report.forget()

    def backend(self) -> AbstractContextManager[None]:
        """Have the backend on within a `with` block; afterwards it is on or off as before.

        Returns:
            What to give to `with`.

        Raises:
            ImportError: If the harness isn't installed.
        """
        self._check_installed()
        return within(self._turn_on, self.disable)

    def _check_installed(self) -> None:
        package = self._harness.package
        if importlib.util.find_spec(package) is None:
            raise ImportError(f"{self._harness.name} isn't installed", name=package)

    def _turn_on(self) -> bool:
        """Switch the backend on, and return true if it was off."""
        with self._lock:
            was_off = not self._is_on
            if was_off:
                report.listen()
                self._reach_children()
                report.start(follows=not self._harness.has_screen)
                self._patches = self._given if isinstance(self._given, Patches) else self._given()
                self._patches.apply()
                self._is_on = True
                _enabled.add(self)
            return was_off

    def _reach_children(self) -> None:
        """Have the backend on in the processes that this one starts."""
        global _is_startup_added  # noqa: PLW0603 - the state of this process
        _is_startup_added = add_startup(os.environ) or _is_startup_added
        if self._harness.backend not in _listed():
            os.environ[VARIABLE] = ",".join([*_listed(), self._harness.backend])
            self._is_added = True


def _leave_children() -> None:
    """Take the folder out of PYTHONPATH if a switch has put it there."""
    global _is_startup_added  # noqa: PLW0603 - the state of this process
    if _is_startup_added:
        remove_startup(os.environ)
        _is_startup_added = False


def _listed() -> list[str]:
    """Return the names of the backends that processes switch on when they start."""
    return [name.strip() for name in os.environ.get(VARIABLE, "").split(",") if name.strip()]
