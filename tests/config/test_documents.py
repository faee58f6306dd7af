"""The shapes that the harnesses' documents show, each with the prompt that it gives written out.

OpenCompass: the pages on prompt templates and meta templates. AISBench: what its page on prompt templates says about
strings, dialogues and few-shot. Words and data are our own.
"""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from comparing import clean
from marks import UNWARNED

RIDDLE = {"question": "What has keys but opens no door?", "answer": "A piano", "source": "nowhere"}
SHOTS = [
    {"question": "What gets wet while it dries?", "answer": "A towel", "source": "kitchen"},
    {"question": "What has a neck but no head?", "answer": "A bottle", "source": "cellar"},
]
READER = {"input_columns": ["question"], "output_column": "answer"}
GEN = {"type": "GenInferencer"}
PPL = {"type": "PPLInferencer"}
HINT = {"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": "Answer the riddles."}
TURNS = [{"role": "HUMAN", "prompt": "Riddle: {question}"}, {"role": "BOT", "prompt": "Solution: {answer}"}]


def template(body: Any, **tokens: str) -> dict[str, Any]:
    return {"type": "PromptTemplate", "template": body, **tokens}


def rendered(row: dict[str, Any] = RIDDLE, shots: list[dict[str, Any]] = SHOTS, **config: Any) -> list[Any]:
    """All requests of one sample."""
    config = {"reader": READER, "inferencer": GEN, **config}
    renderer = pp.Renderer(**config, examples=pa.Table.from_pylist(shots))
    return clean(renderer.render(pa.Table.from_pylist([row]))["prompt"].to_pylist())


# ------------------------------------------------------------ strings and dialogues

both_dialects = pytest.mark.parametrize("dialect", ["opencompass", "aisbench"])


@UNWARNED
@both_dialects
def test_a_string_keeps_what_it_does_not_know_and_hides_the_answer(dialect: str) -> None:
    prompt = template("{nothing}\nRiddle: {question}\nSolution: {answer}")
    assert rendered(prompt_template=prompt, dialect=dialect) == [
        "{nothing}\nRiddle: What has keys but opens no door?\nSolution: "
    ]


@both_dialects
def test_a_string_names_several_input_columns(dialect: str) -> None:
    reader = {"input_columns": ["source", "question"], "output_column": "answer"}
    prompt = template("{source}\nRiddle: {question}\nSolution: {answer}")
    assert rendered(prompt_template=prompt, reader=reader, dialect=dialect) == [
        "nowhere\nRiddle: What has keys but opens no door?\nSolution: "
    ]


@both_dialects
def test_a_dialogue_of_one_round(dialect: str) -> None:
    assert rendered(prompt_template=template({"round": TURNS}), output="prompt_list", dialect=dialect) == [
        [
            {"role": "HUMAN", "prompt": "Riddle: What has keys but opens no door?"},
            {"role": "BOT", "prompt": "Solution: "},
        ]
    ]


@both_dialects
def test_a_dialogue_of_several_rounds(dialect: str) -> None:
    before = [
        {"role": "HUMAN", "prompt": "Riddle: What is full of holes and holds water?"},
        {"role": "BOT", "prompt": "Solution: A sponge"},
        {"role": "HUMAN", "prompt": "Riddle: What goes up and never comes down?"},
        {"role": "BOT", "prompt": "Solution: Your age"},
    ]
    assert rendered(prompt_template=template({"round": before + TURNS}), output="prompt_list", dialect=dialect) == [
        [
            {"role": "HUMAN", "prompt": "Riddle: What is full of holes and holds water?"},
            {"role": "BOT", "prompt": "Solution: A sponge"},
            {"role": "HUMAN", "prompt": "Riddle: What goes up and never comes down?"},
            {"role": "BOT", "prompt": "Solution: Your age"},
            {"role": "HUMAN", "prompt": "Riddle: What has keys but opens no door?"},
            {"role": "BOT", "prompt": "Solution: "},
        ]
    ]


@both_dialects
def test_a_dialogue_with_an_instruction_of_the_system(dialect: str) -> None:
    body = {"begin": [HINT], "round": TURNS}
    assert rendered(prompt_template=template(body), output="prompt_list", dialect=dialect) == [
        [
            {"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": "Answer the riddles."},
            {"role": "HUMAN", "prompt": "Riddle: What has keys but opens no door?"},
            {"role": "BOT", "prompt": "Solution: "},
        ]
    ]


@both_dialects
def test_without_a_meta_template_a_dialogue_is_one_string(dialect: str) -> None:
    body = {"begin": [HINT, "Be short."], "round": TURNS, "end": ["That was all."]}
    assert rendered(prompt_template=template(body), output="text", dialect=dialect) == [
        "Answer the riddles.\nBe short.\nRiddle: What has keys but opens no door?\nSolution: \nThat was all."
    ]


# ------------------------------------------------------------ inferencers


@both_dialects
def test_generation_takes_one_template_for_all(dialect: str) -> None:
    string = template("Answer the riddles.\n{question}\n{answer}")
    dialogue = template(
        {"begin": [HINT], "round": [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]}
    )
    assert rendered(prompt_template=string, dialect=dialect) == [
        "Answer the riddles.\nWhat has keys but opens no door?\n"
    ]
    assert rendered(prompt_template=dialogue, output="prompt_list", dialect=dialect) == [
        [
            {"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": "Answer the riddles."},
            {"role": "HUMAN", "prompt": "What has keys but opens no door?"},
            {"role": "BOT", "prompt": ""},
        ]
    ]


CHOICES = {"A": "An owl", "B": "A bat", "C": "A moth", "right": "B"}
CHOOSE = "Who hangs upside down?\nA. {A}\nB. {B}\nC. {C}"
VERDICTS = {"A": "Pick: A", "B": "Pick: B", "C": "Pick: C", "UNK": "Pick: nobody does."}


@both_dialects
def test_perplexity_takes_a_string_per_label(dialect: str) -> None:
    body = {label: f"{CHOOSE}\n{verdict}" for label, verdict in VERDICTS.items()}
    reader = {"input_columns": ["A", "B", "C"], "output_column": "right"}
    assert rendered(CHOICES, [], prompt_template=template(body), inferencer=PPL, reader=reader, dialect=dialect) == [
        "Who hangs upside down?\nA. An owl\nB. A bat\nC. A moth\nPick: A",
        "Who hangs upside down?\nA. An owl\nB. A bat\nC. A moth\nPick: B",
        "Who hangs upside down?\nA. An owl\nB. A bat\nC. A moth\nPick: C",
        "Who hangs upside down?\nA. An owl\nB. A bat\nC. A moth\nPick: nobody does.",
    ]


@both_dialects
def test_perplexity_takes_a_dialogue_per_label(dialect: str) -> None:
    body = {
        label: {"round": [{"role": "HUMAN", "prompt": CHOOSE}, {"role": "BOT", "prompt": verdict}]}
        for label, verdict in VERDICTS.items()
    }
    reader = {"input_columns": "A B C", "output_column": "right"}
    config = {"prompt_template": template(body), "inferencer": PPL, "reader": reader, "dialect": dialect}
    assert rendered(CHOICES, [], **config, output="prompt_list") == [
        [
            {"role": "HUMAN", "prompt": "Who hangs upside down?\nA. An owl\nB. A bat\nC. A moth"},
            {"role": "BOT", "prompt": verdict},
        ]
        for verdict in ("Pick: A", "Pick: B", "Pick: C", "Pick: nobody does.")
    ]
    renderer = pp.Renderer(**config)
    assert list(renderer.labels) == ["A", "B", "C", "UNK"]
    table = renderer.render(pa.Table.from_pylist([CHOICES]))
    assert table["label"].to_pylist() == ["A", "B", "C", "UNK"]


# ------------------------------------------------------------ examples

FIRST_TWO = {"type": "FixKRetriever", "fix_id_list": [0, 1]}


@both_dialects
def test_examples_in_a_string(dialect: str) -> None:
    assert rendered(
        ice_template=template("{question}\n{answer}"),
        prompt_template=template("Answer the riddles.\n</E>{question}\n{answer}", ice_token="</E>"),
        retriever=FIRST_TWO,
        dialect=dialect,
    ) == [
        "Answer the riddles.\n"
        "What gets wet while it dries?\nA towel\n"
        "What has a neck but no head?\nA bottle\n"
        "What has keys but opens no door?\n"
    ]


@both_dialects
def test_examples_in_a_dialogue(dialect: str) -> None:
    turns = [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]
    assert rendered(
        ice_template=template({"round": turns}),
        prompt_template=template({"begin": [HINT, "</E>"], "round": turns}, ice_token="</E>"),
        retriever=FIRST_TWO,
        output="prompt_list",
        dialect=dialect,
    ) == [
        [
            {"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": "Answer the riddles."},
            {"role": "HUMAN", "prompt": "What gets wet while it dries?"},
            {"role": "BOT", "prompt": "A towel"},
            {"role": "HUMAN", "prompt": "What has a neck but no head?"},
            {"role": "BOT", "prompt": "A bottle"},
            "",
            {"role": "HUMAN", "prompt": "What has keys but opens no door?"},
            {"role": "BOT", "prompt": ""},
        ]
    ]


@both_dialects
def test_the_prompt_template_can_be_left_out(dialect: str) -> None:
    with_token = template("</E>R: {question}\nS: {answer}", ice_token="</E>")
    complete = rendered(
        ice_template=template("R: {question}\nS: {answer}"),
        prompt_template=with_token,
        retriever=FIRST_TWO,
        dialect=dialect,
    )
    assert complete == [
        "R: What gets wet while it dries?\nS: A towel\n"
        "R: What has a neck but no head?\nS: A bottle\n"
        "R: What has keys but opens no door?\nS: "
    ]
    assert rendered(ice_template=with_token, retriever=FIRST_TWO, dialect=dialect) == complete


def test_an_ice_template_alone_is_a_prompt_template_without_examples() -> None:
    config = {"ice_template": template("R: {question}\nS: {answer}"), "retriever": {"type": "ZeroRetriever"}}
    assert rendered(**config) == ["R: What has keys but opens no door?\nS: "]
    # AISBench wants a token for examples there, whatever the retriever.
    with pytest.raises(pp.TemplateError, match="ice_template"):
        rendered(**config, dialect="aisbench")


# ------------------------------------------------------------ meta templates

TALK = [
    {"role": "HUMAN", "prompt": "Two ears?"},
    {"role": "BOT", "prompt": "Two."},
    {"role": "HUMAN", "prompt": "{question}"},
    {"role": "BOT", "prompt": "{answer}"},
]
ROLES = [
    {"role": "HUMAN", "begin": "<human> ", "end": "</human>\n"},
    {"role": "BOT", "begin": "<bot> ", "end": "</bot>\n"},
]
GENERATING_ROLES = [ROLES[0], {**ROLES[1], "generate": True}]
SYSTEM = {"role": "SYSTEM", "begin": "<system> ", "end": "</system>\n"}


def in_text(meta: dict[str, Any], body: dict[str, Any], inferencer: dict[str, Any] = PPL, **more: Any) -> str:
    labels = {"labels": ["any"]} if inferencer is PPL else {}
    config = {"prompt_template": template(body), "meta_template": meta, "inferencer": inferencer, "output": "text"}
    (text,) = rendered(**config, **labels, **more)
    return text


def test_the_meta_round_wraps_every_role() -> None:
    assert in_text({"round": ROLES}, {"round": TALK}) == (
        "<human> Two ears?</human>\n<bot> Two.</bot>\n"
        "<human> What has keys but opens no door?</human>\n<bot> A piano</bot>\n"
    )


def test_a_reserved_role_speaks_before_the_rounds() -> None:
    assert in_text({"round": ROLES, "reserved_roles": [SYSTEM]}, {"begin": [HINT], "round": TALK}) == (
        "<system> Answer the riddles.</system>\n"
        "<human> Two ears?</human>\n<bot> Two.</bot>\n"
        "<human> What has keys but opens no door?</human>\n<bot> A piano</bot>\n"
    )


def test_a_reserved_role_speaks_after_the_rounds() -> None:
    """The code trips over its own section markers here; the page says that `end` may call it."""
    meta = {"round": ROLES, "reserved_roles": [SYSTEM], "end": "<eot>"}
    assert in_text(meta, {"round": TALK[2:], "end": [{"role": "SYSTEM", "prompt": "Now {question}"}, "!"]}) == (
        "<human> What has keys but opens no door?</human>\n<bot> A piano</bot>\n"
        "<system> Now What has keys but opens no door?</system>\n!<eot>"
    )


def test_without_the_reserved_role_its_fallback_speaks() -> None:
    assert in_text({"round": ROLES}, {"begin": [HINT], "round": TALK}) == (
        "<human> Answer the riddles.</human>\n"
        "<human> Two ears?</human>\n<bot> Two.</bot>\n"
        "<human> What has keys but opens no door?</human>\n<bot> A piano</bot>\n"
    )


def test_a_fallback_speaks_inside_a_round() -> None:
    """The code knows fallback roles in `begin` only; the page sets no such limit."""
    assert in_text({"round": ROLES}, {"round": [HINT, *TALK[2:]]}) == (
        "<human> Answer the riddles.</human>\n<bot> </bot>\n"
        "<human> What has keys but opens no door?</human>\n<bot> A piano</bot>\n"
    )


def test_a_reserved_role_speaks_inside_a_round_at_its_place() -> None:
    meta = {"round": ROLES, "reserved_roles": [SYSTEM]}
    assert in_text(meta, {"round": [TALK[0], TALK[1], HINT, TALK[2], TALK[3]]}) == (
        "<human> Two ears?</human>\n<bot> Two.</bot>\n"
        "<system> Answer the riddles.</system>\n"
        "<human> What has keys but opens no door?</human>\n<bot> A piano</bot>\n"
    )


def test_without_role_and_fallback_nobody_speaks() -> None:
    body = {"begin": [{"role": "SYSTEM", "prompt": "Answer the riddles."}], "round": TALK}
    with pytest.raises(pp.TemplateError, match="SYSTEM"):
        in_text({"round": ROLES}, body)


def test_begin_and_end_go_around_the_conversation() -> None:
    meta = {"begin": "You solve riddles.\n", "round": ROLES, "reserved_roles": [SYSTEM], "end": "over"}
    assert in_text(meta, {"begin": [HINT], "round": TALK}) == (
        "You solve riddles.\n"
        "<system> Answer the riddles.</system>\n"
        "<human> Two ears?</human>\n<bot> Two.</bot>\n"
        "<human> What has keys but opens no door?</human>\n<bot> A piano</bot>\n"
        "over"
    )


def test_generation_stops_where_the_model_begins() -> None:
    meta = {"begin": "You solve riddles.\n", "round": GENERATING_ROLES, "reserved_roles": [SYSTEM], "end": "over"}
    body = {"begin": [HINT], "round": TALK}
    assert in_text(meta, body, GEN) == (
        "You solve riddles.\n"
        "<system> Answer the riddles.</system>\n"
        "<human> Two ears?</human>\n<bot> Two.</bot>\n"
        "<human> What has keys but opens no door?</human>\n<bot> "
    )
    assert in_text(meta, body, PPL).endswith("<bot> A piano</bot>\nover")


FULL = {
    "begin": "You solve riddles.\n",
    "round": [
        {"role": "HUMAN", "begin": "H: ", "end": "<1>\n"},
        {"role": "THOUGHTS", "begin": "T: ", "end": "<2>\n", "prompt": "none"},
        {"role": "BOT", "begin": "B: ", "generate": True, "end": "<3>\n"},
    ],
    "end": "over",
    "reserved_roles": [{"role": "SYSTEM", "begin": "S: ", "end": "\n"}],
    "eos_token_id": 3,
}


def test_a_role_with_a_default_prompt_speaks_when_the_dataset_is_silent() -> None:
    assert in_text(FULL, {"begin": [HINT], "round": TALK}, GEN) == (
        "You solve riddles.\nS: Answer the riddles.\n"
        "H: Two ears?<1>\nT: none<2>\nB: Two.<3>\n"
        "H: What has keys but opens no door?<1>\nT: none<2>\nB: "
    )
    thinking = [TALK[2], {"role": "THOUGHTS", "prompt": "doors, keys"}, TALK[3]]
    assert in_text(FULL, {"round": thinking}) == (
        "You solve riddles.\nH: What has keys but opens no door?<1>\nT: doors, keys<2>\nB: A piano<3>\nover"
    )


def test_the_end_token_is_no_part_of_the_prompt() -> None:
    renderer = pp.Renderer(prompt_template=template({"round": TALK}), meta_template=FULL, reader=READER)
    assert renderer.eos_token_id == 3


@pytest.mark.parametrize("tokens", [{7: "<7>", 8: "\n"}, lambda token: {7: "<7>", 8: "\n"}[token]])
def test_begin_and_end_may_be_lists_of_strings_and_tokens(tokens: Any) -> None:
    meta = {
        "round": [
            {"role": "HUMAN", "begin": ["Human", 7], "end": [8]},
            {"role": "BOT", "begin": ["Bot", ": "], "end": []},
        ]
    }
    body = {"round": TALK[2:]}
    assert in_text(meta, body, tokens=tokens) == "Human<7>What has keys but opens no door?\nBot: A piano"
    with pytest.raises(pp.TemplateError, match="7"):
        in_text(meta, body)


# ------------------------------------------------------------ models behind APIs

API_ROLES = [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}]


def test_messages_for_a_model_without_a_system_role() -> None:
    body = template({"begin": [HINT], "round": TALK})
    assert rendered(prompt_template=body, meta_template={"round": API_ROLES}) == [
        [
            {"role": "HUMAN", "prompt": "Answer the riddles.\nTwo ears?"},
            {"role": "BOT", "prompt": "Two."},
            {"role": "HUMAN", "prompt": "What has keys but opens no door?"},
        ]
    ]


def test_messages_for_a_model_with_a_system_role() -> None:
    body = template({"begin": [HINT], "round": TALK})
    meta = {"round": API_ROLES, "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}]}
    spoken = [
        {"role": "SYSTEM", "prompt": "Answer the riddles."},
        {"role": "HUMAN", "prompt": "Two ears?"},
        {"role": "BOT", "prompt": "Two."},
        {"role": "HUMAN", "prompt": "What has keys but opens no door?"},
    ]
    assert rendered(prompt_template=body, meta_template=meta) == [spoken]
    perplexity = rendered(prompt_template=body, meta_template=meta, inferencer=PPL, labels=["any"])
    assert perplexity == [[*spoken, {"role": "BOT", "prompt": "A piano"}]]


def test_a_string_goes_to_an_api_as_it_is() -> None:
    config = {"prompt_template": template("R: {question}"), "meta_template": {"round": API_ROLES}}
    assert rendered(**config) == ["R: What has keys but opens no door?"]


def test_examples_reach_an_api_as_separate_rounds() -> None:
    assert rendered(
        ice_template=template({"round": TURNS}),
        prompt_template=template({"begin": [HINT, "</E>"], "round": TURNS}, ice_token="</E>"),
        retriever=FIRST_TWO,
        meta_template={"round": API_ROLES},
    ) == [
        [
            {"role": "HUMAN", "prompt": "Answer the riddles.\nRiddle: What gets wet while it dries?"},
            {"role": "BOT", "prompt": "Solution: A towel"},
            {"role": "HUMAN", "prompt": "Riddle: What has a neck but no head?"},
            {"role": "BOT", "prompt": "Solution: A bottle"},
            {"role": "HUMAN", "prompt": "Riddle: What has keys but opens no door?"},
        ]
    ]
