"""Fills the media of samples without a column `content`, as AISBench's documents describe it."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from promptpress._errors.errors import render_error
from promptpress._harnesses.aisbench.prompt_list import (
    END_TAG,
    FIELDS,
    HOLDERS,
    TAGS,
    PromptList,
    copied_entry,
    tagged_payloads,
)
from promptpress._harnesses.single.text import safe_format

SCHEMES = ("file://", "http://", "https://", "data:")


def filled(prompt: PromptList, sample: Mapping[str, Any]) -> PromptList:
    """Fill a prompt list in place: the media of a sample into its turns, and the fields into its bare strings.

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
    parts = []
    for modality, payload in tagged_payloads(sample[column]):
        if modality not in entries:
            message = f"prompt_mm has no entry for {modality!r}, which the column {column!r} holds"
            raise render_error("missing_modality", message)
        part, holder, key = copied_entry(entries[modality], modality)
        holder[key] = _with_payload(holder[key], FIELDS[modality], payload, others)
        parts.append(part)
    return parts


def _tagged_column(sample: Mapping[str, Any]) -> str:
    """Return the one column whose value has tags."""
    tagged = [n for n, value in sample.items() if isinstance(value, str) and any(t in value for t in TAGS.values())]
    if len(tagged) != 1:
        subject = "two columns hold" if tagged else "no column holds"
        code = "ambiguous_tagged_text" if tagged else "no_tagged_text"
        raise render_error(code, f"{subject} tagged text, such as {TAGS['text']}...{END_TAG}: {tagged}")
    return tagged[0]


def _with_payload(text: str, name: str, payload: str, others: Mapping[str, str]) -> str:
    """Return a part's text with its payload and the other fields; braces in values stay as they are."""
    token = f"{{{name}}}"
    before, match, after = text.partition(token)
    if name != "question" and match and payload.startswith(SCHEMES) and before.startswith(SCHEMES):
        text = token + after  # the payload has its own scheme
    return _fill(text, {**others, name: payload})


def _fill(text: str, values: Mapping[str, str]) -> str:
    placeholder = re.compile("|".join(re.escape(f"{{{name}}}") for name in values) or r"(?!)")
    return placeholder.sub(lambda match: values[match[0][1:-1]], text)


def _listed(entries: Mapping[str, str], sample: Mapping[str, Any]) -> list[Any]:
    """Return the parts of texts and URLs in columns; a list is several parts."""
    order = [(key, text) for key, text in entries.items() if key != "mm_url"]
    if "mm_url" in entries:
        modality = sample.get("type")
        if modality not in HOLDERS or modality == "text":
            message = f"the column 'type' says what mm_url shows: image, video or audio, not {modality!r}"
            raise render_error("unknown_modality", message)
        order.append((HOLDERS[modality], entries["mm_url"]))
    parts: list[Any] = []
    texts = {column: str(value) for column, value in sample.items()}
    for key, text in order:
        if key not in HOLDERS.values():
            message = f"prompt_mm has {', '.join(HOLDERS.values())} and mm_url, not {key!r}"
            raise render_error("unknown_key", message)
        name = text.partition("{")[2].partition("}")[0]
        if key == "text" or name not in sample:
            parts.append({"type": key, key: _fill(text, texts)})
            continue
        value = sample[name]
        if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
            value = ast.literal_eval(value)
        for payload in value if isinstance(value, list) else [value]:
            parts.append({"type": key, key: _with_payload(text, name, str(payload), texts)})
    return parts
