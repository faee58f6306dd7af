"""OpenCompass's real inferencers with the backend off and on: what the model gets, what is written, what is raised."""

# ruff: noqa: ARG001, ARG005 - hooks are given the inferencer, the retriever and the model

from __future__ import annotations

import logging
import random
from decimal import Decimal

import pyarrow as pa
import pytest
from promptpress import opencompass as backend
from promptpress_harness.bulk.bulk_call import ExpandingCallRenderer
from promptpress_harness.bulk.rendering import Prompt, Prompts
from promptpress_harness.opencompass.bulk_call import Counter
from real.harness import scripted
from real.harness.both import MODELS, answers, once
from real.harness.scripted import plain

pytestmark = pytest.mark.usefixtures("opencompass")

WORDS = ["What", "is {A}", "\\frac{a}{b}", "{target}", "{", "a}", "\u4e2d\u6587", "so", "on", "", "section"]
NAMES = ["input", "A", "B", "target"]
READER = {"input_columns": ["input", "A", "B"], "output_column": "target"}
TURNS = [{"role": "HUMAN", "prompt": "Q: {input} {A}\nA: "}, {"role": "BOT", "prompt": "{target}\n"}]
SYSTEM = {"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": "Be brief."}
ICE = {"type": "PromptTemplate", "template": {"round": TURNS}, "ice_token": "</E>"}
DIALOGUE = {"type": "PromptTemplate", "template": {"begin": [SYSTEM, "</E>"], "round": TURNS}, "ice_token": "</E>"}
STRING = {"type": "PromptTemplate", "template": "</E>Q: {input}\nA: {target}", "ice_token": "</E>"}
RAW = {
    "type": "RawPromptTemplate",
    "messages": [{"role": "system", "content": "x"}, "</E>", {"role": "user", "content": "{input} {target}"}],
}
RAW_ICE = {
    "type": "RawPromptTemplate",
    "messages": [{"role": "user", "content": "{A}"}, {"role": "assistant", "content": "!"}],
}
SHOTS = {"begin": ["</E>"], "round": [*TURNS[:1], {"role": "BOT", "prompt": "X"}]}
LABELS = {
    "type": "PromptTemplate",
    "template": {label: {**SHOTS, "round": [TURNS[0], {"role": "BOT", "prompt": label}]} for label in "AB"},
    "ice_token": "</E>",
}
STRING_LABELS = {
    "type": "PromptTemplate",
    "template": {"A": "</E>{input} yes {A}", "B": "</E>{input} no {B}"},
    "ice_token": "</E>",
}
TEMPLATES = {
    "dialogue": {"ice_template": ICE, "prompt_template": DIALOGUE},
    "string": {"ice_template": {"type": "PromptTemplate", "template": "{input}: {target}"}, "prompt_template": STRING},
    "raw": {"ice_template": RAW_ICE, "prompt_template": RAW},
    "ice alone": {"ice_template": STRING},
}
LABELLED = {
    "dialogues": {"ice_template": ICE, "prompt_template": LABELS},
    "strings": {"ice_template": {"type": "PromptTemplate", "template": STRING_LABELS["template"], "ice_token": "</E>"}},
}
RETRIEVERS = {
    "zero": {"type": "ZeroRetriever"},
    "fixed": {"type": "FixKRetriever", "fix_id_list": [4, 0, 2]},
    "random": {"type": "RandomRetriever", "ice_num": 2},
}


def samples(count=45, seed=0):
    chance = random.Random(seed)
    texts = [[" ".join(chance.choices(WORDS, k=chance.randrange(12))) for _ in range(count)] for _ in NAMES[:-1]]
    return pa.table([*map(pa.array, texts), pa.array([chance.choice("AB") for _ in range(count)])], names=NAMES)


def case(templates, **others):
    base = {"samples": samples(), "examples": samples(6, 1), "reader": READER, **templates, **others}
    return {**base, "inferencer": {"type": "GenInferencer", "batch_size": 4, **others.get("inferencer", {})}}


def agree(job):
    off, on = answers(job)
    assert on == off
    return off


@pytest.mark.parametrize("max_seq_len", [None, 30])
@pytest.mark.parametrize("retriever", RETRIEVERS)
@pytest.mark.parametrize("templates", TEMPLATES)
@pytest.mark.parametrize("model", MODELS)
def test_gen(model, templates, retriever, max_seq_len):
    inferencer = {"max_seq_len": max_seq_len, "dump_res_length": model != "list"}
    agree(case(TEMPLATES[templates], **MODELS[model], retriever=RETRIEVERS[retriever], inferencer=inferencer))


@pytest.mark.parametrize("max_seq_len", [None, 30])
@pytest.mark.parametrize("retriever", RETRIEVERS)
@pytest.mark.parametrize("templates", LABELLED)
@pytest.mark.parametrize("model", ["text", "lines", "messages"])
@pytest.mark.parametrize("kind", ["PPLInferencer", "LLInferencer"])
def test_labels(kind, model, templates, retriever, max_seq_len):
    job = case(
        LABELLED[templates],
        **MODELS[model],
        retriever=RETRIEVERS[retriever],
        inferencer={"type": kind, "max_seq_len": max_seq_len},
    )
    agree({**job, "samples": job["samples"].append_column("cont", job["samples"]["input"])})


@pytest.mark.parametrize("max_seq_len", [None, 30])
@pytest.mark.parametrize("retriever", RETRIEVERS)
@pytest.mark.parametrize("templates", ["dialogue", "string"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_choices(templates, retriever, max_seq_len, side):
    job = case(
        TEMPLATES[templates],
        **MODELS["text"],
        retriever=RETRIEVERS[retriever],
        inferencer={"type": "CLPInferencer", "max_seq_len": max_seq_len},
        before=lambda inferencer, retriever, model: setattr(model.tokenizer, "padding_side", side),
    )
    choices = pa.array([["A", "B"]] * len(job["samples"]))
    agree({**job, "samples": job["samples"].append_column("choices", choices)})


@pytest.mark.parametrize("batch_size", [1, 4])
def test_choices_by_the_calculation_of_the_harness(torch, batch_size):
    def calculate(inferencer, retriever, model):
        def get_logits(texts):
            model.received.append(("logits", list(texts)))
            return torch.tensor([[[scripted.number((text, n)) for n in range(128)]] for text in texts]), None

        del inferencer._get_cond_prob
        model.get_logits = get_logits
        model.batch_padding = True
        model.tokenizer.padding_side = "left"

    job = case(
        TEMPLATES["string"],
        **MODELS["text"],
        retriever=RETRIEVERS["fixed"],
        inferencer={"type": "CLPInferencer", "batch_size": batch_size},
        before=calculate,
    )
    choices = pa.array([["A", "B"]] * len(job["samples"]))
    off = agree({**job, "samples": job["samples"].append_column("choices", choices)})
    assert "logits" in repr(off)
    assert "raised" not in repr(off)


@pytest.mark.parametrize("mode", ["last", "every", "every_with_gt"])
@pytest.mark.parametrize("model", ["text", "lines", "messages"])
@pytest.mark.parametrize("templates", [{}, {"prompt_template": STRING}, {"prompt_template": DIALOGUE}, "turns"])
def test_chats(templates, model, mode):
    if templates == "turns":
        templates = {"prompt_template": {"type": "PromptTemplate", "template": {"round": [SYSTEM, *TURNS, "and"]}}}
    reader = {"input_columns": ["input"], "output_column": "target"} if not templates else READER
    agree(case(templates, **MODELS[model], reader=reader, inferencer={"type": "ChatInferencer", "infer_mode": mode}))


def chats():
    """Columns that are lists of as many strings, and columns of messages."""
    chance = random.Random(5)
    counts = [chance.randrange(1, 4) for _ in range(12)]

    def texts(count):
        return [" ".join(chance.choices(WORDS, k=chance.randrange(4))) for _ in range(count)]

    def messages(count):
        roles = ["system", *["user", "assistant"] * count][chance.randrange(2) :]
        return [{"role": role, "content": text} for role, text in zip(roles, texts(len(roles)), strict=True)]

    columns = {name: [texts(count) for count in counts] for name in ("asked", "hint", "said")}
    columns["said"][3] = columns["said"][3] * 2  # one list is longer: the shorter one counts
    columns["dialogue"] = [messages(count) for count in counts]
    columns["even"] = [[message for message in chat if message["role"] != "system"] for chat in columns["dialogue"]]
    columns["id"] = list(range(12))
    columns["gold"] = texts(12)
    return pa.table(columns)


EXPANDED = {
    "alone": [{"expand_column": "dialogue"}],
    "twice": [{"expand_column": "dialogue"}, {"expand_column": "even"}],
    "with examples": [{"expand_column": "even"}, "</E>", {"expand_column": "dialogue"}],
    "of no column": [{"expand_column": "nowhere"}],
}


@pytest.mark.parametrize("max_seq_len", [None, 8])
@pytest.mark.parametrize("model", ["messages", "lines", "text"])
@pytest.mark.parametrize("messages", EXPANDED)
def test_messages_expanded_from_columns(messages, model, max_seq_len, caplog):
    prompt = {"type": "RawPromptTemplate", "messages": EXPANDED[messages]}
    ice = {"type": "RawPromptTemplate", "messages": [{"expand_column": "even"}]}
    templates = {"prompt_template": prompt, **({"ice_template": ice} if messages == "with examples" else {})}
    samples = chats()
    job = case(
        templates,
        **MODELS[model],
        retriever=RETRIEVERS["fixed" if messages == "with examples" else "zero"],
        reader={"input_columns": ["dialogue"], "output_column": "gold"},
        samples=samples.slice(2),
        examples=samples.slice(0, 6),
        inferencer={"max_seq_len": max_seq_len},
    )
    log_lines = left_to_the_harness(job, caplog)
    assert not log_lines


def test_lists_of_messages_that_are_empty_or_missing():
    two = [{"role": "user", "content": "?", "name": "x"}, {"role": "assistant", "content": "{n}", "name": "y"}]
    table = pa.table({"dialogue": [two, [], None, two[:1]] * 3, "n": range(12)})
    for start in range(4):  # the first one is looked at by both
        template = {"type": "RawPromptTemplate", "messages": [{"expand_column": "dialogue"}]}
        reader = {"input_columns": ["dialogue"], "output_column": "n"}
        job = case({"prompt_template": template}, **MODELS["messages"], reader=reader, samples=table.slice(start))
        assert "raised" not in repr(agree(job))


def test_expanded_messages_of_a_column_that_holds_none_are_left_to_the_harness(caplog):
    template = {"type": "RawPromptTemplate", "messages": [{"expand_column": "gold"}]}
    reader = {"input_columns": ["dialogue"], "output_column": "gold"}
    job = case({"prompt_template": template}, **MODELS["messages"], reader=reader, samples=chats())
    (message,) = left_to_the_harness(job, caplog)
    assert message.startswith("promptpress leaves prompts to the harness: the column 'gold'")


ASIDE = {
    "messages of the configuration": [{"role": "user", "content": "{gold} {dialogue}"}, {"expand_column": "dialogue"}],
    "messages with nulls": [{"expand_column": "holes"}, {"role": "user", "content": "?", "name": "x"}],
    "keys in another order": [{"expand_column": "dialogue"}, {"expand_column": "other"}],
    "parts": [{"expand_column": "parts"}, {"role": "assistant", "content": "{parts}"}],
    "parts of the configuration": [
        {"role": "user", "content": [{"type": "text", "text": "{gold}"}]},
        {"expand_column": "even"},
    ],
    "examples": ["x", {"expand_column": "even"}, "</E>", {"content": "{dialogue}", "role": "user"}],
}


@pytest.mark.parametrize("shots", ["zero", "fixed"])
@pytest.mark.parametrize("model", ["messages", "list", "text"])
@pytest.mark.parametrize("messages", ASIDE)
def test_expanded_messages_next_to_others(messages, model, shots, caplog, rendered_messages):
    holes = [[{"role": "user", "content": None, "name": "x"}], [{"role": "user", "content": "?", "name": None}]] * 6
    other = [[{"content": "?", "role": "user"}]] * 12
    parts = [[{"role": "user", "content": [{"type": "text", "text": f"{n}"}]}] for n in range(12)]
    samples = chats()
    for name, values in {"holes": holes, "other": other, "parts": parts}.items():
        samples = samples.append_column(name, pa.array(values))
    ice = {"type": "RawPromptTemplate", "messages": [{"role": "user", "content": "{even}"}, {"expand_column": "even"}]}
    job = case(
        {"prompt_template": {"type": "RawPromptTemplate", "messages": ASIDE[messages]}, "ice_template": ice},
        **MODELS[model],
        retriever=RETRIEVERS[shots],
        reader={"input_columns": ["dialogue"], "output_column": "gold"},
        samples=samples.slice(2),
        examples=samples.slice(0, 6),
    )
    assert not left_to_the_harness(job, caplog)
    # The harness's counting of prompts doesn't take parts, nor does its parser of texts take messages.
    assert sum(rendered_messages) == (0 if model == "text" else 10 + 1)


@pytest.fixture
def rendered_messages(monkeypatch):
    counts = []
    render = ExpandingCallRenderer.render

    def counted(self, call, key, start, shots):
        counts.append(len(shots))
        return render(self, call, key, start, shots)

    monkeypatch.setattr(ExpandingCallRenderer, "render", counted)
    return counts


@pytest.mark.parametrize("roles", [["system", "user"], ["user"], ["user", "system"]])
def test_expanded_messages_with_a_meta_template_of_messages(roles, caplog):
    rows = [[{"role": role, "content": f"{n}"} for role in roles[: 1 + n % 2]] for n in range(6)]
    template = {"type": "RawPromptTemplate", "messages": [{"expand_column": "q"}]}
    reader = {"input_columns": ["q"], "output_column": None}
    job = case({"prompt_template": template}, **MODELS["list"], reader=reader, samples=pa.table({"q": rows}))
    assert not left_to_the_harness(job, caplog)


CHAT_READERS = {
    "rounds": {"input_columns": ["asked"], "output_column": "said"},
    "rounds without answers": {"input_columns": ["asked"], "output_column": None},
    "rounds of two columns": {"input_columns": ["asked", "hint"], "output_column": "said"},
    "messages": {"input_columns": ["dialogue"], "output_column": "gold"},
    "messages of any name": {"input_columns": ["even"], "output_column": None},
    "dialogue": {"input_columns": ["dialogue", "id"], "output_column": "gold"},
}
ROUND_TURNS = [{"role": "SYSTEM", "prompt": "Be brief."}, {"role": "HUMAN", "prompt": "Q: {asked} {hint}"}]
ROUND = {"type": "PromptTemplate", "template": {"begin": ["and"], "round": ROUND_TURNS}}


@pytest.mark.parametrize("mode", ["last", "every", "every_with_gt"])
@pytest.mark.parametrize("model", ["text", "lines", "messages"])
@pytest.mark.parametrize("templates", [{}, {"prompt_template": ROUND}, {"prompt_template": STRING}])
@pytest.mark.parametrize("reader", CHAT_READERS)
def test_chats_of_several_rounds(reader, templates, model, mode, caplog):
    inferencer = {"type": "ChatInferencer", "infer_mode": mode}
    job = case(templates, **MODELS[model], reader=CHAT_READERS[reader], inferencer=inferencer, samples=chats())
    log_lines = left_to_the_harness(job, caplog)
    if reader != "rounds of two columns" or templates:
        assert not log_lines


def test_dialogues_for_which_the_inferencer_has_a_special_mode():
    reader = {"input_columns": ["dialogue", "id"], "output_column": "gold"}
    samples = chats().drop_columns(["dialogue"]).rename_columns({"even": "dialogue"})
    inferencer = {"type": "ChatInferencer", "infer_mode": "every"}
    off = agree(case({}, **MODELS["text"], reader=reader, inferencer=inferencer, samples=samples))
    assert "raised" not in repr(off)
    assert "'round'" in repr(off)


HOLES = {
    "a chat": {"dialogue": [[{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}], None]},
    "a message": {"dialogue": [[{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}], [None]]},
    "a round": {"dialogue": [["?", "and?"], ["?", None]]},
    "all rounds": {"dialogue": [["?", "and?"], None]},
}


@pytest.mark.parametrize("gap", HOLES)
def test_chats_with_holes_are_the_harness_s(gap, caplog):
    reader = {"input_columns": ["dialogue"], "output_column": None}
    samples = pa.table(HOLES[gap])
    job = case({}, **MODELS["text"], reader=reader, inferencer={"type": "ChatInferencer"}, samples=samples)
    (message,) = left_to_the_harness(job, caplog)
    assert message.startswith("promptpress leaves prompts to the harness: a column of chats has a null (model ")


def test_a_first_chat_without_rounds_shows_nothing(caplog):
    template = {"type": "PromptTemplate", "template": {"round": ["</E>", *ROUND_TURNS]}, "ice_token": "</E>"}
    samples = pa.table({"asked": [[], ["one"], ["two"]]})
    reader = {"input_columns": ["asked"], "output_column": None}
    job = case({"prompt_template": template}, **MODELS["text"], reader=reader, samples=samples)
    (message,) = left_to_the_harness({**job, "inferencer": {"type": "ChatInferencer"}}, caplog)
    assert message.startswith("promptpress leaves prompts to the harness: the first chat is empty (model ")


@pytest.mark.parametrize("last", ["", "section", "x"])
def test_a_chat_that_can_not_be_made_stops_the_run_before_the_first_request(last):
    samples = pa.table({"q": ["one", "two", last], "a": ["1", "2", "3"]})
    template = {"type": "PromptTemplate", "template": {"round": ["{q}", {"role": "BOT", "prompt": "{a}"}]}}
    reader = {"input_columns": ["q"], "output_column": "a"}
    job = case({"prompt_template": template}, **MODELS["text"], reader=reader, samples=samples)
    off = agree({**job, "inferencer": {"type": "ChatInferencer"}})
    assert ("raised" in repr(off)) == (last == "")


def test_dropping_examples_happens_on_many_rows():
    job = case(TEMPLATES["dialogue"], **MODELS["text"], retriever=RETRIEVERS["fixed"], inferencer={"max_seq_len": 30})
    counts = [text.count("<bot>") for text in _texts(agree(job)) if text.startswith('"<s>') and text.endswith('<bot>"')]
    assert len(set(counts)) > 1
    assert sum(count < 4 for count in counts) > len(counts) / 2


def _texts(value):
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("max_seq_len", [0, 20, 60, 90, 1000])
def test_the_counter_of_the_harness_counts_what_can_be_too_long(max_seq_len):
    def subclass_model(inferencer, retriever, model):
        type(model).get_token_len = scripted.opencompass().BaseAPIModel.get_token_len

    job = case(
        TEMPLATES["dialogue"],
        **MODELS["messages"],
        retriever=RETRIEVERS["fixed"],
        inferencer={"max_seq_len": max_seq_len},
        before=subclass_model,
    )
    agree(job)


@pytest.mark.parametrize("model", ["text", "messages"])
def test_messages_that_are_only_dumped(tmp_path, model):
    dumped = []
    for name in ("off", "on"):
        inferencer = {"dump_only_message_path": str(tmp_path / name)}
        job = case(TEMPLATES["dialogue"], **MODELS[model], retriever=RETRIEVERS["random"], inferencer=inferencer)
        once(job, on=name == "on")
        dumped.append([path.read_bytes() for path in (tmp_path / name).rglob("*.jsonl")])
    assert dumped[0] == dumped[1]
    assert len(dumped[0]) == 1


def test_short_prompts_are_not_counted():
    counted = []
    model = scripted.model(None, api=True)
    base = scripted.opencompass().BaseAPIModel
    type(model).get_token_len = base.get_token_len
    type(model).get_token_len_from_template = lambda self, prompt, mode: counted.append(prompt)
    counter = Counter(model, 5)
    assert counter.get_token_len_from_template("short", "gen") == 0
    counter.get_token_len_from_template("longer", "gen")
    type(model).get_token_len = lambda self, prompt: 100
    Counter(model, 5).get_token_len_from_template("short", "gen")
    assert counted == ["longer", "short"]


class StoppedError(Exception):
    """Someone stopped the run."""


@pytest.mark.parametrize(("first", "second"), [(False, False), (True, True), (False, True), (True, False)])
def test_interrupted_and_resumed(tmp_path, first, second):
    def stop(inferencer, retriever, model):
        generate = model.generate

        def once_more(inputs, max_out_len):
            if len(model.received) == 3:
                raise StoppedError
            return generate(inputs, max_out_len)

        model.generate = once_more

    def go(name, on_first, on_second):
        job = case(TEMPLATES["dialogue"], **MODELS["text"], retriever=RETRIEVERS["fixed"])
        answers_of_runs = []
        for on, options in ((on_first, {"before": stop}), (on_second, {})):
            (tmp_path / name).mkdir(exist_ok=True)
            if on:
                with backend.backend():
                    answers_of_runs.append(plain(scripted.run({**job, **options}, tmp_path / name)))
            else:
                answers_of_runs.append(plain(scripted.run({**job, **options}, tmp_path / name)))
        return answers_of_runs

    expected = go("off", False, False)
    assert "StoppedError" in repr(expected[0])
    assert go("on", first, second) == expected


WRONG = {
    "unknown role": {
        "prompt_template": {"type": "PromptTemplate", "template": {"round": [{"role": "CAT", "prompt": "{A}"}]}}
    },
    "end": {"prompt_template": {"type": "PromptTemplate", "template": {"round": [TURNS[1]], "end": [TURNS[0]]}}},
    "no ice token": {"ice_template": ICE, "prompt_template": {"type": "PromptTemplate", "template": {"round": TURNS}}},
    "no template of a label": {
        "ice_template": {"type": "PromptTemplate", "template": {"A": "</E>{input}"}, "ice_token": "</E>"},
    },
    "a prompt that is no text": {
        "prompt_template": {"type": "PromptTemplate", "template": {"round": [{"role": "HUMAN", "prompt": 1}]}}
    },
    "examples without a template": {"prompt_template": STRING},
    "nothing": {},
}


@pytest.mark.parametrize("templates", WRONG)
@pytest.mark.parametrize("model", ["text", "messages"])
def test_what_is_wrong_raises_what_it_raised(templates, model):
    off = agree(case(WRONG[templates], **MODELS[model], retriever=RETRIEVERS["fixed"]))
    assert "raised" in repr(off)


def test_values_of_all_kinds():
    table = pa.table(
        {
            "input": pa.array([1.5, None, float("nan"), 1e22] * 3),
            "A": pa.array([[1, 2], [], None, [None]] * 3),
            "B": pa.array([{"x": 1, "y": "z"}, None, {"x": None, "y": "'"}, {"x": 2, "y": ""}] * 3),
            "target": pa.array([True, False, None, True] * 3),
        }
    )
    template = {"type": "PromptTemplate", "template": "{input}{A}{B}{target}{unknown}"}
    agree(case({"prompt_template": template}, **MODELS["text"], samples=table))


MOMENTS = {
    "date32": [0, None, 19_000, -719_162, 2_932_896],
    "date64": [0, None, 86_400_000],
    "timestamp[s]": [0, None, 1_600_000_000, -1],
    "timestamp[ms]": [0, None, 1_600_000_000_123],
    "timestamp[us]": [0, None, 1_600_000_000_000_001],
}


@pytest.mark.parametrize("template", ["{input}: {when} {data} {sum}", "{input}"])
@pytest.mark.parametrize("kind", MOMENTS)
def test_columns_of_dates_and_bytes(kind, template, caplog):
    values = pa.array([MOMENTS[kind][n % len(MOMENTS[kind])] for n in range(12)], pa.int64())
    when = values.cast(pa.int32()).cast(pa.date32()) if kind == "date32" else values.view(type_of(kind))
    table = pa.table(
        {
            "input": ["{when} {data}", "{sum}", "x"] * 4,  # what a template doesn't name a value may
            "when": when,
            "data": pa.array([b"a", b"\x00'", None] * 4),
            "sum": pa.array([Decimal("1.10"), None, Decimal("-0.05")] * 4, pa.decimal128(9, 2)),
            "target": ["A"] * 12,
        }
    )
    reader = {"input_columns": ["input"], "output_column": "target"}
    templates = {"prompt_template": {"type": "PromptTemplate", "template": template}}
    job = case(templates, **MODELS["text"], samples=table, reader=reader)
    assert not left_to_the_harness(job, caplog)


def type_of(name):
    from datasets import Value

    return Value(name).pa_type


FAR = {"date32": 2**31 - 1, "timestamp[s]": 2**60, "timestamp[ns]": 1_001, "timestamp[us, tz=UTC]": 0, "duration[s]": 1}


@pytest.mark.parametrize("kind", FAR)
def test_moments_that_python_has_not_are_left_to_the_harness(kind, caplog):
    values = pa.array([0, FAR[kind]], pa.int64())
    when = values.cast(pa.int32()).cast(pa.date32()) if kind == "date32" else values.view(type_of(kind))
    templates = {"prompt_template": {"type": "PromptTemplate", "template": "{input} {when}"}}
    reader = {"input_columns": ["input"], "output_column": None}
    job = case(templates, **MODELS["text"], samples=pa.table({"input": ["a", "b"], "when": when}), reader=reader)
    (message,) = left_to_the_harness(job, caplog)
    assert "the dataset's column 'when' isn't covered" in message


def test_a_selection_of_the_dataset():
    reader = {**READER, "test_range": "[::-3]", "train_range": 5}
    agree(case(TEMPLATES["dialogue"], **MODELS["text"], retriever=RETRIEVERS["fixed"], reader=reader))


def left_to_the_harness(job, caplog):
    caplog.clear()
    with caplog.at_level(logging.WARNING, "promptpress.backend"):
        agree(job)
    return [record.getMessage() for record in caplog.records if record.name == "promptpress.backend"]


def test_what_is_covered_says_nothing(caplog):
    for templates in TEMPLATES.values():
        assert not left_to_the_harness(case(templates, **MODELS["messages"]), caplog)


def test_subclasses_are_left_to_the_harness_and_logged_once(caplog):
    def subclass_inferencer(inferencer, retriever, model):
        inferencer.__class__ = type("Own", (type(inferencer),), {})

    def subclass_retriever(inferencer, retriever, model):
        retriever.__class__ = type(
            "Own", (type(retriever),), {"generate_ice": lambda self, rows, ice_template=None: ""}
        )

    def subclass_parser(inferencer, retriever, model):
        model.template_parser.__class__ = type("Own", (type(model.template_parser),), {})

    def subclass_model(inferencer, retriever, model):
        model.parse_template = lambda prompts, mode: [f"{mode} {prompt}" for prompt in prompts]

    for before in (subclass_inferencer, subclass_retriever, subclass_parser, subclass_model):
        job = case(TEMPLATES["dialogue"], **MODELS["text"], before=before)
        with backend.backend():
            assert len(left_to_the_harness(job, caplog)) == 1
            assert not left_to_the_harness(job, caplog)


@pytest.mark.parametrize(
    ("attributes", "is_bulk"),
    [
        ({}, True),
        ({"__doc__": "The same."}, True),
        ({"sep_token": "x"}, False),
        ({"generate_item": lambda self, *_arguments, **_options: "other"}, False),
    ],
)
def test_a_subclass_of_a_template_without_code_is_its_base(attributes, is_bulk, caplog, monkeypatch):
    base = scripted.opencompass().PromptTemplate
    monkeypatch.setattr(scripted.opencompass(), "Own", type("Own", (base,), attributes), raising=False)
    templates = {**TEMPLATES["dialogue"]}
    templates["prompt_template"] = {**templates["prompt_template"], "type": "Own"}
    messages = left_to_the_harness(case(templates, **MODELS["text"]), caplog)
    assert (messages == []) == is_bulk


OLYMPIAD = {
    "problem": ["1+1=?", "{prompt} {{x}}", "\\frac{1}{2}", "{problem}"],
    "language": ["English", "Chinese", "English", "English"],
    "subject": ["Math", "Math", "Physics", "Math"],
    "question_type": ["OE", "OE", "TP", "OE"],
    "answer_type": ["Numerical", "Expression", "Numerical", "Interval"],
    "is_multiple_answer": [False, True, False, True],
    "unit": ["", "m", "", ""],
    "solution": ["2", "x", "y", "z"],
}


@pytest.mark.parametrize(
    ("name", "model"), [("OlympiadBenchTemplate", "text"), ("OlympiadBenchRawTemplate", "messages")]
)
def test_a_template_that_makes_rows_of_samples(name, model, caplog, monkeypatch):
    scripted.opencompass()
    module = pytest.importorskip("opencompass.datasets.OlympiadBench")
    monkeypatch.setattr(scripted.opencompass(), name, getattr(module, name), raising=False)
    job = case(
        {"prompt_template": {"type": name}},
        **MODELS[model],
        reader={"input_columns": [*OLYMPIAD][:-1], "output_column": "solution"},
        samples=pa.table(OLYMPIAD),
    )
    with caplog.at_level(logging.INFO, "promptpress.backend"):
        agree(job)
    assert caplog.records[-1].getMessage() == "promptpress: 4 prompts in bulk, 0 by the harness, in 1 task"
    monkeypatch.setattr(module.OlympiadBenchPrompter, "make_prompt", lambda self, **_: "{problem}")
    (message,) = left_to_the_harness(job, caplog)
    assert "OlympiadBenchPrompter.make_prompt isn't that of" in message


def test_prompts_are_made_when_they_are_touched(tmp_path):
    looked = {}

    def look(inferencer, retriever, model):
        looked["prompts"] = inferencer.get_generation_prompt_list_from_retriever_indices(
            retriever.retrieve(), retriever, "", prompt_template=scripted.built(STRING)
        )

    job = case({"prompt_template": STRING}, **MODELS["text"], before=look)
    scripted.run(job, tmp_path / "off")
    expected = looked["prompts"]
    with backend.backend():
        scripted.run(job, tmp_path / "on")
    assert type(looked["prompts"]) is Prompts
    assert type(looked["prompts"][3]) is Prompt
    assert list(looked["prompts"]) == expected
    assert list(looked["prompts"][5:1:-2]) == expected[5:1:-2]


def test_on_and_off():
    harness = scripted.opencompass()
    original = harness.GenInferencer.get_generation_prompt_list_from_retriever_indices
    parse = harness.LMTemplateParser.parse_template
    backend.enable()
    backend.enable()
    assert harness.GenInferencer.get_generation_prompt_list_from_retriever_indices is not original
    with backend.backend():
        pass
    assert harness.LMTemplateParser.parse_template is not parse
    backend.disable()
    backend.disable()
    assert harness.GenInferencer.get_generation_prompt_list_from_retriever_indices is original
    assert harness.LMTemplateParser.parse_template is parse
