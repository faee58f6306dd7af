"""Configurations that build on others, and the shipped ones: their values beside those that mmengine gives them."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fuzz.draw import Draw
from promptpress._errors.file_errors import ConfigError
from promptpress_harness.configs.config_file import read_config
from promptpress_harness.python_subset import Opaque, Symbol
from real.harness.shipped import folder

BASE = (
    "d = dict(a=dict(b=[1, dict(c=2)]), n=1)", "e = [dict(x=1), [2], (3, dict(y=4))]", "f = e",
    "_hidden = dict(z=[5])",
    "d['again'] = d['a']", "from opencompass.openicl import PromptTemplate", "import os", "s = 'text'", "t = (d, e)",
    "k = {1: {True: 'a'}, None: [d]}", "z = {1, 2}\ny = z", "def helper(x=1): return x", "e.append(e[0])",
    "from collections import OrderedDict\no = OrderedDict(a=dict(b=1))",
)  # fmt: skip
IMPORTS = (
    "from .base import *", "from .base import d", "from .base import d, e", "from .base import d as g",
    "from .base import d, d as g, e as h", "from .other import *", "from .other import d as g, e as h",
)  # fmt: skip
MAIN = (
    "d = 1", "q = d", "q = e", "d['new'] = [7]", "w = [8]\nd['w'] = w\nw.append(9)",
    "w = dict(v=1)\nd['w'] = w\nw['v'] = 2",
    "d.update(a=dict(z=1))", "d.update(dict(a=dict(b=0), m=2))", "q = d.pop('a')", "q = d.pop('nothing')", "q = d.a",
    "q = d.a.b", "d.n = 5", "d.a.fresh = dict(p=[1])", "q = d.get('a')", "q = d.setdefault('a', 1)",
    "w = dict(u=1)\nq = d.setdefault('w', w)\nq['u'] = 2", "q = dict(d)\nq['a']['b'] = 3", "q = {**d}\nq['a'].b = 4",
    "import copy\nq = copy.deepcopy(d)\nq['a']['b'] = 6", "import copy\nq = copy.copy(d)\nq['a']['b'] = 6",
    "q = d.copy()\nq['n'] = 9", "q = d.items()\nd['later'] = 1\nq = list(q)", "q = list(d.values())", "q = str(d)",
    "for k in d.values():\n    d['grown'] = 1", "for k, v in d.items():\n    d[str(k) + '2'] = v", "q = d == dict(d)",
    "q = [x for x in e if isinstance(x, dict)]", "e[0].x = 2", "e[0]['x'] = [e[1]]", "e.append(d)", "q = 'a' in d",
    "d |= dict(a=dict(more=1))", "w = dict(a=2)\nw |= d\nq = w", "q = d is d", "q = [d['a'] is d['a']]",
    "q = sorted(d)",
    "q = sum([x for x in e if isinstance(x, list)], [])", "q = f'{d}'", "q = _hidden", "q = h", "q = g", "g['n'] = 2",
    "q = k[1]", "q = t[0] is d", "q = f is e", "z.add(3)\nq = sorted(y)", "import torch\nq = torch",
    "q = len(locals()) > 3",
    "from opencompass.openicl import GenInferencer as q", "del d['n']", "q = d | {}", "q = o",
    "q = [k for k in d.keys()]",
    "q = (lambda: 1)", "q = d['a']['b'][1].c", "s += '!'", "datasets = [d, d, dict(type=PromptTemplate, x=d)]",
)  # fmt: skip


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = pytest.importorskip("mmengine.config.config")
    # It finds out what belongs to Python by folders, and a virtual environment's aren't those of the standard library.
    monkeypatch.setattr(sys.modules["mmengine.config.utils"], "PYTHON_ROOT_DIR", sys.base_prefix)
    return module


def harness_names(module: ModuleType, path: Path) -> dict[str, Any]:
    """The names of a file, as mmengine reads it."""
    module.ConfigDict.lazy = True
    try:
        if module.Config._is_lazy_import(str(path)):
            return dict(module.Config._parse_lazy_import(str(path))[0])
        return dict(module.Config._file2dict(str(path))[0])
    finally:
        module.ConfigDict.lazy = False


def difference(value: Any, wanted: Any, path: str = "") -> str:
    """Return where two values differ; a value that isn't read differs from nothing."""
    if isinstance(value, Symbol):
        is_lazy = type(wanted).__name__ in ("LazyObject", "LazyAttr")
        name = str(wanted) if is_lazy else getattr(wanted, "__name__", type(wanted).__name__)
        return (
            "" if name.rpartition(".")[2] == value.dotted.rpartition(".")[2] else f"{path}: {value.dotted}, not {name}"
        )
    if isinstance(value, Opaque):
        return ""
    if type(wanted).__name__ in ("LazyObject", "LazyAttr"):
        return ""  # a relative import outside of `read_base`, which mmengine never resolves
    if isinstance(value, dict) and isinstance(wanted, dict):
        pairs = [*zip(value.items(), dict.items(wanted), strict=False)]
        parts = [difference([*item], [*other], f"{path}.{item[0]}") for item, other in pairs]
    elif type(value) is type(wanted) and isinstance(value, (list, tuple)):
        parts = [difference(*both, f"{path}[{n}]") for n, both in enumerate(zip(value, wanted, strict=False))]
    else:
        return "" if type(value) is type(wanted) and value == wanted else f"{path}: {value!r}, not {wanted!r}"
    return f"{path}: {len(value)} parts" if len(value) != len(wanted) else next(filter(None, parts), "")


def compared(module: ModuleType, path: Path) -> str:
    """Compare one file: `equal`, `refused`, or where it differs."""
    try:
        names = read_config(str(path)).value
    except ConfigError:
        return "refused"
    try:
        wanted = harness_names(module, path)
    except Exception as error:
        return f"read, and mmengine raises {type(error).__name__}: {error}"
    names = {name: value for name, value in names.items() if name in wanted or not isinstance(value, (Opaque, Symbol))}
    missing = wanted.keys() - names.keys()
    return (
        f"without {sorted(missing)}"
        if missing
        else difference(dict(sorted(names.items())), dict(sorted(wanted.items())))
    )


def program(draw: Draw) -> dict[str, str]:
    """A file, and the bases that it builds on."""
    head = BASE[0] + "\n" + BASE[1] + "\n"
    base = head + "\n".join(draw.subset(BASE[2:], 12, 6))
    other = head + "\n".join(draw.subset(BASE[2:], 12, 6))
    lines = draw.some(MAIN, 5, 1)
    imports = [IMPORTS[0]] * draw.pick(0, 1, 1, 1) + draw.subset(IMPORTS[1:], 2, 1)
    block = "with read_base():\n" + "\n".join("    " + line for line in imports)
    lines.insert(draw.randrange(len(lines) + 1), block)
    return {
        "base.py": base,
        "other.py": other,
        "main.py": "from mmengine.config import read_base\n" + "\n".join(lines) + "\n",
    }


@pytest.mark.parametrize("count", [150, pytest.param(5_000, marks=pytest.mark.full)])
def test_files_that_build_on_others_have_the_harness_s_values(config: ModuleType, tmp_path: Path, count: int) -> None:
    outcomes: Counter[str] = Counter()
    for number in range(count):
        files = program(Draw.of(0, number, "bases"))
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        outcome = compared(config, tmp_path / "main.py") or "equal"
        assert outcome in {"equal", "refused"}, (number, outcome, files)
        outcomes[outcome] += 1
    print(f"{count:,} files with bases: {dict(outcomes)}, 0 differ")
    assert outcomes["equal"] > count / 4


@pytest.mark.parametrize(
    ("package", "below", "most_refused"),
    [("opencompass", "configs", 36), ("ais_bench", "benchmark/configs", 1)],
)
@pytest.mark.full
def test_shipped_configurations_have_the_harness_s_values(
    config: ModuleType, package: str, below: str, most_refused: int
) -> None:
    root = folder(package)
    if root is None:
        pytest.skip(f"{package} isn't installed (make test-harness)")
    outcomes: Counter[str] = Counter()
    for path in sorted(root.joinpath(below).rglob("*.py")):
        outcome = compared(config, path) or "equal"
        outcomes[outcome if outcome in {"equal", "refused"} else f"{path.relative_to(root)}: {outcome}"] += 1
    print(f"{package}: {outcomes}")
    different = [
        outcome for outcome in outcomes if outcome not in {"equal", "refused"} and "mmengine raises" not in outcome
    ]
    assert not different
    assert outcomes["refused"] <= most_refused
