"""Rows that TRL and Axolotl prepare of conversations, compared by `diff` with what promptpress makes of the same ones.

Both run their own code with the templates that they bring. Each group of differences has a cause, which is that of the
trainer's way: TRL trains by a template of its own, Axolotl trains contents and the token that ends a turn.
"""

from __future__ import annotations

import abc
import bisect
import contextlib
import importlib
import json
import logging
import typing
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import promptpress as pp
import pytest
from parts.foreign_code import definitions
from promptpress_workbench.cli import main

pytest.importorskip("transformers")
datasets = pytest.importorskip("datasets")
jinja2 = pytest.importorskip("jinja2")
from parts.training_templates import folder, tokenizer_of  # noqa: E402 - needs transformers

QUESTIONS = [{"role": "user", "content": f"{n}+1?"} for n in range(3)]
ANSWERS = [{"role": "assistant", "content": f"It is {n + 1}."} for n in range(3)]
PLAIN: list[Any] = [[QUESTIONS[n], ANSWERS[n]] for n in range(3)]
LONGER: list[Any] = [PLAIN[0] + PLAIN[1], PLAIN[0] + PLAIN[1] + PLAIN[2]]
THOUGHT: list[Any] = [message | {"reasoning_content": "One more."} for message in ANSWERS]
REASONED: list[Any] = [[QUESTIONS[0], THOUGHT[0]], [QUESTIONS[0], THOUGHT[0], QUESTIONS[1], THOUGHT[1]]]
TALKS = [*PLAIN, *LONGER]
TRL, AXOLOTL = ("trl", "chat_templates"), ("axolotl", "utils/chat_templates/templates")
Groups = dict[str, tuple[str, int]]


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    logging.getLogger("test").setLevel(logging.ERROR)
    datasets.disable_progress_bars()


def template(name: str, package: tuple[str, str] = TRL) -> str:
    return (folder(*package) / f"{name}.jinja").read_text(encoding="utf-8")


def compared(
    prepared: Any, tokenizer: Any, rows: list[Any], capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[dict[str, Any], Groups]:
    """Compare rows with those of the tokenizer's chat template; return the result, and groups by description."""
    tokenizer.save_pretrained("model")
    prepared.to_parquet("prepared.parquet")
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    model = ("--chat-template", "model", "--tokenizer", "model", "--data", "rows.jsonl")
    capsys.readouterr()
    code = main(["diff", "prepared.parquet", *model, *options, "--json"])
    result = json.loads(capsys.readouterr().out)
    assert code == bool(result["groups"])
    assert (result["compared"], result["errors_a"], result["errors_b"]) == (len(rows), 0, 0)
    return result, {group["description"]: (group["cause"], group["rows"]) for group in result["groups"]}


def names_of_trl() -> dict[str, Any]:
    data_utils = importlib.import_module("trl.data_utils")
    names = ("get_dataset_column_names", "is_conversational", "is_conversational_from_value", "maybe_convert_to_chatml")
    return {
        **{name: getattr(data_utils, name) for name in (*names, "_tokenize", "common_prefix_length", "extract_prompt")},
        **{name: getattr(datasets, name) for name in ("Dataset", "IterableDataset")},
        "global_then_local_main_first": contextlib.nullcontext,
        "logger": SimpleNamespace(warning=print, warning_once=print),
        "json": json,
    }


def of_trl(rows: list[Any], source: str, *, masks_assistants: bool, **options: Any) -> tuple[Any, Any]:
    """Prepare rows as TRL's `SFTTrainer` does; return them and the tokenizer."""
    [prepare] = definitions("trl", "trainer/sft_trainer.py", ["SFTTrainer._prepare_dataset"], names_of_trl())
    tokenizer = tokenizer_of(source)
    tokenizer.chat_template = source
    training = importlib.import_module("trl.chat_template_utils")
    trainer = SimpleNamespace(
        completion_only_loss="completion" in rows[0],
        chat_template=training.get_training_chat_template(tokenizer) if masks_assistants else None,
        _tokenizer=tokenizer,
    )
    given = {"max_length": None, "truncation_mode": "keep_start", **options}
    constant = {"dataset_num_proc": None, "dataset_text_field": "text", "shuffle_dataset": False}
    arguments = SimpleNamespace(**constant, assistant_only_loss=masks_assistants, **given)
    return prepare(trainer, datasets.Dataset.from_list(rows), tokenizer, arguments, False, None, "train"), tokenizer


class Settings(dict[str, Any]):
    """A configuration of Axolotl, in which what isn't set is None."""

    __getattr__ = dict.get


def of_axolotl(
    rows: list[Any], source: str, served: str, eos_token: str, eot_tokens: list[str] | None = None, **options: Any
) -> tuple[Any, Any]:
    """Prepare rows by Axolotl's `type: chat_template` and one of its templates; return them and a served tokenizer."""
    namespace: dict[str, Any] = {
        **{name: getattr(typing, name) for name in typing.__all__},
        **{name: getattr(bisect, name) for name in ("bisect_left", "bisect_right")},
        **{"json": json, "abc": abc, "defaultdict": defaultdict, "Environment": jinja2.Environment},
        **{name: importlib.import_module(f"jinja2.{name}") for name in ("meta", "nodes")},
        "Extension": importlib.import_module("jinja2.ext").Extension,
        **{"LOG": logging.getLogger("test"), "IGNORE_TOKEN_ID": -100, "Prompter": object, "__name__": "axolotl"},
    }
    analyzer = ["JinjaTemplateAnalysis", "GenerationTagIgnore", "JinjaTemplateAnalyzer"]
    definitions("axolotl", "prompt_strategies/jinja_template_analyzer.py", analyzer, namespace)
    definitions("axolotl", "utils/dict.py", ["remove_none_values"], namespace)
    definitions("axolotl", "prompt_tokenizers.py", ["PromptTokenizingStrategy"], namespace)
    names = [
        "_extract_input_ids",
        "ChatTemplatePrompter",
        "ChatTemplateStrategy",
        "StrategyLoader._get_strategy_params",
    ]
    _, prompter, strategy, parameters = definitions("axolotl", "prompt_strategies/chat_template.py", names, namespace)
    tokenizer = tokenizer_of(source, served, eos_token=eos_token)
    tokenizer.chat_template = served
    settings = Settings(train_on_inputs=False, sequence_len=2048, eot_tokens=eot_tokens)
    made = strategy(
        prompter(tokenizer, source, max_length=2049), tokenizer=tokenizer, **parameters(None, settings, options)
    )
    dataset = datasets.Dataset.from_list(rows)
    return dataset.map(made.tokenize_prompt, batched=True, remove_columns=dataset.column_names), tokenizer


def conversations(talks: list[Any]) -> list[Any]:
    return [{"messages": talk} for talk in talks]


BLANKS = {"trained only in A: ↵, after <|im_end|>": ("blanks after a turn", 5)}
EMPTY = "<think>↵↵</think>↵↵, after <|im_start|>assistant↵"
MASKS: list[tuple[str, list[Any], str, Groups]] = [
    ("llama3", TALKS, "assistant+end", {}),
    ("gemma", TALKS, "assistant+turn", {}),
    ("gemma3", TALKS, "assistant+end", {"trained only in A: ↵, after <end_of_turn>": ("blanks after a turn", 5)}),
    ("gemma3", TALKS, "assistant+turn", {}),
    ("qwen2_5", TALKS, "assistant+turn", {"trained only in A: ↵, after <|im_start|>assistant": ("header", 5)}),
    # TRL's template keeps the thoughts of all turns, and trains empty ones.
    (
        "qwen3",
        TALKS,
        "assistant+end",
        {
            **BLANKS,
            f"trained only in A: {EMPTY}": ("think block", 5),
            f"only in A: {EMPTY}": ("think block", 2),
        },
    ),
    ("qwen3", REASONED[:1], "assistant+turn", {}),
    (
        "qwen3",
        REASONED,
        "assistant+turn",
        {"only in A: <think>…</think>↵↵, after <|im_start|>assistant↵": ("think block", 1)},
    ),
    (
        "deepseek_r1_distill",
        TALKS,
        "assistant+end",
        {
            "trained only in A: <\uff5cAssistant\uff5c>, in the text after <\uff5cUser\uff5c>": ("header", 5),
        },
    ),
    (
        "phi3",
        TALKS,
        "assistant+end",
        {
            "trained only in A: ↵</s>, after <|end|>": ("end of a turn", 5),
            "trained only in A: ↵, after <|end|>": ("blanks after a turn", 2),
        },
    ),
    (
        "glm4moe",
        PLAIN,
        "assistant+end",
        {
            "only in A: <|user|>, at the end, in the text after </think>↵": ("header", 3),
            "trained only in A: ↵<think></think>↵, after <|assistant|>": ("think block", 3),
        },
    ),
    (
        "gptoss",
        PLAIN,
        "assistant+end",
        {
            "trained only in A: <|start|>assistant<|channel|>…<|message|>, after <|end|>": ("header", 3),
        },
    ),
]


@pytest.mark.parametrize(("name", "talks", "mask", "groups"), MASKS)
def test_assistants_of_trl(
    name: str, talks: list[Any], mask: str, groups: Groups, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = conversations(talks)
    prepared, tokenizer = of_trl(rows, template(name), masks_assistants=True)
    assert compared(prepared, tokenizer, rows, capsys, "--mask", mask, "--reasoning")[1] == groups


COMPLETIONS: list[tuple[str, str, Groups]] = [
    ("llama3_1", "assistant+end", {}),
    ("gemma", "assistant+turn", {}),
    ("qwen2_5", "assistant+end", BLANKS),
    ("qwen2_5", "assistant+turn", {}),
    ("qwen3", "assistant+turn", {f"trained only in A: {EMPTY}": ("think block", 5)}),
    ("deepseek_r1_distill", "assistant+end", {}),
]


@pytest.mark.parametrize(("name", "mask", "groups"), COMPLETIONS)
def test_completions_of_trl(name: str, mask: str, groups: Groups, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"prompt": talk[:-1], "completion": talk[-1:]} for talk in TALKS]
    prepared, tokenizer = of_trl(rows, template(name), masks_assistants=False)
    assert compared(prepared, tokenizer, rows, capsys, "--mask", mask)[1] == groups


@pytest.mark.parametrize(
    ("options", "groups"),
    [
        ({"max_length": 40}, {"A ends earlier: its text is cut off": ("truncation", 2)}),
        (
            {"max_length": 12, "truncation_mode": "keep_end"},
            {"A begins later: its beginning is cut off": ("truncation", 5)},
        ),
    ],
)
def test_truncated_rows_of_trl(options: Any, groups: Groups, capsys: pytest.CaptureFixture[str]) -> None:
    rows = conversations(TALKS)
    prepared, tokenizer = of_trl(rows, template("llama3"), masks_assistants=True, **options)
    assert compared(prepared, tokenizer, rows, capsys, "--mask", "assistant+end")[1] == groups


def test_all_that_trl_trains_without_a_mask(capsys: pytest.CaptureFixture[str]) -> None:
    rows = conversations(PLAIN)
    prepared, tokenizer = of_trl(rows, template("qwen2_5"), masks_assistants=False)
    _, groups = compared(prepared, tokenizer, rows, capsys, "--mask", "assistant+end")
    assert [cause for cause, _ in groups.values()] == ["messages", "blanks after a turn"]


LAST = {"train_on_eos": "last"}
PROMPT_ALONE = {"roles_to_train": [], "train_on_eos": None}
"""All that comes after the prompt of the last turn is trained then."""

TEMPLATES: list[tuple[str, str, str, list[Any], dict[str, Any], Groups]] = [
    ("llama3", "llama3", "<|eot_id|>", TALKS, {}, {}),
    ("gemma", "gemma", "<end_of_turn>", TALKS, {}, {}),
    ("qwen_25", "qwen2_5", "<|im_end|>", TALKS, {}, {}),
    # Axolotl looks for what a turn without thoughts has otherwise, and that begins with the same tag.
    (
        "qwen3",
        "qwen3",
        "<|im_end|>",
        [*TALKS, *REASONED],
        {},
        {"trained only in B: <think>↵, after <|im_start|>assistant↵": ("think block", 2)},
    ),
    (
        "chatml",
        "qwen2_5",
        "<|im_end|>",
        TALKS,
        {},
        {"only in B: <|im_start|>system↵…<|im_end|>↵, at the start": ("messages", 5)},
    ),
    (
        "llama3",
        "llama3_1",
        "<|eot_id|>",
        PLAIN,
        {},
        {"only in B: <|start_header_id|>system<|end_header_id|>↵↵…↵↵<|eot_id|>, after <s>": ("messages", 3)},
    ),
    (
        "phi_3",
        "phi3",
        "<|end|>",
        TALKS,
        {},
        {
            "only in A: <s>, at the start": ("beginning of the text", 5),
            "only in B: <|end|>, at the end, after <|end|>↵": ("end of a turn", 5),
        },
    ),
    (
        "qwen3",
        "qwen3",
        "<|im_end|>",
        TALKS,
        LAST,
        {"trained only in B: <|im_end|>, in the text after <|im_start|>assistant↵": ("end of a turn", 2)},
    ),
    (
        "gemma",
        "gemma",
        "<end_of_turn>",
        TALKS,
        PROMPT_ALONE,
        {
            "trained only in A: ↵, after <end_of_turn>": ("blanks after a turn", 5),
            "trained only in B: …<end_of_turn>, after <start_of_turn>model↵": ("text and its end", 2),
        },
    ),
]


@pytest.mark.parametrize("case", TEMPLATES)
def test_rows_of_axolotl(case: Any, capsys: pytest.CaptureFixture[str]) -> None:
    name, served, eos_token, talks, options, groups = case
    rows = conversations(talks)
    prepared, tokenizer = of_axolotl(rows, template(name, AXOLOTL), template(served), eos_token, **options)
    result, differences = compared(prepared, tokenizer, rows, capsys, "--mask", "assistant+end", "--reasoning")
    assert differences == groups
    assert groups or result["equal"] == len(rows)


PREFERENCES = [
    {"prompt": talk[:-1], "chosen": talk[-1:], "rejected": [talk[-1] | {"content": "No."}]} for talk in TALKS
]
WITHOUT_PROMPT = [{side: row["prompt"] + row[side] for side in ("chosen", "rejected")} for row in PREFERENCES]


@pytest.mark.parametrize("rows", [PREFERENCES, WITHOUT_PROMPT])
@pytest.mark.parametrize("name", ["llama3_1", "gemma", "qwen2_5", "qwen3", "phi3", "deepseek_r1_distill"])
def test_preferences_of_trl(name: str, rows: list[Any]) -> None:
    [prepare] = definitions("trl", "trainer/dpo_trainer.py", ["DPOTrainer._prepare_dataset"], names_of_trl())
    source = template(name)
    tokenizer = tokenizer_of(source)
    tokenizer.chat_template = source
    arguments = SimpleNamespace(dataset_num_proc=None, max_length=None)
    prepared = prepare(
        SimpleNamespace(_tokenizer=tokenizer), datasets.Dataset.from_list(rows), tokenizer, arguments, "x"
    )
    wanted = prepared.select_columns(["prompt_ids", "chosen_ids", "rejected_ids"]).to_list()
    chat = pp.ChatTemplate.from_tokenizer(tokenizer)
    result = pp.export.trl_preference_tokens(rows, chat, tokenizer).to_pylist()
    if name == "deepseek_r1_distill":  # it asks with an open thought, which TRL leaves out of the prompts
        opening = tokenizer.encode("<think>\n", add_special_tokens=False)
        wanted = [row | {"prompt_ids": row["prompt_ids"] + opening} for row in wanted]
    assert result == wanted
    with pytest.raises(KeyError, match="chosen"):  # so the step is left out for rows that are encoded
        prepare(SimpleNamespace(_tokenizer=tokenizer), datasets.Dataset.from_list(result), tokenizer, arguments, "x")
