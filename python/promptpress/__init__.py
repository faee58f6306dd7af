"""Whole Arrow tables of samples into prompts, byte for byte what an evaluation harness gives."""

from promptpress._core import RenderError, TemplateError, __version__, set_threads
from promptpress.errors import PromptWarning
from promptpress.renderer import Renderer
from promptpress.requests import to_pylist

__all__ = ["PromptWarning", "RenderError", "Renderer", "TemplateError", "__version__", "set_threads", "to_pylist"]
