"""Formats with values of the row: `%`, the filter `format` and `str.format`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import Formatter
from typing import Any

from promptpress._jinja.compiler.machine import Machine
from promptpress._jinja.compiler.operands import SCALARS
from promptpress._jinja.compiler.values import MarkedSafe, Sym, is_opaque
from promptpress._jinja.traced_values import is_traced

_CONVERSION = re.compile(r"%(?:\(([^()%]*)\))?([-+ 0]*)(\d{0,4})(\.\d{0,3})?([sdiufFeEgGxXo%])", re.ASCII)


def printf(machine: Machine, template: Any, given: Any) -> Any:
    """Return `template % given`."""
    if type(template) is not str:
        raise machine.unsupported("`%` on a text with a value of the row")
    parts = list(_printf_parts(machine, template))
    fields = [part for part in parts if type(part) is not str]
    names = [name for name, *_ in fields if name is not None]
    if names:
        values = [_named(machine, given, name) for name in names]
    else:
        values = list(given) if type(given) is tuple else [given]
    if len(values) != len(fields):
        raise machine.unsupported("`%` with other values than the text has places for")
    rest = iter(values)
    return machine.concat([
        part if type(part) is str else _printed(machine, next(rest), part) for part in parts
    ])  # fmt: skip


def _printf_parts(machine: Machine, template: str) -> Iterator[Any]:
    """Yield the literals of a text before `%`, and the name, flags, width, precision and type of its conversions."""
    start = 0
    while (end := template.find("%", start)) >= 0:
        yield template[start:end]
        match = _CONVERSION.match(template, end)
        if match is None or (match[5] == "%" and match[0] != "%%"):
            raise machine.unsupported("a conversion after `%` that isn't compiled")
        yield "%" if match[5] == "%" else match.groups()
        start = match.end()
    yield template[start:]


def _named(machine: Machine, given: Any, name: str) -> Any:
    """Return a dict's value for a conversion."""
    if type(given) is dict and name in given:
        return given[name]
    if type(given) is not Sym or given.kind.known_fields is None or given.kind.of_field(name) is None:
        raise machine.unsupported("`%` with a name that isn't known to be a key")
    return machine.operate("item", given, name)


def _printed(machine: Machine, value: Any, conversion: tuple[Any, ...]) -> Any:
    """Return what a conversion of `%` makes of a value, by the specification that `format` takes for it."""
    _, flags, width, precision, kind = conversion
    align = "<" if "-" in flags else ">" if kind == "s" else ""
    sign = "+" if "+" in flags else " " if " " in flags else ""
    zeros = "0" if "0" in flags and not align else ""
    digits = "" if precision is None else precision if len(precision) > 1 else ".0"
    if kind == "s":
        sizes = width + digits
        return formatted(machine, machine.text(_unmarked(value)), sizes and align + sizes)
    if digits and kind in "diuxXo":
        raise machine.unsupported("the least number of an integer's digits")
    spec = f"{align}{sign}{zeros}{width}{digits}{'d' if kind in 'diu' else kind}"
    if type(value) is Sym or is_traced(value):
        return machine.operate("format", value, spec, True)
    if type(value) not in SCALARS:
        raise machine.unsupported("`%` with a value that is no number")
    return machine.real(lambda: f"%{flags}{width}{precision or ''}{kind}" % (value,))


def str_format(machine: Machine, template: Any, /, *positional: Any, **named: Any) -> Any:
    """Return `template.format(*positional, **named)`."""
    if type(template) is not str:
        raise machine.unsupported("`format` of a text of the row")
    parts: list[Any] = []
    for number, (literal, name, spec, conversion) in enumerate(_fields(machine, template)):
        parts.append(literal)
        if name is None:
            continue
        index = number if not name else int(name) if name.isdecimal() else -1
        if index >= len(positional) or (index < 0 and name not in named):
            raise machine.unsupported("`format` with a field that no argument has")
        value = _unmarked(named[name] if index < 0 else positional[index])
        parts.append(formatted(machine, machine.text(value) if conversion else value, spec))
    return machine.concat(parts)


def _fields(machine: Machine, template: str) -> list[Any]:
    """Return the parts of a format: each a literal, and the name, specification and conversion of a field after it."""
    parts = machine.real(list, Formatter().parse(template))
    names = [name for _, name, _, _ in parts if name is not None]
    is_plain = all(re.fullmatch(r"\w*", name, re.ASCII) for name in names)
    if not is_plain or ("" in names and any(map(str.isdecimal, names))):
        raise machine.unsupported("`format` with a field that looks into a value")
    if any("{" in (spec or "") or conversion not in (None, "s") for _, _, spec, conversion in parts):
        raise machine.unsupported("`format` with a field that isn't compiled")
    # Literals are parts of their own behind an escaped brace, so only fields count for their numbers.
    merged: list[Any] = []
    before = ""
    for literal, name, spec, conversion in parts:
        before += literal
        if name is not None:
            merged.append((before, name, spec, conversion))
            before = ""
    return [*merged, (before, None, "", None)]


def formatted(machine: Machine, value: Any, spec: str) -> Any:
    """Return `format(value, spec)`."""
    if not spec:
        return machine.text(value)
    if is_opaque(value) or is_traced(value):
        return machine.operate("format", value, spec)
    if type(value) not in SCALARS:
        raise machine.unsupported("`format` of a value that has no such format")
    return machine.real(format, value, spec)


def _unmarked(value: Any) -> Any:
    return value.value if type(value) is MarkedSafe else value
