"""On and off."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from promptpress._backend import log
from promptpress._backend.patches import Patches


class Switch:
    """A backend that can be on or off.

    Args:
        patches: What being on means.
    """

    def __init__(self, patches: Patches) -> None:
        self._patches = patches
        self._is_on = False
        self._lock = threading.Lock()

    def on(self) -> bool:
        """Switch it on; returns whether it was off."""
        with self._lock:
            was_off = not self._is_on
            if was_off:
                log.forget()
                self._patches.apply()
                self._is_on = True
            return was_off

    def off(self) -> None:
        """Switch it off, if it is on."""
        with self._lock:
            if self._is_on:
                self._patches.revert()
                self._is_on = False

    @contextmanager
    def during(self) -> Iterator[None]:
        """On while the block runs, and then as it was before."""
        was_off = self.on()
        try:
            yield
        finally:
            if was_off:
                self.off()
