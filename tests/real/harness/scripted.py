"""The real inferencers with a model that answers by rule and writes down what it is given."""

from __future__ import annotations

import copy
import json
import sys
import zlib
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

TESTS = Path(__file__).resolve().parents[2]


@cache
def opencompass() -> SimpleNamespace:
    """OpenCompass's classes, from where they are installed."""
    if str(TESTS) not in sys.path:  # run from a bench
        sys.path.insert(0, str(TESTS))
    from real.harness.installed import OPENCOMPASS

    OPENCOMPASS.load()
    from opencompass.models import base, base_api
    from opencompass.openicl import icl_inferencer, icl_prompt_template, icl_raw_prompt_template, icl_retriever
    from opencompass.openicl.icl_dataset_reader import DatasetReader
    from opencompass.openicl.icl_inferencer import icl_gen_inferencer

    names = SimpleNamespace(DatasetReader=DatasetReader)
    modules = (icl_inferencer, icl_gen_inferencer, icl_retriever, icl_prompt_template, icl_raw_prompt_template, base)
    for module in (*modules, base_api):
        vars(names).update({name: value for name, value in vars(module).items() if isinstance(value, type)})
    return names


class Numbers(list[float]):
    """A list that inferencers use as a tensor."""

    def tolist(self) -> list[float]:
        return list(self)


def number(request: Any) -> float:
    """A figure that depends on every byte of a request."""
    return zlib.crc32(repr(request).encode()) / 2**32


def tokens(text: str) -> int:
    return len(text.split())


class Tokenizer:
    padding_side = "right"

    def encode(self, text: str, *_: bool) -> list[int]:
        return [ord(text[0])]


def model(meta_template: Any, *, api: bool, max_seq_len: int | None = None) -> Any:
    """A model of the harness that writes down each of its inputs in `received`."""
    harness = opencompass()

    class Scripted(harness.BaseAPIModel if api else harness.BaseModel):  # type: ignore[misc, name-defined]
        is_api = api
        tokenizer = None

        def get_token_len(self, prompt: str) -> int:
            return tokens(prompt)

        def generate(self, inputs: Any, max_out_len: int) -> Any:
            self.received.append(("generate", max_out_len, copy.deepcopy(inputs)))
            for prompt in inputs:  # who is given a list may change it
                if isinstance(prompt, list):
                    prompt.append("changed")
            return [f"answer {number(prompt)}" for prompt in inputs]

        def get_ppl(self, inputs: Any, mask_length: Any = None) -> Numbers:
            self.received.append(("ppl", mask_length, copy.deepcopy(inputs)))
            return Numbers(number(prompt) for prompt in inputs)

        def get_loglikelihood(self, inputs: Any, conts: Any) -> Numbers:
            self.received.append(("loglikelihood", conts, copy.deepcopy(inputs)))
            return Numbers(number(prompt) for prompt in inputs)

    made = object.__new__(Scripted)
    made.tokenizer = Tokenizer()
    made.received = []
    made.max_seq_len = max_seq_len
    from mmengine.config import ConfigDict

    if isinstance(meta_template, list):
        meta_template = [ConfigDict(turn) for turn in meta_template]
    elif meta_template:
        meta_template = ConfigDict(meta_template)
    made.meta_template = meta_template
    made.template_parser = (harness.APITemplateParser if api else harness.LMTemplateParser)(meta_template)
    return made


def dataset(samples: Any, examples: Any, reader: dict[str, Any]) -> Any:
    """A harness's dataset of two tables, without a loader."""
    from datasets import Dataset, DatasetDict

    made = opencompass().DatasetReader(DatasetDict(train=Dataset(examples), test=Dataset(samples)), **reader)
    return SimpleNamespace(reader=made, train=made.dataset["train"], test=made.dataset["test"])


def built(config: dict[str, Any] | None, *arguments: Any) -> Any:
    """An object of the harness, of the classes that its configurations are made of."""
    from mmengine.config import ConfigDict

    if config is None:
        return None
    config = ConfigDict(copy.deepcopy(config))
    name = str(config.pop("type"))
    return getattr(opencompass(), name.rpartition(".")[2])(*arguments, **config)


def run(case: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Run an inferencer; what the model received, what was written, and what was returned or raised."""
    answer: dict[str, Any] = {}
    scripted_model = model(case.get("meta_template"), api=case.get("api", False))
    try:
        data = dataset(case["samples"], case.get("examples", case["samples"]), case["reader"])
        retriever = built(case.get("retriever", {"type": "ZeroRetriever"}), data)
        ice, prompt = (built(case.get(name)) for name in ("ice_template", "prompt_template"))
        options = {"max_out_len": 7, **case["inferencer"]}
        if options["type"].startswith(("PPL", "LL", "CLP")):
            del options["max_out_len"]
        inferencer = built({**options, "output_json_filepath": str(folder)}, scripted_model)
        if hasattr(inferencer, "_get_cond_prob"):
            inferencer._get_cond_prob = lambda texts, positions, choices: [
                [number((text, position, choice)) for choice in choices]
                for text, position in zip(texts, positions, strict=True)
            ]
        case.get("before", lambda *_: None)(inferencer, retriever, scripted_model)
        answer["returned"] = inferencer.inference(retriever, ice_template=ice, prompt_template=prompt)
    except Exception as error:
        answer["raised"] = (type(error), str(error))
    answer["received"] = scripted_model.received
    answer["files"] = {
        str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }
    return answer


def plain(value: Any) -> Any:
    """A value with the types of its parts, to be compared."""
    if isinstance(value, dict):
        return (type(value).__name__, [(key, plain(item)) for key, item in value.items()])
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [plain(item) for item in value])
    return (type(value).__name__, json.dumps(value) if isinstance(value, str) else repr(value))
