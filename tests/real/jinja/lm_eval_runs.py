"""The real lm-evaluation-harness on local data, with a model that answers by a hash of what it is asked."""

from __future__ import annotations

import copy
import hashlib
import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest

datasets = pytest.importorskip("datasets")
pytest.importorskip("lm_eval")
evaluator = pytest.importorskip("lm_eval.evaluator")

from lm_eval.api.model import LM  # noqa: E402 - skipped without it
from lm_eval.api.task import ConfigurableTask  # noqa: E402
from lm_eval.tasks import TaskManager  # noqa: E402
from promptpress import lm_eval as promptpress_lm_eval  # noqa: E402
from promptpress_harness.bulk.report import CallRecord  # noqa: E402

Splits = dict[str, Any]
RESULTS = ("results", "configs", "versions", "n-shot", "higher_is_better", "n-samples", "samples", "group_subtasks")
"""Keys of an evaluation's results that don't depend on when and where it ran."""


def chatml(messages: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
    """A chat as a text."""
    texts = [f"<|{message['role']}|>{message['content']}" for message in messages]
    return "<|end|>".join(texts) + ("<|end|><|assistant|>" if add_generation_prompt else "")


class Scripted(LM):
    """Answers by a hash of the request, and notes what it is asked."""

    tokenizer_name = "scripted"

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[Any] = []

    def _numbers(self, requests: list[Any]) -> Iterator[int]:
        for request in requests:
            self.requests.append(
                (request.request_type, copy.deepcopy(request.arguments), request.idx, request.metadata)
            )
            yield hashlib.sha256(repr(request.arguments).encode("utf-8", "surrogatepass")).digest()[0]

    def loglikelihood(self, requests: list[Any]) -> list[tuple[float, bool]]:
        return [(-float(number) - 1, number % 3 == 0) for number in self._numbers(requests)]

    def loglikelihood_rolling(self, requests: list[Any]) -> list[Any]:
        scores = [-float(number) - 1 for number in self._numbers(requests)]
        # From 0.5 on an answer is that of `loglikelihood`.
        return [(score, False) for score in scores] if hasattr(ConfigurableTask, "from_config") else scores

    def generate_until(self, requests: list[Any]) -> list[str]:
        answers = []
        for number, request in zip(list(self._numbers(requests)), requests, strict=True):
            # As real models do: what is given is used up.
            settings = request.args[1]
            until = settings.pop("until", None)
            answers.append(f"{number % 7}{'' if number % 2 else until}")
        return answers

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        return chatml(chat_history, add_generation_prompt)

    def chat_template(self, chat_template: bool | str = False) -> str:  # noqa: ARG002
        return "chatml"


def task_of(config: dict[str, Any], splits: Splits, seed: int | None = None) -> Any:
    """A task of the harness over tables that are there."""
    settings = copy.deepcopy(config)
    settings["custom_dataset"] = lambda **_: dict(splits)
    with quiet():
        made = ConfigurableTask(config=settings)
        if seed is not None:
            made.set_fewshot_seed(seed)
    return made


def switched(*, on: bool) -> Any:
    """With the backend, or without."""
    return promptpress_lm_eval.backend() if on else nullcontext()


@contextmanager
def quiet() -> Iterator[None]:
    """Without the harness's own warnings about tasks."""
    logger = logging.getLogger("lm_eval")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def evaluated(make: Callable[[], Any], *, on: bool, **options: Any) -> dict[str, Any]:
    """Return what an evaluation by the harness gives: requests, results and samples; or what it raises."""
    model = Scripted()
    options = {"bootstrap_iters": 0, "task_manager": no_tasks(), **options}
    with quiet(), switched(on=on):
        try:
            tasks = make()
            results = evaluator.simple_evaluate(model, tasks=tasks if isinstance(tasks, list) else [tasks], **options)
        except Exception as error:
            return {"asked": model.requests, "error": (type(error), str(error))}
    return {"asked": model.requests, **{name: results.get(name) for name in RESULTS}}


def built(task: Any, *, on: bool, **options: Any) -> Any:
    """The requests of a task, every field of them, and where its generator then stands; or what it raises."""
    before = task.sampler.rnd.getstate()
    with quiet(), switched(on=on):
        try:
            task.build_all_requests(**options)
        except Exception as error:
            return type(error), str(error)
    states = before, task.sampler.rnd.getstate()
    docs = [id(instance.doc) for instance in task.instances]
    shared = [docs.index(instance) for instance in docs]
    return [dict(vars(instance)) for instance in task.instances], shared, states, sorted(vars(task))


_managers: list[Any] = []


def no_tasks() -> Any:
    """A manager that knows no task, since to index those that the harness brings takes seconds."""
    if not _managers:
        _managers.append(TaskManager(include_defaults=False))
    return _managers[0]


def reasons_of(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the reasons for which a run leaves prompts to the harness."""
    reasons: list[str] = []
    left = CallRecord.left

    def noted(self: CallRecord, reason: str) -> None:
        reasons.append(reason)
        left(self, reason)

    monkeypatch.setattr(CallRecord, "left", noted)
    return reasons


def equal(first: Any, second: Any) -> bool:
    """Return true if two values are equal; NaN equals NaN."""
    if type(first) is not type(second):
        return False
    if isinstance(first, dict):
        return list(first) == list(second) and all(equal(first[key], second[key]) for key in first)
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(equal, first, second))
    return bool(first == second or (isinstance(first, float) and math.isnan(first) and math.isnan(second)))
