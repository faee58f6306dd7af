"""The choice of a dict in a configuration file, and the formats JSON, YAML and TOML."""

from __future__ import annotations

from pathlib import Path

import pytest
from generators.config_texts import write
from promptpress._errors.file_errors import ConfigError, FileError
from promptpress_harness.configs.config_file import read_config
from promptpress_harness.configs.selection import choose_dataset, choose_model


class TestChoice:
    """The choice of a dataset and of a model."""

    def datasets(self, folder: Path, *templates: str) -> str:
        entries = "".join(
            f"dict(abbr='d{i}', infer_cfg=dict(prompt_template={t!r}), reader_cfg=dict(input_columns='q')),"
            for i, t in enumerate(templates)
        )
        return write(folder, "config.py", f"a_datasets = [{entries}]")

    def test_several_need_a_name(self, tmp_path: Path) -> None:
        config = read_config(self.datasets(tmp_path, "{q}", "Q: {q}"))
        with pytest.raises(ConfigError, match=r"holds 2 datasets .*; dataset= says which: 'd0', 'd1'"):
            choose_dataset(config, None)
        dataset = choose_dataset(config, "d1").dataset
        assert dataset is not None
        assert dataset["infer_cfg"]["prompt_template"] == "Q: {q}"
        with pytest.raises(ConfigError, match="did you mean 'd1'"):
            choose_dataset(config, "d11")
        with pytest.raises(ConfigError, match="has no such dataset; it has 'd0', 'd1'"):
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
            ("c.json", '{"prompt_template": "x", "examples": []}', "examples= brings them"),
            ("c.json", '{"template": ["x"]}', "holds no prompt configuration"),
            ("c.yaml", "task: t\ndoc_to_text: x\n", "; a task of lm-evaluation-harness is for the commands render and"),
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

    @pytest.mark.parametrize(
        ("name", "text"), [("a.json", '{"prompt_template": %s}' % ("9" * 5000)), ("a.yaml", "x: 2020-13-45")]
    )
    def test_a_value_that_is_none(self, tmp_path: Path, name: str, text: str) -> None:
        with pytest.raises(ConfigError, match=name):
            read_config(write(tmp_path, name, text))

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
        with pytest.raises(ConfigError, match=r"\.json, \.yaml, \.yml, \.toml or \.py"):
            read_config(str(tmp_path / "c.ini"))

    @pytest.mark.parametrize("name", ["c.json", "c.py"])
    def test_no_file(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(ConfigError, match="No such file or directory"):
            read_config(str(tmp_path / name))
        (tmp_path / name).mkdir()
        with pytest.raises(FileError, match="Is a directory"):
            read_config(str(tmp_path / name))
