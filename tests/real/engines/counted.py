"""A renderer that records in a folder each time a process unpickles, compiles or calls it."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import promptpress as pp
import promptpress._core as _core
from promptpress._config.configuration import Configuration
from promptpress._engine.configured_engine import ConfiguredEngine


class CountedConfiguration(Configuration):
    """A configuration that records each compilation in a folder."""

    __slots__ = ("folder",)
    folder: str

    def compile(self, text: Any) -> _core.CompiledRenderer:
        """Compile the configuration and record it."""
        note(self.folder, "compiled")
        return super().compile(text)


class Counted(pp.Renderer):
    """A renderer that is pickled by the name of its class, together with the folder for its records."""

    __slots__ = ("folder",)

    @classmethod
    def of(cls, renderer: pp.Renderer, folder: Path) -> Counted:
        """Return a renderer of the same configuration that isn't compiled yet."""
        new = cls.__new__(cls)
        new._restore(str(folder), renderer.__getstate__())
        return new

    def __getstate__(self) -> dict[str, Any]:
        return {"folder": self.folder, "state": super().__getstate__()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._restore(state["folder"], state["state"])
        note(self.folder, "unpickled")

    def _restore(self, folder: str, state: dict[str, Any]) -> None:
        configuration = CountedConfiguration.of_state(state)
        configuration.folder = folder  # type: ignore[attr-defined]
        object.__setattr__(self, "folder", folder)
        self._set(ConfiguredEngine(configuration))

    def __call__(self, batch: Any) -> Any:
        """Render a batch and record the call."""
        out = super().__call__(batch)
        note(self.folder, "called")
        note(self.folder, f"called with {_core.threads()} threads")
        return out


def note(folder: str, event: str) -> None:
    """Record an event of this process: each event adds a byte to the file of its name and process."""
    with open(Path(folder) / f"{event}-{os.getpid()}", "ab") as file:
        file.write(b".")


def counts(folder: Path, event: str) -> Counter[int]:
    """Return how often the event came about in each process other than this one."""
    sizes = {int(file.name.partition("-")[2]): file.stat().st_size for file in folder.glob(f"{event}-*")}
    sizes.pop(os.getpid(), None)
    return Counter(sizes)
