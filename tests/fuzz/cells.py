"""One case of the differential fuzz in bulk: few templates, many rows, and nothing asked but the prompts.

A cell is a value of a column that the prompts are made of, in a row whose prompts were compared. The models say what
they have to be, the real OpenCompass for some, and Jinja2 for its templates; `prompts` checks more for each of fewer.
"""

from __future__ import annotations

import random
import re
import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import promptpress as pp
import pyarrow as pa

from . import configurations, oracle, prompts, shrink
from .configurations import Case
from .draw import Draw
from .oracle import DifferenceError, need

HANG = 120.0
"""Seconds that a case may take: its model's, mostly."""
ROWS = (150, 500, 1500)
HARNESS_ROWS = 500
"""The harness is the slowest to ask: about no more rows than these."""
HARNESS_ONE_IN = 4
JINJA_ONE_IN = 8


@dataclass
class JinjaCase:
    """Rows, and a program for the core or the source of a template."""

    samples: pa.Table
    program: Any = None
    source: str = ""
    environment: str = "jinja2"


@cache
def has_jinja2() -> bool:
    try:
        import jinja2  # noqa: F401
    except ImportError:
        return False
    return True


ready = prompts.ready


def make(seed: int, number: int) -> Case | JinjaCase:
    draw = Draw.of(seed, number, "cells")
    if draw.chance(JINJA_ONE_IN) and has_jinja2():
        return jinja_case(draw)
    if draw.chance(20):
        return draw.choice(prompts.OTHERS)(draw)
    return configurations.case_of(draw, draw.pick(*ROWS))


def jinja_case(draw: Draw) -> JinjaCase:
    """A program as it is, or a template."""
    from generators import drawn_programs, random_templates

    rng = random.Random(draw.getrandbits(64))
    if not draw.chance(3):
        samples = drawn_programs.table(rng, draw.pick(60, 300))
        make_program = drawn_programs.flat_program if draw.chance(3) else drawn_programs.program
        return JinjaCase(samples, make_program(rng))
    samples = template_rows(draw, 40)
    source = random_templates.Templates(rng).template()
    return JinjaCase(samples, None, source, draw.pick("jinja2", "jinja2", "transformers", "lm_eval"))


def template_rows(draw: Draw, count: int) -> pa.Table:
    """Rows with the names that random templates read."""
    return pa.table(
        {
            "q": [text(draw) for _ in range(count)],
            "r": [text(draw) for _ in range(count)],
            "n": [draw.randint(-2, 4) for _ in range(count)],
            "b": [draw.pick(True, False) for _ in range(count)],
            "f": [draw.pick(0.5, -1.0, 2.0) for _ in range(count)],
            "xs": [[text(draw) for _ in range(draw.randint(0, 3))] for _ in range(count)],
            "ns": [[draw.randint(-2, 4) for _ in range(draw.randint(0, 3))] for _ in range(count)],
            "d": [{"k": text(draw), "z": draw.randint(0, 3)} for _ in range(count)],
            "ds": [[{"k": text(draw)} for _ in range(draw.randint(0, 2))] for _ in range(count)],
            "empty": [""] * count,
        }
    )


def text(draw: Draw) -> str:
    return draw.pick("a", "abc", " Ab c ", "", "é", "a</think>b", "1\n2", "ß x", "{{ n }}", "-7")


def check(seed: int, number: int, case: Case | JinjaCase) -> int:
    """Compare a case; gives how many cells were."""
    if isinstance(case, JinjaCase):
        return program_cells(case) if case.program is not None else template_cells(case)
    from . import real

    got = oracle.against(case, oracle.wanted, case.model)
    if got is None:
        return 0
    if len(case.samples) <= HARNESS_ROWS and Draw.of(seed, number, "harness").chance(HARNESS_ONE_IN):
        oracle.against(case, real.requests, "OpenCompass", got)
    renderer, table = got
    read = {*renderer.required_columns} & {*case.samples.column_names}
    return len(case.samples) * len(read) if len(table) else 0


def program_cells(case: JinjaCase) -> int:
    from jinja.running import GIVEN_UP, run
    from models import jinja_model as model

    compared = 0
    for number, (row, rendered) in enumerate(
        zip(case.samples.to_pylist(), run(case.program, case.samples), strict=True)
    ):
        want = model.run(case.program, row)
        if isinstance(want, model.Bailed):
            need(rendered == GIVEN_UP, "a row isn't given up", lambda n=number, text=rendered: (n, text))
        elif rendered != GIVEN_UP:
            need(rendered == want, "a program gives another text", lambda n=number, a=rendered, b=want: (n, a, b))
            compared += 1
    return compared * len(columns_read(case.program))


def columns_read(program: Any) -> set[int]:
    """The columns that a program's statements come to."""
    columns: set[int] = set()
    seen: set[int] = set()

    def follow(operand: Any) -> None:
        if type(operand) is not int or operand in seen:
            return
        seen.add(operand)
        name, *operands = program.nodes[operand]
        if name == "column":
            columns.add(operands[0])
        elif name != "const":
            for inner in operands:
                follow(inner)

    def block(statements: Any) -> None:
        for name, *operands in statements:
            if name in ("emit", "check", "if"):
                follow(operands[0])
            for inner in operands[1:] if name == "if" else ():
                block(inner)

    block(program.block)
    return columns


def template_cells(case: JinjaCase) -> int:
    from promptpress._jinja.reference import Reference

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            reference = Reference(case.source, case.environment)
        except ValueError:
            return 0  # no template
        want: list[str] = []
        rows = []
        for number, row in enumerate(case.samples.to_pylist()):
            try:
                expected = reference.render(row)
            except Exception:
                continue
            if "0x" not in expected:  # the address of an object
                want.append(expected)
                rows.append(number)
        if not rows:
            return 0
        rendered = pp.JinjaTemplate(case.source, case.environment).render(case.samples.take(rows))["prompt"].to_pylist()
    for row, text, wanted in zip(rows, rendered, want, strict=True):
        if text != wanted:
            raise DifferenceError(
                "a template gives another text than Jinja2", f"row {row}: {text!r}, wanted {wanted!r}"
            )
    return len(rows) * len({*re.findall(r"\w+", case.source)} & {*case.samples.column_names})


def run(seed: int, number: int) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return check(seed, number, make(seed, number))


def smaller(check_one: Any, case: Case | JinjaCase) -> Case | JinjaCase:
    """A smaller case that fails in the same way; programs and templates stay as they are."""
    return case if isinstance(case, JinjaCase) else shrink.shrunk(check_one, case)
