"""The command tells notes, makes them errors, or hides them."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promptpress_workbench.cli import main
from promptpress_workbench.cli.errors import ExitCode

SLIP = {"prompt_template": "Q: {questoin}", "reader": {"input_columns": ["question", "hint"]}}
RIGHT = {"prompt_template": "Q: {question}"}
INFO = {"prompt_template": {"round": [{"role": "SYSTEM", "prompt": ""}, {"role": "HUMAN", "prompt": "{question}"}]}}
PLACEHOLDER = "prompt_template: '{questoin}' names no column, so it stays in every prompt as it is; "
PLACEHOLDER += "did you mean '{question}'?"
INPUT = "reader.input_columns[1]: the samples have no column 'hint'; the samples have 'question', 'answer'"
SHOTS = {
    "prompt_template": {"type": "PromptTemplate", "template": "</E>{question}", "ice_token": "</E>"},
    "ice_template": "{question} {answer}",
    "retriever": {"type": "FixKRetriever", "fix_id_list": [0]},
    "reader": {"output_column": "answer"},
}


@pytest.fixture
def command(tmp_path, capsys):
    """Run the command on a configuration: exit code, lines on standard error but for the summary, and the output."""
    for name in ("data", "train"):
        pq.write_table(pa.table({"question": ["1+1=?"], "answer": ["2"]}), tmp_path / f"{name}.parquet")

    def run(config, *options):
        (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
        out = tmp_path / "out.parquet"
        out.unlink(missing_ok=True)
        arguments = [str(tmp_path / option) if option.endswith(".parquet") else option for option in options]
        data = ["--data", str(tmp_path / "data.parquet"), "--out", str(out)]
        code = main(["render", str(tmp_path / "config.json"), *data, *arguments])
        lines = [line for line in capsys.readouterr().err.splitlines() if " of prompts in " not in line]
        return code, lines, pq.read_table(out)["prompt"].to_pylist() if out.exists() else None

    return run


def test_notes_are_printed_and_change_no_prompt(command):
    code, lines, prompts = command(SLIP)
    assert (code, prompts) == (ExitCode.OK, ["Q: {questoin}"])
    assert lines == [f"promptpress: note: {PLACEHOLDER}", f"promptpress: note: {INPUT}"]
    assert command(RIGHT) == (ExitCode.OK, [], ["Q: 1+1=?"])


def test_quiet_hides_them(command):
    assert command(SLIP, "--quiet") == (ExitCode.OK, [], ["Q: {questoin}"])


def test_strict_makes_them_errors_before_anything_is_written(command):
    error = f"promptpress: error: {PLACEHOLDER} (--strict, and 1 more)"
    assert command(SLIP, "--strict") == (ExitCode.CONFIGURATION, [f"promptpress: note: {INPUT}", error], None)
    assert command(SLIP, "--strict", "--quiet") == (ExitCode.CONFIGURATION, [error], None)
    assert command(RIGHT, "--strict") == (ExitCode.OK, [], ["Q: 1+1=?"])
    expected = f"promptpress: error: {PLACEHOLDER} (--strict)"
    slip = {"prompt_template": "Q: {questoin}", "unknown": "keep"}
    assert command(slip, "--strict") == (ExitCode.CONFIGURATION, [expected], None)


def test_a_mistake_is_an_error_where_nothing_of_a_harness_is_given(command):
    slip = {"prompt_template": "Q: {questoin}"}
    expected = f"promptpress: error: {PLACEHOLDER} (--unknown keep writes the prompts all the same)"
    assert command(slip) == command(slip, "--quiet") == (ExitCode.CONFIGURATION, [expected], None)
    kept = ExitCode.OK, [f"promptpress: note: {PLACEHOLDER}"], ["Q: {questoin}"]
    assert command(slip, "--unknown", "keep") == command({**slip, "unknown": "keep"}) == kept
    assert command(SLIP, "--unknown", "refuse", "--substitution", "single_pass")[0] == ExitCode.CONFIGURATION


def test_what_may_be_intended_is_no_error(command):
    code, (line,), prompts = command(INFO)
    assert (code, prompts) == (ExitCode.OK, ["\n1+1=?"])
    assert line == "promptpress: note: prompt_template.round[0]: the turn of 'SYSTEM' has no text; " + (
        "give it a prompt, or leave the turn out"
    )
    assert command(INFO, "--strict")[0] == ExitCode.OK


def test_examples_from_the_file_of_the_samples(command):
    code, (line,), _ = command(SHOTS, "--examples", "data.parquet")
    assert code == ExitCode.OK
    assert line.startswith("promptpress: note: examples: the examples are the samples' own table")
    assert command(SHOTS, "--examples", "data.parquet", "--strict")[0] == ExitCode.CONFIGURATION
    assert command(SHOTS, "--examples", "train.parquet", "--strict")[0] == ExitCode.OK


DATASET = {
    "infer_cfg": {
        "prompt_template": {"type": "PromptTemplate", "template": "{question}"},
        "retriever": {"type": "ZeroRetriever"},
        "inferencer": {"type": "GenInferencer"},
    }
}
MISSPELT = {**DATASET["infer_cfg"], "inferencer": {"type": "PPLInferencr"}}


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({"infer_cfg": MISSPELT}, "infer_cfg.inferencer.type: 'PPLInferencr'"),
        ({"datasets": [DATASET], "models": [{"type": "VLLM", "meta_templat": {}}]}, "model_cfg.meta_templat: ignored"),
        ({"datasets": [DATASET], "models": [{"type": "VLLMwithChatTemplat"}]}, "model_cfg.type: 'VLLMwithChatTemplat'"),
    ],
)
def test_strict_takes_what_a_harnesss_configuration_is_warned_of(command, config, path):
    code, lines, prompts = command(config)
    assert (code, prompts) == (ExitCode.OK, ["1+1=?"])
    assert lines[0].startswith(f"promptpress: note: {path}")
    for more in ([], ["--quiet"]):
        code, (*_, line), prompts = command(config, "--strict", *more)
        assert (code, prompts) == (ExitCode.CONFIGURATION, None)
        assert line.startswith(f"promptpress: error: {path}")
        assert "(--strict" in line


def test_strict_lets_pass_what_is_no_mistake(command):
    config = {"datasets": [DATASET], "models": [{"type": "VLLM", "max_seq_len": 2048}]}
    for options, notes in (([], 1), (["--strict"], 1), (["--strict", "--quiet"], 0)):
        code, lines, prompts = command(config, *options)
        assert (code, prompts, len(lines)) == (ExitCode.OK, ["1+1=?"], notes)


def test_an_error_does_not_hide_the_slips_before_it(command):
    config = {"infer_cfg": {**MISSPELT, "retriever": {"type": "TopkRetriever"}}}
    code, (note, error), _ = command(config, "--strict")
    assert code == ExitCode.CONFIGURATION
    assert note.startswith("promptpress: note: infer_cfg.inferencer.type: 'PPLInferencr'")
    assert "TopkRetriever" in error
