"""Real datasets, every row against the plain model, through the renderer and through the command."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from comparing import clean
from marks import UNWARNED
from models.plain_model import render as render_plain
from promptpress_workbench.cli import main

SHARED = Path(os.environ.get("PROMPTPRESS_SHARED", Path(__file__).parents[3] / "shared"))
CHAT = {
    "begin": "<s>",
    "round": [
        {"role": "HUMAN", "begin": "<|user|>\n", "end": "<|end|>\n", "api_role": "HUMAN"},
        {"role": "BOT", "begin": "<|assistant|>\n", "end": "<|end|>\n", "api_role": "BOT", "generate": True},
    ],
    "reserved_roles": [{"role": "SYSTEM", "begin": "<|system|>\n", "end": "<|end|>\n", "api_role": "SYSTEM"}],
    "end": "</s>",
}
FIVE = {"type": "FixKRetriever", "fix_id_list": [0, 1, 2, 3, 4]}
QUESTION = {"input_columns": ["question"], "output_column": "answer"}
SUM_TURNS = [{"role": "HUMAN", "prompt": "Question: {question}\nAnswer:"}, {"role": "BOT", "prompt": "{answer}\n"}]
CHOICE = "{input}\nA. {A}\nB. {B}\nC. {C}\nD. {D}\nAnswer:"
CHOICE_TURNS = [{"role": "HUMAN", "prompt": CHOICE}, {"role": "BOT", "prompt": "{target}\n"}]
STEM: dict[str, Any] = {
    "ice_template": {"type": "PromptTemplate", "template": {"round": CHOICE_TURNS}},
    "prompt_template": {
        "type": "PromptTemplate",
        "template": {
            "begin": [
                {"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": "About {subject}: answer A to D."},
                "</E>",
            ],
            "round": CHOICE_TURNS,
        },
        "ice_token": "</E>",
    },
    "retriever": FIVE,
    "reader": {"input_columns": ["input", "A", "B", "C", "D"], "output_column": "target"},
    "inferencer": {"type": "GenInferencer"},
    "meta_template": CHAT,
}
MATHS = "Solve {problem}; put it into $\\boxed{{answer}}$, {not a column}, {{problem}}.\n{type}"

# name -> samples, examples, configuration
JOBS: dict[str, tuple[str, str | None, dict[str, Any]]] = {
    "gsm8k dialogue": (
        "gsm8k_test",
        "gsm8k_train",
        {
            "ice_template": {"type": "PromptTemplate", "template": {"round": SUM_TURNS}},
            "prompt_template": {
                "type": "PromptTemplate",
                "template": {"begin": ["</E>"], "round": SUM_TURNS},
                "ice_token": "</E>",
            },
            "retriever": FIVE,
            "reader": QUESTION,
            "meta_template": CHAT,
            "output": "text",
        },
    ),
    "gsm8k string": (
        "gsm8k_test",
        "gsm8k_train",
        {
            "ice_template": {"type": "PromptTemplate", "template": "Q: {question}\nA: {answer}"},
            "prompt_template": {
                "type": "PromptTemplate",
                "template": "</E>Q: {question}\nA: {answer}",
                "ice_token": "</E>",
            },
            "retriever": {**FIVE, "ice_separator": "\n\n"},
            "reader": QUESTION,
        },
    ),
    "gsm8k sliding": (
        "gsm8k_test",
        "gsm8k_train",
        {
            "ice_template": {"type": "PromptTemplate", "template": "Q: {question}\nA: {answer}"},
            "prompt_template": {"type": "PromptTemplate", "template": "</E>Q: {question}\nA:", "ice_token": "</E>"},
            "retriever": {"type": "SlidingWindowRetriever", "k": 3},
            "reader": QUESTION,
        },
    ),
    "mmlu text": ("mmlu_stem", "mmlu_stem", {**STEM, "output": "text"}),
    "mmlu messages": ("mmlu_stem", "mmlu_stem", {**STEM, "output": "messages"}),
    "mmlu ppl": (
        "mmlu_stem",
        None,
        {
            "prompt_template": {
                "type": "PromptTemplate",
                "template": {label: f"{{input}}\nA. {{A}}\nAnswer: {label}" for label in "ABCD"},
            },
            "reader": STEM["reader"],
            "inferencer": {"type": "PPLInferencer"},
        },
    ),
    "cmath": (
        "cmath",
        None,
        {
            "prompt_template": {
                "type": "PromptTemplate",
                "template": {
                    "round": [{"role": "HUMAN", "prompt": "{grade}年级,{num_digits}位:{question}\n答案是{answer}。"}]
                },
            },
            "reader": QUESTION,
            "meta_template": CHAT,
            "output": "messages",
        },
    ),
    "minerva": ("minerva_math", None, {"prompt_template": MATHS, "reader": {"output_column": "solution"}}),
    "minerva unmasked": ("minerva_math", None, {"prompt_template": MATHS + "\n{solution}{idx}"}),
    "minerva single pass": (
        "minerva_math",
        None,
        {"prompt_template": MATHS + "\n{solution}{idx}", "substitution": "single_pass"},
    ),
    "minerva five-shot": (
        "minerva_math",
        "minerva_math",
        {
            "ice_template": {"type": "PromptTemplate", "template": "{problem}\n{solution}"},
            "prompt_template": {"type": "PromptTemplate", "template": f"</E>{MATHS}", "ice_token": "</E>"},
            "retriever": FIVE,
            "reader": {"output_column": "solution"},
        },
    ),
    "mt-bench fields": ("mt_bench", None, {"prompt_template": "{category}|{question}|{answer}|{question_id}"}),
}


@cache
def data(name: str) -> pa.Table:
    path = SHARED / "data" / f"{name}.parquet"
    if not path.exists():
        pytest.skip(f"the dataset {name} is not there: {path}")
    return pq.read_table(path)


def examples_of(job: str) -> pa.Table | None:
    name = JOBS[job][1]
    return None if name is None else data(name)


@cache
def want(job: str) -> list[Any]:
    samples, _, config = JOBS[job]
    examples = examples_of(job)
    return clean(render_plain(config, data(samples).to_pylist(), [] if examples is None else examples.to_pylist()))


def prompts(table: pa.Table) -> list[Any]:
    return clean(table["prompt"].to_pylist())


def same(got: list[Any], wanted: list[Any]) -> None:
    """Equality that shows the first difference, and only that."""
    assert len(got) == len(wanted)
    for row, (actual, expected) in enumerate(zip(got, wanted, strict=True)):
        assert actual == expected, f"request {row}"


@UNWARNED  # few-shot from the samples themselves: what counts here is the text
@pytest.mark.parametrize("job", JOBS)
def test_every_row_of_a_real_dataset(job: str) -> None:
    samples = data(JOBS[job][0])
    renderer = pp.Renderer(**JOBS[job][2], examples=examples_of(job))
    table = renderer.render(samples)
    same(prompts(table), want(job))
    reader = renderer.stream(pa.RecordBatchReader.from_batches(samples.schema, samples.to_batches(max_chunksize=97)))
    assert reader.read_all().combine_chunks().equals(table.combine_chunks())


def test_the_prompts_are_worth_the_name() -> None:
    """The model itself is looked at once: a prompt as a person would write it."""
    first = want("gsm8k dialogue")[0]
    assert first.startswith("<s><|user|>\nQuestion: Natalia sold clips to 48 of her friends in April")
    assert first.endswith("every day at the farmers' market?\nAnswer:<|end|>\n<|assistant|>\n")
    assert first.count("<|assistant|>") == 6
    assert "#### 18" not in first
    begin, *messages = want("mmlu messages")[0]
    assert begin == "<s>"
    assert [message["role"] for message in messages] == ["SYSTEM", *["HUMAN", "BOT"] * 5, "HUMAN"]


@UNWARNED  # few-shot from the samples themselves: what counts here is the text
@pytest.mark.parametrize("job", ["minerva", "minerva unmasked", "minerva five-shot", "gsm8k string"])
def test_mathematics_is_full_of_braces_but_looks_into_no_column(job: str) -> None:
    """The divergence is exactly the rows in which two whole renders differ."""
    samples, _, config = JOBS[job]
    # In single pass, a third brace says what the harness reads in two.
    written_anew = json.loads(json.dumps(config).replace("{{problem}}", "{{{problem}}}"))
    both = [
        pp.Renderer(**{**of_way, "substitution": way}, examples=examples_of(job)).render(data(samples))["prompt"]
        for way, of_way in (("harness", config), ("single_pass", written_anew))
    ]
    differing = [
        row for row, pair in enumerate(zip(*(column.to_pylist() for column in both), strict=True)) if len({*pair}) > 1
    ]
    divergence = pp.Renderer(**config, examples=examples_of(job)).divergence(data(samples))
    assert divergence["row"].to_pylist() == differing


def repeated(job: str, times: int, folder: Path, out: str, *options: str) -> Path:
    """Run the command over the samples repeated `times` times, in files as big as one repetition or a few."""
    samples_name, examples_name, config = JOBS[job]
    samples = data(samples_name)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    per_file = -(-times // 4)
    files = []
    for first in range(0, times, per_file):
        files.append(str(folder / f"part-{first}.parquet"))
        with pq.ParquetWriter(files[-1], samples.schema) as writer:
            for _ in range(min(per_file, times - first)):
                writer.write_table(samples)
    arguments = ["render", str(folder / "config.json"), "--data", *files, "--out", str(folder / out), "--quiet"]
    if examples_name is not None:
        data(examples_name)
        arguments += ["--examples", str(SHARED / "data" / f"{examples_name}.parquet")]
    assert main([*arguments, *options]) == 0
    return folder / out


def blocks_equal(path: Path, job: str, times: int) -> None:
    """Each repetition's rows are the original's, to the byte: the whole output is read, a repetition at a time."""
    samples, examples = data(JOBS[job][0]), examples_of(job)
    original = pp.Renderer(**JOBS[job][2], examples=examples).render(samples)
    same(prompts(original), want(job))
    scanner = ds.dataset(path, format="ipc" if path.suffix == ".arrow" else "parquet").scanner(use_threads=False)
    waiting: list[pa.RecordBatch] = []
    blocks, length = 0, original.num_rows
    original = original.combine_chunks()
    for batch in scanner.to_batches():
        waiting.append(batch)
        while sum(len(part) for part in waiting) >= length:
            table = pa.Table.from_batches(waiting)
            block = table.slice(0, length).combine_chunks()
            assert block["prompt"].cast(original["prompt"].type).equals(original["prompt"]), f"repetition {blocks}"
            waiting = table.slice(length).to_batches()
            blocks += 1
    assert not sum(len(part) for part in waiting)
    assert blocks == times


@UNWARNED  # few-shot from the samples themselves: what counts here is the text
@pytest.mark.parametrize("out", ["out.parquet", "out.arrow"])
@pytest.mark.parametrize("job", ["gsm8k dialogue", "mmlu text", "mmlu messages"])
def test_the_command_on_repeated_data(job: str, out: str, tmp_path: Path) -> None:
    times = 3
    blocks_equal(repeated(job, times, tmp_path, out, "--batch-size", "1000"), job, times)


@pytest.mark.parametrize("job", ["minerva unmasked", "cmath", "mmlu ppl"])
def test_the_command_writes_json_lines(job: str, tmp_path: Path) -> None:
    path = repeated(job, 2, tmp_path, "out.jsonl")
    with path.open(encoding="utf-8", newline="\n") as lines:
        same([clean(json.loads(line)["prompt"]) for line in lines], want(job) * 2)


def test_positions_count_over_the_files_of_the_command(tmp_path: Path) -> None:
    job = "gsm8k sliding"
    samples, _, config = JOBS[job]
    rows = data(samples).to_pylist() * 2
    path = repeated(job, 2, tmp_path, "out.parquet", "--batch-size", "700")
    same(prompts(pq.read_table(path)), render_plain(config, rows, data("gsm8k_train").to_pylist()))


@pytest.mark.full
@pytest.mark.parametrize("job", ["gsm8k dialogue", "mmlu text", "mmlu messages"])
def test_the_command_on_a_million_rows(job: str, tmp_path: Path) -> None:
    times = -(-1_000_000 // data(JOBS[job][0]).num_rows)
    blocks_equal(repeated(job, times, tmp_path, "out.parquet"), job, times)
