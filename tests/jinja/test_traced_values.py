"""Values with origins: they behave as the plain values, and each character keeps its origin.

Each origin has letters of its own, so a character says which origin it has to have.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from amounts import part_of

pytest.importorskip("jinja2")

from promptpress._jinja.reference import Reference
from promptpress._jinja.traced_values import (
    Origin,
    common_origin,
    holds_data,
    is_traced,
    joined,
    origin_of,
    pieces,
    plain,
    traced,
)

LETTERS = {"ab ": Origin("field", "x"), "cd\n": Origin("field", "y"), "ef": None}
OF_LETTER = {letter: origin for letters, origin in LETTERS.items() for letter in letters if letter.isalpha()}


def text(rng: random.Random) -> str:
    parts = []
    for _ in range(rng.randint(0, 5)):
        letters, origin = rng.choice(list(LETTERS.items()))
        parts.append(("".join(rng.choice(letters) for _ in range(rng.randint(0, 4))), origin))
    return joined(parts)


def check(result: Any, expected: Any) -> None:
    """Compare a result with that of plain values, and the origin of each letter with its own."""
    assert plain(result) == expected
    if isinstance(result, (list, tuple)):
        for item, wanted in zip(result, expected, strict=True):
            check(item, wanted)
    elif isinstance(result, str):
        for part, origin in pieces(result):
            for letter in part.lower():
                assert OF_LETTER.get(letter, origin) == origin, (result, pieces(result))


OPERATIONS = [
    "a + b",
    "'ef' + a",
    "a + 'ef'",
    "a * n",
    "a[n:]",
    "a[-n:]",
    "a[::-1]",
    "a[n : n + 1]",
    "list(a)",
    "a.strip()",
    "a.lstrip('abe')",
    "a.rstrip('cdf')",
    "a.split()",
    "a.split('b', n)",
    "a.split(None, n)",
    "a.rsplit('c')",
    "a.rsplit(None, n)",
    "a.splitlines()",
    "a.splitlines(True)",
    "a.partition('d')",
    "a.rpartition('e')",
    "a.replace('a', b)",
    "a.replace('ef', 'ff', n)",
    "a.removeprefix('a')",
    "a.removesuffix('f')",
    "a.upper()",
    "a.title()",
    "a.capitalize()",
    "a.join([b, 'e', b])",
    "(a == b, a < b, a in b, a.startswith('a'), a.find(b), a.count('a'), len(a), bool(a), hash(a))",
]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_texts(operation: str) -> None:
    rng, code = random.Random(operation), compile(operation, "operation", "eval")
    for _ in range(part_of(2000)):
        a, b, n = text(rng), text(rng), rng.randint(0, 4)
        if is_traced(a):
            check(eval(code, {"a": a, "b": b, "n": n}), eval(code, {"a": plain(a), "b": plain(b), "n": n}))


EXPRESSIONS = [
    *("'e'|safe + x", "x|safe + 'e'", "'e'|safe ~ x", "('e'|safe).join([x, y])", "'%s'|safe % x", "(x|e)[1:]"),
    *(
        "x ~ y",
        "x + y",
        "'e%sf' % x",
        "'%s %s' % (x, y)",
        "'{}e{}'.format(x, y)",
        "[x, 'e', y]|join",
        "[x, y]|join(' ')",
    ),
    *(
        "x|upper",
        "x|trim",
        "x|replace('a', y)",
        "x|title",
        "x|indent(2, true)",
        "x|wordwrap(3)",
        "x|center(20)",
        "x|string",
    ),
    *(
        "x|truncate(3, true)",
        "x|default(y)",
        "x|first",
        "x|last",
        "x|list",
        "x|reverse",
        "x|length",
        "[x, y]|sort",
        "(x, y)",
    ),
    *(
        "{'e': x, 'f': [y, 1]}",
        "{'e': x}|tojson",
        "[x, y]|tojson(indent=2)",
        "d",
        "d|tojson",
        "d|items|list",
        "d|dictsort",
    ),
    *(
        "d.a",
        "d|tojson(indent=4)",
        "x if d.a else y",
        "n + 1",
        "n",
        "n|string ~ x",
        "t",
        "none_ ",
        "t ~ none_",
        "x|safe",
    ),
    *(
        "x|e",
        "x|urlencode",
        "x[1:]",
        "x.split('b')|join('e')",
        "'e'.join([x, y])",
        "x|map('upper')|join",
        "[n, t, none_]",
    ),
    *(
        "x is string",
        "n is number",
        "t is true",
        "t is boolean",
        "none_ is none",
        "'g' if x in 'xyz' else 'h'",
        "n == 7",
        "t == true",
    ),
    *(
        "n|float",
        "n * 2",
        "-n",
        "n / 2",
        "'%03d' % n",
        "f|round(1)",
        "f",
        "x|format",
        "('e' ~ x)|upper",
        "d is mapping",
    ),
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(expression: str) -> None:
    """Jinja2 makes the same text of values with origins, and letters keep theirs."""
    rng = random.Random(expression)
    source = "e{{ " + expression + " }}f{% set z %}{{ " + expression + " }}{% endset %}{{ z }}"
    template = Reference(source, "transformers")
    for _ in range(part_of(60)):
        x, y = (
            joined([("".join(rng.choice(letters) for _ in range(6)), LETTERS[letters])]) for letters in ("ab ", "cd\n")
        )
        given = {"x": x, "y": y, "n": 7, "t": True, "f": 2.25, "none_": None, "d": {"a": "ab", "b": [1, None, "a"]}}
        names = {
            name: value if is_traced(value) else traced(value, Origin("field", "x")) for name, value in given.items()
        }
        expected = template.render(plain(names))
        made = template.parts(names)
        assert "".join(part for part, _ in made) == expected
        for part, origin in made:
            wanted = {OF_LETTER[letter] for letter in part.lower() if letter in OF_LETTER} - {None}
            assert not wanted or origin is not None, (part, origin)
            assert len(wanted) < 2 or origin.source == "computed", (part, origin)


def test_parts_of_values_have_paths() -> None:
    value = traced({"k": [{"a": 1}, "t"]}, Origin("argument", path="tools"))
    assert origin_of(value).path == "tools"
    assert origin_of(value["k"]).path == "tools.k"
    assert origin_of(value["k"][0]["a"]).path == "tools.k[0].a"
    (key,) = value
    assert origin_of(key).path == "tools.k"
    assert not holds_data({"a": ["template"]})


def test_origins_of_parts_have_a_common_one() -> None:
    call = Origin("field", "messages", 1, "assistant", "tool_calls[0]")
    assert [origin.path for origin in (call.under("id"), call.item(2), call.parent())] == [
        "tool_calls[0].id",
        "tool_calls[0][2]",
        "tool_calls",
    ]
    assert Origin("field", path="content").parent().path is None
    assert common_origin([call.under("id"), None, call.under("function.name")]) == call
    assert common_origin([call, Origin("field", "messages", 2)]).source == "computed"
