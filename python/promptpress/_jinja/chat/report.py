"""Reports on a chat template: whether texts begin with BOS, what is compiled, and which variables are misspelt."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from jinja2 import TemplateError

from promptpress._errors.errors import close_names
from promptpress._jinja.chat.chat_renderer import ChatRenderer
from promptpress._jinja.chat.shape_programs import ShapeProgram
from promptpress._jinja.reference import Reference
from promptpress._jinja.sandbox.bounded import undeclared_names

_SCHEMA = pa.schema(
    {"shape": pa.string(), "rows": pa.int64(), "compiled": pa.bool_(), "line": pa.int64(), "reason": pa.string()}
)

_ROLES = {"s": "system", "u": "user", "a": "assistant"}
_USUAL_SHAPES = ("u", "su", "ua", "uau", "suau", "sua", "uauau")
_USUAL_KEYS = ("role", "from", "content", "value")

_ARGUMENTS = (
    *("add_generation_prompt", "continue_final_message", "tools", "documents"),
    *("environment", "fallback", "column"),
)
"""Arguments of `ChatTemplate`."""
_SIMILARITY = 0.85
"""Families of models have similar names (`thinking_budget`, `thinking_mode`), which aren't typing errors."""


def starts_with_bos(renderer: ChatRenderer) -> bool | None:
    """Return true if the template's texts begin with the `bos_token`, which tokenizers may add too.

    Returns:
        None if only some texts begin with it, none can be rendered, or there is no such token.
    """
    token = renderer.settings.variables.get("bos_token")
    if not isinstance(token, str) or not token:
        return None
    answers = set()
    for content in ("Hi.", "", " \n", "<think>a</think>b"):
        for conversation in _usual_conversations(content):
            try:
                answers.add(renderer.text(conversation).startswith(token))
            except Exception:
                continue
    return answers.pop() if len(answers) == 1 else None


def compiled_table(renderer: ChatRenderer) -> pa.Table:
    """Return a table with a row for each shape and each reason why Jinja2 renders rows of it."""
    compiled = renderer.programs.compiled()
    skeletons = {skeleton for skeleton, *_ in compiled}
    rows: list[dict[str, Any]] = []
    for conversation in _usual_conversations("?"):
        shape = [{"role": f"={message['role']}", "content": "?"} for message in conversation]
        skeleton = json.dumps(shape, separators=(",", ":"))
        if skeleton not in skeletons:
            rows += _rows(skeleton, 0, renderer.programs.compile(skeleton))
    for skeleton, count, program in compiled:
        rows += _rows(skeleton, count, program)
    return pa.Table.from_pylist(rows, _SCHEMA)


def _usual_conversations(content: str) -> list[list[dict[str, str]]]:
    return [[{"role": _ROLES[letter], "content": content} for letter in shape] for shape in _USUAL_SHAPES]


def _rows(skeleton: str, rows: int, program: ShapeProgram) -> list[dict[str, Any]]:
    row = {"shape": _shape_name(json.loads(skeleton)), "rows": rows, "compiled": program.program is not None}
    nothing: tuple[tuple[int | None, str | None], ...] = ((None, None),)
    return [{**row, "line": line, "reason": reason} for line, reason in program.bails or nothing]


def _shape_name(messages: Any) -> str:
    """Return the roles of a shape's messages, with their unusual keys in parentheses."""
    names = []
    for message in messages:
        speaker = message.get("role", message.get("from")) if isinstance(message, dict) else None
        role = speaker[1:] if isinstance(speaker, str) else "?"
        more = []
        if role != "?":
            more = [key for key, value in message.items() if key not in _USUAL_KEYS and value is not None]
        if isinstance(message, dict) and not isinstance(message.get("content", message.get("value", "")), str):
            more.append("parts" if isinstance(message.get("content"), list) else "no text")
        names.append(f"{role} ({', '.join(more)})" if more else role)
    return ", ".join(names)


def misspelt(template: Reference, variables: Iterable[str]) -> str:
    """Return a line for each variable whose name is probably misspelt.

    A template may get variables that it doesn't read, because the same arguments serve many models. So only a name that
    is very similar to another one is reported.

    >>> template = Reference("{{ bos_token if enable_thinking }}", "transformers")
    >>> misspelt(template, ["enable_thinkng", "eos_token", "style"])
    "enable_thinkng: the template doesn't read it; did you mean 'enable_thinking'?"
    >>> misspelt(template, ["enable_thinking", "style"])
    ''
    """
    # A special token comes from the tokenizer, even if the template doesn't read it.
    unread = [name for name in variables if name not in template.source and not name.endswith("_token")]
    if not unread:
        return ""
    try:
        read = undeclared_names(template.environment.parse(template.source))
    except TemplateError:
        return ""
    names = [*_ARGUMENTS, *sorted(read.difference(variables))]
    suggestions = {name: close_names(name, names, 1, _SIMILARITY) for name in unread}
    return "\n".join(
        f"{name}: the template doesn't read it; did you mean {similar[0]!r}?"
        for name, similar in suggestions.items()
        if similar
    )
