"""Compares requests of a model with requests of promptpress."""

from __future__ import annotations

import re
from collections.abc import Sequence
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


def with_kept_braces(
    config: dict[str, Any],
    samples: pa.Table,
    examples: pa.Table | None = None,
    more: Sequence[str] = (),
    *,
    are_apart: bool = False,
) -> dict[str, Any] | None:
    """A configuration whose texts come out of a single pass with all braces around the placeholders of columns.

    `divergence` compares with such texts, because what doubled braces stand for has nothing to do with values. None
    where braces may come together in another way than they stand in a template, or belong to names, unless it is known
    that they are apart.
    """
    prompt = config.get("prompt_template")
    parts = [prompt, config.get("ice_template")]
    output_column = (config.get("reader") or {}).get("output_column")
    names = [*dict.fromkeys([*samples.column_names, *filter(None, [output_column]), *more])]
    if "{{" in repr(config) and not are_apart:
        has_tokens = any(isinstance(part, dict) and {"ice_token", "sep_token"} & part.keys() for part in parts)
        has_others = examples is not None and {*examples.column_names} != {*samples.column_names}
        if has_tokens or has_others or any("{" in name or "}" in name for name in names):
            return None
    of_names = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    braced = re.compile(r"(\{+)(?:" + of_names + r")(\}+)")
    # What stands around the rounds of a conversation isn't filled.
    is_talk = isinstance(prompt, dict) and str(prompt.get("type")).endswith("MultiTurnPromptTemplate")
    left = {"type", "begin", "end"} if is_talk else {"type"}

    def kept(match: re.Match[str]) -> str:
        more = min(len(match[1]), len(match[2])) - 1
        return "{" * more + match[0] + "}" * more

    def changed(value: Any) -> Any:
        if isinstance(value, str):
            return braced.sub(kept, value) if names else value
        if isinstance(value, dict):
            if not value.get("format_variables", True):
                return value
            return {key: item if key in left else changed(item) for key, item in value.items()}
        return [changed(item) for item in value] if isinstance(value, (list, tuple)) else value

    searched = ("prompt_template", "ice_template", "retriever")
    braces = {part: changed(config[part]) for part in searched if part in config}
    return {**config, **braces, "substitution": "single_pass"}
