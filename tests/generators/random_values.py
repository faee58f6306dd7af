"""Random expressions that compare values, look for values and give arguments, over all pairs of kinds."""

from __future__ import annotations

import inspect
import re
from datetime import date
from decimal import Decimal
from functools import cache
from random import Random
from typing import Any

import jinja2
import pyarrow as pa

GUARDED_ROWS = 3
"""A guarded expression isn't evaluated for the first rows, which Jinja2 renders too to compare."""

NAN, INF = float("nan"), float("inf")
POOLS: dict[str, tuple[Any, list[Any]]] = {
    "n": (pa.int64(), [0, 1, 2, -1, 3, 2**53 + 1, 2**62, -(2**63)]),
    "small": (pa.int8(), [0, 1, 2, -1]),
    "u": (pa.uint64(), [0, 1, 2, 2**53 + 1]),
    "huge": (pa.uint64(), [0, 1, 2**63, 2**64 - 1]),
    "b": (pa.bool_(), [True, False]),
    "f": (pa.float64(), [0.0, -0.0, 1.0, 2.5, 1e22, 2.0**53, 2.0**63, 2.0**64, NAN, INF, -INF]),
    "s": (pa.string(), ["", "a", "b", "abc", "k", "1", " a ", "A", "nan"]),
    "t": (pa.string(), ["a", "b", "k", "v", "ab"]),
    "c": (pa.dictionary(pa.int32(), pa.string()), ["a", "b", "k"]),
    "z": (pa.null(), [None]),
    "ln": (pa.list_(pa.int64()), [[], [1], [0, 1], [2, None], [3, 1, 2]]),
    "ls": (pa.list_(pa.string()), [[], ["a"], ["a", "b"], ["b", None], ["k", "v", "k"]]),
    "lf": (pa.list_(pa.float64()), [[], [1.0], [NAN, 2.5], [0.0, -0.0]]),
    "ll": (pa.list_(pa.list_(pa.string())), [[], [[]], [["a"]], [["a", "b"], []], [["b"], ["a"]]]),
    "d": (
        pa.struct([("k", pa.string()), ("v", pa.int64()), ("f", pa.float64())]),
        [{"k": "a", "v": 1, "f": 1.0}, {"k": None, "v": 2, "f": NAN}, {"k": "b", "v": None, "f": 0.0}],
    ),
    "ld": (
        pa.list_(pa.struct([("k", pa.string()), ("v", pa.int64())])),
        [[], [{"k": "a", "v": 1}], [{"k": "b", "v": 2}, {"k": "a", "v": None}], [{"k": None, "v": 1}]],
    ),
    "dec": (pa.decimal128(5, 2), [Decimal("1.00"), Decimal("2.50"), Decimal("0.00")]),
    "day": (pa.date32(), [date(2020, 1, 2), date(1970, 1, 1)]),
    "m": (pa.map_(pa.string(), pa.int64()), [[], [("a", 1)], [("a", 1), ("b", 2)]]),
}
COLUMNS = list(POOLS)
CONTAINERS = ["ln", "ls", "lf", "ll", "ld", "d", "s", "m"]
CONSTANTS = [
    "none", "true", "false", "0", "1", "-1", "2", "3", "1.0", "0.0", "-0.0", "2.5", "1e22", "9007199254740993",
    "9007199254740992.0", "18446744073709551615", "18446744073709551616", "-9223372036854775809",
    "1.8446744073709552e19",
    "('nan'|float)", "('inf'|float)", "''", "'a'", "'b'", "'1'", "'k'", "'abc'", "missing",
    "missing.x", "{}.x", "('a'|safe)",
    "(1 if false)", "range(3)", "10 ** 30",
]  # fmt: skip
LISTS = [
    "[]", "[1]", "['a']", "['a', 'b']", "[none]", "[1, 'a', none, 2.5]", "[1.0, true]", "()",
    "(1,)", "('a', 'b')", "('a',)",
    "[('a', 'b')]", "[['a']]", "[[1], ['a'], []]", "[18446744073709551616, 1]",
    "['nan'|float, 1]", "[missing]", "['a'|safe]",
    "[{'k': 'a'}]", "[{}, []]",
]  # fmt: skip
DICTS = [
    "{}", "{'k': 'a'}", "{1: 'a', 3: 'b'}", "{none: 1, 'a': 2}", "{2.5: 'x', 'a': 2}",
    "{true: 1}", "{(1, 2): 3, 'a': 1}",
    "{'k': 'a', 'v': 1}", "{'a': 18446744073709551616, 'b': 1}", "{18446744073709551615: 'x', 1: 'y'}", "{'a'|safe: 1}",
    "{'a': [1], 'b': (1,)}", "{'a': missing, 1: none}", "{'nan'|float: 1, 0.0: 2}",
]  # fmt: skip
OPERATORS = ["==", "!=", "<", "<=", ">", ">=", "in", "not in", "in", "not in", "==", "!="]
TESTS = [
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "in",
    "equalto",
    "sameas",
    "lessthan",
    "greaterthan",
    "==",
    "!=",
    "divisibleby",
]
ARGUMENTS = [
    "-5",
    "100000000000000000000",
    "4294967296",
    "''",
    "' '",
    "true",
    "none",
    "1.5",
    "missing",
    "'-'",
    "['a']",
    "2",
]
METHODS = {
    "str": [name for name in dir(str) if not name.startswith("_")],
    "list": [name for name in dir(list) if not name.startswith("_")],
    "dict": [name for name in dir(dict) if not name.startswith("_")],
}
GLOBALS = ["range", "dict", "cycler", "joiner", "namespace", "raise_exception"]
VOLATILE = frozenset({"random"})
NUMBERS = [
    "0", "1", "2", "3", "-1", "-2", "-3", "0.5", "-1.5", "-0.0", "1e308", "-1e308", "1e400", "10", "true", "-true",
    "('inf'|float)", "('-2'|int)", "[3, 1]|max", "(-4)|abs", "'ab'|length", "7",
]  # fmt: skip
TEXTS = ["'a'", "'%s'", "'%d-%s'", "'b'|upper", "''", "'-2'", "[1, 2]", "(1,)", "none", "missing", "{}"]
ARITHMETIC = ["+", "-", "*", "/", "//", "%", "**", "**"]
NAMES = ["small", "f", "b", "s"]


@cache
def parameters(kind: str, name: str) -> tuple[str, ...]:
    """Return the names of what a filter or test takes, behind its value."""
    functions = jinja2.defaults.DEFAULT_FILTERS if kind == "filter" else jinja2.defaults.DEFAULT_TESTS
    if name == "tojson":
        return ("ensure_ascii", "indent", "separators", "sort_keys")
    try:
        signature = inspect.signature(functions[name])
    except ValueError:
        return ()
    skipped = 2 if hasattr(functions[name], "jinja_pass_arg") else 1
    return tuple(signature.parameters)[skipped:]


class Expressions:
    """Makes expressions.

    Args:
        random: The source of chance.

    """

    def __init__(self, random: Random) -> None:
        self.random = random

    def template(self) -> str:
        """Return a template of one expression, guarded or not."""
        expression = self.expression()
        output = self.random.choice([
            "{{ %s }}", "{{ %s }}", "{{ 'T' if %s else 'F' }}", "{%% set v = %s %%}[{{ v }}]",
            "{{ [%s] }}", "{{ not %s }}",
            "{%% if %s %%}yes{%% else %%}no{%% endif %%}", "{{ (%s) ~ '.' }}", "{{ (%s)|list }}",
        ])  # fmt: skip
        text = output % expression
        if self.random.random() < 0.3:
            text = f"{{% if i >= {GUARDED_ROWS} %}}{text}{{% endif %}}"
        return text

    def expression(self) -> str:
        """Return an expression of any of the forms."""
        random = self.random
        form = random.choice([
            self.compared, self.compared, self.compared, self.tested, self.searched, self.part, self.filtered_items,
            self.filtered, self.filtered, self.method, self.method, self.any_test, self.called,
            self.computed, self.computed, self.computed,
        ])  # fmt: skip
        return str(form())

    def value(self, depth: int = 2) -> str:
        """Return a value of the row, a constant, or a container of either."""
        random = self.random
        kind = random.randrange(8)
        if kind < 4 or depth == 0:
            return random.choice(COLUMNS)
        if kind == 4:
            return random.choice(CONSTANTS)
        if kind == 5:
            return random.choice(LISTS + DICTS)
        first, second = self.value(depth - 1), self.value(depth - 1)
        return random.choice([
            f"[{first}]", f"({first},)", f"[{first}, {second}]", f"({first}, {second})", f"{{'k': {first}}}",
            f"{{'k': {first}, 'v': {second}}}",
            f"({first} if b else {second})", f"({first}|safe)", f"({first} or {second})",
        ])  # fmt: skip

    def computed(self) -> str:
        """Return a computation of constants, of which parts may be a value of the row."""
        return self.operated(self.random.randint(1, 3), self.random.choice([0.0, 0.1, 0.3]))

    def operated(self, depth: int, share: float) -> str:
        """Return an operation, of constants and of a share of values of the row."""
        random = self.random
        if depth == 0:
            if random.random() < share:
                return random.choice(NAMES)
            return random.choice([random.choice(NUMBERS), random.choice(NUMBERS), random.choice(TEXTS)])
        left, right = self.operated(depth - 1, share), self.operated(random.randint(0, depth - 1), share)
        # The engine itself knows no end to a power of powers, or to a text times one.
        operator = random.choice(ARITHMETIC if "*" not in left + right else ["+", "-", "%", "//"])
        form = random.randrange(12)
        if form < 8:
            return random.choice(["({} {} {})", "{} {} {}", "(-{} {} {})"]).format(left, operator, right)
        return [
            f"({left} ~ {right})",
            f"({left}).x",
            f"({left} {random.choice(['or', 'and'])} {right})",
            f"({left} if {right} else {random.choice(NAMES)})",
        ][form - 8]

    def container(self) -> str:
        """Return what something may be looked for in."""
        random = self.random
        return random.choice([
            random.choice(CONTAINERS), random.choice(LISTS), random.choice(DICTS), self.value(),
            f"[{self.value(1)}, {self.value(1)}]", f"({self.value(1)}, {self.value(1)}, {self.value(0)})",
        ])  # fmt: skip

    def compared(self) -> str:
        """Return a comparison, or two in a chain."""
        operator = self.random.choice(OPERATORS)
        right = self.container() if "in" in operator else self.value()
        chain = f" {self.random.choice(OPERATORS)} {self.container()}" if self.random.random() < 0.1 else ""
        return f"({self.value()} {operator} {right}{chain})"

    def tested(self) -> str:
        """Return a test that compares."""
        name = self.random.choice(TESTS)
        other = self.container() if name == "in" else self.value()
        return f"({self.value()} is {self.random.choice(['', 'not '])}{name}({other}))"

    def searched(self) -> str:
        """Return where, or how often, a value is in a container."""
        return f"{self.container()}.{self.random.choice(['index', 'count'])}({self.value()})"

    def part(self) -> str:
        """Return a part of a container."""
        random = self.random
        held = random.choice([*DICTS, *DICTS, "d", "ld", "ln", *LISTS, self.value()])
        key = random.choice([self.value(1), random.choice(COLUMNS)])
        return random.choice([
            f"{held}[{key}]", f"{held}.get({key})", f"{held}.get({key}, {self.value()})",
            f"({held})[{key}:{self.value(0)}]",
            f"{held}.k", f"{held}.get('k', {key})", f"{{'a': {self.value()}, 'k': {self.value()}, 1: 2}}[{key}]",
            f"({held}|attr({key}))",
        ])  # fmt: skip

    def filtered_items(self) -> str:
        """Return items that are tested, ordered or told apart."""
        random = self.random
        items, value = self.container(), self.value()
        test = random.choice(TESTS)
        return "(" + random.choice([
            f"{items}|select('{test}', {value})|list", f"{items}|reject('{test}', {value})|list",
            f"{items}|selectattr('k', '{test}', {value})|list", f"{items}|rejectattr('v', '{test}', {value})|list",
            f"{items}|unique|list", f"{items}|groupby('k')|list", f"{items}|map(attribute='k', default={value})|list",
            f"{items}|sort", f"{items}|dictsort", f"{items}|min", f"{items}|max", f"{items}|sum",
            f"{items}|sort(attribute='k')", f"{items}|min(attribute='v')", f"{items}|unique(attribute='k')|list",
            f"{items}|dictsort(false, 'value')", f"{items}|map('{test}', {value})|list",
            f"{items}|select('{test}', b={value})|list",
            f"{items}|sum(start={value})", f"{items}|map('default', {value})|join(',')",
        ]) + ")"  # fmt: skip

    def arguments(self, names: tuple[str, ...] = ()) -> str:
        """Return arguments: too many, too few, by position and by name, and of any kind."""
        random = self.random
        count = random.choice([0, 1, 1, 1, 2, 2, 3])
        given = [random.choice([random.choice(ARGUMENTS), self.value(1), random.choice(COLUMNS)]) for _ in range(count)]
        named = random.randint(0, count) if names and random.random() < 0.6 else 0
        if named:
            chosen = random.sample(list(dict.fromkeys([*names, "zz"])), min(named, len(set(names)) + 1))
            given[-len(chosen) :] = [
                f"{name}={argument}" for name, argument in zip(chosen, given[-len(chosen) :], strict=True)
            ]
        if random.random() < 0.05:
            given.append(
                random.choice(["*[1, s]", "*ls", "**{'count': 1}", "**d", "**{1: 2}", "**[('d', 1)]", "*missing"])
            )
        return ", ".join(given)

    def filtered(self) -> str:
        """Return a value through a filter, with arguments."""
        random = self.random
        names = sorted(set(jinja2.defaults.DEFAULT_FILTERS) - VOLATILE)
        compiled = [
            "default",
            "join",
            "replace",
            "int",
            "float",
            "round",
            "tojson",
            "trim",
            "batch",
            "d",
            "first",
            "min",
        ]
        name = random.choice([random.choice(names), random.choice(compiled)])
        value = random.choice([self.value(), self.container()])
        test = random.choice(["'upper'", "'eq'", "attribute='k'", "'default'"])
        given = f"{test}, {self.value(1)}" if name == "map" else self.arguments(parameters("filter", name))
        return f"({value}|{name}({given}))" if given or random.random() < 0.5 else f"({value}|{name})"

    def method(self) -> str:
        """Return a call of a method, with arguments."""
        random = self.random
        kind = random.choice(list(METHODS))
        values = {
            "str": ["s", "t", "'a b'", "c"],
            "list": ["ls", "ln", "['a', s]", "[1, 2]"],
            "dict": ["d", "{'k': s}", "{'a': 1}"],
        }[kind]
        name = random.choice(METHODS[kind])
        return f"{random.choice(values)}.{name}({self.arguments(('sep', 'maxsplit', 'count', 'keepends'))})"

    def any_test(self) -> str:
        """Return any test, with arguments."""
        random = self.random
        name = random.choice(sorted(jinja2.defaults.DEFAULT_TESTS))
        given = self.arguments(parameters("test", name)) if random.random() < 0.5 else ""
        name = "==" if not name[0].isalpha() else name
        return f"({self.value()} is {name}({given}))" if given else f"({self.value()} is {name})"

    def called(self) -> str:
        """Return a call of a global function."""
        random = self.random
        name = random.choice(GLOBALS)
        suffix = {"cycler": ".next()", "joiner": "()", "namespace": random.choice([".k", ".zz"]), "range": "|list"}.get(
            name, ""
        )
        return f"{name}({self.arguments(('k', 'sep', 'message'))}){suffix}"


def table(random: Random, rows: int, source: str) -> pa.Table:
    """Return rows of the columns that a template names; in some tables each has nulls, and in some none has."""
    null_share = random.choice([0.0, 0.1])
    columns: dict[str, pa.Array] = {"i": pa.array(range(rows))}
    named = set(re.findall(r"[a-z]+", source))
    for name, (kind, values) in POOLS.items():
        if name not in named:
            continue
        drawn = [None if random.random() < null_share else random.choice(values) for _ in range(rows)]
        columns[name] = pa.array(drawn, kind)
    return pa.table(columns)
