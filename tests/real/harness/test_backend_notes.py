"""A running harness is told nothing of its configurations: a warning of ours would be one that it hasn't got."""

from __future__ import annotations

import warnings

import promptpress as pp
import pyarrow as pa
import pytest
from real.harness.both import MODELS, answers

READER = {"input_columns": ["question"], "output_column": "target"}
SLIP = {"round": [{"role": "HUMAN", "prompt": "{questoin}"}, {"role": "BOT", "promt": "{answer}", "prompt": ""}]}
RETRIEVER = {"type": "FixKRetriever", "fix_id_list": [0]}
SAMPLES = pa.table({"question": ["1+1=?", "2+2=?"] * 9, "target": ["2", "4"] * 9})


@pytest.fixture
def prompt_warnings():
    """Collect the warnings of promptpress, whatever the filters are."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield lambda: [warning for warning in caught if issubclass(warning.category, pp.PromptWarning)]


@pytest.mark.parametrize("inferencer", ["GenInferencer", "PPLInferencer", "ChatInferencer"])
def test_opencompass(opencompass, inferencer, prompt_warnings, caplog):
    assert opencompass
    template = {"type": "PromptTemplate", "template": {"begin": ["</E>"], **SLIP}, "ice_token": "</E>"}
    if inferencer == "ChatInferencer":
        template = {"type": "PromptTemplate", "template": "{questoin}"}
    more = {} if inferencer == "ChatInferencer" else {"ice_template": template, "retriever": RETRIEVER}
    case = {"prompt_template": template, **more, **MODELS["text"], "reader": READER, "samples": SAMPLES}
    off, on = answers({**case, "examples": SAMPLES, "inferencer": {"type": inferencer, "batch_size": 2}})
    assert on == off
    assert "raised" not in repr(off)
    assert "leaves prompts" not in caplog.text
    assert prompt_warnings() == []


def test_aisbench(aisbench, prompt_warnings):
    assert aisbench
    from real.harness.scripted_aisbench import MODELS as THEIRS
    from real.harness.test_backend_aisbench import both, dialogue

    template = {"round": [{"role": "HUMAN", "prompt": "{quesiton}"}, {"role": "BOT", "prompt": "{answer}"}]}
    talks = pa.table({"question": [["a", "b"]] * 3, "answer": [["1", "2"]] * 3})
    off, on = both(dialogue(template), "MultiTurnGenInferencer", THEIRS["text"], talks)
    assert on == off
    assert "quesiton" in repr(off)
    assert prompt_warnings() == []


def test_classes_for_one_sample(prompt_warnings):
    from promptpress import aisbench, opencompass, openicl

    for module in (opencompass, aisbench):
        made = module.PromptTemplate(SLIP, None).generate_item({"question": "1", "answer": "2"}, output_field="target")
        assert "{questoin}" in str(made)
    template = openicl.PromptTemplate("{questoin} <q>", {"question": "<q>"})
    assert "{questoin}" in template.generate_item({"question": "1"})
    assert prompt_warnings() == []
