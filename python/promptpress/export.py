"""Rendered tables written for the next tool, and its results joined to their rows.

>>> import tempfile
>>> import pyarrow as pa
>>> import promptpress as pp
>>> table = pp.Renderer("{q}").render(pa.table({"q": ["1+1=?"]}))
>>> with tempfile.TemporaryDirectory() as folder:
...     pp.export.openai_batch(table, f"{folder}/in.jsonl", model="gpt-4o-mini").requests
1
"""

from promptpress_workbench.export.batch_files import (
    anthropic_batch,
    gemini_batch,
    litellm_batch,
    openai_batch,
    openai_responses,
    vllm_batch,
)
from promptpress_workbench.export.chat_tables import datasets, ray_rows
from promptpress_workbench.export.conversations import alpaca, messages_json, sharegpt
from promptpress_workbench.export.join_results import join
from promptpress_workbench.export.predictions import predictions
from promptpress_workbench.export.preference_tokens import trl_preference_tokens
from promptpress_workbench.export.streams import Written
from promptpress_workbench.export.token_tables import axolotl_tokens, ray_tokens, sglang_tokens, trl_tokens, vllm_tokens
from promptpress_workbench.export.trl_files import preference, prompt_completion

from promptpress._importing import name_publicly as _name_publicly

__all__ = [
    "Written",
    "alpaca",
    "anthropic_batch",
    "axolotl_tokens",
    "datasets",
    "gemini_batch",
    "join",
    "litellm_batch",
    "messages_json",
    "openai_batch",
    "openai_responses",
    "predictions",
    "preference",
    "prompt_completion",
    "ray_rows",
    "ray_tokens",
    "sglang_tokens",
    "sharegpt",
    "trl_preference_tokens",
    "trl_tokens",
    "vllm_batch",
    "vllm_tokens",
]

_name_publicly(__name__, {name: globals()[name] for name in __all__})
