"""Whole Arrow tables of samples into prompts, byte for byte what an evaluation harness gives."""

from promptpress._conversation import Conversation
from promptpress._core import RenderError, TemplateError, __version__, set_threads
from promptpress._diff.diff import diff
from promptpress._diff.result import Diff
from promptpress._errors import PromptWarning
from promptpress._public_names import name_publicly as _name_publicly
from promptpress._renderer import Renderer
from promptpress._to_pylist import to_pylist
from promptpress._view.preview import Preview

__all__ = [
    "Conversation",
    "Diff",
    "Preview",
    "PromptWarning",
    "RenderError",
    "Renderer",
    "TemplateError",
    "__version__",
    "diff",
    "set_threads",
    "to_pylist",
]

_name_publicly(__name__, {name: globals()[name] for name in __all__})
