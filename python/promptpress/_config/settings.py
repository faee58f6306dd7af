"""Plain data for the arguments of a renderer, which can be compared, pickled and passed to the core."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import promptpress._core as _core
from promptpress._errors.errors import template_error
from promptpress.typing import Tokens

_MAX_DEPTH = 100
"""More than any configuration needs, and far below the recursion limits of Python and the core."""

_UNORDERED = ("retriever", "reader", "inferencer", "names", "roles", "limits")
"""Arguments in which the order of keys means nothing; in a template the order of keys is data."""


def plain(value: Any, path: str) -> Any:
    """Turn a configuration value into dicts, lists and scalars.

    Mappings become dicts. Tuples, ranges and NumPy arrays become lists. Classes become their dotted names. NumPy
    scalars and subclasses of Python's scalars become Python's own. Other objects stay as they are.
    """
    return _plain(value, path, 0)


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Copy a renderer's arguments as plain data, each as `plain` does it."""
    # Paths take most of the time, so the core copies ordinary settings without them.
    copied: dict[str, Any] | None = _core.copied(settings, _MAX_DEPTH + 1)
    return {key: plain(value, key) for key, value in settings.items()} if copied is None else copied


_HARNESS_WORDS = (
    *("prompt_template", "ice_template", "retriever", "reader", "inferencer", "meta_template", "dialect"),
    "substitution",
)
"""The arguments of a renderer by which it follows a harness."""


def follows_harness(arguments: Mapping[str, Any]) -> bool:
    """Return true if a renderer with these arguments follows a harness, unless they say otherwise by `substitution`."""
    given = {name: arguments[name] for name in _HARNESS_WORDS if arguments.get(name) is not None}
    substitution = given.get("substitution") or _core.default_substitution(plain_settings(given))
    return bool(substitution == "harness")


def canonical(settings: Mapping[str, Any]) -> str:
    """Return a text that is the same for two plain settings exactly if they are the same configuration.

    In it `1`, `1.0` and `True` differ, NaN equals itself, and the order of a template's keys counts.
    """
    parts = []
    for name, value in settings.items():
        if name in _UNORDERED and isinstance(value, dict):
            parts.append((name, dict(sorted(value.items(), key=lambda item: repr(item[0])))))
        else:
            parts.append((name, value))
    return repr(parts)


def token_texts(tokens: Tokens) -> Callable[[int], str | None]:
    """Return a function from a token id to its text, which checks each text when it is called.

    A vocabulary has many more texts than a meta template uses. The function returns None for an id without text, and
    raises a TemplateError for a text that is no str.
    """
    find = tokens.get if isinstance(tokens, Mapping) else tokens

    def text_of(token: int) -> str | None:
        text = plain(find(token), f"tokens[{token}]")
        if text is not None and not isinstance(text, str):
            message = f"expected the token's text or None, found {type(text).__name__}"
            raise template_error("wrong_type", f"tokens[{token}]", message)
        return text

    return text_of


def _plain(value: Any, path: str, depth: int) -> Any:  # noqa: PLR0911 - one return for each kind of value
    if depth > _MAX_DEPTH:
        # The start of the path is enough; that of a list that contains itself has no end.
        raise template_error("nested_too_deep", _cut(path), f"dicts and lists are nested more than {_MAX_DEPTH} deep")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, int):
        # A subclass such as an enum may have a `repr` of its own.
        return _printable(int.__int__(value), path)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, Mapping):
        return {_key(key, path, depth): _plain(item, _within(path, key), depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [_plain(item, f"{path}[{n}]", depth + 1) for n, item in enumerate(value)]
    if isinstance(value, type):
        return _text(f"{value.__module__}.{value.__qualname__}", path)
    return _other(value, path, depth)


def _other(value: Any, path: str, depth: int) -> Any:
    """Turn NumPy arrays and scalars into Python values; return any other object as it is."""
    try:
        shaped = isinstance(getattr(value, "shape", None), tuple) and callable(getattr(value, "tolist", None))
        inner = value.tolist() if shaped else value
    except Exception as error:  # an object's own attributes may raise anything
        message = f"the {type(value).__name__} here can't be read: {error!r}"
        raise template_error("unreadable_object", path, message) from error
    # `tolist` of a scalar without a Python type returns the scalar itself.
    return _printable(value, path) if type(inner) is type(value) else _plain(inner, path, depth + 1)


def _printable(value: Any, path: str) -> Any:
    """Return an object, or raise a TemplateError if it has no `repr`, because the core uses nothing else of it."""
    try:
        repr(value).encode()
    except Exception as error:  # a `repr` may raise anything; that of an integer of thousands of digits does
        message = f"the {type(value).__name__} here has no repr: {type(error).__name__}"
        raise template_error("unreadable_object", path, message) from error
    return value


def _text(value: str, path: str) -> str:
    text = str.__str__(value)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = f"the text {_cut(ascii(text))} isn't Unicode: character {error.start} is a lone surrogate"
        raise template_error("invalid_unicode", path, message) from error
    return text


def _key(key: Any, path: str, depth: int) -> Any:
    out = _plain(key, path, depth + 1)
    try:
        hash(out)
    except TypeError as error:
        message = f"a key is a str, an int, a float, a bool or None, found {_cut(ascii(key))}"
        raise template_error("wrong_type", path, message) from error
    return out


def _within(path: str, key: Any) -> str:
    return f"{path}.{key}" if type(key) is str else f"{path}[{key!a}]"


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:60] + "…"
