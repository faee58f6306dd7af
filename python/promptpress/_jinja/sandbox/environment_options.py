"""Options of an environment, as `jinja2.Environment` has them: those that are safe to take from a user."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import jinja2

from promptpress._errors.errors import did_you_mean, template_error

_UNDEFINED: dict[str, type[jinja2.Undefined]] = {
    "default": jinja2.Undefined,
    "strict": jinja2.StrictUndefined,
    "chainable": jinja2.ChainableUndefined,
    "debug": jinja2.DebugUndefined,
}
_EXTENSIONS = ("do", "loopcontrols")
_MODULE = "jinja2.ext."
_NEWLINES = ("\n", "\r\n", "\r")

_FLAGS = ("trim_blocks", "lstrip_blocks", "keep_trailing_newline", "autoescape")
_PREFIXES = ("line_statement_prefix", "line_comment_prefix")
_DELIMITERS = (
    *("block_start_string", "block_end_string", "variable_start_string", "variable_end_string"),
    *("comment_start_string", "comment_end_string"),
)

ENVIRONMENT_DEFAULTS: dict[str, dict[str, Any]] = {
    "jinja2": {},
    "transformers": {"trim_blocks": True, "lstrip_blocks": True, "extensions": ("loopcontrols",)},
    "lm_eval": {"undefined": "strict", "keep_trailing_newline": True},
}
"""The options in which each environment differs from `jinja2.Environment()`, keyed by the environment's name."""


def _one_of(name: str, value: Any, choices: Iterable[str]) -> str:
    if not isinstance(value, str) or value not in choices:
        hint = did_you_mean(value, choices) if isinstance(value, str) else ""
        message = f"{value!r} is not one of {', '.join(map(repr, choices))}{hint}"
        raise template_error("unknown_name", name, message)
    return value


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise template_error("wrong_type", name, f"expected True or False, found {value!r}")
    return value


def _delimiter(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise template_error("wrong_type", name, f"expected a text that isn't empty, found {value!r}")
    return value


def _prefix(name: str, value: Any) -> str | None:
    return None if value is None else _delimiter(name, value)


def _extensions(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise template_error("wrong_type", name, f"expected a list of names, found {value!r}")
    names = [item.removeprefix(_MODULE) if isinstance(item, str) else item for item in value]
    for item in names:
        if item not in _EXTENSIONS:
            message = (
                f"{item!r} is not one of {', '.join(map(repr, _EXTENSIONS))}: other extensions run code of their own, "
                "which no sandbox holds"
            )
            raise template_error("unknown_name", name, message)
    return tuple(dict.fromkeys(names))


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "undefined": partial(_one_of, choices=_UNDEFINED),
    **dict.fromkeys(_FLAGS, _flag),
    "newline_sequence": partial(_one_of, choices=_NEWLINES),
    "extensions": _extensions,
    **dict.fromkeys(_DELIMITERS, _delimiter),
    **dict.fromkeys(_PREFIXES, _prefix),
}


def changed_options(environment: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Check options, and return those that change an environment, in the order of their names.

    Args:
        environment: The name of the environment.
        options: The options that a user gives.

    Raises:
        TemplateError: If there is no such option, or a value isn't one that it takes.

    >>> changed_options("lm_eval", {"undefined": "strict", "trim_blocks": True})
    {'trim_blocks': True}
    """
    out = {}
    for name in sorted(options):
        check = _CHECKS.get(name)
        if check is None:
            message = f"there is no such option of an environment{did_you_mean(name, _CHECKS)}"
            raise template_error("unknown_name", name, message)
        value = check(name, options[name])
        if value != _default(environment, name):
            out[name] = value
    return out


def _default(environment: str, name: str) -> Any:
    defaults = ENVIRONMENT_DEFAULTS[environment]
    if name in defaults:
        return defaults[name]
    if name == "undefined":
        return "default"
    return inspect.signature(jinja2.Environment).parameters[name].default


def engine_options(environment: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `jinja2.Environment` for an environment with some options.

    Args:
        environment: The name of the environment.
        options: The result of `changed_options`.

    >>> engine_options("lm_eval", {"extensions": ("do",)})["extensions"]
    ['jinja2.ext.do']
    """
    merged = {**ENVIRONMENT_DEFAULTS[environment], **options}
    # An environment's templates may go on using what it has.
    defaults = ENVIRONMENT_DEFAULTS[environment].get("extensions", ())
    extensions = dict.fromkeys((*defaults, *merged.pop("extensions", ())))
    undefined = _UNDEFINED[merged.pop("undefined", "default")]
    return {**merged, "undefined": undefined, "extensions": [_MODULE + name for name in extensions]}
