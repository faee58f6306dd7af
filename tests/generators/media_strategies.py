"""Random templates with media, and samples for them: few words, so that tags, placeholders and names meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from models.media_model import END, HOLDERS, TAGS

WORDS = (
    *("", "What?", "a.png", "file://a.png", "http://x/?q={a}", "data:image/png;base64,AAAA", "答 😀", "\n", "é"),
    *("{question}", "{image}", "{note}", "{content}", "{", "}", "{q", "<AIS_", "<AIS_OTHER_START>", '"', "\\"),
)
LAYOUTS = (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int16(), pa.string()))
ROLES = ("HUMAN", "BOT", "SYSTEM", "TEACHER")


@dataclass
class Case:
    """Arguments for a renderer, and samples."""

    config: dict[str, Any]
    samples: pa.Table


def payloads() -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from([*WORDS, *WORDS, *TAGS.values()]), max_size=3).map("".join)


def plain() -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(WORDS), max_size=3).map("".join)


def contents() -> st.SearchStrategy[str]:
    """Tagged texts: stretches in any order and number, with text outside them, and some ends missing."""
    tagged = st.tuples(st.sampled_from(list(TAGS.values())), payloads(), st.just(END)).map("".join)
    lost = st.tuples(payloads(), st.sampled_from([END, "", END + END])).map("".join)
    return st.lists(st.one_of(tagged, tagged, tagged, lost), max_size=5).map("".join)


@st.composite
def entries(draw: st.DrawFn, *, with_columns: bool = False) -> dict[str, Any]:
    """A `prompt_mm`: payloads as strings or within objects, and keys that stay as they are."""
    out: dict[str, Any] = {}
    names = draw(st.sampled_from([list(TAGS)] * 3 + [["text", "image"], ["image", "text", "audio"], ["text"]]))
    for name in names:
        placeholder = "{question}" if name == "text" else f"{{{name}}}"
        schemes = st.sampled_from(["", "file://", "data:image/jpeg;base64,", "pictures/"])
        before = st.just("") if name == "text" else schemes
        others = ["", "{note}", "{other}", "{question}", "{", "答"] if with_columns else ["", "{note}", "{image}", "{"]
        text = draw(before) + draw(st.sampled_from([placeholder] * 4 + [placeholder * 2, ""]))
        text += draw(st.sampled_from(others))
        holder = HOLDERS[name]
        value: Any = text
        if name != "text" and draw(st.booleans()):
            value = {"url": text, **draw(st.sampled_from([{}, {"detail": "low"}]))}
            if draw(st.booleans()):
                value = dict(reversed(value.items()))
        part = {"type": holder, holder: value, **draw(st.sampled_from([{}, {}, {"fps": 2}, {"cache": {"ttl": "5m"}}]))}
        out[name] = dict(reversed(part.items())) if draw(st.booleans()) else part
    return out


@st.composite
def dialogues(draw: st.DrawFn, *, with_columns: bool = False) -> dict[str, Any]:
    shows = st.fixed_dictionaries(
        {"role": st.sampled_from(["HUMAN", "HUMAN", "BOT", "TEACHER"]), "prompt_mm": entries(with_columns=with_columns)}
    )
    fallback = st.sampled_from([{}, {"fallback_role": "HUMAN"}, {"fallback_role": "SYSTEM"}])
    says = st.fixed_dictionaries({"role": st.sampled_from(ROLES), "prompt": plain()})
    turn = st.builds(lambda a, b: {**a, **b}, st.one_of(shows, shows, says), fallback)
    template: dict[str, Any] = {}
    section = st.one_of(plain(), st.lists(st.one_of(turn, says, plain()), max_size=2))
    if draw(st.booleans()):
        template["begin"] = draw(section)
    template["round"] = draw(
        st.one_of(
            st.builds(lambda mm: [{"role": "HUMAN", "prompt_mm": mm}], entries(with_columns=with_columns)),
            st.lists(turn, min_size=1, max_size=3),
        )
    )
    if draw(st.integers(0, 2)) == 0:
        template["end"] = draw(section)
    return template


@st.composite
def meta_templates(draw: st.DrawFn) -> dict[str, Any]:
    def role(name: str) -> dict[str, Any]:
        settings = {"role": name, "api_role": draw(st.sampled_from([name, name, "user"])), "begin": "<", "end": ">"}
        return {**settings, **draw(st.sampled_from([{}, {}, {"prompt": "own {question}"}]))}

    last = {"generate": True} if draw(st.integers(0, 4)) else {}
    meta: dict[str, Any] = {"round": [role("HUMAN"), {**role("BOT"), **last}]}
    if draw(st.booleans()):
        meta["reserved_roles"] = [role("SYSTEM")]
    if draw(st.booleans()):
        meta["begin"] = draw(st.sampled_from(["", "Look. {question}"]))
    if draw(st.booleans()):
        meta["end"] = "</s>"
    return meta


@st.composite
def tables(draw: st.DrawFn, *, content: bool) -> pa.Table:
    """Samples; without `content`, the tagged text is in the column `ask`, or now and then in two or none."""
    rows = draw(st.integers(1, 4))
    tagged = st.tuples(st.sampled_from(list(TAGS.values())), contents()).map("".join)

    def values(strategy: st.SearchStrategy[Any]) -> list[Any]:
        return [draw(strategy) for _ in range(rows)]

    columns = {
        "note": pa.array(values(plain()), draw(st.sampled_from(LAYOUTS))),
        ("content" if content else draw(st.sampled_from(["ask", "question", "image"]))): pa.array(
            values(contents() if content else tagged), draw(st.sampled_from(LAYOUTS))
        ),
        "other": pa.array(values(st.one_of(st.none(), st.integers(-9, 9)))),
    }
    names = draw(st.permutations(list(columns)))
    return pa.table({name: columns[name] for name in names})


@st.composite
def cases(draw: st.DrawFn, *, content: bool = True) -> Case:
    template = draw(dialogues(with_columns=not content))
    config: dict[str, Any] = {
        "prompt_template": {"type": "MMPromptTemplate", "template": template},
        "reader": {"input_columns": ["content"], "output_column": draw(st.sampled_from([None, "note"]))},
        "inferencer": {"type": "GenInferencer", "gen_field_replace_token": "never seen"},
        "output": draw(st.sampled_from(["messages", "messages", "prompt_list", "text"])),
        "strings": draw(st.sampled_from(["string", "large_string", "string_view"])),
        "dialect": "aisbench",
    }
    if draw(st.integers(0, 3)):
        config["meta_template"] = draw(meta_templates())
        if config["output"] == "text":
            # As text such a role speaks inside a round too, and takes no part in splitting it: docs/fidelity.md.
            config["meta_template"].pop("reserved_roles", None)
    return Case(config, draw(tables(content=content)))
