"""Templates that compare values and give arguments, beside the engines themselves.

A row counts if both gave the same text, or if promptpress raised what the engine raised, as a RenderError of the row.
"""

from __future__ import annotations

import random
import re
import sys
import warnings
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import promptpress as pp
import pyarrow as pa

from . import cells
from .draw import Draw
from .faults import general
from .oracle import DifferenceError, need

HANG = 120.0
ROWS = (100, 1200)
OTHER_ROWS = 100
OTHERS_ONE_IN = 5
"""One of this many cases is a template of several statements."""
SURE_ROWS = 12
"""If all of this many rows raise, the others aren't tried."""
GROWING = re.compile(
    r"center|just|zfill|indent|tabs|wrap|batch|slice|range|round|format|replace|truncate|join|translate|[*%]|attr|encode"
    r"|url|sum|split|dict|namespace|cycler|mro|pprint|xml"
)
"""Words of templates that may be large or unsafe, so that the limits of promptpress apply first."""
ADDRESS = re.compile(r"a(.{0,20})t\1 (?:\1)0\1x", re.IGNORECASE | re.DOTALL)
"""An object's address, ` at 0x`, which differs from run to run. `replace("", ...)` may put a text between letters."""
RAISING_ROWS = 2
"""So many of the rows for which the engine raises are rendered alone."""


@dataclass
class Case:
    """A template, and rows of all kinds of values."""

    source: str
    environment: str
    samples: pa.Table
    outcomes: Counter[str] = field(default_factory=Counter)
    """Counts of rows that were compiled, rendered by Jinja2, raised, and left out."""


def ready() -> None:
    """Let errors be raised as they are: rewriting their tracebacks takes Jinja2 longer than all else."""
    import jinja2.debug

    jinja2.debug.rewrite_traceback_stack = lambda source=None: sys.exc_info()[1]  # type: ignore[assignment, return-value]  # noqa: ARG005


def make(seed: int, number: int) -> Case:
    from generators import random_templates, random_values

    from jinja import engines

    draw = Draw.of(seed, number, "jinja")
    rng = random.Random(draw.getrandbits(64))
    environment = draw.choice(engines.NAMES)
    if draw.chance(OTHERS_ONE_IN):
        return Case(random_templates.Templates(rng).template(), environment, cells.template_rows(draw, OTHER_ROWS))
    source = random_values.Expressions(rng).template()
    return Case(source, environment, random_values.table(rng, draw.pick(*ROWS), source))


def check(_seed: int, _number: int, case: Case) -> int:
    """Compare a case; gives how many rows were compared."""
    from jinja import engines

    try:
        template: Any = engines.compiler(case.environment)(case.source)
    except Exception as error:
        template = error
    try:
        ours = pp.JinjaTemplate(case.source, environment=case.environment)  # type: ignore[arg-type]
    except pp.TemplateError as error:
        is_ours = isinstance(template, Exception) or error.code == "template_limit"
        need(is_ours, "a template is refused that the engine takes", error)
        return 1
    if isinstance(template, Exception):
        raise DifferenceError("a template is taken that the engine refuses", repr(template))
    wanted = expected(case, template)
    fine = [row for row, outcome in wanted.items() if isinstance(outcome, str)]
    raising = [row for row, outcome in wanted.items() if not isinstance(outcome, str)]
    case.outcomes["left out"] += len(case.samples) - len(wanted)
    if fine:
        compare(case, ours, fine, wanted)
    for row in raising[:: max(1, len(raising) // RAISING_ROWS)][:RAISING_ROWS]:
        compare_error(case, ours, row, wanted[row])
    return len(fine) + min(len(raising), RAISING_ROWS)


def expected(case: Case, template: Any) -> dict[int, Any]:
    """Return what the engine makes of each row: a text or an exception; without rows that promptpress may refuse."""
    from promptpress._jinja.reference import Reference

    bounded = Reference(case.source, case.environment) if GROWING.search(case.source) else None
    out: dict[int, Any] = {}
    for number, row in enumerate(case.samples.to_pylist()):
        if number == SURE_ROWS and out and not any(isinstance(outcome, str) for outcome in out.values()):
            break  # each row raises
        if bounded is not None and is_refused(bounded, row):
            continue
        try:
            text: Any = template.render(**row)  # it may change the row's lists and dicts
        except Exception as error:
            text = error
        if not ADDRESS.search(str(text)):
            out[number] = text
    return out


def is_refused(bounded: Any, row: dict[str, Any]) -> bool:
    """Return true if a row passes a limit, which the engine doesn't have, or does what is unsafe."""
    try:
        bounded.render(deepcopy(row))
    except pp.RenderError:
        return True
    except Exception as error:
        return type(error).__name__ == "SecurityError"
    return False


def compare(case: Case, ours: pp.JinjaTemplate, rows: list[int], wanted: dict[int, Any]) -> None:
    try:
        texts = ours.render(case.samples.take(rows))["prompt"].to_pylist()
    except pp.RenderError as error:
        raise DifferenceError(f"a row is refused: {error.code}, {general(str(error))}", error) from error
    assert ours.last_run is not None
    case.outcomes["compiled"] += ours.last_run.compiled
    case.outcomes["by jinja2"] += ours.last_run.jinja2
    for row, text in zip(rows, texts, strict=True):
        need(
            text == wanted[row],
            "another text",
            lambda row=row, text=text: f"row {row}: {text!r}, wanted {wanted[row]!r}",
        )


def compare_error(case: Case, ours: pp.JinjaTemplate, row: int, wanted: Exception) -> None:
    message = f"row 0: {type(wanted).__name__}: {wanted}"[:1000]
    try:
        text = ours.render(case.samples.slice(row, 1))["prompt"][0]
    except pp.RenderError as error:
        need(str(error).startswith(message), "another error", f"row {row}: {error}, wanted {message}")
        case.outcomes["raised"] += 1
    else:
        raise DifferenceError("a text where the engine raises", f"row {row}: {text!r}, wanted {message}")


def run(seed: int, number: int) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return check(seed, number, make(seed, number))
