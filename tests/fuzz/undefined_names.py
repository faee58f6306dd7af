"""One case of names that a template reads before they are set: what is noted, compared with Jinja2's strict mode.

Each name of a random template is left out of its rows alone. A note of it is false if no row raises; but for places
that no row gets to, because two conditions on what is defined exclude each other. A name without a note is missed if
every row raises.
"""

from __future__ import annotations

from random import Random
from typing import Any

from generators.flow_templates import MACROS, NAMES, FlowTemplates
from jinja2 import Environment, StrictUndefined
from jinja2.exceptions import TemplateError, TemplateRuntimeError, UndefinedError
from jinja2.utils import Namespace
from promptpress._jinja.undefined_names import undefined_names

from .draw import Draw
from .oracle import need

HANG = 60.0
_AT_ONCE = 20
"""Templates of a case."""


class Counts:
    """Notes and names of the templates so far."""

    def __init__(self) -> None:
        self.noted = self.unreachable = self.silent = 0


def make(seed: int, number: int) -> Random:
    return Random(Draw.of(seed, number, "undefined names").getrandbits(64))


def run(seed: int, number: int) -> int:
    random = make(seed, number)
    return sum(check(FlowTemplates(random), Counts()) for _ in range(_AT_ONCE))


def check(templates: FlowTemplates, counts: Counts) -> bool:
    """Compare a template's notes; return true if Jinja2 takes the template."""
    source = templates.template()
    reached: list[int] = []
    environment = Environment(undefined=StrictUndefined, extensions=["jinja2.ext.loopcontrols"])
    environment.globals["at"] = lambda number: reached.append(number) or ""
    try:
        template = environment.from_string(source)
    except TemplateError:
        return False
    rows = list(templates.rows())
    given = {
        **dict.fromkeys(NAMES, "s"),
        **dict.fromkeys(MACROS, lambda *_arguments, **_named: ""),
        "o": Namespace(),
    }
    tree = environment.parse(source)
    for name in given.keys() & {name for name, _ in templates.sites}:
        others = {key: value for key, value in given.items() if key != name}
        noted = undefined_names(tree, {*rows[0], *environment.globals, *others})
        rendered: set[int] = set()
        raises = []
        for row in rows:
            reached.clear()
            raised = _raised(template, name, {**others, **row})
            raises.append(raised is True)
            if raised is None:
                rendered.update(reached)
            if any(raises) and not all(raises):
                break
        if name not in noted:
            need(not all(raises), "a name has no note, and every row raises", f"{name}\n{source}")
            counts.silent += 1
            continue
        counts.noted += 1
        if not any(raises):
            reading_sites = {number for number, site in enumerate(templates.sites) if site == (name, noted[name])}
            need(bool(reading_sites), "a name is noted where nothing reads it", f"{name} {noted[name]}\n{source}")
            need(not reading_sites & rendered, "a name is noted, and no row raises", f"{name} {noted[name]}\n{source}")
            counts.unreachable += 1
    return True


def _raised(template: Any, name: str, row: dict[str, Any]) -> bool | None:
    """Return true if a row raises because it lacks a name, false if it raises anything else, None if it is rendered."""
    try:
        template.render(row)
    except UndefinedError as error:
        return error.message == f"{name!r} is undefined"
    except TemplateRuntimeError as error:
        return name == "o" and "namespace" in str(error)
    except TypeError:
        return False  # a call block's macro that is called in another's arguments gets two of its argument `caller`
    return None
