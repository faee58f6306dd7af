"""OpenAI's form: what the harnesses' OpenAI models send."""

from __future__ import annotations

from . import chats, conversations, media
from .build import File, case, render_error, template_error
from .parts import API, PAIR, QA, READER, TALK, TRAIN, fix, raw, says, turn, with_ice

PPL = {"mode": "ppl", "labels": ["A", "B"]}
ROUND = API["round"]
OTHERS = {
    "round": [
        {"role": "HUMAN", "api_role": "asker"},
        {"role": "CRITIC", "api_role": "critic"},
        {"role": "BOT", "api_role": "Model", "generate": True},
    ]
}
DEBATE = {"round": [turn("HUMAN", "{q}"), turn("CRITIC", "No."), turn("BOT", "{a}")]}
NAMED = {"list": {"struct": [["content", "string"], ["name", "string"], ["role", "string"]]}}
PART = {"struct": [["type", "string"], ["text", "string"], ["n", "int64"]]}
IMAGES = {"struct": [["type", "string"], ["image_url", "large_string"], ["text", "string"], ["n", "int64"]]}
PARTS = {"list": {"struct": [["role", "string"], ["content", {"list": PART}]]}}
LAYOUTS = ("string", "large_string", "string_view")
IMAGE = {"type": "image_url", "image_url": {"url": "https://x/y.png"}}

FILES = {
    "roles": File(
        "What OpenAI calls a role: by roles=, else as every harness does, by its api_role or the role that has it",
        settings={"output": "openai", "prompt_template": PAIR, "meta_template": API},
        samples=QA,
        cases={
            "api roles": case(prompt_template={"begin": [turn("SYSTEM", "S")], **PAIR}),
            "in ppl": case(**PPL),
            "OpenAI's own names": case(
                meta_template={"round": [{**ROUND[0], "api_role": "user"}, {**ROUND[1], "api_role": "assistant"}]},
                **PPL,
            ),
            "in any case": case(
                meta_template={"round": [{**ROUND[0], "api_role": "Human"}, {**ROUND[1], "api_role": "GPT"}]}, **PPL
            ),
            "tools and developers": case(
                meta_template={"round": [{**ROUND[0], "api_role": "Developer"}, {**ROUND[1], "api_role": "TOOL"}]},
                **PPL,
            ),
            "by the role that has the api_role": case(
                meta_template={"round": [{**ROUND[0], "api_role": "one"}, {**ROUND[1], "api_role": "two"}]}, **PPL
            ),
            "given by the api_role": case(prompt_template=DEBATE, meta_template=OTHERS, roles={"critic": "developer"}),
            "given by the role": case(prompt_template=DEBATE, meta_template=OTHERS, roles={"CRITIC": "tool"}),
            "given before known": case(roles={"HUMAN": "developer", "BOT": "model"}, **PPL),
            "any name": case(roles={"HUMAN": "ipython"}),
            "two of one name stay two": case(prompt_template=DEBATE, meta_template=OTHERS, roles={"critic": "user"}),
            "unknown": template_error("meta_template.round[1].api_role", prompt_template=DEBATE, meta_template=OTHERS),
            "unknown in another case": template_error(
                "meta_template.round[1].api_role",
                prompt_template=DEBATE,
                meta_template=OTHERS,
                roles={"CRITICS": "user", "Critic": "user"},
            ),
            "unknown, and never reached": case(
                meta_template={"round": [*ROUND], "reserved_roles": [{"role": "JUDGE", "api_role": "judge"}]}
            ),
            "a turn's own api_role": template_error(
                "roles", prompt_template={"round": [turn("HUMAN", "{q}", api_role="other"), turn("BOT", "")]}
            ),
            "two roles with one api_role": template_error(
                "meta_template.round[0].api_role",
                meta_template={"round": [{**ROUND[0], "api_role": "x"}, {**ROUND[1], "api_role": "x"}]},
                **PPL,
            ),
            "two roles with one api_role, given": case(
                meta_template={"round": [{**ROUND[0], "api_role": "x"}, {**ROUND[1], "api_role": "x"}]},
                roles={"x": "user"},
                **PPL,
            ),
        },
    ),
    "texts": File(
        "A text is one message of the user, whatever it is the text of",
        settings={"output": "openai"},
        samples=QA,
        cases={
            "a string": case(prompt_template="Q: {q}"),
            "a string with a meta template": case(prompt_template="Q: {q}", meta_template=API),
            "a dialogue without a meta template": case(prompt_template={"begin": ["b"], **PAIR}),
            "a label map": case(prompt_template={"A": "{q} A", "B": "{q} B"}, mode="ppl"),
            "masked": case(prompt_template="{q}={a}", reader=READER),
            "examples": case(
                prompt_template=with_ice("</E>{q}"),
                ice_template={"type": "PromptTemplate", "template": "{q}={a}"},
                retriever=fix(1, 0),
                reader=READER,
                examples=TRAIN,
            ),
            "nothing": case(prompt_template=""),
            **{strings: case(prompt_template="Q: {q}", strings=strings) for strings in LAYOUTS},
        },
    ),
    "begin": File(
        "A meta template's begin needs a role; OpenCompass sends no more than role and content, AISBench all",
        settings={"output": "openai", "prompt_template": PAIR},
        samples=QA,
        cases={
            "a string": template_error("meta_template.begin", meta_template={**API, "begin": "B"}),
            "an empty string is none": case(meta_template={**API, "begin": ""}),
            "a message": case(meta_template={**API, "begin": {"role": "SYSTEM", "prompt": "B {q}"}}),
            "further keys": case(meta_template={**API, "begin": {"role": "SYSTEM", "prompt": "B", "name": "n"}}),
            "further keys, AISBench": case(
                meta_template={**API, "begin": {"role": "SYSTEM", "prompt": "B", "name": "n"}}, dialect="aisbench"
            ),
            "an unknown role": template_error(
                "meta_template.begin.role", meta_template={**API, "begin": {"role": "X", "prompt": "B"}}
            ),
            "no role": template_error("meta_template.begin", meta_template={**API, "begin": {"prompt": "B"}}),
            "no prompt": template_error("meta_template.begin", meta_template={**API, "begin": {"role": "SYSTEM"}}),
        },
    ),
    "raw messages": File(
        "Raw messages keep their keys; parts are sent as OpenCompass's models send them",
        settings={"output": "openai"},
        samples=QA,
        cases={
            "as they are": case(prompt_template=raw(says("system", "S"), says("user", "{q}"))),
            "keys in another order": case(prompt_template=raw({"content": "{q}", "name": "n", "role": "user"})),
            "renamed": case(
                prompt_template=raw(says("system", "S"), says("user", "{q}")), roles={"system": "developer"}
            ),
            "a meta template that is a list": case(
                prompt_template=raw(says("system", "S"), says("user", "{q}")), meta_template=[says("system", "M ")]
            ),
            "few shots": case(
                prompt_template=raw("</E>", says("user", "{q}")),
                ice_template=raw(says("user", "{q}"), says("assistant", "{a}")),
                retriever=fix(2, 0),
                reader=READER,
                examples=TRAIN,
            ),
            "parts, and texts among them": case(
                prompt_template=raw(
                    says("system", "S {q}"), says("user", [{"type": "text", "text": "{q}", "n": 1}, IMAGE])
                )
            ),
            "images in other words": case(
                prompt_template=raw(
                    says(
                        "user",
                        [{"type": "image", "image_url": "https://x"}, {"type": "image_url", "image_url": "data:y"}],
                    )
                )
            ),
            **{
                f"parts, {strings}": case(
                    prompt_template=raw(says("user", "{q}"), says("user", [IMAGE])), strings=strings
                )
                for strings in LAYOUTS
            },
        },
    ),
    "columns of messages": File(
        "Messages of a column are called by their roles too",
        settings={"output": "openai", "prompt_template": raw(says("system", "S {q}"), {"expand_column": "talk"})},
        cases={
            "roles": case(
                samples=[
                    ("q", "string", ["1", "2", "3"]),
                    (
                        "talk",
                        TALK,
                        [[says("human", "{q}"), says("gpt", "b")], [], [says("tool", "t"), says("user", "")]],
                    ),
                ]
            ),
            "other keys, other order": case(
                samples=[
                    ("q", "string", ["1"]),
                    ("talk", NAMED, [[{"content": "c", "name": "n", "role": "Bot"}, says("user", "d", name="m")]]),
                ]
            ),
            "an unknown role": render_error(
                row=1,
                column="talk",
                samples=[("q", "string", ["1", "2"]), ("talk", TALK, [[says("user", "a")], [says("critic", "b")]])],
            ),
            "a role that is given": case(
                roles={"critic": "developer", "user": "tool"},
                samples=[("q", "string", ["1", "2"]), ("talk", TALK, [[says("user", "a")], [says("critic", "b")]])],
            ),
            "no role": render_error(
                row=0, column="talk", samples=[("q", "string", ["1"]), ("talk", TALK, [[says(None, "b")]])]
            ),
            "merged with a meta template": case(
                meta_template=[says("system", "M "), says("user", "N ")],
                samples=[("q", "string", ["1", "2"]), ("talk", TALK, [[says("user", "a")], [says("model", "b")]])],
            ),
            **{
                f"parts, {strings}": case(
                    strings=strings,
                    samples=[
                        ("q", "string", ["1", "2"]),
                        ("talk", PARTS, [[says("human", [{"type": "text", "text": "a", "n": 1}])], [says("bot", [])]]),
                    ],
                )
                for strings in LAYOUTS
            },
            "images in other words": case(
                samples=[
                    ("q", "string", ["1", "2"]),
                    (
                        "talk",
                        {"list": {"struct": [["role", "string"], ["content", {"large_list": IMAGES}]]}},
                        [
                            [
                                says(
                                    "user", [{"type": "image", "image_url": "https://x"}, {"type": "text", "text": "a"}]
                                )
                            ],
                            [
                                says(
                                    "user",
                                    [{"type": "input_audio", "n": 1}, {"type": "image_url", "image_url": "y", "n": 2}],
                                )
                            ],
                        ],
                    ),
                ]
            ),
            "examples' own": case(
                prompt_template=raw("</E>", says("user", "{q}")),
                ice_template=raw({"expand_column": "talk"}),
                retriever=fix(1, 0),
                reader={"input_columns": ["q"], "output_column": "q"},
                samples=[("q", "string", ["1"])],
                examples=[("q", "string", ["x", "y"]), ("talk", TALK, [[says("human", "a")], [says("gpt", "b")]])],
            ),
        },
    ),
    "chats": File(
        "Chats, and AISBench's conversations",
        settings={"output": "openai"},
        cases={
            **{
                f"{name}{', ' + how if how else ''}": case(**given, inferencer=chats.asks("every_with_gt"), **more)
                for name, given in chats.INPUTS.items()
                for how, more in {"": {}, "with a meta template": {"meta_template": API}}.items()
            },
            "replies": case(
                **chats.INPUTS["messages"], inferencer=chats.asks("every"), replies=[["r0", "r1"], ["r2", "r3"]]
            ),
            "an unknown role": render_error(
                row=0,
                samples=[("dialogue", TALK, [[says("critic", "x"), says("assistant", "y")]])],
                inferencer=chats.asks("last"),
                **chats.DIALOGUE,
            ),
            "a role that is given": case(
                samples=[("dialogue", TALK, [[says("critic", "x"), says("assistant", "y")]])],
                inferencer=chats.asks("last"),
                roles={"critic": "user"},
                **chats.DIALOGUE,
            ),
            "nobody can tell who asks": template_error(
                "meta_template.round[0].api_role",
                **chats.INPUTS["messages"],
                inferencer=chats.asks("last"),
                meta_template={"round": [{**ROUND[0], "api_role": "x"}, {**ROUND[1], "api_role": "x"}]},
            ),
            **{
                f"turns, {name}": case(
                    **{**conversations.BASE, **more}, inferencer=conversations.asks(mode), samples=conversations.TALKS
                )
                for mode in ("every_with_gt", "last")
                for name, more in {
                    f"{mode} as text": {"meta_template": None},
                    f"{mode} as messages": {"meta_template": API},
                }.items()
            },
            "turns, replies": case(
                **{**conversations.BASE, "meta_template": API},
                inferencer=conversations.asks("every"),
                samples=conversations.TALKS,
                replies=[["r0", "r1"], [], ["x"]],
            ),
        },
    ),
    "media": File(
        "AISBench's parts are a content; beside them a text is a part",
        settings={"output": "openai", "dialect": "aisbench", "meta_template": API},
        samples=[
            ("content", "string", [media.ALL, media.tagged(("text", "only"))]),
            ("question", "string", ["x", "y"]),
        ],
        cases={
            "parts": case(prompt_template=media.shows(round=[media.SPEAKS])),
            "parts and a system prompt": case(
                prompt_template=media.shows(begin=[turn("SYSTEM", "S")], round=[media.SPEAKS])
            ),
            "without a meta template": case(prompt_template=media.shows(round=[media.SPEAKS]), meta_template=None),
            **{
                strings: case(
                    prompt_template=media.shows(begin=[turn("SYSTEM", "S")], round=[media.SPEAKS]), strings=strings
                )
                for strings in LAYOUTS
            },
        },
    ),
}
