"""Random programs over random tables, for the core beside the model."""

from __future__ import annotations

import datetime
import decimal
import math
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from promptpress._jinja.compiler.program import Program

WORDS = [
    "",
    "a",
    " a ",
    "b c",
    "a\nb\r\n",
    "é",
    "日本",
    "😀x",
    "A B-c",
    "\x1f",
    "42",
    "-7",
    "3.5",
    "aXbXc",
    "</t>x</t>",
    "x" * 90,
]


def text(rng: random.Random) -> str:
    return "".join(rng.choice(WORDS) for _ in range(rng.choice([0, 1, 1, 1, 2, 3])))


def number(rng: random.Random) -> int:
    return rng.choice([0, 1, 2, -1, 3, 10, rng.randrange(-1000, 1000), 2**62, -(2**63)])


def real(rng: random.Random) -> float:
    return rng.choice([0.0, -0.0, 1.0, 2.5, -0.1, 1e16, 1e-7, math.inf, math.nan, rng.uniform(-9, 9)])


def items(of: Callable[[random.Random], Any]) -> Callable[[random.Random], list[Any]]:
    return lambda rng: [maybe(of)(rng) for _ in range(rng.choice([0, 1, 2, 2, 3, 5]))]


def maybe(of: Callable[[random.Random], Any], missing: float = 0.1) -> Callable[[random.Random], Any]:
    return lambda rng: None if rng.random() < missing else of(rng)


def record(rng: random.Random) -> dict[str, Any]:
    return {"a": maybe(text)(rng), "b": maybe(number)(rng), "c": maybe(items(text))(rng)}


STRINGS = [pa.string(), pa.large_string(), pa.string_view()]
COLUMNS: dict[str, tuple[Callable[[random.Random], Any], Callable[[random.Random], pa.DataType]]] = {
    "s": (text, lambda rng: rng.choice(STRINGS)),
    "t": (text, lambda rng: rng.choice([*STRINGS, pa.dictionary(pa.int8(), pa.string())])),
    "i": (number, lambda _: pa.int64()),
    "j": (lambda rng: rng.randrange(100), lambda rng: rng.choice([pa.int8(), pa.uint8(), pa.int32(), pa.uint64()])),
    "f": (real, lambda rng: rng.choice([pa.float64(), pa.float32()])),
    "h": (lambda rng: rng.random() < 0.5, lambda _: pa.bool_()),
    "l": (items(text), lambda rng: rng.choice([pa.list_, pa.large_list, pa.list_view])(rng.choice(STRINGS))),
    "n": (items(number), lambda rng: rng.choice([pa.list_, pa.large_list, pa.large_list_view])(pa.int64())),
    "r": (record, lambda _: pa.struct([("a", pa.string()), ("b", pa.int64()), ("c", pa.list_(pa.string()))])),
    "q": (
        items(record),
        lambda _: pa.list_(pa.struct([("a", pa.string()), ("b", pa.int64()), ("c", pa.list_(pa.string()))])),
    ),
    "g": (items(items(text)), lambda _: pa.list_(pa.list_(pa.string()))),
    "u": (lambda rng: 2**63 + rng.randrange(5), lambda _: pa.uint64()),
    "d": (lambda rng: decimal.Decimal(rng.randrange(1000)) / 8, lambda _: pa.decimal128(12, 3)),
    "w": (lambda rng: datetime.datetime(2020, 1, 1 + rng.randrange(28)), lambda _: pa.timestamp("us")),
    "y": (lambda rng: bytes(rng.randrange(256) for _ in range(3)), lambda rng: rng.choice([pa.binary(), pa.binary(3)])),
    "z": (lambda _: None, lambda _: pa.null()),
    "x": (lambda rng: [text(rng), text(rng)], lambda _: pa.list_(pa.string(), 2)),
}
"""The values of each column, and its type in Arrow."""


def table(rng: random.Random, rows: int) -> pa.Table:
    """Columns of any types and layouts: some without nulls, some of them slices, the whole in chunks."""
    chunks = []
    types = {name: of_type(rng) for name, (_, of_type) in COLUMNS.items()}
    for _ in range(rng.choice([1, 1, 2, 3])):
        count = rng.choice([rows, rows // 2, 1])
        arrays = []
        for name, (of, _) in COLUMNS.items():
            missing = rng.choice([0, 0, 0.2])
            before, after = rng.choice([(0, 0), (2, 1)])
            values = [maybe(of, missing)(rng) for _ in range(before + count + after)]
            if pa.types.is_dictionary(types[name]):
                array = pa.array(values, pa.string()).dictionary_encode().cast(types[name])
            else:
                array = pa.array(values, types[name])
            arrays.append(array.slice(before, count))
        chunks.append(pa.RecordBatch.from_arrays(arrays, schema=pa.schema(list(types.items()))))
    return pa.Table.from_batches(chunks)


class Drawing:
    """A program in the making: nodes by the kind of value that they probably have."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.nodes: list[tuple[Any, ...]] = []
        self.by_kind: dict[str, list[int]] = {"str": [], "int": [], "float": [], "bool": [], "list": [], "any": []}

    def add(self, kind: str, *node: Any) -> int:
        self.nodes.append(node)
        for name in {kind, "any"}:
            self.by_kind[name].append(len(self.nodes) - 1)
        return len(self.nodes) - 1

    def of(self, kind: str) -> int:
        """A node of a kind, and sometimes of another."""
        nodes = self.by_kind["any" if self.rng.random() < 0.02 else kind]
        return self.rng.choice(nodes or self.by_kind["any"])

    def const(self, *values: Any) -> int:
        return self.add("any", "const", self.rng.choice(values))

    def start(self) -> None:
        kinds = {"s": "str", "t": "str", "i": "int", "j": "int", "f": "float", "h": "bool", "l": "list", "n": "list"}
        kinds |= {"q": "list", "g": "list", "x": "list"}
        for index, name in enumerate(COLUMNS):
            self.add(kinds.get(name, "any"), "column", index)
        for value in ("", "a", " ", "</t>", "ab\n"):
            self.add("str", "const", value)
        for value in (0, 1, -1, 2):
            self.add("int", "const", value)
        self.add("bool", "const", True)
        self.add("list", "const", ["a", "b"])

    def draw(self) -> int:
        rng, of = self.rng, self.of
        index = list(COLUMNS).index("r")
        part = lambda: rng.choice([None, "a", "x", " ", "\n", "</t>"])  # noqa: E731
        choices: list[Callable[[], int]] = [
            lambda: self.add("str", rng.choice(["strip", "lstrip", "rstrip"]), of("str"), part()),
            lambda: self.add("list", rng.choice(["split", "rsplit"]), of("str"), part(), self.const(-1, -1, 1, 2)),
            lambda: self.add("list", "splitlines", of("str")),
            lambda: self.add("str", "replace", of("str"), part() or "b", rng.choice(["", "zz"]), self.const(-1, 1)),
            lambda: self.add("str", rng.choice(["lower", "upper", "title", "capitalize", "title_filter"]), of("str")),
            lambda: self.add("str", "concat", *(of("str") for _ in range(rng.randrange(4)))),
            lambda: self.add("str", "add", of("str"), of("str")),
            lambda: self.add("str", "text", of("any")),
            lambda: self.add("any", "item", of("list"), self.const(0, 0, 1, -1)),
            lambda: self.add("str", "item", index, rng.choice(["a", "a", "none"])),
            lambda: self.add("list", "item", index, "c"),
            lambda: self.add("list", "slice", of("list"), self.const(None, 1, -2), self.const(None, 2, -1), None),
            lambda: self.add("str", "slice", of("str"), self.const(None, 1), self.const(9, -1), self.const(None, -1)),
            lambda: self.add("int", "length", of(rng.choice(["str", "list"]))),
            lambda: self.add("str", "join", part() or "", of("list")),
            lambda: self.add("str", "join_texts", part() or "", of("list")),
            lambda: self.add("bool", rng.choice(["startswith", "endswith"]), of("str"), part() or ["a", "b"]),
            lambda: self.add("bool", "contains", of(rng.choice(["str", "list"])), of("str")),
            lambda: self.add("bool", rng.choice(["eq", "ne"]), of("any"), of("any")),
            lambda: self.add("bool", rng.choice(["lt", "le", "gt", "ge"]), of("int"), of("int")),
            lambda: self.add("bool", rng.choice(["truth", "not"]), of("any")),
            lambda: self.add("bool", "is", of("any"), rng.choice([None, True])),
            lambda: self.add("any", "select", of("any"), of("any"), of("str")),
            lambda: self.add("int", rng.choice(["add", "sub", "mul", "mod", "floordiv"]), of("int"), of("int")),
            lambda: self.add("float", rng.choice(["add", "truediv"]), of("float"), of("int")),
            lambda: self.add("int", "int", of(rng.choice(["str", "float", "any"]))),
            lambda: self.add("int", rng.choice(["find", "count", "rfind"]), of("str"), part() or "a"),
            lambda: self.add("str", "tojson", of("any"), part(), rng.random() < 0.5, rng.random() < 0.5),
            lambda: self.add("str", rng.choice(["json_string", "escape_json"]), of("str")),
            lambda: self.add("str", "format", of("any"), rng.choice(["", ">5", ".1f", ",", "d", "x"])),
            lambda: self.add("str", "justify", of("str"), of("int"), "*", rng.choice(["center", "ljust", "rjust"])),
            lambda: self.add("str", "indent", of("str"), "  ", rng.random() < 0.5),
            lambda: self.add("str", "wordwrap", of("str"), self.const(1, 9), True, rng.random() < 0.5, "\n"),
            lambda: self.add("str", "kind", of("any")),
            lambda: self.add("list", "list", *(of("any") for _ in range(rng.randrange(4)))),
            lambda: self.add("list", rng.choice(["reverse", "sort", "unique"]), of("list")),
            lambda: self.add("any", rng.choice(["first", "last", "min", "max"]), of("list")),
            lambda: self.add("list", "chars", of("str")),
            lambda: self.add("list", rng.choice(["keys", "values", "items_list"]), index),
            lambda: self.add("list", "add", of("list"), of("list")),
        ]  # fmt: skip
        return rng.choice(choices)()

    def block(self, depth: int) -> list[tuple[Any, ...]]:
        rng = self.rng
        out: list[tuple[Any, ...]] = []
        for _ in range(rng.randrange(1, 5)):
            what = rng.random()
            if what < 0.25:
                out.append(("lit", rng.choice(["", "Q: ", "\n", "é"])))
            elif what < 0.3:
                out.append(("check", self.of("str")))
            elif what < 0.45 and depth:
                out.append(("if", self.of("bool"), self.block(depth - 1), self.block(depth - 1)))
            elif what < 0.47:
                out.append(("bail", rng.randrange(2)))
            else:
                out.append(("emit", self.draw() if rng.random() < 0.7 else self.of("str")))
        return out


def program(rng: random.Random) -> Program:
    """A program over `COLUMNS`."""
    drawing = Drawing(rng)
    drawing.start()
    for _ in range(rng.randrange(1, 12)):
        drawing.draw()
    block = drawing.block(2)
    return Program(tuple(COLUMNS), tuple(drawing.nodes), tuple(block), ("first", "second"))


class FlatDrawing:
    """A program in the making that copies: columns and items of lists, stripped or not, some under conditions."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.nodes: list[tuple[Any, ...]] = []
        self.columns: list[str] = []

    def add(self, *node: Any) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def column(self, names: str) -> int:
        """One of the columns that a text names by a letter each."""
        name = self.rng.choice(names)
        if name not in self.columns:
            self.columns.append(name)
        return self.add("column", self.columns.index(name))

    def value(self, *, items: bool) -> int:
        rng = self.rng
        if items and rng.random() < 0.5:
            value = self.add("item", self.column("lx"), self.add("const", rng.choice([0, 0, 1])))
        else:
            value = self.column("stststifhw")
        if rng.random() < 0.4:
            value = self.add(rng.choice(["strip", "strip", "lstrip", "rstrip"]), value, self.add("const", None))
        return value

    def condition(self) -> int:
        rng = self.rng
        kind = rng.choices(["value", "const", "two", "none", "select", "known", "op"], [8, 4, 2, 1, 1, 0.5, 3.5])[0]
        if kind == "value":
            return self.column("sstijfh")
        if kind == "const":
            other = rng.choice(["", "a", "é", 0, 1, 1.0, True, None])
            node: tuple[Any, ...] = (rng.choice(["eq", "ne"]), self.column("ssijfh"), self.add("const", other))
        elif kind == "two":
            node = ("eq", self.column("sijfh"), self.column("sijfh"))
        elif kind == "none":
            node = ("is", self.column("sijfh"), self.add("const", None))
        elif kind == "select":
            node = ("select", self.condition(), self.condition(), self.condition())
        elif kind == "known":
            node = ("const", rng.choice([True, False, "", "a", 0, None]))
        else:
            node = (rng.choice(["not", "truth"]), self.condition())
        return self.add(*node)

    def block(self, depth: int) -> list[tuple[Any, ...]]:
        """Statements; what isn't asked for needn't be there, so that there are no items in branches."""
        rng, out = self.rng, []
        for _ in range(rng.randrange(1, 5 - depth)):
            if rng.random() < 0.7:
                out.append(("lit", rng.choice(["Q: ", "\n", "é", "x" * 80])))
            drawn = rng.random()
            if drawn < 0.1 and not depth:
                out.append(("check", self.add("length", self.column("lx"))))
            elif drawn < 0.2:
                out.append(("check", self.value(items=not depth)))
            elif drawn < 0.3:
                select = [self.condition(), self.value(items=False), self.add("const", rng.choice(["", "é", "no"]))]
                out.append(("emit", self.add("select", *select)))
            elif drawn < 0.4:
                out.append(("emit", self.add("concat", self.column("s"), self.column("s"))))
            elif drawn < 0.6 and depth < 2:
                out.append(("if", self.condition(), self.block(depth + 1), self.block(depth + 1)))
            else:
                out.append(("emit", self.value(items=not depth)))
        return out


def flat_program(rng: random.Random) -> Program:
    """A program that only copies columns, and items of lists."""
    drawing = FlatDrawing(rng)
    block = drawing.block(0)
    return Program(tuple(drawing.columns), tuple(drawing.nodes), tuple(block), ())
