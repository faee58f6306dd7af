"""The short form of a configuration: a text with columns in braces, for users without a harness.

`Renderer`, the options of the command and configuration files take the same short form: a template, maybe a system
message, and maybe a number of examples. It is turned into the arguments of `Renderer` that a harness's configuration
would have, so the same bytes come out of all three.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptpress._core import OUTPUT_FORMS
from promptpress._errors.errors import template_error

SHORT_WORDS = ("system", "shots", "output_column", "seed")
"""Arguments of `Renderer` that only the short form has.

They are the system message, which makes messages of prompts; the number of examples before each prompt; the column of
the answers, which examples show and the question doesn't; and the seed by which the examples of each sample are drawn.
Without a seed, the first rows are the examples.
"""

HARNESS_WORDS = ("ice_template", "retriever", "reader", "inferencer", "meta_template")
"""Arguments of `Renderer` in the words of a harness, which don't go with the short form."""

_CHAT_OUTPUTS = [name for name, form in OUTPUT_FORMS.items() if form.writes_messages]
_ICE_TOKEN = "</E>"
_MAX_SHOTS = 1_000_000
"""More than any context holds, and few enough to be listed."""

CHAT_ROLES = {
    "round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}],
    "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}],
}
"""The meta template of chats: a system message, and turns of the user and the assistant."""


def _harness_arguments(template: str, words: Mapping[str, Any], *, is_chat: bool, has_model: bool) -> dict[str, Any]:
    """Return the arguments of `Renderer` that are the same configuration in the words of a harness.

    If `is_chat`, the template is the user's message in a chat instead of the whole prompt. If `has_model`, a model's
    configuration gives the meta template.
    """
    system, shots, output_column, seed = map(words.get, SHORT_WORDS)
    value: dict[str, Any] = {}
    shot: Any = template
    prompt: Any = f"{_ICE_TOKEN}{shot}" if shots else shot
    if is_chat:
        turns = [{"role": "HUMAN", "prompt": template}]
        if output_column is not None:
            turns.append({"role": "BOT", "prompt": f"{{{output_column}}}"})
        begin: list[Any] = []
        if system is not None:
            begin.append({"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": system})
        if shots:
            begin.append(_ICE_TOKEN)
        shot = {"round": turns}
        prompt = {**({"begin": begin} if begin else {}), **shot}
        if not has_model:
            value["meta_template"] = CHAT_ROLES
    value["prompt_template"] = prompt if isinstance(prompt, str) else {"type": "PromptTemplate", "template": prompt}
    if shots:
        value["prompt_template"] = {"type": "PromptTemplate", "template": prompt, "ice_token": _ICE_TOKEN}
        value["ice_template"] = {"type": "PromptTemplate", "template": shot}
        if seed is None:
            value["retriever"] = {"type": "FixKRetriever", "fix_id_list": list(range(shots))}
        else:
            value["retriever"] = {"type": "RandomRetriever", "ice_num": shots, "seed": seed}
    if output_column is not None:
        value["reader"] = {"output_column": output_column}
    return value


def _check(template: str, words: Mapping[str, Any], *, is_chat: bool) -> None:
    """Raise a TemplateError if the parts don't fit together."""
    if not words["shots"]:
        if words["seed"] is not None:
            raise template_error("unsupported_mode", "seed", "examples are drawn by it; shots says how many")
        return
    if isinstance(words["shots"], int) and words["shots"] > _MAX_SHOTS:
        message = f"a prompt has at most {_MAX_SHOTS:,} examples, found {words['shots']}"
        raise template_error("invalid_number", "shots", message)
    if words["output_column"] is None:
        message = "output_column names the answers, which only examples show"
        raise template_error("missing_output_column", "shots", message)
    placeholder = f"{{{words['output_column']}}}"
    if is_chat and placeholder in template:
        message = f"{placeholder} is what the assistant says in a chat; leave it out here"
        raise template_error("unsupported_mode", "prompt_template", message)
    if not is_chat and placeholder not in template:
        message = f"the answer of an example needs a place in the template, by {placeholder}"
        raise template_error("missing_output_column", "prompt_template", message)


def short_form_of(arguments: Mapping[str, Any], *, has_model: bool = False) -> dict[str, Any]:
    """Return the arguments of `Renderer` for arguments in the short form.

    Args:
        arguments: The arguments, some of `SHORT_WORDS` among them. A missing argument counts as None.
        has_model: True if a model's configuration gives the meta template.

    Returns:
        The arguments, with those of a harness's configuration in place of `SHORT_WORDS`. Values are left alone unless
        a harness's model or dialect is given.

    Raises:
        TemplateError: If the short form is mixed with a harness's words, or a part is wrong.

    >>> short_form_of({"prompt_template": "{q}", "output_column": "a"})
    {'prompt_template': '{q}', 'reader': {'output_column': 'a'}, 'substitution': 'single_pass'}

    """
    rest = {name: value for name, value in arguments.items() if name not in SHORT_WORDS and value is not None}
    template, words = rest.get("prompt_template"), {name: arguments.get(name) for name in SHORT_WORDS}
    for name in HARNESS_WORDS:
        if name in rest:
            message = "the short form (system, shots, output_column, seed) doesn't go with the words of a harness"
            raise template_error("unsupported_mode", name, message)
    if not isinstance(template, str):
        message = (
            "the short form (system, shots, output_column, seed) goes with a template that is a text, found a "
            f"{type(template).__name__}"
        )
        raise template_error("wrong_type", "prompt_template", message)
    _check_types(words)
    shots = words["shots"] or 0
    if not shots and "examples" in rest:
        raise template_error("unsupported_mode", "examples", "shots says how many of them stand before each prompt")
    is_chat_output = "chat_template" in rest or rest.get("output") in _CHAT_OUTPUTS
    is_chat = words["system"] is not None or has_model or (is_chat_output and shots > 0)
    _check(template, words, is_chat=is_chat)
    filled = _harness_arguments(template, words, is_chat=is_chat, has_model=has_model)
    if shots and "examples" not in rest:
        message = f"none are given, and shots={shots} takes in-context examples from them, usually the train split"
        raise template_error("missing_examples", "examples", message)
    if "dialect" not in rest and not has_model:
        filled["substitution"] = "single_pass"
    return {**filled, **{name: value for name, value in rest.items() if name != "prompt_template"}}


def _check_types(words: Mapping[str, Any]) -> None:
    for name, kind in (("system", str), ("output_column", str), ("shots", int), ("seed", int)):
        value = words[name]
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            raise template_error("wrong_type", name, f"expected a {kind.__name__}, found a {type(value).__name__}")
    if words["shots"] is not None and words["shots"] < 0:
        raise template_error("invalid_number", "shots", f"expected a number from 0 on, found {words['shots']}")
