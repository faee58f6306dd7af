"""Benchmark files of EvalScope (`benchmarks/_meta/*.json`): templates, a system prompt and one rendered sample.

EvalScope fills such a template by one of two rules. A question is filled into `{question}`. A multiple-choice question
also has `{choices}`, a line `A) ...` for each choice, and `{letters}`, which is `A,B,C`. Other fields are filled by the
benchmark's own code; their texts are columns here. The file doesn't say which code the benchmark has, so its sample
has to show that nothing else is done: each literal text of the template stands in it where it belongs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from promptpress import ConfigError

from promptpress_harness.format_prompts.prompt import CHOICES, LETTERS, FormatPrompt, Piece, merged, pieces_of

_QUESTION, _EXAMPLES = "question", "fewshot"
_FEW_SHOT = "few_shot_prompt_template"
_CATEGORY = "llm"
_CHOSEN_BY_CODE = {"AGIEval": "the subset", "MMMLU": "the language"}
"""Benchmarks whose code chooses another template by the sample, and what it goes by; one sample can't show that."""

_CUT = re.compile(r" \.\.\. \[TRUNCATED(?: \d+ chars)?\] \.\.\. ")
"""The mark that stands for the middle of a long text."""


def evalscope_prompt(path: str, value: Mapping[str, Any]) -> FormatPrompt | None:
    """Return the prompt of a benchmark file of EvalScope, or None; refuse one that leaves the prompt uncertain."""
    meta = value.get("meta")
    if not isinstance(meta, Mapping) or "prompt_template" not in meta:
        return None
    if meta.get("category") != _CATEGORY:
        raise ConfigError(
            f"{path}: meta.category: {meta.get('category')!r}; only benchmarks of {_CATEGORY!r} are read, because "
            "EvalScope's code puts media and the turns of agents around the text of others"
        )
    key, template = _template(path, meta)
    pieces = pieces_of(template, f"{path}: meta.{key}")
    fields = {piece.text for piece in pieces if piece.is_field}
    if not fields:
        raise ConfigError(f"{path}: meta.{key}: has no field, so EvalScope's code makes the prompts of the samples")
    if _QUESTION not in fields and fields & {CHOICES, LETTERS}:
        raise ConfigError(f"{path}: meta.{key}: has {{{CHOICES}}} or {{{LETTERS}}}, but no {{{_QUESTION}}}")
    if key == _FEW_SHOT and _EXAMPLES not in fields:
        raise ConfigError(
            f"{path}: meta.{key}: has no {{{_EXAMPLES}}}, so EvalScope's code has another rule for examples"
        )
    if fields != {_QUESTION} and all(piece.is_field for piece in pieces):
        raise ConfigError(f"{path}: meta.{key}: has no text, so the sample can't show what stands for its fields")
    chosen_by = _CHOSEN_BY_CODE.get(str(meta.get("pretty_name")))
    if chosen_by is not None:
        raise ConfigError(f"{path}: meta.{key}: EvalScope's code takes another template by {chosen_by} of a sample")
    system = _text(path, meta, "system_prompt") or None
    prompt = FormatPrompt(path, pieces, system, has_choices=CHOICES in fields)
    _check_sample(prompt, value.get("sample_example"))
    return prompt


def _template(path: str, meta: Mapping[str, Any]) -> tuple[str, str]:
    """Return the key and the text of the template: that with examples if the benchmark has some."""
    shots = meta.get("few_shot_num") or 0
    if not shots:
        template = _text(path, meta, "prompt_template")
        if template:
            return "prompt_template", template
        raise ConfigError(f"{path}: meta.prompt_template: is empty, because EvalScope's code makes the prompts")
    template = _text(path, meta, _FEW_SHOT)
    if template:
        return _FEW_SHOT, template
    raise ConfigError(
        f"{path}: meta.few_shot_num: {shots}, and {_FEW_SHOT} is empty, because EvalScope's code has the text around "
        f"the examples; write it there, with {{{_EXAMPLES}}} for the examples"
    )


def _text(path: str, meta: Mapping[str, Any], key: str) -> str:
    text = meta.get(key)
    if text is not None and not isinstance(text, str):
        raise ConfigError(f"{path}: meta.{key}: expected a text, found a {type(text).__name__}")
    return text or ""


def _check_sample(prompt: FormatPrompt, example: Any) -> None:
    """Raise a ConfigError if the file's sample isn't what the template gives."""
    location = f"{prompt.path}: sample_example"
    data = example.get("data") if isinstance(example, Mapping) else None
    messages = data.get("input") if isinstance(data, Mapping) else None
    if not isinstance(messages, list) or not messages:
        raise ConfigError(
            f"{location}: has no messages, which would show that EvalScope's code does no more than fill the template"
        )
    contents = [message.get("content") if isinstance(message, Mapping) else None for message in messages]
    if not all(isinstance(content, str) for content in contents):
        raise ConfigError(f"{location}: its contents are lists of parts, which EvalScope's code makes")
    user = _user_pieces(prompt, data.get("choices") if isinstance(data, Mapping) else None)
    if user is None:
        raise ConfigError(f"{location}: has no list of choices, so EvalScope's code makes the text of {{{CHOICES}}}")
    expected = [user] if prompt.system is None else [(Piece(prompt.system),), user]
    if len(contents) != len(expected):
        raise ConfigError(f"{location}: has {len(contents)} messages where the templates give {len(expected)}")
    if not all(_agrees(pieces, str(content)) for pieces, content in zip(expected, contents, strict=True)):
        raise ConfigError(f"{location}: isn't what the template gives, so EvalScope's code does more than fill it")


def _user_pieces(prompt: FormatPrompt, choices: Any) -> tuple[Piece, ...] | None:
    """Return the pieces of the user's message, with the texts of a sample's choices; None if it has no choices."""
    if not prompt.has_choices:
        return prompt.pieces
    if not isinstance(choices, list):
        return None
    lines: list[Piece] = []
    for number, (letter, choice) in enumerate(zip(_letters(choices), choices, strict=True)):
        head, *rest = _CUT.split(str(choice))
        lines.append(Piece(("\n" if number else "") + f"{letter}) {head}"))
        for tail in rest:
            lines += [Piece("choice", is_field=True), Piece(tail)]
    texts = {CHOICES: lines, LETTERS: [Piece(",".join(_letters(choices)))]}
    return merged(
        part for piece in prompt.pieces for part in (texts.get(piece.text, [piece]) if piece.is_field else [piece])
    )


def _letters(choices: Sequence[Any]) -> Iterator[str]:
    for number in range(len(choices)):
        yield ascii_uppercase[number] if number < len(ascii_uppercase) else str(number - len(ascii_uppercase) + 1)


def _agrees(pieces: Sequence[Piece], text: str) -> bool:
    """Return true if a text may be what the pieces give; of a cut text only its two ends are known."""
    first, last = ("" if piece.is_field else piece.text for piece in (pieces[0], pieces[-1]))
    if len(pieces) == 1:
        is_whole = pieces[0].is_field or text == first
    else:
        is_whole = _has_in_order(first, [piece.text for piece in pieces[1:-1] if not piece.is_field], last, text)
    if is_whole:
        return True
    ends = _CUT.split(text)
    if len(ends) != 2 or not all(ends):
        return False
    head, tail = ends
    begins = head.startswith(first) or (len(pieces) > 1 and first.startswith(head))
    return begins and (tail.endswith(last) or last.endswith(tail))


def _has_in_order(first: str, middle: Sequence[str], last: str, text: str) -> bool:
    """Return true if a text has others in order; a regular expression with as many gaps could take for ever."""
    position, end = len(first), len(text) - len(last)
    if position > end or not text.startswith(first) or not text.endswith(last):
        return False
    for literal in middle:
        start = text.find(literal, position, end)
        if start < 0:
            return False
        position = start + len(literal)
    return True
