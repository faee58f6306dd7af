"""Guards of Jinja2's filters and tests: they count what the functions are about to do.

No thread can stop `re.sub`, so a search that may take long runs in another process.
"""

from __future__ import annotations

import os
import pickle
import re
import signal
import subprocess
import sys
from collections.abc import Callable, ItemsView, Mapping, ValuesView
from dataclasses import dataclass
from functools import lru_cache, wraps
from inspect import signature
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from jinja2.filters import make_attrgetter
from jinja2.runtime import Undefined

from promptpress._jinja.sandbox.bounds import (
    BUDGET,
    SHORT,
    WEIGHTLESS,
    charge,
    charge_text,
    counted,
    guard_integer,
    printf_size,
    printf_widths,
    refuse,
    replaced_size,
    small_size,
    weigh,
)

if TYPE_CHECKING:
    from jinja2 import Environment

if sys.version_info >= (3, 11):
    from re import _constants as constants  # type: ignore[attr-defined]
    from re import _parser as parser
else:
    import sre_constants as constants
    import sre_parse as parser

SECONDS = 0.5
"""Seconds of the processor that a search may take: how long it waits for a busy machine doesn't count."""
_MAX_WAIT_SECONDS = SECONDS if os.name == "nt" else 30.0
"""Seconds until a search is given up that doesn't get on. Windows has no clock of a process's own time that ends it."""
_TOO_LONG = f"a regular expression that searches for more than {SECONDS} s"
_QUICK = 30_000_000
"""Steps of a search that is too short to be worth a process."""
_COST_OF_PROCESS = 500_000
_STEPS_PER_CHARGE = 64
_SHORT = 16
_MANY = re.compile(r"\{\d*,?\d{3}")
"""A repetition with three digits or more, which may repeat an empty text or another repetition."""

_REPEATS = frozenset(
    getattr(constants, name) for name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") if hasattr(constants, name)
)
_PROGRAM = """
import pickle, re, signal, sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
except (ImportError, ValueError, OSError):
    pass
if hasattr(signal, "setitimer"):
    signal.setitimer(signal.ITIMER_PROF, float(sys.argv[1]))
pattern, repl, string, count = pickle.load(sys.stdin.buffer)
try:
    out = True, re.sub(pattern, repl, string, count=count)
except Exception as error:
    out = False, error
pickle.dump(out, sys.stdout.buffer)
"""


def substituted(string: Any, pattern: Any, repl: Any, count: int = 0) -> Any:
    """Return `re.sub(pattern, repl, string, count=count)`."""
    if not (isinstance(pattern, str) and isinstance(string, str) and isinstance(repl, str)):
        return re.sub(pattern, repl, string, count=count)
    charge(4 * len(pattern))
    try:
        steps = _steps(pattern, len(string))
    except (re.error, OverflowError, RecursionError):
        return re.sub(pattern, repl, string, count=count)  # raises the error
    longest = len(string) + (len(string) + 1) * (len(repl) + ("\\" in repl) * len(string))
    if steps <= _QUICK and longest <= BUDGET.text:
        charge(steps // _STEPS_PER_CHARGE)
        return re.sub(pattern, repl, string, count=count)
    return _in_process(pattern, repl, string, count)


def _in_process(pattern: str, repl: str, string: str, count: int) -> str:
    charge(_COST_OF_PROCESS)
    given = pickle.dumps((pattern, repl, string, count))
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _PROGRAM, str(SECONDS)],
            input=given,
            capture_output=True,
            timeout=_MAX_WAIT_SECONDS,
            check=True,
        )
    except subprocess.TimeoutExpired:
        refuse(_TOO_LONG)
    except (subprocess.CalledProcessError, OSError) as error:
        timed_out = getattr(error, "returncode", 0) == -getattr(signal, "SIGPROF", -1)
        refuse(_TOO_LONG if timed_out else "a regular expression that takes too much memory")
    fine, out = pickle.loads(done.stdout)
    if isinstance(out, MemoryError):
        refuse("a regular expression that takes too much memory")
    if not fine:
        raise out
    charge_text(len(out))
    return str(out)


@lru_cache(maxsize=256)
def _steps_of_pattern(pattern: str) -> tuple[int, bool]:
    parsed = parser.parse(pattern)
    slow = bool(parsed.state.flags & re.IGNORECASE) and "-" in pattern
    degree, exponential = _degree(parsed, repeated=False)
    return degree, exponential or (slow and not pattern.isascii())


def _steps(pattern: str, size: int) -> int:
    degree, exponential = _steps_of_pattern(pattern)
    if (exponential and size > _SHORT) or _MANY.search(pattern):
        return _QUICK + 1
    return int(min(float(size + 1) ** (degree + 1), 1e18))


def _degree(parsed: Any, *, repeated: bool) -> tuple[int, bool]:
    """Return how many lengths a search may have to try together, and true if its ways multiply with each character."""
    degree, exponential = 0, False
    for operation, given in parsed:
        if operation in _REPEATS:
            least, most, inner = given
            varies = least != most
            more, worse = _degree(inner, repeated=repeated or most > 1)
            exponential |= worse or (repeated and varies)
            degree += more + varies
        elif operation is constants.BRANCH:
            branches = [_degree(branch, repeated=repeated) for branch in given[1]]
            degree += max(more for more, _ in branches)
            exponential |= repeated or any(worse for _, worse in branches)
        elif operation is constants.GROUPREF:
            degree += 1
        else:
            for inner in given if isinstance(given, tuple) else ():
                if isinstance(inner, parser.SubPattern):
                    more, worse = _degree(inner, repeated=repeated)
                    degree, exponential = degree + more, exponential or worse
    return degree, exponential


Function = Callable[..., Any]

_CHEAP = frozenset({"abs", "attr", "count", "d", "default", "first", "last", "length", "random"})
_DEEP_TESTS = frozenset(
    {"!=", "<", "<=", "==", ">", ">=", "eq", "equalto", "ge", "greaterthan", "gt", "in", "le", "lessthan", "lower"}
    | {"divisibleby", "lt", "ne", "upper"}
)
_COST = 8
_COST_OF_ITEM = 12
_MAX_PRECISION = 20_000


class LazyWrappers(dict[str, Any]):
    """Functions by name, each wrapped when it is first needed: a template uses few of the ninety filters and tests.

    The functions must not change; `wrap` is given a function's name and the function.
    """

    def __init__(self, functions: Mapping[str, Function], wrap: Callable[[str, Function], Function]) -> None:
        # Code that bypasses the methods of a dict gets None, and so can't call an unwrapped function.
        super().__init__(dict.fromkeys(functions))
        self._functions = functions
        self._wrap = wrap

    def __getitem__(self, name: str) -> Function:
        function: Function | None = super().__getitem__(name)
        if function is None:
            # Two threads may wrap it twice, and both results are equally good.
            self[name] = function = self._wrap(name, self._functions[name])
        return function

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default  # noqa: SIM401 - this is `get` itself

    def copy(self) -> dict[str, Function]:
        return {name: self[name] for name in self}

    def values(self) -> ValuesView[Function]:  # type: ignore[override]  # dict's own type of a view can't be made
        return self.copy().values()

    def items(self) -> ItemsView[str, Function]:  # type: ignore[override]
        return self.copy().items()


def guard_functions(environment: Environment) -> None:
    """Wrap the filters of an environment, and the tests that look at all parts of their values, in place."""

    def guarded_filter(name: str, function: Function) -> Function:
        return function if name in _CHEAP else _guarded(function, _ESTIMATES.get(name), environment)

    def guarded_test(name: str, function: Function) -> Function:
        return _deep_test(function) if name in _DEEP_TESTS else function

    tests: Any = environment.tests
    environment.filters = LazyWrappers(environment.filters, guarded_filter)
    environment.tests = LazyWrappers(tests, guarded_test)


def _deep_test(function: Function) -> Function:
    @wraps(function)
    def test(*values: Any, **named: Any) -> bool:
        if named or small_size(values) < 0:
            for value in (*values, *named.values()):
                charge(weigh(value) >> 4)
        out: bool = function(*values, **named)
        return out

    return test


def _guarded(function: Function, estimate: Estimate | None, environment: Environment) -> Function:
    skipped = 1 if hasattr(function, "jinja_pass_arg") else 0
    only_grows = estimate in _GROWING
    largest = 1 << 63 if estimate is _format else SHORT

    @wraps(function)
    def run(*arguments: Any, **keywords: Any) -> Any:
        size = small_size(arguments[skipped:], largest) if only_grows and not keywords else -1
        if size >= 0 and (estimate is not _format or _is_narrow(arguments[:1])):
            charge(_COST + (size >> 4))
            result = function(*arguments)
            if type(result) is str and len(result) > SHORT:
                charge_text(len(result))
            return result
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
        if estimate is not None:
            call = _Call(environment, arguments[:skipped], arguments[skipped:], keywords)
            try:
                charge_text(estimate(call, size))
            except (TypeError, ValueError, LookupError, ArithmeticError):
                try:
                    signature(function).bind(*arguments, **keywords)
                except TypeError:
                    function(*arguments, **keywords)  # raises the engine's error
                raise
            arguments, keywords = (*call.passed, *call.arguments), call.keywords
        result = function(*arguments, **keywords)
        if type(result) not in WEIGHTLESS and isinstance(result, str):
            charge_text(len(result))
        return guard_integer(result)

    return run


@dataclass
class _Call:
    """A call of a filter. An estimate may replace the arguments, after it has read a generator.

    `passed` is the argument that Jinja2 itself passes first, if any.
    """

    environment: Environment
    passed: tuple[Any, ...]
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]

    def __call__(self, position: int, name: str, default: Any = None) -> Any:
        """Return an argument by its position or name."""
        return self.arguments[position] if len(self.arguments) > position else self.keywords.get(name, default)


Estimate = Callable[[_Call, int], int]
"""Charges for a call, given the size of its arguments; returns the largest size of the text that it makes."""


def _text(value: Any) -> str:
    return "" if isinstance(value, Undefined) else str(value)


def _number(value: Any) -> int:
    return abs(int(value)) if isinstance(value, (int, float)) and abs(value) < 1e18 else 0


def _center(call: _Call, size: int) -> int:
    return max(size, _number(call(1, "width", 80)))


def _indent(call: _Call, size: int) -> int:
    width = call(1, "width", 4)
    width = len(width) if isinstance(width, str) else _number(width)
    return size + width * (_text(call(0, "s")).count("\n") + 2)


def _format(call: _Call, _size: int) -> int:
    values: Any = call.keywords or call.arguments[1:]
    return printf_size(_text(call(0, "value")), values)


def _is_narrow(template: tuple[Any, ...]) -> bool:
    """Return true for a text whose conversions have no great widths."""
    return all(type(text) is str and "*" not in text and printf_widths(text) <= SHORT for text in template)


def _replace(call: _Call, _size: int) -> int:
    text, old, new = (_text(call(k, name)) for k, name in enumerate(("s", "old", "new")))
    count = call(3, "count")
    return replaced_size(text, old, new, -1 if count is None else _number(count))


def _batch(call: _Call, size: int) -> int:
    charge(0 if call(2, "fill_with") is None else _number(call(1, "linecount", 0)))
    return size


def _slice(call: _Call, size: int) -> int:
    charge(2 * _number(call(1, "slices", 0)))
    return size


def _round(call: _Call, size: int) -> int:
    digits = _number(call(1, "precision", 0))
    charge(digits)
    if digits > _MAX_PRECISION:
        refuse(f"a precision of more than {_MAX_PRECISION:,} digits")
    return size


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=0)


def _wordwrap(call: _Call, size: int) -> int:
    text = _text(call(0, "s"))
    width = max(1, _number(call(1, "width", 79)))
    charge(size // 4)
    charge((len(text) if len(text) <= SHORT else _longest_word(text)) ** 2 // width >> 10)
    wrap = call(3, "wrapstring")
    lines = len(text) // width + text.count("\n") + text.count(" ")
    return size + lines * (len(wrap) if isinstance(wrap, str) else 1)


def _urlize(call: _Call, size: int) -> int:
    charge(size // 2)
    charge(_longest_word(_text(call(0, "value"))) ** 2 >> 10)
    return 8 * size


def _striptags(call: _Call, size: int) -> int:
    charge(_text(call(0, "value")).count("<") * size >> 10)
    return size


def _costing(steps: float, growth: int = 1) -> Estimate:
    """Return the estimate of a filter: its steps for each character, and how many times longer it makes the text."""

    def estimate(_call: _Call, size: int) -> int:
        charge(int(steps * size))
        return growth * size

    return estimate


def _tojson(call: _Call, size: int) -> int:
    if len(call.arguments) == 1 and not call.keywords:
        return size
    indent = call.keywords.get("indent", call(1, "indent") if len(call.arguments) < 3 else call.arguments[2])
    step = len(indent) if isinstance(indent, str) else _number(indent)
    between = call(3, "separators")
    step += sum(len(part) for part in between if isinstance(part, str)) if isinstance(between, (list, tuple)) else 0
    value = call(0, "value" if "value" in call.keywords else "x")
    return size + (step * _depth(value) * size // 8 if step > 8 else 0)


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return 1
    return 1 + max(map(_depth, value), default=0)


def _lazy(call: _Call, size: int) -> int:
    charge(_COST_OF_ITEM * _count(call.arguments[0] if call.arguments else None))
    return size


def _sum(call: _Call, size: int) -> int:
    start = call(2, "start", 0)
    if not isinstance(start, (int, float)):
        # Lists are copied for each one that is added.
        items = list(call.arguments[0]) if call.arguments else []
        call.arguments = (items, *call.arguments[1:])
        charge(len(items) * (size + weigh(items)) >> 8)
    return 0


def _join(call: _Call, size: int) -> int:
    count = len(call.arguments) + len(call.keywords)
    if not call.arguments or count > 3 or not call.keywords.keys() <= {"d", "attribute"}:
        return 0  # the filter refuses the arguments
    attribute, value = call(2, "attribute"), call(0, "value")
    # Jinja2 converts the separator before the items, except for attributes of items.
    between = str(call(1, "d", "")) if attribute is None else ""
    if isinstance(value, (str, Undefined)) and attribute is None:
        items: Any = value
    else:
        items = value if type(value) is list and attribute is None else list(value)
        if attribute is not None:
            items = list(map(make_attrgetter(call.environment, attribute), items))
            between = str(call(1, "d", ""))
    call.keywords = {name: item for name, item in call.keywords.items() if name != "attribute"}
    call.arguments = (items, *call.arguments[1:2])
    return (size if items is value else weigh(items)) + len(between) * _count(items)


def _count(items: Any) -> int:
    return len(items) if isinstance(items, (str, bytes, list, tuple, dict, set, range)) else 0


_GROWING = frozenset({None, _batch, _center, _format, _indent, _join, _lazy, _replace, _round, _slice, _sum, _tojson})
"""Estimates of filters that take no longer than their texts, so that a call with small values needs none."""

_ESTIMATES: dict[str, Estimate] = {
    "batch": _batch,
    "center": _center,
    "format": _format,
    "indent": _indent,
    "join": _join,
    **dict.fromkeys(["map", "reject", "rejectattr", "select", "selectattr", "unique"], _lazy),
    "pprint": _costing(2, growth=8),
    "replace": _replace,
    "round": _round,
    "slice": _slice,
    "striptags": _striptags,
    "sum": _sum,
    "tojson": _tojson,
    **dict.fromkeys(["title", "wordcount"], _costing(0.5)),
    "urlencode": _costing(1),
    "urlize": _urlize,
    "wordwrap": _wordwrap,
}
