"""ChatInferencer: chats of string columns, list columns and columns of messages."""

from __future__ import annotations

from .build import File, case
from .parts import API, BOT, CHAT, HUMAN, PAIR, SYSTEM, TALK, says, turn

STRINGS = [("q", "string", ["1+1?", "2+2?"]), ("a", "string", ["2", "4"]), ("id", "int64", [1, 2])]
TEXTS = {"list": "string"}
LISTS = [("q", TEXTS, [["a", "b{a}"], ["c"]]), ("a", TEXTS, [["1", "2"], ["3"]])]
TALKS = [
    (
        "dialogue",
        TALK,
        [
            [
                says("system", "S"),
                says("user", "u1"),
                says("assistant", "a1"),
                says("user", "u2"),
                says("assistant", "a2"),
            ],
            [says("user", "v"), says("assistant", "w"), says("tool", "t"), says("assistant", None)],
        ],
    ),
    ("q", "string", ["x", "y"]),
]
READER = {"input_columns": ["q"], "output_column": "a"}
DIALOGUE = {"reader": {"input_columns": ["dialogue"], "output_column": None}}
INPUTS = {
    "strings": {"samples": STRINGS, "reader": READER},
    "lists": {"samples": LISTS, "reader": READER},
    "messages": {"samples": TALKS, **DIALOGUE},
}
SHAPES = {
    "as text": {"meta_template": CHAT},
    "as text without a meta template": {},
    "as messages": {"meta_template": API, "output": "messages"},
    "as messages without a meta template": {"output": "messages"},
    "as a prompt list": {"output": "prompt_list"},
    "as JSON": {"output": "messages_json"},
}


def asks(infer_mode: str | None = None) -> dict[str, str]:
    return {"type": "ChatInferencer", **({"infer_mode": infer_mode} if infer_mode else {})}


FILES = {
    **{
        mode: File(
            about,
            settings={"inferencer": asks(mode)},
            cases={
                f"{name}, {shape}": case(**given, **more)
                for name, given in INPUTS.items()
                for shape, more in SHAPES.items()
            },
        )
        for mode, about in (
            ("every_with_gt", "The history before each of the assistant's messages"),
            ("last", "The history before the last of the assistant's messages"),
        )
    },
    "every": File(
        "The history before each of the assistant's messages, with the model's own replies in it",
        settings={"inferencer": asks("every")},
        cases={
            "strings": case(**INPUTS["strings"], replies=[["x"], ["y"]], output="messages"),
            "lists": case(**INPUTS["lists"], replies=[["r0", "{q}"], ["r1"]], output="messages"),
            "lists as text": case(**INPUTS["lists"], replies=[["r0", "{q}"], ["r1"]], meta_template=CHAT),
            "messages": case(**INPUTS["messages"], replies=[["r0", "r1"], ["r2", "r3"]], output="messages"),
            "messages as text": case(**INPUTS["messages"], replies=[["r0", "r1"], ["r2", "r3"]], meta_template=CHAT),
            "messages as JSON": case(**INPUTS["messages"], replies=[["r0", "r1"], ["", "r3"]], output="messages_json"),
        },
    ),
    "templates": File(
        "A prompt template says what a round of the chat is",
        settings={"inferencer": asks("every_with_gt"), "reader": READER, "output": "messages"},
        samples=LISTS,
        cases={
            "a string": case(prompt_template="Q: {q}"),
            "a dialogue": case(prompt_template=PAIR),
            "a dialogue without an answer": case(prompt_template={"round": [turn("HUMAN", "Q: {q}")]}),
            "a system prompt each round": case(prompt_template={"begin": [turn("SYSTEM", "S")], **PAIR}),
            "strings among turns": case(prompt_template={"begin": ["b {q}"], "round": ["", turn("HUMAN", "{q}")]}),
            "roles that no chat has": case(prompt_template={"round": [turn("TEACHER", "gone"), *PAIR["round"]]}),
            "a label map's first": case(prompt_template={"A": "A {q}", "B": "B {q}"}),
            "tokens are removed": case(
                prompt_template={
                    "type": "PromptTemplate",
                    "template": "</E>{q}<S>",
                    "ice_token": "</E>",
                    "sep_token": "<S>",
                }
            ),
            "nothing is masked": case(prompt_template="{q}={a}"),
            "values are looked into": case(
                prompt_template="{q}", samples=[("q", "string", ["{a}"]), ("a", "string", ["1"])]
            ),
            "in a single pass they aren't": case(prompt_template="{q}|{a}", substitution="single_pass"),
            "two columns ask": case(
                prompt_template="{q} {r}",
                reader={"input_columns": ["q", "r"], "output_column": "a"},
                samples=[("q", "string", ["1"]), ("r", "string", ["2"]), ("a", "string", ["3"])],
            ),
            "on strings": case(prompt_template=PAIR, samples=STRINGS),
            "on messages it is not looked at": case(**INPUTS["messages"], prompt_template=PAIR),
        },
    ),
    "chats": File(
        "What a chat is made of",
        settings={"inferencer": asks("every_with_gt"), "output": "messages"},
        cases={
            "last by default": case(**INPUTS["lists"], inferencer=asks()),
            "no answer column": case(samples=STRINGS, reader={"input_columns": ["q"]}),
            "an empty answer column is none": case(
                samples=STRINGS, reader={"input_columns": ["q"], "output_column": ""}
            ),
            "an answer column that the table lacks": case(
                samples=STRINGS, reader={"input_columns": ["q"], "output_column": "gone"}
            ),
            "the longer list is cut": case(
                samples=[("q", TEXTS, [["a", "b"]]), ("a", TEXTS, [["1", "2", "3"]])], reader=READER
            ),
            "dialogue among other columns": case(
                samples=TALKS, reader={"input_columns": ["q", "dialogue"], "output_column": None}
            ),
            "a column of messages of any name": case(
                samples=[("talk", TALK, [[says("user", "u"), says("assistant", "a")]])],
                reader={"input_columns": ["talk"], "output_column": None},
            ),
            "empty lists ask nothing": case(samples=[("q", TEXTS, [[]]), ("a", TEXTS, [[]])], reader=READER),
            "nobody answers": case(samples=[("dialogue", TALK, [[says("user", "u")], []])], **DIALOGUE),
            "it begins with the assistant": case(
                samples=[("dialogue", TALK, [[says("assistant", "a"), says("user", "u"), says("assistant", "b")]])],
                **DIALOGUE,
            ),
            "strings of other layouts": case(
                samples=[("q", "string_view", ["1"]), ("a", "large_string", ["2"])], reader=READER
            ),
        },
    ),
    "parsers": File(
        "How a chat is said: as text with the meta template's words, as messages with its api roles",
        settings={"inferencer": asks("every_with_gt"), "meta_template": CHAT},
        cases={
            "a role that the meta template lacks has no words": case(
                **INPUTS["messages"], **{"meta_template": {"round": [HUMAN, BOT]}}
            ),
            "reserved roles": case(**INPUTS["messages"]),
            "no end of who speaks last": case(
                **INPUTS["messages"] | {"meta_template": {"round": [HUMAN, SYSTEM, BOT]}}
            ),
            "api roles of other names": case(
                **INPUTS["messages"],
                **{"output": "messages"},
                **{
                    "meta_template": {
                        "round": [{"role": "HUMAN", "api_role": "user"}, {"role": "BOT", "api_role": "bot"}]
                    }
                },
            ),
            "an empty round": case(**INPUTS["lists"], **{"meta_template": {"round": []}}),
            "begin and end of the meta template are ignored": case(
                **INPUTS["lists"], **{"meta_template": {**CHAT, "begin": "gone", "end": "gone"}}
            ),
        },
    ),
}
