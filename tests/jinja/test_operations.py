"""Each operation of programs, on values of every kind, beside Python's own."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("jinja2")

from jinja.running import GIVEN_UP, ONE_ROW, outcome, program_of, run
from models import jinja_model as model
from promptpress._core import JINJA_OPERATIONS
from promptpress._jinja.compiler.program import Program

TEXTS = [
    "", "a", " ", "ab", "abc abc", "  a b  ", "\x1c a\x1f", "\x85é\u3000", "aXbX", "XX", "ÄÖ ß", "İstanbul ŉ ǅ ﬁ",
    "日本語 テキスト", "😀a😀", "l1\r\nl2\rl3\n\nl4\u2028l5\x1d", "a\u0301b", "42", "\x1c4", "5\x1f", " -7 ",
    "+1_000", "1__0", "3.7",
    "1e3", ".5", "-inf", "nan", "1e400", "0x1f", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "١٢", "é", "hello WORLD-wide (web) [x]", "it's", 'say "hi"', "it's \"both\"", "tab\tnul\0del\x7f\\", "</script>&",
    "ΑΣ", "ς", "\ufeff", "\u200b", "x" * 70, "True", "None", "{}", "%s", "\ud7ff\ue000\U0010ffff",
]  # fmt: skip
INTS = [0, 1, -1, 2, 3, -3, 7, 10, 255, -256, 2**31, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63)]
FLOATS = [0.0, -0.0, 0.5, 1.0, -1.5, 2.5, 2.675, 1e16, 1e22, 1e-5, 123456.789, 2.0**53, -(2.0**63), 2.0**63, 1e300]
ODD_FLOATS = [math.inf, -math.inf, math.nan]
LISTS: list[list[Any]] = [
    [], ["a"], ["b", "a", "B"], ["x", "x", "y"], [""], [3, 1, 2], [True, 1, 0, False], [1.5, 1, 2], ["a", 1], [None],
    [None, "a", 2.0, True], [[1], [2, [3]], []], [["a", "b"]], [math.nan, 1.0], [0.0, -0.0], ["é", "É", "e"],
    [2**62] * 4, [1.0, 2.0, 0.1], ["ΑΣ", "ας"],
]  # fmt: skip
VALUES: list[Any] = [None, True, False, *TEXTS, *INTS, *FLOATS, *ODD_FLOATS, *LISTS]

SPECS = [
    "", ">5", "<12", "^9", "*^7", "é>4", "d", "5d", "05d", "+d", " d", "x", "X", "o", "b", ",", "12,", ",d", "_", ".1f",
    ".0f", "8.3f", "08.2f", "+.2f", "e", ".3e", "E", "g", ".3g", "G", "%", ".1%", ",.2f", "=+9", "s", "10s", ".2s",
    "<010d", "05", "07x",
]  # fmt: skip
RARE_SPECS = [
    "#x", "n", "c", "_x", "010,", "z.1f", "#.3g", ".3", "5.d", ".", "99999999", ".500f", "0<5", "q", "5 ", "é", "<",
    "05", "=",
]  # fmt: skip

SMALL = [None, 0, 1, 2, -1, -2, 5, -7, True, 2**62, -(2**63)]
CASES = {"lower", "title", "capitalize", "swapcase", "title_filter"}


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [text for item in value for text in strings(item)] if isinstance(value, list) else []


def has_nan(value: Any) -> bool:
    return (isinstance(value, float) and math.isnan(value)) or (isinstance(value, list) and any(map(has_nan, value)))


def may_give_up(name: str, arguments: list[Any]) -> bool:  # noqa: PLR0911 - a line a rule
    """Return true if the core may leave to the reference what the model can do."""
    first = arguments[0] if arguments else None
    flags = {"sort": [1, 2], "unique": [1], "min": [1], "max": [1], "tojson": [2, 3], "json_of_json": [3]}.get(name, [])
    if not all(type(arguments[n]) is bool for n in flags if n < len(arguments)):
        return True
    if name in CASES:
        return "Σ" in first  # final sigma
    if name in ("sort", "unique", "min", "max"):
        return "Σ" in "".join(strings(first)) or has_nan(first)
    if name in ("int", "float", "to_int"):
        base = arguments[2] if len(arguments) > 2 else 10
        digits = isinstance(first, str) and not first.isascii()  # digits of other scripts
        return digits or base != 10
    if name == "truediv":
        return any(isinstance(argument, int) and abs(argument) > 2**53 for argument in arguments)
    if name == "format":
        is_odd = isinstance(first, float) and not math.isfinite(first)
        return is_odd or arguments[1] in RARE_SPECS or ("," in arguments[1] and isinstance(first, float))
    if name == "wordwrap":
        return "-" in first or arguments[1] < 1
    if name == "from_json":
        return first != first.strip()  # JSON's white space
    if name == "sum":
        return any(isinstance(value, float) for value in first)
    if name == "round":
        return len(arguments) > 1 and arguments[1] < 0
    if name in ("eq", "ne", "contains", "index", "count"):
        return all(map(has_nan, arguments))  # whether they are one object decides
    if name in ("startswith", "endswith"):
        return not all(isinstance(prefix, str) for prefix in arguments[1])  # Python stops at the first that fits
    return False


def sentence(rng: random.Random) -> str:
    """Return words with hyphens, dashes and white space of all kinds."""
    signs = [
        "a",
        "b",
        "ab",
        "é",
        "日",
        "-",
        "-",
        "--",
        "---",
        " ",
        " ",
        "  ",
        "\t",
        "\u3000",
        "\n",
        "\r\n",
        "1",
        "_",
        ",",
        "'",
    ]
    return "".join(rng.choice(signs) for _ in range(rng.randrange(30)))


def agree(name: str, arguments: list[Any]) -> bool:
    """Hold the core against the model; whether the model has a value."""
    core, expected = outcome(name, arguments)
    if isinstance(expected, model.Bailed):
        # Other texts than JSON don't come to these.
        assert core == GIVEN_UP or name in ("from_json", "text_of_json", "json_of_json"), (name, arguments, core)
        return False
    if core == GIVEN_UP:
        assert may_give_up(name, arguments), (name, arguments, expected)
    else:
        assert core == expected, (name, arguments)
    return True


def same(names: tuple[str, ...], kinds: list[Callable[[], Any]]) -> dict[str, list[Callable[[], Any]]]:
    return dict.fromkeys(names, kinds)


def arguments_of(name: str, rng: random.Random) -> list[Any]:
    """Arguments of the kinds that an operation takes, and now and then of any."""
    text, number, items, any_value = (
        lambda: rng.choice(TEXTS),
        lambda: rng.choice([*INTS, *FLOATS, *ODD_FLOATS, True, False]),
        lambda: rng.choice(LISTS),
        lambda: rng.choice(VALUES),
    )
    small, flag = (lambda: rng.choice(SMALL)), (lambda: rng.choice([True, False]))
    part = lambda: rng.choice(["", "a", "X", " ", "b", "\r\n", "é", "😀", "abc", "aX"])  # noqa: E731
    part_or_none = lambda: rng.choice([None, part()])  # noqa: E731
    either = rng.choice([text, items])
    most = lambda: rng.choice([-1, -1, 0, 1, 2, 3])  # noqa: E731
    numbers = rng.choice([number, number, small])
    by_kind: dict[str, list[Callable[[], Any]]] = {
        "concat": [text] * rng.randrange(4),
        "list": [any_value] * rng.randrange(4),
        "item": [either, small],
        "slice": [either, small, small, small],
        "length": [either],
        "add": rng.choice([[text, text], [items, items], [number, number]]),
        "mul": rng.choice([[number, number], [text, small], [small, text]]),
        **same(("sub", "floordiv", "truediv", "mod"), [numbers, numbers]),
        **same(("neg", "abs"), [number]),
        **same(("strip", "lstrip", "rstrip"), [text, rng.choice([text, part_or_none])]),
        **same(("split", "rsplit"), [text, part_or_none, most]),
        **same(("join", "join_texts"), [part, items]),
        "replace": [text, part, part, most],
        **same(("startswith", "endswith"), [text, lambda: rng.choice([part(), ["a", "b", ""], ["x", 1], []])]),
        "contains": rng.choice([[text, part], [items, any_value]]),
        **same(("index", "find", "rfind", "count"), rng.choice([[text, part], [items, any_value]])),
        **same(("eq", "ne", "lt", "le", "gt", "ge"), rng.choice([[text] * 2, [numbers] * 2, [items] * 2])),
        "is": [any_value, lambda: rng.choice([None, True, False, 1])],
        "select": [any_value] * 3,
        "int": [rng.choice([text, number]), any_value, lambda: rng.choice([10, 10, 10, 16])][: rng.choice([1, 2, 3])],
        "float": [rng.choice([text, number]), any_value][: rng.choice([1, 2])],
        "to_int": [rng.choice([text, number])],
        "from_json": [lambda: json.dumps(number())],
        "text_of_json": [lambda: json.dumps([any_value(), {"é": [number()]}], ensure_ascii=rng.random() < 0.5)],
        "json_of_json": [
            lambda: json.dumps([any_value(), {"é": [number(), [], {}]}], ensure_ascii=rng.random() < 0.5),
            lambda: rng.choice([0, 1, 3]), lambda: rng.choice([None, 0, 2, "\t"]), flag,
            lambda: rng.choice([None, [",", ":"], [", ", ": "]]),
        ],
        "round": [number, small][: rng.choice([1, 2])],
        "tojson": [
            any_value, lambda: rng.choice([None, 0, 2, "\t", True]), flag, flag,
            lambda: rng.choice([None, [",", ":"], [", ", ": "]]), lambda: rng.choice([0, 1, 3]),
        ][: rng.choice([1, 2, 3, 4, 5, 6])],
        "format": [
            rng.choice([text, number]), lambda: rng.choice([*SPECS, *RARE_SPECS]), flag
        ][: rng.choice([2, 2, 3])],
        "justify": [
            text, lambda: rng.choice([*SMALL, 3, 4, 9, 10, 71]), lambda: rng.choice([" ", "*", "é", "", "ab"]),
            lambda: rng.choice(["center", "ljust", "rjust"]),
        ],
        "shortened": [text, lambda: rng.choice([0, 1, 3, 5, 9, 80])],
        "indent": [text, lambda: rng.choice(["", "    ", "-", "é"]), flag],
        "wordwrap": [
            rng.choice([text, lambda: sentence(rng)]), lambda: rng.choice([1, 2, 3, 5, 8, 13, 0]), flag, flag,
            lambda: rng.choice(["\n", " | ", ""]),
        ],
        **same(("reverse", "sum"), [items]),
        "sort": [items, flag, flag][: rng.choice([1, 2, 3])],
        **same(("unique", "min", "max"), [items, flag][: rng.choice([1, 2])]),
        **same(("first", "last"), [either]),
        **same(("text", "kind", "truth", "not"), [any_value]),
        **same(("keys", "values", "items_list"), [any_value]),
    }  # fmt: skip
    kinds = by_kind.get(name, [text])
    return [any_value() if rng.random() < 0.08 else kind() for kind in kinds]


def test_the_core_and_the_model_have_the_same_operations() -> None:
    assert {*JINJA_OPERATIONS} == {*model.OPERATIONS, "select"}


VALUES_OF: dict[str, list[Any]] = {
    "none": [None],
    "bool": [True, False],
    "int": INTS,
    "float": [*FLOATS, *ODD_FLOATS],
    "str": TEXTS,
    "list": LISTS,
}


# `is` compares with None, True and False alone, which no type says.
@pytest.mark.parametrize("name", [name for name, of in JINJA_OPERATIONS.items() if of.certain and name != "is"])
def test_an_operation_raises_nothing_where_the_table_says_so(name: str) -> None:
    rng = random.Random(f"certain {name}")
    operation = JINJA_OPERATIONS[name]
    kinds = [[kind for kind in kinds if kind in VALUES_OF] for kinds in operation.certain or ()]
    for _ in range(300):
        count = rng.randint(operation.least, operation.least + 2 if operation.most is None else operation.most)
        of_operands = [kinds[min(index, len(kinds) - 1)] for index in range(count)]
        arguments = [rng.choice(VALUES_OF[rng.choice(choices)]) for choices in of_operands]
        assert agree(name, arguments), (name, arguments)


@pytest.mark.parametrize("name", [*model.OPERATIONS, "select"])
def test_what_an_operation_gives_is_what_python_gives(name: str) -> None:
    rng = random.Random(f"operation {name}")
    rendered = sum(agree(name, arguments_of(name, rng)) for _ in range(400))
    assert rendered >= 30 or name in ("keys", "values", "items_list")


@pytest.mark.parametrize("name", [*model.OPERATIONS])
def test_values_of_every_kind_in_every_place(name: str) -> None:
    rng = random.Random(f"kinds {name}")
    kinds: list[list[Any]] = [[None], [True], INTS, FLOATS, ODD_FLOATS, TEXTS, LISTS]
    for position in range(len(arguments_of(name, rng))):
        for kind in kinds:
            for _ in range(6):
                arguments = arguments_of(name, rng)
                if position < len(arguments):
                    arguments[position] = rng.choice(kind)
                agree(name, arguments)


@pytest.mark.parametrize("name", ["eq", "lt", "le", "add", "sub", "mul", "floordiv", "mod", "truediv"])
def test_numbers_with_numbers(name: str) -> None:
    numbers = [*INTS, *FLOATS, *ODD_FLOATS, True, -0.5, 2.0**62, -(2.0**62), 9007199254740993.0, 0.1]
    for left in numbers:
        for right in numbers:
            agree(name, [left, right])


def test_halves_are_rounded_as_python_does() -> None:
    rng = random.Random(5)
    values = [n / 8 for n in range(-100, 100)] + [rng.uniform(-1000, 1000) for _ in range(200)]
    values += [0.15, 2.675, 1.005, 5e-324, 1.7976931348623157e308, 123456789.125]
    for value in values:
        agree("round", [value])
        for digits in (0, 1, 2, 3, 17, 400):
            agree("round", [value, digits])


def each(name: str, *operands: Any) -> Program:
    return Program(("c",), (("column", 0), (name, 0, *operands)), (("emit", 1), ("lit", "|")))


def all_characters(planes: range) -> list[str]:
    """The characters of some planes; surrogates can't be in a table."""
    codes = range(planes.start << 16, planes.stop << 16)
    return [chr(code) for code in codes if not 0xD800 <= code < 0xE000]


PLANES = [
    pytest.param(range(2), id="planes 0 and 1"),
    pytest.param(range(2, 17), id="the others", marks=pytest.mark.full),
]


def differing(program: Program, texts: list[str], expected: list[str]) -> list[tuple[str, str]]:
    """Texts of which the core makes something else, with what it makes of them."""
    made = run(program, pa.table({"c": texts}))
    assert len(made) == len(expected)
    return [(text, ours) for text, ours, theirs in zip(texts, made, expected, strict=True) if ours != theirs]


@pytest.mark.parametrize("planes", PLANES)
@pytest.mark.parametrize("name", ["lower", "upper", "title", "capitalize", "swapcase", "casefold", "title_filter"])
@pytest.mark.parametrize("around", ["{}", "a{}A.{} {}é"])
def test_the_case_of_every_character(name: str, around: str, planes: range) -> None:
    texts = [around.replace("{}", c) for c in all_characters(planes)]
    of = model.OPERATIONS[name]
    other = differing(each(name), texts, [f"{of(text)}|" for text in texts])
    # What becomes of a capital sigma depends on what stands around it.
    sigma = around.replace("{}", "Σ")
    assert other == ([(sigma, GIVEN_UP)] if name in CASES and sigma in texts else [])


@pytest.mark.parametrize("planes", PLANES)
@pytest.mark.parametrize("name", ["strip", "lstrip", "rstrip"])
def test_white_space_is_pythons(name: str, planes: range) -> None:
    for around in ("{}", "{}a{}", " {}é{} "):
        texts = [around.replace("{}", c) for c in all_characters(planes)]
        assert differing(each(name, None), texts, [f"{getattr(text, name)()}|" for text in texts]) == []


@pytest.mark.parametrize("planes", PLANES)
def test_texts_are_split_at_pythons_characters(planes: range) -> None:
    texts = [f"a{c}b{c}{c}" for c in all_characters(planes)]
    for name, operands in (("split", (None, 1)), ("rsplit", (None, 1)), ("splitlines", ())):
        nodes = (("column", 0), ("const", -1), (name, 0, *operands), ("join", "|", 2))
        program = Program(("c",), nodes, (("emit", 3),))
        assert differing(program, texts, ["|".join(getattr(text, name)()) for text in texts]) == []


def test_numbers_are_read_as_python_reads_them() -> None:
    rng = random.Random(11)
    alphabet = "0123456789_.eE+- \tinfaINFtyx\u00a0\u0663日"
    for _ in range(3000):
        text = "".join(rng.choice(alphabet) for _ in range(rng.randrange(8)))
        for name in ("int", "float", "to_int"):
            agree(name, [text])


def test_json_is_that_of_json_dumps() -> None:
    table = pa.table(
        {"v": [{"b": "é\u2028\x7f😀\n", "a": [{"k": 1.5}, {"k": math.nan}, {"k": -math.inf}, None], "c": []}, None]}
    )
    for indent in (None, 0, 2, "\t"):
        for sort_keys in (True, False):
            for ascii_only in (True, False):
                for separators in (None, [",", ":"]):
                    nodes = (("column", 0), ("const", indent), ("tojson", 0, 1, sort_keys, ascii_only, separators))
                    program = program_of({"v": 0}, *nodes)
                    assert run(program, table) == [model.run(program, row) for row in table.to_pylist()]


def test_a_missing_value_is_looked_up_once() -> None:
    """A node that bails isn't evaluated again, and a node without use isn't evaluated at all."""
    nodes = (("const", []), ("first", 0), ("select", ("const", 1), 1, 1), ("const", "x"), ("select", True, 3, 1))
    nodes = (nodes[0], nodes[1], nodes[3], ("select", True, 2, 1), ("select", False, 1, 2))
    assert run(Program((), nodes, (("emit", 3), ("emit", 4))), ONE_ROW) == ["xx"]
    assert run(Program((), nodes, (("emit", 3), ("check", 1))), ONE_ROW) == [GIVEN_UP]
