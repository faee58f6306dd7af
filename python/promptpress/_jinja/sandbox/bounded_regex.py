"""`re.sub` with limits: no thread can stop it, so a search that may take long runs in another process."""

from __future__ import annotations

import functools
import os
import pickle
import re
import signal
import subprocess
import sys
from typing import Any

from promptpress._jinja.sandbox.bounds import BUDGET, charge, charge_text, refuse

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
    r"""Return `re.sub(pattern, repl, string, count=count)`.

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
