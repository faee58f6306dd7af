"""Media of samples without a column `content`, as AISBench's documents have them."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Mapping
from typing import Any

from promptpress._errors import render_error
from promptpress._single.text import safe_format
from promptpress.aisbench._prompt_list import END_TAG, HOLDERS, TAGS, PromptList

SCHEMES = ("file://", "http://", "https://", "data:")


def filled(prompt: PromptList, sample: Mapping[str, Any]) -> PromptList:
    """A prompt list with the media of a sample, and its fields in bare strings.

    Args:
        prompt: The prompt list, which is changed.
        sample: The sample.

    Returns:
        The prompt list; the `prompt_mm` of its turns are lists of parts.

    Raises:
        RenderError: For a sample with no tagged text, or with two; for a modality without an entry; and for an
            `mm_url` whose sample has no known `type`.
    """
    for n, item in enumerate(prompt):
        if isinstance(item, dict):
            if "prompt_mm" in item:
                item["prompt_mm"] = _parts(item["prompt_mm"], sample)
        else:
            prompt[n] = safe_format(item, **sample)
    return prompt


def _parts(entries: Any, sample: Mapping[str, Any]) -> list[Any]:
    if all(isinstance(entry, str) for entry in entries.values()):
        return _listed(entries, sample)
    column = _tagged_column(sample)
    others = {name: str(value) for name, value in sample.items() if name != column}
    out = []
    for stretch in sample[column].split(END_TAG):
        modality = next((name for name, tag in TAGS.items() if stretch.startswith(tag)), None)
        if modality is None:
            continue
        if modality not in entries:
            message = f"prompt_mm has no entry for {modality!r}, which the column {column!r} holds"
            raise render_error("missing_modality", message)
        part = place = copy.deepcopy(entries[modality])
        key = HOLDERS[modality]
        if modality != "text" and isinstance(place[key], dict):
            place, key = place[key], "url"
        payload = stretch.replace(TAGS[modality], "")
        place[key] = _with(place[key], "question" if modality == "text" else modality, payload, others)
        out.append(part)
    return out


def _tagged_column(sample: Mapping[str, Any]) -> str:
    """The one column with tags in its value."""
    tagged = [n for n, value in sample.items() if isinstance(value, str) and any(t in value for t in TAGS.values())]
    if len(tagged) != 1:
        found = "two columns hold" if tagged else "no column holds"
        code = "ambiguous_tagged_text" if tagged else "no_tagged_text"
        raise render_error(code, f"{found} tagged text, such as {TAGS['text']}...{END_TAG}: {tagged}")
    return tagged[0]


def _with(text: str, name: str, payload: str, others: Mapping[str, str]) -> str:
    """A part's text with its payload. What is put in is never looked into."""
    token = f"{{{name}}}"
    before, found, after = text.partition(token)
    if name != "question" and found and payload.startswith(SCHEMES) and before.startswith(SCHEMES):
        text = token + after  # the payload's own scheme, and not two of them
    return _put(text, {**others, name: payload})


def _put(text: str, values: Mapping[str, str]) -> str:
    placeholder = re.compile("|".join(re.escape(f"{{{one}}}") for one in values) or r"(?!)")
    return placeholder.sub(lambda match: values[match[0][1:-1]], text)


def _listed(entries: Mapping[str, str], sample: Mapping[str, Any]) -> list[Any]:
    """The parts of texts and URLs that columns hold, where a list holds several."""
    order = [(key, text) for key, text in entries.items() if key != "mm_url"]
    if "mm_url" in entries:
        modality = sample.get("type")
        if modality not in HOLDERS or modality == "text":
            message = f"the column 'type' says what mm_url shows: image, video or audio, not {modality!r}"
            raise render_error("unknown_modality", message)
        order.append((HOLDERS[modality], entries["mm_url"]))
    out: list[Any] = []
    texts = {column: str(value) for column, value in sample.items()}
    for key, text in order:
        if key not in HOLDERS.values():
            message = f"prompt_mm has {', '.join(HOLDERS.values())} and mm_url, not {key!r}"
            raise render_error("unknown_key", message)
        name = text.partition("{")[2].partition("}")[0]
        if key == "text" or name not in sample:
            out.append({"type": key, key: _put(text, texts)})
            continue
        value = sample[name]
        if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
            value = ast.literal_eval(value)
        for payload in value if isinstance(value, list) else [value]:
            out.append({"type": key, key: _with(text, name, str(payload), texts)})
    return out
