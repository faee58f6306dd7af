"""An installed harness's pipeline from samples to requests: its dataset, retriever, templates and parser."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import io
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from promptpress import ConfigError, DataError
from promptpress.engine.configs import INFERENCER_MODES, last_part
from promptpress.engine.errors import reason
from promptpress_harness.configs.config_file import Config, read_config

from promptpress_workbench.cli.verify.harness_chats import conversation_requests, infer_mode_of
from promptpress_workbench.cli.verify.outcome import Outcome, Refusal, RowRequests, plain


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
