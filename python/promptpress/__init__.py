"""Whole Arrow tables of samples into prompts, byte for byte what an evaluation harness gives."""

from promptpress._core import RenderError, TemplateError, __version__, set_threads
from promptpress._errors import PromptWarning
from promptpress._renderer import Renderer
from promptpress._to_pylist import to_pylist

__all__ = ["PromptWarning", "RenderError", "Renderer", "TemplateError", "__version__", "set_threads", "to_pylist"]
