"""One case of templates that put values together in loops, under conditions of the row: beside Jinja2, and in size.

What compiling costs and how large programs get must not grow faster than the loop: a program of twice as many items is
about twice as large. Rows are rendered as a table's and as conversations, and have to be what Jinja2 itself renders.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import promptpress as pp
import pyarrow as pa

from . import stages
from .draw import Draw

HANG = 120.0
"""Seconds that a case may take on a busy machine. What isn't bounded takes far longer."""
MOST_ITEMS = 40
ROWS = 4
TEXTS = ("", "", "a", "ab", " c ", "é", "<think>x", "B", "1", "a\n")
SLACK = 120
"""The allowance of a program over one of half the items: the parts outside of the loop, and joins."""
FACTOR = 2.3
FEW_ITEMS = 6
"""The first items cost less: what a text begins with is known, and few ways lead to a list."""


@dataclass
class Case:
    """A template over `words` and `s`, how many items each row's `words` have, and the rows."""

    source: str
    items: int
    rows: list[dict[str, Any]]


class Loops:
    """Makes a loop over items `w`; its `ns` has texts `x` and `y`, a number `n`, a flag `f` and a list `l`."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.has_list = draw.chance(4)
        self.in_block = False

    def template(self) -> str:
        """A loop, statements before it that it needs, and what shows its values."""
        body = self.body(3)
        # Which items a loop with `loop` has is none of what a row may decide.
        test = self.draw.pick("", "", " if w", " if w != 'a'") if "loop." not in body else ""
        prints = self.draw.some(["{{ ns.x }}", "{{ ns.y }}", "{{ ns.n }}", "{{ ns.f }}", "{{ ns.x|length }}", "{{ s }}",
                                 "{{ ns.x|trim }}{{ ns.x }}", "{{ ns.x ~ ns.y }}", "{{ [ns.x, ns.n] }}",
                                 "{% if ns.x %}{{ ns.x }}{% else %}-{% endif %}", "{{ 'a' in ns.x }}", "{{ m(ns.x) }}"],
                               3, 1)  # fmt: skip
        prints += ["{{ ns.l|join('+') }}{{ ns.l|length }}"] if self.has_list else []
        start = self.draw.pick("''", "'Q'", "s", "s ~ '|'")
        head = f"{{% set ns = namespace(x={start}, y='', n=0, f=false, l=[]) %}}"
        macro = f"{{% macro m(t) %}}{self.macro()}{{% endmacro %}}"
        return f"{macro}{head}{{% for w in words{test} %}}{body}{{% endfor %}}{''.join(prints)}"

    def macro(self) -> str:
        return self.draw.pick(
            "{{ t }}", "<{{ t }}>", "{% if t %}{{ t }}!{% else %}?{% endif %}",
            "{% if 'a' in t %}a{{ t|trim }}{% endif %}",
            "{% set u = t ~ '.' %}{% if u == 'a.' %}{{ u }}{% endif %}{{ u|upper }}",
        )  # fmt: skip

    def body(self, depth: int) -> str:
        return "".join(self.statement(depth) for _ in range(self.draw.randint(1, 3)))

    def statement(self, depth: int) -> str:  # noqa: PLR0911 - a kind of statement each
        draw = self.draw
        kind = draw.randrange(10 if depth else 5)
        name = draw.pick("x", "x", "y")
        if kind in (0, 1):
            return f"{{% set ns.{name} = {self.grown(name)} %}}"
        if kind == 2:
            # A text that is shown in a block that is added to it doubles in Jinja2 too.
            whole = "{{ w }}" if self.in_block else f"{{{{ ns.{name} }}}}"
            return draw.pick("{{ w }}", "-", "{{ m(w) }}", "{{ loop.index }}", "{{ w|trim }};", whole)
        if kind == 3:
            return draw.pick("{% set ns.n = ns.n + 1 %}", "{% set ns.f = not ns.f %}", "{% set ns.f = w == 'a' %}",
                             "{% set ns.n = ns.n + w|length %}", "{% set ns.f = ns.f or w %}")  # fmt: skip
        if kind == 4:
            if self.has_list:
                return "{% set ns.l = ns.l + [w] %}"
            return f"{{% set v = {self.text()} %}}{{% set ns.{name} = ns.{name} ~ v %}}"
        if kind in (5, 6, 7):
            more = "".join(
                f"{{% elif {self.condition()} %}}{self.body(depth - 1)}" for _ in range(draw.pick(0, 0, 1, 2))
            )
            otherwise = f"{{% else %}}{self.body(depth - 1)}" if draw.chance(2) else ""
            return f"{{% if {self.condition()} %}}{self.body(depth - 1)}{more}{otherwise}{{% endif %}}"
        if kind == 8:
            before, self.in_block = self.in_block, True
            body = self.body(depth - 1)
            self.in_block = before
            return f"{{% set v %}}{body}{{% endset %}}{{% set ns.{name} = ns.{name} ~ v %}}"
        return f"{{% for k in ['p', w] %}}{self.body(depth - 1)}{{% endfor %}}"

    def condition(self) -> str:
        condition = self.draw.pick("w", "w == 'a'", "'a' in w", "w.startswith('a')", "s", "ns.f", "not w",
                             "w|length > 1",
                             "loop.first", "not loop.last",
                             "w != s", "ns.x == 'a'", "loop.index0 % 2 == 0")  # fmt: skip
        if self.draw.chance(4):
            return f"{condition} {self.draw.pick('and', 'or')} {self.condition()}"
        return condition

    def text(self) -> str:
        return self.draw.pick("w", "w", "'-'", "','", "s", "w|trim", "w.strip()", "m(w)", "w ~ ':'",
                              "loop.index|string",
                              "(w if w else '~')", "(w or s)", "(w and '+' ~ w)", "('a' if ns.f else w)")  # fmt: skip

    def grown(self, name: str) -> str:
        """A text with something added."""
        whole = f"ns.{name}"
        return self.draw.pick(
            f"{whole} ~ {self.text()}", f"{whole} ~ {self.text()} ~ {self.text()}", f"{whole} + {self.text()}",
            f"{self.text()} ~ {whole}", f"({whole} ~ {self.text()}) if {self.condition()} else {whole}",
            f"{whole} ~ ({self.text()} if {self.condition()} else {self.text()})", f"[{whole}, {self.text()}]|join",
            f"({whole} ~ {self.text()})|replace('aaa', 'b')", f"m({whole})" if self.draw.chance(3) else whole,
        )  # fmt: skip


def make(seed: int, number: int) -> Case:
    draw = Draw.of(seed, number, "growth")
    items = draw.randint(1, MOST_ITEMS)
    rows = [{"words": draw.some(TEXTS, items, items), "s": draw.choice(TEXTS)} for _ in range(ROWS)]
    return Case(Loops(draw).template(), items, rows)


@cache
def environment(*, is_chat: bool) -> Any:
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    return ImmutableSandboxedEnvironment(trim_blocks=is_chat, lstrip_blocks=is_chat)


def chat_source(source: str) -> str:
    """The template for conversations: the words are what is said, and `s` is a setting."""
    return source.replace("{% for w in words", "{% for w in messages|map(attribute='content')|list")


def sizes(source: str, items: int) -> tuple[int, int]:
    """Return the size of the program for this many items, in nodes and statements, and the steps of compiling it."""
    from promptpress._jinja.compiler.compilation import compile_names
    from promptpress._jinja.compiler.program import Builder
    from promptpress._jinja.reference import Reference

    builder = Builder(("texts",))
    names = {"words": [builder.slot(number) for number in range(items)], "s": builder.slot(items)}
    compiled = compile_names(Reference(source), builder, names, None)
    return len(compiled.program.nodes) + statements(compiled.program.block), compiled.steps


def statements(block: Iterable[tuple[Any, ...]]) -> int:
    return sum(1 + sum(statements(part) for part in statement[2:]) for statement in block)


def check_growth(case: Case) -> None:
    items = max(case.items, FEW_ITEMS)
    small, large = sizes(case.source, items), sizes(case.source, 2 * items)
    for what, once, twice in zip(("statements and nodes", "steps"), small, large, strict=True):
        if twice > FACTOR * once + SLACK:
            raise AssertionError(f"{once} {what} for {items} items are {twice} for twice as many: {case.source}")


def check(_seed: int, _number: int, case: Case) -> int:
    return len(case.rows) + compare(case)[0]


def compare(case: Case) -> tuple[int, int]:
    """Compare the texts with Jinja2's: of how many rows, and how many of these a program rendered."""
    stages.enter("compiling")
    check_growth(case)
    stages.enter("rendering")
    table = pa.table({"words": [row["words"] for row in case.rows], "s": [row["s"] for row in case.rows]},
                     schema=pa.schema({"words": pa.list_(pa.string()), "s": pa.string()}))  # fmt: skip
    chats = [[{"role": "user", "content": word} for word in row["words"]] for row in case.rows]
    # A setting is one text for all rows.
    chat = pp.ChatTemplate(chat_source(case.source), s="a")
    rows = [{"messages": messages, "s": "a"} for messages in chats]
    plain = pp.JinjaTemplate(case.source)
    compiled = 0
    for template, given, plain_rows, is_chat in (
        (plain, table, case.rows, False),
        (chat, pa.table({"messages": chats}), rows, True),
    ):
        source = chat_source(case.source) if is_chat else case.source
        code = environment(is_chat=is_chat).from_string(source)
        expected = [code.render(**row) for row in plain_rows]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            template.render(given)  # a shape is compiled when it is met again
            rendered = template.render(given)["prompt"].to_pylist()
        for row, text, want in zip(plain_rows, rendered, expected, strict=True):
            if text != want:
                raise AssertionError(f"{text!r} is {want!r} in Jinja2, for {row!r} in {source}")
        compiled += template.last_run.compiled
    return 2 * len(case.rows), compiled


def run(seed: int, number: int) -> int:
    return check(seed, number, make(seed, number))
