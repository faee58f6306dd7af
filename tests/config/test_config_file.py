"""Configuration files: what is read as data, what is refused, and where the refusal points."""

from __future__ import annotations

import time
from pathlib import Path
from textwrap import dedent

import pytest
from generators.config_texts import read, write
from promptpress._errors.file_errors import ConfigError
from promptpress_harness.configs.config_file import read_config
from promptpress_harness.configs.selection import choose_dataset
from promptpress_harness.python_subset import Symbol

CLASSES = """
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever
from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.datasets import CapitalsDataset
"""
DATASET = """
capitals_datasets = [dict(abbr='capitals', type=CapitalsDataset,
    reader_cfg=dict(input_columns=['country'], output_column='city'),
    infer_cfg=dict(prompt_template=dict(type=PromptTemplate, template=TEMPLATE),
                   retriever=dict(type=ZeroRetriever), inferencer=dict(type=GenInferencer)))]
"""


def dataset_of(folder: Path, source: str) -> dict:
    path = write(folder, "config.py", CLASSES + dedent(source) + DATASET)
    dataset = choose_dataset(read_config(path), None).dataset
    assert dataset is not None
    return dataset


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("'a' 'b'", "ab"),
        ("'a' + 'b' * 2", "abb"),
        ("f'{1 + 1:03d}|{\"x\"!r}|{{y}}'", "002|'x'|{y}"),
        ("'%s-%02d' % ('a', 3)", "a-03"),
        ("'{}-{x[k]}'.format(1, x={'k': 2})", "1-2"),
        ("', '.join(c.upper() for c in 'abc')", "A, B, C"),
        ("[i * j for i in range(3) if i for j in (1, 2)]", [1, 2, 2, 4]),
        ("{k: v for k, v in zip('ab', [1, 2])}", {"a": 1, "b": 2}),
        ("dict(a=1, **{'b': 2})", {"a": 1, "b": 2}),
        ("dict([('a', 1)], b=2)", {"a": 1, "b": 2}),
        ("[*range(2), *(5,)]", [0, 1, 5]),
        ("{'x', 'x'}", {"x"}),
        ("(1, 2)[::-1]", (2, 1)),
        ("'yes' if not [] and 1 < 2 <= 2 else 'no'", "yes"),
        ("sum([[1], [2]], [])", [1, 2]),
        ("sorted({'b': 1, 'a': 2}.items())", [("a", 2), ("b", 1)]),
        ("'abc'[-1] + 'a b'.split()[0]", "ca"),
        ("'''  a\n  b'''.strip().replace('a', 'c')", "c\n  b"),
        ("chr(ord('A') + 1)", "B"),
        ("[y := 3, y + 1]", [3, 4]),
        ("-2 ** 2 // 3", -2),
        ("None is None", True),
        ("{1: 'a'} | {2: 'b'}", {1: "a", 2: "b"}),
    ],
)
def test_expressions_of_data(tmp_path: Path, expression: str, value: object) -> None:
    assert read(tmp_path, f"x = {expression}")["x"] == value


def test_statements_of_data(tmp_path: Path) -> None:
    names = read(
        tmp_path,
        """
        '''A docstring.'''
        import copy
        from copy import deepcopy
        base = dict(round=[dict(role='HUMAN', prompt='{q}')])
        out: list = []
        for i, (name, *rest) in enumerate([('a', 1, 2), ('b',), ('c', 3)]):
            if name == 'b':
                continue
            one = deepcopy(base)
            one['round'][0]['prompt'] += f'-{name}{rest}'
            out.append(one)
            if i > 5:
                break
        else:
            done = True
        first, *others = [1, 2, 3]
        out += [copy.copy(base)]
        extra = base
        extra['end'] = 'x'
        del extra['end'], others
        assert done, 'never'
        """,
    )
    prompts = [t["round"][0]["prompt"] for t in names["out"]]
    assert prompts == ["{q}-a[1, 2]", "{q}-c[3]", "{q}"]
    assert names["first"] == 1
    assert "others" not in names
    assert "end" not in names["base"]


def test_names_of_the_file(tmp_path: Path) -> None:
    names = read(
        tmp_path,
        """
        a_datasets, b_datasets, other = [1], [2], [3]
        datasets = sum((v for k, v in locals().items() if k.endswith('_datasets')), [])
        for _k in [k for k in globals() if k.startswith('b_')]:
            del globals()[_k]
        """,
    )
    assert names["datasets"] == [1, 2]
    assert "b_datasets" not in names


def test_classes_are_their_dotted_names(tmp_path: Path) -> None:
    dataset = dataset_of(tmp_path, "TEMPLATE = '{country}? {city}'")
    assert dataset["type"] == "opencompass.datasets.CapitalsDataset"
    assert dataset["infer_cfg"]["prompt_template"] == {
        "type": "opencompass.openicl.icl_prompt_template.PromptTemplate",
        "template": "{country}? {city}",
    }


def test_code_that_prompts_do_not_need_is_left_out(tmp_path: Path) -> None:
    dataset = dataset_of(
        tmp_path,
        """
        import os, torch
        from functools import partial
        from opencompass.utils import post
        @post.register
        def my_postprocess(text): return text.strip()
        class Evaluator:
            def score(self): raise RuntimeError
        root = os.environ.get('DATA', './data')
        eval_cfg = dict(evaluator=dict(type=Evaluator), post=partial(post, k=3), f=lambda x: x, d=torch.float16)
        TEMPLATE = '{country}'
        """,
    )
    assert dataset["infer_cfg"]["prompt_template"]["template"] == "{country}"


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        ("TEMPLATE = make()", 6, "the name 'make' is not defined"),
        ("def make(): return '{country}'\nTEMPLATE = make()", 7, "call of make()"),
        ("TEMPLATE = (lambda: '{country}')()", 6, "lambda"),
        ("import os\nTEMPLATE = os.environ['PROMPT']", 7, "'os.environ'"),
        ("import os\nTEMPLATE = os.getenv('PROMPT', 'x')", 7, "call of os.getenv()"),
        ("from my.prompts import TEMPLATE", 6, "'my.prompts.TEMPLATE', which is imported from other code"),
        ("from my.prompts import load\nTEMPLATE = load('x')", 7, "call of load()"),
        ("from my.prompts import P\nTEMPLATE = P + 'x'", 6, "'my.prompts.P'"),
        ("from my.prompts import P\nTEMPLATE = f'{P}'", 6, "'my.prompts.P'"),
        ("from my.prompts import P\nTEMPLATE = [P, 'x'][0]", 6, "'my.prompts.P'"),
        ("from my.prompts import P\nTEMPLATE = str({'a': [P]})", 6, "'my.prompts.P'"),
        ("from my.prompts import P\nTEMPLATE = 'a' if P else 'b'", 6, "'my.prompts.P'"),
        ("from my.prompts import P\nTEMPLATE = 'a' if [P] == ['x'] else 'b'", 6, "'my.prompts.P'"),
        ("TEMPLATE = __import__('os').getcwd()", 6, "call of __import__()"),
        ("TEMPLATE = eval('1')", 6, "call of eval()"),
        ("TEMPLATE = open('/etc/hostname').read()", 6, "call of open()"),
        ("with open('/etc/hostname') as f:\n    TEMPLATE = f.read()", 6, "open('/etc/hostname', 'r')"),
        ("TEMPLATE = ''.__class__", 6, "the attribute ''.__class__"),
        ("TEMPLATE = [].append.__self__", 6, "the attribute"),
        ("from my.prompts import patch\nTEMPLATE = ['x']\ny = patch(TEMPLATE)", 8, "call of patch()"),
        ("from my.prompts import patch\nTEMPLATE = 'x'\npatch()", 8, "call of patch()"),
        ("def f():\n    global TEMPLATE\n    TEMPLATE = 'y'\nTEMPLATE = 'x'\nz = f()", 10, "call of f()"),
        ("import os\nTEMPLATE = 'x'\nif os.environ.get('A'):\n    TEMPLATE = 'y'", 8, "call of os.environ.get()"),
        ("TEMPLATE = 'x'\nwhile True:\n    TEMPLATE = 'y'", 7, "'while' statement"),
        ("try:\n    TEMPLATE = 'x'\nexcept Exception:\n    TEMPLATE = 'y'", 6, "'try' statement"),
        ("from my.prompts import *\nTEMPLATE = 'x'", 6, "'my.prompts'"),
        ("from .missing import TEMPLATE", 6, "'.missing', for which no configuration file is found"),
        ("TEMPLATE = {}['a']", 6, "KeyError: 'a'"),
        ("TEMPLATE = 'x' + 1", 6, "TypeError"),
        ("raise ValueError('no')", 6, "the file refuses itself"),
        ("assert 1 > 2", 6, "assertion"),
        ("a, b = 1, 2, 3", 6, "3 values for 2 names"),
    ],
)
def test_what_would_have_to_be_executed_is_refused(tmp_path: Path, source: str, line: int, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        dataset_of(tmp_path, source + "\nTEMPLATE\n")
    assert f"config.py:{line}: " in str(caught.value)
    assert words in str(caught.value)


def test_nothing_runs(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    source = f"""
    import os
    TEMPLATE = 'x'
    unused = os.system('touch {trace}')
    class A:
        open({str(trace)!r}, 'w')
    @open({str(trace)!r}, 'w')
    def f(x=open({str(trace)!r}, 'w')): pass
    """
    dataset_of(tmp_path, source)
    assert not trace.exists()


@pytest.mark.parametrize(
    "expression",
    [
        "'x' * 10**10",
        "10**10 * [0]",
        "[0] * 9999 * 9999",
        "10 ** 10 ** 10",
        "'{:99999999999}'.format(1)",
        "f'{1:99999999999}'",
        "'%99999999999d' % 1",
        "'%*d' % (99999999999, 1)",
        "'x'.ljust(99999999999)",
        "('x' * 9999).replace('x', 'y' * 99999)",
        "('x' * 9999).join(['y'] * 99999)",
        "('{0}' * 9999).format('x' * 99999)",
        "('%(a)s' * 9999) % {'a': 'x' * 99999}",
        "list(range(10**10))",
        "[x for x in range(9999) for y in range(9999)]",
        "'{0.__class__}'.format(1)",
        "[a := [1], [a := [a, a] for _ in range(60)], str(a)]",
        "[a := [1], b := [1], [(a := [a, a], b := [b, b]) for _ in range(60)], a == b]",
        "'x'" + " + 'x'" * 100_000,
        "(" * 300 + ")" * 300,
        "[a := 'xxxxxxxx', [a := a + a for _ in range(60)]]",
        "[a := 3, [a := a * a for _ in range(60)]]",
    ],
)
def test_what_asks_for_too_much_is_refused_at_once(tmp_path: Path, expression: str) -> None:
    path = write(tmp_path, "c.py", f"prompt_template = {expression}")
    start = time.monotonic()
    with pytest.raises(ConfigError):
        choose_dataset(read_config(path), None)
    assert time.monotonic() - start < 20


def test_a_list_that_holds_itself(tmp_path: Path) -> None:
    path = write(tmp_path, "c.py", "a = []\na.append(a)\nprompt_template = dict(begin=a)")
    with pytest.raises(ConfigError, match="values, each counted wherever it stands"):
        read_config(path)


def test_symbols_stay_symbols(tmp_path: Path) -> None:
    names = read(tmp_path, "from a.b import C as D\nimport x.y as z, p.q\nE = D\nF = p.q.R")
    assert {n: v.dotted for n, v in names.items() if isinstance(v, Symbol)} == {
        "D": "a.b.C",
        "E": "a.b.C",
        "z": "x.y",
        "p": "p",
        "F": "p.q.R",
    }
