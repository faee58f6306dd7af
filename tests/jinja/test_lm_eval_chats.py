"""A ChatTemplate behind a task: in bulk what it gives one by one, and what the harness's Hugging Face models do."""

import random

import promptpress as pp
import pyarrow as pa
import pytest

pytest.importorskip("jinja2")

from promptpress._renderers.templates import ChatTemplate
from promptpress.lm_eval import requests
from promptpress_harness.lm_eval import contexts as contexts_module
from promptpress_harness.lm_eval.contexts import ManyChats

PLAIN = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}</>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}" + PLAIN
PIECES = ["", "a", " b ", "{q}", "é\n", "</>", "x\u3000"]


def contexts(config, docs, shots=None, **options):
    table = requests(config, docs, shots, **options)
    return [request[0] for request in table["arguments"].to_pylist()]


def test_a_chat_ends_with_a_prompt_or_an_open_message():
    docs = pa.table({"q": ["1+1?", "2+2?"], "p": [None, "It is"]})
    config = {"test_split": "test", "doc_to_text": "q", "doc_to_target": "x", "gen_prefix": "p"}
    assert contexts(config, docs, chat_template=ChatTemplate(PLAIN), system_instruction="Be kind.") == [
        "<system>Be kind.</><user>1+1?</><assistant>",
        "<system>Be kind.</><user>2+2?</><assistant>It is",
    ]


def test_a_template_without_system_messages_is_rendered_again():
    docs = pa.table({"q": ["1+1?", "2+2?"], "d": ["D.", ""]})
    config = {"test_split": "test", "doc_to_text": "q", "doc_to_target": "x", "description": "d"}
    expected = ["<user>1+1?</><assistant>", "<user>2+2?</><assistant>"]
    assert contexts(config, docs, chat_template=ChatTemplate(NO_SYSTEM)) == expected
    never = ChatTemplate("{{ raise_exception('never') }}")
    with pytest.raises(pp.RenderError, match="row 0: TemplateError: never"):
        requests(config, docs, chat_template=never)


@pytest.mark.parametrize("seed", range(60))
def test_chats_in_bulk_are_those_made_one_by_one(seed, monkeypatch):
    choose = random.Random(seed)

    def table(rows):
        columns = {name: choose.choices(PIECES, k=rows) for name in "qp"}
        return pa.table(columns | {"n": choose.choices([0, 1], k=rows)})

    config = {
        "test_split": "test",
        "fewshot_split": choose.choice(["test", "dev"]),
        "doc_to_text": choose.choice(["q", "{{q}}", "Q: {{q.strip()}}\nA:", "always"]),
        "doc_to_target": choose.choice(["q", "p", "{{p}}x"]),
        "description": choose.choice(["", "D. ", "p", "{{p}} "]),
        "gen_prefix": choose.choice([None, None, "", "So", "p", "{{p}}"]),
        "fewshot_config": {"sampler": choose.choice(["default", "first_n"])},
    }
    if choose.random() < 0.3:
        config |= {"doc_to_choice": ["x", "{y}"], "doc_to_target": choose.choice(["n", "{{n}}", 1])}
        config["output_type"] = choose.choice(["multiple_choice", "loglikelihood"])
    docs, shots = table(choose.choice([1, 9, 40])), table(40)
    docs = docs.set_column(0, "q", pa.array([f"q{row} {text}" for row, text in enumerate(docs["q"].to_pylist())]))
    template = ChatTemplate(choose.choice([PLAIN, PLAIN, NO_SYSTEM]))
    options = {
        "num_fewshot": choose.choice([0, 1, 3]) if len(docs) > 4 else 0,
        "system_instruction": choose.choice([None, "{q}"]),
        "fewshot_as_multiturn": choose.random() < 0.5,
    }
    bulk = requests(config, docs, shots, chat_template=template, **options).to_pylist()
    assert bulk == requests(config, docs, shots, chat_template=ManyChats(template).__call__, **options).to_pylist()
    monkeypatch.setattr(contexts_module, "chat_contexts", lambda *_, **__: None)
    assert bulk == requests(config, docs, shots, chat_template=template, **options).to_pylist()
