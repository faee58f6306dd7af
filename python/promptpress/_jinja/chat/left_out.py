"""The parts that chat templates leave out: those of conversations, and arguments, of which no byte is in the prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from promptpress._errors.left_out import MAX_FIRST_ROWS, Kind, LeftOut, Refusal
from promptpress._jinja.chat.conversations import REASONING
from promptpress._jinja.traced_values import COMPUTED, Origin, Piece

_OF_MESSAGE = re.compile(
    r"(?P<content>content(?:\[\d+\](?=(?:\.text)?$)|(?=$|\.)))"
    r"|(?P<arguments>(?:tool_calls\[\d+\]|function_call)(?:\.function)?\.arguments)(?![^.\[])"
    r"|(?P<call>tool_calls\[\d+\]|function_call)(?!\.(?:id|type)$)"
    r"|(?P<reasoning>reasoning_content|reasoning|thinking)(?![^.\[])"
    r"|(?P<name>name)$"
)
_CODES = {
    "content": "message_left_out",
    "arguments": "tool_call_left_out",
    "call": "tool_call_left_out",
    "reasoning": "reasoning_left_out",
    "name": "name_left_out",
}
_FEW_CHARACTERS = 4
"""Characters that a text within a call or a tool has at least to be looked for: shorter ones stand in many places."""
ARGUMENT_CODES = {"tools": "tools_left_out", "documents": "documents_left_out"}


class Part(NamedTuple):
    """A part that a prompt may lack as a whole: an argument, or a text, reasoning or name of a message.

    A call of a tool is two parts: its arguments, and the rest of it.

    `message` is the message's number and `path` the part's place in it; an argument has no number, and its name as
    path.
    """

    code: str
    path: str
    message: int | None = None
    role: str | None = None

    def kinds(self, messages: int, source: str) -> Iterator[Kind]:
        """Yield what is counted if the part is left out of a conversation of so many messages."""
        if self.message is None:
            yield self.code, self.path
            return
        last = self.message == messages - 1
        turn = "last turn" if last else "first turn" if self.message == 0 else "a turn in between"
        yield self.code, f"{turn}, role {self.role!r}"
        is_known = self.role is None or f"'{self.role}'" in source or f'"{self.role}"' in source
        if self.code == "message_left_out" and not is_known:
            yield "role_unknown_to_template", f"role {self.role!r}"


def part_of(origin: Origin) -> Part | None:
    """Return the part that a value belongs to; None for a value that no prompt need have."""
    path = origin.path or ""
    if origin.source == "argument":
        name = re.split(r"[.\[]", path)[0]
        return Part(ARGUMENT_CODES[name], name) if name in ARGUMENT_CODES else None
    match = _OF_MESSAGE.match(path) if origin.source == "field" and origin.message is not None else None
    if match is None or match.lastgroup is None:
        return None
    kind = match.lastgroup
    return Part(_CODES[kind], kind if kind == "reasoning" else match[kind], origin.message, origin.role)


class Kinds:
    """Numbers the kinds of what one template leaves out, for programs to count by."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._numbers: dict[Kind, int] = {}

    def parts_of_program(
        self, slots: Iterable[Origin], data: Iterable[Origin], arguments: Iterable[str], messages: int
    ) -> tuple[list[int | None], list[int | None], list[list[int]]]:
        """Return the part of each slot and of the data that a program holds, and the numbers of each part's kinds.

        `arguments` are the names of those that have a value.
        """
        numbers: dict[Part, int] = {}
        of_slots = [None if part is None else numbers.setdefault(part, len(numbers)) for part in map(part_of, slots)]
        for name in arguments:
            if part := part_of(Origin("argument", path=name)):
                numbers.setdefault(part, len(numbers))
        # What a program holds of a message is but its keys and truths, unless a slot is part of it too.
        of_data = [None if part is None else numbers.get(part) for part in map(part_of, data)]
        return of_slots, of_data, [self._numbered(part.kinds(messages, self._source)) for part in numbers]

    def _numbered(self, kinds: Iterable[Kind]) -> list[int]:
        return [self._numbers.setdefault(kind, len(self._numbers)) for kind in kinds]

    def count(
        self, lacking: Iterable[tuple[int, int, list[int]]], first_row: int, refusal: Refusal
    ) -> tuple[LeftOut, dict[int, Kind]]:
        """Count what programs have left out, of each kind with the first rows; return the rows that are refused, too.

        If anything may be refused, `lacking` lists all rows, and those that are refused aren't counted.
        """
        kinds = list(self._numbers)
        of_kinds = sorted((kinds[number], count, rows) for number, count, rows in lacking)
        # An error names the first kind, however the row is rendered.
        refused = {row: kind for kind, _, rows in reversed(of_kinds) if refusal.refuses(kind) for row in rows}
        counts = LeftOut()
        for kind, count, rows in of_kinds:
            kept = [row for row in rows if row not in refused] if refused else rows
            if rest := count - len(rows) + len(kept):
                counts.add(kind, rest, [first_row + row for row in kept[:MAX_FIRST_ROWS]])
        return counts, refused


def lacking_parts(parts: Iterable[Part], pieces: Iterable[Piece]) -> list[Part]:
    """Return those of some parts that a text with these pieces lacks.

    A part that may be among bytes of several values is taken to be there.
    """
    written = {origin for text, origin in pieces if text and origin is not None}
    if COMPUTED in written:
        return []
    covered = {(origin.message, origin.path or "") for origin in written}
    return [part for part in parts if not any(covers(where, part) for where in covered)]


def doubtful_parts(messages: list[Any], arguments: Mapping[str, Any], text: str | None, source: str) -> list[Part]:
    """Return the parts of a conversation, as a template sees it, that a text may lack; all of them without the text.

    A part is there if one of its texts is, and could have come from nowhere else: neither the template nor other data
    has it.
    """
    parts = list(parts_with_texts(messages, arguments))
    if text is None or not parts:
        return [part for part, _ in parts]
    once = [{key: value for key, value in message.items() if key not in REASONING[1:]} for message in messages]
    data = json.dumps([once, arguments], ensure_ascii=False, default=str)

    def is_sure(of_part: str) -> bool:
        if not of_part or of_part not in text or of_part in source:
            return False
        return data.count(json.dumps(of_part, ensure_ascii=False)[1:-1]) == 1

    return [part for part, texts in parts if not any(map(is_sure, texts))]


def covers(where: tuple[int | None, str], part: Part) -> bool:
    """Return true if a value at some place belongs to a part, or holds it."""
    message, path = where
    if message != part.message:
        return False
    owner = part_of(Origin("argument" if message is None else "field", None, message, part.role, path))
    return part == owner or part.path.startswith(path)


def parts_with_texts(messages: list[Any], arguments: Mapping[str, Any]) -> Iterator[tuple[Part, list[str]]]:
    """Yield the parts of a conversation that aren't blank, each with texts of which a prompt with the part has one."""
    for number, message in enumerate(messages):
        role = message.get("role") if isinstance(message.get("role"), str) else None
        for key, value in message.items():
            for path, item in _items(key, value):
                part = part_of(Origin("field", None, number, role, path))
                if part is not None and (text := _text(item).strip()):
                    is_call = part.code == "tool_call_left_out" and not path.endswith("arguments")
                    yield part, [*([] if is_call else [text]), *_texts_in(item)]
    for name, value in arguments.items():
        part = part_of(Origin("argument", path=name)) if value else None
        if part is not None:
            yield part, list(_texts_in(value[0] if isinstance(value, (list, tuple)) else value))


def _texts_in(value: Any, key: str = "") -> Iterator[str]:
    """Yield the texts within a list or dict that belong to the same part."""
    if isinstance(value, dict):
        of_call = ("id", "type", "arguments") if key in ("", "function") else ()
        for name, item in value.items():
            if isinstance(item, str) and name not in of_call and len(item.strip()) >= _FEW_CHARACTERS:
                yield item.strip()
            elif name not in of_call:
                yield from _texts_in(item, name)


def _items(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values of a message's key that are parts of their own, with their paths."""
    if key in {"content", "tool_calls"} and isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            is_text = key == "content" and isinstance(item, dict)
            yield f"{key}[{number}]", item.get("text") if is_text else item
            if key == "tool_calls":
                yield from _arguments(f"{key}[{number}]", item)
    elif key == "function_call":
        yield key, value
        yield from _arguments(key, value)
    elif key not in REASONING[1:]:  # the first of its names has the same text
        yield key, value


def _arguments(path: str, call: Any) -> Iterator[tuple[str, Any]]:
    """Yield the arguments of a call with their path."""
    if isinstance(call, dict) and isinstance(call.get("function"), dict):
        path, call = f"{path}.function", call["function"]
    if isinstance(call, dict) and "arguments" in call:
        yield f"{path}.arguments", call["arguments"]


def _text(value: Any) -> str:
    if value is None or isinstance(value, (bool, dict, list, tuple)):
        return "" if value is None or not value else json.dumps(value, default=str)
    return str(value)
