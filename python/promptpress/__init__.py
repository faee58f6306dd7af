"""Whole Arrow tables of samples into prompts, byte for byte what an evaluation harness gives."""

from promptpress._config_files.loaded import LoadedConfig as Config
from promptpress._config_files.loaded import load_config
from promptpress._conversation import Conversation
from promptpress._core import RenderError, TemplateError, __version__, set_threads
from promptpress._errors import PromptWarning
from promptpress._public_names import name_publicly as _name_publicly
from promptpress._renderer import Renderer
from promptpress._to_pylist import to_pylist

__all__ = [
    "Config",
    "Conversation",
    "PromptWarning",
    "RenderError",
    "Renderer",
    "TemplateError",
    "__version__",
    "load_config",
    "set_threads",
    "to_pylist",
]

_name_publicly(__name__, {name: globals()[name] for name in __all__})
