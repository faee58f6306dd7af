"""Meta templates: how a dialogue is said in a model's own words, as text."""

from __future__ import annotations

from .build import File, case
from .parts import ANSWER, ASK, BOT, CHAT, HUMAN, PAIR, QA, SYSTEM, turn

PPL = {"mode": "ppl", "labels": [None]}
THINK = {"role": "THINK", "begin": "<T>", "end": "</T>"}

FILES = {
    "rounds": File(
        "Each round of the dialogue is laid over the meta template's round",
        settings={"prompt_template": PAIR, "meta_template": CHAT},
        samples=QA,
        cases={
            "gen stops after the begin of who generates": case(),
            "ppl says all": case(**PPL),
            "two rounds": case(prompt_template={"round": [ASK, ANSWER, turn("HUMAN", "again"), ANSWER]}),
            "two rounds in ppl": case(prompt_template={"round": [ASK, ANSWER, turn("HUMAN", "again"), ANSWER]}, **PPL),
            "a role that the dialogue lacks still speaks": case(prompt_template={"round": [ASK]}, **PPL),
            "nobody speaks": case(prompt_template={"round": []}, **PPL),
            "an earlier place begins a new round": case(prompt_template={"round": [ANSWER, ASK]}, **PPL),
            "the same place begins a new round": case(prompt_template={"round": [ASK, ASK]}),
            "three roles": case(meta_template={"round": [HUMAN, THINK, BOT]}, **PPL),
            "three roles in gen": case(meta_template={"round": [HUMAN, THINK, BOT]}),
            "a string in the round comes before all of it": case(prompt_template={"round": [ASK, "x {a}", ANSWER]}),
            "a string in the meta template's round": case(
                meta_template={"round": ["s1", HUMAN, "s2", BOT, "s3"]}, **PPL
            ),
            "nobody generates": case(meta_template={"round": [HUMAN, {**BOT, "generate": False}]}),
            "the first generates": case(meta_template={"round": [{**HUMAN, "generate": True}, BOT]}),
            "placeholders in a meta template stay": case(
                meta_template={"round": [{**HUMAN, "begin": "{q}"}, {**BOT, "begin": "{a}"}]}
            ),
            "AISBench": case(dialect="aisbench"),
        },
    ),
    "begin and end": File(
        "begin and end of the meta template, and of the dialogue",
        settings={
            "prompt_template": {"begin": ["x ", turn("SYSTEM", "S")], **PAIR, "end": ["y ", turn("SYSTEM", "E")]},
            "meta_template": {**CHAT, "begin": "<s>", "end": "</s>"},
        },
        samples=QA,
        cases={
            "gen ends before both ends": case(),
            "ppl has both": case(**PPL),
            "both where nobody generates": case(
                meta_template={"round": [HUMAN, {**BOT, "generate": False}], "reserved_roles": [SYSTEM], "end": "</s>"}
            ),
            "a generating role in begin doesn't stop text": case(prompt_template={"begin": [ANSWER], **PAIR}),
            "a generating role in end": case(
                prompt_template={**PAIR, "end": [ANSWER]}, meta_template={"round": [HUMAN, {**BOT, "generate": False}]}
            ),
            "an empty begin": case(prompt_template={"begin": [], **PAIR}),
            "sections in another order": case(prompt_template={"end": "e", **PAIR, "begin": "b"}, **PPL),
        },
    ),
    "overrides": File(
        "A turn's own keys win over its role's; the role's are defaults",
        settings={"prompt_template": PAIR, "meta_template": CHAT, **PPL},
        samples=QA,
        cases={
            "begin and end": case(prompt_template={"round": [{**ASK, "begin": "[", "end": "]"}, ANSWER]}),
            "only its prompt is filled": case(prompt_template={"round": [{**ASK, "begin": "{q}", "end": "{a}"}]}),
            "empty words": case(prompt_template={"round": [{**ASK, "begin": "", "end": ""}, ANSWER]}),
            "a default prompt": case(
                prompt_template={"round": [ASK]}, meta_template={"round": [HUMAN, {**BOT, "prompt": "default {q}"}]}
            ),
            "a turn without a prompt": case(
                prompt_template={"round": [{"role": "HUMAN"}]},
                meta_template={"round": [{**HUMAN, "prompt": "default"}, BOT]},
            ),
            "generate=False": case(
                mode="gen", labels=None, prompt_template={"round": [ASK, {**ANSWER, "generate": False}]}
            ),
            "generate=True": case(
                mode="gen", labels=None, prompt_template={"round": [{**ASK, "generate": True}, ANSWER]}
            ),
            "in begin": case(prompt_template={"begin": [turn("SYSTEM", "x", begin="(", end=")")], **PAIR}),
        },
    ),
    "reserved and fallback": File(
        "Reserved roles speak outside the rounds, fallback roles for whom the meta template lacks",
        settings={"meta_template": CHAT},
        samples=QA,
        cases={
            "a reserved role in begin": case(prompt_template={"begin": [turn("SYSTEM", "S {q}")], **PAIR}),
            "a fallback in begin": case(
                prompt_template={"begin": [turn("TEACHER", "T", fallback_role="SYSTEM")], **PAIR}
            ),
            "a known role needs no fallback": case(
                prompt_template={"begin": [turn("SYSTEM", "S", fallback_role="HUMAN")], **PAIR}
            ),
            "a fallback of the round, in begin": case(
                prompt_template={"begin": [turn("TEACHER", "T", fallback_role="HUMAN")], **PAIR}
            ),
            "a fallback within the round": case(
                prompt_template={"round": [turn("TEACHER", "{q}", fallback_role="HUMAN"), ANSWER]}
            ),
            "a fallback at the same place begins a round": case(
                prompt_template={"round": [ASK, turn("TEACHER", "{a}", fallback_role="HUMAN"), ANSWER]}
            ),
            "a reserved role within the round": case(
                prompt_template={"round": [ASK, turn("SYSTEM", "Be brief."), ANSWER]}
            ),
            "a reserved role first in the round": case(
                prompt_template={"round": [turn("SYSTEM", "Be brief."), ASK, ANSWER]}
            ),
            "a reserved role last in the round": case(
                prompt_template={"round": [ASK, ANSWER, turn("SYSTEM", "Done.")]}, **PPL
            ),
            "a reserved role alone in the round": case(prompt_template={"round": [turn("SYSTEM", "S")]}, **PPL),
            "an unknown role that generation never reaches": case(
                prompt_template={**PAIR, "end": [turn("NOBODY", "never")]}
            ),
        },
    ),
    "token ids": File(
        "begin and end of a role as lists of texts and token ids",
        settings={"prompt_template": PAIR, "tokens": {7: "<seven>", 8: ""}, **PPL},
        samples=QA,
        cases={
            "texts": case(meta_template={"round": [{**HUMAN, "begin": ["<", "H", ">"]}, BOT]}),
            "ids": case(meta_template={"round": [{**HUMAN, "begin": [7], "end": [7, 8, "x"]}, BOT]}),
            "an empty list": case(meta_template={"round": [{**HUMAN, "begin": []}, {**BOT, "end": []}]}),
            "in a reserved role": case(
                prompt_template={"begin": [turn("SYSTEM", "S")], **PAIR},
                meta_template={"round": [HUMAN, BOT], "reserved_roles": [{**SYSTEM, "begin": ["<", 7]}]},
            ),
            "eos_token_id is no part of a prompt": case(meta_template={**CHAT, "eos_token_id": 7}),
        },
    ),
    "none at all": File(
        "An empty meta template is none",
        settings={"prompt_template": {"begin": ["b"], **PAIR}},
        samples=QA,
        cases={
            "an empty dict": case(meta_template={}),
            "an empty list": case(meta_template=[]),
            "text says all in gen too": case(mode="gen"),
            "messages are text then": case(output="messages"),
            "a prompt list doesn't look at it": case(output="prompt_list", meta_template={"nonsense": 1}),
        },
    ),
}
