"""Runs a harness with the bulk backend on, and a model that only answers, to see which prompts are made in bulk.

Nothing here knows what the backend covers: the harness's own code runs over the rows, and the backend's record says
which way each prompt went.
"""

from __future__ import annotations

import copy
import importlib
import logging
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from promptpress.engine.configs import find_model_class, last_part
from promptpress.engine.errors import counted, reason
from promptpress_harness.bulk import report
from promptpress_harness.registry import HARNESSES

from promptpress_workbench.cli.shell.errors import ExitCode
from promptpress_workbench.cli.verify.harness_pipeline import Harness, silence
from promptpress_workbench.cli.verify.refusals import error_text
from promptpress_workbench.cli.verify.verdict import Verdict

_TOO_MANY_TOKENS = 1 << 20
_DATASET_NAME, _MODEL_NAME = "dataset", "model"


@dataclass(frozen=True)
class DryRun:
    """The counts of the backend's record of a run, and the error that ended the run."""

    rows: int
    in_bulk: int = 0
    by_harness: int = 0
    reasons: tuple[str, ...] = ()
    error: Exception | None = None

    def verdict(self, inferencer: str) -> Verdict:
        """Return the way that the prompts went: in bulk only if the record says so of all rows."""
        reasons = "; ".join(self.reasons)
        if self.error is not None:
            failure = f"{type(self.error).__name__}: {error_text(self.error)}".removesuffix(": ")
            if reasons:
                return Verdict(ExitCode.UNSUPPORTED, f"{reasons} (then the run fails: {failure})")
            return Verdict(ExitCode.CONFIGURATION, f"the run, with a model that only answers, fails: {failure}")
        if not self.rows:
            return Verdict(ExitCode.CONFIGURATION, "there are no rows to tell by")
        if self.in_bulk >= self.rows and not self.by_harness and not self.reasons:
            return Verdict(ExitCode.OK, f"{counted(self.in_bulk, 'prompt')} of {counted(self.rows, 'row')}")
        if not self.in_bulk:
            message = reasons or f"the backend has no part in {inferencer or 'this'}'s prompts"
        else:
            message = f"{self.in_bulk:,} in bulk, {self.by_harness:,} by the harness: "
            message += reasons or "not every row was rendered in bulk"
        return Verdict(ExitCode.UNSUPPORTED, message)


def dry_run(
    harness: Harness, config: Mapping[str, Any], model: Mapping[str, Any] | None, dataset: Any, settings: Any
) -> Verdict:
    """Run a configuration's inferencer with the backend on, and return the way that its prompts went."""
    inferencer = last_part((config["infer_cfg"].get("inferencer") or {}).get("type"))
    rows = len(dataset.test)
    try:
        kind = _model_class(harness, model, settings)
    except LookupError as unknown:
        return Verdict(ExitCode.CONFIGURATION, str(unknown.args[0]))
    error: Exception | None = None
    with (
        silence(),
        tempfile.TemporaryDirectory() as folder,
        importlib.import_module(HARNESSES[harness.dialect].switch).backend(),
        report.record_call("", "", rows) as record,
    ):
        try:
            scripted = _scripted_model(harness, kind, settings)
            if harness.dialect == "opencompass":
                _run_opencompass(config, model or {}, scripted, dataset, folder)
            else:
                _run_aisbench(harness, config, model or {}, scripted, dataset, folder)
        except Exception as raised:
            error = raised
    return DryRun(rows, record.in_bulk, record.by_harness, tuple(record.reasons), error).verdict(inferencer)


def _model_class(harness: Harness, model: Mapping[str, Any] | None, settings: Mapping[str, Any]) -> Any:
    """Return the model's class; only a known one, because its constructor, which may load anything, isn't called."""
    if model is None or "type" not in model:
        return harness.model_bases()[settings["output"] == "messages"]
    if find_model_class(model["type"], harness.dialect) is None:
        raise LookupError(
            f"promptpress doesn't know the model class {last_part(model['type'])}, and no model is loaded to see"
            " which parser it has"
        )
    try:
        kind = harness.registry("MODELS").get(model["type"])
    except ImportError as error:
        raise LookupError(f"the model class can't be imported: {reason(error)}") from error
    if kind is None:
        raise LookupError(f"{harness.name} has no model class {model['type']!r}")
    return kind


def _scripted_model(harness: Harness, kind: Any, settings: Mapping[str, Any]) -> Any:
    """Make a model of a class that answers any request.

    The model counts too many tokens for each prompt. So if there is a `max_seq_len`, the inferencer removes examples,
    and prompts with any number of examples occur, as they may with the real counter.
    """
    _, api_base = harness.model_bases()

    class Scripted(kind):  # type: ignore[misc]
        def generate(self, inputs: Any, *_: Any, **__: Any) -> list[str]:
            return ["answer" for _ in inputs]

        def get_ppl(self, inputs: Any, *_: Any, **__: Any) -> Any:
            return _Numbers(1.0 for _ in inputs)

        def get_loglikelihood(self, inputs: Any, *_: Any, **__: Any) -> Any:
            return _Numbers(-1.0 for _ in inputs)

    if kind.get_token_len is not api_base.get_token_len:  # the base's counter needs no tokenizer
        Scripted.get_token_len = lambda *_: _TOO_MANY_TOKENS
    meta = copy.deepcopy(settings["meta_template"])
    if isinstance(meta, Mapping):
        meta = _config_dict(meta)
    elif isinstance(meta, (list, tuple)):
        meta = [_config_dict(item) if isinstance(item, Mapping) else item for item in meta]
    model = object.__new__(Scripted)
    model.path, model.tokenizer, model.tokenizer_only = "", _Tokenizer(), False
    model.max_seq_len, model.max_out_len = None, 1
    model.meta_template, model.template_parser = meta, harness.parser(settings["output"])(meta)
    model.eos_token_id, model.sync_rank, model.is_synthetic, model.generation_kwargs = None, False, False, {}
    model.logger = logging.getLogger("promptpress")
    return model


class _Numbers(list[float]):
    """A list of numbers that inferencers can use as a tensor."""

    def tolist(self) -> list[float]:
        return list(self)


class _Tokenizer:
    padding_side = "right"

    def encode(self, text: str, *_: Any, **__: Any) -> list[int]:
        return [ord(character) for character in text[:1]]


def _config_dict(value: Mapping[str, Any]) -> Any:
    from mmengine.config import ConfigDict  # noqa: PLC0415 - comes with the harness

    return ConfigDict(value)


def _run_opencompass(
    config: Mapping[str, Any], model: Mapping[str, Any], scripted: Any, dataset: Any, folder: str
) -> None:
    """Run the task that OpenCompass starts as a process."""
    settings = {"max_out_len": 1, "batch_size": 8, **copy.deepcopy(dict(model)), "abbr": _MODEL_NAME}
    data = {**copy.deepcopy(dict(config)), "abbr": _DATASET_NAME}
    cfg = _config_dict({"models": [settings], "datasets": [[data]], "work_dir": folder})
    task = importlib.import_module("opencompass.tasks.openicl_infer")
    clp = importlib.import_module("opencompass.openicl.icl_inferencer.icl_clp_inferencer").CLPInferencer
    with (
        patch.object(task, "build_dataset_from_cfg", lambda *_, **__: dataset),
        # The original method calculates with the model's logits.
        patch.object(clp, "_get_cond_prob", lambda _, texts, __, choices: [[1.0 for _ in choices] for _ in texts]),
    ):
        task.OpenICLInferTask(cfg).run(cur_model=scripted, cur_model_abbr=_MODEL_NAME)


def _run_aisbench(  # noqa: PLR0917 - all parts of a task
    harness: Harness, config: Mapping[str, Any], model: Mapping[str, Any], scripted: Any, dataset: Any, folder: str
) -> None:
    """Make the list of requests as AISBench's tasks make it, before they call the model."""
    infer = _config_dict(copy.deepcopy(dict(config["infer_cfg"])))
    dataset.abbr = _DATASET_NAME
    parts = {name: infer.get(name) for name in ("prompt_template", "ice_template")}
    retriever = harness.registry("ICL_RETRIEVERS").build({**infer["retriever"], "dataset": dataset, **parts})
    settings = {
        "batch_size": 1,
        **infer["inferencer"],
        "model_cfg": _config_dict({**copy.deepcopy(dict(model)), "abbr": _MODEL_NAME}),
        "max_seq_len": model.get("max_seq_len"),
        "output_json_filepath": folder,
    }
    base = importlib.import_module("ais_bench.benchmark.openicl.icl_inferencer.icl_base_inferencer")
    with patch.object(base, "build_model_from_cfg", lambda *_, **__: scripted):
        inferencer = harness.registry("ICL_INFERENCERS").build(settings)
    inferencer.get_data_list(retriever)
