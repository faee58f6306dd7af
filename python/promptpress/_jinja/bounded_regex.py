"""`re.sub`, which no thread can stop: where a search may take long, a process of its own runs it, and is stopped."""

from __future__ import annotations

import functools
import pickle
import re
import subprocess
import sys
from typing import Any

from promptpress._jinja.bounds import BUDGET, charge, charge_text, refuse

if sys.version_info >= (3, 11):
    from re import _constants as constants  # type: ignore[attr-defined]
    from re import _parser as parser
else:
    import sre_constants as constants
    import sre_parse as parser

__all__ = ["substituted"]

SECONDS = 0.5
_QUICK = 30_000_000
"""Steps of a search that are done in no time worth a process."""
_COST_OF_PROCESS = 500_000
_STEPS_PER_CHARGE = 64
_SHORT = 16
_MANY = re.compile(r"\{\d*,?\d{3}")
"""A number of times with three digits or more: it may be as many of nothing, or of one another."""

_REPEATS = frozenset(
    getattr(constants, name) for name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") if hasattr(constants, name)
)
_PROGRAM = """
import pickle, re, sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
except (ImportError, ValueError, OSError):
    pass
pattern, repl, string, count = pickle.load(sys.stdin.buffer)
try:
    out = True, re.sub(pattern, repl, string, count=count)
except Exception as error:
    out = False, error
pickle.dump(out, sys.stdout.buffer)
"""


def substituted(string: Any, pattern: Any, repl: Any, count: int = 0) -> Any:
    r"""Return what `re.sub(pattern, repl, string, count=count)` returns.

    Args:
        string: The text.
        pattern: What is looked for.
        repl: What takes its place.
        count: How often at most; 0: everywhere.

    Returns:
        The text.

    Raises:
        LimitExceededError: If it takes too long, or makes too long a text.
        Exception: What `re.sub` raises.

    >>> substituted("a1b22", "[0-9]+", r"<\g<0>>")
    'a<1>b<22>'

    """
    if not (isinstance(pattern, str) and isinstance(string, str) and isinstance(repl, str)):
        return re.sub(pattern, repl, string, count=count)
    charge(4 * len(pattern))
    try:
        steps = _steps(pattern, len(string))
    except (re.error, OverflowError, RecursionError):
        return re.sub(pattern, repl, string, count=count)  # raises it
    longest = len(string) + (len(string) + 1) * (len(repl) + ("\\" in repl) * len(string))
    if steps <= _QUICK and longest <= BUDGET.text:
        charge(steps // _STEPS_PER_CHARGE)
        return re.sub(pattern, repl, string, count=count)
    return _elsewhere(pattern, repl, string, count)


def _elsewhere(pattern: str, repl: str, string: str, count: int) -> str:
    charge(_COST_OF_PROCESS)
    given = pickle.dumps((pattern, repl, string, count))
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _PROGRAM], input=given, capture_output=True, timeout=SECONDS, check=True
        )
    except subprocess.TimeoutExpired:
        refuse(f"a regular expression that searches for more than {SECONDS} s")
    except (subprocess.CalledProcessError, OSError):
        refuse("a regular expression that takes too much memory")
    fine, out = pickle.loads(done.stdout)
    if isinstance(out, MemoryError):
        refuse("a regular expression that takes too much memory")
    if not fine:
        raise out
    charge_text(len(out))
    text: str = out
    return text


@functools.lru_cache(maxsize=256)
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
    """How many lengths a search may have to try together; and whether ways multiply with each character."""
    degree, exponential = 0, False
    for operation, given in parsed:
        if operation in _REPEATS:
            least, most, inner = given
            varies = least != most
            own, worse = _degree(inner, repeated=repeated or most > 1)
            exponential |= worse or (repeated and varies)
            degree += own + varies
        elif operation is constants.BRANCH:
            found = [_degree(branch, repeated=repeated) for branch in given[1]]
            degree += max(own for own, _ in found)
            exponential |= repeated or any(worse for _, worse in found)
        elif operation is constants.GROUPREF:
            degree += 1
        else:
            for inner in given if isinstance(given, tuple) else ():
                if isinstance(inner, parser.SubPattern):
                    own, worse = _degree(inner, repeated=repeated)
                    degree, exponential = degree + own, exponential or worse
    return degree, exponential
