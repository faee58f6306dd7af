"""On and off."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from promptpress._backend import log
from promptpress._backend.patches import Patches


class Switch:
    """A harness's backend, which can be on or off. Its methods are what users call.

    Args:
        harness: The harness's name.
        package: Its package.
        patches: What being on means.

    Example:
        >>> import json
        >>> shout = {"JSONEncoder.encode": lambda encode: lambda self, o: encode(self, o).upper()}
        >>> with Switch("JSON", "json", Patches({"json": shout})).backend():
        ...     json.JSONEncoder().encode("a")
        '"A"'
    """

    def __init__(self, harness: str, package: str, patches: Patches) -> None:
        self._harness = harness
        self._package = package
        self._patches = patches
        self._is_on = False
        self._lock = threading.Lock()

    def enable(self) -> None:
        """Have the harness's inferencers render their prompts in bulk, in this process, from now on.

        What the model receives, what is written and what is raised stay as they are. What isn't covered is done by the
        harness's own code, and the log of `promptpress.backend` says so once for each reason. The harness may be
        imported before or after.

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

    def backend(self) -> AbstractContextManager[None]:
        """On within a `with` block, and then as it was before.

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
                log.forget()
                self._patches.apply()
                self._is_on = True
            return was_off

    @contextmanager
    def _during(self) -> Iterator[None]:
        was_off = self._on()
        try:
            yield
        finally:
            if was_off:
                self.disable()
