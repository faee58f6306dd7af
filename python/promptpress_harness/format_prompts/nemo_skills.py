"""Prompt files of NeMo-Skills (`prompt/config/**/*.yaml`): `user`, `system` and `few_shot_examples`.

`user` is filled by `str.format` with the columns of a row and with `examples`: the filled `template` of each example
between `prefix` and `suffix`, or nothing if there are no examples. `system` is a message as it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptpress import ConfigError
from promptpress.engine.errors import Choice, did_you_mean

from promptpress_harness.format_prompts.prompt import FewShot, FormatPrompt, pieces_of

_KEYS = ("user", "system", "few_shot_examples")
_TEXTS = ("prefix", "template", "suffix")
_BY_CODE = (
    *("examples_type", "retriever", "retrieval_field", "retrieval_file", "retrieved_entries", "retrieved_few_shots"),
    *("randomize_retrieved_entries", "max_retrieved_chars", "max_retrieved_chars_field"),
)
"""Keys of `few_shot_examples` that choose examples by NeMo-Skills' code or from its files."""


def nemo_skills_prompt(path: str, value: Mapping[str, Any]) -> FormatPrompt | None:
    """Return the prompt of a file of NeMo-Skills, or None for another; refuse examples that its code chooses."""
    if not isinstance(value.get("user"), str) or {"prompt_template", "ice_template", "template"} & set(value):
        return None
    _check_keys(path, value, _KEYS)
    system = value.get("system")
    if system is not None and not isinstance(system, str):
        raise ConfigError(f"{path}: system: expected a text, found a {type(system).__name__}")
    few_shot = _few_shot(path, value.get("few_shot_examples") or {})
    return FormatPrompt(path, pieces_of(value["user"], f"{path}: user"), system, few_shot=few_shot)


def _few_shot(path: str, value: Any) -> FewShot:
    location = f"{path}: few_shot_examples"
    if not isinstance(value, Mapping):
        raise ConfigError(f"{location}: expected a mapping, found a {type(value).__name__}")
    for key in _BY_CODE:
        if value.get(key) is not None:
            message = f"{location}.{key}: NeMo-Skills' code chooses the examples; leave it out of a copy of the file"
            raise ConfigError(message, Choice("examples", "brings the rows"), is_choice=False)
    _check_keys(location, value, (*_TEXTS, *_BY_CODE))
    for key in _TEXTS:
        if not isinstance(value.get(key, ""), str):
            raise ConfigError(f"{location}.{key}: expected a text, found a {type(value[key]).__name__}")
    prefix, template, suffix = (value.get(key, "") for key in _TEXTS)
    return FewShot(prefix, pieces_of(template, f"{location}.template"), suffix)


def _check_keys(location: str, value: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    for key in value:
        if key not in keys:
            hint = did_you_mean(str(key), keys, 0.6) or f"; it may have {', '.join(keys)}"
            raise ConfigError(f"{location}: {key}: unknown{hint}")
