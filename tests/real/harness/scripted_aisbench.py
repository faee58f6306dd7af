"""AISBench's real inference tasks with a model that answers by rule and writes down what it is given.

A task reads a configuration, builds datasets, retrievers and the inferencer, asks the model and writes files: all that
`ais_bench` runs in a process of its own. Only the model and the datasets' loader are replaced.
"""

from __future__ import annotations

import copy
import json
import queue
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from real.harness.both import MESSAGES, TEXT
from real.harness.scripted import number, plain, tokens

_API = "ais_bench.benchmark.openicl.icl_inferencer.icl_base_api_inferencer."
_TASK = "ais_bench.benchmark.tasks.utils."
# How long the task sleeps between two looks at its own progress.
_INTERVALS = (
    _API + "BLOCK_INTERVAL",
    _API + "STATUS_REPORT_INTERVAL",
    _API + "SYNC_MAIN_PROCESS_INTERVAL",
    _TASK + "STATUS_REPORT_INTERVAL",
    _TASK + "SYNC_MAIN_PROCESS_INTERVAL",
)
# A request gets a random name, and so does the file that is there while a task runs. Which results share a name shows.
_NAME = re.compile(r'(?<="uuid": ")[0-9a-f]+')
_RUNNING = re.compile(r"tmp_[0-9a-f_]+\.")

MODELS: dict[str, dict[str, Any]] = {
    "text": {"parser": "text", "meta_template": TEXT},
    "lines": {"parser": "text", "meta_template": None},
    "messages": {"parser": "messages", "meta_template": MESSAGES},
    "no messages": {"parser": "messages", "meta_template": None},
}
received: list[Any] = []
_splits: dict[str, dict[str, pa.Table]] = {}
_hook: list[Callable[[Any], None]] = []


@cache
def aisbench() -> SimpleNamespace:
    """The tasks, with a model and a loader of their own registered."""
    from ais_bench.benchmark.datasets.base import BaseDataset
    from ais_bench.benchmark.models.api_models.base_api import APITemplateParser, BaseAPIModel
    from ais_bench.benchmark.models.local_models.base import BaseModel, LMTemplateParser
    from ais_bench.benchmark.registry import LOAD_DATASET, MODELS
    from ais_bench.benchmark.tasks.base import TaskStateManager
    from ais_bench.benchmark.tasks.openicl_api_infer import OpenICLApiInferTask
    from ais_bench.benchmark.tasks.openicl_infer import OpenICLInferTask
    from datasets import Dataset, DatasetDict

    class Scripted:
        def __init__(self, parser: str, max_out_len: int, meta_template: Any = None, **others: Any) -> None:
            super().__init__(path="", meta_template=None, **others)  # type: ignore[call-arg]
            self.max_out_len = max_out_len
            self.template_parser = (APITemplateParser if parser == "messages" else LMTemplateParser)(meta_template)

        def get_token_len(self, prompt: str) -> int:
            return tokens(prompt)

        def answer(self, request: Any, *others: Any) -> str:
            """Note a request, and change it as who is given a list may do."""
            received.append(plain((request, *others)))
            for hook in _hook:
                hook(request)
            answer = f"answer {number(plain(request))}"
            if isinstance(request, list):
                request.append("changed")
            return answer

    class Local(Scripted, BaseModel):
        def generate(self, inputs: Any, max_out_len: Any, **others: Any) -> list[str]:
            return [self.answer(copy.deepcopy(prompt), max_out_len, others) for prompt in inputs]

    class Api(Scripted, BaseAPIModel):
        async def generate(self, request: Any, max_out_len: Any, output: Any, **others: Any) -> None:
            del others["session"]
            try:
                output.content = self.answer(copy.deepcopy(request), max_out_len, others)
                output.success = True
            except RefusedError as error:
                output.error_info = str(error)

        async def get_ppl(self, request: Any, max_out_len: Any, output: Any, **others: Any) -> None:
            del others["session"]
            output.input = request
            output.origin_prompt_logprobs = [{"1": {"logprob": -number(request)}}]
            output.ppl = number(self.answer(copy.deepcopy(request), max_out_len, others))
            output.success = True

    class Loader(BaseDataset):
        def load(self, path: str) -> Any:
            # With a name of their own tables needn't be hashed for one, which takes longer than all that is tested.
            named = {name: Dataset(table, fingerprint=f"{path} {name}") for name, table in _splits[path].items()}
            return DatasetDict(named)

    MODELS.register_module(name="ScriptedLocal", module=Local)
    MODELS.register_module(name="ScriptedApi", module=Api)
    LOAD_DATASET.register_module(name="Scripted", module=Loader)
    return SimpleNamespace(api=OpenICLApiInferTask, local=OpenICLInferTask, states=TaskStateManager)


class RefusedError(Exception):
    """The service refuses a request."""


def dataset(name: str, config: dict[str, Any], samples: pa.Table, examples: pa.Table) -> dict[str, Any]:
    """A dataset of a task: a configuration's own, but for the loader."""
    reader = config["reader_cfg"]
    _splits[name] = {
        "train": examples,
        reader.get("train_split", "train"): examples,
        "test": samples,
        reader.get("test_split", "test"): samples,
    }
    return {"abbr": name, "type": "Scripted", "path": name, **copy.deepcopy(config)}


def run(
    datasets: list[dict[str, Any]],
    model: dict[str, Any],
    folder: Path,
    *,
    kind: str = "local",
    together: int = 1,
    hook: Callable[[Any], None] | None = None,
) -> dict[str, Any]:
    """Run a task; what the model received, what was written, and what was raised.

    Args:
        datasets: Its datasets.
        model: The model's `parser` and `meta_template`.
        folder: Where files go.
        kind: Whether the model is `local` or asked by an `api`.
        together: How many requests are made at a time.
        hook: Is given each request before it is answered; what it raises the model raises.
    """
    from mmengine.config import ConfigDict

    harness = aisbench()
    settings = {
        "type": f"Scripted{kind.capitalize()}",
        "abbr": "scripted",
        "max_out_len": 9,
        "batch_size": together,
        "generation_kwargs": {},
        **copy.deepcopy(model),
    }
    arguments = {"debug": True, "num_warmups": 1, "mode": "infer"}
    config = ConfigDict(models=[settings], datasets=[datasets], work_dir=str(folder), cli_args=arguments)
    answer: dict[str, Any] = {}
    folder.mkdir(exist_ok=True)
    received.clear()
    _hook[:] = [hook] if hook is not None else []
    patches = [patch(name, 1e-4) for name in _INTERVALS]
    # What counts requests has room for five of each that are made together: too few for a model that answers at once.
    patches.append(patch(_API + "std_queue", SimpleNamespace(Queue=lambda **_: queue.Queue(), Empty=queue.Empty)))
    for change in patches:
        change.start()
    try:
        getattr(harness, kind)(config).run(harness.states(str(folder), "it", is_debug=True))
    except (Exception, KeyboardInterrupt) as error:
        answer["raised"] = (type(error), str(error))
    finally:
        for change in patches:
            change.stop()
    answer["received"] = list(received)
    answer["files"] = files(folder)
    return answer


def files(folder: Path) -> dict[str, str]:
    """All files of a folder, with the random names numbered."""
    contents = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            names: dict[str, str] = {}
            text = _NAME.sub(lambda name: names.setdefault(name[0], str(len(names))), path.read_text("utf-8"))  # noqa: B023
            contents[_RUNNING.sub("tmp.", str(path.relative_to(folder)))] = text
    return contents


def results(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what the files of the datasets say of answered requests."""
    texts = [text for name, text in answer["files"].items() if name.endswith(".jsonl") and "tmp." not in name]
    lines = [line for text in texts for line in text.splitlines()]
    return [line for line in map(json.loads, lines) if line.get("success")]
