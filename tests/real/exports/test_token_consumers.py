"""Token ids handed on, read back by the code of the engines and trainers that take them, where that is installed.

`make test-exports` installs TRL, Axolotl, Ray and SGLang without what they need to run models; the functions that take
token ids are run alone (`parts/foreign_code.py`). vLLM comes with CUDA alone and isn't installed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys
import uuid
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Optional

import numpy as np
import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from parts.foreign_code import definitions
from promptpress import export
from promptpress_workbench.cli.process import main

tokenizers = pytest.importorskip("tokenizers")
from parts.small_tokenizers import small_tokenizer  # noqa: E402 - needs tokenizers

CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
TALKS = [
    {
        "id": n,
        "room": n + 1,
        "messages": [{"role": "user", "content": f"{n}?"}, {"role": "assistant", "content": f"So {n}."}],
    }
    for n in range(20)
]
CHAT = pp.ChatTemplate(CHATML)
TOKENS = CHAT.tokenize(TALKS, small_tokenizer(), mask="assistant+end", labels=True, keep=["id", "room"])
IDS: list[list[int]] = TOKENS["input_ids"].to_pylist()
LABELS: list[list[int]] = TOKENS["labels"].to_pylist()


@pytest.fixture(scope="module")
def hugging_face() -> Any:
    return pytest.importorskip("datasets")


@pytest.mark.parametrize("mask_column", ["assistant_masks", "completion_mask"])
@pytest.mark.parametrize("has_labels", [True, False])
def test_trl_trains_the_tokens_of_the_mask(
    tmp_path: Path, hugging_face: Any, mask_column: Any, has_labels: bool
) -> None:
    namespace: dict[str, Any] = {
        "Dataset": hugging_face.Dataset,
        "IterableDataset": hugging_face.IterableDataset,
        "global_then_local_main_first": contextlib.nullcontext,
        "logger": logging.getLogger("trl"),
    }
    definitions("trl", "data_utils.py", ["get_dataset_column_names"], namespace)
    [prepare] = definitions("trl", "trainer/sft_trainer.py", ["SFTTrainer._prepare_dataset"], namespace)
    pq.write_table(export.trl_tokens(TOKENS, mask_column=mask_column), tmp_path / "train.parquet")
    files = {"data_files": str(tmp_path / "train.parquet"), "cache_dir": str(tmp_path / "cache")}
    dataset = hugging_face.load_dataset("parquet", split="train", **files)
    if not has_labels:  # then they are made of the mask
        dataset = dataset.remove_columns("labels")
    trainer = SimpleNamespace(completion_only_loss=True)
    options: dict[str, Any] = {"dataset_num_proc": None, "truncation_mode": "keep_start", "shuffle_dataset": False}
    prepared = prepare(trainer, dataset, None, SimpleNamespace(max_length=1000, **options), False, None, "train")
    assert prepared["input_ids"][:] == IDS
    assert prepared["labels"][:] == LABELS
    cut = prepare(trainer, dataset, None, SimpleNamespace(max_length=14, **options), False, None, "train")
    assert cut["labels"][:] == [labels[:14] for labels in LABELS if any(label >= 0 for label in labels[:14])]


def test_axolotl_takes_the_rows_as_tokenized(tmp_path: Path, hugging_face: Any) -> None:
    namespace: dict[str, Any] = {
        "Dataset": hugging_face.Dataset,
        "UnsupportedPrompter": object,
        "LOG": logging.getLogger("axolotl"),
        "Any": Any,
    }
    names = ["_is_dataset_already_tokenized", "get_dataset_wrapper"]
    wrapper = definitions("axolotl", "utils/data/wrappers.py", names, namespace)[1]
    names = ["keep_min_len", "truncate_long_seq"]
    keep_min_len, truncate_long_seq = definitions("axolotl", "utils/data/utils.py", names, {})
    (add_position_ids,) = definitions("axolotl", "utils/trainer.py", ["add_position_ids"], {})
    pq.write_table(export.axolotl_tokens(TOKENS), tmp_path / "train.parquet")
    files = {"data_files": str(tmp_path / "train.parquet"), "cache_dir": str(tmp_path / "cache")}
    dataset = hugging_face.load_dataset("parquet", split="train", **files)
    config = SimpleNamespace(dataset_num_proc=None, dataset_keep_in_memory=False)
    wrapped, _ = wrapper({"path": "train.parquet"}, None, config, "completion", dataset)
    assert wrapped is dataset
    assert dataset["input_ids"][:] == IDS
    assert dataset["labels"][:] == LABELS
    assert dataset["attention_mask"][:] == [[1] * len(ids) for ids in IDS]
    assert all(keep_min_len(dataset[:]))
    cut = dataset.map(truncate_long_seq, batched=True, fn_kwargs={"sequence_len": 5})
    assert cut["labels"][:] == [labels[:5] for labels in LABELS]
    assert [len(mask) for mask in cut["attention_mask"][:]] == [5] * len(IDS)
    assert dataset.map(add_position_ids, batched=True)["length"][:] == [len(ids) for ids in IDS]


class EndedError(Exception):
    """The engine got a request."""


def rays_row(table: pa.Table, row: int) -> dict[str, Any]:
    """Return a row as Ray Data gives it to a stage: lists are arrays of numpy."""
    values = table.slice(row, 1).to_pylist()[0]
    return {key: np.array(value) if isinstance(value, list) else value for key, value in values.items()}


@pytest.mark.filterwarnings("ignore:.*[pP]ydantic:DeprecationWarning", "ignore:.*ConfigDict:DeprecationWarning")
def test_rays_stage_gives_vllm_the_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    pydantic = pytest.importorskip("pydantic")
    namespace: dict[str, Any] = {
        **{name: getattr(pydantic, name) for name in ("BaseModel", "root_validator")},
        **{"np": np, "Any": Any, "Optional": Optional, "List": list, "Dict": dict},
        "MultiModalDataDict": Any,
        "_get_vllm_prompt_classes": lambda: (dict, None),
        "vLLMTaskType": SimpleNamespace(GENERATE="generate", EMBED="embed", CLASSIFY="classify", SCORE="score"),
    }
    vllm = ModuleType("vllm")
    vllm.SamplingParams = dict  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm", vllm)
    common = "llm/_internal/batch/stages/common.py"
    definitions("ray", common, ["maybe_convert_ndarray_to_list"], namespace)
    stage = "llm/_internal/batch/stages/vllm_engine_stage.py"
    names = [
        "vLLMEngineRequest",
        *(f"vLLMEngineWrapper.{name}" for name in ("_prepare_llm_request", "_generate_async")),
    ]
    _, prepare, generate = definitions("ray", stage, names, namespace)
    requests: list[Any] = []

    def engine(**options: Any) -> Any:
        requests.append(options)
        raise EndedError

    async def no_lora(_: Any) -> None:
        return None

    wrapper = SimpleNamespace(
        task_type="generate",
        request_id=0,
        idx_in_batch_column="__idx",
        engine=SimpleNamespace(generate=engine),
        _maybe_get_lora_request=no_lora,
    )
    rows = export.ray_tokens(TOKENS, sampling_params={"temperature": 0.0}, sampling_columns={"max_tokens": "room"})
    for row, ids in enumerate(IDS):
        request = asyncio.run(prepare(wrapper, {**rays_row(rows, row), "__idx": row}))
        with pytest.raises(EndedError):
            asyncio.run(generate(wrapper, request))
        assert requests[-1]["prompt"]["prompt_token_ids"] == ids
        assert requests[-1]["sampling_params"] == {
            "temperature": 0.0,
            "max_tokens": row + 1,
            "structured_outputs": None,
        }


@pytest.mark.filterwarnings("ignore:.*[pP]ydantic:DeprecationWarning", "ignore:.*ConfigDict:DeprecationWarning")
def test_rays_stage_gives_sglang_the_ids() -> None:
    pydantic = pytest.importorskip("pydantic")
    namespace: dict[str, Any] = {
        **{"BaseModel": pydantic.BaseModel, "np": np, "Any": Any, "List": list, "Dict": dict},
        "Optional": Optional,
        "SGLangTaskType": SimpleNamespace(GENERATE="generate"),
    }
    definitions("ray", "llm/_internal/batch/stages/common.py", ["maybe_convert_ndarray_to_list"], namespace)
    names = ["SGLangEngineRequest", "SGLangEngineWrapper._prepare_llm_request"]
    stage = "llm/_internal/batch/stages/sglang_engine_stage.py"
    prepare = definitions("ray", stage, names, namespace)[1]
    wrapper = SimpleNamespace(task_type="generate", request_id=0, idx_in_batch_column="__idx", skip_tokenizer_init=True)
    rows = export.ray_tokens(TOKENS, sampling_params={"max_new_tokens": 9})
    request = asyncio.run(prepare(wrapper, {**rays_row(rows, 3), "__idx": 3}))
    assert (request.prompt, request.prompt_token_ids, request.params) == (None, IDS[3], {"max_new_tokens": 9})


def test_sglang_takes_each_row_as_a_request_and_all_as_a_batch() -> None:
    namespace: dict[str, Any] = {
        **{"dataclass": dataclass, "field": field, "uuid": uuid, "Counter": Counter},
        "has_valid_data": lambda data: data is not None,
        "KvHintsEnvelope": object,
        "decode_kv_hints_envelope": None,
        "get_return_hidden_states_mode": lambda mode: mode,
    }
    (request,) = definitions("sglang", "srt/managers/io_struct.py", ["GenerateReqInput"], namespace)
    params = {"sampling_params": {"temperature": 0}, "sampling_columns": {"max_new_tokens": "room"}}
    rows = export.sglang_tokens(TOKENS.drop_columns(["id"]), **params).drop_columns(["room"]).to_pylist()
    for row, body in enumerate(json.loads(json.dumps(rows))):
        single = request(**body)
        single.normalize_batch_and_arguments()
        assert (single.is_single, single.input_ids) == (True, IDS[row])
        assert single.sampling_params == {"temperature": 0, "max_new_tokens": row + 1}
    batch = request(**{key: [row[key] for row in rows] for key in rows[0]})
    batch.normalize_batch_and_arguments()
    assert batch.batch_size == len(IDS)
    assert batch[7].input_ids == IDS[7]
    assert batch[7].sampling_params["max_new_tokens"] == 8


def test_vllm_takes_each_row_as_a_prompt() -> None:
    inputs = pytest.importorskip("vllm.inputs", reason="vLLM comes with CUDA, and isn't installed")
    for row, prompt in enumerate(export.vllm_tokens(TOKENS.select(["input_ids"])).to_pylist()):
        assert inputs.TokensPrompt(**prompt) == {"prompt_token_ids": IDS[row]}


def test_the_command_writes_what_python_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small_tokenizer().save("tokenizer.json")
    Path("chat.jinja").write_text(CHATML, encoding="utf-8")
    Path("talks.jsonl").write_text("".join(json.dumps(talk) + "\n" for talk in TALKS), encoding="utf-8")
    given = ["--chat-template", "chat.jinja", "--data", "talks.jsonl", "--tokenizer", "tokenizer.json", "--quiet"]
    trained = ["--mask", "assistant+end"]
    for form, make, options in (
        ("vllm-tokens", export.vllm_tokens, []),
        ("sglang-tokens", export.sglang_tokens, []),
        ("trl-tokens", export.trl_tokens, trained),
        ("axolotl-tokens", export.axolotl_tokens, trained),
    ):
        wanted = make(TOKENS.drop_columns(["id", "room"]))
        assert main(["export", form, *given, *options, "--out", "out.parquet", "--batch-size", "7"]) == 0
        assert pq.read_table("out.parquet").to_pylist() == wanted.to_pylist()
        assert main(["export", form, *given, *options, "--out", "out.jsonl"]) == 0
        lines = Path("out.jsonl").read_text(encoding="utf-8").splitlines()
        assert list(map(json.loads, lines)) == wanted.to_pylist()
    sampling = ["--params", '{"temperature": 0.5}', "--params-columns", "max_tokens=room"]
    assert main(["export", "ray-tokens", *given, *sampling, "--out", "rows.parquet"]) == 0
    rows = pq.read_table("rows.parquet")
    assert rows["sample"].to_pylist() == list(range(len(IDS)))
    options = {"sampling_params": {"temperature": 0.5}, "sampling_columns": {"max_tokens": "room"}}
    wanted = export.ray_tokens(TOKENS.drop_columns(["id"]), **options)
    assert rows.drop_columns(["sample"]).to_pylist() == wanted.to_pylist()
