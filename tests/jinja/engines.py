"""The engines themselves: the real ones where they are installed, else environments with the same settings."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

NAMES = ("jinja2", "transformers", "lm_eval")

Compile = Callable[[str], Any]


@cache
def compiler(name: str) -> Compile:
    """Return what compiles a source to a template of an engine.

    Args:
        name: The engine's.

    """
    return {"jinja2": _jinja2, "transformers": _transformers, "lm_eval": _lm_eval}[name]()


def _jinja2() -> Compile:
    return jinja2.Environment().from_string


def _transformers() -> Compile:
    if importlib.util.find_spec("transformers") is not None:
        from transformers.utils.chat_template_utils import _compile_jinja_template

        return _compile_jinja_template  # type: ignore[no-any-return]
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])

    def tojson(
        x: Any, ensure_ascii: Any = False, indent: Any = None, separators: Any = None, sort_keys: Any = False
    ) -> str:
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message: Any) -> None:
        raise jinja2.exceptions.TemplateError(message)

    for function in (tojson, raise_exception):  # messages of errors say these names
        function.__module__ = "transformers.utils.chat_template_utils"
        function.__qualname__ = f"_cached_compile_jinja_template.<locals>.{function.__name__}"
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    return environment.from_string


def _lm_eval() -> Compile:
    if importlib.util.find_spec("lm_eval") is not None:
        from lm_eval.utils import env

        return env.from_string  # type: ignore[no-any-return]

    def regex_replace(string: Any, pattern: Any, repl: Any, count: int = 0) -> Any:
        return re.sub(pattern, repl, string, count=count)

    environment = jinja2.Environment(
        loader=jinja2.BaseLoader,  # type: ignore[arg-type]  # the harness gives the class
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters["regex_replace"] = regex_replace
    return environment.from_string
