"""Mistakes of a new user of the command, and errors that say how to go on; those in Python: test_leading_calls.py."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promptpress_workbench.cli import main

SAMPLES = pa.table({"question": ["1+1?", "2+2?"], "answer": ["2", "4"]})
READER = {"input_columns": ["question"], "output_column": "answer"}
TURNS = [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]
TEMPLATE = {"type": "PromptTemplate", "template": {"round": TURNS}}
PLAIN = {"prompt_template": TEMPLATE, "retriever": {"type": "ZeroRetriever"}, "reader": READER}
ICE = {"type": "PromptTemplate", "template": "{question} {answer}\n"}
SHOT = {"type": "PromptTemplate", "template": "</E>{question} {answer}", "ice_token": "</E>"}
SHOTS = {
    "ice_template": ICE,
    "prompt_template": SHOT,
    "retriever": {"type": "FixKRetriever", "fix_id_list": [0]},
    "reader": READER,
}
DATASET = {
    "abbr": "sums",
    "reader_cfg": READER,
    "infer_cfg": {
        "prompt_template": TEMPLATE,
        "retriever": {"type": "ZeroRetriever"},
        "inferencer": {"type": "GenInferencer"},
    },
}


def without(value: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key not in keys}


def infer(*left_out: str, **more: Any) -> dict[str, Any]:
    return {**DATASET, "infer_cfg": {**without(DATASET["infer_cfg"], *left_out), **more}}


FILES: dict[str, Any] = {
    "config.json": PLAIN,
    "shots.json": SHOTS,
    "no_reader.json": without(SHOTS, "reader"),
    "misspelt.json": {**without(PLAIN, "prompt_template"), "promt_template": TEMPLATE},
    "misspelt_key.json": {**PLAIN, "ice_templte": ICE},
    "misspelt.py": "promt_template = dict(type='PromptTemplate', template='x')\n",
    "infer.json": infer("prompt_template", promt_template=TEMPLATE),
    "infer_cg.json": {"reader_cfg": READER, "infer_cg": DATASET["infer_cfg"]},
    "datasts.json": {"datasts": [DATASET]},
    "dataset.json": DATASET,
    "template.json": TEMPLATE,
    "dialogue.json": {"round": TURNS},
    "empty.yaml": "",
    "none.json": [],
    "call.py": "def make():\n    return 1\ndatasets = make()\n",
    "call_infer.py": "from somewhere import get\ninfer_cfg = get()\nreader_cfg = dict(input_columns=['q'])\n",
    "bare.yaml": "prompt_template: {question}\n",
    "turn.yaml": "prompt_template:\n  template:\n    round:\n      - role: HUMAN\n        prompt: {question}\n",
    "text.yaml": "prompt_template: {question} and more\n",
    "colon.yaml": "prompt_template:\n  template: Q: {question}\n",
    "tab.yaml": "prompt_template:\n\ttemplate: x\n",
    "quoted.yaml": "prompt_template: '{question}'\nreader: {output_column: answer}\nnames: {}\n",
    "array.jsonl": '[{"question": "a"}]',
    "lines.jsonl": '[\n{"question": "a"}\n]',
    "table.xlsx": "PK",
}
FILES |= {
    "fake.arrow": '{"question": "a"}\n',
    "other.jsonl": '{"q": "a"}\n',
    "model.json": {"meta_templte": {"round": []}},
    "api.json": {"type": "OpenAI", "model": "gpt"},
    "base.py": "from mmengine.config import read_base\nwith read_base():\n    from .nosuch import datasets\n",
    "text.toml": "[prompt_template]\ntype = PromptTemplate\n",
}
RENDER = ["--data", "data.parquet", "--out", "out.jsonl"]
COMMANDS = {
    # what was done: (the command line, words of the error, in order)
    "no examples": (["render", "shots.json", *RENDER], "examples: none are given, FixKRetriever --examples FILE"),
    "a misspelt option hides another": (
        ["render", "config.json", "--dta", "data.parquet", "--out", "o.jsonl"],
        "--dta: no such option; did you mean --data?",
    ),
    "a misspelt option of two": (
        ["render", "config.json", "--data", "data.parquet", "--ouput", "o.jsonl"],
        "--ouput: no such option; did you mean --output or --out?",
    ),
    "a misspelt option with =": (
        ["render", "config.json", *RENDER, "--kep=a"],
        "--kep: --keep promptpress render --help",
    ),
    "one dash": (["render", "config.json", "-data", "data.parquet"], "-data: no such option; did you mean --data?"),
    "a misspelt option of verify": (
        ["verify", "config.json", "--dat", "x"],
        "--dat: no such option; did you mean --data?",
    ),
    "an option of nothing": (["render", "config.json", *RENDER, "--zzz"], "--zzz: no such option (see"),
    "a misspelt command": (["rendr", "config.json", *RENDER], "'rendr' did you mean 'render'?"),
    "a misspelt option of no command": (["--versoin"], "--versoin: no such option; did you mean --version?"),
    "samples without an option": (["render", "config.json", "data.parquet"], "data.parquet: samples come with --data"),
    "no Arrow": (
        ["render", "config.json", "--data", "fake.arrow", "--out", "o.jsonl"],
        "fake.arrow: neither an Arrow file nor a stream --data-format",
    ),
    "a misspelt meta template": (
        ["render", "config.json", *RENDER, "--model", "model.json"],
        "model.json: meta_templte: unknown; did you mean 'meta_template'?",
    ),
    "a base that isn't there": (["render", "base.py", *RENDER], "datasets: base.py:3: import from '.nosuch'"),
    "TOML without quotes": (["render", "text.toml", *RENDER], "not valid TOML: a text is quoted"),
    "examples of other columns": (
        ["render", "shots.json", *RENDER, "--examples", "other.jsonl"],
        'reader.output_column: the examples have no column "answer"; they have "q"',
    ),
    "no command": (["config.json", *RENDER], "did you mean: promptpress render config.json ...?"),
    "no folder for the output": (
        ["render", "config.json", "--data", "data.parquet", "--out", "no/such/o.jsonl"],
        "no/such/o.jsonl: No such file or directory (there is no folder 'no')",
    ),
    "a folder as the output": (
        ["render", "config.json", "--data", "data.parquet", "--out", "."],
        ".: a folder name a file",
    ),
    "a remote output": (
        ["render", "config.json", "--data", "data.parquet", "--out", "s3://bucket/o.jsonl"],
        "s3://bucket/o.jsonl: output goes to local files",
    ),
    "an option of another format": (
        ["render", "config.json", *RENDER, "--compression", "zstd"],
        "JSON lines --compression",
    ),
    "a misspelt dialect": (
        ["render", "config.json", *RENDER, "--dialect", "opencomapss"],
        "did you mean 'opencompass'?",
    ),
    "a misspelt output": (["render", "config.json", *RENDER, "--output", "mesages"], "did you mean 'messages'?"),
    "a misspelt mode": (["render", "config.json", *RENDER, "--mode", "ppll"], "did you mean 'ppl'?"),
    "a misspelt file of samples": (
        ["render", "config.json", "--data", "dta.parquet", "--out", "o.jsonl"],
        "dta.parquet: No such file or directory; did you mean data.parquet?",
    ),
    "a misspelt configuration": (["render", "confg.json", *RENDER], "did you mean config.json?"),
    "a misspelt Python configuration": (["render", "cal.py", *RENDER], "did you mean call.py?"),
    "a folder that isn't there": (["render", "configs/a.json", *RENDER], "(there is no folder 'configs')"),
    "a pattern without files": (
        ["render", "config.json", "--data", "x*.parquet", "--out", "o.jsonl"],
        "no file matches",
    ),
    "samples as a table of another program": (
        ["render", "config.json", "--data", "table.xlsx", "--out", "o.jsonl"],
        "'.xlsx' is none of .parquet, save it as CSV, --data-format says the format",
    ),
    "one object as samples": (
        ["render", "config.json", "--data", "config.json", "--out", "o.jsonl"],
        "config.json: holds an object, an array of objects is wanted; --data-format jsonl",
    ),
    "a folder of several formats": (
        ["render", "config.json", "--data", ".", "--out", "o.jsonl"],
        ".: a folder with files of several formats jsonl --data-format says which",
    ),
    "standard input without a format": (
        ["render", "config.json", "--data", "-", "--out", "o.jsonl"],
        "standard input has no suffix; --data-format says",
    ),
    "a configuration at an address": (
        ["render", "https://host/config.json", *RENDER],
        "https://host/config.json: a configuration is a local file",
    ),
    "output that only is read": (
        ["render", "config.json", "--data", "data.parquet", "--out", "o.jsonl.bz2"],
        "o.jsonl.bz2: bz2 is read, but not written; .gz and .zst are",
    ),
    "Parquet that is packed twice": (
        ["render", "config.json", "--data", "data.parquet", "--out", "o.parquet.gz"],
        "o.parquet.gz: --compression; leave out .gz",
    ),
    "an array in a line": (
        ["render", "config.json", "--data", "array.jsonl", "--out", "o.jsonl"],
        "a list one object a line",
    ),
    "an array over lines": (
        ["render", "config.json", "--data", "lines.jsonl", "--out", "o.jsonl"],
        ":1: one object a line",
    ),
    "samples first": (["render", "data.parquet", *RENDER], "data.parquet: a configuration is samples come with --data"),
    "a configuration that calls": (
        ["render", "call.py", *RENDER],
        "call.py:3: call of make() promptpress.Renderer.from_config",
    ),
    "one whose part is a call": (
        ["render", "call_infer.py", *RENDER],
        "infer_cfg: call_infer.py:2: call of get() from_config",
    ),
    "a misspelt template": (
        ["render", "misspelt.json", *RENDER],
        "did you mean 'prompt_template' by 'promt_template'?",
    ),
    "a misspelt template beside one": (
        ["render", "misspelt_key.json", *RENDER],
        "ice_templte: did you mean 'ice_template'?",
    ),
    "a misspelt template in Python": (["render", "misspelt.py", *RENDER], "did you mean 'prompt_template' by"),
    "a misspelt template of a dataset": (
        ["render", "infer.json", *RENDER],
        "infer_cfg.promt_template: 'prompt_template'?",
    ),
    "a misspelt infer_cfg": (["render", "infer_cg.json", *RENDER], "did you mean 'infer_cfg' by 'infer_cg'?"),
    "a misspelt list": (["render", "datasts.json", *RENDER], "did you mean 'datasets' by 'datasts'?"),
    "a template by itself": (["render", "template.json", *RENDER], '{"prompt_template": {...}}'),
    "a dialogue by itself": (["render", "dialogue.json", *RENDER], '{"prompt_template": {...}}'),
    "nothing": (["render", "empty.yaml", *RENDER], "empty.yaml: holds nothing"),
    "no datasets": (["render", "none.json", *RENDER], "'datasets' is empty"),
    "a dataset by another name": (
        ["render", "dataset.json", *RENDER, "--dataset", "x"],
        "--dataset x: one dataset, 'sums'",
    ),
    "YAML without quotes": (
        ["render", "bare.yaml", *RENDER],
        "bare.yaml:1: {question} is a mapping quote '{question}'",
    ),
    "YAML without quotes in a turn": (["render", "turn.yaml", *RENDER], "turn.yaml:5: {question} quote '{question}'"),
    "YAML that goes on": (["render", "text.yaml", *RENDER], "text.yaml:1: not valid YAML a brace quoted"),
    "YAML with a colon": (["render", "colon.yaml", *RENDER], "colon.yaml:2: not valid YAML ': ' quoted"),
    "YAML with a tab": (["render", "tab.yaml", *RENDER], "tab.yaml:2: not valid YAML by spaces"),
    "examples without a reader": (
        ["render", "no_reader.json", *RENDER, "--examples", "data.parquet"],
        "no_reader.json: reader.output_column: examples need it output_column: reader_cfg",
    ),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, value in FILES.items():
        (tmp_path / name).write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    pq.write_table(SAMPLES, tmp_path / "data.parquet")
    return tmp_path


def has_words(text: str, words: str) -> bool:
    """Return true if all words stand in a text, in this order."""
    return re.search(".*".join(map(re.escape, words.split())), text, re.DOTALL) is not None


@pytest.mark.parametrize("name", COMMANDS)
def test_commands(folder: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    arguments, words = COMMANDS[name]
    assert main(arguments) in {2, 3, 4, 5}
    error = capsys.readouterr().err
    assert has_words(error, words), error
    assert error.count("\n") == 1
    assert not (folder / "out.jsonl").exists()


@pytest.mark.usefixtures("folder")
def test_what_is_no_mistake() -> None:
    assert main(["render", "quoted.yaml", *RENDER, "--keep", "answer"]) == 0
    assert main(["render", "config.json", "--data", "data.parquet", "--out", "-", "--quiet"]) == 0
    assert main(["render", "dataset.json", *RENDER, "--dataset", "sums"]) == 0
    assert main(["render", "config.json", *RENDER, "--model", "api.json"]) == 0
    assert main(["render", "config.json", "--data", "data.parquet", "--out", "o.jsonl", "--compression", "none"]) == 0


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("path", ["hf://datasets/a/b.parquet", "https://host/b.parquet", "s3://bucket/b.parquet"])
def test_remote_samples(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    class ConnectError(Exception):
        """An error that a client library raises."""

    def unreachable(*_: Any, **__: Any) -> None:
        raise ConnectError("Name or service not known")

    fsspec = pytest.importorskip("fsspec", reason="fsspec isn't installed")
    monkeypatch.setattr(fsspec.core, "url_to_fs", unreachable)
    assert main(["render", "config.json", "--data", path, "--out", "o.jsonl"]) == 4
    error = capsys.readouterr().err
    assert has_words(error, f"{path}: can't be read from there ConnectError Name or service not known download it"), (
        error
    )


@pytest.mark.usefixtures("folder")
def test_an_error_that_is_no_fault_of_a_file_stays_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(pq, "ParquetFile", broken)
    assert main(["render", "config.json", *RENDER]) == 1


@pytest.mark.usefixtures("folder")
def test_the_dialects_of_the_command_are_the_core_s(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(pp.TemplateError) as raised:
        pp.Renderer("x", dialect="none")
    dialects = str(raised.value).partition("is not one of ")[2].split(", ")
    main(["render", "config.json", *RENDER, "--dialect", "none"])
    assert re.findall(r"\w+", capsys.readouterr().err.partition("choose from ")[2].partition(")")[0]) == dialects


def test_help_of_the_other_command() -> None:
    for option in ("--help", "-h"):
        done = subprocess.run(
            [sys.executable, "-m", "promptpress.run", option], capture_output=True, text=True, check=True
        )
        assert has_words(
            done.stdout,
            "usage: promptpress-run COMMAND PROMPTPRESS_BACKEND=opencompass,aisbench,lm_eval PYTHONPATH --install .pth",
        )
    done = subprocess.run([sys.executable, "-m", "promptpress.run", "-x"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert has_words(done.stderr, "-x: no such option usage:")
