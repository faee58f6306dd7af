"""Compares requests of a model with requests of promptpress."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa


def clean(request: Any) -> Any:
    """A request without what Arrow adds: null fields, and the struct around a bare string."""
    if isinstance(request, dict):
        kept = {key: clean(value) for key, value in request.items() if value is not None}
        return kept["prompt"] if set(kept) == {"prompt"} and isinstance(kept["prompt"], str) else kept
    return [clean(item) for item in request] if isinstance(request, list) else request


def fits_arrow(requests: list[Any]) -> bool:
    """Return true if one Arrow type can hold these requests."""
    wrapped = [
        request
        if isinstance(request, str)
        else [{"prompt": item} if isinstance(item, str) else item for item in request]
        for request in requests
    ]
    try:
        pa.array(wrapped)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return False
    return True


def with_kept_braces(config: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """A configuration whose texts come out of a single pass with all braces around the placeholders of columns.

    `divergence` compares with such texts, because what doubled braces stand for has nothing to do with values.
    """
    of_names = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    braced = re.compile(r"(\{+)(?:" + of_names + r")(\}+)")

    def kept(match: re.Match[str]) -> str:
        more = min(len(match[1]), len(match[2])) - 1
        return "{" * more + match[0] + "}" * more

    prompt = config.get("prompt_template")
    is_talk = isinstance(prompt, dict) and str(prompt.get("type")).endswith("MultiTurnPromptTemplate")

    def changed(value: Any) -> Any:
        if isinstance(value, str):
            return braced.sub(kept, value) if names else value
        if isinstance(value, dict):
            # What stands around the rounds of a conversation isn't filled.
            left = {"type", "begin", "end"} if is_talk else {"type"}
            return {key: item if key in left else changed(item) for key, item in value.items()}
        return [changed(item) for item in value] if isinstance(value, (list, tuple)) else value

    parts = ("prompt_template", "ice_template", "retriever")
    return {**config, **{part: changed(config[part]) for part in parts if part in config}, "substitution": "single_pass"}


def may_join_braces(config: dict[str, Any], names: list[str]) -> bool:
    """True if braces may come together in another way than they stand in a template, or belong to names."""
    parts = [config.get(part) for part in ("prompt_template", "ice_template")]
    has_tokens = any(isinstance(part, dict) and {"ice_token", "sep_token"} & part.keys() for part in parts)
    return has_tokens or any("{" in name or "}" in name for name in names)
