"""Messages for APIs: api roles, merging, list-form meta templates, and their JSON."""

from __future__ import annotations

from .build import File, case
from .parts import ANSWER, API, ASK, PAIR, QA, TALK, raw, says, turn

PPL = {"mode": "ppl", "labels": [None]}
ROUND = API["round"]

FILES = {
    "api roles": File(
        "Who speaks to an API by which role; the generating role is left out in gen",
        settings={"prompt_template": PAIR, "meta_template": API},
        samples=QA,
        cases={
            "gen": case(),
            "ppl": case(**PPL),
            "two rounds": case(prompt_template={"round": [ASK, ANSWER, turn("HUMAN", "again"), ANSWER]}),
            "other names": case(
                meta_template={
                    "round": [
                        {"role": "HUMAN", "api_role": "user"},
                        {"role": "BOT", "api_role": "assistant", "generate": True},
                    ]
                }
            ),
            "words around a prompt": case(
                meta_template={"round": [{**ROUND[0], "begin": "<", "end": ">"}, {**ROUND[1], "begin": "["}]}, **PPL
            ),
            "strings of the dialogue are left out": case(
                prompt_template={"begin": ["gone"], "round": ["gone", ASK, "gone", ANSWER], "end": "gone"}, **PPL
            ),
            "a role without a prompt says an empty message": case(prompt_template={"round": [ASK]}, **PPL),
            "a reserved role in begin": case(prompt_template={"begin": [turn("SYSTEM", "S {q}")], **PAIR}),
            "a fallback within the round": case(
                prompt_template={"round": [turn("TEACHER", "{q}", fallback_role="HUMAN"), ANSWER]}
            ),
            "a fallback in begin": case(
                prompt_template={"begin": [turn("TEACHER", "T", fallback_role="SYSTEM")], **PAIR}
            ),
            "a reserved role within the round takes its fallback's place": case(
                prompt_template={"round": [turn("SYSTEM", "lost", fallback_role="HUMAN"), ANSWER]}, **PPL
            ),
            "a turn's own api_role": case(prompt_template={"round": [{**ASK, "api_role": "other"}, ANSWER]}),
            "end of a dialogue": case(prompt_template={**PAIR, "end": [turn("SYSTEM", "E")]}, **PPL),
            "nobody generates": case(meta_template={"round": [ROUND[0], {**ROUND[1], "generate": False}]}),
            "AISBench": case(dialect="aisbench"),
            "token ids": case(
                meta_template={"round": [{**ROUND[0], "begin": ["<", 7]}, ROUND[1]]}, tokens={7: "seven>"}
            ),
            "single pass": case(samples=[("q", "string", ["{a}"]), ("a", "string", ["x"])], substitution="single_pass"),
        },
    ),
    "merging": File(
        "Consecutive messages of one role become one, a newline between them",
        settings={"meta_template": API},
        samples=QA,
        cases={
            "begin and round": case(prompt_template={"begin": [turn("HUMAN", "first")], **PAIR}),
            "rounds of one role": case(
                prompt_template={"round": [ASK, turn("HUMAN", "b"), turn("HUMAN", "c")]},
                meta_template={"round": [ROUND[0]]},
            ),
            "two roles with one api_role": case(
                prompt_template=PAIR,
                meta_template={"round": [ROUND[0], {"role": "BOT", "api_role": "HUMAN"}]},
            ),
            "an empty one among them": case(
                prompt_template={"begin": [turn("HUMAN", ""), turn("HUMAN", "x"), turn("HUMAN", "")], **PAIR}
            ),
            "not over another role": case(
                prompt_template={"begin": [turn("HUMAN", "x"), turn("SYSTEM", "y"), turn("HUMAN", "z")], **PAIR}
            ),
        },
    ),
    "begin": File(
        "A meta template's begin stands before the messages as it is; its end is ignored",
        settings={"prompt_template": PAIR},
        samples=QA,
        cases={
            "a string": case(meta_template={**API, "begin": "B {q}"}),
            "an empty string is none": case(meta_template={**API, "begin": ""}),
            "a message": case(meta_template={**API, "begin": {"role": "SYSTEM", "prompt": "B"}}),
            "a message with further keys": case(
                meta_template={**API, "begin": {"role": "SYSTEM", "prompt": "B", "api_role": "s", "n": 1}}
            ),
            "end": case(meta_template={**API, "end": "gone"}, **PPL),
        },
    ),
    "lists of messages": File(
        "A meta template that is a list: equal roles are joined, missing ones inserted, in its order",
        samples=QA,
        settings={"prompt_template": raw(says("system", "S"), says("user", "{q}"))},
        cases={
            "an equal role": case(meta_template=[says("system", "M ")]),
            "a missing role": case(meta_template=[says("assistant", "M")]),
            "two, in order": case(meta_template=[says("system", "M "), says("user", "N ")]),
            "two, in the other order": case(meta_template=[says("user", "N "), says("system", "M ")]),
            "a role twice": case(meta_template=[says("user", "1 "), says("user", "2 ")]),
            "only the first of a role is joined": case(
                prompt_template=raw(says("user", "a"), says("user", "{q}")), meta_template=[says("user", "M ")]
            ),
            "its placeholders stay": case(meta_template=[says("system", "{q} ")]),
            "further keys of a message stay": case(
                prompt_template=raw(says("system", "S", name="n")), meta_template=[says("system", "M ", name="gone")]
            ),
            "a dict is ignored": case(meta_template=API),
            "a prompt list knows none": case(meta_template=[says("system", "M ")], output="prompt_list"),
            "with the messages of a column": case(
                prompt_template=raw({"expand_column": "talk"}),
                samples=[("talk", TALK, [[says("user", "u"), says("system", "s")], [says("assistant", "a")], []])],
                meta_template=[says("system", "M "), says("user", "N ")],
            ),
            "keys of what is inserted keep their order": case(
                prompt_template=raw({"expand_column": "talk"}, {"content": "{q}", "role": "user"}),
                samples=[("talk", TALK, [[says("assistant", "a")], []]), ("q", "string", ["1+1?", "2+2?"])],
                meta_template=[{"role": "system", "n": 1, "content": "M"}, {"content": "N", "role": "user"}],
                output="messages_json",
            ),
        },
    ),
    "json": File(
        "output=messages_json: one JSON text a request, as json.dumps writes it",
        settings={"output": "messages_json"},
        samples=[("q", "string", ['"\\/', "\x00\x1f\x7f\n\t", "é😀\u2028", ""]), ("a", "string", ["x"] * 4)],
        cases={
            "texts": case(prompt_template=PAIR, meta_template=API),
            "raw messages": case(prompt_template=raw(says("user", "{q}"))),
            "the order of keys": case(
                prompt_template=raw({"content": "{q}", "z": 1, "role": "user", "b": [1, {"y": 0}]})
            ),
            "numbers": case(prompt_template=raw(says("user", "{q}", n=[1, 1.5, 1e22, 1e-7, 2**53, -0.0, True, None]))),
            "a content of parts": case(prompt_template=raw(says("user", [{"type": "text", "text": "{q}"}]))),
            "a begin before them": case(prompt_template=PAIR, meta_template={**API, "begin": "B"}),
        },
    ),
    "layouts": File(
        "Strings of any layout hold the same messages",
        samples=QA,
        cases={
            f"{output}, {strings}": case(
                prompt_template={"begin": [turn("SYSTEM", "S")], **PAIR},
                meta_template=None if output == "prompt_list" else API,
                output=output,
                strings=strings,
            )
            for output in ("text", "messages", "prompt_list", "messages_json")
            for strings in ("string", "large_string", "string_view")
        },
    ),
}
