"""AISBench's MMPromptTemplate and its parsers, as simply as they can be said.

Rules stand here in the order in which the harness has them. Where there is no column `content` the documents are
followed, as `docs/fidelity.md` says.
"""

from __future__ import annotations

import ast
import copy
from typing import Any

DIALECTS = ("aisbench",)
END = "<AIS_CONTENT_TAG>"
TAGS = {name: f"<AIS_{name.upper()}_START>" for name in ("text", "image", "video", "audio")}
HOLDERS = {"text": "text", "image": "image_url", "video": "video_url", "audio": "audio_url"}
SCHEMES = ("file://", "http://", "https://", "data:")

Sample = dict[str, Any]
Sections = list[tuple[str, list[Any]]]


class RefusedError(ValueError):
    """A refusal by the harness or, for Arrow types, by promptpress."""


def stretches(content: str) -> list[tuple[str, str]]:
    """The tagged stretches of a text: modality and payload."""
    out = []
    for piece in content.split(END):
        for name, tag in TAGS.items():
            if piece.startswith(tag):
                out.append((name, piece.replace(tag, "")))
    return out


def parts(entries: Any, sample: Sample) -> list[Any]:
    """The parts that a sample gives for a `prompt_mm`."""
    if "content" not in sample and all(isinstance(entry, str) for entry in entries.values()):
        return compact_parts(entries, sample)
    content, others = tagged_text(sample)
    out = []
    for name, payload in stretches(content):
        if name not in entries:
            raise RefusedError(f"no entry {name!r}")
        part = copy.deepcopy(entries[name])
        holder, key = part, HOLDERS[name]
        if name != "text" and isinstance(part.get(key), dict):
            holder, key = part[key], "url"
        if not isinstance(holder.get(key), str):
            raise RefusedError(f"no text under {key!r}")
        holder[key] = filled(holder[key], "question" if name == "text" else name, payload, others)
        out.append(part)
    return out


def tagged_text(sample: Sample) -> tuple[str, Sample | None]:
    """The tagged text, and where it isn't in `content` the columns that texts are filled with besides."""
    if "content" in sample:
        if not isinstance(sample["content"], str):
            raise RefusedError("content is no text")
        return sample["content"], None
    tagged = [key for key, value in sample.items() if isinstance(value, str) and any(t in value for t in TAGS.values())]
    if len(tagged) != 1:
        raise RefusedError(f"{len(tagged)} columns with tags")
    return sample[tagged[0]], {key: str(value) for key, value in sample.items() if key != tagged[0]}


def filled(text: str, name: str, payload: str, others: Sample | None) -> str:
    """A part's text. Values of a sample without `content` are never looked into."""
    if others is None:
        return text.replace("{" + name + "}", payload)
    token = "{" + name + "}"
    before, is_present, after = text.partition(token)
    if name != "question" and payload.startswith(SCHEMES) and is_present and before.startswith(SCHEMES):
        text = token + after
    values = {**others, name: payload}
    out = ""
    while text:
        key = next((key for key in values if text.startswith("{" + key + "}")), None)
        out += text[0] if key is None else values[key]
        text = text[1 if key is None else len(key) + 2 :]
    return out


def compact_parts(entries: Any, sample: Sample) -> list[Any]:
    """The parts of `{"text": ..., "image_url": ..., "mm_url": ...}`, filled from columns."""
    order = [(key, text) for key, text in entries.items() if key != "mm_url"]
    if "mm_url" in entries:
        if sample.get("type") not in ("image", "video", "audio"):
            raise RefusedError("type is no modality")
        order.append((HOLDERS[sample["type"]], entries["mm_url"]))
    out = []
    for key, text in order:
        name = text.partition("{")[2].partition("}")[0]
        if key == "text" or name not in sample:
            texts = [filled(text, "", "", {k: str(v) for k, v in sample.items()})]
        else:
            value = sample[name]
            if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
                value = ast.literal_eval(value)
            payloads = value if isinstance(value, list) else [value]
            others = {k: str(v) for k, v in sample.items() if k != name}
            texts = [filled(text, name, payload, others) for payload in payloads]
        out += [{"type": key, key: text} for text in texts]
    return out


def prompt_list(template: dict[str, Any], sample: Sample) -> Sections:
    """The filled template by sections. Only bare strings are filled with columns, one column after the other."""
    out: Sections = []
    for section in ("begin", "round", "end"):
        items = template.get(section, [])
        of_section = []
        for item in items if isinstance(items, list) else [items]:
            if isinstance(item, str):
                for name, value in sample.items():
                    item = item.replace("{" + name + "}", str(value))  # noqa: PLW2901 - the string as filled so far
                of_section.append(item)
            elif "prompt_mm" in item:
                of_section.append({**item, "prompt_mm": parts(item["prompt_mm"], sample)})
            else:
                of_section.append(dict(item))
        out.append((section, of_section))
    return out


def request(config: dict[str, Any], sample: Sample) -> Any:
    """Return what the model receives for a sample, in the configured output."""
    filled_in = prompt_list(config["prompt_template"]["template"], sample)
    items = [item for _, section_items in filled_in for item in section_items]
    meta = config.get("meta_template")
    match config["output"], meta:
        case "prompt_list", _:
            return items
        case "text", None:
            return joined(items)
        case "text", _:
            return spoken_text(filled_in, meta)
        case _, None:
            # A text if there is any; the parts of all turns otherwise.
            parts = [part for item in items if not isinstance(item, str) for part in media_parts(item)]
            return joined(items) or parts
        case _:
            return messages(filled_in, meta)


def media_parts(turn: dict[str, Any]) -> list[Any]:
    return [] if turn.get("prompt") else turn.get("prompt_mm", [])


def joined(items: list[Any]) -> str:
    texts = [item if isinstance(item, str) else item.get("prompt", "") for item in items]
    return "".join(("\n" if n else "") + text for n, text in enumerate(texts) if text)


def roles_of(meta: dict[str, Any]) -> dict[str, dict[str, Any]]:
    roles = [item for key in ("round", "reserved_roles") for item in meta.get(key, [])]
    return {role["role"]: role for role in roles}


def merged_roles(roles: dict[str, Any], turns: list[Any]) -> dict[str, Any]:
    """The roles of the meta template, each with what a turn of the dialogue says over its own."""
    out = copy.deepcopy(roles)
    for turn in turns:
        role = turn["role"] if turn["role"] in roles else turn.get("fallback_role")
        if role not in roles:
            raise RefusedError(f"nobody speaks {turn['role']}")
        out[role].update(turn)
    return out


def rounds(turns: list[Any], meta: dict[str, Any]) -> list[list[Any]]:
    """A role at the same or an earlier place than the one before begins a new round."""
    positions = {role["role"]: n for n, role in enumerate(meta["round"])}
    out: list[list[Any]] = [[]]
    last = -1
    for turn in turns:
        position = positions.get(turn["role"], positions.get(turn.get("fallback_role")))
        if position is None:
            raise RefusedError(f"{turn['role']} has no place in the round")
        if position <= last:
            out.append([])
        out[-1].append(turn)
        last = position
    return out


def speakers(filled_in: Sections, meta: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the speakers in order: bare strings as they are, and a generating role last, with nothing after it."""
    roles = roles_of(meta)
    out: list[tuple[str, Any]] = []
    for section, items in filled_in:
        if section != "round":
            for item in items:
                if isinstance(item, str):
                    out.append(("str", item))
                    continue
                merged = merged_roles(roles, [item])
                role = item["role"] if item["role"] in merged else item["fallback_role"]
                out.append(("outside", merged[role]))
            continue
        all_rounds = rounds(items, meta)
        for n, turns in enumerate(all_rounds):
            merged = merged_roles(roles, turns)
            for role in meta["round"]:
                voice = merged[role["role"]]
                if n == len(all_rounds) - 1 and voice.get("generate"):
                    return [*out, ("generates", voice)]
                out.append(("speaks", voice))
    return out


def spoken_text(filled_in: Sections, meta: dict[str, Any]) -> str:
    """A language model's text: parts have no place in it."""
    out, goes_on = meta.get("begin", ""), True
    for kind, voice in speakers(filled_in, meta):
        if kind == "str":
            out += voice
            continue
        out += voice.get("begin", "")
        if kind == "generates":
            goes_on = False
        else:
            out += voice.get("prompt", "") + voice.get("end", "")
    return out + (meta.get("end", "") if goes_on else "")


def messages(filled_in: Sections, meta: dict[str, Any]) -> list[Any]:
    """Messages for an API; those of one role are joined, which parts can't be."""
    out: list[dict[str, Any]] = []
    for kind, voice in speakers(filled_in, meta):
        if kind in ("str", "generates"):
            continue
        if kind == "outside" and voice.get("generate"):
            raise RefusedError("generates outside the rounds")
        if "prompt" in voice:
            content = {"prompt": voice.get("begin", "") + voice["prompt"] + voice.get("end", "")}
        elif "prompt_mm" in voice:
            content = {"parts": voice["prompt_mm"]}
        else:
            raise RefusedError("nothing to say")
        if not out or out[-1]["role"] != voice["api_role"]:
            out.append({"role": voice["api_role"], **content})
        elif "parts" in content or "parts" in out[-1]:
            raise RefusedError("parts among joined messages")
        else:
            out[-1]["prompt"] += "\n" + content["prompt"]
    if not out:
        raise RefusedError("no message at all")
    begin = meta.get("begin")
    return [begin, *out] if begin else out
