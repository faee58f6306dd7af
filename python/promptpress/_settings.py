"""A renderer's arguments as plain data: what can be compared, pickled and handed to the core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptpress import _core
from promptpress._errors import template_error

__all__ = ["canonical", "plain", "plain_settings"]

_MAX_DEPTH = 100
"""Deeper than any configuration, and far from where Python's or the core's recursion ends."""

_UNORDERED = ("retriever", "reader", "inferencer", "names", "roles", "limits")
"""Arguments whose keys say what they mean wherever they stand; in a template the order of keys is data."""


def plain(value: Any, path: str) -> Any:
    """Turn a configuration value into dicts, lists and scalars.

    Args:
        value: Any value of a harness's configuration.
        path: Where it stands, for errors.

    Returns:
        Mappings as dicts, tuples, ranges and NumPy arrays as lists, classes as their dotted names, NumPy scalars and
        subclasses of Python's scalars as Python's own; what else there is stays as it is.

    Raises:
        TemplateError: If a key is no scalar, a text is no Unicode text, an object has no `repr`, or dicts and lists are
            nested too deeply or hold themselves.

    >>> class PromptTemplate: ...
    >>> plain({"type": PromptTemplate, "ids": range(2)}, "retriever")["ids"]
    [0, 1]

    """
    return _plain(value, path, 0)


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Turn a renderer's arguments into plain data, each as `plain` does it.

    Args:
        settings: The arguments by their names, which are the paths that errors begin with.

    Returns:
        Copies of them.

    Raises:
        TemplateError: As `plain`.

    >>> plain_settings({"mode": "gen", "labels": ("A", 1)})
    {'mode': 'gen', 'labels': ['A', 1]}

    """
    # Paths take most of the time, and are for what is out of the ordinary.
    copied: dict[str, Any] | None = _core.copied(settings, _MAX_DEPTH + 1)
    return {key: plain(value, key) for key, value in settings.items()} if copied is None else copied


def canonical(settings: Mapping[str, Any]) -> str:
    """Write plain settings so that two give the same text exactly if they are the same configuration.

    Args:
        settings: A renderer's arguments, each as `plain` gives it.

    Returns:
        A text in which `1`, `1.0` and `True` differ, NaN equals itself, and the order of a template's keys counts.

    >>> canonical({"reader": {"a": 1, "b": 2}}) == canonical({"reader": {"b": 2, "a": 1}})
    True
    >>> canonical({"prompt_template": {"a": "", "b": ""}}) == canonical({"prompt_template": {"b": "", "a": ""}})
    False

    """
    parts = []
    for name, value in settings.items():
        if name in _UNORDERED and isinstance(value, dict):
            parts.append((name, dict(sorted(value.items(), key=lambda item: repr(item[0])))))
        else:
            parts.append((name, value))
    return repr(parts)


def _plain(value: Any, path: str, depth: int) -> Any:  # noqa: PLR0911 - one return for each kind of value
    if depth > _MAX_DEPTH:
        # The start of the path says where; a list that holds itself has no end.
        raise template_error("nested_too_deep", _cut(path), f"dicts and lists are nested more than {_MAX_DEPTH} deep")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, int):
        # A subclass may print itself as it likes: an enum does.
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
    """Turn NumPy's arrays and scalars into Python's; let any other object be."""
    try:
        shaped = isinstance(getattr(value, "shape", None), tuple) and callable(getattr(value, "tolist", None))
        inner = value.tolist() if shaped else value
    except Exception as error:  # an object's own attributes may raise anything
        message = f"the {type(value).__name__} here can't be read: {error!r}"
        raise template_error("unreadable_object", path, message) from error
    # A scalar that Python has no type for gives itself.
    return _printable(value, path) if type(inner) is type(value) else _plain(inner, path, depth + 1)


def _printable(value: Any, path: str) -> Any:
    """Refuse an object without `repr`, which is all that the core sees of it."""
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
