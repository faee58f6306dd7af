"""If a key is missing or a word is unknown and a similar one exists, the error suggests it."""

from __future__ import annotations

import promptpress as pp
import pyarrow as pa
import pytest

ASK, REPLY = {"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}
META = {"round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}]}
ICE = {"ice_template": "{q}", "retriever": {"type": "ZeroRetriever"}}
TALK = {"type": "MultiTurnPromptTemplate"}
CHAT = {"inferencer": {"type": "ChatInferencer"}, "reader": {"input_columns": ["q", "b"], "output_column": "a"}}
TOKENS = {"type": "PromptTemplate", "template": "</E>{q}"}

MISSPELT = {
    "a template": ({"prompt_template": {"type": "PromptTemplate", "tempalte": "{q}"}}, "did you mean 'template'?"),
    "a token": ({"prompt_template": {**TOKENS, "ice_tokn": "</E>"}, **ICE}, "did you mean 'ice_token'?"),
    "a token of a dict without type": (
        {"prompt_template": {"template": "</E>{q}", "ice_tokn": "</E>"}, **ICE},
        "did you mean 'ice_token' instead of 'ice_tokn'?",
    ),
    "messages": ({"prompt_template": {"type": "RawPromptTemplate", "message": []}}, "did you mean 'messages'?"),
    "a template's type": (
        {"prompt_template": {"type": "opencompass.PromptTemplte", "template": "{q}"}},
        "did you mean 'PromptTemplate'?",
    ),
    "a round": ({"prompt_template": {"rounds": [ASK]}}, "did you mean 'round'?"),
    "a round beside a begin": (
        {"prompt_template": {"begin": [ASK], "ronud": [ASK]}}, "did you mean 'round' instead of 'ronud'?",
    ),
    "a round of a label": ({"prompt_template": {"A": {"rond": [ASK]}}}, "did you mean 'round' instead of 'rond'?"),
    "a round of a conversation": (
        {"prompt_template": {**TALK, "template": {"rounds": [ASK]}}}, "did you mean 'round' instead of 'rounds'?",
    ),
    "a role of a conversation": (
        {"prompt_template": {**TALK, "template": {"round": [{"rol": "HUMAN", "prompt": "{question}"}]}}},
        "did you mean 'role' instead of 'rol'?",
    ),
    "a turn's role": (
        {"prompt_template": {"round": [{"roel": "HUMAN", "prompt": "{q}"}]}, "meta_template": META},
        "did you mean 'role' instead of 'roel'?",
    ),
    "a prompt of a chat": (
        {"prompt_template": {"round": [{"role": "HUMAN", "promt": "{q}"}]}, **CHAT},
        "did you mean 'prompt' instead of 'promt'?",
    ),
    "a role of a chat": (
        {"prompt_template": {"round": [{"role": "Human", "prompt": "{q}"}]}, **CHAT}, "did you mean 'HUMAN'?",
    ),
    "a role's name": (
        {"prompt_template": {"round": [{"role": "HUMAM", "prompt": "{q}"}]}, "meta_template": META},
        "did you mean 'HUMAN'?",
    ),
    "a role's name, for messages": (
        {"prompt_template": {"round": [ASK, {"role": "bot", "prompt": "{q}"}]}, "meta_template": META},
        "did you mean 'BOT'?",
    ),
    "a message's content": ({"prompt_template": [{"role": "user", "contnet": "{q}"}]}, "instead of 'contnet'?"),
    "a message's role": ({"prompt_template": [{"role": "User", "content": "{q}"}]}, "did you mean 'user'?"),
    "a meta template's round": (
        {"prompt_template": "{q}", "meta_template": {"rounds": []}}, "did you mean 'round' instead of 'rounds'?",
    ),
    "a meta template's role": (
        {"prompt_template": "{q}", "meta_template": {"round": [{"roles": "HUMAN"}]}}, "instead of 'roles'?",
    ),
    "a listed meta template's role": (
        {"prompt_template": [{"role": "user", "content": "{q}"}], "meta_template": [{"role": "sytem"}]},
        "did you mean 'system'?",
    ),
    "a listed meta template's key": (
        {"prompt_template": [{"role": "user", "content": "{q}"}], "meta_template": [{"rol": "system"}]},
        "did you mean 'role' instead of 'rol'?",
    ),
    "a retriever's type": ({"prompt_template": "{q}", "retriever": {"type": "FixKRetreiver"}}, "'FixKRetriever'?"),
    "no retriever's type": ({"prompt_template": "{q}", "retriever": {"typ": "ZeroRetriever"}}, "instead of 'typ'?"),
    "a retriever's key": (
        {"prompt_template": "{q}", "retriever": {"type": "FixKRetriever", "fix_id_lst": []}}, "'fix_id_list'?",
    ),
    "an output": ({"prompt_template": "{q}", "output": "mesages"}, "did you mean 'messages'?"),
    "a mode": ({"prompt_template": "{q}", "mode": "Gen"}, "did you mean 'gen'?"),
    "a dialect": ({"prompt_template": "{q}", "dialect": "OpenCompass"}, "did you mean 'opencompass'?"),
    "a substitution": ({"prompt_template": "{q}", "substitution": "single pass"}, "did you mean 'single_pass'?"),
    "a layout": ({"prompt_template": "{q}", "strings": "strng"}, "did you mean 'string'?"),
    "a name": ({"prompt_template": "{q}", "names": {"promt": "p"}}, "did you mean 'prompt'?"),
    "a finding": ({"prompt_template": "{q}", "refuse": ["media_tags"]}, "did you mean 'media_tag'?"),
    "an infer_mode": (
        {"prompt_template": {**TALK, "template": {"round": [ASK, REPLY]}},
         "inferencer": {"type": "MultiTurnGenInferencer", "infer_mode": "lst"}},
        "did you mean 'last'?",
    ),
    "a label": ({"prompt_template": {"yes": "{q}"}, "mode": "ppl", "labels": ["Yes"]}, "did you mean 'yes'?"),
}  # fmt: skip

WITHOUT_SUGGESTION = {
    "a retriever that needs a model": {"prompt_template": "{q}", "retriever": {"type": "TopkRetriever"}},
    "another word": {"prompt_template": "{q}", "output": "html"},
    "another role": {
        "prompt_template": {"round": [{"role": "TEACHER", "prompt": "{q}"}]},
        "meta_template": META,
    },
    "another label": {"prompt_template": {"A": "{q}"}, "mode": "ppl", "labels": ["B"]},
}


@pytest.mark.parametrize("name", MISSPELT)
def test_likely_names_are_suggested(name):
    arguments, hint = MISSPELT[name]
    with pytest.raises(pp.TemplateError) as caught:
        pp.Renderer(**arguments)
    assert hint in str(caught.value)
    assert "did you mean" in str(caught.value)


@pytest.mark.parametrize("name", WITHOUT_SUGGESTION)
def test_nothing_is_guessed(name):
    with pytest.raises(pp.TemplateError) as caught:
        pp.Renderer(**WITHOUT_SUGGESTION[name])
    assert "did you mean" not in str(caught.value)


def test_columns_that_have_to_be_there():
    samples = pa.table({"question": ["x"], "shots": [[0]]})
    tokens = {"type": "PromptTemplate", "template": "<q>", "column_token_map": {"qestion": "<q>"}}
    with pytest.raises(pp.RenderError, match="did you mean 'question'"):
        pp.Renderer(tokens, dialect="openicl").render(samples)
    template = {"type": "PromptTemplate", "template": "</E>{question}", "ice_token": "</E>"}
    retriever = {"type": "IndexColumn", "column": "shot"}
    renderer = pp.Renderer(template, "{question}", retriever, samples, {"output_column": "question"})
    with pytest.raises(pp.RenderError, match="did you mean 'shots'"):
        renderer.render(samples)


def test_an_entry_of_media():
    turn = {"role": "HUMAN", "prompt_mm": {"texts": {"type": "text", "text": "{question}"}}}
    template = {"type": "MMPromptTemplate", "template": {"round": [turn]}}
    renderer = pp.Renderer(template, dialect="aisbench")
    with pytest.raises(pp.RenderError, match="did you mean 'text' instead of 'texts'"):
        renderer.render(pa.table({"content": ["<AIS_TEXT_START>x<AIS_CONTENT_TAG>"]}))
