"""`promptpress verify` beside the real lm-evaluation-harness: tasks of YAML, and what finished runs wrote down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lm_eval.evaluator")

from lm_eval.loggers import EvaluationTracker
from promptpress import lm_eval as promptpress_lm_eval
from promptpress_workbench.cli import main
from promptpress_workbench.cli.errors import ExitCode
from real.jinja.lm_eval_runs import Scripted, evaluator, no_tasks, quiet, reasons_of, task_of
from real.jinja.test_lm_eval_backend import BASE, GENERATE, KINDS, SPLITS

pytestmark = pytest.mark.filterwarnings("ignore")
TASK = """\
task: capitals
dataset_path: json
dataset_kwargs:
  data_files: {files}
  cache_dir: {cache}
test_split: test
fewshot_split: train
output_type: multiple_choice
doc_to_text: "Q: {{{{q.strip()}}}}\\nA:"
doc_to_choice: "{{{{[a, b]}}}}"
doc_to_target: 0
num_fewshot: 2
"""
ROWS = [{"q": f" Which {n}?", "a": f"it's {n}", "b": 'a "b"'} for n in range(9)]


def written(folder: Path, rows: list[dict[str, Any]], name: str) -> str:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture
def task(tmp_path: Path) -> Path:
    files = {"test": written(tmp_path, ROWS[:6], "test.jsonl"), "train": written(tmp_path, ROWS[3:], "train.jsonl")}
    path = tmp_path / "capitals.yaml"
    path.write_text(TASK.format(files=json.dumps(files), cache=tmp_path / "cache"), encoding="utf-8")
    return path


def verify(*words: Any) -> ExitCode:
    return ExitCode(main(["verify", *map(str, words)]))


def test_a_task_with_local_data(task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(task) == ExitCode.OK
    assert capsys.readouterr().out.startswith("equal: 12 requests of 6 rows (lm_eval 0.4.13, promptpress ")
    assert verify(task, "--limit", 2, "--shots", 0) == ExitCode.OK
    assert capsys.readouterr().out.startswith("equal: 4 requests of 2 rows (")


def test_the_side_of_the_harness_is_unchanged(task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promptpress_harness.lm_eval.backend.contexts.ContextBuilder.parts", None)
    reasons = reasons_of(monkeypatch)
    promptpress_lm_eval.enable()
    assert verify(task) == ExitCode.OK
    assert reasons == []


def test_a_task_that_includes_another(task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = task.with_name("other.yaml")
    other.write_text('include: capitals.yaml\ntask: other\ndescription: "Think. "\n', encoding="utf-8")
    assert verify(other) == ExitCode.OK
    assert capsys.readouterr().out.startswith("equal: 12 requests")


def test_rows_that_the_user_gives(task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = written(tmp_path, ROWS[4:], "own.jsonl")
    assert verify(task, "--data", data) == ExitCode.USAGE
    assert "--examples" in capsys.readouterr().err
    assert verify(task, "--data", data, "--examples", tmp_path / "train.jsonl") == ExitCode.OK
    assert capsys.readouterr().out.startswith("equal: 10 requests of 5 rows")


def test_a_difference(task: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    original = promptpress_lm_eval.requests

    def other(config: Any, docs: Any, *rest: Any, **options: Any) -> Any:
        return original(
            {**config, "doc_to_choice": "{{[a, b]|reverse|list if q == ' Which 4?' else [a, b]}}"},
            docs,
            *rest,
            **options,
        )

    monkeypatch.setattr(promptpress_lm_eval, "requests", other)
    assert verify(task) == ExitCode.DIFFERENT
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(
        "different at row 4, label '0', 'continuation', character 1 (of 6 rows; equal before it: 8"
    )
    # Another row has it as an example.
    assert lines[-1] == "  2 of 6 rows differ"


def test_a_task_that_raises_on_both_sides(task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = task.read_text(encoding="utf-8").replace("q.strip()", "q.strip() if q != ' Which 4?' else gone")
    task.write_text(text, encoding="utf-8")
    assert verify(task) == ExitCode.OK
    assert "both refuse" in capsys.readouterr().out


def test_a_task_with_a_function_is_not_supported(task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task.with_name("functions.py").write_text("def text(doc):\n    return doc['q']\n", encoding="utf-8")
    text = task.read_text(encoding="utf-8").replace('"Q: {{q.strip()}}\\nA:"', "!function functions.text")
    task.write_text(text, encoding="utf-8")
    assert verify(task) == ExitCode.UNSUPPORTED
    assert capsys.readouterr().out.startswith("not supported: doc_to_text: ")


def test_documents_are_those_that_process_docs_gave(task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = "def docs(rows):\n    return rows.map(lambda row: {'q': row['q'].upper()})\n"
    task.with_name("functions.py").write_text(code, encoding="utf-8")
    text = task.read_text(encoding="utf-8") + "process_docs: !function functions.docs\n"
    task.write_text(text, encoding="utf-8")
    assert verify(task) == ExitCode.OK
    assert capsys.readouterr().out.startswith("equal: 12 requests")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("doc_to_text: [", ExitCode.CONFIGURATION),
        ("output_type: generate_until\n", ExitCode.CONFIGURATION),
        ("task: x\noutput_type: generate_until\ndataset_path: json\ntest_split: test\n", ExitCode.DATA),
    ],
)
def test_a_file_that_is_no_task(
    text: str, code: ExitCode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Without files of its own a task is given all JSON files of the folder.
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "no.yaml"
    path.write_text(text, encoding="utf-8")
    assert verify(path) == code
    assert str(path) in capsys.readouterr().err


def test_options_that_are_for_others(task: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert verify(task, "--backend") == ExitCode.USAGE
    config = tmp_path / "config.json"
    config.write_text("{}", encoding="utf-8")
    assert verify(config, "--shots", 1) == ExitCode.USAGE
    assert "--shots" in capsys.readouterr().err


def finished(folder: Path, config: dict[str, Any], **options: Any) -> Path:
    """A run of the harness with its own files; the samples'."""
    tracker = EvaluationTracker(output_path=str(folder))
    with quiet():
        task = task_of(config, SPLITS)
        results = evaluator.simple_evaluate(
            Scripted(), tasks=[task], task_manager=no_tasks(), evaluation_tracker=tracker, bootstrap_iters=0, **options
        )
        samples = results.pop("samples")
        tracker.save_results_aggregated(results=results, samples=samples)
        tracker.save_results_samples(task_name="own", samples=samples["own"])
    (path,) = folder.rglob("samples_own_*.jsonl")
    return path


def rows_of(kind: str, folder: Path) -> str:
    path = folder / f"{kind}.parquet"
    SPLITS[kind].to_parquet(str(path))
    return str(path)


# Their functions are gone, or they keep more than one file says.
UNRECORDED = {"samples of a function", "shuffled", "filtered", "process_docs", "the same split"}


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - UNRECORDED))
def test_a_finished_run(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = finished(tmp_path, KINDS[kind], num_fewshot=2, system_instruction="Be brief.", limit=7)
    code = verify(path, "--examples", rows_of("train", tmp_path))
    out = capsys.readouterr().out
    if KINDS[kind]["output_type"] == "generate_until":
        # The model has used up what it was given.
        assert "'generation_kwargs', 'until'" in out
    else:
        assert (code, out.partition("(")[2].partition(",")[0]) == (ExitCode.OK, "the run"), out


def test_a_finished_run_that_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = finished(tmp_path, BASE)
    assert verify(path) == ExitCode.OK
    assert capsys.readouterr().out.startswith("equal: 36 requests of 12 rows (the run, promptpress ")
    lines = path.read_text(encoding="utf-8").splitlines()
    for number in (3, 7):
        lines[number] = lines[number].replace("Q: Which", "Q:  Which")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert verify(path) == ExitCode.DIFFERENT
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("different at row 3, label '0', 'context', character 3 (of 12 rows; equal before it: ")
    assert out[-1] == "  2 of 12 rows differ"


def test_a_finished_run_whose_examples_are_not_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(finished(tmp_path, BASE, num_fewshot=1)) == ExitCode.USAGE
    assert "error: --examples: shots are drawn from the split 'train'" in capsys.readouterr().err


@pytest.mark.parametrize("options", [{"limit": 5}, {"samples": {"own": [7, 2, 11]}}, {}])
def test_a_finished_run_that_draws_from_the_split_it_evaluates(
    options: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = finished(tmp_path, {**BASE, "fewshot_split": "test"}, num_fewshot=3, **options)
    if options:
        assert verify(path) == ExitCode.USAGE
        assert "--examples: shots are drawn from all 12 documents of the split" in capsys.readouterr().err
        assert verify(path, "--examples", rows_of("train", tmp_path)) == ExitCode.USAGE
        assert verify(path, "--limit", 2, "--examples", rows_of("test", tmp_path)) == ExitCode.OK
        assert verify(path, "--examples", rows_of("test", tmp_path)) == ExitCode.OK
    else:
        assert verify(path) == ExitCode.OK
        assert verify(path, "--limit", 2) == ExitCode.OK
        assert "of 2 rows" in capsys.readouterr().out


def test_a_finished_run_with_examples_of_a_function(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(finished(tmp_path, KINDS["samples of a function"], num_fewshot=1)) == ExitCode.UNSUPPORTED
    assert "not supported: fewshot_config.samples: it is a function" in capsys.readouterr().out


def test_a_finished_run_of_functions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = finished(tmp_path, {**BASE, "doc_to_text": lambda doc: doc["q"]})
    assert verify(path) == ExitCode.UNSUPPORTED
    assert capsys.readouterr().out.startswith("not supported: fewshot_config.doc_to_text: it is a function")


CHAT = (
    "{% for m in messages %}<|{{m.role}}|>{{m.content}}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@pytest.mark.parametrize("prefix", [None, "The answer is", "So "])
@pytest.mark.parametrize("as_turns", [False, True])
def test_a_finished_run_of_chats(
    prefix: str | None,
    as_turns: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def rendered(self: Any, chat_history: Any, add_generation_prompt: bool = True) -> str:  # noqa: ARG001
        text = "".join(f"<|{message['role']}|>{message['content']}<|end|>" for message in chat_history)
        return text + "<|assistant|>" if add_generation_prompt else text.removesuffix("<|end|>")

    monkeypatch.setattr(Scripted, "apply_chat_template", rendered)
    monkeypatch.setattr(Scripted, "chat_template", lambda *_: CHAT)
    config = {**BASE, "gen_prefix": prefix}
    path = finished(
        tmp_path,
        config,
        num_fewshot=2,
        apply_chat_template=True,
        fewshot_as_multiturn=as_turns,
        system_instruction="Hm.",
    )
    assert verify(path, "--examples", rows_of("train", tmp_path)) == ExitCode.OK, capsys.readouterr().out


def test_a_chat_template_without_a_place_for_the_system(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def rendered(self: Any, chat_history: Any, add_generation_prompt: bool = True) -> str:  # noqa: ARG001
        return (
            "".join(f"<|{message['role']}|>{message['content']}<|end|>" for message in chat_history[1:])
            + "<|assistant|>"
        )

    refuses = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    monkeypatch.setattr(Scripted, "apply_chat_template", rendered)
    monkeypatch.setattr(Scripted, "chat_template", lambda *_: refuses + CHAT)
    path = finished(tmp_path, BASE, apply_chat_template=True, system_instruction="Hm.")
    assert verify(path) == ExitCode.OK, capsys.readouterr().out


def test_a_run_whose_files_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = finished(tmp_path, GENERATE)
    (results,) = path.parent.glob("results_*.json")
    text = results.read_text(encoding="utf-8")
    results.write_text(text.replace('"own"', '"other"'), encoding="utf-8")
    assert verify(path) == ExitCode.CONFIGURATION
    assert "say nothing of the task own" in capsys.readouterr().err
    results.write_text("{", encoding="utf-8")
    assert verify(path) == ExitCode.CONFIGURATION
    results.unlink()
    assert verify(path) == ExitCode.CONFIGURATION
    results.write_text(text, encoding="utf-8")
    path.write_text("{}\n", encoding="utf-8")
    assert verify(path) == ExitCode.DATA
    path.write_text("", encoding="utf-8")
    assert verify(path) == ExitCode.DATA
    path.unlink()
    assert verify(path) == ExitCode.DATA
