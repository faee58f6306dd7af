"""A renderer that notes, in a folder, each time it is unpickled, compiled or called, and by which process."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import promptpress as pp
from promptpress import _core


class Counted(pp.Renderer):
    """Pickled by name, as any class of a module; the folder goes with it."""

    __slots__ = ("folder",)

    @classmethod
    def of(cls, renderer: pp.Renderer, folder: Path) -> Counted:
        """One of the same configuration, not yet compiled."""
        new = cls.__new__(cls)
        object.__setattr__(new, "folder", str(folder))
        pp.Renderer.__setstate__(new, renderer.__getstate__())
        return new

    def __getstate__(self) -> dict[str, Any]:
        return {"folder": self.folder, "state": super().__getstate__()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        object.__setattr__(self, "folder", state["folder"])
        super().__setstate__(state["state"])
        self.note("unpickled")

    @property
    def _core(self) -> Any:
        if self._configuration.compiled is None:
            self.note("compiled")
        return super()._core

    def __call__(self, batch: Any) -> Any:
        """Render, and note it."""
        out = super().__call__(batch)
        self.note("called")
        self.note(f"called with {_core.threads()} threads")
        return out

    def note(self, event: str) -> None:
        """A file for each event and process; a byte for each time."""
        with open(Path(self.folder) / f"{event}-{os.getpid()}", "ab") as file:
            file.write(b".")


def counts(folder: Path, event: str) -> Counter[int]:
    """How often the event came about in each process other than this one."""
    found = {int(file.name.partition("-")[2]): file.stat().st_size for file in folder.glob(f"{event}-*")}
    found.pop(os.getpid(), None)
    return Counter(found)
