"""Files for the tests: configurations, a million samples in one row group, and malicious values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

MILLION = 1_000_000
TEMPLATE = {
    "round": [
        {"role": "HUMAN", "prompt": "Answer the question with A or B.\nQ: {question}\nA) {A}\nB) {B}\nAnswer:"},
        {"role": "BOT", "prompt": "{answer}"},
    ]
}
READER = {"input_columns": ["question", "A", "B"], "output_column": "answer"}
QUIZ = {
    "round": [
        {"role": "HUMAN", "prompt": "Q: {question}\nA) {A}\nB) {B}\nAnswer:"},
        {"role": "BOT", "prompt": "{answer}"},
    ]
}
CHAT = {"round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}]}
TAGS = {
    "round": [
        {"role": "HUMAN", "begin": "<|user|>\n", "end": "\n"},
        {"role": "BOT", "begin": "<|assistant|>\n", "end": "\n", "generate": True},
    ]
}
CONFIGS: dict[str, Any] = {
    "zero.json": {"prompt_template": {"type": "PromptTemplate", "template": TEMPLATE}, "reader": READER},
    "shots.json": {
        "prompt_template": {"template": "</E>Q: {question}\nA: {answer}", "ice_token": "</E>"},
        "ice_template": "Q: {question}\nA: {answer}\n",
        "retriever": {"type": "FixKRetriever", "fix_id_list": [0, 1]},
        "reader": READER,
    },
    "labels.json": {
        "prompt_template": {"A": "{question} It is {A}.", "B": "{question} It is {B}."},
        "reader": READER,
        "mode": "ppl",
    },
    "models.json": {
        "models": [
            {"abbr": "chat-api", "type": "OpenAI", "meta_template": CHAT},
            {"abbr": "tags", "type": "HuggingFaceCausalLM", "meta_template": TAGS},
        ]
    },
    "quiz.json": {
        "prompt_template": {"template": {"begin": "</E>", **QUIZ}, "ice_token": "</E>"},
        "ice_template": {"template": QUIZ},
        "retriever": {"type": "FixKRetriever", "fix_id_list": [0, 1]},
        "reader": READER,
    },
    "plain.json": {"prompt_template": "Q: {question}"},
    "harm-models.json": {"models": [{"abbr": "<img src=x onerror='window.harmed = 1'>", "type": "VLLM"}]},
    "harm.json": {"prompt_template": "Q: {question}\nA: {answer}", "reader": {"output_column": "answer"}},
}
HARMFUL_NAME = "<script>window.harmed=1<script><img src=x onerror='window.harmed=1'>.parquet"
HARM = {
    "question": [
        "<script>window.harmed = 1</script><img src=x onerror='window.harmed = 1'>",
        "right to left \u202e override \u2066 isolate",
        "nul \x00 escape \x1b[31m red\r",
        "x" * 999_990 + " the end.",
        "see {answer}",
        "</pre></div><style>body{display:none}</style>",
        "http://example.invalid/<a href='http://example.invalid'>link</a>",
    ],
    "answer": ["<b>gold</b>"] * 7,
}


def write_files(folder: Path) -> Path:
    """Write them all into a folder."""
    for name, config in CONFIGS.items():
        (folder / name).write_text(json.dumps(config), encoding="utf-8")
    write_million(folder / "million.parquet")
    for name in ("harm.parquet", HARMFUL_NAME):
        pq.write_table(pa.table(HARM), folder / name)
    few = pa.table({"question": ["One?", "Two?", "Three?"], "A": ["a"] * 3, "B": ["b"] * 3, "answer": ["A", "B", "A"]})
    pq.write_table(few, folder / "few.parquet")
    quiz = {"question": ["Which of them can fly?", "Which is a colour?"], "A": ["a stone", "red"]}
    pq.write_table(pa.table({**quiz, "B": ["a sparrow", "seven"], "answer": ["B", "A"]}), folder / "train.parquet")
    with (folder / "few.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in few.to_pylist())
    return folder


def write_million(path: Path, rows: int = MILLION) -> None:
    """Write one row group of questions, each with its own number and of some length."""
    numbers = pa.array(range(rows), pa.int64())
    texts = numbers.cast(pa.string())
    words = pa.array([" ".join(["where is the library of the old town"] * (1 + n % 8)) for n in range(64)])
    spoken = words.take(pc.bit_wise_and(numbers, 63))
    question = pc.binary_join_element_wise(spoken, texts, "and who has the key?", " ")
    options = [pc.binary_join_element_wise(name, texts, " ") for name in ("street", "square")]
    answer = pa.array(["A", "B"]).take(pc.bit_wise_and(numbers, 1))
    table = pa.table({"id": numbers, "question": question, "A": options[0], "B": options[1], "answer": answer})
    pq.write_table(table, path, row_group_size=rows)
