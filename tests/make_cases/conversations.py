"""AISBench's conversations: a request a turn, with the true answers or the model's own before it."""

from __future__ import annotations

from .build import File, case
from .parts import API, BOT, CHAT, HUMAN, SYSTEM, turn

TEXTS = {"list": "string"}
ROUND = [turn("HUMAN", "Q:{question}"), turn("BOT", "{answer}")]
BEGIN = [turn("SYSTEM", "Be kind. {question}", fallback_role="HUMAN")]
TALKS = [
    ("question", TEXTS, [["a", "b{answer}"], [], ["c"]]),
    ("answer", TEXTS, [["1", "2"], [], ["3", "unasked"]]),
    ("id", "int64", [7, 8, 9]),
]


def turns(**sections: object) -> dict[str, object]:
    return {"type": "MultiTurnPromptTemplate", "template": sections}


def asks(infer_mode: str) -> dict[str, str]:
    return {"type": "MultiTurnGenInferencer", "infer_mode": infer_mode}


BASE = {"prompt_template": turns(begin=BEGIN, round=ROUND), "dialect": "aisbench", "meta_template": CHAT}
SHAPES = {
    "as text": {},
    "without a meta template": {"meta_template": None},
    "as messages": {"meta_template": API},
    "as messages in JSON": {"meta_template": API, "output": "messages_json"},
    "as a prompt list": {"output": "prompt_list"},
    "words before and after": {"meta_template": {**CHAT, "begin": "<s>", "end": "</s>"}},
    "an end of the dialogue": {"prompt_template": turns(begin=BEGIN, round=ROUND, end=[turn("SYSTEM", "E {answer}")])},
    "two answers a pair": {
        "prompt_template": turns(round=[*ROUND, turn("HUMAN", "Sure?"), turn("BOT", "Yes, {answer}")])
    },
    "nobody answers": {"prompt_template": turns(round=[turn("HUMAN", "{question}")])},
    "nobody generates": {"meta_template": {"round": [HUMAN, {**BOT, "generate": False}], "reserved_roles": [SYSTEM]}},
    "single pass": {"substitution": "single_pass"},
    "other names than question and answer stay": {
        "prompt_template": turns(round=[turn("HUMAN", "{id} {question}"), turn("BOT", "{answer}")])
    },
}

FILES = {
    **{
        name: File(
            about,
            settings={**BASE, "inferencer": asks(name)},
            samples=TALKS,
            cases={shape: case(**more) for shape, more in SHAPES.items()},
        )
        for name, about in (
            ("every_with_gt", "A request a turn, with the true answers before it"),
            ("last", "The last turn's request of each conversation"),
        )
    },
    "whole": File(
        "An inferencer that knows no turns gets the whole conversation",
        settings={**BASE, "inferencer": {"type": "x.GenInferencer"}},
        samples=[(name, kind, [values[0], values[2]]) for name, kind, values in TALKS],
        cases={shape: case(**more) for shape, more in SHAPES.items()},
    ),
    "every": File(
        "A request a turn, with the model's own replies before it",
        settings={**BASE, "inferencer": asks("every")},
        samples=TALKS,
        cases={
            "replies in the place of answers": case(replies=[["{question}!", "end"], [], ["x"]]),
            "as messages": case(replies=[["r0", "r1"], [], ["x"]], meta_template=API),
            "as JSON": case(replies=[['"r0"', "r1"], [], ["x"]], meta_template=API, output="messages_json"),
            "an empty reply": case(replies=[["", ""], [], [""]]),
            "without a meta template": case(replies=[["r0", "r1"], [], ["x"]], meta_template=None),
            "single pass": case(replies=[["{question}!", "end"], [], ["x"]], substitution="single_pass"),
            "two answers a pair": case(
                replies=[["r0", "r1", "r2", "r3"], [], ["x", "y"]],
                prompt_template=SHAPES["two answers a pair"]["prompt_template"],
            ),
        },
    ),
    "columns": File(
        "Lists of any layout, strings character by character, the longer list cut",
        settings={**BASE, "inferencer": asks("every_with_gt")},
        cases={
            "large lists": case(
                samples=[("question", {"large_list": "large_string"}, [["a", "b"]]), ("answer", TEXTS, [["1", "2"]])]
            ),
            "numbers": case(
                samples=[("question", {"list": "int64"}, [[1, None]]), ("answer", {"list": "float64"}, [[0.5, 1]])]
            ),
            "nulls among the answers": case(
                samples=[("question", TEXTS, [["a", None]]), ("answer", TEXTS, [[None, "2"]])]
            ),
            "strings": case(samples=[("question", "string", ["ab"]), ("answer", "string", ["12"])]),
            "a string and a list": case(samples=[("question", "string", ["题b"]), ("answer", TEXTS, [["x", "y"]])]),
            "the answers are longer": case(
                samples=[("question", TEXTS, [["a"]]), ("answer", TEXTS, [["1", "2", "3"]])]
            ),
            "the questions are longer": case(
                samples=[("question", TEXTS, [["a", "b", "c"]]), ("answer", TEXTS, [["1"]])]
            ),
            "no turns at all": case(samples=[("question", TEXTS, [[], []]), ("answer", TEXTS, [[], ["1"]])]),
        },
    ),
}
