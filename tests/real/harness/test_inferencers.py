"""OpenCompass's inferencers, run whole with a model that notes what it is asked: that is what a renderer gives."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import promptpress as pp
import pyarrow as pa
import pytest

SAMPLES = pa.table(
    {"q": ["1+1=?", "{a} or {q}?", ""], "a": ["A", "B", "A"], "choices": [["A", "B"], ["A", "B"], ["A", "B"]]}
)
TRAIN = pa.table({"q": ["2+2=?", "é{a}"], "a": ["B", "A"], "choices": [["A", "B"], ["A", "B"]]})
TURNS = [{"role": "HUMAN", "prompt": "Q: {q}"}, {"role": "BOT", "prompt": "{a}"}]
META = {
    "round": [
        {"role": "HUMAN", "begin": "<u>", "end": "\n"},
        {"role": "BOT", "begin": "<b>", "end": "\n", "generate": True},
    ]
}
TEMPLATES = {
    "text": {
        "ice_template": {"type": "PromptTemplate", "template": "{q} {a}"},
        "prompt_template": {"type": "PromptTemplate", "template": "</E>{q}: {a}", "ice_token": "</E>"},
    },
    "dialogue": {
        "ice_template": {"type": "PromptTemplate", "template": {"round": TURNS}},
        "prompt_template": {
            "type": "PromptTemplate",
            "template": {"begin": "</E>", "round": TURNS},
            "ice_token": "</E>",
        },
    },
}
RETRIEVER = {"type": "FixKRetriever", "fix_id_list": [1, 0]}
READER = {"input_columns": ["q"], "output_column": "a"}


@pytest.fixture
def recorded(opencompass: Any, tmp_path: Any) -> Any:
    """Return a function that gives the requests of an inferencer with a configuration, and the renderer of the same."""
    from datasets import Dataset, DatasetDict
    from opencompass.models.base import BaseModel
    from opencompass.openicl.icl_dataset_reader import DatasetReader
    from opencompass.registry import ICL_INFERENCERS, ICL_PROMPT_TEMPLATES, ICL_RETRIEVERS

    assert opencompass

    class Noting(BaseModel):
        def __init__(self) -> None:
            super().__init__("none", meta_template=META)
            self.requests: list[str] = []
            self.tokenizer = SimpleNamespace(encode=lambda text, *_: [ord(text) - ord("A")])

        def generate(self, inputs: list[str], max_out_len: int) -> list[str]:
            assert max_out_len == 1
            self.requests += inputs
            return [""] * len(inputs)

        def get_ppl(self, inputs: list[str], mask_length: Any = None) -> Any:
            assert mask_length is None
            self.requests += inputs
            return np.zeros(len(inputs))

        def get_logits(self, inputs: list[str]) -> Any:
            import torch

            self.requests += inputs
            return torch.zeros((len(inputs), 1, 2)), None

        def get_token_len(self, prompt: str) -> int:
            return len(prompt)

    def run(kind: str, templates: dict[str, Any], **options: Any) -> tuple[list[str], pp.Renderer]:
        reader = DatasetReader(DatasetDict(train=Dataset(TRAIN), test=Dataset(SAMPLES)), **READER)
        dataset = SimpleNamespace(reader=reader, train=reader.dataset["train"], test=reader.dataset["test"])
        model = Noting()
        common = {"model": model, "max_out_len": 1, "batch_size": 2, "output_json_filepath": str(tmp_path)}
        inferencer = ICL_INFERENCERS.build({"type": kind, **common, **options})
        made = {name: ICL_PROMPT_TEMPLATES.build(part) for name, part in templates.items()}
        inferencer.inference(ICL_RETRIEVERS.build({**RETRIEVER, "dataset": dataset}), **made)
        config = {"reader_cfg": READER, "infer_cfg": {**templates, "retriever": RETRIEVER}}
        config["infer_cfg"]["inferencer"] = {"type": kind, **options}
        return model.requests, pp.Renderer.from_config(config, {"meta_template": META}, examples=TRAIN)

    return run


@pytest.mark.parametrize("templates", TEMPLATES)
def test_generation(recorded: Any, templates: str) -> None:
    requests, renderer = recorded("GenInferencer", TEMPLATES[templates])
    assert requests == renderer.render(SAMPLES)["prompt"].to_pylist()


@pytest.mark.parametrize("templates", TEMPLATES)
def test_perplexity(recorded: Any, templates: str) -> None:
    requests, renderer = recorded("PPLInferencer", TEMPLATES[templates], labels=["A", "B"])
    # The harness goes label by label, and a renderer sample by sample.
    assert requests == sorted_by_label(renderer.render(SAMPLES))


def sorted_by_label(table: pa.Table) -> list[str]:
    rows = table.select(["label", "prompt"]).to_pylist()
    return [row["prompt"] for label in ("A", "B") for row in rows if row["label"] == label]


def test_conditional_probability(torch: Any, recorded: Any) -> None:
    """The next token's, of the generation prompt; this inferencer calculates, and takes no dialogues as examples."""
    assert torch
    requests, renderer = recorded("CLPInferencer", TEMPLATES["text"])
    assert requests == renderer.render(SAMPLES)["prompt"].to_pylist()
