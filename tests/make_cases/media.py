"""AISBench's MMPromptTemplate: tagged texts as content parts."""

from __future__ import annotations

from typing import Any

from .build import File, case
from .parts import turn

END = "<AIS_CONTENT_TAG>"


def tagged(*stretches: tuple[str, str]) -> str:
    return "".join(f"<AIS_{name.upper()}_START>{payload}{END}" for name, payload in stretches)


ALL = tagged(("text", "What?"), ("image", "a.png"), ("video", "b.mp4"), ("audio", "c.wav"), ("text", "And {question}?"))
URL = {"type": "image_url", "image_url": {"url": "file://{image}", "detail": "low"}}
ENTRIES = {
    "text": {"type": "text", "text": "{question}"},
    "image": URL,
    "video": {"type": "video_url", "video_url": "file://{video}"},
    "audio": {"type": "audio_url", "audio_url": {"url": "{audio}"}, "fps": 2},
}
SPEAKS = {"role": "HUMAN", "prompt_mm": ENTRIES}
META = {
    "round": [
        {"role": "HUMAN", "api_role": "user"},
        {"role": "BOT", "api_role": "assistant", "generate": True},
    ],
    "reserved_roles": [{"role": "SYSTEM", "api_role": "system"}],
}
PLAIN = {"type": "text", "text": "{question}"}


def shows(**sections: Any) -> dict[str, Any]:
    return {"type": "MMPromptTemplate", "template": sections}


BASE = {"prompt_template": shows(round=[SPEAKS]), "output": "messages_json", "dialect": "aisbench"}
CONTENT = [("content", "string", [ALL, tagged(("text", "only text")), ""]), ("note", "string", ["n", "{content}", ""])]

FILES = {
    "outputs": File(
        "The parts of a content, in each form of output",
        settings=BASE,
        samples=CONTENT,
        cases={
            "JSON": case(),
            "JSON under a meta template": case(meta_template=META),
            "a prompt list": case(output="prompt_list"),
            "text has no place for parts": case(output="text"),
            "text under a meta template": case(
                output="text",
                meta_template={"round": [{"role": "HUMAN", "begin": "<", "end": ">"}], "begin": "B", "end": "E"},
            ),
            "messages with parts of one type": case(
                prompt_template=shows(round=[{"role": "HUMAN", "prompt_mm": {"text": PLAIN}}]),
                samples=[("content", "string", [tagged(("text", "a"), ("text", "b")), tagged(("text", "c"))])],
                output="messages",
                meta_template=META,
            ),
            "messages of texts and images": case(
                prompt_template=shows(round=[{"role": "HUMAN", "prompt_mm": {"text": PLAIN, "image": URL}}]),
                samples=[("content", "string", [tagged(("image", "x.png"), ("text", "b")), tagged(("text", "c"))])],
                output="messages",
                meta_template=META,
            ),
        },
    ),
    "tags": File(
        "Stretches of a content: from a tag to its end",
        settings=BASE,
        cases={
            name: case(samples=[("content", "string", [text])])
            for name, text in {
                "text outside of them vanishes": f"before {tagged(('text', 'in'))} after",
                "an end that is missing": "<AIS_TEXT_START>to the last",
                "two ends": tagged(("text", "a")) + END + tagged(("text", "b")),
                "a tag within a stretch of another": "<AIS_TEXT_START>a <AIS_IMAGE_START> b" + END,
                "its own tag within a stretch vanishes": "<AIS_TEXT_START>a <AIS_TEXT_START> b" + END,
                "an unknown tag": "<AIS_OTHER_START>x" + END + tagged(("text", "y")),
                "empty payloads": tagged(("text", ""), ("image", "")),
                "media in any order": tagged(
                    ("audio", "c.wav"), ("image", "a.png"), ("image", "b.png"), ("video", "v")
                ),
                "placeholders in payloads": tagged(("text", "{question}{content}"), ("image", "{image}")),
                "a scheme in a payload stays behind the prefix": tagged(("image", "http://x/y.png")),
                "quotes and lines": tagged(("text", 'say "hi"\n\\'), ("image", 'a"b')),
                "other alphabets": tagged(("text", "题😀"), ("image", "图.png")),
            }.items()
        },
    ),
    "dialogues": File(
        "Turns of parts among turns of texts",
        settings={**BASE, "meta_template": META},
        samples=CONTENT[:1],
        cases={
            "a system prompt": case(prompt_template=shows(begin=[turn("SYSTEM", "S {note}")], round=[SPEAKS])),
            "an answer": case(prompt_template=shows(round=[SPEAKS, turn("BOT", "yes"), turn("HUMAN", "Sure?")])),
            "a fallback": case(prompt_template=shows(round=[{**SPEAKS, "role": "TEACHER", "fallback_role": "HUMAN"}])),
            "strings are left out": case(prompt_template=shows(begin="gone", round=[SPEAKS])),
            "strings are filled": case(
                prompt_template=shows(begin="b {note} {content}", round=[SPEAKS]),
                meta_template=None,
                output="prompt_list",
                samples=CONTENT,
            ),
            "a begin of the meta template": case(meta_template={**META, "begin": "B"}),
        },
    ),
    "no content": File(
        "Without a column of that name the tagged text is in the one column that carries tags, and others are filled",
        settings=BASE,
        samples=[
            ("ask", "string", [tagged(("text", "What {note}?"), ("image", "a.png")), tagged(("text", "b"))]),
            ("note", "string", ["n {ask}", "m"]),
            ("number", "int64", [1, None]),
        ],
        cases={
            "its stretches": case(),
            "other columns are filled in texts": case(
                prompt_template=shows(
                    round=[
                        {
                            "role": "HUMAN",
                            "prompt_mm": {
                                "text": {"type": "text", "text": "{note} {number}: {question}"},
                                "image": URL,
                            },
                        }
                    ]
                )
            ),
            "a payload with its own scheme isn't prefixed again": case(
                samples=[
                    (
                        "ask",
                        "string",
                        [tagged(("image", s + "x")) for s in ("file://", "http://", "https://", "data:", "ftp://")],
                    )
                ]
            ),
            "a large string view of it": case(
                samples=[("ask", "string_view", [tagged(("text", "a"), ("image", "b"))])]
            ),
        },
    ),
    "urls": File(
        "Without content, entries that are strings are filled from the columns that they name",
        settings={
            **BASE,
            "prompt_template": shows(
                round=[{"role": "HUMAN", "prompt_mm": {"text": "Q: {question}", "image_url": "file://{image}"}}]
            ),
        },
        cases={
            "one image": case(samples=[("question", "string", ["q {image}"]), ("image", "string", ["a.png"])]),
            "a list of images": case(
                samples=[("question", "string", ["q"]), ("image", {"list": "string"}, [["a.png", "http://b.png"]])]
            ),
            "a list written as text": case(
                samples=[("question", "string", ["q"]), ("image", "string", ["['a.png', 'b.png']"])]
            ),
            "a scheme of its own": case(samples=[("question", "string", ["q"]), ("image", "string", ["data:x"])]),
            "mm_url by the type": case(
                prompt_template=shows(
                    round=[{"role": "HUMAN", "prompt_mm": {"text": "{question}", "mm_url": "{path}"}}]
                ),
                samples=[
                    ("question", "string", ["q", "r"]),
                    ("type", "string", ["image", "video"]),
                    ("path", "string", ["a.png", "b.mp4"]),
                ],
            ),
        },
    ),
}
