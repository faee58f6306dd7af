"""Random templates: any expression of any other, whether it makes sense or not, and statements around them."""

from __future__ import annotations

from random import Random

import pyarrow as pa

NAMES = ["q", "r", "n", "b", "f", "xs", "ns", "d", "ds", "missing", "empty"]
TEXTS = ["", "a", "A", "abc", " ", "\n", "</think>", "é", "1", "ß x"]
FILTERS = [
    "trim", "upper", "lower", "capitalize", "title", "string", "length", "first", "last", "default('z')",
    "default('z', true)", "join('-')", "join", "replace('a', 'b')", "replace('', '.')", "int", "int(7)", "float", "abs",
    "list", "reverse|list", "safe", "d('y')", "trim('a ')", "list|length", "map('upper')|list", "map('trim')|join('+')",
    "select|list", "reject('none')|list", "map(attribute='k')|list", "selectattr('k')|list", "items|list",
    "dictsort", "unique|list", "sort", "sum", "min", "max", "count", "tojson", "round", "batch(2)|list", "e",
    "wordcount",
    "selectattr('k', 'equalto', 'a')|list|length", "first|default('none')",
]  # fmt: skip
TESTS = [
    "defined", "undefined", "none", "string", "mapping", "sequence", "iterable", "number", "integer", "boolean", "true",
    "false", "float", "odd", "even", "callable", "sameas(none)", "sameas(true)", "equalto('a')", "in(['a', 'b'])",
    "eq(1)",
    "divisibleby(2)", "lt(3)", "ne(q)", "upper", "escaped",
]  # fmt: skip
METHODS = [
    "strip()", "lstrip()", "rstrip()", "strip('a')", "rstrip('\\n ')", "split()", "split('a')", "split('a', 1)",
    "rsplit('a', 1)", "upper()", "lower()", "title()", "capitalize()", "startswith('a')", "endswith('c')",
    "replace('a', 'b')",
    "startswith(('a', 'b'))", "index('a')", "find('b')", "count('a')", "items()", "keys()", "get('k')", "get('z', 'w')",
    "splitlines()", "join(xs)", "swapcase()", "isdigit()", "format(q)", "encode()", "zfill(3)", "k", "items", "nothing",
]  # fmt: skip
BINARY = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]
ITEMS = ["0", "-1", "1", "5", "'k'", "'z'", "n", "q", ":1", "1:", ":-1", "::-1", "::2", "n:", "true"]
TEXT_FILTERS = [
    "trim", "upper", "lower", "capitalize", "title", "string", "default('z')", "replace('a', 'b')", "replace('', '.')",
    "reverse", "safe", "trim('a ')", "first", "last", "list|join('.')", "int|string",
]  # fmt: skip
TEXT_METHODS = [
    "strip()", "lstrip()", "rstrip()", "strip('a')", "upper()", "lower()", "title()", "capitalize()",
    "replace('a', 'b')",
    "replace(q, '-', 1)", "swapcase()", "rstrip('\\n ')", "split('a', 1)[0]",
    "rsplit('a', 1)[-1]", "splitlines()|join",
]  # fmt: skip
LIST_FILTERS = [
    "reverse",
    "map('string')",
    "select",
    "map('trim')",
    "batch(2)|first",
    "unique",
    "sort",
    "list",
    "reject('none')",
]
ENDS = ["", "", "", "", "\n", "  "]

SCHEMA = pa.schema([
    ("q", pa.string()),
    ("r", pa.string()),
    ("n", pa.int64()),
    ("b", pa.bool_()),
    ("f", pa.float64()),
    ("xs", pa.list_(pa.string())),
    ("ns", pa.list_(pa.int64())),
    ("d", pa.struct([("k", pa.string()), ("z", pa.int64())])),
    ("ds", pa.list_(pa.struct([("k", pa.string())]))),
    ("empty", pa.null()),
])  # fmt: skip
"""The columns of `rows`."""


class Templates:
    """Makes templates.

    Args:
        random: The source of chance.

    """

    def __init__(self, random: Random) -> None:
        self.random = random
        self.variables: list[str] = []

    def template(self) -> str:
        """A template of some statements."""
        self.variables = list(NAMES)
        return "".join(self.statement(3) for _ in range(self.random.randint(1, 4)))

    def statement(self, depth: int) -> str:  # noqa: PLR0911 - a kind of statement each
        random = self.random
        kind = random.randrange(12) if depth > 0 else 0
        inner = lambda: "".join(self.statement(depth - 1) for _ in range(random.randint(1, 2)))  # noqa: E731
        left, right = random.choice([("{%", "%}"), ("{%-", "-%}"), ("{%", "%}")])
        if kind in (1, 2, 3):
            more = f"{left} elif {self.expression(2)} {right}{inner()}" if random.random() < 0.3 else ""
            otherwise = f"{left} else {right}{inner()}" if random.random() < 0.5 else ""
            return f"{left} if {self.expression(2)} {right}{inner()}{more}{otherwise}{left} endif {right}"
        if kind in (4, 5):
            name = random.choice(["v", "w", "q", "n"])
            value = self.expression(3)
            self.variables.append(name)
            return f"{left} set {name} = {value} {right}"
        if kind == 6:
            over = random.choice(["xs", "ns", "ds", "range(3)", "['a', q]", "d.items()", "q", self.expression(1)])
            name = random.choice(["i", "x"])
            self.variables += [
                name,
                "loop.index",
                "loop.last",
                "loop.previtem",
                "loop.length",
                f"{name}.k",
                f"{name}[0]",
            ]
            test = f" if {self.expression(1)}" if random.random() < 0.2 else ""
            otherwise = "{% else %}none" if random.random() < 0.2 else ""
            return f"{{% for {name} in {over}{test} %}}{inner()}{otherwise}{{% endfor %}}"
        if kind == 7:
            self.variables.append("v")
            through = random.choice(["", "|upper", "|trim"])
            return f"{{% set v{through} %}}{inner()}{{% endset %}}"
        if kind == 8:
            arguments = random.choice(["x", "x, y='d'", "x=q"])
            self.variables += ["x", "y"]
            body = inner()
            call = random.choice(["m(q)", "m()", "m(q, 'z')", "m(x=n)", "m(xs)|length", "m(q)|trim"])
            return f"{{% macro m({arguments}) %}}{body}{{% endmacro %}}{{{{ {call} }}}}"
        if kind == 9:
            self.variables += ["o.a", "o.b"]
            change = f"{{% set o.a = {self.expression(1)} %}}"
            when = f"{{% if {self.expression(1)} %}}{change}{{% endif %}}"
            loop = f"{{% for i in xs %}}{when}{{% endfor %}}" if random.random() < 0.5 else when
            return f"{{% set o = namespace(a={self.expression(1)}) %}}{loop}{{{{ o.a }}}}"
        if kind == 10:
            return f"{{% filter {random.choice(['upper', 'trim', 'replace(q, n)'])} %}}{inner()}{{% endfilter %}}"
        if kind == 11:
            return f"{{% with x = {self.expression(1)} %}}{inner()}{{% endwith %}}"
        return f"{random.choice(TEXTS)}{{{{ {self.expression(4)} }}}}{random.choice(ENDS)}"

    def expression(self, depth: int, kind: str = "any") -> str:
        """An expression that mostly is of a kind: `text`, `number`, `truth`, `list`, or any."""
        random = self.random
        if random.random() < 0.06:
            return self.wild(depth)
        kind = random.choice(["text", "text", "text", "number", "truth", "list"]) if kind == "any" else kind
        return str(getattr(self, kind)(depth - 1))

    def text(self, depth: int) -> str:
        """A text."""
        random = self.random
        if depth <= 0:
            variables = [name for name in self.variables if name in {"q", "r", "x", "v", "d.k", "i.k", "x.k", "o.a"}]
            return random.choice(variables) if random.random() < 0.8 else repr(random.choice(TEXTS))
        inner = self.text(depth - 1)
        parts = ["0", "-1", ":1", "1:", ":-1", "::-1", "1:3", "n:", ":n", "5"]
        return random.choice(
            [
                lambda: f"({inner}|{random.choice(TEXT_FILTERS)})",
                lambda: f"{inner}.{random.choice(TEXT_METHODS)}",
                lambda: f"({inner} {random.choice('+~')} {self.of(depth, 'text')})",
                lambda: f"({inner} ~ {self.of(depth)})",
                lambda: f"{inner}[{random.choice(parts)}]",
                lambda: f"({inner} if {self.of(depth, 'truth')} else {self.of(depth)})",
                lambda: (
                    f"{inner}.split({random.choice(['', repr('a'), repr('</think>')])})[{random.choice(['0', '-1'])}]"
                ),
                lambda: f"({self.of(depth, 'list')}|{random.choice(['join', 'join(q)', 'first', 'last', 'string'])})",
                lambda: f"({inner} {random.choice(['or', 'and'])} {self.of(depth, 'text')})",
                lambda: f"'ABCD'[{self.of(depth, 'number')}]",
                lambda: f"({self.of(depth)}|default({self.of(depth)}, true))",
                lambda: f"({self.of(depth, 'number')}|string)",
            ]
        )()

    def number(self, depth: int) -> str:
        """A number."""
        random = self.random
        if depth <= 0:
            variables = [name for name in self.variables if name in {"n", "loop.index", "loop.length", "d.z"}]
            return random.choice(variables) if random.random() < 0.7 else random.choice(["0", "1", "2", "-1"])
        inner = self.number(depth - 1)
        return random.choice(
            [
                lambda: f"({inner} {random.choice(['+', '-', '*', '//', '%'])} {self.of(depth, 'number')})",
                lambda: f"({self.of(depth, 'text')}|length)",
                lambda: f"({self.of(depth, 'list')}|length)",
                lambda: f"({self.of(depth, 'text')}|int)",
                lambda: f"({inner}|int)",
                lambda: f"{self.of(depth, 'text')}.{random.choice(['find', 'count'])}({self.of(1, 'text')})",
                lambda: f"['a', 'abc', {self.of(1, 'text')}].index(q)",
                lambda: f"-{inner}",
                lambda: f"({inner} if {self.of(depth, 'truth')} else {self.of(depth, 'number')})",
            ]
        )()

    def truth(self, depth: int) -> str:
        """Return an expression that is true or false."""
        random = self.random
        if depth <= 0:
            variables = [name for name in self.variables if name in {"b", "loop.last", "loop.first"}]
            return random.choice([*variables, "q", "r", "xs", "n"])
        inner = self.truth(depth - 1)
        return random.choice(
            [
                lambda: (
                    f"({self.of(depth, 'text')} {random.choice(['==', '!=', 'in', 'not in'])} {self.of(1, 'text')})"
                ),
                lambda: (
                    f"({self.of(depth, 'number')} {random.choice(['<', '<=', '>', '==', '!='])} {self.of(1, 'number')})"
                ),
                lambda: f"({self.of(1, 'text')} in {self.of(depth, 'list')})",
                lambda: f"({self.of(depth)} is {random.choice(['', 'not '])}{random.choice(TESTS)})",
                lambda: f"{self.of(depth, 'text')}.{random.choice(['startswith', 'endswith'])}({self.of(1, 'text')})",
                lambda: f"(not {inner})",
                lambda: f"({inner} {random.choice(['and', 'or'])} {self.truth(depth - 1)})",
                lambda: f"(0 < {self.of(depth, 'number')} <= n)",
            ]
        )()

    def list(self, depth: int) -> str:
        """A list."""
        random = self.random
        if depth <= 0:
            return random.choice(["xs", "xs", "ns", "ds", "['a', 'b']", "[q, r]", "[q, 'a']"])
        inner = self.list(depth - 1)
        return random.choice(
            [
                lambda: f"{self.of(depth, 'text')}.split({random.choice(['', repr('a')])})",
                lambda: f"({inner} + {self.of(depth, 'list')})",
                lambda: f"{inner}[{random.choice([':1', '1:', '::-1', ':-1'])}]",
                lambda: f"({inner}|{random.choice(LIST_FILTERS)}|list)",
                lambda: f"[{self.of(depth)}, {self.of(depth)}]",
                lambda: "(ds|map(attribute='k')|list)",
                lambda: "(range(n)|list)",
            ]
        )()

    def of(self, depth: int, kind: str = "any") -> str:
        """An expression that is a level less deep."""
        return self.expression(depth - 1, kind)

    def wild(self, depth: int) -> str:
        """An expression that may make no sense."""
        random = self.random
        if depth <= 0:
            return random.choice(self.variables) if random.random() < 0.75 else self.constant()
        inner = self.expression(depth - 1)
        return random.choice(
            [
                lambda: f"({inner}|{random.choice(FILTERS)})",
                lambda: f"{inner}.{random.choice(METHODS)}" if not inner.startswith("-") else inner,
                lambda: f"{inner}[{random.choice(ITEMS)}]",
                lambda: f"({inner} {random.choice(BINARY)} {self.expression(depth - 1)})",
                lambda: f"{{'a': 1, 'abc': {inner}}}[q]",
                lambda: f"({inner}, 1)",
                lambda: f"{{'k': {inner}}}",
            ]
        )()

    def constant(self) -> str:
        """A constant."""
        constants = ["0", "1", "-1", "2", "3.5", "true", "false", "none", "[]", "{}"]
        return self.random.choice([repr(self.random.choice(TEXTS)), *constants])


def rows(random: Random) -> list[dict[str, object]]:
    """Rows of one schema: texts, numbers, lists and structs, some of them null."""

    def text():
        return random.choice(
            ["", "a", "abc", " a b\n", "cab", "A", "x</think>y", "é\u2003", "12", "\x1ca", "q", "7", None]
        )

    return [
        {
            "q": random.choice(["a", "abc", " abc ", "", "b\na", "1", "İß", "</think>a"]),
            "r": text(),
            "n": random.choice([0, 1, 2, -1, 3, 1, 2, 1, None]),
            "b": random.choice([True, False, None]),
            "f": random.choice([0.0, 1.5, -2.0, 1e22, None]),
            "xs": random.choice([[], ["a"], ["b", "a"], ["abc", "", "c"], ["a"], ["q"], None]),
            "ns": random.choice([[], [1], [3, 1], [2, None]]),
            "d": random.choice(
                [
                    {"k": "a", "z": 1},
                    {"k": None, "z": 2},
                    {"k": "abc", "z": None},
                    {"k": "a", "z": 0},
                    {"k": "c", "z": 1},
                    None,
                ]
            ),
            "ds": random.choice([[], [{"k": "a"}], [{"k": "b"}, {"k": None}]]),
            "empty": None,
        }
        for _ in range(6)
    ]
