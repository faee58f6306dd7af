"""Which way prompts go in a run with the bulk backend on, found out by such a run with a model that only answers.

Nothing here knows what the backend covers. The harness's own code runs over the rows, the backend does what it does in
any run, and its own record says what became of each prompt.
"""

from __future__ import annotations

import copy
import importlib
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from promptpress._backend import report
from promptpress._cli.errors import ExitCode
from promptpress._file_errors import reason
from promptpress._model_classes import find_model_class, last_part

from .harness_pipeline import Harness, silence
from .refusals import words
from .verdict import Verdict, counted

_SCRIPTED_TOKENS = 1 << 20
_NAMES = {"dataset": "dataset", "model": "model"}


@dataclass(frozen=True)
class DryRun:
    """What the backend's record says of one run.

    Example:
        >>> DryRun(rows=2, in_bulk=2).verdict("GenInferencer").word
        'equal'

    """

    rows: int
    in_bulk: int = 0
    by_harness: int = 0
    reasons: tuple[str, ...] = ()
    error: Exception | None = None

    def verdict(self, inferencer: str) -> Verdict:
        """Say which way the prompts went; in bulk only if the record says so of every row.

        Args:
            inferencer: the inferencer's name.

        Returns:
            With `OK` for in bulk, `UNSUPPORTED` for what the harness does, another code where the run failed.

        """
        why = "; ".join(self.reasons)
        if self.error is not None:
            failure = f"{type(self.error).__name__}: {words(self.error)}".removesuffix(": ")
            if why:
                return Verdict(ExitCode.UNSUPPORTED, f"{why} (then the run fails: {failure})")
            return Verdict(ExitCode.CONFIGURATION, f"the run, with a model that only answers, fails: {failure}")
        if not self.rows:
            return Verdict(ExitCode.CONFIGURATION, "there are no rows to tell by")
        is_all_in_bulk = self.in_bulk >= self.rows and not self.by_harness and not self.reasons
        if is_all_in_bulk:
            return Verdict(ExitCode.OK, f"{counted(self.in_bulk, 'prompt')} of {counted(self.rows, 'row')}")
        if not self.in_bulk:
            return Verdict(ExitCode.UNSUPPORTED, why or f"the backend has no part in {inferencer or 'this'}'s prompts")
        share = f"{self.in_bulk:,} in bulk, {self.by_harness:,} by the harness"
        return Verdict(ExitCode.UNSUPPORTED, f"{share}: {why or 'not every row was rendered in bulk'}")


def dry_run(
    harness: Harness, config: Mapping[str, Any], model: Mapping[str, Any] | None, dataset: Any, settings: Any
) -> Verdict:
    """Run a configuration's inferencer with the backend on, and say which way its prompts went.

    Args:
        harness: the harness, which is loaded.
        config: the dataset's dict, as the harness reads it.
        model: the model's dict; None: one of the harness's base class.
        dataset: the harness's dataset.
        settings: `meta_template`, and `output`, which says whose parser the model has.

    Returns:
        The verdict.

    """
    name = last_part((config["infer_cfg"].get("inferencer") or {}).get("type"))
    rows = len(dataset.test)
    try:
        kind = _kind(harness, model, settings)
    except LookupError as absent:
        return Verdict(ExitCode.CONFIGURATION, str(absent.args[0]))
    error: Exception | None = None
    with silence(), tempfile.TemporaryDirectory() as folder, _recorded(harness, rows) as record:
        try:
            scripted = _scripted(harness, kind, settings)
            if harness.dialect == "opencompass":
                _run_opencompass(config, model or {}, scripted, dataset, folder)
            else:
                _run_aisbench(harness, config, model or {}, scripted, dataset, folder)
        except Exception as raised:
            error = raised
    return DryRun(rows, record.in_bulk, record.by_harness, tuple(record.reasons), error).verdict(name)


@contextmanager
def _recorded(harness: Harness, rows: int) -> Iterator[report.CallRecord]:
    """Have the backend on, and what goes on within recorded as one call."""
    backend = importlib.import_module(f"promptpress.{harness.dialect}").backend
    with backend(), report.record_call("", "", rows) as record:
        yield record


def _kind(harness: Harness, model: Mapping[str, Any] | None, settings: Mapping[str, Any]) -> Any:
    """Give the model's class. Its constructor, which may load anything, isn't called, so it has to be a known one."""
    bases = harness.model_bases()
    if model is None or "type" not in model:
        return bases[settings["output"] == "messages"]
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


def _scripted(harness: Harness, kind: Any, settings: Mapping[str, Any]) -> Any:
    """Make a model of a class that answers any request, and finds all too long.

    So where there is a `max_seq_len` prompts of any number of examples come up, as they may with the real counter.
    """
    _, api_base = harness.model_bases()

    class Scripted(kind):  # type: ignore[misc]
        def generate(self, inputs: Any, *_: Any, **__: Any) -> list[str]:
            return ["answer" for _ in inputs]

        def get_ppl(self, inputs: Any, *_: Any, **__: Any) -> Any:
            return _Numbers(1.0 for _ in inputs)

        def get_loglikelihood(self, inputs: Any, *_: Any, **__: Any) -> Any:
            return _Numbers(-1.0 for _ in inputs)

    if kind.get_token_len is not api_base.get_token_len:  # which needs no tokenizer
        Scripted.get_token_len = lambda *_: _SCRIPTED_TOKENS
    from mmengine.config import ConfigDict  # noqa: PLC0415 - comes with the harness

    meta = copy.deepcopy(settings["meta_template"])
    if isinstance(meta, Mapping):
        meta = ConfigDict(meta)
    elif isinstance(meta, (list, tuple)):
        meta = [ConfigDict(one) if isinstance(one, Mapping) else one for one in meta]
    made = object.__new__(Scripted)
    made.path, made.tokenizer, made.tokenizer_only = "", _Tokenizer(), False
    made.max_seq_len, made.max_out_len = None, 1
    made.meta_template = meta
    made.template_parser = harness.parser(settings["output"])(meta)
    made.eos_token_id, made.sync_rank, made.is_synthetic, made.generation_kwargs = None, False, False, {}
    made.logger = importlib.import_module("logging").getLogger("promptpress")
    return made


class _Numbers(list[float]):
    """What inferencers take for a tensor."""

    def tolist(self) -> list[float]:
        return list(self)


class _Tokenizer:
    padding_side = "right"

    def encode(self, text: str, *_: Any, **__: Any) -> list[int]:
        return [ord(one) for one in text[:1]]


def _run_opencompass(
    config: Mapping[str, Any], model: Mapping[str, Any], scripted: Any, dataset: Any, folder: str
) -> None:
    """Run the task that OpenCompass starts as a process."""
    from mmengine.config import ConfigDict  # noqa: PLC0415 - comes with the harness

    settings = {"max_out_len": 1, "batch_size": 8, **_plain_model(model), "abbr": _NAMES["model"]}
    data = {**copy.deepcopy(dict(config)), "abbr": _NAMES["dataset"]}
    cfg = ConfigDict(models=[settings], datasets=[[data]], work_dir=folder)
    task = importlib.import_module("opencompass.tasks.openicl_infer")
    choices = importlib.import_module("opencompass.openicl.icl_inferencer.icl_clp_inferencer").CLPInferencer
    with ExitStack() as patches:
        patches.enter_context(patch.object(task, "build_dataset_from_cfg", lambda *_, **__: dataset))
        # It calculates with the model's logits.
        patches.enter_context(patch.object(choices, "_get_cond_prob", _likelihoods))
        task.OpenICLInferTask(cfg).run(cur_model=scripted, cur_model_abbr=_NAMES["model"])


def _likelihoods(_: Any, texts: Any, __: Any, choices: Any) -> list[list[float]]:
    return [[1.0 for _ in choices] for _ in texts]


def _run_aisbench(  # noqa: PLR0917 - all that a task is made of
    harness: Harness, config: Mapping[str, Any], model: Mapping[str, Any], scripted: Any, dataset: Any, folder: str
) -> None:
    """Make the list of requests as AISBench's tasks make it; asking the model comes after."""
    from mmengine.config import ConfigDict  # noqa: PLC0415 - comes with the harness

    infer = ConfigDict(copy.deepcopy(dict(config["infer_cfg"])))
    dataset.abbr = _NAMES["dataset"]
    parts = {name: infer.get(name) for name in ("prompt_template", "ice_template")}
    retriever = harness.registry("ICL_RETRIEVERS").build({**infer["retriever"], "dataset": dataset, **parts})
    settings = ConfigDict({**_plain_model(model), "abbr": _NAMES["model"]})
    base = importlib.import_module("ais_bench.benchmark.openicl.icl_inferencer.icl_base_inferencer")
    wanted = {
        "batch_size": 1,
        **infer["inferencer"],
        "model_cfg": settings,
        "max_seq_len": model.get("max_seq_len"),
        "output_json_filepath": folder,
    }
    with patch.object(base, "build_model_from_cfg", lambda *_, **__: scripted):
        inferencer = harness.registry("ICL_INFERENCERS").build(wanted)
    inferencer.get_data_list(retriever)


def _plain_model(model: Mapping[str, Any]) -> dict[str, Any]:
    return copy.deepcopy(dict(model))
