"""A plugin of pytest: a harness's own tests get the classes of promptpress by the names of the harness's.

`SUITE_HARNESS` names the harness. With `SUITE_CLASSES=harness` its classes stay, to see which tests pass with them.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

import promptpress.aisbench
import promptpress.opencompass
import pytest
from real.harness.installed import AISBENCH, OPENCOMPASS

_TEMPLATES = "ais_bench.benchmark.openicl.icl_prompt_template"
HARNESSES: dict[str, Any] = {
    "opencompass": (
        OPENCOMPASS,
        promptpress.opencompass,
        {
            "opencompass.openicl.icl_prompt_template": ["PromptTemplate"],
            "opencompass.openicl.icl_raw_prompt_template": ["RawPromptTemplate"],
            "opencompass.models.base": ["LMTemplateParser"],
            "opencompass.models.base_api": ["APITemplateParser"],
            "opencompass.utils.prompt": ["PromptList"],
        },
    ),
    "benchmark": (
        AISBENCH,
        promptpress.aisbench,
        {
            f"{_TEMPLATES}.icl_prompt_template": ["PromptTemplate"],
            f"{_TEMPLATES}.icl_prompt_template_multiturn": ["MultiTurnPromptTemplate"],
            f"{_TEMPLATES}.icl_prompt_template_mm": ["MMPromptTemplate"],
            "ais_bench.benchmark.models.local_models.base": ["LMTemplateParser"],
            "ais_bench.benchmark.models.api_models.base_api": ["APITemplateParser"],
            "ais_bench.benchmark.utils.prompt": ["PromptList", "get_prompt_hash", "get_round_index"],
        },
    ),
}
"""The module with the drop-in classes of each harness, and the harness's classes by module."""

replaced: dict[Any, Any] = {}


def pytest_configure() -> None:
    """Import the harness, and find the classes that take the place of its own."""
    harness, dropins, modules = HARNESSES[os.environ["SUITE_HARNESS"]]
    harness.load()
    if os.environ["SUITE_CLASSES"] == "harness":
        return
    for module, names in modules.items():
        for name in names:
            replaced[getattr(importlib.import_module(module), name)] = getattr(dropins, name)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Replace the classes in the modules of the tests, and leave the harness as it is."""
    for module in {item.module for item in items}:  # type: ignore[attr-defined]  # all are of Python's modules
        for name, value in list(vars(module).items()):
            if isinstance(value, (type, type(pytest_configure))) and value in replaced:
                setattr(module, name, replaced[value])
