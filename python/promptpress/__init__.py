"""Whole Arrow tables of samples into prompts, byte for byte what an evaluation harness gives."""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from promptpress._config_files.loaded import LoadedConfig as Config
from promptpress._config_files.loaded import load_config
from promptpress._conversation import Conversation
from promptpress._core import RenderError, TemplateError, __version__, set_threads
from promptpress._diff.diff import diff
from promptpress._diff.result import Diff
from promptpress._errors import PromptWarning
from promptpress._public_names import name_publicly as _name_publicly
from promptpress._renderer import Renderer
from promptpress._statistics.collect import stats
from promptpress._statistics.statistics import LengthSummary, Statistics
from promptpress._to_pylist import to_pylist
from promptpress._view.preview import Preview

if _TYPE_CHECKING:
    from promptpress import export, lm_eval
    from promptpress._jinja.chat.template import ChatTemplate as ChatTemplate
    from promptpress._jinja.template import JinjaTemplate as JinjaTemplate

# Without what needs an extra: `from promptpress import *` has to work where that isn't installed.
__all__ = [
    "Config",
    "Conversation",
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


def __getattr__(name: str) -> _Any:
    """Import what is imported when it is first used: worker processes and short commands seldom export."""
    if name in ("export", "lm_eval"):
        import importlib  # noqa: PLC0415 - at hand for everyone

        return importlib.import_module(f"promptpress.{name}")
    if name in ("ChatTemplate", "JinjaTemplate"):
        from promptpress._jinja import public  # noqa: PLC0415 - needs Jinja2

        return public(name)
    message = f"module 'promptpress' has no attribute {name!r}"
    raise AttributeError(message)
