"""Configuration files: what is read as data, what is refused, and where the refusal points."""

from __future__ import annotations

import os
import time
from pathlib import Path
from textwrap import dedent

import pytest
from promptpress._cli.config_file import read_config
from promptpress._cli.errors import CommandError, ConfigError, UsageError
from promptpress._cli.python_config import Symbol
from promptpress._cli.selection import choose_dataset, choose_model

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


def write(folder: Path, name: str, text: str | bytes) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else dedent(text).encode())
    return str(path)


def read(folder: Path, source: str) -> dict:
    return read_config(write(folder, "config.py", source)).value


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
    with pytest.raises(ConfigError, match="nested too deeply"):
        choose_dataset(read_config(path), None)


class TestBases:
    """Files that build on others."""

    def test_relative_imports(self, tmp_path: Path) -> None:
        write(tmp_path, "data/qa.py", "template = '{q}'\n_private = 1\nqa_datasets = [dict(abbr='a')]")
        write(tmp_path, "data/__init__.py", "")
        path = write(
            tmp_path,
            "jobs/job.py",
            """
            from mmengine.config import read_base
            with read_base():
                from ..data.qa import template as t, qa_datasets
                from ..data import qa
                from ..data.qa import *
            u = qa['template'] + qa.template
            """,
        )
        names = read_config(path).value
        assert names["t"] == names["template"] == "{q}"
        assert names["u"] == "{q}{q}"
        assert "_private" not in names

    def test_absolute_imports_find_the_tree_that_the_file_lies_in(self, tmp_path: Path) -> None:
        write(tmp_path, "bench/configs/one.py", "t = 'x'")
        source = "from mmengine import read_base\nwith read_base():\n    from bench.configs.one import t\n"
        assert read_config(write(tmp_path, "bench/configs/two.py", source)).value["t"] == "x"

    def test_absolute_imports_find_installed_packages_without_importing_them(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(tmp_path, "site/benchpkg/__init__.py", "raise RuntimeError('imported')")
        write(tmp_path, "site/benchpkg/configs/one.py", "t = 'x'")
        monkeypatch.syspath_prepend(str(tmp_path / "site"))
        source = "from mmengine import read_base\nwith read_base():\n    from benchpkg.configs.one import t\n"
        assert read_config(write(tmp_path, "job.py", source)).value["t"] == "x"

    def test_what_one_file_changes_in_its_base_changes_nowhere_else(self, tmp_path: Path) -> None:
        base = "from mmengine import read_base\nwith read_base():\n    from .one import d\n"
        write(tmp_path, "one.py", "d = [dict(a=1)]")
        write(tmp_path, "two.py", base + "d[0]['a'] = 2\ne = d")
        names = read(tmp_path, base + "with read_base():\n    from .two import e\n")
        assert names["d"] == [{"a": 1}]
        assert names["e"] == [{"a": 2}]

    def test_a_base_that_cannot_be_read_counts_when_it_is_needed(self, tmp_path: Path) -> None:
        write(tmp_path, "code.py", "def f(): return 1\nx = f()")
        source = "from mmengine import read_base\nwith read_base():\n    from .code import x\nprompt_template = "
        assert read(tmp_path, source + "'{q}'")["prompt_template"] == "{q}"
        config = read_config(write(tmp_path, "config.py", source + "x"))
        with pytest.raises(ConfigError, match=r"config\.py:3: import from '\.code': .*code\.py:2: call of f\(\)"):
            choose_dataset(config, None)

    def test_a_missing_name(self, tmp_path: Path) -> None:
        write(tmp_path, "one.py", "a = 1")
        config = read_config(write(tmp_path, "config.py", "from .one import b\nprompt_template = b"))
        with pytest.raises(ConfigError, match=r"config\.py:1: \.one has no 'b'"):
            choose_dataset(config, None)

    def test_a_circle(self, tmp_path: Path) -> None:
        write(tmp_path, "one.py", "from .config import a")
        config = read_config(write(tmp_path, "config.py", "from .one import a\nprompt_template = a"))
        with pytest.raises(ConfigError, match="imports itself"):
            choose_dataset(config, None)

    def test_text_files_of_the_folder(self, tmp_path: Path) -> None:
        write(tmp_path, "prompts/a.txt", "Sag: {q}\n")
        source = """
        import os
        with open(os.path.join(os.path.dirname(__file__), 'prompts', 'a.txt'), 'r', encoding='utf-8') as f:
            t = f.read()
        """
        assert read(tmp_path, source)["t"] == "Sag: {q}\n"

    @pytest.mark.parametrize("path", ["'nope.txt'", "os.path.join(os.path.dirname(__file__), 'nope.txt')"])
    def test_text_files_that_are_missing(self, tmp_path: Path, path: str) -> None:
        source = f"import os\nwith open({path}) as f:\n    t = f.read()\nprompt_template = t\n"
        place = write(tmp_path, "config.py", source)
        with pytest.raises(ConfigError, match=r"config\.py:2: .*nope\.txt.*[Nn]o such file") as raised:
            choose_dataset(read_config(place), None)
        assert "executed" not in str(raised.value)

    def test_a_missing_text_file_that_no_prompt_needs(self, tmp_path: Path) -> None:
        source = "with open('nope.txt') as f:\n    t = f.read()\nprompt_template = '{q}'\n"
        assert read(tmp_path, source)["prompt_template"] == "{q}"

    @pytest.mark.parametrize("part", ["'..', 'a.txt'", "'link.txt'"])
    def test_text_files_outside_are_refused(self, tmp_path: Path, part: str) -> None:
        write(tmp_path, "a.txt", "secret")
        (tmp_path / "sub").mkdir()
        os.symlink(tmp_path / "a.txt", tmp_path / "sub" / "link.txt")
        source = f"import os\nwith open(os.path.join(os.path.dirname(__file__), {part})) as f:\n    t = f.read()\n"
        config = read_config(write(tmp_path, "sub/config.py", source + "prompt_template = t"))
        with pytest.raises(ConfigError, match="no text file of this folder"):
            choose_dataset(config, None)


class TestChoice:
    """Which dataset, which model."""

    def datasets(self, folder: Path, *templates: str) -> str:
        entries = "".join(
            f"dict(abbr='d{i}', infer_cfg=dict(prompt_template={t!r}), reader_cfg=dict(input_columns='q')),"
            for i, t in enumerate(templates)
        )
        return write(folder, "config.py", f"a_datasets = [{entries}]")

    def test_several_need_a_name(self, tmp_path: Path) -> None:
        config = read_config(self.datasets(tmp_path, "{q}", "Q: {q}"))
        with pytest.raises(UsageError, match=r"holds 2 datasets, say which with --dataset: 'd0', 'd1'"):
            choose_dataset(config, None)
        dataset = choose_dataset(config, "d1").dataset
        assert dataset is not None
        assert dataset["infer_cfg"]["prompt_template"] == "Q: {q}"
        with pytest.raises(UsageError, match="did you mean 'd1'"):
            choose_dataset(config, "d11")
        with pytest.raises(UsageError, match="has no such dataset; it has 'd0', 'd1'"):
            choose_dataset(config, "zzz")

    def test_several_with_the_same_prompts_do_not(self, tmp_path: Path) -> None:
        config = read_config(self.datasets(tmp_path, "{q}", "{q}"))
        assert choose_dataset(config, None).dataset is not None
        assert choose_dataset(config, "a_datasets").dataset is not None

    def test_the_list_named_datasets_wins(self, tmp_path: Path) -> None:
        path = write(
            tmp_path,
            "config.py",
            """
            a_datasets = [dict(abbr='a', infer_cfg=dict(prompt_template='a'))]
            b_datasets = [dict(abbr='b', infer_cfg=dict(prompt_template='b'))]
            datasets = b_datasets
            """,
        )
        dataset = choose_dataset(read_config(path), None).dataset
        assert dataset is not None
        assert dataset["abbr"] == "b"

    def test_renderer_arguments(self, tmp_path: Path) -> None:
        source = "HELP = 'x'\nprompt_template = dict(template='{q}')\nretriever = dict(type='ZeroRetriever')"
        assert choose_dataset(read_config(write(tmp_path, "c.py", source)), None).arguments == {
            "prompt_template": {"template": "{q}"},
            "retriever": {"type": "ZeroRetriever"},
        }

    @pytest.mark.parametrize(
        ("name", "text", "words"),
        [
            ("c.json", '{"prompt_template": "x", "retreiver": {}}', "retreiver: unknown; did you mean 'retriever'?"),
            ("c.json", '{"prompt_template": "x", "zzz": {}}', "zzz: unknown; it may have prompt_template, "),
            ("c.py", "prompt_template = 'x'\nretreiver = {}", "retreiver: unknown; did you mean 'retriever'?"),
            ("c.json", '{"prompt_template": "x", "examples": []}', "--examples FILE"),
            ("c.json", '{"template": "x"}', "holds no prompt configuration"),
            ("c.json", "3", "holds a int"),
            ("c.py", "", "it has nothing"),
        ],
    )
    def test_no_prompt_configuration(self, tmp_path: Path, name: str, text: str, words: str) -> None:
        with pytest.raises(ConfigError) as caught:
            choose_dataset(read_config(write(tmp_path, name, text)), None)
        assert words in str(caught.value)

    @pytest.mark.parametrize(
        "source",
        [
            "models = [dict(type=M, abbr='m', meta_template=META, dtype=torch.float16)]",
            "type = 'opencompass.models.M'\nabbr = 'm'\nmeta_template = META",
        ],
    )
    def test_models(self, tmp_path: Path, source: str) -> None:
        head = "import torch\nfrom opencompass.models import M\nMETA = dict(round=[dict(role='HUMAN')])\n"
        model = choose_model(read_config(write(tmp_path, "m.py", head + source)), None)
        assert model is not None
        assert (model["type"], model["abbr"]) == ("opencompass.models.M", "m")
        assert model["meta_template"] == {"round": [{"role": "HUMAN"}]}

    def test_a_meta_template_alone(self, tmp_path: Path) -> None:
        path = write(tmp_path, "m.json", '{"round": [{"role": "HUMAN"}]}')
        assert choose_model(read_config(path), None) == {"meta_template": {"round": [{"role": "HUMAN"}]}}

    def test_no_model(self, tmp_path: Path) -> None:
        assert choose_model(read_config(write(tmp_path, "m.json", "{}")), None) is None

    def test_a_meta_template_that_is_code(self, tmp_path: Path) -> None:
        path = write(tmp_path, "m.py", "from x import META\nmodels = [dict(type='M', meta_template=META)]")
        with pytest.raises(ConfigError, match=r"meta_template: .*m\.py:1: 'x\.META'"):
            choose_model(read_config(path), None)


class TestPlainFormats:
    """JSON, YAML and TOML."""

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("c.json", '{"prompt_template": {"template": {"A": "a", "B": "é"}}}'),
            ("c.json", b'\xef\xbb\xbf{"prompt_template": {"template": {"A": "a", "B": "\xc3\xa9"}}}'),
            ("c.yaml", "prompt_template:\n  template:\n    A: a\n    B: é\n"),
            ("c.yml", "prompt_template: {template: {A: a, B: é}}"),
            ("c.toml", '[prompt_template.template]\nA = "a"\nB = "é"\n'),
        ],
    )
    def test_the_same_in_each(self, tmp_path: Path, name: str, text: str | bytes) -> None:
        arguments = choose_dataset(read_config(write(tmp_path, name, text)), None).arguments
        assert arguments == {"prompt_template": {"template": {"A": "a", "B": "é"}}}

    @pytest.mark.parametrize(
        ("name", "text", "words"),
        [
            ("c.json", '{\n"a": 1,\n}', r"c\.json:3: not valid JSON"),
            ("c.json", '{"a": 1, "a": 2}', "the key 'a' stands twice"),
            ("c.json", b'{\n"a": "\xff"}', r"c\.json:2: not UTF-8 \(byte 0xff\)"),
            ("c.json", "[" * 100_000, "nested too deeply"),
            ("c.yaml", "a: [1\nb: 2", r"c\.yaml:2: not valid YAML"),
            ("c.yaml", "a: 1\nb: 2\na: 3", r"c\.yaml:3: the key 'a' stands twice"),
            ("c.yaml", "a: !!python/object/apply:os.getcwd []", r"c\.yaml:1: not valid YAML"),
            ("c.yaml", "a: \x07", "not valid YAML"),
            ("c.toml", "a = ", "not valid TOML"),
            ("c.toml", "a = 1\na = 2", "not valid TOML"),
            ("c.py", "a = (", r"c\.py:1: not valid Python"),
            ("c.py", b"a = '\xff'", "not valid Python"),
            ("c.py", b"a = '\0'", "Python"),
        ],
    )
    def test_broken_files(self, tmp_path: Path, name: str, text: str | bytes, words: str) -> None:
        with pytest.raises(ConfigError, match=words):
            read_config(write(tmp_path, name, text))

    def test_merged_yaml(self, tmp_path: Path) -> None:
        text = "x: &x {a: 1, b: 2}\ny:\n  <<: *x\n  b: 3\n"
        assert read_config(write(tmp_path, "c.yaml", text)).value["y"] == {"a": 1, "b": 3}

    def test_unknown_suffix(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match=r"\.json, \.yaml, \.yml, \.toml or \.py"):
            read_config(str(tmp_path / "c.ini"))

    @pytest.mark.parametrize("name", ["c.json", "c.py"])
    def test_no_file(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(ConfigError, match="No such file or directory"):
            read_config(str(tmp_path / name))
        (tmp_path / name).mkdir()
        with pytest.raises(CommandError, match="Is a directory"):
            read_config(str(tmp_path / name))


def test_symbols_stay_symbols(tmp_path: Path) -> None:
    names = read(tmp_path, "from a.b import C as D\nimport x.y as z, p.q\nE = D\nF = p.q.R")
    assert {n: v.dotted for n, v in names.items() if isinstance(v, Symbol)} == {
        "D": "a.b.C",
        "E": "a.b.C",
        "z": "x.y",
        "p": "p",
        "F": "p.q.R",
    }
