"""Retrievers, examples, and what one sample's request is put together of."""

from __future__ import annotations

from .build import File, case
from .parts import (
    ANSWER,
    API,
    ASK,
    CHAT,
    PAIR,
    QA,
    READER,
    TALK,
    TRAIN,
    ZERO,
    fix,
    raw,
    says,
    template,
    turn,
    with_ice,
)

SHOTS = {"ice_template": template("{q}={a}"), "prompt_template": with_ice("</E>{q}="), "reader": READER}
DIALOGUES = {
    "ice_template": template(PAIR),
    "prompt_template": with_ice({"begin": ["</E>"], **PAIR}),
    "reader": READER,
}
FIVE = [("q", "string", ["1", "2", "3", "4", "5"]), ("a", "string", ["a", "b", "c", "d", "e"])]
NUMBERS = {"list": "int64"}


def sliding(k: int, **more: object) -> dict[str, object]:
    return {"type": "SlidingWindowRetriever", "k": k, **more}


def random(**more: object) -> dict[str, object]:
    return {"type": "RandomRetriever", **more}


def index(**more: object) -> dict[str, object]:
    return {"type": "IndexColumn", "column": "shots", **more}


FILES = {
    "zero": File(
        "ZeroRetriever: no examples, and nothing after them unless it is asked for",
        settings=SHOTS,
        samples=QA,
        examples=TRAIN,
        cases={
            "by default": case(),
            "by name": case(retriever=ZERO),
            "an end of examples": case(retriever={**ZERO, "ice_eos_token": "[eos]"}),
            "dialogues": case(**DIALOGUES, retriever=ZERO, meta_template=CHAT),
            "dialogues with an end of examples": case(**DIALOGUES, retriever={**ZERO, "ice_eos_token": "[eos]"}),
            "no ICE template": case(ice_template=None, retriever=ZERO),
            "an ICE template alone, without a token": case(prompt_template=None, retriever=ZERO),
            "an ICE template alone, with a token": case(
                prompt_template=None, ice_template=with_ice("</E>{q}"), retriever=ZERO
            ),
            "a separator, in AISBench": case(retriever={**ZERO, "ice_separator": "|"}, dialect="aisbench"),
        },
    ),
    "fix": File(
        "FixKRetriever: the same rows for every sample",
        settings=SHOTS,
        samples=QA,
        examples=TRAIN,
        cases={
            "one": case(retriever=fix(1)),
            "three, in its order": case(retriever=fix(2, 0, 1)),
            "one twice": case(retriever=fix(0, 0)),
            "none still ends the examples": case(retriever=fix()),
            "one from the end": case(retriever=fix(-1)),
            "its ice_num decides nothing": case(retriever=fix(0, 1, ice_num=1)),
            "separator and end": case(retriever=fix(0, 1, ice_separator="--", ice_eos_token="[eos]\n")),
            "empty separator and end": case(retriever=fix(0, 1, ice_separator="", ice_eos_token="")),
            "separators with placeholders": case(retriever=fix(0, 1, ice_separator="{q}", ice_eos_token="{a}|")),
            "ppl": case(retriever=fix(0, 1), mode="ppl", labels=["A", "B"]),
            "an ICE template alone": case(
                retriever=fix(0, 1), prompt_template=None, ice_template=with_ice("</E>{q}={a}")
            ),
            "under a meta template": case(retriever=fix(0), meta_template=CHAT),
            "a type with its module": case(retriever={"type": "x.FixKRetriever", "fix_id_list": [0]}),
            "in AISBench": case(retriever=fix(0, 2), dialect="aisbench"),
        },
    ),
    "random": File(
        "RandomRetriever: numpy's draws, one after the other over all samples",
        settings=SHOTS,
        samples=FIVE,
        examples=FIVE,
        cases={
            "one by default": case(retriever=random()),
            "two": case(retriever=random(ice_num=2)),
            "all": case(retriever=random(ice_num=5)),
            "none": case(retriever=random(ice_num=0)),
            "a seed": case(retriever=random(ice_num=3, seed=7)),
            "the largest seed": case(retriever=random(ice_num=2, seed=2**32 - 1)),
            "separators": case(retriever=random(ice_num=2, ice_separator=" & ", ice_eos_token=" => ")),
            "dialogues": case(**DIALOGUES, retriever=random(ice_num=2), meta_template=CHAT),
            "ppl draws once a sample": case(retriever=random(ice_num=2), mode="ppl", labels=["A", "B"]),
        },
    ),
    "sliding window": File(
        "SlidingWindowRetriever: the rows before the sample's own, and the end of the train split before these",
        settings=SHOTS,
        samples=FIVE,
        examples=FIVE,
        cases={
            **{f"{k} wide": case(retriever=sliding(k)) for k in (0, 1, 2, 5)},
            "wider than a few samples": case(retriever=sliding(3), samples=[(n, t, v[:2]) for n, t, v in FIVE]),
            "dialogues": case(**DIALOGUES, retriever=sliding(1), meta_template=CHAT),
            "separators": case(retriever=sliding(2, ice_separator="/", ice_eos_token=".")),
        },
    ),
    "index column": File(
        "IndexColumn: a column of lists says which examples each sample has, and is no field of it",
        settings={**SHOTS, "retriever": index()},
        samples=[*QA, ("shots", NUMBERS, [[0, 2], []])],
        examples=TRAIN,
        cases={
            "lists": case(),
            "large lists of small ints": case(samples=[*QA, ("shots", {"large_list": "int16"}, [[1], [1, 1]])]),
            "it stands first": case(samples=[("shots", NUMBERS, [[0], [1]]), *QA]),
            "from the end": case(samples=[*QA, ("shots", NUMBERS, [[-1], [-3]])]),
            "its placeholder stays": case(prompt_template=with_ice("</E>{q} {shots}")),
            "separators": case(retriever=index(ice_separator="|", ice_eos_token="#")),
            "dialogues": case(**DIALOGUES, meta_template=CHAT),
            "dialogues as messages": case(**DIALOGUES, meta_template=API),
            "raw messages": case(
                ice_template=raw(says("user", "{q}"), says("assistant", "{a}")),
                prompt_template=raw("</E>", says("user", "{q}")),
            ),
            "ppl": case(mode="ppl", labels=["A", "B"]),
        },
    ),
    "string examples": File(
        "Examples as texts: where they go, and that what they bring takes part in substitution",
        settings={**SHOTS, "retriever": fix(0, 1)},
        samples=QA,
        examples=TRAIN,
        cases={
            "in the middle": case(prompt_template=with_ice("A </E> B {q}")),
            "twice": case(prompt_template=with_ice("</E></E>{q}")),
            "in a dialogue's begin": case(prompt_template=with_ice({"begin": "</E>", **PAIR})),
            "in a list of begin": case(prompt_template=with_ice({"begin": ["x", "a </E> b"], **PAIR})),
            "in a turn": case(
                prompt_template=with_ice({"round": [turn("HUMAN", "</E>{q}"), ANSWER]}), meta_template=CHAT
            ),
            "in a turn as messages": case(
                prompt_template=with_ice({"round": [turn("HUMAN", "</E>{q}"), ANSWER]}), meta_template=API
            ),
            "in a label map": case(prompt_template=with_ice({"A": "</E>A{q}", "B": "B{q}</E>"}), mode="ppl"),
            "examples with placeholders": case(
                examples=[("q", "string", ["{q}", "{a}"]), ("a", "string", ["1", "{q}"])]
            ),
            "an example with the ICE token": case(
                examples=[("q", "string", ["x</E>y", "z"]), ("a", "string", ["</E>", "1"])]
            ),
            "the ICE token of the ICE template is removed": case(ice_template=with_ice("[</E>{q}={a}]")),
            "the example's template by its label": case(ice_template=template({"r0": "zero {q}", "r1": "one {q}"})),
            "the example's template by a number": case(
                ice_template=template({0: "zero {q}", 1: "one {q}"}),
                examples=[("q", "string", ["x", "y"]), ("a", "int64", [1, 0])],
            ),
            "other columns than the samples'": case(
                ice_template=template("{q}={a} {only here}"), examples=[*TRAIN, ("only here", "float64", [1, 2, 3])]
            ),
            "another ICE token": case(prompt_template=template("<ice>{q}</E>", ice_token="<ice>")),
            "an ICE token that is a placeholder": case(prompt_template=template("{q}|{a}", ice_token="{q}")),
            "a separator token in examples stays theirs": case(
                ice_template=template("{q}<S>{a}", sep_token="<S>"),
                prompt_template=with_ice("</E>{q}<S>", sep_token="<X>"),
            ),
        },
    ),
    "dialogue examples": File(
        "Examples of a dialogue template: item by item in the ICE token's place, without separators",
        settings={**DIALOGUES, "retriever": fix(0, 1, ice_separator="IGNORED", ice_eos_token="IGNORED")},
        samples=QA,
        examples=TRAIN,
        cases={
            "without a meta template": case(),
            "as a prompt list": case(output="prompt_list"),
            "as text": case(meta_template=CHAT),
            "as messages": case(meta_template=API),
            "in ppl": case(meta_template=CHAT, mode="ppl", labels=[None]),
            "no ids leave an empty item": case(retriever=fix(), output="prompt_list"),
            "text around the token": case(
                prompt_template=with_ice({"begin": ["a</E>b"], **PAIR}), output="prompt_list"
            ),
            "in end": case(
                prompt_template=with_ice({**PAIR, "end": ["</E>"]}), mode="ppl", labels=[None], meta_template=CHAT
            ),
            "begin and end of the ICE template are dropped": case(
                ice_template=template({"begin": "gone", **PAIR, "end": "gone"})
            ),
            "in a round, without a meta template": case(prompt_template=with_ice({"round": ["</E>", ASK]})),
            "a label map of dialogues has separators": case(
                ice_template=template({"r0": PAIR, "r1": {"round": [ASK]}}),
                retriever=fix(0, 1, ice_separator="--", ice_eos_token="[eos]"),
                output="prompt_list",
            ),
            "a label map of dialogues as text": case(
                ice_template=template({"r0": PAIR, "r1": {"round": [ASK]}}), meta_template=CHAT
            ),
            "placeholders in examples": case(
                examples=[("q", "string", ["{q}", "x"]), ("a", "string", ["{a}", "y"])], meta_template=CHAT
            ),
            "in AISBench": case(dialect="aisbench", meta_template=API),
        },
    ),
    "raw examples": File(
        "Examples of raw messages: filled with the train row alone, in the place of the ICE token",
        settings={
            "ice_template": raw(says("user", "{q}"), says("assistant", "{a}")),
            "prompt_template": raw(says("system", "S"), "</E>", says("user", "{q}")),
            "reader": READER,
            "retriever": fix(0, 1),
        },
        samples=QA,
        examples=TRAIN,
        cases={
            "in their place": case(),
            "no token, no examples": case(prompt_template=raw(says("user", "{q}"))),
            "another token": case(prompt_template=raw("<ice>", says("user", "{q}"), ice_token="<ice>")),
            "values with placeholders are not looked into": case(
                examples=[("q", "string", ["{q}", "{a}"]), ("a", "string", ["{q}", "y"])]
            ),
            "they delete the strings of a dialogue": case(
                prompt_template=with_ice({"begin": ["gone", "</E>"], **PAIR}), output="text"
            ),
            "dialogue examples among raw messages": case(ice_template=template(PAIR), output="prompt_list"),
            "a list-form meta template": case(meta_template=[says("system", "M ")]),
            "as JSON": case(output="messages_json"),
        },
    ),
    "expanded columns": File(
        "expand_column puts the messages of a column among raw messages",
        settings={"prompt_template": raw(says("system", "S"), {"expand_column": "talk"}, says("user", "{q}"))},
        samples=[("q", "string", ["1", "2", "3"]), ("talk", TALK, [[says("user", "a {q}")], [], None])],
        cases={
            "as they are": case(),
            "alone": case(prompt_template=raw({"expand_column": "talk"}, says("user", "{q}"))),
            "no such column": case(prompt_template=raw({"expand_column": "gone"}, says("user", "{q}"))),
            "with a list-form meta template": case(meta_template=[says("system", "M "), says("user", "U ")]),
            "as JSON": case(output="messages_json"),
            "as a prompt list": case(output="prompt_list"),
        },
    ),
}
