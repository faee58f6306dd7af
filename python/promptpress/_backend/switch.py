"""On and off."""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from promptpress._backend import log, report
from promptpress._backend.patches import Patches

_on: set[Switch] = set()


class Switch:
    """A harness's backend, which can be on or off. Its methods are what users call.

    Args:
        harness: The harness's name.
        package: Its package.
        patches: What being on means.
        has_lines: Whether its console shows one line after the other, not a screen.

    Example:
        >>> import json
        >>> shout = {"JSONEncoder.encode": lambda encode: lambda self, o: encode(self, o).upper()}
        >>> with Switch("JSON", "json", Patches({"json": shout})).backend():
        ...     json.JSONEncoder().encode("a")
        '"A"'
    """

    def __init__(self, harness: str, package: str, patches: Patches, *, has_lines: bool = True) -> None:
        self._harness = harness
        self._package = package
        self._patches = patches
        self._has_lines = has_lines
        self._is_on = False
        self._lock = threading.Lock()

    def enable(self) -> None:
        """Have the harness's inferencers render their prompts in bulk, in this process, from now on.

        What the model receives, what is written and what is raised stay as they are. What isn't covered is done by the
        harness's own code. The log of `promptpress.backend` says for each call of an inferencer which way its prompts
        go, and in the end how many went which way. The harness may be imported before or after.

        Raises:
            ImportError: If the harness isn't installed.
        """
        self._check_installed()
        self._on()

    def disable(self) -> None:
        """Have the harness make its prompts itself again; call it between runs, not within one."""
        with self._lock:
            if self._is_on:
                self._patches.revert()
                self._is_on = False
                _on.discard(self)
                if not _on:
                    report.end()
                    log.forget()

    def backend(self) -> AbstractContextManager[None]:
        """On within a `with` block, and then as it was before.

        Returns:
            What to give to `with`.

        Raises:
            ImportError: If the harness isn't installed.
        """
        self._check_installed()
        return self._during()

    def _check_installed(self) -> None:
        if importlib.util.find_spec(self._package) is None:
            raise ImportError(f"{self._harness} isn't installed", name=self._package)

    def _on(self) -> bool:
        """Switch it on; returns whether it was off."""
        with self._lock:
            was_off = not self._is_on
            if was_off:
                log.listen()
                # Where the environment has switched it on, so it has for all processes of the run.
                report.start(has_children=bool(os.environ.get("PROMPTPRESS_BACKEND")), follows=self._has_lines)
                self._patches.apply()
                self._is_on = True
                _on.add(self)
            return was_off

    @contextmanager
    def _during(self) -> Iterator[None]:
        was_off = self._on()
        try:
            yield
        finally:
            if was_off:
                self.disable()
