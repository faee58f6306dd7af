"""Python configurations that are small to write and endless to walk: refused soon, and without a crash."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from generators.config_texts import write
from promptpress._errors.file_errors import ConfigError
from promptpress_harness.configs.config_file import read_config
from promptpress_harness.python_subset import values

HEAD = "import copy, itertools\nfrom collections import OrderedDict\n"
WITHIN = {
    "generators": ("x = iter([1])", "x = (j for j in x)"),
    "maps": ("x = iter([1])", "x = map(str, x)"),
    "zips": ("x = iter([1])", "x = zip(x)"),
    "enumerations": ("x = iter([1])", "x = enumerate(x)"),
    "filters": ("x = iter([1])", "x = filter(None, x)"),
    "chains": ("x = iter([1])", "x = itertools.chain(x, [1])"),
    "streams and generators in turns": ("x = iter([1])", "x = map(str, (j for j in zip(x)))"),
}
READERS = ("x = list(x)", "x = next(x)", "x = 1", "del x")
SHARED = {
    "tuples": "x = ()\nfor _ in range(40): x = (x, x)",
    "pairs": "x = [1]\nfor _ in range(40): x = list(zip(x, x))\nx = x[0]",
    "frozen sets in tuples": "x = ()\nfor _ in range(40): x = (frozenset([1]), x, x)",
}
HASHERS = (
    "y = {x: 1}", "y = {x}", "y = {z for z in [x]}", "y = {z: 1 for z in [x]}", "y = {}\ny[x] = 1", "y = {}.get(x)",
    "y = {1: 2}[x]",
    "y = {1: 2}\ny[x] += 1", "y = {1: 2}\ndel y[x]", "y = x in {}", "y = {1: 2}.pop(x, 0)", "y = {}.setdefault(x, 1)",
    "y = set([x])", "y = frozenset(z for z in [x])", "y = dict([(x, 1)])", "y = dict(zip([x], [1]))",
    "y = dict.fromkeys([x])", "y = dict.fromkeys(z for z in [x])", "y = OrderedDict([(x, 1)])", "y = set()\ny.add(x)",
    "y = set()\ny.update([x])", "y = set()\ny.update(z for z in [x])", "y = {}\ny.update(zip([x], [1]))",
    "y = {}\ny |= [(x, 1)]", "y = set().union([x])", "y = set().union(z for z in [x])", "y = {1}.difference([x])",
    "y = {1}\ny.intersection_update(z for z in [x])", "y = {1}.isdisjoint([x])", "y = {1}.issubset(z for z in [x])",
    "y = {1}\ny.symmetric_difference_update([x])", "y = {1}\ny.discard(x)", "y = {1}\ny.remove(x)",
)  # fmt: skip
WALKED = {
    "a list": "x = []\nfor _ in range(40): x = [x, x]",
    "a tuple": "x = ()\nfor _ in range(40): x = (x, x)",
    "a dict": "x = {}\nfor _ in range(40): x = dict(a=x, b=x)",
    "a list that holds itself": "x = []\nx.append(x)",
    "a text of it": "x = ('a',)\nfor _ in range(40): x = (x, x)\ny = f'{x}'",
    "a copy of it": "x = ('a',)\nfor _ in range(40): x = (x, x)\ny = copy.deepcopy(x)",
}
SMALL = (
    "x = iter([1, 2])\nfor _ in range(90): x = map(str, x)\nx = list(x)",
    "x = [dict(zip('ab', map(str, (i, i)))) for i in range(3000)]",
    "for _ in range(3000): x = list(zip(iter([1]), (j for j in 'a')))",
    "x = ()\nfor _ in range(10): x = (x, x)\ny = {x: 1}[x]\nx = y",
    "x = []\nfor _ in range(15): x = [x, x]",
)


def read(tmp_path: Path, text: str) -> object:
    """Read a file of a text."""
    return read_config(write(tmp_path, "c.py", HEAD + text + "\n"))


@pytest.mark.parametrize("what", WITHIN)
def test_iterators_of_iterators_are_refused(tmp_path: Path, what: str) -> None:
    begin, wrap = WITHIN[what]
    for reader in READERS:
        with pytest.raises(ConfigError, match="iterators of iterators"):
            read(tmp_path, f"{begin}\nfor _ in range(20_000): {wrap}\n{reader}")


@pytest.mark.parametrize("what", SHARED)
def test_keys_that_are_endless_to_hash_are_refused(tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MAX_ITEMS", 1 << 20)  # counted to in no time; the tests below count to the real one
    for hasher in HASHERS:
        with pytest.raises(ConfigError, match=r"a key of more than 4,096 values|too much data"):
            read(tmp_path, f"{SHARED[what]}\n{hasher}\nx = 1")


@pytest.mark.parametrize("what", WALKED)
def test_values_that_are_endless_to_copy_are_refused(tmp_path: Path, what: str) -> None:
    with pytest.raises(ConfigError, match=r"values, each counted wherever it stands|too much data"):
        read(tmp_path, WALKED[what])


def test_a_function_that_gets_such_a_value_is_refused_or_left_out(tmp_path: Path) -> None:
    calls = ("unknown(x)", "copy.replace(x)", "print(x)")
    for what, call in itertools.product(("tuples", "frozen sets in tuples"), calls):
        read(tmp_path, f"from somewhere import unknown\n{SHARED[what]}\ny = {call}\nx = 1\ndel y")


@pytest.mark.parametrize("number", range(len(SMALL)))
def test_what_is_no_more_than_files_need_is_read(tmp_path: Path, number: int) -> None:
    read(tmp_path, SMALL[number])
