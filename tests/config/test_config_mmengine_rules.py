"""Rules of mmengine, which the harnesses read their Python configurations with."""

from __future__ import annotations

from pathlib import Path

import pytest
from generators.config_texts import read, write
from promptpress._errors.file_errors import ConfigError
from promptpress_harness.python_subset import Opaque

BASE = "from mmengine.config import read_base\n"


def test_names_of_read_base_are_bound_before_the_first_statement(tmp_path: Path) -> None:
    write(tmp_path, "base.py", "prefix = 'base'\nother = 'base'\n_hidden = 'base'\n__secret = 'base'")
    names = read(tmp_path, BASE + "prefix = 'mine'\nearly = other\nwith read_base():\n    from .base import *\n")
    assert (names["prefix"], names["early"], names["_hidden"]) == ("mine", "base", "base")
    assert "__secret" not in names


def test_other_imports_from_a_base_are_bound_early_too(tmp_path: Path) -> None:
    write(tmp_path, "base.py", "a, b = [1], [2]")
    source = BASE + "b = 5\nwith read_base():\n    from .base import a\nif 0:\n    from .base import b\n"
    assert read(tmp_path, source)["b"] == 5


def test_only_the_first_read_base_is_read(tmp_path: Path) -> None:
    write(tmp_path, "base.py", "a, b = 1, 2")
    source = BASE + "with read_base():\n    from .base import a\nwith read_base():\n    from .more import b\n"
    write(tmp_path, "more.py", "b = 2")
    names = read(tmp_path, source)
    assert names["a"] == 1
    assert isinstance(names["b"], Opaque)
    with pytest.raises(ConfigError, match="only the first"):
        read(tmp_path, source.replace("import b", "import *"))


def test_dicts_of_a_base_behave_as_the_harness_has_them(tmp_path: Path) -> None:
    write(tmp_path, "base.py", "d = dict(a=dict(b=[1]), c=2)\ne = d")
    source = """
    d.update(a=dict(x=3))
    item = [4]
    d['new'] = item
    item.append(5)
    gone = d.pop('nothing')
    same = d is e
    text = d.a.b
    view = d.items()
    d['late'] = 1
    pairs = [k for k, _ in view]
    """
    names = read(
        tmp_path,
        BASE + "with read_base():\n    from .base import d, e\n" + "\n".join(map(str.strip, source.split("\n"))),
    )
    assert names["d"] == {"a": {"b": [1], "x": 3}, "c": 2, "new": [4], "late": 1}
    assert (names["gone"], names["same"], names["text"]) == (None, False, [1])
    assert names["pairs"] == ["a", "c", "new"]


@pytest.mark.parametrize("expression", ["d | {}", "{} | d", "d + d", "d.keys", "d.missing"])
def test_what_the_harness_does_otherwise_with_dicts_of_a_base_is_refused(tmp_path: Path, expression: str) -> None:
    write(tmp_path, "base.py", "d = dict(keys=1)")
    source = BASE + f"with read_base():\n    from .base import d\nx = {expression}\nassert x"
    with pytest.raises(ConfigError, match=r"config\.py:\d: "):
        read(tmp_path, source)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("_base_ = './base.py'", "_base_, which mmengine merges"),
        ("_base_ = ['./base.py']", "_base_, which mmengine merges"),
        ("x = 'In {{ fileBasenameNoExtension }}'", "fileBasenameNoExtension }} is filled in by mmengine"),
        ("x = '{{fileDirname}}'", "{{fileDirname}} is filled in by mmengine"),
        ("x = 1\ny = '{{$LANGUAGE:english}}'", "LANGUAGE:english}} is filled in by mmengine"),
        ("import json\ny = {{'$COUNT:80'}}", "COUNT:80'}} is filled in by mmengine"),
        ("x = {{_base_.model.type}}", "config.py:1: "),
    ],
)
def test_what_mmengine_fills_in_is_refused_by_name(tmp_path: Path, source: str, words: str) -> None:
    write(tmp_path, "base.py", "model = dict(type='M')")
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, source)
    assert words in str(caught.value)


def test_a_file_that_is_read_as_syntax_keeps_its_braces(tmp_path: Path) -> None:
    source = "from opencompass.models import M\nx = '{{ fileDirname }}{{$A:b}}'"
    assert read(tmp_path, source)["x"] == "{{ fileDirname }}{{$A:b}}"
