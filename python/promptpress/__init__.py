"""Whole Arrow tables of samples into prompts, byte for byte what an evaluation harness gives."""

# ruff: noqa: E402 - what handles Ctrl-C comes before the imports that it may interrupt
from promptpress._importing import end_by_interrupt as _end_by_interrupt

_end_by_interrupt()  # the imports below take most of the command's first tenth of a second

# isort: split
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from promptpress._arrow.python_values import to_pylist
from promptpress._core import RenderError, TemplateError, __version__, set_threads
from promptpress._engine.configured_engine import Conversation
from promptpress._errors.errors import PromptWarning
from promptpress._errors.file_errors import ConfigError, DataError
from promptpress._importing import name_publicly as _name_publicly
from promptpress._renderers.config import LoadedConfig as Config
from promptpress._renderers.config import load_config
from promptpress._renderers.renderer import Renderer

if _TYPE_CHECKING:
    from promptpress_workbench.diff.diff import Diff, diff
    from promptpress_workbench.prompts.preview import Preview
    from promptpress_workbench.statistics.collect import stats
    from promptpress_workbench.statistics.statistics import LengthSummary, Statistics

    from promptpress import aisbench as aisbench
    from promptpress import datasets as datasets
    from promptpress import duckdb as duckdb
    from promptpress import export, lm_eval
    from promptpress import opencompass as opencompass
    from promptpress import openicl as openicl
    from promptpress import polars as polars
    from promptpress import transformers as transformers
    from promptpress._renderers.templates import ChatTemplate as ChatTemplate
    from promptpress._renderers.templates import JinjaTemplate as JinjaTemplate

# Without `ChatTemplate` and `JinjaTemplate`: `from promptpress import *` needn't import Jinja2.
__all__ = [
    "Config",
    "ConfigError",
    "Conversation",
    "DataError",
    "Diff",
    "LengthSummary",
    "Preview",
    "PromptWarning",
    "RenderError",
    "Renderer",
    "Statistics",
    "TemplateError",
    "__version__",
    "diff",
    "export",
    "lm_eval",
    "load_config",
    "set_threads",
    "stats",
    "to_pylist",
]

_name_publicly(__name__, {name: globals()[name] for name in __all__ if name in globals()})


_MODULES = (
    *("aisbench", "datasets", "duckdb", "export", "lm_eval", "openicl", "opencompass", "polars", "transformers"),
)
_CLASSES = ("ChatTemplate", "JinjaTemplate")
_OF_TOOLS = {
    "Diff": "diff.diff",
    "diff": "diff.diff",
    "LengthSummary": "statistics.statistics",
    "Preview": "prompts.preview",
    "Statistics": "statistics.statistics",
    "stats": "statistics.collect",
}
"""Names of the package of tools, with their modules there."""


def __dir__() -> list[str]:
    """List the public names, and those that `__getattr__` imports."""
    return sorted({*__all__, *_MODULES, *_CLASSES, "typing"})


def __getattr__(name: str) -> _Any:
    """Import what is imported when it is first used: worker processes and short commands seldom export or compare."""
    if name in _MODULES:
        import importlib  # noqa: PLC0415 - at hand for everyone

        return importlib.import_module(f"promptpress.{name}")
    if name in _CLASSES:
        from promptpress._renderers import template_class  # noqa: PLC0415 - imports Jinja2

        return template_class(name)
    if name in _OF_TOOLS:
        import importlib  # noqa: PLC0415 - at hand for everyone

        value = getattr(importlib.import_module(f"promptpress_workbench.{_OF_TOOLS[name]}"), name)
        _name_publicly(__name__, {name: value})
        globals()[name] = value
        return value
    message = f"module 'promptpress' has no attribute {name!r}"
    raise AttributeError(message)
