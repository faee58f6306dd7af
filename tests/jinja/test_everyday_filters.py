"""Formats, and filters on whole texts, with values of every kind and arguments of every kind, beside the engines."""

from __future__ import annotations

import random
import warnings

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED

pytest.importorskip("jinja2")

from jinja.test_random_values import is_raised, same_as_engine

from jinja import engines

pytestmark = UNWARNED

CASES = 120
MANY_CASES = 8000

TEXTS = [
    "", "a", "one two three", "<b>it's</b> & 'that'", 'say "hi" \\ \x7f', "l1\nl2\n\nl4", "a\r\nb\rc\r", "é日本",
    "well-known red-haired -- or not--at-all e-mail a-b -x", "x" * 40, "wörd-für-wörd ohne end", "tab\tbed  two  ",
    "100% {of} %s", "😀 a😀b\u2028c\x1d", " lead", "a.b-c_d-e'f-g", None, "7", "\u3000wide\u00a0b\u3000", '{"k": 1}',
]  # fmt: skip
TABLE = pa.table({
    "s": TEXTS,
    "n": pa.array([0, 1, -1, None, 255, 2**63 - 1, -(2**63), 1234567, -98765, 12] * 2),
    "f": [0.0, -0.0, 1.5, None, 2.675, 1e16, 1e-5, -123456.789, 1e300, float("inf"), 0.5, 2.5, 99.995, 1e22, 5e-324,
          100.0, float("nan"), 12.0, -1.0, 0.1],
    "b": [True, False, None, True] * 5,
    "l": [["a", "b<"], [], None, [None]] * 5,
    "d": [{"z": 1, "k": "<é'>", "l": [{"b": 1.5}]}, None, {"z": None, "k": None, "l": []}, {"z": 3, "k": "x"}] * 5,
    "big": pa.array([0, 2**64 - 1, 3, None] * 5, pa.uint64()),
})  # fmt: skip

COLUMNS = ["s", "s", "s", "n", "f", "b", "l", "d", "d.k", "big", "missing"]
CONVERSIONS = ["s", "s", "s", "d", "i", "f", "e", "g", "x", "X", "o", "r", "c", "G", "E", "%"]
SPECS = [
    "",
    "",
    "d",
    "x",
    "e",
    "g",
    "f",
    "s",
    "%",
    ",",
    "n",
    "_",
    "c",
    "b",
    "G",
    "5",
    "05",
    ">9",
    "^9",
    "*<8",
    ",.2f",
]


class Expressions:
    """Makes expressions of the filters and methods that this module is about."""

    def __init__(self, rng: random.Random) -> None:
        self.choice, self.chance, self.below = rng.choice, rng.random, rng.randrange

    def template(self) -> str:
        """Return a template of one expression."""
        text = self.choice([self.printf, self.format, self.json, self.text])()
        return (
            self.choice(
                ["{{ %s }}", "{{ %s }}", "{{ %s }}.", "{%% set v = %s %%}{{ v }}{{ v|length }}", "{{ (%s) ~ s }}"]
            )
            % text
        )

    def value(self) -> str:
        """Return a value of the row, or of the template."""
        column = self.choice(COLUMNS)
        made = [column] * 12 + [
            f"[{column}]",
            f"({column}|safe)",
            "'const'",
            "3",
            "2.5",
            "none",
            f"({column} or 'x')",
            "d|tojson",
        ]
        return str(self.choice(made))

    def printf(self) -> str:
        """Return a text with conversions and its values."""
        names = self.chance() < 0.15
        pieces, values = [], []
        for _ in range(self.choice([1, 1, 1, 2, 3])):
            name = f"({self.choice(['k', 'z', 'q'])})" if names else ""
            flags = "".join(self.choice(["", "", "-", "+", " ", "0", "#"]) for _ in range(2))
            width = self.choice(["", "", "", "5", "12", "*"])
            precision = self.choice(["", "", "", ".1", ".3", ".", ".0"])
            kind = self.choice(CONVERSIONS)
            pieces.append(f"{self.choice(['', 'é ', '%%', '<'])}%{name}{flags}{width}{precision}{kind}")
            values.append(self.value())
        text = "'" + "".join(pieces) + "'"
        if names:
            given = self.choice(["d", "{'k': s, 'z': n}", "{'k': f}"])
            return f"{text} % {given}" if self.chance() < 0.7 else f"{text}|format(k={self.value()}, z=n)"
        values = values[: len(values) - (self.chance() < 0.05)] or ["s", "n"]
        if self.chance() < 0.4:
            return f"{text}|format({', '.join(values)})"
        return f"{text} % {values[0]}" if len(values) == 1 else f"{text} % ({', '.join(values)})"

    def format(self) -> str:
        """Return a text with fields and its arguments."""
        name = self.choice(["", "", "0", "k", "1"])
        fields = []
        for _ in range(self.choice([1, 1, 2])):
            spec = self.choice(SPECS)
            if self.chance() < 0.5:
                flag = self.choice(["", "+", "0", "<", "=", ">", "é^", " ", "#"])
                sizes = (
                    self.choice(["", "7", "12"]),
                    self.choice(["", ",", "_"]),
                    self.choice(["", "", ".1", ".2", ".0"]),
                )
                spec = flag + "".join(sizes) + self.choice(["", "d", "f", "e", "g", "s", "%", "x"])
            conversion = self.choice(["", "", "", "!s", "!r", "!a"])
            fields.append(f"{self.choice(['', '{{', 'a}}', ' '])}{{{name}{conversion}{':' if spec else ''}{spec}}}")
        return f"'{''.join(fields)}'.format({self.value()}, {self.value()}, k={self.value()})"

    def json(self) -> str:
        """Return a value as JSON."""
        value = self.choice([self.value(), f"{{'q': {self.value()}, 'a<': {self.value()}}}", f"[d, {self.value()}]"])
        return f"{value}|tojson({self.choice(['', '', 'indent=2', '0', 'none', 'b', '70'])})"

    def text(self) -> str:
        """Return a filter on a whole text."""
        width = self.choice(["1", "3", "5", "8", "13", "30", "0", "-2", "true", "n", "'ab'", "2.5", "none"])
        flag = self.choice(["true", "false", "0", "none", "b"])
        value = self.value()
        return self.choice([
            f"{value}|truncate({width})", f"{value}|truncate({width}, {flag})", f"{value}|truncate({width}, end='é')",
            f"{value}|truncate({width}, {flag}, '', {self.choice(['0', '3', '-1'])})", f"{value}|truncate",
            f"{value}|indent", f"{value}|indent({width})", f"{value}|indent({width}, {flag}, {flag})",
            f"{value}|indent(blank={flag})", f"{value}|wordwrap({width})", f"{value}|wordwrap({width}, {flag})",
            f"{value}|wordwrap({width}, {flag}, '<br>')", f"{value}|wordwrap({width}, break_on_hyphens={flag})",
            f"{value}|wordwrap({width}, false, none, {flag})", f"{value}|center({width})", f"{value}|center",
            f"s.center({width})", f"s.ljust({width}, '*')", f"s.rjust({width}, s)", f"{value}|indent|truncate({width})",
        ])  # fmt: skip


def check(start: int, stop: int) -> tuple[int, int]:
    """Compare cases; gives how many rows were compared, and how many of them were compiled."""
    rows = compiled = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(start, stop):
            rng = random.Random(f"everyday {number}")
            source, environment = Expressions(rng).template(), rng.choice(engines.NAMES)
            try:
                theirs = engines.compiler(environment)(source)
                fine = [n for n, row in enumerate(TABLE.to_pylist()) if not is_raised(theirs, row)]
                table = TABLE.take(pa.array(fine, pa.int64()))
                ours = pp.JinjaTemplate(source, environment=environment)
                texts = ours.render(table)["prompt"].to_pylist()
                assert texts == [theirs.render(**row) for row in table.to_pylist()]
            except Exception as error:
                error.args = (f"case {number}, {environment}: {source}", *error.args)
                raise
            assert ours.last_run is not None
            rows, compiled = rows + len(table), compiled + ours.last_run.compiled
    return rows, compiled


def test_formats_and_texts_are_the_engines() -> None:
    rows, compiled = check(0, CASES)
    assert rows > 8 * CASES
    assert compiled > rows / 3


@pytest.mark.full
def test_many_formats_and_texts() -> None:
    check(CASES, MANY_CASES)


@pytest.mark.parametrize("environment", engines.NAMES)
@pytest.mark.parametrize(
    "expression",
    [
        "d|tojson", "s|tojson(indent=1)", "'%s: %s' % (s, n)", "'%s' % l", "'%-6s|%5d' | format(s, n)", "s|truncate(9)",
        "s|indent('- ', true, true)", "s|wordwrap(5, break_on_hyphens=false)", "s|center(30)", "'{:.1f}'.format(f)",
        "'{k:>9,}'.format(k=n)", "s.ljust(20)",
    ],
)  # fmt: skip
def test_what_raises_in_a_row_and_what_is_compiled(expression: str, environment: str) -> None:
    assert same_as_engine("{{ " + expression + " }}", environment, TABLE.slice(0, 6)) >= 3
