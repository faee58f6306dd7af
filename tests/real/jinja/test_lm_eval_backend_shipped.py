"""Tasks that lm-evaluation-harness ships, on made-up documents: the backend off and on.

The documents, and the requests that the harness built for them, are recorded in `shared` beside the project. Where that
is absent these tests count as skipped.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
from collections import Counter
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("lm_eval.evaluator")

from lm_eval.api.task import ConfigurableTask
from lm_eval.tasks import TaskManager
from real.jinja.lm_eval_runs import RESULTS, datasets, equal, evaluated, quiet, reasons_of, switched

pytestmark = pytest.mark.filterwarnings("ignore")
SHARED = Path(os.environ.get("PROMPTPRESS_SHARED", Path(__file__).parents[4] / "shared"))
RECORDED = SHARED / "golden_lm_eval" / "requests.jsonl.gz"
TOOL = SHARED / "tools" / "lm_eval_cases.py"
needs_recorded = pytest.mark.skipif(not (RECORDED.exists() and TOOL.exists()), reason=f"{RECORDED} isn't there")
RUNS: list[dict[str, Any]] = [
    {"num_fewshot": 2},
    {},
    {"num_fewshot": 1, "apply_chat_template": True, "fewshot_as_multiturn": True},
    {"num_fewshot": 3, "system_instruction": "Be brief.", "limit": 5},
    {"num_fewshot": 2, "apply_chat_template": True, "fewshot_as_multiturn": False, "system_instruction": "Hm."},
]


@cache
def tool() -> ModuleType:
    """Load the module that reads the recorded cases."""
    spec = importlib.util.spec_from_file_location("lm_eval_cases", TOOL)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@cache
def cases() -> list[dict[str, Any]]:
    with gzip.open(RECORDED, "rt", encoding="utf-8", newline="\n") as file:
        return [json.loads(line) for line in file]


def splits_of(case: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    """Evaluated documents in one split, those of examples in all others."""
    few = datasets.Dataset(tool().table(case["fewshot_docs"], case["fewshot_schema"]))
    shots = config.get("fewshot_config")
    names = [config.get(name) for name in ("training_split", "validation_split", "test_split", "fewshot_split")]
    names.append(shots.get("split") if isinstance(shots, dict) else None)
    evaluated_split = config.get("test_split") or config.get("validation_split")
    made = {name: few for name in names if name}
    return {**made, evaluated_split: datasets.Dataset(tool().table(case["docs"], case["schema"]))}


def check_recorded(wanted: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Build what is recorded with the backend on, and count."""
    reasons = reasons_of(monkeypatch)
    counts: Counter[str] = Counter()
    for case in wanted:
        config = tool().decode(case["config"])
        splits = splits_of(case, config)
        for run in case["runs"]:
            reasons.clear()
            with quiet(), switched(on=True):
                made, error = _reference().requests(case["config"], splits, run["options"])
            assert error == run["error"], (case["id"], run["options"])
            if not error:
                assert made == tool().expected(case, run), (case["id"], run["options"])
            counts["bulk" if not reasons else reasons[0]] += 1
    return counts


@cache
def _reference() -> Any:
    made = tool().Reference.__new__(tool().Reference)
    made.datasets, made.task = datasets, ConfigurableTask
    return made


@needs_recorded
def test_recorded_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = check_recorded(cases()[::25], monkeypatch)
    assert set(counts) == {"bulk"}


@needs_recorded
@pytest.mark.full
def test_all_recorded_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = check_recorded(cases(), monkeypatch)
    print(dict(counts))
    assert counts["bulk"] > 0.98 * counts.total()


def check_evaluations(wanted: list[dict[str, Any]], manager: Any, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Evaluate shipped tasks by their own YAML, off and on, and count."""
    reasons = reasons_of(monkeypatch)
    counts: Counter[str] = Counter()
    for number, case in enumerate(wanted):
        name = case["config"]["task"]
        reasons.clear()
        try:
            whole: dict[str, Any] = manager._factory._load_full_config(manager.task_index[name])
        except (Exception, SystemExit):
            # Its functions are in a module that imports what isn't here; what is recorded has none.
            whole = tool().decode(case["config"])
            counts["without its functions"] += 1
        splits = splits_of(case, whole)
        if case.get("note"):
            # The documents are those that its function gave.
            whole.update(process_docs=None)
            if isinstance(whole.get("fewshot_config"), dict):
                whole["fewshot_config"].pop("process_docs", None)
        whole.update(custom_dataset=lambda splits=splits, **_: dict(splits), dataset_kwargs=None)
        off, on = {"error": None}, {}
        # A metric of another package may have to be downloaded; the harness's own needn't.
        for config in (whole, {**whole, "metric_list": None, "process_results": None, "filter_list": None}):
            made = [_evaluated(config, on=is_on, **RUNS[number % len(RUNS)]) for is_on in (False, True)]
            off, on = made
            assert off.keys() == on.keys(), name
            for key in off:
                assert equal(off[key], on[key]), (name, key)
            if "error" not in off:
                break
        counts["error" if "error" in off else "evaluated"] += 1
        counts["left" if reasons else "bulk"] += 1
        if "error" not in off:
            assert set(off) == {"asked", *RESULTS}
            assert off["asked"]
    return counts


def _evaluated(config: dict[str, Any], **options: Any) -> Any:
    copied = dict(config, **{name: json.loads(json.dumps(value)) for name, value in config.items() if _is_json(value)})
    return evaluated(lambda: ConfigurableTask(config=copied), log_samples=True, confirm_run_unsafe_code=True, **options)


def _is_json(value: Any) -> bool:
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except (TypeError, ValueError):
        return False


def shipped() -> list[dict[str, Any]]:
    return [case for case in cases() if case["id"].startswith("task/")]


@needs_recorded
def test_evaluations_of_a_few_shipped_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    import lm_eval.tasks

    root = Path(lm_eval.tasks.__file__).parent
    wanted, paths = [], []
    for case in shipped()[::20]:
        family = root / case["id"].split("/")[1]
        if family.is_dir():
            wanted.append(case)
            paths.append(family)
    manager = TaskManager(include_defaults=False, include_path=paths)
    wanted = [case for case in wanted if case["config"]["task"] in manager.task_index]
    counts = check_evaluations(wanted, manager, monkeypatch)
    assert counts["evaluated"] >= 5


@needs_recorded
@pytest.mark.full
def test_evaluations_of_shipped_tasks_of_all_families(monkeypatch: pytest.MonkeyPatch) -> None:
    manager = TaskManager()
    counts = check_evaluations(shipped(), manager, monkeypatch)
    print(dict(counts), len({case["id"].split("/")[1] for case in shipped()}), "families")
    assert counts["evaluated"] >= 200
