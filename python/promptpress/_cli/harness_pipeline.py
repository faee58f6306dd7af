"""A harness's own pipeline from samples to requests: its dataset, retriever, templates and parser, called in its order.

The harness is imported as it is installed. Nothing else of promptpress imports one.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import io
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from promptpress._config_files.config_file import Config, read_config
from promptpress._file_errors import ConfigError, DataError, reason
from promptpress._from_config import INFERENCER_MODES
from promptpress._model_classes import last_part

from .harness_chats import MULTI_TURN_INFERENCER, chats_of, dialogues_of, infer_mode_of
from .outcome import Outcome, Refusal, plain


@dataclass(frozen=True)
class Harness:
    """Where an installed harness has what makes prompts.

    Example:
        >>> HARNESSES["aisbench"].name
        'ais-bench-benchmark'

    """

    name: str
    package: str
    lm_parser: str
    api_parser: str
    templates_in_retriever: bool  # else the retriever's methods take them
    dialect: str = ""

    def load(self) -> str:
        """Import the harness.

        Returns:
            Its name and version.

        Raises:
            ConfigError: when it isn't installed, or lacks what it imports.

        """
        try:
            found = importlib.util.find_spec(self.package)
        except ModuleNotFoundError:
            found = None
        if found is None:
            raise ConfigError(f"verify compares with {self.name}, which isn't installed: pip install {self.name}")
        try:
            with silence():
                for module in ("mmengine.config", "datasets", *map(self._module, ("registry", "openicl"))):
                    importlib.import_module(module)
                for parser in (self.lm_parser, self.api_parser):
                    importlib.import_module(self._module(parser.rpartition(".")[0]))
        except ImportError as error:
            raise ConfigError(f"{self.name} can't be imported: {reason(error)}") from error
        return f"{self.name} {version(self.name)}"

    def read_config(self, path: str) -> Config:
        """Read a configuration as the harness does; what isn't Python, as promptpress does.

        Args:
            path: the file.

        Returns:
            What it holds, with dotted names for classes.

        Raises:
            ConfigError: when the harness can't read it.

        """
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
        """Load the dataset that a configuration names.

        Args:
            config: the dataset's dict.

        Returns:
            The harness's dataset.

        Raises:
            DataError: when it can't be loaded, for whatever reason.

        """
        wanted = {key: copy.deepcopy(value) for key, value in config.items() if key not in ("infer_cfg", "eval_cfg")}
        try:
            with redirect_stdout(io.StringIO()):
                dataset = self.registry("LOAD_DATASET").build(wanted)
            return SimpleNamespace(reader=dataset.reader, train=dataset.train, test=dataset.test)
        except Exception as error:
            raise DataError(
                f"{self.name} can't load the dataset {config.get('abbr', '')!r}: {type(error).__name__}: "
                f"{reason(error)}; --data FILE (and --examples FILE) bring the rows"
            ) from error

    def dataset_of(self, config: Mapping[str, Any], samples: pa.Table, examples: pa.Table | None) -> Any:
        """Make a dataset of rows that are at hand.

        Args:
            config: the dataset's dict, for the names of its columns.
            samples: the rows to be rendered.
            examples: the rows that few-shot examples come from.

        Returns:
            An object with the attributes that the harness's retrievers read.

        Raises:
            ConfigError: when the harness refuses the names of the columns.
            DataError: when Hugging Face's datasets can't hold the rows.

        """
        from datasets import Dataset, DatasetDict  # noqa: PLC0415 - comes with the harness

        train = samples.slice(0, 0) if examples is None else examples
        try:
            splits = DatasetDict(train=Dataset(train), test=Dataset(samples))
        except Exception as error:  # of whatever kind datasets has for a type that it doesn't know
            raise DataError(f"the rows are none that {self.name} can hold: {reason(error)}") from error
        columns = config.get("reader_cfg") or {}
        module = importlib.import_module(self._module("openicl.icl_dataset_reader"))
        try:
            reader = module.DatasetReader(splits, columns.get("input_columns") or [], columns.get("output_column"))
        except Exception as error:
            raise ConfigError(f"reader_cfg: {self.name} refuses it: {type(error).__name__}: {reason(error)}") from error
        return SimpleNamespace(reader=reader, train=reader.dataset["train"], test=reader.dataset["test"])

    def run(self, config: Mapping[str, Any], dataset: Any, settings: Mapping[str, Any]) -> Outcome:
        """Take all rows of a dataset from the retriever to the model's parsed input.

        Args:
            config: the dataset's dict, as the harness reads it.
            dataset: what `dataset` or `dataset_of` gave.
            settings: `meta_template`, and `output`, which says whose parser the model has.

        Returns:
            The requests, up to the first that the harness refuses.

        Raises:
            ConfigError: when what the configuration asks for needs a package that isn't installed.

        """
        outcome = Outcome()
        row: int | None = None
        try:
            with silence():
                chosen, requests_of = self._prepared(config["infer_cfg"], dataset, settings)
                for row, indices in enumerate(chosen):
                    outcome.rows.append(requests_of(row, indices))
        except ImportError as error:  # no word of the harness's on this configuration
            raise ConfigError(f"{self.name} can't run this configuration here: {reason(error)}") from error
        except Exception as error:
            outcome.refusal = Refusal(row, error)
        return outcome

    def _prepared(
        self, infer_cfg: Mapping[str, Any], dataset: Any, settings: Mapping[str, Any]
    ) -> tuple[list[list[int]], Callable[[int, list[int]], dict[str | int | None, Any]]]:
        """Give the retriever's choice, and what makes a row's requests of its number and examples."""
        infer = copy.deepcopy(dict(infer_cfg))
        templates = {name: infer.get(name) for name in ("ice_template", "prompt_template")}
        given: dict[str, Any] = {}
        if self.templates_in_retriever:
            retriever = self.registry("ICL_RETRIEVERS").build({**infer["retriever"], "dataset": dataset, **templates})
        else:
            build = self.registry("ICL_PROMPT_TEMPLATES").build
            given = {name: None if part is None else build(part) for name, part in templates.items()}
            retriever = self.registry("ICL_RETRIEVERS").build({**infer["retriever"], "dataset": dataset})
        parser = self.parser(settings["output"])(settings["meta_template"])
        inferencer = infer.get("inferencer") or {}
        mode = mode_of(inferencer)
        for_ice = {name: part for name, part in given.items() if name == "ice_template"}

        def parsed(prompt: Any) -> Any:
            # In a batch, as inferencers hand prompts over: a list by itself would be taken for one.
            return plain(parser.parse_template((prompt,), mode=mode)[0])

        chosen = retriever.retrieve()
        if infer_mode_of(inferencer) is not None:
            registry = self.registry("ICL_INFERENCERS")
            if last_part(inferencer.get("type")) == MULTI_TURN_INFERENCER:
                kind = registry.get(inferencer["type"])
                return chosen, dialogues_of(kind, inferencer, parser, retriever)
            template = given["prompt_template"]
            return chosen, chats_of(registry.build, inferencer, parser, retriever, template)
        if mode == "gen":
            replacement = inferencer.get("gen_field_replace_token", "")

            def generated(row: int, indices: list[int]) -> dict[str | int | None, Any]:
                ice = retriever.generate_ice(indices, **for_ice)
                return {None: parsed(retriever.generate_prompt_for_generate_task(row, ice, replacement, **given))}

            return chosen, generated
        labels = inferencer.get("labels")
        labels = retriever.get_labels(**given) if labels is None else labels
        keeps = inferencer.get("normalizing_str") is not None

        def labelled(row: int, indices: list[int]) -> dict[str | int | None, Any]:
            ice = retriever.generate_ice(indices, **for_ice)
            prompts = {n: retriever.generate_label_prompt(row, ice, n, remain_sep=keeps, **given) for n in labels}
            return {str(label): parsed(prompt) for label, prompt in prompts.items()}

        return chosen, labelled

    def parser(self, output: str) -> Any:
        """Give one of the harness's parsers.

        Args:
            output: `messages` for that of APIs, else that of language models.

        Returns:
            The class.

        """
        module, _, name = (self.api_parser if output == "messages" else self.lm_parser).rpartition(".")
        return getattr(importlib.import_module(self._module(module)), name)

    def model_bases(self) -> tuple[Any, Any]:
        """Give the base classes of language models and of APIs."""
        names = {self.lm_parser: "BaseModel", self.api_parser: "BaseAPIModel"}
        modules = {name: importlib.import_module(self._module(path.rpartition(".")[0])) for path, name in names.items()}
        return modules["BaseModel"].BaseModel, modules["BaseAPIModel"].BaseAPIModel

    def _module(self, name: str) -> str:
        return f"{self.package}.{name}"

    def registry(self, name: str) -> Any:
        """Give one of the harness's registries.

        Args:
            name: its name.

        Returns:
            The registry.

        """
        return getattr(importlib.import_module(self._module("registry")), name)


def mode_of(inferencer: Mapping[str, Any]) -> str:
    """Say whether an inferencer renders a prompt a label, or one.

    Args:
        inferencer: its dict.

    Returns:
        `gen` or `ppl`.

    Example:
        >>> mode_of({"type": "opencompass.openicl.icl_inferencer.PPLInferencer"})
        'ppl'

    """
    return INFERENCER_MODES.get(last_part(inferencer.get("type")), "gen")


@contextmanager
def silence() -> Iterator[None]:
    """Keep a harness's log lines and progress bars off the terminal.

    Example:
        >>> with silence():
        ...     print("Loading ...")

    """
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
"""The harnesses by dialect."""
