"""Cases of AISBench's MMPromptTemplate: tagged texts whose tags, placeholders and ends meet in any order."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from models.media_model import END, HOLDERS, TAGS

from .configurations import Case
from .draw import Draw

WORDS = (
    *("", "What?", "a.png", "file://a.png", "http://x/?q={a}", "data:image/png;base64,AAAA", "答 😀", "\n", "é"),
    *("{question}", "{image}", "{note}", "{content}", "{", "}", "{q", "<AIS_", "<AIS_OTHER_START>", '"', "\\"),
)
LAYOUTS = (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int16(), pa.string()))
ROLES = ("HUMAN", "BOT", "SYSTEM", "TEACHER")


def case_of(draw: Draw, rows: int | None = None, content: bool | None = None) -> Case:
    """A case of so many samples, with a column `content` or without; None: some, and one or the other."""
    content = draw.chance(2) if content is None else content
    config: dict[str, Any] = {
        "prompt_template": {"type": "MMPromptTemplate", "template": dialogue(draw, content)},
        "reader": {"input_columns": ["content"], "output_column": draw.pick(None, "note")},
        "inferencer": {"type": "GenInferencer", "gen_field_replace_token": "never seen"},
        "output": draw.pick("messages_json", "messages_json", "prompt_list", "text"),
        "strings": draw.pick("string", "large_string", "string_view"),
        "dialect": "aisbench",
    }
    if not draw.chance(4):
        config["meta_template"] = meta_template(draw)
        if config["output"] == "text":
            # As text such a role speaks inside a round too, and takes no part in splitting it: docs/fidelity.md.
            config["meta_template"].pop("reserved_roles", None)
    return Case(config, table(draw, content, rows or draw.pick(1, 5, 30)), None, model="media_model")


def plain(draw: Draw) -> str:
    return "".join(draw.some(WORDS, 3))


def tagged(draw: Draw) -> str:
    """Stretches in any order and number, with text outside them, and some ends missing."""
    tags = list(TAGS.values())
    stretches = []
    for _ in range(draw.randint(0, 5)):
        payload = "".join(draw.some([*WORDS, *WORDS, *tags], 3))
        stretches.append(
            payload + draw.pick(END, "", END + END) if draw.chance(4) else draw.choice(tags) + payload + END
        )
    return "".join(stretches)


def entries(draw: Draw, content: bool) -> dict[str, Any]:
    """A `prompt_mm`: payloads as strings or within objects, and keys that stay as they are."""
    every = list(TAGS)
    made: dict[str, Any] = {}
    for name in draw.pick(every, every, every, every, every, ["text", "image"], ["image", "text", "audio"], ["text"]):
        placeholder = "{question}" if name == "text" else f"{{{name}}}"
        before = "" if name == "text" else draw.pick("", "file://", "data:image/jpeg;base64,", "pictures/")
        others = ("", "{note}", "{image}", "{") if content else ("", "{note}", "{other}", "{question}", "{", "答")
        text = before + draw.pick(placeholder, placeholder, placeholder, placeholder * 2, "") + draw.choice(others)
        value: Any = text
        if name != "text" and draw.chance(2):
            value = {"url": text, **draw.pick({}, {"detail": "low"})}
            value = turned(draw, value)
        part = {"type": HOLDERS[name], HOLDERS[name]: value, **draw.pick({}, {}, {"fps": 2}, {"cache": {"ttl": "5m"}})}
        made[name] = turned(draw, part)
    return made


def turned(draw: Draw, value: dict[str, Any]) -> dict[str, Any]:
    return dict(reversed(value.items())) if draw.chance(2) else value


def dialogue(draw: Draw, content: bool) -> dict[str, Any]:
    def turn() -> dict[str, Any]:
        if draw.chance(3):
            made: dict[str, Any] = {"role": draw.choice(ROLES), "prompt": plain(draw)}
        else:
            made = {"role": draw.pick("HUMAN", "HUMAN", "BOT", "TEACHER"), "prompt_mm": entries(draw, content)}
        return {**made, **draw.pick({}, {"fallback_role": "HUMAN"}, {"fallback_role": "SYSTEM"})}

    def section() -> Any:
        return (
            plain(draw)
            if draw.chance(2)
            else [turn() if draw.chance(2) else plain(draw) for _ in range(draw.randint(0, 2))]
        )

    made: dict[str, Any] = {"begin": section()} if draw.chance(2) else {}
    made["round"] = [turn() for _ in range(draw.randint(1, 3))]
    if draw.chance(2):
        made["round"] = [{"role": "HUMAN", "prompt_mm": entries(draw, content)}]
    if draw.chance(3):
        made["end"] = section()
    return made


def meta_template(draw: Draw) -> dict[str, Any]:
    def role(name: str) -> dict[str, Any]:
        settings = {"role": name, "api_role": draw.pick(name, name, "user"), "begin": "<", "end": ">"}
        return {**settings, **draw.pick({}, {}, {"prompt": "own {question}"})}

    last = {} if draw.chance(5) else {"generate": True}
    made: dict[str, Any] = {"round": [role("HUMAN"), {**role("BOT"), **last}]}
    if draw.chance(2):
        made["reserved_roles"] = [role("SYSTEM")]
    if draw.chance(2):
        made["begin"] = draw.pick("", "Look. {question}")
    if draw.chance(2):
        made["end"] = "</s>"
    return made


def table(draw: Draw, content: bool, rows: int) -> pa.Table:
    """Samples; without `content` the tagged text is in another column."""
    name = "content" if content else draw.pick("ask", "question", "image")
    texts = [tagged(draw) if content else draw.choice(list(TAGS.values())) + tagged(draw) for _ in range(rows)]
    columns = {
        "note": pa.array([plain(draw) for _ in range(rows)], draw.choice(LAYOUTS)),
        name: pa.array(texts, draw.choice(LAYOUTS)),
        "other": pa.array([draw.pick(None, draw.randint(-9, 9)) for _ in range(rows)], pa.int64()),
    }
    order = draw.subset(list(columns), 3, 3)
    return pa.Table.from_arrays([columns[name] for name in order], order)
