"""String formatting of data, without attribute access and with limits on widths."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from promptpress_harness.python_subset.limits import Budget, TooMuchError, settled_text

_WIDTH = re.compile(r"\d{5,}")


class _DataFormatter(string.Formatter):
    """A `str.format` without attribute access and with limits on widths."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if "." in re.sub(r"\[[^]]*\]", "", field_name):
            raise TooMuchError(f"attribute access in the format field {{{field_name}}}")
        return super().get_field(field_name, args, kwargs)

    def format_field(self, value: Any, format_spec: str) -> str:
        return format_value(value, format_spec)


def format_value(value: object, spec: str) -> str:
    """Format a value as `format` does, but raise a TooMuchError for a width or precision of five digits."""
    if _WIDTH.search(spec):
        raise TooMuchError(f"the format specification {spec!r}")
    return format(value, spec)


_CONVERSIONS: dict[int, Callable[[object], object]] = {-1: lambda v: v, 115: str, 114: repr, 97: ascii}


def format_field(budget: Budget, value: object, conversion: int, spec: str) -> str:
    """Format one field of an f-string; `conversion` is the character code of `!s`, `!r` or `!a`, or -1.

    >>> format_field(Budget(), "a", ord("r"), ">5")
    "  'a'"

    """
    budget.deep(value)
    text = format_value(_CONVERSIONS[conversion](value), spec)
    settled_text(value)  # after Python's own errors
    return text


def format_percent(budget: Budget, template: str, value: object) -> str:
    """Return `template % value`, but raise a TooMuchError for a width of five digits or one that is a value.

    >>> format_percent(Budget(), "%s-%02d", ("a", 3))
    'a-03'

    """
    if any("*" in spec or _WIDTH.search(spec) for spec in re.findall(r"%(?:\([^)]*\))?([-#0 +*\d.]*)", template)):
        raise TooMuchError("a width of that size in a % format")
    budget.deep(value)
    budget.text(len(template) + template.count("%") * longest(value))
    text = template % value
    settled_text(value)
    return text


def longest(value: object) -> int:
    """Return an upper bound for the length of the text of one field."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return max((longest(v) for v in value.values()), default=0)
    if isinstance(value, (list, tuple, set, frozenset)):
        return sum(longest(v) + 4 for v in value)
    return 64


def format_method(budget: Budget, template: str, /, *args: object, **kwargs: object) -> object:
    """Return `template.format(*args, **kwargs)`, but raise a TooMuchError for attribute access or a large width.

    >>> format_method(Budget(), "{a}-{b[0]}", a=1, b=["x"])
    '1-x'

    """
    budget.deep(args, kwargs)
    bound = max(map(longest, (*args, *kwargs.values())), default=0)
    budget.text(len(template) + template.count("{") * bound)
    _DataFormatter().vformat(template, args, kwargs)  # refuses fields without a limit
    text = template.format(*args, **kwargs)
    settled_text(args, kwargs)
    return text
