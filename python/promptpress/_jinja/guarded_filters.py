"""Jinja2's filters and tests, which count what they are about to do."""

from __future__ import annotations

from functools import wraps
from inspect import signature
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from jinja2.filters import make_attrgetter
from jinja2.runtime import Undefined

from promptpress._jinja.bounds import WEIGHTLESS, charge, charge_text, counted, refuse, weigh
from promptpress._jinja.guarded_calls import guard_integer, printf_size, replaced_size
from promptpress._jinja.made_when_asked import MadeWhenAsked

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2 import Environment

__all__ = ["guard_filters", "guard_tests"]

_CHEAP = frozenset({"abs", "attr", "count", "d", "default", "first", "last", "length", "random"})
_DEEP_TESTS = frozenset(
    {"!=", "<", "<=", "==", ">", ">=", "eq", "equalto", "ge", "greaterthan", "gt", "in", "le", "lessthan", "lower"}
    | {"divisibleby", "lt", "ne", "upper"}
)
_COST = 8
_COST_OF_ITEM = 12
_MAX_PRECISION = 20_000


def guard_filters(environment: Environment) -> None:
    """Put guards before the filters of an environment.

    Args:
        environment: Changed in place.

    """

    def guarded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        return function if name in _CHEAP else _guarded(function, _SIZES.get(name), environment)

    environment.filters = MadeWhenAsked(environment.filters, guarded)


def guard_tests(environment: Environment) -> None:
    """Put guards before those tests that look at all parts of their values.

    Args:
        environment: Changed in place.

    """

    def guarded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        return _deep_test(function) if name in _DEEP_TESTS else function

    tests: Any = environment.tests
    environment.tests = MadeWhenAsked(tests, guarded)


def _deep_test(function: Any) -> Callable[..., bool]:
    @wraps(function)
    def test(*values: Any, **named: Any) -> bool:
        for value in (*values, *named.values()):
            charge(weigh(value) >> 4)
        out: bool = function(*values, **named)
        return out

    return test


def _guarded(function: Callable[..., Any], size_of: Size | None, environment: Environment) -> Callable[..., Any]:
    skipped = 1 if hasattr(function, "jinja_pass_arg") else 0

    @wraps(function)
    def run(*arguments: Any, **keywords: Any) -> Any:
        size = 0
        for value in arguments[skipped:]:
            if type(value) is str:
                size += len(value)
            elif type(value) is GeneratorType:
                arguments = tuple(counted(argument) for argument in arguments)
            else:
                size += len(value) * 2 if type(value) is range else weigh(value)
        for value in keywords.values():
            size += weigh(value)
        charge(_COST + (size >> 4))
        if size_of is not None:
            try:
                arguments, keywords = size_of(environment, skipped, arguments, keywords, size)
            except (TypeError, ValueError, LookupError, ArithmeticError):
                if not _takes(function, arguments, keywords):
                    function(*arguments, **keywords)  # raises what the engine raises
                raise
        made = function(*arguments, **keywords)
        if type(made) not in WEIGHTLESS and isinstance(made, str):
            charge_text(len(made))
        return guard_integer(made)

    return run


def _takes(function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    try:
        signature(function).bind(*arguments, **keywords)
    except TypeError:
        return False
    return True


class _Given:
    """A filter's arguments by position and name."""

    def __init__(self, skipped: int, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        self.arguments, self.keywords = arguments[skipped:], keywords

    def __call__(self, position: int, name: str, default: Any = None) -> Any:
        return self.arguments[position] if len(self.arguments) > position else self.keywords.get(name, default)


if TYPE_CHECKING:
    Size = Callable[[Environment, int, tuple[Any, ...], dict[str, Any], int], tuple[tuple[Any, ...], dict[str, Any]]]


def _sized(estimate: Callable[[_Given, int], int]) -> Size:
    """For a filter whose text may be far longer than what it is given."""

    def guard(
        _environment: Environment, skipped: int, arguments: tuple[Any, ...], keywords: dict[str, Any], size: int
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        charge_text(estimate(_Given(skipped, arguments, keywords), size))
        return arguments, keywords

    return guard


def _text(value: Any) -> str:
    return "" if isinstance(value, Undefined) else str(value)


def _number(value: Any) -> int:
    return abs(int(value)) if isinstance(value, (int, float)) and abs(value) < 1e18 else 0


def _center(given: _Given, size: int) -> int:
    return max(size, _number(given(1, "width", 80)))


def _indent(given: _Given, size: int) -> int:
    width = given(1, "width", 4)
    width = len(width) if isinstance(width, str) else _number(width)
    return size + width * (_text(given(0, "s")).count("\n") + 2)


def _format(given: _Given, _size: int) -> int:
    values: Any = given.keywords or given.arguments[1:]
    return printf_size(_text(given(0, "value")), values)


def _replace(given: _Given, _size: int) -> int:
    text, old, new = (_text(given(k, name)) for k, name in enumerate(("s", "old", "new")))
    count = given(3, "count")
    return replaced_size(text, old, new, -1 if count is None else _number(count))


def _batch(given: _Given, size: int) -> int:
    charge(0 if given(2, "fill_with") is None else _number(given(1, "linecount", 0)))
    return size


def _slice(given: _Given, size: int) -> int:
    charge(2 * _number(given(1, "slices", 0)))
    return size


def _round(given: _Given, size: int) -> int:
    digits = _number(given(1, "precision", 0))
    charge(digits)
    if digits > _MAX_PRECISION:
        refuse(f"a precision of more than {_MAX_PRECISION:,} digits")
    return size


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=0)


def _wordwrap(given: _Given, size: int) -> int:
    text = _text(given(0, "s"))
    width = max(1, _number(given(1, "width", 79)))
    charge(size // 4)
    charge(_longest_word(text) ** 2 // width >> 10)
    wrap = given(3, "wrapstring")
    return size + (len(text) // width + text.count("\n") + text.count(" ")) * (
        len(wrap) if isinstance(wrap, str) else 1
    )


def _urlize(given: _Given, size: int) -> int:
    charge(size // 2)
    charge(_longest_word(_text(given(0, "value"))) ** 2 >> 10)
    return 8 * size


def _striptags(given: _Given, size: int) -> int:
    charge(_text(given(0, "value")).count("<") * size >> 10)
    return size


def _urlencode(_given: _Given, size: int) -> int:
    charge(size)
    return size


def _slow(_given: _Given, size: int) -> int:
    charge(size // 2)
    return size


def _pprint(_given: _Given, size: int) -> int:
    charge(2 * size)
    return 8 * size


def _tojson(given: _Given, size: int) -> int:
    indent = given.keywords.get("indent", given(1, "indent") if len(given.arguments) < 3 else given.arguments[2])
    step = len(indent) if isinstance(indent, str) else _number(indent)
    between = given(3, "separators")
    step += sum(len(part) for part in between if isinstance(part, str)) if isinstance(between, (list, tuple)) else 0
    value = given(0, "value" if "value" in given.keywords else "x")
    return size + (step * _depth(value) * size // 8 if step > 8 else 0)


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return 1
    return 1 + max(map(_depth, value), default=0)


def _lazy(given: _Given, size: int) -> int:
    charge(_COST_OF_ITEM * _count(given.arguments[0] if given.arguments else None))
    return size


def _sum(
    _environment: Environment, _skipped: int, arguments: tuple[Any, ...], keywords: dict[str, Any], size: int
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    start = arguments[3] if len(arguments) > 3 else keywords.get("start", 0)
    if not isinstance(start, (int, float)):
        # Lists are copied with each one that is added.
        items = list(arguments[1]) if len(arguments) > 1 else []
        arguments = (*arguments[:1], items, *arguments[2:])
        size += weigh(items)
        charge(len(items) * size >> 8)
    return arguments, keywords


def _join(
    environment: Environment, skipped: int, arguments: tuple[Any, ...], keywords: dict[str, Any], size: int
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    given = _Given(skipped, arguments, keywords)
    if not given.arguments or len(given.arguments) + len(keywords) > 3 or not keywords.keys() <= {"d", "attribute"}:
        return arguments, keywords  # it is refused
    attribute, value = given(2, "attribute"), given(0, "value")
    # Jinja2 reads the separator before items, but for attributes of items.
    between = str(given(1, "d", "")) if attribute is None else ""
    if isinstance(value, (str, Undefined)) and attribute is None:
        items: Any = value
    else:
        items = value if type(value) is list and attribute is None else list(value)
        if attribute is not None:
            items = list(map(make_attrgetter(environment, attribute), items))
            between = str(given(1, "d", ""))
    keywords = {name: item for name, item in keywords.items() if name != "attribute"}
    arguments = (*arguments[:skipped], items, *given.arguments[1:2])
    charge_text((size if items is value else weigh(items)) + len(between) * _count(items))
    return arguments, keywords


def _count(items: Any) -> int:
    return len(items) if isinstance(items, (str, bytes, list, tuple, dict, set, range)) else 0


_SIZES: dict[str, Size] = {
    "batch": _sized(_batch),
    "center": _sized(_center),
    "format": _sized(_format),
    "indent": _sized(_indent),
    "join": _join,
    "map": _sized(_lazy),
    "pprint": _sized(_pprint),
    "reject": _sized(_lazy),
    "rejectattr": _sized(_lazy),
    "replace": _sized(_replace),
    "round": _sized(_round),
    "select": _sized(_lazy),
    "selectattr": _sized(_lazy),
    "slice": _sized(_slice),
    "striptags": _sized(_striptags),
    "sum": _sum,
    "tojson": _sized(_tojson),
    "title": _sized(_slow),
    "unique": _sized(_lazy),
    "urlencode": _sized(_urlencode),
    "urlize": _sized(_urlize),
    "wordcount": _sized(_slow),
    "wordwrap": _sized(_wordwrap),
}
