"""A harness's prompt path, imported from the installed package without what only models and evaluators need.

Importing a harness's packages pulls in every evaluator, retriever and model: torch, transformers, nltk, openai and
dozens more. The prompt path lives in a few files of these packages. So the packages whose `__init__` imports their
whole folder are entered as bare packages, on the same folder of the same installation, and the files are imported from
there unchanged. What they import of the rest of the harness (registry, dataset reader, logging) is the real thing too.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import ModuleType, SimpleNamespace

import stubs


@dataclass(frozen=True)
class Layout:
    """The modules of a harness's prompt path; all names but `root` are relative to `root`."""

    distribution: str
    root: str
    bare: tuple[str, ...]
    exports: dict[str, dict[str, list[str]]]  # names that files take from a package: {package: {its module: names}}
    modules: dict[str, list[str]]  # what is wanted: {module: names}
    stand_ins: tuple[str, ...]

    def missing(self) -> str | None:
        """Return the reason why the harness can't be imported, or None; only the packages above `root` are imported."""
        for name in (self.root.partition(".")[0], "mmengine", "datasets"):
            if importlib.util.find_spec(name) is None:
                return f"{name} isn't installed (requirements/harness.txt)"
        return None

    def version(self, loaded: SimpleNamespace) -> str:
        """Load the harness; return its names and its stand-ins."""
        stood_in = f"; stand-ins for {', '.join(loaded.stood_in)}" if loaded.stood_in else ""
        return f"{self.distribution} {version(self.distribution)}, datasets {version('datasets')}{stood_in}"

    def load(self) -> SimpleNamespace:
        """The classes of the prompt path by name, and `stood_in`: the packages that stand-ins replace."""
        import datasets  # noqa: F401  (before the stand-ins: it looks for torch when it is imported)

        harness = SimpleNamespace(stood_in=stubs.install(self.stand_ins))
        folder = Path(importlib.import_module(self.root).__file__).parent
        for name in self.bare:
            _bare(f"{self.root}.{name}", folder.joinpath(*name.split(".")))
        for package, modules in self.exports.items():
            for module, names in modules.items():
                _export(f"{self.root}.{package}", module, names)
        for module, names in self.modules.items():
            imported = importlib.import_module(f"{self.root}.{module}")
            for name in names:
                setattr(harness, name, getattr(imported, name))
        return harness

    def module(self, name: str) -> ModuleType:
        """One of the harness's modules, by its name relative to `root`."""
        return importlib.import_module(f"{self.root}.{name}")


def _bare(name: str, folder: Path) -> None:
    if name in sys.modules:
        return
    module = ModuleType(name)
    module.__path__ = [str(folder)]
    module.__spec__ = importlib.util.spec_from_loader(name, loader=None, is_package=True)
    module.__spec__.submodule_search_locations = [str(folder)]
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    setattr(sys.modules[parent], child, module)


def _export(package: str, module: str, names: list[str]) -> None:
    imported = importlib.import_module(f"{package}.{module}")
    for name in names:
        setattr(sys.modules[package], name, getattr(imported, name))
