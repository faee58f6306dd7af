"""Programs by the shapes of conversations, made when shapes occur.

A chat template is compiled for a shape with the texts of the messages left open.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

import promptpress._core as _core
from promptpress._arrow import lazy_compute as pc
from promptpress._jinja.chat.arguments import LISTS, check_names
from promptpress._jinja.chat.conversations import REASONING, TAG, cut, normalised, tagged
from promptpress._jinja.chat.left_out import Kinds
from promptpress._jinja.chat.roles import BLANK_LINE, TurnRules, with_merged_system
from promptpress._jinja.chat.settings import ChatSettings, argument_origin
from promptpress._jinja.compiler.compilation import compile_names, core_program
from promptpress._jinja.compiler.machine import Machine
from promptpress._jinja.compiler.program import Builder
from promptpress._jinja.compiler.values import (
    BailError,
    Closed,
    Sym,
    UnsupportedError,
    forget_inspections,
    inspections,
    is_opaque,
    is_text,
    kind,
)
from promptpress._jinja.reference import Reference
from promptpress._jinja.run import CHECKED_ONE_IN
from promptpress._jinja.traced_values import Origin, known_containers, plain, traced

SLOTS = "promptpress:slots"
"""The only column of a shape's program: the texts of a conversation's slots."""
OPEN_TOOLS, OPEN_ALL = 1, 2
"""Lists and dicts that are no single slots, for templates that look into them: tools and documents; or all."""
MAX_SHAPES = 10_000
"""Shapes that are kept; Jinja2 renders conversations of further ones."""
MAX_SKELETON_BYTES = 64 << 20
MAX_PROGRAMS = 4_000
"""Shapes that have programs."""
CHEAP_PROGRAMS = 64
"""The first shapes, which are compiled as soon as they occur again."""
MAX_EXHAUSTED = 2
"""Shapes that may exceed the cost of compiling; after them, no more are compiled."""
WORTHWHILE_ROWS = 16
"""Rows after which any shape is compiled: Jinja2 renders about as many in the time that compiling takes."""


class _Opened(NamedTuple):
    """The messages of a shape, as a template sees them; their slots are values of the row.

    `arguments` are those that rows have of their own. `containers` has the origins of lists and dicts, `origins` that
    of each slot, without the column. `closed` is what would open some of the lists and dicts that are single slots.
    """

    messages: list[Any]
    arguments: dict[str, Any]
    containers: dict[int, Origin]
    origins: list[Origin]
    closed: int


def _opened(skeleton: str, builder: Builder, rules: TurnRules) -> _Opened:
    """Open the slots of a skeleton."""
    given = json.loads(skeleton)
    given, of_arguments = (given["messages"], given["arguments"]) if isinstance(given, dict) else (given, {})
    check_names(of_arguments)
    slots: list[Any] = []
    values = [_open(message, builder, slots) for message in given]
    arguments = {name: _open(value, builder, slots) for name, value in of_arguments.items()}
    messages = normalised(values, rules, is_opaque, is_text)
    origins: dict[int, Origin] = {}
    for value, message, origin in zip(values, messages, _origins(messages, None), strict=True):
        _refuse_opened(value, message, rules)
        for key in sorted(message, key=lambda key: key in REASONING and value.get(key) is None):
            _add_origins(message[key], origin.under(key), origins)
    for name, argument in arguments.items():
        _add_origins(argument, argument_origin(name, of_row=True), origins)
    containers: dict[int, Origin] = {}
    opened = traced_messages(messages, given, None, containers)
    slot_origins = [origins.get(id(slot), Origin("field")) for slot in slots]
    closed = OPEN_ALL if any(type(slot) is Closed for slot in slots) else 0
    if any("{" in (of_arguments.get(name) or ()) for name in LISTS):
        closed = OPEN_TOOLS
    return _Opened(opened, arguments, containers, slot_origins, closed)


def _refuse_opened(value: dict[str, Any], message: dict[str, Any], rules: TurnRules) -> None:
    """Refuse a shape with a text that the core has opened and that is no call: its text is no longer known."""
    role = value["role"] if value.get("role") is not None else value.get("from")
    if type(role) is str and role.lower() in rules.call_roles:
        for content in (message.get("content"), message.get("value")):
            if content is not None and not is_text(content):
                raise UnsupportedError("a turn whose role is one of calls has another content")


def traced_messages(
    messages: list[Any],
    given: Sequence[Mapping[str, Any]],
    column: str | None,
    containers: dict[int, Origin],
    first: int = 0,
) -> list[Any]:
    """Return messages, as a template sees them, whose values have origins; `first` is the number of the first one.

    `given` is the conversation that they were made of, which has reasoning under one name only.
    """
    out = [
        traced(message, origin, containers)
        for message, origin in zip(messages, _origins(messages, column, first), strict=True)
    ]
    for message, original in zip(out, given, strict=True):
        names = [name for name in REASONING if name in message]
        given_names = [name for name in names if original.get(name) is not None]
        message.update({name: message[given_names[0]] for name in names if given_names and name not in given_names})
    return out


def _origins(messages: list[Any], column: str | None, first: int = 0) -> list[Origin]:
    roles = [role if isinstance(role := message.get("role"), str) else None for message in messages]
    return [Origin("field", column, number, role) for number, role in enumerate(roles, first)]


def _open(skeleton: Any, builder: Builder, slots: list[Any]) -> Any:
    """Return the values of a skeleton, and add its slots: strings begin with "=", or are the kind of a slot."""
    if isinstance(skeleton, str):
        if skeleton.startswith("="):
            return skeleton[1:]
        slots.append(_slot(skeleton, builder.slot(len(slots)), builder))
        return slots[-1]
    if isinstance(skeleton, list):
        return [_open(item, builder, slots) for item in skeleton]
    if isinstance(skeleton, dict):
        return {key: _open(value, builder, slots) for key, value in skeleton.items()}
    return skeleton


def _slot(mark: str, text: Sym, builder: Builder) -> Any:
    """Return the value of a slot, given its mark in the skeleton."""
    if mark in _CLOSED:
        return Closed(text, _CLOSED[mark])
    if mark in _NUMBERS:
        number = builder.operation("from_json", text.node)
        return Sym(number.node, kind(_NUMBERS[mark]))
    return text


_CLOSED = {"{": "dict", "[": "list"}
_NUMBERS = {"i": "int", "f": "float"}


def _add_origins(value: Any, origin: Origin, origins: dict[int, Origin]) -> None:
    """Add the origins of the slots in a value, by their ids; the first place of a slot counts."""
    if is_opaque(value):
        origins.setdefault(id(value), origin)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            _add_origins(item, origin.item(number), origins)
    elif isinstance(value, dict):
        for key, item in value.items():
            _add_origins(item, origin.under(key), origins)


def _before(builder: Builder, system: Any, user: Any) -> Any:
    """Put a system's text before another one, with a blank line between them if the first one isn't empty."""
    if not is_opaque(system):
        system = builder.sym(builder.constant(system))
    blank_line = builder.operation(
        "select", *(builder.operation("truth", system.node).node, builder.constant(BLANK_LINE), builder.constant(""))
    )
    end = user.node if is_opaque(user) else builder.constant(user)
    return builder.operation("concat", system.node, blank_line.node, end)


def _continued(builder: Builder, messages: list[Any], field: str, source: str) -> Callable[[Machine, Any], Any]:
    """Put the tag after the last message; return a function that cuts the rendered text."""

    def join(text: Any, tag: str) -> Any:
        if not is_opaque(text):
            return text + tag
        return builder.operation("concat", text.node, builder.constant(tag))

    def same(left: Any, right: Any) -> bool:
        if is_opaque(left) and is_opaque(right):
            if left.node == right.node:
                return True
            raise UnsupportedError("two texts of reasoning may be equal")
        return not is_opaque(left) and not is_opaque(right) and bool(left == right)

    final = tagged(messages, field, source, join, same)
    return lambda machine, text: _cut(machine, text, final)


def _cut(machine: Machine, text: Any, final: Any) -> Any:
    """Apply `cut` to a text that may not be known yet."""
    if not is_opaque(text) and not is_opaque(final):
        return machine.real(cut, text, final)
    if type(text) is not Sym or not (type(final) is Sym or isinstance(plain(final), str)):
        raise UnsupportedError("the text is none that could be cut")
    final = plain(final)
    parts = _parts(machine, text)
    _require(machine, text, final.strip() if type(final) is str else final, parts)
    last = parts[-1]
    if type(last) is str and TAG.strip() in last:
        end = last.rindex(TAG.strip())
        head = machine.concat([*parts[:-1], last[:end]])
        return head if last.startswith(TAG, end) else machine.operate("rstrip", head, None)
    tag = TAG.strip()
    machine.branch(machine.condition(machine.operate("contains", text, tag)), lambda: None, _refuse)
    start = machine.operate("rfind", text, tag)
    head = machine.operate("slice", text, None, start, None)
    found_tag = machine.operate("slice", text, start, machine.operate("add", start, len(TAG)), None)
    has_blank = machine.condition(machine.operate("eq", found_tag, TAG))
    return machine.branch(has_blank, lambda: head, lambda: machine.operate("rstrip", head, None))


def _parts(machine: Machine, text: Sym) -> list[Any]:
    """Return the parts of a concatenated text: texts, and values of the row."""
    out: list[Any] = []
    todo = [text.node]
    while todo:
        number = todo.pop()
        name, *operands = machine.builder.nodes[number]
        machine.spend(1)
        if name == "concat":
            todo += reversed(operands)
        else:
            out.append(machine.constant_or_sym(number))
    # A tag may lie in two neighbouring constants.
    joined: list[Any] = []
    for are_texts, parts in itertools.groupby(out, lambda part: type(part) is str):
        neighbours = list(parts)
        joined += ["".join(neighbours)] if are_texts else neighbours
    return joined


def _require(machine: Machine, text: Sym, final: Any, parts: list[Any]) -> None:
    """Let Jinja2 render rows whose text lacks the last message."""
    if type(final) is Sym:
        whole = [part.node for part in parts if type(part) is Sym]
        if final.node in whole or any(_is_strip(machine, machine.builder.nodes[node], final.node) for node in whole):
            return
        final = machine.operate("strip", final, None)
    machine.branch(machine.condition(machine.operate("contains", text, final)), lambda: None, _refuse)


def _is_strip(machine: Machine, node: tuple[Any, ...], of: int) -> bool:
    """Return true if a node is `strip()` of a text."""
    blanks = len(node) < 3 or machine.builder.constants.get(node[2], "") is None
    return node[:2] == ("strip", of) and blanks


def _refuse() -> None:
    raise BailError("the final message isn't in the text")


class ShapeProgram(NamedTuple):
    """The program of a shape; None if Jinja2 renders all rows.

    `bails` has the lines of the template where rows go to Jinja2, and why; the line is None if the shape itself is why.
    `origins` are those of the slots, and of data that the program itself holds, without the column. `wants_inside` is
    not 0 if the template may look into lists and dicts that are single slots: what opens them.
    """

    program: _core.JinjaProgram | None
    reasons: tuple[str, ...]
    bails: tuple[tuple[int | None, str], ...]
    origins: tuple[Origin, ...] = ()
    wants_inside: int = 0


_LATER = ShapeProgram(None, ("its shape hasn't been met often",), ())
_TOO_MANY = ShapeProgram(None, (f"programs are made for {MAX_PROGRAMS:,} shapes, and its own is a further one",), ())
_TOO_COSTLY = ShapeProgram(None, ("compiling the template costs too much",), ())
_UNKNOWN = ShapeProgram(None, ("the first of its shape",), ())


class ShapePrograms:
    """The shapes so far and their programs, for all tables that one template renders.

    Programs count what they leave out by `kinds`; without any, nothing is counted.
    """

    def __init__(
        self,
        reference: Reference,
        settings: ChatSettings,
        kinds: Kinds | None = None,
        *,
        merges_system: bool = False,
    ) -> None:
        self._kinds = kinds
        self._reference = reference
        self._merges_system = merges_system
        self._settings = settings
        self._lock = threading.Lock()
        self._rows: dict[int, int] = {}
        self._programs: dict[int, ShapeProgram] = {}
        self._numbers: dict[str, int] = {}
        self.seen = 0
        self._exhausted = 0
        self.looks_inside = 0
        """The lists and dicts that the template looks into, so that none of them may be a single slot."""
        rules = settings.turn_rules
        call_roles, decodes = list(rules.call_roles), rules.decodes_arguments
        self.shapes = _core.ConversationShapes(MAX_SHAPES, MAX_SKELETON_BYTES, call_roles, decodes)

    def for_rows(
        self, ids: pa.Array, counts: list[tuple[int, int]]
    ) -> tuple[list[ShapeProgram], pa.Array | None, list[int]]:
        """Return the programs of rows, the number of each row's program, and the shapes that were compiled now.

        The numbers are None if all rows take the first program. `ids` has the shape of each row,
        `counts` the shapes that occur, each with its number of rows.
        """
        is_known = sum(rows for _, rows in counts) == len(ids)
        with self._lock:
            new = []
            for number, rows in counts:
                if self._wants_program(number, rows, is_known=is_known):
                    skeleton = self.shapes.skeleton(number)
                    self._programs[number] = program = self.compile(skeleton)
                    self._numbers[skeleton] = number
                    self.looks_inside = max(self.looks_inside, program.wants_inside)
                    new.append(number)
            without = _LATER if len(self._programs) < MAX_PROGRAMS else _TOO_MANY
            without = _TOO_COSTLY if self.is_exhausted else without
            new_shape = _UNKNOWN if len(self._programs) < CHEAP_PROGRAMS else without
            programs = [
                self._programs.get(number, new_shape if self._rows[number] < WORTHWHILE_ROWS else without)
                for number, _ in counts
            ]
        if is_known and len(counts) == 1:
            return programs, None, new
        shapes = pa.array([number for number, _ in counts], pa.uint32())
        which = pc.fill_null(pc.index_in(ids, value_set=shapes), len(counts)).cast(pa.uint32())
        return [*programs, _UNKNOWN], which, new

    def _wants_program(self, number: int, rows: int, *, is_known: bool) -> bool:
        """Count rows of a shape; return true if the shape is to be compiled now.

        `is_known` is true if all shapes of these rows have come before.
        """
        is_known = is_known or number in self._rows or self._settings.fallback == "refuse"
        self._rows[number] = total = self._rows.get(number, 0) + rows
        if not is_known and rows < WORTHWHILE_ROWS:
            return False
        if number in self._programs or len(self._programs) >= MAX_PROGRAMS or self.is_exhausted:
            return False
        return len(self._programs) < CHEAP_PROGRAMS or total >= WORTHWHILE_ROWS

    def compile(self, skeleton: str) -> ShapeProgram:
        """Compile the template for a shape; if that fails, the result has the reason instead of a program."""
        builder = Builder((SLOTS,))
        settings = self._settings
        before = inspections()
        try:
            opened = _opened(skeleton, builder, settings.turn_rules)
            messages, continued = opened.messages, settings.continued
            if self._merges_system:
                messages = with_merged_system(messages, is_text, partial(_before, builder))
            after = None if continued is None else _continued(builder, messages, continued, self._reference.source)
        except Exception as error:  # each such row raises it, whatever it is
            why = str(error) if isinstance(error, BailError) else f"raises {type(error).__name__}: {error}"
            return ShapeProgram(None, (why,), ((None, why),))
        finally:
            forget_inspections(before)
        names = {"messages": messages, **settings.traced_names(opened.containers, opened.arguments)}
        with known_containers(opened.containers):
            compiled = compile_names(self._reference, builder, names, None, after=after)
        self._exhausted += compiled.is_exhausted
        bails = tuple(dict.fromkeys((bail.line, bail.reason) for bail in compiled.bails))
        wants_inside = opened.closed if compiled.has_unsupported else 0
        parts = None
        if self._kinds is not None:
            given = [name for name, value in settings.data(opened.arguments).items() if is_opaque(value) or value]
            parts = self._kinds.parts_of_program(opened.origins, compiled.program.origins, given, len(opened.messages))
        program = core_program(compiled, parts)
        if program is None:
            reasons = tuple(f"line {line}: {why}" for line, why in bails[:1])
            return ShapeProgram(None, reasons, bails, wants_inside=wants_inside)
        origins = (*opened.origins, *compiled.program.origins[: program.origins])
        return ShapeProgram(program, compiled.program.reasons, bails, origins, wants_inside)

    def of_skeleton(self, skeleton: str) -> tuple[int, ShapeProgram] | None:
        """Return the number and the program of a shape that is compiled; None for any other."""
        number = self._numbers.get(skeleton)
        return None if number is None else (number, self._programs[number])

    def count(self, number: int) -> None:
        """Count a row of a shape that is compiled, which was rendered without a table."""
        with self._lock:
            self._rows[number] += 1
            self.seen += 1

    def rows_to_check(self, rows: int) -> range:
        """Count the next rows; return the numbers of those that Jinja2 renders too."""
        first = -self.seen % CHECKED_ONE_IN
        self.seen += rows
        return range(first, rows, CHECKED_ONE_IN)

    @property
    def is_exhausted(self) -> bool:
        """True if compiling the template has cost too much, so that no further shape should be compiled."""
        return self._exhausted >= MAX_EXHAUSTED

    def compiled(self) -> list[tuple[str, int, ShapeProgram]]:
        """Return the shapes that were compiled: skeleton, number of rows, program."""
        with self._lock:
            programs = [(number, self._rows[number], program) for number, program in self._programs.items()]
        return [(self.shapes.skeleton(number), rows, program) for number, rows, program in programs]
