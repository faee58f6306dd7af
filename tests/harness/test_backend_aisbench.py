"""What AISBench's real inferencers make of odd templates and samples, with the backend off and on."""

from __future__ import annotations

import copy
import logging
import sys
from types import SimpleNamespace

import pyarrow as pa
import pytest
from harness.scripted import plain, tokens
from harness.shipped import table
from promptpress import aisbench as backend

pytestmark = pytest.mark.usefixtures("aisbench")

OPENICL = "ais_bench.benchmark.openicl."
MODELS = {
    "text": {
        "begin": "<s>",
        "round": [{"role": "HUMAN", "begin": "<u>"}, {"role": "BOT", "begin": "<b>", "generate": True}],
        "reserved_roles": [{"role": "SYSTEM", "begin": "<y>"}],
    },
    "lines": None,
    "messages": {
        "round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}],
        "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}],
    },
    "no messages": None,
}
MODULES = {
    "GenInferencer": "icl_inferencer.icl_gen_inferencer",
    "PPLInferencer": "icl_inferencer.ppl_inferencer",
    "MultiTurnGenInferencer": "icl_inferencer.icl_multiturn_inferencer",
}


def data(config, kind, name, samples=None):
    """What the inferencer makes of a configuration, or what it raises."""
    from ais_bench.benchmark.models.api_models.base_api import APITemplateParser
    from ais_bench.benchmark.models.local_models.base import BaseModel, LMTemplateParser
    from ais_bench.benchmark.openicl.icl_dataset_reader import DatasetReader
    from ais_bench.benchmark.registry import ICL_RETRIEVERS
    from datasets import Dataset, DatasetDict

    infer = copy.deepcopy(config["infer_cfg"])
    shots = 1 + max([0, *infer["retriever"].get("fix_id_list", [])])
    splits = DatasetDict(
        train=Dataset(table(config, shots)), test=Dataset(table(config) if samples is None else samples)
    )
    names = {key: value for key, value in config["reader_cfg"].items() if key in {"input_columns", "output_column"}}
    try:
        reader = DatasetReader(splits, **names)
        dataset = SimpleNamespace(reader=reader, train=reader.dataset["train"], test=reader.dataset["test"], abbr="it")
        templates = {key: infer[key] for key in ("ice_template", "prompt_template") if key in infer}
        retriever = ICL_RETRIEVERS.build({**infer["retriever"], "dataset": dataset, **templates})
        model = BaseModel("none")
        model.template_parser = (APITemplateParser if "messages" in name else LMTemplateParser)(MODELS[name])
        model.max_out_len = 5
        model.get_token_len = tokens
        cls = getattr(sys.modules[OPENICL + MODULES[kind]], kind)
        inferencer = object.__new__(cls)
        inferencer.logger = retriever.logger
        inferencer.gen_field_replace_token = ""
        inferencer.labels = infer["inferencer"].get("labels")
        inferencer.model = model
        return plain(inferencer.get_data_list(retriever))
    except Exception as error:
        return type(error), str(error)


TURNS = [{"role": "HUMAN", "prompt": "Q: {question} {answer}"}, {"role": "BOT", "prompt": "{answer}", "end": "!"}]
TURN_TEMPLATES = [
    {"round": TURNS},
    {
        "begin": [{"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": "{question}"}],
        "round": TURNS,
        "end": [TURNS[0]],
    },
    {"round": [*TURNS, "bare"]},
    "no dialogue",
]
TALKS = {
    "even": {"question": [["a", "{answer}"], ["c"]] * 300, "answer": [["1", "{question}"], ["{"]] * 300},
    "uneven": {"question": [["a", "b"], [], ["c"]], "answer": [["1"], [], ["2", "3"]]},
    "nulls": {"question": [["a", None], ["b"]], "answer": [["1", "2"], [None]]},
    "no list": {"question": [["a"], None], "answer": [["1"], ["2"]]},
    "strings": {"question": ["ab", "c"], "answer": ["1", "23"]},
}


@pytest.mark.parametrize("template", TURN_TEMPLATES, ids=repr)
@pytest.mark.parametrize("talk", TALKS)
def test_turns(talk, template):
    infer = {
        "prompt_template": {"type": "MultiTurnPromptTemplate", "template": template},
        "retriever": {"type": "ZeroRetriever"},
        "inferencer": {"type": "MultiTurnGenInferencer"},
    }
    config = {"infer_cfg": infer, "reader_cfg": {"input_columns": ["question"], "output_column": "answer"}}
    off = data(config, "MultiTurnGenInferencer", "text", pa.table(TALKS[talk]))
    with backend.backend():
        assert data(config, "MultiTurnGenInferencer", "text", pa.table(TALKS[talk])) == off


def test_turns_are_covered(monkeypatch):
    said = []
    monkeypatch.setattr(logging.getLogger("promptpress.backend"), "warning", lambda *words: said.append(words))
    infer = {
        "prompt_template": {"type": "MultiTurnPromptTemplate", "template": TURN_TEMPLATES[1]},
        "retriever": {"type": "ZeroRetriever"},
        "inferencer": {"type": "MultiTurnGenInferencer"},
    }
    config = {"infer_cfg": infer, "reader_cfg": {"input_columns": ["question"], "output_column": "answer"}}
    with backend.backend():
        assert "Q: a 1" in repr(data(config, "MultiTurnGenInferencer", "text", pa.table(TALKS["even"])))
    assert said == []
