"""The real harnesses: whether they are here, and how to import them.

They declare dozens of packages, of which their prompt code uses few. Those few are pinned in requirements/harness.txt;
for the others, and for torch where none fits, `stubs` stands in. What then still fails to import, or calls what only
a stand-in answers for, is a test that can't run here.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType

import stubs

REQUIREMENTS = Path(__file__).resolve().parents[3] / "requirements" / "harness.txt"


@dataclass(frozen=True)
class Harness:
    """A harness as PyPI has it."""

    distribution: str
    package: str
    modules: tuple[str, ...]
    """Modules that are imported, in this order: the registries, and the modules that fill them."""
    stand_ins: tuple[str, ...]
    """Modules that the harness imports at the top of its files and that its prompt code doesn't use."""
    bare: tuple[str, ...] = ()
    """Packages whose own `__init__` isn't run, because it runs code of packages that aren't there."""

    @property
    def pinned(self) -> str:
        """The version whose behaviour is promptpress's."""
        lines = REQUIREMENTS.read_text(encoding="utf-8").splitlines()
        return next(line.partition("==")[2] for line in lines if line.startswith(f"{self.distribution}=="))

    def missing(self) -> str | None:
        """Return the reason why the harness is missing, or None; nothing of it is imported."""
        try:
            installed = version(self.distribution)
        except PackageNotFoundError:
            return f"{self.distribution} isn't installed (make test-harness)"
        return None if installed == self.pinned else f"{self.distribution} is {installed} here, not {self.pinned}"

    def load(self) -> ModuleType:
        """Import it. Raises ImportError where that can't be done."""
        import datasets  # noqa: F401  (before the stand-ins: it looks for torch when it is imported)

        stubs.install(self.stand_ins)
        module = importlib.import_module(self.package)
        for name in self.bare:
            _enter_bare(name, module)
        for name in self.modules:
            importlib.import_module(name)
        return module


def _enter_bare(name: str, root: ModuleType) -> None:
    if name in sys.modules:
        return
    folder = str(Path(str(root.__file__)).parent / name.removeprefix(f"{root.__name__}.").replace(".", "/"))
    module = ModuleType(name)
    module.__path__ = [folder]
    module.__spec__ = importlib.util.spec_from_loader(name, loader=None, is_package=True)
    assert module.__spec__ is not None
    module.__spec__.submodule_search_locations = [folder]
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    setattr(sys.modules[parent], child, module)


OPENCOMPASS = Harness(
    distribution="opencompass",
    package="opencompass",
    modules=("opencompass.registry", "opencompass.openicl", "opencompass.models"),
    # Its datasets' own code calls decorators and parsers of packages that only scoring needs.
    bare=("opencompass.datasets",),
    stand_ins=(
        "torch", "transformers", "importlib_metadata", "httpx", "jieba", "scipy", "sklearn", "evaluate",
        "rouge_chinese", "nltk", "rank_bm25",
    ),
)  # fmt: skip
AISBENCH = Harness(
    distribution="ais-bench-benchmark",
    package="ais_bench.benchmark",
    modules=("ais_bench.benchmark.registry", "ais_bench.benchmark.openicl", "ais_bench.benchmark.models"),
    stand_ins=(
        "torch", "transformers", "scipy", "jieba", "rouge_chinese", "evaluate", "aiohttp", "janus", "PIL", "orjson",
        "tabulate", "psutil", "plotly", "tiktoken", "regex", "jsonlines", "cv2", "fuzzywuzzy", "rouge",
    ),
)  # fmt: skip
OPENICL = Harness(
    distribution="openicl",
    package="openicl",
    modules=("openicl",),
    stand_ins=(
        "torch", "transformers", "accelerate", "rank_bm25", "nltk", "sentence_transformers", "faiss", "sklearn",
        "evaluate", "openai",
    ),
)  # fmt: skip
