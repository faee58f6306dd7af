"""Inputs that are refused, and the path that the error names. The models know the first; this file has the paths.

What no model knows of (the settings' own words, Arrow's types) stands in a file that isn't made, `unmodelled.json`.
"""

from __future__ import annotations

from .build import File, render_error, template_error
from .chats import DIALOGUE, asks
from .chats import READER as CHAT_READER
from .conversations import BASE as TURNS
from .conversations import TALKS, turns
from .conversations import asks as asks_turns
from .media import BASE as MEDIA
from .media import shows, tagged
from .openicl import BASE as OPENICL
from .openicl import COLUMNS as OPENICL_COLUMNS
from .openicl import TRAIN as OPENICL_TRAIN
from .openicl import template as openicl_template
from .openicl import with_ice as openicl_with_ice
from .parts import (
    ANSWER,
    API,
    ASK,
    BOT,
    CHAT,
    HUMAN,
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
PPL = {"mode": "ppl", "labels": [None]}
TEXTS = {"list": "string"}

FILES = {
    "templates": File(
        "Templates that are none",
        samples=QA,
        cases={
            "an unknown type": template_error(
                "prompt_template.type", prompt_template={"type": "Promt", "template": "x"}
            ),
            "an unknown argument": template_error("prompt_template", prompt_template=template("x", ice_tokn="</E>")),
            "no template in it": template_error("prompt_template", prompt_template={"type": "PromptTemplate"}),
            "a number": template_error("prompt_template.template", prompt_template=template(5)),
            "a label's number": template_error("prompt_template.template.A", prompt_template=template({"A": 5})),
            "no ICE token in a text": template_error("prompt_template.template", prompt_template=with_ice("x")),
            "no ICE token in a label's text": template_error(
                "prompt_template.template.B", prompt_template=with_ice({"A": "</E>", "B": "x"})
            ),
            "no ICE token in a section's text": template_error(
                "prompt_template.template.begin", prompt_template=with_ice({"begin": "x", **PAIR})
            ),
            "an ICE token that is no text": template_error(
                "prompt_template.ice_token", prompt_template=template("x", ice_token=5)
            ),
            "a dialogue without a round": template_error("prompt_template", prompt_template={"begin": ["x"]}),
            "an item that is neither": template_error(
                "prompt_template.round[1]", prompt_template={"round": [ASK, 5]}, meta_template=CHAT
            ),
            "a prompt that is no text": template_error(
                "prompt_template.round[0].prompt", prompt_template={"round": [{"role": "HUMAN", "prompt": 5}]}
            ),
            "no template at all": template_error("prompt_template", prompt_template=None),
            "an ICE template without an ICE token for it": template_error(
                "prompt_template.ice_token", prompt_template="{q}", ice_template="{q}={a}"
            ),
        },
    ),
    "raw messages": File(
        "Raw messages that are none",
        samples=QA,
        cases={
            "no list": template_error(
                "prompt_template.messages", prompt_template={"type": "RawPromptTemplate", "messages": "x"}
            ),
            "an unknown role": template_error(
                "prompt_template.messages[0].role", prompt_template=raw(says("bot", "x"))
            ),
            "no content": template_error("prompt_template.messages[0]", prompt_template=raw({"role": "user"})),
            "neither text nor message": template_error(
                "prompt_template.messages[1]", prompt_template=raw(says("user", ""), 5)
            ),
            "as text": template_error("output", prompt_template=raw(says("user", "x")), output="text"),
            "not in AISBench": template_error(
                "prompt_template.type", prompt_template=raw(says("user", "x")), dialect="aisbench"
            ),
            "no labels in ppl": template_error("prompt_template", prompt_template=raw(says("user", "x")), mode="ppl"),
            "contents that can't be joined": template_error(
                "prompt_template",
                prompt_template=raw(says("user", [{"type": "text"}])),
                meta_template=[says("user", "M")],
            ),
            "contents that can't be joined, beside a column's messages": render_error(
                row=0,
                prompt_template=raw({"expand_column": "talk"}, says("user", None)),
                meta_template=[says("user", "M")],
            ),
        },
    ),
    "meta templates": File(
        "Meta templates that are none, and roles that nobody speaks for",
        settings={"prompt_template": PAIR},
        samples=QA,
        cases={
            "no round": template_error("meta_template", meta_template={"begin": "x"}),
            "a round that is no list": template_error("meta_template.round", meta_template={"round": "x"}),
            "an item that is neither": template_error("meta_template.round[1]", meta_template={"round": [HUMAN, 5]}),
            "no role": template_error("meta_template.round[1]", meta_template={"round": [HUMAN, {"begin": "x"}]}),
            "a role twice": template_error("meta_template.round[1]", meta_template={"round": [HUMAN, HUMAN]}),
            "a role in both": template_error(
                "meta_template.reserved_roles[0]", meta_template={"round": [HUMAN, BOT], "reserved_roles": [HUMAN]}
            ),
            "a begin that is no text": template_error(
                "meta_template.round[0].begin", meta_template={"round": [{**HUMAN, "begin": 5}, BOT]}
            ),
            "the whole's begin is no text": template_error(
                "meta_template.begin", meta_template={**CHAT, "begin": {"role": "SYSTEM"}}
            ),
            "an unknown role": template_error(
                "prompt_template.begin[0]", prompt_template={"begin": [turn("NOBODY", "x")], **PAIR}, meta_template=CHAT
            ),
            "an unknown role in the round": template_error(
                "prompt_template.round[0]", prompt_template={"round": [turn("NOBODY", "x"), ANSWER]}, meta_template=CHAT
            ),
            "an unknown fallback": template_error(
                "prompt_template.begin[0]",
                prompt_template={"begin": [turn("NOBODY", "x", fallback_role="NOONE")], **PAIR},
                meta_template=CHAT,
            ),
            "a turn without a role": template_error(
                "prompt_template.round[0]", prompt_template={"round": [{"prompt": "x"}]}, meta_template=CHAT
            ),
            "a reserved role in the round of messages": template_error(
                "prompt_template.round[0]", prompt_template={"round": [turn("SYSTEM", "x"), ANSWER]}, meta_template=API
            ),
            "no api_role": template_error(
                "meta_template.round[0]", meta_template={"round": [{"role": "HUMAN"}, API["round"][1]]}
            ),
            "a string in the round of messages": template_error(
                "meta_template.round", meta_template={"round": ["x", *API["round"]]}
            ),
            "a list for a dialogue": template_error("meta_template", meta_template=[says("user", "x")]),
            "a list in AISBench": template_error(
                "meta_template", meta_template=[says("user", "x")], dialect="aisbench"
            ),
            "the generating role speaks outside of rounds": template_error(
                "prompt_template.begin[0]", prompt_template={"begin": [ANSWER], **PAIR}, meta_template=API
            ),
            "no message is left": template_error(
                "prompt_template", prompt_template={"round": []}, meta_template={"round": []}, output="messages"
            ),
            "a token id without a text": template_error(
                "meta_template.round[0].begin[1]", meta_template={"round": [{**HUMAN, "begin": ["<", 7]}, BOT]}, **PPL
            ),
            "no prompt, in AISBench": template_error(
                "meta_template.round[1]",
                prompt_template={"round": [ASK]},
                meta_template=API,
                dialect="aisbench",
                **PPL,
            ),
            "examples of a dialogue in a round": template_error(
                "prompt_template.round",
                prompt_template=with_ice({"round": ["</E>", ASK, ANSWER]}),
                ice_template=template(PAIR),
                retriever=fix(0),
                reader=READER,
                examples=TRAIN,
                meta_template=CHAT,
            ),
        },
    ),
    "examples": File(
        "Retrievers and examples that don't go together",
        settings=SHOTS,
        samples=QA,
        examples=TRAIN,
        cases={
            "an unknown retriever": template_error("retriever.type", retriever={"type": "NoRetriever"}),
            "an unknown argument": template_error("retriever", retriever=fix(0, ice_seperator="")),
            "a separator of ZeroRetriever": template_error("retriever", retriever={**ZERO, "ice_separator": "x"}),
            "out of range": template_error("retriever.fix_id_list[1]", retriever=fix(0, 3)),
            "from the end, too far": template_error("retriever.fix_id_list[0]", retriever=fix(-4)),
            "from the end, in AISBench": template_error(
                "retriever.fix_id_list[0]", retriever=fix(-1), dialect="aisbench"
            ),
            "more than there are": template_error(
                "retriever.ice_num", retriever={"type": "RandomRetriever", "ice_num": 4}
            ),
            "a separator that is no text": template_error("retriever.ice_separator", retriever=fix(0, ice_separator=5)),
            "no ICE template": template_error("ice_template", ice_template=None, retriever=fix(0)),
            "dialogue examples in a text": template_error(
                "prompt_template.template", ice_template=template(PAIR), retriever=fix(0)
            ),
            "dialogue examples in a turn": template_error(
                "prompt_template.template.round[0].prompt",
                ice_template=template(PAIR),
                prompt_template=with_ice({"round": [turn("HUMAN", "</E>")]}),
                retriever=fix(0),
            ),
            "no template for an example's label": template_error(
                "ice_template.template", ice_template=template({"r0": "x"}), retriever=fix(1)
            ),
            "no output column among the examples": template_error(
                "reader.output_column", examples=TRAIN[:1], retriever=fix(0)
            ),
            "an ICE template alone without a token, in AISBench": template_error(
                "ice_template.ice_token", prompt_template=None, retriever=ZERO, dialect="aisbench"
            ),
        },
    ),
    "index columns": File(
        "Columns of examples that choose nothing",
        settings={**SHOTS, "retriever": {"type": "IndexColumn", "column": "shots"}},
        samples=QA,
        examples=TRAIN,
        cases={
            "no such column": render_error(column="shots"),
            "a null list": render_error(
                row=1, column="shots", samples=[*QA, ("shots", {"list": "int64"}, [[0], None])]
            ),
            "a null in a list": render_error(
                row=0, column="shots", samples=[*QA, ("shots", {"list": "int64"}, [[0, None], [0]])]
            ),
            "out of range": render_error(
                row=1, column="shots", samples=[*QA, ("shots", {"list": "int64"}, [[0], [3]])]
            ),
            "from the end, in AISBench": render_error(
                row=0, column="shots", samples=[*QA, ("shots", {"list": "int64"}, [[-1], []])], dialect="aisbench"
            ),
        },
    ),
    "labels": File(
        "Labels that have no template, or aren't there",
        settings={"prompt_template": template({"A": "a {q}", "B": "b {q}"}), "reader": READER, "mode": "ppl"},
        samples=QA,
        cases={
            "no template for one": template_error("prompt_template.template", labels=["A", "C"]),
            "an unknown column": render_error(
                column="gone", prompt_template="{q}", reader={"input_columns": ["q"], "output_column": "gone"}
            ),
        },
    ),
    "conversations": File(
        "Conversations that are none",
        settings={**TURNS, "inferencer": asks_turns("every_with_gt")},
        samples=TALKS,
        cases={
            "a string": template_error(
                "prompt_template.template", prompt_template={"type": "MultiTurnPromptTemplate", "template": "x"}
            ),
            "a string in the round": template_error(
                "prompt_template.template.round", prompt_template=turns(round=["x"])
            ),
            "a string as begin": template_error(
                "prompt_template.template.begin", prompt_template=turns(begin="x", round=[ASK])
            ),
            "ppl": template_error("mode", mode="ppl", labels=["A"]),
            "a role that nobody speaks for": template_error(
                "prompt_template.template.round[0]", prompt_template=turns(round=[turn("NOBODY", "x"), ANSWER])
            ),
            "no answers": render_error(column="answer", samples=TALKS[:1]),
            "a number": render_error(column="answer", samples=[("question", TEXTS, [["a"]]), ("answer", "int64", [1])]),
            "a null": render_error(
                row=1,
                column="question",
                samples=[("question", TEXTS, [["a"], None]), ("answer", TEXTS, [["b"], ["c"]])],
            ),
        },
    ),
    "chats": File(
        "Chats that are none",
        settings={"inferencer": asks("every_with_gt"), "reader": CHAT_READER},
        samples=QA,
        cases={
            "raw messages": render_error(row=0, prompt_template=raw(says("user", "{q}"))),
            "a list-form meta template": template_error(
                "meta_template", meta_template=[says("user", "x")], output="messages"
            ),
            "nobody is to be asked": render_error(
                row=0, samples=[("dialogue", TALK, [[says("user", "u")]])], inferencer=asks("last"), **DIALOGUE
            ),
            "a null": render_error(
                row=1, column="a", samples=[("q", "string", ["x", "y"]), ("a", "string", ["1", None])]
            ),
            "a string and a list": render_error(samples=[("q", "string", ["x"]), ("a", TEXTS, [["1"]])]),
            "the template says nothing": render_error(row=0, prompt_template={"round": [turn("TEACHER", "x")]}),
        },
    ),
    "media": File(
        "Contents that can't be parts",
        settings=MEDIA,
        samples=[("content", "string", [tagged(("text", "a")), tagged(("video", "b"))])],
        cases={
            "a modality that the template lacks": render_error(
                row=1,
                prompt_template=shows(
                    round=[{"role": "HUMAN", "prompt_mm": {"text": {"type": "text", "text": "{question}"}}}]
                ),
            ),
            "content that is null": render_error(row=0, column="content", samples=[("content", "string", [None])]),
            "no column carries tags": render_error(row=0, samples=[("ask", "string", ["plain"])]),
            "two columns carry tags": render_error(
                row=0, samples=[(name, "string", [tagged(("text", "a"))]) for name in ("ask", "other")]
            ),
        },
    ),
    "openicl": File(
        "What OpenICL refuses",
        settings=OPENICL,
        samples=OPENICL_COLUMNS,
        examples=OPENICL_TRAIN,
        cases={
            "no ICE token in it": template_error("prompt_template.template", prompt_template=openicl_with_ice("</Q>")),
            "ppl without an ICE token": template_error(
                "prompt_template.ice_token", prompt_template=openicl_template("</Q>"), mode="ppl"
            ),
            "a token twice": template_error(
                "prompt_template.column_token_map",
                prompt_template={**openicl_template("x"), "column_token_map": {"q": "</Q>", "a": "</Q>"}},
            ),
            "one of the two without the other": template_error(
                "prompt_template", prompt_template=openicl_template("x", selected_column_name="a")
            ),
            "a label without a text": template_error(
                None,
                prompt_template=openicl_with_ice("</E></A>", selected_column_name="a", selected_column_map={"A": "x"}),
                mode="ppl",
                labels=["A", "B"],
            ),
            "no such column": render_error(
                column="gone", prompt_template={**openicl_template("x"), "column_token_map": {"gone": "</G>"}}
            ),
        },
    ),
}
