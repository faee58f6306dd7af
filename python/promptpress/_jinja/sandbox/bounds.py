"""The limits of one rendering: work is counted in steps, so the limits don't depend on the machine or its load.

A loop's turn, a macro's call and a filter cost as many steps as they have nodes; a text costs one step for each sixteen
characters that are made or read. The size of a row's values is added to the limits. Guards of calls estimate what a
method or a type may make before it is called.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date
from decimal import Decimal
from functools import lru_cache
from string import Formatter
from types import BuiltinMethodType, FunctionType, GeneratorType, MethodType
from typing import Any

from jinja2.runtime import LoopContext
from jinja2.utils import Namespace, generate_lorem_ipsum

STEPS = 3_000_000
COMPILE_STEPS = 300_000
MAX_TEXT = 1 << 24
MAX_INT_BITS = 1 << 16
SHORT = 1024
"""Characters that aren't worth counting, because the turn of a loop in which they are made is counted."""

_CHARACTERS_PER_STEP = 16
_STEPS_PER_INPUT = 16
_TEXT_PER_INPUT = 64
_COST_OF_NODE = 16
_SIZE_OF_ITEM = 64
_FEW_BITS = 256
_ESCAPED = 2

_ONLY_TEXTS = frozenset({str})
_SCALARS = frozenset({float, bool, type(None)})
_SEQUENCES: tuple[type, ...] = (list, tuple, set, frozenset, type({}.keys()), type({}.values()), type({}.items()))


class LimitExceededError(Exception):
    """A template does more than any useful template."""


WEIGHTLESS: set[type] = set()
"""Types of values of a row that isn't known yet, which refuse every inspection."""


class _Budget(threading.local):
    """The rest of the budget for the rendering in this thread."""

    left: int = STEPS
    text: int = MAX_TEXT
    names: Mapping[str, Any] | None = None

    def start(self, names: Mapping[str, Any] | None = None, steps: int = STEPS) -> None:
        """Begin a rendering, or other work that runs a template's code; the size of the values extends the budget."""
        self.left, self.text, self.names = steps, MAX_TEXT, names

    def extend(self) -> bool:
        """Extend the budget by the size of the row's values; return false if that was done before."""
        if self.names is None:
            return False
        names, self.names = self.names, None
        size = _size_of(names)
        self.left += size * _STEPS_PER_INPUT
        self.text += size * _TEXT_PER_INPUT
        return True


BUDGET = _Budget()


def charge(steps: int) -> bool:
    """Count steps that are about to be done; return true, for use in conditions."""
    BUDGET.left = left = BUDGET.left - steps
    if left < 0 and not (BUDGET.extend() and BUDGET.left >= 0):
        message = f"limit exceeded: it takes more than {STEPS:,} steps beyond what the size of its values allows"
        raise LimitExceededError(message)
    return True


def charge_text(size: int) -> None:
    """Count a text that is about to be made, of at most `size` characters."""
    if size > BUDGET.text and not (BUDGET.extend() and size <= BUDGET.text):
        refuse(f"a text of {size:,} characters, and at most {BUDGET.text:,} are allowed")
    charge(size // _CHARACTERS_PER_STEP)


def refuse(what: str) -> None:
    """Raise the error for a value that is too large."""
    raise LimitExceededError(f"limit exceeded: {what}")


def weigh(value: Any) -> int:
    """Return the approximate number of characters of a value's text, and charge for looking at all parts.

    If a list contains another one twice, that counts twice, as it does for text, comparison and hash. A value without
    parts counts as 1.
    """
    kind = type(value)
    if kind is str:
        return len(value)
    if kind in _SCALARS:
        return 1
    if (kind is list or kind is tuple) and _ONLY_TEXTS.issuperset(map(type, value)):
        charge(_COST_OF_NODE + len(value))
        return 2 + _ESCAPED * sum(map(len, value)) + 4 * len(value)
    return _digits(value) if kind is int else _weigh(value, set())


def small_size(values: Iterable[Any], largest: int = SHORT) -> int:
    """Return the size of short texts, few of them in a list, numbers up to `largest`, truths and None; else -1."""
    size = 0
    for value in values:
        kind = type(value)
        if kind is str:
            size += len(value)
        elif kind is int:
            if not -largest <= value <= largest:
                return -1
        elif kind is list and len(value) <= SHORT and _ONLY_TEXTS.issuperset(map(type, value)):
            size += sum(map(len, value)) + _SIZE_OF_ITEM * len(value)
        elif kind not in _SCALARS:
            return -1
    return size if size <= SHORT else -1


def _weigh(value: Any, path: set[int]) -> int:
    if type(value) in WEIGHTLESS or isinstance(value, (str, bytes)):
        return 1 if type(value) in WEIGHTLESS else len(value)
    if isinstance(value, int):
        return _digits(value)
    if isinstance(value, dict):
        parts: tuple[Any, ...] = (value, value.values())
    elif isinstance(value, _SEQUENCES):
        parts = (value,)
    elif isinstance(value, Namespace):
        parts = (object.__getattribute__(value, "_Namespace__attrs").values(),)
    else:
        return 1
    if id(value) in path:
        return 1
    charge(_COST_OF_NODE + len(parts[0]))
    path.add(id(value))
    total = 2
    for part in parts:
        for item in part:
            kind = type(item)
            if kind is str:
                total += _ESCAPED * len(item) + 4
            elif kind in _SCALARS:
                total += 8
            else:
                total += 2 + (_digits(item) if kind is int else _weigh(item, path))
    path.discard(id(value))
    return total


def _digits(number: int) -> int:
    bits = number.bit_length()
    if bits > _FEW_BITS:
        # Python computes digits one after the other.
        charge(bits * bits >> 14)
    return 1 + bits // 3


def counted(value: Any) -> Any:
    """Return a value; for a generator, return one that counts its items."""
    return _counting(value) if type(value) is GeneratorType else value


def _counting(items: Iterator[Any]) -> Iterator[Any]:
    for item in items:
        charge(4)
        yield item


def _size_of(names: Mapping[str, Any]) -> int:
    """Return the approximate size of a row; its values come from Arrow, so each part occurs once."""
    total, stack = 0, list(names.values())
    while stack:
        value = stack.pop()
        if isinstance(value, (str, bytes)):
            total += 1 + len(value) // _CHARACTERS_PER_STEP
        elif isinstance(value, dict):
            total += 16
            stack.extend(value.values())
        elif isinstance(value, (list, tuple)):
            total += 16
            stack.extend(value)
        else:
            total += 16
    return total


Arguments = tuple[Any, ...]
Keywords = dict[str, Any]

MAX_RANGE = 1_000_000

_FEW = 8
"""Arguments that a template may contain one by one; more come from a list."""

_NUMBER = re.compile(r"\d+")
_CONVERSION = re.compile(r"%[#0\- +]*(\d*)\*?(?:\.(\d*)\*?)?[hlL]?.?", re.DOTALL)
_WIDTH = frozenset({"center", "ljust", "rjust", "zfill"})
_STRIP = frozenset({"strip", "lstrip", "rstrip"})
_FROM_RIGHT = frozenset({"rfind", "rindex", "rpartition", "rsplit"})
_ENCODINGS = frozenset({"ascii", "latin-1", "utf-16", "utf-32", "utf-8", "utf8"})
_SPLIT = frozenset({"split", "rsplit", "splitlines"})
_FORMAT = frozenset({"format", "format_map"})
_SCANNING = frozenset({"copy", "count", "index", "remove", "reverse", "sort"})
_CONSTANT_TIME = frozenset(
    {"append", "get", "items", "keys", "values", "pop", "popitem", "setdefault", "insert", "startswith", "endswith"}
)


def guard_call(function: Any, arguments: Arguments, keywords: Keywords) -> Arguments:
    """Count what a call is about to do; return its positional arguments, with generators replaced by lists.

    Only generators that the call would read without counting are replaced.
    """
    if len(arguments) > _FEW or len(keywords) > _FEW:
        charge(len(arguments) + len(keywords))
    guard = _GUARDS.get(type(function))
    return arguments if guard is None else guard(function, arguments, keywords)


def _of_method(method: Any, arguments: Arguments, keywords: Keywords) -> Arguments:
    owner, name = method.__self__, getattr(method, "__name__", "")
    if isinstance(owner, (str, bytes)):
        return _of_text(owner, name, arguments, keywords)
    if isinstance(owner, (list, tuple, dict)):
        return _of_container(owner, name, arguments)
    if type(owner) is int and name == "to_bytes":
        charge_text(_int(arguments[0] if arguments else keywords.get("length")))
    elif isinstance(owner, range) and not all(isinstance(argument, int) for argument in arguments):
        charge(len(owner))
    elif isinstance(owner, LoopContext) and name != "changed":
        return arguments
    elif isinstance(owner, (date, Decimal)):
        charge(_FEW)
    return read(arguments)


def _of_container(owner: Any, name: str, arguments: Arguments) -> Arguments:
    if name in _CONSTANT_TIME:
        for argument in arguments:
            if type(argument) is tuple:
                weigh(argument)
        if type(owner) is list:
            charge(len(owner) >> 9)
        return arguments
    if name in _SCANNING:
        charge(2 * len(owner))
        if name == "sort" or any(isinstance(argument, (list, tuple, dict)) for argument in arguments):
            weigh(owner)
    return read(arguments)


def read(arguments: Arguments) -> Arguments:
    """Count the arguments of a function that reads all of them; return them with generators replaced by lists."""
    arguments = tuple(_listed(argument) for argument in arguments)
    for argument in arguments:
        if isinstance(argument, range):
            charge(2 * len(argument))
        else:
            charge(weigh(argument) >> 4)
    return arguments


def _listed(argument: Any) -> Any:
    return list(counted(argument)) if type(argument) is GeneratorType else argument


def _of_text(text: str | bytes, name: str, arguments: Arguments, keywords: Keywords) -> Arguments:
    size = len(text)
    is_cheap = not arguments or (name == "split" and small_size(arguments) >= 0)
    if name in _CONSTANT_TIME or (is_cheap and size <= SHORT and not keywords and charge(size >> 1)):
        return arguments
    if name in _WIDTH:
        size = max(size, _int(arguments[0]) if arguments else 0)
    elif name in _FORMAT:
        size = format_size(str(text), (*arguments, *keywords.values()))
    elif name == "replace":
        size = replaced_size(text, *_replacement(arguments, keywords))
    elif name == "join":
        arguments = tuple(_listed(argument) for argument in arguments)
        items = arguments[0] if arguments else ()
        parts = len(items) if hasattr(items, "__len__") else 1
        size = weigh(items) + len(text) * parts
        charge(parts)
    elif name == "expandtabs":
        width = _int(arguments[0] if arguments else keywords.get("tabsize", 8))
        size += _tabs(text) * max(0, width)
    elif name == "translate":
        table = arguments[0] if arguments else None
        longest = max(map(weigh, table.values()), default=1) if isinstance(table, dict) else 1
        size *= max(1, longest)
    elif name in _STRIP:
        charge(size * weigh(arguments[0]) >> 10 if arguments else 0)
    elif name in ("encode", "decode"):
        encoding = arguments[0] if arguments else keywords.get("encoding", "utf-8")
        charge(0 if str(encoding).lower() in _ENCODINGS else size * size)
    if name in _SPLIT:
        # Each piece is a new object.
        charge(size >> 1)
    if name in _FROM_RIGHT:
        # A search from the right takes quadratic time in Python, because only searches from the left use tables.
        charge(size * weigh(arguments[0]) >> 8 if arguments else 0)
    for argument in arguments:
        charge(weigh(argument) >> 4)
    charge_text(size)
    return arguments


def _tabs(text: Any) -> int:
    return int(text.count(b"\t" if isinstance(text, bytes) else "\t"))


def _replacement(arguments: Arguments, keywords: Keywords) -> tuple[Any, Any, int]:
    old, new, count = (*arguments, None, None, None)[:3]
    count = keywords.get("count", count)
    return old, new, -1 if count is None else _int(count)


def replaced_size(text: Any, old: Any, new: Any, count: int = -1) -> int:
    """Return an upper limit of the length of a text after `replace`; a negative count replaces all."""
    kind = bytes if isinstance(text, bytes) else str
    if not all(isinstance(part, kind) for part in (text, old, new)):
        return 0
    matches = text.count(old) if len(new) > len(old) else 0
    if count >= 0:
        matches = min(matches, count)
    return len(text) + matches * max(0, len(new) - len(old))


def format_size(template: str, given: Arguments) -> int:
    """Return an approximate upper limit of the length of a text after `str.format`.

    Each number in a field of the template may be a width. If fields are nested, each argument may be one too.
    """
    of_template = _widths if len(template) <= SHORT else _widths.__wrapped__
    numbers, is_nested = of_template(template)
    size = len(template) + numbers
    size += template.count("{") * max((weigh(value) for value in given), default=0)
    if is_nested:
        size += sum(map(abs, _numbers(given)))
        size += sum(_int(number) for text in given if isinstance(text, str) for number in _NUMBER.findall(text))
    return size


@lru_cache(maxsize=256)
def _widths(template: str) -> tuple[int, bool]:
    """Add up the numbers in a format's fields; the truth says that a field has fields within."""
    fields: list[str] = []
    with suppress(ValueError):  # str.format raises it too, but after it has made the fields before
        fields += (f"{name} {spec}" for _, name, spec, _ in Formatter().parse(template) if name is not None)
    inside = " ".join(fields)
    return sum(map(_int, _NUMBER.findall(inside))), "{" in inside


def printf_size(template: Any, given: Any) -> int:
    """Return an upper limit of the length of a text after `%`.

    Each number after a `%` may be a width. If there is an asterisk, each argument may be one too.
    """
    text = template if isinstance(template, str) else template.decode("latin-1")
    of_template = printf_widths if len(text) <= SHORT else printf_widths.__wrapped__
    size = len(text) + of_template(text)
    size += weigh(given) * (text.count("%") if isinstance(given, dict) else 1)
    if "*" in text:
        size += sum(map(abs, _numbers(given if isinstance(given, tuple) else (given,))))
    return size


@lru_cache(maxsize=256)
def printf_widths(text: str) -> int:
    """Add up the numbers in the conversions of a text before `%`."""
    if "%(" in text:
        numbers = _NUMBER.findall(text)
    else:
        numbers = [number for pair in _CONVERSION.findall(text) for number in pair if number]
    return sum(map(_int, numbers))


def _numbers(values: Any) -> list[int]:
    """Return the numbers among values that may be widths: Python refuses larger ones itself."""
    items = [item for value in values for item in (value.values() if isinstance(value, dict) else (value,))]
    return [item for item in items if isinstance(item, int) and item.bit_length() < 64]


def _int(value: Any) -> int:
    if isinstance(value, str):
        # The function itself refuses other texts.
        return int(value[:18]) if value.isdecimal() else 0
    return value if isinstance(value, int) else 0


def _of_type(made: Any, arguments: Arguments, keywords: Keywords) -> Arguments:
    if made is range:
        if all(isinstance(argument, int) for argument in arguments) and 0 < len(arguments) <= 3 and not keywords:
            try:
                size = len(range(*arguments))
            except (ValueError, OverflowError):
                size = 0 if 0 in arguments[2:] else MAX_RANGE + 1
            if size > MAX_RANGE:
                refuse(f"a range of more than {MAX_RANGE:,} numbers")
        return arguments
    return read(arguments)


def _of_function(function: Any, arguments: Arguments, keywords: Keywords) -> Arguments:
    if function is generate_lorem_ipsum:
        n, _, least, most = (*arguments, *(None,) * 4)[:4]
        n, least, most = keywords.get("n", n), keywords.get("min", least), keywords.get("max", most)
        words = max(20, _int(least), 100 if most is None else _int(most))
        charge_text(64 * words * max(1, 5 if n is None else _int(n)))
        return arguments
    formatted: Any = getattr(function, "__wrapped__", None)
    if type(formatted) in (BuiltinMethodType, MethodType) and isinstance(formatted.__self__, str):
        return _of_text(formatted.__self__, formatted.__name__, arguments, keywords)
    return arguments


_GUARDS: dict[type, Callable[[Any, Arguments, Keywords], Arguments]] = {
    BuiltinMethodType: _of_method,
    MethodType: _of_method,
    FunctionType: _of_function,
    type: _of_type,
}


def guard_integer(value: Any) -> Any:
    """Return a value; refuse it if it is a number with too many digits."""
    if type(value) is int and value.bit_length() > MAX_INT_BITS:
        refuse(f"a number of {value.bit_length():,} bits, and at most {MAX_INT_BITS:,} are allowed")
    return value
