"""Python configurations as programs: a file that is read as data has the values that Python gives it, or is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from fuzz import programs
from fuzz.draw import Draw
from fuzz.grammar import HEAD, RULES, Writer
from generators.config_texts import read, write
from promptpress._errors.file_errors import ConfigError
from promptpress_harness.configs.config_file import read_config
from promptpress_harness.python_subset import Opaque

ALIKE = {
    "a loop over a list that its body shortens": "for x in a0:\n    if x == 3: a0.remove(x)\nq = [*a0]",
    "a loop over a list that its body lengthens": "for x in a0:\n    if x < 9: a0.append(x + 5)",
    "an iterator that is read up": "q = zip(b0, a0)\nq1 = list(q) + list(q)",
    "an iterator that `in` reads": "q = iter(a0)\nq1 = 1 in q\nq2 = list(q)",
    "an iterator shared by two loops": "q = iter([1, 2, 3, 4])\nq1 = list(zip(q, q))",
    "a generator that reads its names late": "s0 = 'a'\nq = (s0 + x for x in b0)\ns0 = 'b'\nq1 = list(q)",
    "a generator that evaluates its first iterable at once": "q = (x for x in a0)\na0 = [7]\nq1 = list(q)",
    "a view that shows later keys": "q = d0.keys()\nd0['z'] = 1\nq1 = ','.join(q)",
    "views compared as sets": "q = [d0.keys() == {'k', 'l'}, d0.items() <= {('k', 1), ('l', 2)}]",
    "a set changed in place": "q = z0\nz0 |= {9}\nq1 = sorted(q)",
    "a list repeated in place": "q = a0\na0 *= 2",
    "a target that is evaluated once": "q = [0, 1]\na0[q.pop()] += 10",
    "a value that is evaluated before its target": "q = []\na0[q.append(1) or 0] = len(q)",
    "an iterator that outlives the chain that reads it": "g = iter([1, 2])\nq = [*zip(['x'], chain(g, []))]\nq1 = [*g]",
    "a generator that outlives the chain": "g = (x for x in a0)\nq = next(chain.from_iterable([g]))\nq1 = [*g]",
    "the truth of an iterator": "q = [bool(zip()), bool({}.keys()), not iter([])]",
    "statements of a class body": "class A:\n    k = 1\n    a0.append(k)\nq = [*a0]",
    "a default that is evaluated where the function is defined": "def f(x=a0.append(4)): pass\nq = [*a0]",
    "names of a class body that its comprehensions don't see": "class A:\n    i0 = 2\n    a0.extend([i0 for _ in [0]])",
    "a loop variable that stays inside a comprehension": "q = [i0 for i0 in a0] + [i0]",
    "`:=` that binds outside the comprehension": "q = [w := x for x in a0]\nq1 = w",
    "the text of an ordered dict": "q = str(OrderedDict(k=1))",
    "a sum that gives its start itself": "q = sum([], a0)\nq.append(8)",
    "objects in several places": "q = [a0, {'k': a0}, (a0,)]\nq[0].append(6)",
    "keys that are equal": "q = {1: 'a', True: 'b', 1.0: 'c'}",
    "a NaN in a list": "q = float('nan')\nq1 = [q in [q], q == q, [q] == [q]]",
}
REFUSED = {
    "a function that could change a value, called by another name": "def f(): a0.append(1)\nq = f\nq1 = q()",
    "a function of the file as a decorator": "def f(x):\n    a0.append(1)\n    return x\n@f\ndef g(): pass",
    "the order of a set of texts": "for x in {'a', 'b'}: a0.append(x)",
    "the text of a set": "q = str({'a', 'b'})\nassert q",
    "the text of an iterator": "assert str(iter(a0))",
    "a method by another name": "q = a0.append\nq1 = q(3)",
    "effects behind a value that isn't known": "q = os.getpid() and a0.pop()",
    "an iterator that a value that isn't known reads from": "q = os.getpid() in iter(a0)",
    "`exec` as a value": "q = exec('a0 = 1')",
    "a function by which values are sorted": "q = sorted(a0, key=lambda x: b0.append(x) or x)",
    "a function of the file by which values are sorted": "def f(x): b0.append(x)\nq = max(a0, key=f)",
    "a function of the file that `map` would call": "def f(x): b0.append(x)\nq = list(map(f, a0))",
    "a function that gets data by another function": "q = os.fsencode(lambda: a0)",
    "a value of a class of the file": "class A: k = a0\nq = A.k.append(1)",
    "the identity of constants": "assert 'a' is not 'b'",
    "a loop variable before it has a value": "i1 = 1\nq = [i0 for i0 in [i1] for _ in [i1] if i1 for i1 in [2]]",
    "a dict that grows in its loop": "for k in d0: d0[k + 'x'] = 1",
    "the attribute of a plain dict": "q = d0.k",
    "two arguments of one name": "q = dict(k=1, **{'k': 2})",
    "`return` outside a function": "return",
    "a list that grows for ever": "q = iter(a0)\na0.extend(q)",
    "a generator that reads what it writes": "a0 += (x for x in a0)",
}


@pytest.mark.parametrize("name", ALIKE)
def test_a_program_has_the_values_that_python_gives_it(name: str) -> None:
    assert programs.outcome(programs.Case(HEAD + ALIKE[name], b"")) == "equal"


@pytest.mark.parametrize("name", REFUSED)
def test_a_program_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"config\.py:\d+: "):
        read(tmp_path, HEAD + REFUSED[name])


@pytest.mark.parametrize("number", range(len(programs.TEXTS)))
@pytest.mark.parametrize("opening", RULES["Open"])
def test_a_text_file_is_read_as_python_reads_it(opening: str, number: int) -> None:
    uses = "q = f.readline() + f.read(2)\n    q1 = f.readlines()\n    q2 = f.read()"
    source = f"import os\nwith open(os.path.join(os.path.dirname(__file__), 't.txt'){opening}) as f:\n    {uses}\n"
    outcome = programs.outcome(programs.Case(source, programs.TEXTS[number]))
    assert outcome in {"equal", "broken"}


def test_a_file_that_is_closed_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, "t.txt", "text")
    source = "import os\nwith open(os.path.join(os.path.dirname(__file__), 't.txt')) as f: pass\n"
    with pytest.raises(ConfigError, match="closed file"):
        read(tmp_path, source + "q = f.read()")


def test_random_programs_have_the_values_that_python_gives_them() -> None:
    outcomes = Counter(programs.outcome(programs.make(0, number)) for number in range(120))
    assert sum(outcomes.values()) == 120
    assert outcomes["equal"] > 60, outcomes  # most programs are read, or the comparison would say nothing


def test_the_grammar_writes_every_rule() -> None:
    written: Counter[str] = Counter()
    for number in range(1500):
        writer = Writer(Draw.of(1, number, "rules"))
        writer.program()
        written += writer.used
    assert {f"{name}: {rule}" for name, rules in RULES.items() for rule in rules} == {*written}


def test_a_wrong_value_is_found() -> None:
    for value, wanted in (([1], [True]), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), ([0.0], [-0.0])):
        with pytest.raises(programs.DifferentError):
            programs.Comparison().compare("x", value, wanted)
    shared: list[int] = []
    with pytest.raises(programs.DifferentError, match="another object"):
        programs.Comparison().compare("x", [shared, shared], [[], []])
    with pytest.raises(programs.DifferentError, match="another object"):
        programs.Comparison().compare("x", [[], []], [shared, shared])


def test_iterators_and_views_are_no_values_of_a_file(tmp_path: Path) -> None:
    names = read(tmp_path, "x = zip()\ny = {}.keys()\nz = [1]")
    assert isinstance(names["x"], Opaque)
    assert isinstance(names["y"], Opaque)
    assert names["z"] == [1]


def test_a_file_that_mmengine_would_decode_otherwise_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "config.py", "# coding: latin-1\nx = 'é'\n".encode("latin-1"))
    with pytest.raises(ConfigError, match="declares the encoding"):
        read_config(path)


def test_a_call_that_an_opaque_argument_fails_is_opaque_too(tmp_path: Path) -> None:
    names = read(tmp_path, "import os\nfrom somewhere import make\nx = os.path.join('a', make())\ny = 1")
    assert isinstance(names["x"], Opaque)
    assert names["y"] == 1
