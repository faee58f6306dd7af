"""OpenCompass's prompt path, imported from the installed package without what only models and evaluators need.

`import opencompass.openicl` pulls in every evaluator and retriever, `import opencompass.models` every model: torch,
transformers, sentence_transformers, nltk, openai and dozens more. The prompt path lives in a few files of these
packages. So the packages whose `__init__` imports their whole folder are entered as bare packages, on the same folder
of the same installation, and the files are imported from there unchanged. What they import of the rest of OpenCompass
(registry, dataset reader, logging) is the real thing too; torch and transformers are, where they are installed.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import stubs

BARE = ("openicl", "openicl.icl_retriever", "openicl.icl_inferencer", "openicl.utils", "models", "utils")
# Names that the files take from a package and not from the module that defines them.
EXPORTS = {
    "utils": {"logging": ["get_logger"], "auxiliary": ["batched"]},
    "openicl.utils": {"logging": ["get_logger"]},
    "openicl.icl_retriever": {"icl_base_retriever": ["BaseRetriever"]},
}
MODULES = {
    "openicl.icl_dataset_reader": ["DatasetReader"],
    "openicl.icl_prompt_template": ["PromptTemplate"],
    "openicl.icl_raw_prompt_template": ["RawPromptTemplate"],
    "openicl.icl_retriever.icl_zero_retriever": ["ZeroRetriever"],
    "openicl.icl_retriever.icl_fix_k_retriever": ["FixKRetriever"],
    "openicl.icl_inferencer.icl_gen_inferencer": ["GenInferencer"],
    "openicl.icl_inferencer.icl_ppl_inferencer": ["PPLInferencer"],
    "models.base": ["LMTemplateParser"],
    "models.base_api": ["APITemplateParser"],
    "utils.prompt": ["PromptList"],
}


def installed() -> bool:
    """Whether the package is there; imports nothing."""
    return importlib.util.find_spec("opencompass") is not None and importlib.util.find_spec("mmengine") is not None


def load() -> SimpleNamespace:
    """The classes of the prompt path, by name."""
    import datasets  # noqa: F401  (before the stand-ins: it looks for torch when it is imported)

    stubs.install()
    root = Path(importlib.import_module("opencompass").__file__).parent
    for name in BARE:
        _bare(f"opencompass.{name}", root.joinpath(*name.split(".")))
    for package, modules in EXPORTS.items():
        for module, names in modules.items():
            _export(f"opencompass.{package}", module, names)
    found = SimpleNamespace()
    for module, names in MODULES.items():
        imported = importlib.import_module(f"opencompass.{module}")
        for name in names:
            setattr(found, name, getattr(imported, name))
    return found


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
