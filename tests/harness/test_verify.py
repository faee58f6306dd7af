"""`promptpress verify` over configurations as the harnesses ship them, on small tables."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promptpress.cli import main
from promptpress.cli.errors import ExitCode

QUESTIONS = {"question": ["1+1=?", "{answer} or {question}?", "", "é\n中文"], "answer": ["2", "x{question}", "", "ü"]}
CHOICES = {
    "input": ["Which?", "{target}: {A}?", "", "中"],
    "A": ["a", "{B}", "", "甲"],
    "B": ["b", "{{A}}", "", "乙"],
    "C": ["c", "C", "", "丙"],
    "D": ["d", "D", "", "丁"],
    "target": ["A", "B", "C", "D"],
}
OPENCOMPASS = {
    # name: (file below the harness's configs/datasets, dataset, model, columns)
    "gen": ("gsm8k/gsm8k_gen_1d7fe4.py", None, None, QUESTIONS),
    "gen, chat model": ("gsm8k/gsm8k_gen_1d7fe4.py", None, "chat", QUESTIONS),
    "gen, language model": ("gsm8k/gsm8k_gen_1d7fe4.py", None, "text", QUESTIONS),
    "five shots": ("mmlu/mmlu_gen_4d595a.py", "lukaemon_mmlu_anatomy", "text", CHOICES),
    "five shots, chat model": ("mmlu/mmlu_gen_4d595a.py", "lukaemon_mmlu_anatomy", "chat", CHOICES),
    "ppl": ("mmlu/mmlu_ppl_ac766d.py", "lukaemon_mmlu_anatomy", None, CHOICES),
    "ppl of dialogues": (
        "piqa/piqa_ppl_1cf9f0.py",
        None,
        "text",
        {"goal": ["g", "{sol1}"], "sol1": ["1", "{sol2}"], "sol2": ["2", "{goal}"], "answer": ["A", "B"]},
    ),
    "raw messages": (
        "mmlu/mmlu_llmjudge_rawprompt_gen_af67f0.py",
        "lukaemon_mmlu_anatomy",
        None,
        CHOICES,
    ),
}
AISBENCH = {
    "gen": ("gsm8k/gsm8k_gen_0_shot_cot_str.py", None, None, QUESTIONS),
    "gen, chat model": ("gsm8k/gsm8k_gen_4_shot_cot_chat_prompt.py", None, "vllm_api/vllm_api_general_chat.py", QUESTIONS),
    "ppl": (
        "piqa/piqa_ppl_0_shot_str.py",
        None,
        None,
        {"goal": ["g", "{sol1}"], "sol1": ["1", "{sol2}"], "sol2": ["2", "{goal}"], "answer": ["A", "B"]},
    ),
    "shots": (
        "race/race_middle_gen_5_shot_chat.py",
        None,
        "vllm_api/vllm_api_general_chat.py",
        {**{k: v for k, v in CHOICES.items() if len(k) == 1}, "article": ["t"] * 4, "question": ["q{A}"] * 4,
         "answer": ["A", "B", "C", "D"]},
    ),
}  # fmt: skip
MODELS = {
    "chat": {"type": "HuggingFacewithChatTemplate", "path": "none"},
    "text": {
        "type": "HuggingFaceCausalLM",
        "path": "none",
        "meta_template": {
            "round": [
                {"role": "HUMAN", "begin": "<|user|>", "end": "\n"},
                {"role": "BOT", "begin": "<|bot|>", "end": "\n", "generate": True},
            ]
        },
    },
}


class Folder:
    """Files for one run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def table(self, name: str, columns: dict[str, list]) -> str:
        pq.write_table(pa.table(columns), self.path / name)
        return str(self.path / name)

    def json(self, name: str, value: object) -> str:
        (self.path / name).write_text(json.dumps(value), encoding="utf-8")
        return str(self.path / name)

    def python(self, name: str, source: str) -> str:
        (self.path / name).write_text(source, encoding="utf-8")
        return str(self.path / name)


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def run(harness, folder, case, *options):
    path, dataset, model, columns = case
    configs = Path(harness.__file__).parent / "configs"
    arguments = [str(configs / "datasets" / path), "--data", folder.table("test.parquet", columns)]
    shots = {name: values * 10 for name, values in columns.items()}
    arguments += ["--examples", folder.table("train.parquet", shots)]
    if dataset is not None:
        arguments += ["--dataset", dataset]
    if model is not None:
        arguments += ["--model", folder.json("model.json", MODELS[model]) if model in MODELS else
                      str(configs / "models" / model)]  # fmt: skip
    return main(["verify", *arguments, *options])


@pytest.mark.parametrize("name", OPENCOMPASS)
def test_opencompass_as_shipped(opencompass, folder, capsys, name):
    assert run(opencompass, folder, OPENCOMPASS[name]) == ExitCode.OK
    rows = len(next(iter(OPENCOMPASS[name][3].values())))
    out = capsys.readouterr().out
    assert f" of {rows} rows: equal (opencompass 0.5.4, " in out
    assert "refused" not in out


@pytest.mark.parametrize("name", AISBENCH)
def test_aisbench_as_shipped(aisbench, folder, capsys, name):
    assert run(aisbench, folder, AISBENCH[name]) == ExitCode.OK
    rows = len(next(iter(AISBENCH[name][3].values())))
    out = capsys.readouterr().out
    assert f" of {rows} rows: equal (ais-bench-benchmark 3.1.20260630, " in out
    assert "refused" not in out
