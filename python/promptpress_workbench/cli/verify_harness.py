"""An installed harness's pipeline from samples to requests, and its dry run with the bulk backend on."""

from __future__ import annotations

import asyncio
import copy
import importlib
import importlib.util
import io
import logging
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from promptpress import ConfigError, DataError
from promptpress.engine.configs import CHAT_INFERENCERS, INFERENCER_MODES, find_model_class, last_part
from promptpress.engine.errors import counted, reason
from promptpress_harness import registry
from promptpress_harness.bulk import report
from promptpress_harness.configs.config_file import Config, read_config

from promptpress_workbench.cli.errors import ExitCode
from promptpress_workbench.cli.verify_outcomes import Outcome, Refusal, RowRequests, Verdict, error_text, plain

_MULTI_TURN_INFERENCER = "MultiTurnGenInferencer"
_DEFAULT_MODES = {**dict.fromkeys(CHAT_INFERENCERS, "last"), _MULTI_TURN_INFERENCER: "every"}
"""The inferencers whose conversations can be compared, each with its default `infer_mode`."""
_TOO_MANY_TOKENS = 1 << 20
_DATASET_NAME, _MODEL_NAME = "dataset", "model"


@dataclass(frozen=True)
class Harness:
    """A harness's package, and the paths within it of the objects that make prompts."""

    name: str
    package: str
    lm_parser: str
    api_parser: str
    templates_in_retriever: bool  # if false, the retriever's methods take them
    dialect: str = ""

    def load(self) -> str:
        """Import the harness, and return its name and version."""
        paths = ("registry", "openicl", *(path.rpartition(".")[0] for path in (self.lm_parser, self.api_parser)))
        modules = ("mmengine.config", "datasets", *(f"{self.package}.{path}" for path in paths))
        return import_harness(self.name, self.package, modules)

    def read_config(self, path: str) -> Config:
        """Read a configuration by the harness if it is a Python file, else by promptpress."""
        if Path(path).suffix.lower() != ".py":
            return read_config(path)
        from mmengine.config import Config as HarnessConfig  # noqa: PLC0415 - comes with the harness

        try:
            with silence():
                value = HarnessConfig.fromfile(path, format_python_code=False).to_dict()
        except Exception as error:
            raise ConfigError(f"{path}: {self.name} can't read it: {type(error).__name__}: {reason(error)}") from error
        return Config(path, value, python=True)

    def dataset(self, config: Mapping[str, Any]) -> Any:
        """Load the dataset that a configuration names."""
        settings = {key: copy.deepcopy(value) for key, value in config.items() if key not in ("infer_cfg", "eval_cfg")}
        try:
            with redirect_stdout(io.StringIO()):
                dataset = self.registry("LOAD_DATASET").build(settings)
            return SimpleNamespace(reader=dataset.reader, train=dataset.train, test=dataset.test)
        except Exception as error:
            raise DataError(
                f"{self.name} can't load the dataset {config.get('abbr', '')!r}: {type(error).__name__}: "
                f"{reason(error)}; --data FILE (and --examples FILE) bring the rows"
            ) from error

    def dataset_of(self, config: Mapping[str, Any], samples: pa.Table, examples: pa.Table | None) -> Any:
        """Make the harness's dataset from tables."""
        from datasets import Dataset, DatasetDict  # noqa: PLC0415 - comes with the harness

        train = samples.slice(0, 0) if examples is None else examples
        try:
            splits = DatasetDict(train=Dataset(train), test=Dataset(samples))
        except Exception as error:  # datasets has several classes of errors for types that it doesn't support
            raise DataError(f"the rows are none that {self.name} can hold: {reason(error)}") from error
        columns = config.get("reader_cfg") or {}
        reader_class = self._import("openicl.icl_dataset_reader.DatasetReader")
        try:
            reader = reader_class(splits, columns.get("input_columns") or [], columns.get("output_column"))
        except Exception as error:
            raise ConfigError(f"reader_cfg: {self.name} refuses it: {type(error).__name__}: {reason(error)}") from error
        return SimpleNamespace(reader=reader, train=reader.dataset["train"], test=reader.dataset["test"])

    def run(self, config: Mapping[str, Any], dataset: Any, settings: Mapping[str, Any]) -> Outcome:
        """Make the requests of all rows of a dataset, from the retriever to the model's parsed input."""
        outcome = Outcome()
        row: int | None = None
        try:
            with silence():
                examples, requests_of = self._prepare(config["infer_cfg"], dataset, settings)
                for row, indices in enumerate(examples):
                    outcome.rows.append(requests_of(row, indices))
        except ImportError as error:  # the environment's fault, not the configuration's
            raise ConfigError(f"{self.name} can't run this configuration here: {reason(error)}") from error
        except Exception as error:
            outcome.refusal = Refusal(row, error)
        return outcome

    def _prepare(
        self, infer_cfg: Mapping[str, Any], dataset: Any, settings: Mapping[str, Any]
    ) -> tuple[list[list[int]], Callable[[int, list[int]], RowRequests]]:
        """Return the indices of each row's examples, and a function that makes a row's requests with them."""
        infer = copy.deepcopy(dict(infer_cfg))
        templates = {name: infer.get(name) for name in ("ice_template", "prompt_template")}
        given: dict[str, Any] = {}  # the arguments of the retriever's methods
        if not self.templates_in_retriever:
            build = self.registry("ICL_PROMPT_TEMPLATES").build
            given = {name: None if part is None else build(part) for name, part in templates.items()}
            templates = {}
        retriever = self.registry("ICL_RETRIEVERS").build({**infer["retriever"], "dataset": dataset, **templates})
        parser = self.parser(settings["output"])(settings["meta_template"])
        inferencer = infer.get("inferencer") or {}
        mode = INFERENCER_MODES.get(last_part(inferencer.get("type")), "gen")
        for_ice = {name: part for name, part in given.items() if name == "ice_template"}

        def parse(prompt: Any) -> Any:
            # Inferencers pass batches. A prompt that is a list would be treated as a batch.
            return plain(parser.parse_template((prompt,), mode=mode)[0])

        examples = retriever.retrieve()
        if infer_mode_of(inferencer) is not None:
            registry = self.registry("ICL_INFERENCERS")
            return examples, conversation_requests(registry, inferencer, parser, retriever, given)
        if mode == "gen":
            token = inferencer.get("gen_field_replace_token", "")

            def generation_request(row: int, indices: list[int]) -> RowRequests:
                ice = retriever.generate_ice(indices, **for_ice)
                return {None: parse(retriever.generate_prompt_for_generate_task(row, ice, token, **given))}

            return examples, generation_request
        labels = inferencer.get("labels")
        labels = retriever.get_labels(**given) if labels is None else labels
        keeps = inferencer.get("normalizing_str") is not None

        def label_requests(row: int, indices: list[int]) -> RowRequests:
            ice = retriever.generate_ice(indices, **for_ice)
            prompts = {n: retriever.generate_label_prompt(row, ice, n, remain_sep=keeps, **given) for n in labels}
            return {str(label): parse(prompt) for label, prompt in prompts.items()}

        return examples, label_requests

    def parser(self, output: str) -> Any:
        """Return the harness's parser class for an output form."""
        return self._import(self.api_parser if output == "messages" else self.lm_parser)

    def model_bases(self) -> tuple[Any, Any]:
        """Return the base classes of language models and of APIs."""
        lm_module, api_module = (path.rpartition(".")[0] for path in (self.lm_parser, self.api_parser))
        return self._import(f"{lm_module}.BaseModel"), self._import(f"{api_module}.BaseAPIModel")

    def registry(self, name: str) -> Any:
        """Return one of the harness's registries."""
        return self._import(f"registry.{name}")

    def _import(self, path: str) -> Any:
        module, _, name = f"{self.package}.{path}".rpartition(".")
        return getattr(importlib.import_module(module), name)


def import_harness(name: str, package: str, modules: Iterable[str]) -> str:
    """Import modules that a harness needs, and return the harness's name and version."""
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        spec = None
    if spec is None:
        raise ConfigError(f"verify compares with {name}, which isn't installed: pip install {name}")
    try:
        with silence():
            for module in modules:
                importlib.import_module(module)
    except ImportError as error:
        raise ConfigError(f"{name} can't be imported: {reason(error)}") from error
    return f"{name} {version(name)}"


@contextmanager
def silence() -> Iterator[None]:
    """Keep a harness's log lines and progress bars off the terminal."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.disable(before)


HARNESSES = {
    "opencompass": Harness(
        name="opencompass",
        dialect="opencompass",
        package="opencompass",
        lm_parser="models.base.LMTemplateParser",
        api_parser="models.base_api.APITemplateParser",
        templates_in_retriever=False,
    ),
    "aisbench": Harness(
        name="ais-bench-benchmark",
        dialect="aisbench",
        package="ais_bench.benchmark",
        lm_parser="models.local_models.base.LMTemplateParser",
        api_parser="models.api_models.base_api.APITemplateParser",
        templates_in_retriever=True,
    ),
}
"""The supported harnesses by dialect."""


def infer_mode_of(inferencer: Any) -> str | None:
    """Return the `infer_mode` of a configuration's inferencer; None if its conversations can't be compared."""
    if not isinstance(inferencer, Mapping):
        return None
    default = _DEFAULT_MODES.get(last_part(inferencer.get("type")))
    return None if default is None else str(inferencer.get("infer_mode", default))


def reply(turn: int) -> str:
    """Return the reply of both sides' model to a turn, which is part of the next request."""
    return f"(reply {turn})"


def requests_by_turn(requests: list[Any], mode: str) -> RowRequests:
    """Return the requests of a conversation by number of the turn; the only request of the mode `last` has none."""
    return {None: requests[0]} if mode == "last" and len(requests) == 1 else dict(enumerate(requests))


class _RecordingModel:
    """Records requests, in the place of an inferencer's model."""

    is_api = True

    def __init__(self, parser: Any) -> None:
        self.template_parser = parser
        self.requests: list[Any] = []

    def parse_template(self, prompt: Any, mode: str) -> Any:
        return self.template_parser.parse_template(prompt, mode=mode)

    def generate_from_template(self, chats: list[Any], **_: Any) -> list[str]:
        return [self._record(chat) for chat in self.parse_template(chats, "gen")]

    async def generate(self, request: Any, _: Any, output: Any, **__: Any) -> None:
        output.success, output.content = True, self._record(request)

    def _record(self, request: Any) -> str:
        self.requests.append(plain(request))
        return reply(len(self.requests) - 1)


class _NoOutput:
    """Ignores all calls, in the place of an inferencer's counters and files."""

    def __getattr__(self, _: str) -> Callable[..., Any]:
        async def ignore(*_: Any) -> None: ...

        return ignore


def conversation_requests(
    registry: Any, inferencer_cfg: Mapping[str, Any], parser: Any, retriever: Any, templates: Mapping[str, Any]
) -> Callable[[int, list[int]], RowRequests]:
    """Return a function that makes a row's requests from the row's index and the indices of its examples."""
    model = _RecordingModel(parser)
    if last_part(inferencer_cfg["type"]) == _MULTI_TURN_INFERENCER:
        mode = str(infer_mode_of(inferencer_cfg))
        inferencer = object.__new__(registry.get(inferencer_cfg["type"]))
        inferencer.model, inferencer.perf_mode = model, False
        inferencer.status_counter = inferencer.output_handler = _NoOutput()
        token = inferencer_cfg.get("gen_field_replace_token") or ""

        def send(row: int, indices: list[int]) -> None:
            ice = retriever.generate_ice(indices)
            prompt = retriever.generate_prompt_for_generate_task(row, ice, gen_field_replace_token=token)
            asyncio.run(infer({"index": row, "prompt": prompt, "data_abbr": "", "max_out_len": 1}, None))
    else:
        template = templates["prompt_template"]
        folder = tempfile.gettempdir()
        inferencer = registry.build({**inferencer_cfg, "model": model, "output_json_filepath": folder})
        mode = inferencer.infer_mode

        def send(row: int, indices: list[int]) -> None:
            sample = SimpleNamespace(dataset_reader=retriever.dataset_reader, test_ds=[retriever.test_ds[row]])
            (chat,) = inferencer.get_chat_list([indices], sample, prompt_template=template)
            inferencer.dialogue_mode = False  # decides only how replies are saved
            infer(chat, 0, inferencer.HandlerType())

    infer = getattr(inferencer, f"infer_{mode}")

    def requests_of(row: int, indices: list[int]) -> RowRequests:
        model.requests = []
        send(row, indices)
        return requests_by_turn(model.requests, mode)

    return requests_of


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
        importlib.import_module(registry.HARNESSES[harness.dialect].switch).backend(),
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
