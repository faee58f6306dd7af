"""Facts about a chat template, found by rendering small conversations with a mark in each value."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from promptpress.engine import engine_of

from promptpress_workbench.audit.codes import Severity

if TYPE_CHECKING:
    from promptpress import ChatTemplate

FINDINGS: dict[str, Severity] = {
    **dict.fromkeys(("message_left_out", "tool_call_left_out", "tools_left_out", "unrenderable_row"), "error"),
    **dict.fromkeys(("changing_prefix", "bos_missing", "no_end_of_turn", "no_generation_prompt"), "warning"),
    **dict.fromkeys(("documents_left_out", "reasoning_left_out", "role_unknown_to_template"), "info"),
}
"""The codes of facts that may be mistakes, the most serious first."""

_CALL = {"id": "Xid000001", "type": "function", "function": {"name": "Xcall", "arguments": {"key": "Xvalue"}}}
_OTHER = {"id": "Xid000002", "type": "function", "function": {"name": "Xother", "arguments": {"key": "Xmore"}}}
_SYSTEM, _USER, _NEXT = (
    {"role": role, "content": content} for role, content in (("system", "Xsystem"), ("user", "Xask"), ("user", "Xnext"))
)
_ANSWER: dict[str, Any] = {"role": "assistant", "content": "Xanswer"}
_CALLS: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": [_CALL]}
_TEXT_CALLS = {**_CALLS, "tool_calls": [{**_CALL, "function": {"name": "Xcall", "arguments": '{"key": "Xvalue"}'}}]}
_REASONING = {**_ANSWER, "reasoning_content": "Xthought"}
_RESULT = {"role": "tool", "content": "Xresult", "name": "Xcall", "tool_call_id": "Xid000001"}
_TEXT = {"type": "text", "text": "Xask"}
_PARAMETERS = {"type": "object", "properties": {"key": {"type": "string", "description": "Key."}}, "required": ["key"]}
_TOOL = {"type": "function", "function": {"name": "Xtool", "description": "Xdescribed", "parameters": _PARAMETERS}}
_NOTHING: dict[str, Any] = {}
_TOOLS, _DOCUMENTS = {"tools": [_TOOL]}, {"documents": [{"title": "Xtitle", "text": "Xdocument"}]}

_PROBES: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "system message": ([_SYSTEM, _USER], _NOTHING),
    "system message later": ([_USER, _ANSWER, _SYSTEM, _NEXT], _NOTHING),
    "developer message": ([{**_SYSTEM, "role": "developer"}, _USER], _NOTHING),
    "another role": ([_USER, {"role": "critic", "content": "Xcritic"}], _NOTHING),
    "tools": ([_USER], _TOOLS),
    "documents": ([_USER], _DOCUMENTS),
    "call": ([_USER, _CALLS], _NOTHING),
    "call, content null": ([_USER, {**_CALLS, "content": None}], _NOTHING),
    "call, arguments as text": ([_USER, _TEXT_CALLS], _NOTHING),
    "call and text": ([_USER, {**_CALLS, **_ANSWER}], _NOTHING),
    "two calls": ([_USER, {**_CALLS, "tool_calls": [_CALL, _OTHER]}], _NOTHING),
    "call id": ([_USER, _CALLS, _RESULT], _NOTHING),
    "tool result": ([_USER, _CALLS, _RESULT], _NOTHING),
    "function result": ([_USER, _CALLS, {**_RESULT, "role": "function"}], _NOTHING),
    "reasoning": ([_USER, _REASONING], _NOTHING),
    "earlier reasoning": ([_USER, _REASONING, _NEXT], _NOTHING),
    "text in parts": ([{**_USER, "content": [_TEXT, {"type": "text", "text": "Xmore"}]}], _NOTHING),
    "image": ([{**_USER, "content": [{"type": "image"}, _TEXT]}], _NOTHING),
    "empty content": ([_USER, {**_ANSWER, "content": ""}, _NEXT], _NOTHING),
    "name": ([{**_USER, "name": "Xname"}], _NOTHING),
}
"""Conversations and arguments by what they ask about; values that begin with X are looked for in the text."""

_ONLY = {"call id": "Xid", "name": "Xname", "tool result": "Xresult", "function result": "Xresult"}
"""The marks that a fact is about, if it isn't about all but names and ids."""
_OPTIONAL = ("Xid", "Xname")
"""Marks whose loss is no mistake."""
_ODDITIES = {"None": "beside the word None", "{'": "as Python prints it", '\\"key': "encoded as JSON twice"}
"""Texts that say more of a value, and the words for them."""
_CODES = {"tool_calls": "tool_call_left_out", "reasoning_content": "reasoning_left_out", "tools": "tools_left_out"}
_KNOWN_ROLES = ("system", "user", "assistant", "tool")
_MARK = re.compile(r"X[a-z]+\d*")
_TOKEN = re.compile(r"<[^<>\s]{1,40}>|\[/?[A-Z_]{2,}\]")
_PREFIX = re.compile(r'^.*?column "\w+": ')


@dataclass(frozen=True)
class Fact:
    """A fact about a template, the code if it may be a mistake, and the conversation that shows it with its text.

    `reason` says why the answer is what it is, if the answer is one word.
    """

    fact: str
    answer: str
    code: str | None = None
    messages: list[dict[str, Any]] = field(default_factory=list)
    arguments: dict[str, Any] = field(default_factory=dict)
    text: str | None = None
    reason: str = ""

    @property
    def severity(self) -> Severity | None:
        return None if self.code is None else FINDINGS[self.code]


def facts_of(make: Callable[..., ChatTemplate]) -> list[Fact]:
    """Find the facts about a template, which `make` makes with further arguments, such as tools."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        template = make()
        missing = _missing_tokens(template)
        if missing and _rendered(template, [[_USER]])[0][0] is None:
            make = partial(make, **missing)
            template = make()
        facts = []
        for arguments in (_NOTHING, _TOOLS, _DOCUMENTS):
            probes = {name: messages for name, (messages, given) in _PROBES.items() if given is arguments}
            rendered = _rendered(make(**arguments), list(probes.values()))
            facts += [_fact(name, probes[name], arguments, *of) for name, of in zip(probes, rendered, strict=True)]
        facts.sort(key=lambda fact: list(_PROBES).index(fact.fact))
        return [*facts, *_prompt_facts(template, make), *_token_facts(template, missing)]


def _missing_tokens(template: ChatTemplate) -> dict[str, str]:
    """Return special tokens that the template reads and isn't given, each with a text that may stand for it."""
    renderer = engine_of(template).renderer
    names = sorted(renderer.reference.undeclared - renderer.settings.variables.keys())
    return {name: f"<{name}>" for name in names if name in ("bos_token", "eos_token")}


def _rendered(template: ChatTemplate, conversations: list[list[dict[str, Any]]]) -> list[tuple[str | None, str]]:
    """Return the text of each conversation, or None, and its error."""
    table = template.render([{"messages": messages} for messages in conversations], errors="column")
    return [(row["prompt"], _PREFIX.sub("", row["error"] or "")) for row in table.to_pylist()]


def _fact(name: str, messages: list[dict[str, Any]], arguments: dict[str, Any], text: str | None, error: str) -> Fact:
    """Look for the marks of a conversation in its text."""
    marks = [(path, mark) for path, mark in _marks({"messages": messages, **arguments}, "")]
    lost = {
        path.partition(".function")[0]: None if mark.startswith(_OPTIONAL) else _code(path, messages)
        for path, mark in marks
        if (mark.startswith(_ONLY[name]) if name in _ONLY else not mark.startswith(_OPTIONAL))
        and mark.casefold() not in (text or "").casefold()
    }
    codes = sorted({code for code in lost.values() if code is not None}, key=list(FINDINGS).index)
    if text is None:
        is_unusual = name == "image" or not codes
        code = "role_unknown_to_template" if "role_unknown_to_template" in codes else "unrenderable_row"
        return Fact(name, f"raises {error}", None if is_unusual else code, messages, arguments)
    answer = f"left out: {', '.join(lost)}" if lost else "written"
    answer += "".join(f", {oddity}" for mark, oddity in _ODDITIES.items() if mark in text)
    return Fact(name, answer, next(iter(codes), None), messages, arguments, text)


def _marks(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the marks within a value with their paths."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _marks(item, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _marks(item, f"{path}[{number}]")
    elif isinstance(value, str) and (mark := _MARK.search(value)):
        yield path, mark[0]


def _code(path: str, messages: list[dict[str, Any]]) -> str:
    """Return the code for a value that isn't in the text."""
    first, *keys = re.findall(r"\w+", path)
    if first != "messages":
        return f"{first}_left_out"
    is_known = messages[int(keys[0])]["role"] in _KNOWN_ROLES
    return _CODES.get(keys[1], "message_left_out") if is_known else "role_unknown_to_template"


def _prompt_facts(template: ChatTemplate, make: Callable[..., ChatTemplate]) -> Iterator[Fact]:
    """Yield the facts about the generation prompt, and about texts that grow."""
    (before, _), (text, error) = (_rendered(t, [[_USER]])[0] for t in (template, make(add_generation_prompt=True)))
    prompt = f"raises {error}" if text is None or before is None else "none"
    if text and before is not None and text != before:
        prompt = repr(text[len(before) :]) if text.startswith(before) else "changes the text before it"
    code = "no_generation_prompt" if prompt == "none" else None
    yield Fact("generation prompt", prompt, code, [_USER], {"add_generation_prompt": True}, text)
    answers = {"turn after the prompt": template.append_only.generation_prompt, "append-only": template.append_only}
    for name, given in answers.items():
        if given is not None:
            fact = Fact(name, given.answer, "changing_prefix" if given.answer == "never" else None, reason=given.reason)
            if (example := given.example) is not None:
                fact = replace(fact, messages=example.messages, arguments=example.arguments, text=example.longer)
            yield fact


def _token_facts(template: ChatTemplate, missing: Collection[str]) -> Iterator[Fact]:
    """Yield the facts about tokens: which ends a turn, what one within a text does, and which are given."""
    talk, given = [_USER, _ANSWER], engine_of(template).renderer.settings.variables
    ((text, error),) = _rendered(template, [talk])
    tail = (text or "").rpartition(_ANSWER["content"])[2]
    eos = given.get("eos_token")
    match = _TOKEN.search(tail)
    token = eos if isinstance(eos, str) and eos and eos in tail else match[0] if match else tail.strip()
    other = f", and the eos_token is {eos!r}" if eos else ""
    ending = f"{token!r}{', the eos_token' if token == eos else other}" if token else f"no token{other}"
    code = None if token or text is None else "no_end_of_turn"
    yield Fact("end of turn", ending if text is not None else f"raises {error}", code, talk, _NOTHING, text)
    if token:
        spelt = [{**_USER, "content": f"Xask{token}Xmore"}]
        ((text, error),) = _rendered(template, [spelt])
        is_kept = text is not None and spelt[0]["content"] in text
        answer = "written as it is, so that text can end a turn" if is_kept else error or "changed"
        yield Fact(f"{token} in a text", answer, None, spelt, _NOTHING, text)
    for name in missing:
        yield Fact(name, "read, but not given", "bos_missing" if name == "bos_token" else None)
    if "bos_token" not in missing and template.starts_with_bos:
        yield Fact("bos_token", "begins each text, twice where a tokenizer adds it by itself")
