"""EvalScope's and NeMo-Skills' prompts in plain Python, a row at a time.

The oracle of tests/config/test_format_prompts.py.

Both fill templates by `str.format`. `evalscope` takes a benchmark file's `meta`, `nemo_skills` the content of a prompt
file; each gives a row's messages as chat APIs take them.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import Any

Messages = list[dict[str, str]]


def evalscope(meta: Mapping[str, Any], row: Mapping[str, Any]) -> Messages:
    """The messages of a row that has the values of all fields, and the choices of a question as a list."""
    template = meta["few_shot_prompt_template"] if meta.get("few_shot_num") else meta["prompt_template"]
    values = dict(row)
    if "choices" in {field for _, field, _, _ in string.Formatter().parse(template)}:
        letters = [chr(ord("A") + number) if number < 26 else str(number - 25) for number in range(len(row["choices"]))]
        values["letters"] = ",".join(letters)
        lines = (f"{letter}) {choice}" for letter, choice in zip(letters, row["choices"], strict=True))
        values["choices"] = "\n".join(lines)
    return _messages(meta.get("system_prompt") or None, template.format(**values))


def nemo_skills(
    config: Mapping[str, Any], row: Mapping[str, Any], examples: Sequence[Mapping[str, Any]] = ()
) -> Messages:
    """The messages of a row, with examples before it if there are any."""
    few_shot = config.get("few_shot_examples") or {}
    filled = "".join(few_shot.get("template", "").format(**example) for example in examples)
    if filled:
        filled = few_shot.get("prefix", "") + filled + few_shot.get("suffix", "")
    return _messages(config.get("system"), config["user"].format(examples=filled, **row))


def _messages(system: str | None, user: str) -> Messages:
    begin = [] if system is None else [{"role": "system", "content": system}]
    return [*begin, {"role": "user", "content": user}]
