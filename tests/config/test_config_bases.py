"""Configuration files with bases: `_base_`, `read_base()`, and what comes of both."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from generators.config_texts import read, write
from promptpress._errors.file_errors import ConfigError
from promptpress_harness.configs.config_file import read_config
from promptpress_harness.configs.selection import choose_dataset


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
        assert names["_private"] == 1  # mmengine's `import *` leaves out names that begin with two underscores

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
        base = "from mmengine.config import read_base\nwith read_base():\n    from .one import d\n"
        write(tmp_path, "one.py", "d = [dict(a=1)]")
        write(tmp_path, "two.py", base + "d[0]['a'] = 2\ne = d")
        names = read(tmp_path, base + "    from .two import e\n")
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
        file = write(tmp_path, "config.py", source)
        with pytest.raises(ConfigError, match=r"config\.py:2: .*nope\.txt.*[Nn]o such file") as raised:
            choose_dataset(read_config(file), None)
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
