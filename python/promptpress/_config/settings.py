"""Plain data for the arguments of a renderer, which can be compared and pickled, and the short form.

The short form is a text with columns in braces, for users without a harness. `Renderer`, the options of the command and
configuration files take the same: a template, maybe a system message, and maybe a number of examples. It is turned into
the arguments of `Renderer` that a harness's configuration would have, so the same bytes come out of all three.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import promptpress._core as _core
from promptpress._core import OUTPUT_FORMS, SETTINGS
from promptpress._errors.errors import template_error
from promptpress.typing import Tokens


def names_of_settings(*groups: str) -> tuple[str, ...]:
    """Return the names of the renderer's settings in some groups, such as `"budget"`, in the order of its arguments."""
    return tuple(name for name, setting in SETTINGS.items() if setting.group in groups)


_MAX_DEPTH = 100
"""More than any configuration needs, and far below the recursion limits of Python and the core."""

_UNORDERED = frozenset(name for name, setting in SETTINGS.items() if setting.is_unordered)
"""Arguments in which the order of keys means nothing; in a template the order of keys is data."""


def plain(value: Any, path: str) -> Any:
    """Turn a configuration value into dicts, lists and scalars.

    Mappings become dicts. Tuples, ranges and NumPy arrays become lists. Classes become their dotted names. NumPy
    scalars and subclasses of Python's scalars become Python's own. Other objects stay as they are.
    """
    return _plain(value, path, 0)


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Copy a renderer's arguments as plain data, each as `plain` does it."""
    # Paths take most of the time, so the core copies ordinary settings without them.
    copied: dict[str, Any] | None = _core.copied(settings, _MAX_DEPTH + 1)
    return {key: plain(value, key) for key, value in settings.items()} if copied is None else copied


_HARNESS_SETTINGS = (*names_of_settings("template", "harness"), "dialect", "substitution")
"""The arguments of a renderer by which it follows a harness."""


def follows_harness(arguments: Mapping[str, Any]) -> bool:
    """Return true if a renderer with these arguments follows a harness, unless they say otherwise by `substitution`."""
    given = {name: arguments[name] for name in _HARNESS_SETTINGS if arguments.get(name) is not None}
    substitution = given.get("substitution") or _core.default_substitution(plain_settings(given))
    return bool(substitution == "harness")


_BRACED = re.compile(r"(\{+)([^{}]*)(\}+)")


def braced_names(text: str, *, unescapes: bool = False) -> list[str]:
    """Return the names that stand in braces in a text, and may be columns.

    If `unescapes`, they are those that are filled in: every two pairs of braces directly around a name stand for one,
    and only a pair that is left over fills in a column.

    >>> braced_names("{a} {{b}} {{{c}}}", unescapes=True), braced_names("{{b}}")
    (['a', 'c'], ['b'])
    """
    return [name for left, name, right in _BRACED.findall(text) if not unescapes or min(len(left), len(right)) % 2]


def canonical(settings: Mapping[str, Any]) -> str:
    """Return a text that is the same for two plain settings exactly if they are the same configuration.

    In it `1`, `1.0` and `True` differ, NaN equals itself, and the order of a template's keys counts.
    """
    parts = []
    for name, value in settings.items():
        if name in _UNORDERED and isinstance(value, dict):
            parts.append((name, dict(sorted(value.items(), key=lambda item: repr(item[0])))))
        else:
            parts.append((name, value))
    return repr(parts)


def token_texts(tokens: Tokens) -> Callable[[int], str | None]:
    """Return a function from a token id to its text, which checks each text when it is called.

    A vocabulary has many more texts than a meta template uses. The function returns None for an id without text, and
    raises a TemplateError for a text that is no str.
    """
    find = tokens.get if isinstance(tokens, Mapping) else tokens

    def text_of(token: int) -> str | None:
        text = plain(find(token), f"tokens[{token}]")
        if text is not None and not isinstance(text, str):
            message = f"expected the token's text or None, found {type(text).__name__}"
            raise template_error("wrong_type", f"tokens[{token}]", message)
        return text

    return text_of


def _plain(value: Any, path: str, depth: int) -> Any:  # noqa: PLR0911 - one return for each kind of value
    if depth > _MAX_DEPTH:
        # The start of the path is enough; that of a list that contains itself has no end.
        raise template_error("nested_too_deep", _cut(path), f"dicts and lists are nested more than {_MAX_DEPTH} deep")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, int):
        # A subclass such as an enum may have a `repr` of its own.
        return _printable(int.__int__(value), path)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, Mapping):
        return {_key(key, path, depth): _plain(item, _within(path, key), depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [_plain(item, f"{path}[{n}]", depth + 1) for n, item in enumerate(value)]
    if isinstance(value, type):
        return _text(f"{value.__module__}.{value.__qualname__}", path)
    return _other(value, path, depth)


def _other(value: Any, path: str, depth: int) -> Any:
    """Turn NumPy arrays and scalars into Python values; return any other object as it is."""
    try:
        shaped = isinstance(getattr(value, "shape", None), tuple) and callable(getattr(value, "tolist", None))
        inner = value.tolist() if shaped else value
    except Exception as error:  # an object's own attributes may raise anything
        message = f"the {type(value).__name__} here can't be read: {error!r}"
        raise template_error("unreadable_object", path, message) from error
    # `tolist` of a scalar without a Python type returns the scalar itself.
    return _printable(value, path) if type(inner) is type(value) else _plain(inner, path, depth + 1)


def _printable(value: Any, path: str) -> Any:
    """Return an object, or raise a TemplateError if it has no `repr`, because the core uses nothing else of it."""
    try:
        repr(value).encode()
    except Exception as error:  # a `repr` may raise anything; that of an integer of thousands of digits does
        message = f"the {type(value).__name__} here has no repr: {type(error).__name__}"
        raise template_error("unreadable_object", path, message) from error
    return value


def _text(value: str, path: str) -> str:
    text = str.__str__(value)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = f"the text {_cut(ascii(text))} isn't Unicode: character {error.start} is a lone surrogate"
        raise template_error("invalid_unicode", path, message) from error
    return text


def _key(key: Any, path: str, depth: int) -> Any:
    out = _plain(key, path, depth + 1)
    try:
        hash(out)
    except TypeError as error:
        message = f"a key is a str, an int, a float, a bool or None, found {_cut(ascii(key))}"
        raise template_error("wrong_type", path, message) from error
    return out


def _within(path: str, key: Any) -> str:
    return f"{path}.{key}" if type(key) is str else f"{path}[{key!a}]"


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:60] + "…"


SHORT_WORDS = names_of_settings("short")
"""Arguments of `Renderer` that only the short form has.

They are the system message, which makes messages of prompts; if it is left out where it says nothing; the number of
examples before each prompt; the column of the answers, which examples show and the question doesn't; and the seed by
which the examples of each sample are drawn. Without a seed, the first rows are the examples.
"""

HARNESS_WORDS = names_of_settings("harness")
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
    system, is_optional, shots, output_column, seed = map(words.get, SHORT_WORDS)
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
    if is_optional:
        # Only a message of a list can be left out.
        shot = [{"role": "user", "content": template}, {"role": "assistant", "content": f"{{{output_column}}}"}]
        first = {"role": "system", "content": system, "optional": True}
        value = {"prompt_template": [first, *([_ICE_TOKEN] if shots else []), shot[0]]}
        value |= {"ice_template": shot} if shots else {}
    elif shots:
        value["prompt_template"] = {"type": "PromptTemplate", "template": prompt, "ice_token": _ICE_TOKEN}
        value["ice_template"] = {"type": "PromptTemplate", "template": shot}
    else:
        value["prompt_template"] = prompt if isinstance(prompt, str) else {"type": "PromptTemplate", "template": prompt}
    if shots:
        if seed is None:
            value["retriever"] = {"type": "FixKRetriever", "fix_id_list": list(range(shots))}
        else:
            value["retriever"] = {"type": "RandomRetriever", "ice_num": shots, "seed": seed}
    if output_column is not None:
        value["reader"] = {"output_column": output_column}
    return value


def _check(template: str, words: Mapping[str, Any], *, is_chat: bool, unescapes: bool) -> None:
    """Raise a TemplateError if the parts don't fit together."""
    if not words["shots"]:
        if words["seed"] is not None:
            raise template_error("unsupported_mode", "seed", "examples are drawn by it; shots says how many")
        return
    if isinstance(words["shots"], int) and words["shots"] > _MAX_SHOTS:
        message = f"a prompt has at most {_MAX_SHOTS:,} examples, found {words['shots']}"
        raise template_error("invalid_number", "shots", message)
    if words["output_column"] is None:
        message = "examples show answers; output_column names their column"
        raise template_error("missing_output_column", "shots", message)
    placeholder = f"{{{words['output_column']}}}"
    is_filled = words["output_column"] in braced_names(template, unescapes=unescapes)
    if is_chat and is_filled:
        message = f"{placeholder} is what the assistant says in a chat; leave it out here"
        raise template_error("unsupported_mode", "prompt_template", message)
    if not is_chat and not is_filled:
        message = f"the answer of an example needs a place in the template, by {placeholder}"
        raise template_error("missing_output_column", "prompt_template", message)


def short_form_of(arguments: Mapping[str, Any], *, has_model: bool = False) -> dict[str, Any]:
    """Return the arguments of `Renderer` for arguments in the short form.

    Args:
        arguments: The arguments, some of `SHORT_WORDS` among them. A missing argument counts as None.
        has_model: True if a model's configuration gives the meta template.

    Returns:
        The arguments, with those of a harness's configuration in place of `SHORT_WORDS`. Unless a harness's model,
        dialect or substitution is given, values are left alone, messages are those of chat APIs, and mistakes of the
        template are refused.

    Raises:
        TemplateError: If the short form is mixed with a harness's words, or a part is wrong.

    >>> short_form_of({"prompt_template": "{q}", "output_column": "a"})
    {'prompt_template': '{q}', 'reader': {'output_column': 'a'}, 'substitution': 'single_pass', 'unknown': 'refuse'}
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
    is_plain = "dialect" not in rest and not has_model
    substitution = rest.get("substitution", "single_pass" if is_plain else "harness")
    is_plain = is_plain and substitution == "single_pass"
    _check(template, words, is_chat=is_chat, unescapes=substitution == "single_pass")
    if words["optional_system"] and (words["system"] is None or not is_plain):
        message = "it goes with system=, and with no model, dialect or substitution of a harness"
        raise template_error("unsupported_mode", "optional_system", message)
    filled = _harness_arguments(template, words, is_chat=is_chat, has_model=has_model)
    if shots and "examples" not in rest:
        message = f"none are given, and shots={shots} takes in-context examples from them, usually the train split"
        raise template_error("missing_examples", "examples", message)
    if is_plain:
        filled |= {"substitution": substitution, "unknown": "refuse"}
        if is_chat:
            filled["output"] = "openai"
    return {**filled, **{name: value for name, value in rest.items() if name != "prompt_template"}}


def _check_types(words: Mapping[str, Any]) -> None:
    kinds = {"system": str, "optional_system": bool, "output_column": str, "shots": int, "seed": int}
    for name, kind in kinds.items():
        value = words[name]
        if value is not None and (not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)):
            raise template_error("wrong_type", name, f"expected a {kind.__name__}, found a {type(value).__name__}")
    if words["shots"] is not None and words["shots"] < 0:
        raise template_error("invalid_number", "shots", f"expected a number from 0 on, found {words['shots']}")
