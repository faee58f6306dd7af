"""The table of exports: the list of forms in `promptpress export`, with the options and the function of each.

A new export is a file of this folder with a function, and an entry of `EXPORTS`, which makes the form in the command,
its line in the help, its row in docs/export.md and the forms that its options are for; `promptpress.export` shows the
function to Python. Functions are imported when they are needed, because every command reads the table.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

MaskColumn = Literal["assistant_masks", "completion_mask"]
"""The names of the mask of what is trained, in TRL."""


_OF_REQUESTS = {
    "model_name": "model",
    "params": "body",
    "params_columns": "body_columns",
    "max_file_size": "max_bytes",
}
_OF_ROWS = {"params": "sampling_params", "params_columns": "sampling_columns"}


class Export(NamedTuple):
    """An export, as the command has it.

    `function` names a module of this folder and its function, which takes a table or stream, the path of the output
    unless it makes a table, and the `options` as keywords, each under the name of its `argument`; conversations take
    `keep` too. `content` and `readers` are for the help and the page of exports.
    """

    function: str
    writes: Literal["requests", "conversations", "folder", "table", "tokens", "preferences"]
    options: tuple[str, ...]
    content: str
    readers: str

    def argument(self, option: str) -> str:
        """Return the name of an option's argument in Python."""
        names = _OF_REQUESTS if self.writes == "requests" else _OF_ROWS
        return names.get(option, option)

    @property
    def help(self) -> str:
        return f"{self.content}; for {self.readers}".replace("`", "")

    def row(self, name: str) -> str:
        """Return the row of the table in docs/export.md."""
        return f"| `{name}` | {self.content} | {self.readers} |"

    def load(self) -> Callable[..., Any]:
        module, name = self.function.split(".")
        function: Callable[..., Any] = getattr(importlib.import_module(f"promptpress_workbench.export.{module}"), name)
        return function


_REQUESTS = ("model_name", "params", "params_columns", "custom_id", "max_requests")
_LIMITED = (*_REQUESTS, "max_file_size")
_PAIRS = ("chosen", "rejected", "chosen_label")
_SAMPLING = ("params", "params_columns")
_IDS = ("control_tokens", "special_tokens", "max_tokens", "truncation")
_MASKS = ("mask", "answer", "reasoning", "last_turn", "turns")

TOKEN_OPTIONS = (*_IDS, *_MASKS)
"""The options of exports of token ids that say how prompts are encoded; their functions get a table that is encoded."""

EXPORTS = {
    "openai-batch": Export(
        "batch_files.openai_batch",
        "requests",
        (*_LIMITED, "url"),
        "one request a line, in files of at most 50,000 requests and 200 MB",
        "OpenAI's Batch API, and others that take its files",
    ),
    "vllm-batch": Export(
        "batch_files.vllm_batch",
        "requests",
        _REQUESTS,
        "the same lines in one file; chats only",
        "`vllm run-batch -i in.jsonl -o out.jsonl --model ...`",
    ),
    "litellm-batch": Export(
        "batch_files.litellm_batch",
        "requests",
        (*_LIMITED, "url"),
        "the same, ids of at most 64 characters, which all of its services take",
        "LiteLLM's `/v1/batches` and `litellm.create_batch`",
    ),
    "openai-responses": Export(
        "batch_files.openai_responses",
        "requests",
        _LIMITED,
        "one request a line for `/v1/responses`, in files of the same size",
        "OpenAI's Responses API in batches",
    ),
    "anthropic-batch": Export(
        "batch_files.anthropic_batch",
        "requests",
        _LIMITED,
        '`{"custom_id": ..., "params": {...}}` a line, in files of at most 100,000 requests and 256 MB',
        "Anthropic's Message Batches",
    ),
    "gemini-batch": Export(
        "batch_files.gemini_batch",
        "requests",
        tuple(option for option in _LIMITED if option != "model_name"),
        '`{"key": ..., "request": {...}}` a line, in files of at most 2 GB',
        "Gemini's Batch API, which is told the model later",
    ),
    "sharegpt": Export(
        "conversations.sharegpt",
        "conversations",
        ("answer",),
        '`{"conversations": [{"from": "human", "value": ...}, ...]}` a line',
        "LLaMA-Factory, Axolotl, FastChat",
    ),
    "messages-json": Export(
        "conversations.messages_json",
        "conversations",
        ("answer", "turns"),
        '`{"messages": [{"role": "user", "content": ...}, ...]}` a line',
        "OpenAI's fine-tuning, TRL and other trainers",
    ),
    "prompt-completion": Export(
        "trl_files.prompt_completion",
        "conversations",
        ("answer",),
        '`{"prompt": ..., "completion": ...}` a line, as texts or as messages',
        "TRL: fine-tuning on completions",
    ),
    "preference": Export(
        "trl_files.preference",
        "conversations",
        _PAIRS,
        '`{"prompt": ..., "chosen": ..., "rejected": ...}` a line, as texts or as messages',
        "TRL: DPO and the like",
    ),
    "alpaca": Export(
        "conversations.alpaca",
        "conversations",
        ("answer", "input_column"),
        '`{"instruction": ..., "input": ..., "output": ...}` a line, with `system` and `history` of messages',
        "LLaMA-Factory, Axolotl",
    ),
    "datasets": Export(
        "chat_tables.datasets",
        "folder",
        ("answer",),
        "a folder for `datasets.load_from_disk`, with a column `messages`",
        "Hugging Face",
    ),
    "ray": Export(
        "chat_tables.ray_rows",
        "table",
        _SAMPLING,
        "Parquet or Arrow with `messages` and `sampling_params`",
        "a processor of `ray.data.llm`",
    ),
    "vllm-tokens": Export(
        "token_tables.vllm_tokens",
        "tokens",
        _IDS,
        '`{"prompt_token_ids": [...]}` a row',
        "`LLM(...).generate` of vLLM",
    ),
    "sglang-tokens": Export(
        "token_tables.sglang_tokens",
        "tokens",
        (*_IDS, *_SAMPLING),
        '`{"input_ids": [...], "sampling_params": {...}}` a row',
        "SGLang's `/generate` and `Engine.generate`",
    ),
    "ray-tokens": Export(
        "token_tables.ray_tokens",
        "tokens",
        (*_IDS, *_SAMPLING),
        "rows with `tokenized_prompt` and `sampling_params`",
        "a processor of `ray.data.llm` without the stages of chat templates and tokenizers",
    ),
    "trl-tokens": Export(
        "token_tables.trl_tokens",
        "tokens",
        (*_IDS, *_MASKS, "mask_column"),
        "`input_ids`, `labels` and `assistant_masks` a row",
        "TRL's `SFTTrainer`",
    ),
    "trl-preference-tokens": Export(
        "preference_tokens.preference_batches",
        "preferences",
        ("chosen", "rejected"),
        "`prompt_ids`, `chosen_ids` and `rejected_ids` a row, of answers in columns, by a chat template",
        "the collator of TRL's `DPOTrainer`",
    ),
    "axolotl-tokens": Export(
        "token_tables.axolotl_tokens",
        "tokens",
        (*_IDS, *_MASKS),
        "`input_ids`, `attention_mask` and `labels` a row",
        "Axolotl",
    ),
}
"""The exports by name, in the order in which help and errors list them."""
