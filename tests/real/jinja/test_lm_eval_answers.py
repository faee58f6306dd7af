"""Tasks of lm-evaluation-harness by batch: its metrics over joined answers are those of a model that gives them.

The tasks are those that the harness ships, on made-up documents.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

lm_eval = pytest.importorskip("lm_eval")

import promptpress as pp  # noqa: E402 - skipped without it
from marks import heavy  # noqa: E402
from promptpress import lm_eval as promptpress_lm_eval  # noqa: E402
from promptpress_workbench.cli import main  # noqa: E402
from promptpress_workbench.cli.lm_eval_tasks import read_task  # noqa: E402
from real.jinja.lm_eval_runs import RESULTS, Scripted, datasets, equal, evaluator, no_tasks, quiet, task_of  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
SHIPPED = Path(lm_eval.__file__).parent / "tasks"
SUMS = [
    {"question": f"What is {n} less {n - n % 4}?", "answer": f"Subtract. #### {n % 4}", "solution": f"#### {n % 4}"}
    for n in range(20)
]
DOCUMENTS: dict[str, list[dict[str, Any]]] = {
    "gsm8k/gsm8k.yaml": SUMS,
    "gsm8k/gsm8k-cot.yaml": SUMS,
    "gsm8k/gsm8k-cot-zeroshot.yaml": [*SUMS, SUMS[0], SUMS[1]],  # two documents twice
    "gsm8k/gsm8k-cot-self-consistency.yaml": SUMS[:12],
    "gsm_plus/gsm_plus.yaml": SUMS,
    "unscramble/anagrams1.yaml": [{"context": f"unscramble {n}", "completion": f" {n % 4}"} for n in range(40)],
    "babi/babi.yaml": [{"passage": f"{n} moves.\n", "question": "Who?", "answer": str(n % 4)} for n in range(40)],
    "super_glue/rte/t5-prompt.yaml": [{"hypothesis": f"{n}", "premise": "é", "label": n % 2} for n in range(40)],
}
CHAT = ["--fewshot-as-multiturn", "--system", "Be brief."]


class Recorded(Scripted):
    """Gives each request an answer by its context and its repeat; a few of them are right."""

    def generate_until(self, requests: list[Any]) -> list[str]:
        repeats: Counter[str] = Counter()
        answers = []
        for request in requests:
            context = request.args[0]
            answers.append(answer_to(context, repeats[context]))
            repeats[context] += 1
        return answers

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:  # noqa: ARG002
        return json.dumps(chat_history, ensure_ascii=False)


def answer_to(context: str, repeat: int) -> str:
    kind, number = (byte % 4 for byte in hashlib.sha256(f"{context}{repeat}".encode()).digest()[:2])
    return (
        f" {number}",
        f"#### {number} é",
        f"The answer is {number}.",
        ("", "entailment", "not_entailment", "\n")[number],
    )[kind]


def results_of(requests: Path, *, is_chat: bool) -> list[dict[str, Any]]:
    """Return what a service answers to a batch, in another order than the requests."""
    repeats: Counter[str] = Counter()
    lines = []
    for line in requests.read_text("utf-8").splitlines():
        request = json.loads(line)
        messages = request["body"]["messages"]
        context = json.dumps(messages, ensure_ascii=False) if is_chat else messages[0]["content"]
        choice = {"message": {"content": answer_to(context, repeats[context])}, "finish_reason": "stop"}
        repeats[context] += 1
        body = {"choices": [choice]}
        lines.append({"custom_id": request["custom_id"], "response": {"status_code": 200, "body": body}})
    return sorted(lines, key=lambda line: line["custom_id"][::-1])


def written(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def answered(folder: Path, name: str, rows: list[dict[str, Any]], options: list[str]) -> Path:
    """Export a task, have it answered, and join the answers."""
    same = ["--data", written(folder / "docs.jsonl", rows), "--examples", written(folder / "shots.jsonl", SUMS)]
    same += [*options, "--quiet"]
    requests, answers = folder / "requests.jsonl", folder / "answers.parquet"
    assert main(["export", "openai-batch", name, *same, "--model-name", "m", "--out", str(requests)]) == 0
    results = results_of(requests, is_chat="--fewshot-as-multiturn" in options)
    assert (
        main(["join", written(folder / "results.jsonl", results), "--table", name, *same, "--out", str(answers)]) == 0
    )
    return answers


def evaluated(model: Any, name: str, rows: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
    config = read_task(name)
    splits = {"train": datasets.Dataset.from_list(SUMS), "test": datasets.Dataset.from_list(rows)}
    splits["validation"] = splits["test"]
    with quiet():
        results = evaluator.simple_evaluate(
            model, tasks=[task_of(config, splits)], task_manager=no_tasks(), bootstrap_iters=0, **options
        )
    return {key: results.get(key) for key in RESULTS}


SHORT = ("gsm8k/gsm8k.yaml", "gsm8k/gsm8k-cot-zeroshot.yaml", "gsm8k/gsm8k-cot-self-consistency.yaml")


@pytest.mark.parametrize("options", [[], CHAT, ["--limit", "4"]], ids=["plain", "chat", "limited"])
@pytest.mark.parametrize("task", [*SHORT, *heavy(*sorted(DOCUMENTS.keys() - {*SHORT}))])
def test_metrics_are_those_of_a_model_that_answers(task: str, options: list[str], tmp_path: Path) -> None:
    name, rows = str(SHIPPED / task), DOCUMENTS[task]
    answers = answered(tmp_path, name, rows, options)
    in_harness: dict[str, Any] = {}
    if options == CHAT:
        in_harness = {"apply_chat_template": True, "fewshot_as_multiturn": True, "system_instruction": "Be brief."}
    elif options:
        in_harness = {"limit": 4}
    want = evaluated(Recorded(), name, rows, **in_harness)
    have = evaluated(promptpress_lm_eval.answers(answers), name, rows, **in_harness)
    assert equal(have, want)
    (metrics,) = want["results"].values()
    assert options[:1] == ["--limit"] or any(0 < value < 1 for value in metrics.values() if isinstance(value, float))
    with promptpress_lm_eval.backend():
        assert equal(evaluated(promptpress_lm_eval.answers(answers), name, rows, **in_harness), want)


def test_every_choice_of_a_request_is_a_repeat(tmp_path: Path) -> None:
    """A request with `n` choices, joined with all of them, has the answers of as many repeats."""
    name, rows = str(SHIPPED / "gsm8k/gsm8k-cot-self-consistency.yaml"), SUMS[:5]
    table = pq.read_table(answered(tmp_path, name, rows, []))
    documents = table["doc_id"].to_pylist()
    first = [documents.index(document) for document in range(5)]
    choices = [[t for t, d in zip(table["response"].to_pylist(), documents, strict=True) if d == n] for n in range(5)]
    joined = table.take(first).drop_columns(["response"]).append_column("response", pa.array(choices))
    want = evaluated(Recorded(), name, rows)
    assert equal(evaluated(promptpress_lm_eval.answers(joined), name, rows), want)


def test_answers_that_are_missing_or_of_other_contexts(tmp_path: Path) -> None:
    name, rows = str(SHIPPED / "gsm8k/gsm8k.yaml"), SUMS
    table = pq.read_table(answered(tmp_path, name, rows, []))
    texts = [None if row in (3, 7) else text for row, text in enumerate(table["response"].to_pylist())]
    states = ["missing" if row == 3 else "error" if row == 7 else "ok" for row in range(len(texts))]
    gaps = table.drop_columns(["response", "status"])
    gaps = gaps.append_column("response", pa.array(texts)).append_column("status", pa.array(states))
    refused = r"2 of 20 rows have no answer \(1 missing, 1 error\): doc_id 3, 7"
    with pytest.raises(pp.RenderError, match=refused):
        evaluated(promptpress_lm_eval.answers(gaps), name, rows)
    filled = evaluated(promptpress_lm_eval.answers(gaps, unanswered=""), name, rows)
    ((samples,),) = [filled["samples"].values()]
    assert {sample["doc_id"] for sample in samples if sample["resps"] == [[""]]} >= {3, 7}
    assert evaluated(promptpress_lm_eval.answers(gaps), name, rows, limit=3)["n-samples"]["gsm8k"]["effective"] == 3
    with pytest.raises(pp.RenderError, match=r"task gsm8k, document 0 has another context .* from character \d+ on"):
        evaluated(promptpress_lm_eval.answers(table), name, rows, num_fewshot=2)
    with pytest.raises(pp.RenderError, match="task gsm8k, document 3 isn't among the rows"):
        evaluated(promptpress_lm_eval.answers(table.slice(0, 3)), name, rows)
    with pytest.raises(pp.RenderError, match="document 0 has 2 answers, and the harness asks for 1"):
        evaluated(promptpress_lm_eval.answers(pa.concat_tables([table, table])), name, rows)
    with pytest.raises(NotImplementedError, match="scores log-likelihoods"):
        promptpress_lm_eval.answers(table).loglikelihood([type("R", (), {"task_name": "t"})])


def test_answers_that_hold_a_stop_word_are_warned_of(tmp_path: Path) -> None:
    name, rows = str(SHIPPED / "gsm8k/gsm8k.yaml"), SUMS[:5]
    table = pq.read_table(answered(tmp_path, name, rows, []))
    with warnings.catch_warnings():
        warnings.simplefilter("error", pp.PromptWarning)
        evaluated(promptpress_lm_eval.answers(table), name, rows)
    texts = [text + "\nQuestion: 1" * (row in (2, 4)) for row, text in enumerate(table["response"].to_pylist())]
    table = table.drop_columns(["response"]).append_column("response", pa.array(texts))
    message = "2 of 5 answers hold a stop word of the task, .* first task gsm8k, document 2: 'Question:'"
    with pytest.warns(pp.PromptWarning, match=message):
        have = evaluated(promptpress_lm_eval.answers(table), name, rows)
    assert [sample["resps"] for sample in have["samples"]["gsm8k"][:5]] == [[[text]] for text in texts]


def test_texts_of_a_chat_template(tmp_path: Path) -> None:
    name, rows = str(SHIPPED / "gsm8k/gsm8k.yaml"), SUMS[:4]
    template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    (tmp_path / "chat.jinja").write_text(template)
    options = ["--chat-template", str(tmp_path / "chat.jinja"), "--fewshot-as-multiturn", "--url", "/v1/completions"]
    same = ["--data", written(tmp_path / "d.jsonl", rows), "--examples", written(tmp_path / "s.jsonl", SUMS), "--quiet"]
    out = tmp_path / "r.jsonl"
    assert main(["export", "openai-batch", name, *same, *options, "--model-name", "m", "--out", str(out)]) == 0
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    results = [
        {"custom_id": line["custom_id"], "response": {"body": {"choices": [{"text": line["body"]["prompt"][-9:]}]}}}
        for line in lines
    ]
    joined = tmp_path / "gsm8k.jsonl"
    command = [
        "join",
        written(tmp_path / "a.jsonl", results),
        "--table",
        name,
        *same,
        *options[:3],
        "--out",
        str(joined),
    ]
    assert main(command) == 0
    model = promptpress_lm_eval.answers(tmp_path / "{task}.jsonl", chat_template=pp.ChatTemplate(template))
    have = evaluated(model, name, rows, apply_chat_template=True, fewshot_as_multiturn=True)
    assert [sample["resps"] for sample in have["samples"]["gsm8k"][:4]] == [[[f["body"]["prompt"][-9:]]] for f in lines]


@pytest.mark.full
def test_the_command_of_the_harness(tmp_path: Path) -> None:
    """`promptpress-run lm_eval run` prints the metrics of the answers, and logs the samples."""
    rows = DOCUMENTS["babi/babi.yaml"]
    config = {key: value for key, value in read_task(str(SHIPPED / "babi/babi.yaml")).items() if key != "dataset_name"}
    docs = written(tmp_path / "rows.jsonl", rows)
    data = {"test": docs, "train": docs, "valid": docs}
    config |= {"task": "by_batch", "dataset_path": "json", "dataset_kwargs": {"data_files": data}}
    (tmp_path / "tasks").mkdir()
    task = tmp_path / "tasks" / "by_batch.yaml"
    task.write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in config.items()), encoding="utf-8")
    answers = answered(tmp_path, str(task), rows, [])
    words = [
        *("lm_eval", "run", "--model", "promptpress-answers", "--model_args", f"answers={answers}"),
        *(
            "--tasks",
            "by_batch",
            "--include_path",
            str(tmp_path / "tasks"),
            "--log_samples",
            "--output_path",
            str(tmp_path / "out"),
        ),
    ]
    paths = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "HF_HOME": str(tmp_path / "hf"), "PATH": paths, "PROMPTPRESS_BACKEND": "lm_eval"}
    command = [sys.executable, "-m", "promptpress.run", *words]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr
    want = evaluated(Recorded(), str(SHIPPED / "babi/babi.yaml"), rows)["results"]["babi"]["exact_match,none"]
    assert 0 < want < 1
    assert f"{want:.4g}" in run.stdout
    (logged,) = (tmp_path / "out").rglob("samples_by_batch_*.jsonl")
    assert [json.loads(line)["doc_id"] for line in logged.read_text("utf-8").splitlines()] == list(range(40))
