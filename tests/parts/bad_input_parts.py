"""Common parts of the tests of bad input: a configuration, its samples, and text that is no UTF-8."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

TURNS = [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]
CONFIG: dict[str, Any] = {
    "prompt_template": {"type": "PromptTemplate", "template": {"round": TURNS}},
    "retriever": {"type": "ZeroRetriever"},
    "reader": {"input_columns": ["question"], "output_column": "answer"},
}
META = {"round": [{"role": "HUMAN", "begin": "<"}, {"role": "BOT", "begin": ">", "generate": True}]}
SHOTS = {
    "ice_template": {"type": "PromptTemplate", "template": "{question} {answer}\n"},
    "prompt_template": {"type": "PromptTemplate", "template": "</E>{question} {answer}", "ice_token": "</E>"},
    "reader": CONFIG["reader"],
}
SAMPLES = pa.table({"question": ["1+1?", "2+2?", "3+3?"], "answer": ["2", "4", "6"]})


def invalid_utf8() -> pa.Table:
    """Two strings, the second one of which is no UTF-8."""
    offsets = pa.array([0, 2, 4], pa.int32()).buffers()[1]
    question = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"okx\xff")])
    return pa.table({"question": question, "answer": ["", ""]})
