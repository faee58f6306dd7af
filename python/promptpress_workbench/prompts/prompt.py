"""One prompt for people: its text in pieces, each with its origin, made of a request and the spans of `explain`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from promptpress.engine.errors import counted
from promptpress.typing import Request

from promptpress_workbench.prompts.token_cells import TokenCell, token_counts_text

_CONTENT_KEYS = ("prompt", "content", "parts", "prompt_mm", "text")
"""Keys that may hold a message's content; the first one that is there does."""

_PAYLOAD_KEYS = ("text", "content", "url", "data")
"""Keys of a part's payload, which go before others: a part also has a type and may have options."""

_MESSAGE = re.compile(r"\[(\d+)\](?!\.role$)")
"""The path of a text of a message, but not of its role."""

Spans = Mapping[tuple[int, int | None], list[dict[str, Any]]]
"""Spans by the numbers of message and part."""

Speaker: TypeAlias = Literal["system", "user", "assistant", "tool"]
"""The role of a turn in a chat, whatever the model's family calls it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text that has one origin; the text is empty if an answer was masked by an empty text."""

    text: str
    source: str | None = None
    """The origin as the spans of `Renderer.explain` or of a template name it; None if it isn't known."""
    column: str | None = None
    example: int | None = None
    """The number of the in-context example, counted within the prompt."""
    role: str | None = None
    """The role as the template names it."""
    path: str | None = None
    """The path of the text in a column of conversations, such as `[0].content`."""
    is_control: bool = field(default=False, repr=False)
    """True if `with_speakers` has found that the piece is a control token of a model family."""
    speaker: Speaker | None = field(default=None, repr=False)
    """The role of the turn in a chat that the piece is part of; `with_speakers` sets it."""

    @property
    def masked(self) -> bool:
        """True if the piece replaces the answer, which generation hides."""
        return self.source in ("masked", "filled_masked")


@dataclass(frozen=True, slots=True)
class ContentPart:
    """One part of a message's content, of a `type` (or an empty one): its text, or its payload's address or data."""

    kind: str
    pieces: tuple[Piece, ...] = ()
    fields: tuple[tuple[str, Any], ...] = ()

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a prompt, of a text or of parts; a bare string among messages has neither role nor key."""

    role: str | None
    pieces: tuple[Piece, ...] = ()
    parts: tuple[ContentPart, ...] = ()
    fields: tuple[tuple[str, Any], ...] = ()
    key: str | None = None
    """The key of the content, such as `prompt` or `content`; `fields` are those other than role and content."""

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.all_pieces())

    def all_pieces(self) -> Iterator[Piece]:
        yield from self.pieces
        for part in self.parts:
            yield from part.pieces

    def texts(self, number: int) -> Iterator[PromptText]:
        """Yield the text of the message, or those of its parts; `number` is the message's in its prompt."""
        if not self.parts:
            yield PromptText(self.pieces, self, number)
        for index, part in enumerate(self.parts):
            yield PromptText(part.pieces, self, number, index)


@dataclass(frozen=True, slots=True)
class PromptText:
    """A text of a prompt: all of it, or that of a message, or that of a part of a message, with their numbers."""

    pieces: tuple[Piece, ...]
    message: PromptMessage | None = None
    number: int | None = None
    part: int | None = None
    cells: tuple[TokenCell, ...] | None = None
    """Its tokens, if the prompt has some."""

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    def cells_with_pieces(self) -> Iterator[tuple[TokenCell, Piece | None]]:
        """Yield the tokens, each with the piece that has its first character, up to the end of the pieces."""
        pieces, total = self.pieces, len(self.text)
        index, end = 0, len(pieces[0].text) if pieces else 0
        for cell in self.cells or ():
            if cell.start > total or (cell.start == total and cell.stop > total):
                return
            while index + 1 < len(pieces) and end <= cell.start:
                index += 1
                end += len(pieces[index].text)
            yield cell, pieces[index] if pieces else None

    @property
    def content(self) -> tuple[object, ...]:
        """The text, role and fields, without their origins."""
        if self.message is None:
            return (self.text,)
        part = None if self.part is None else self.message.parts[self.part]
        part_fields = None if part is None else (part.kind, str(part.fields))
        return self.text, self.message.role, str(self.message.fields), part_fields


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request as the model gets it: the pieces of a text, or messages; None if it can't be rendered."""

    sample: int
    request: Request | None
    pieces: tuple[Piece, ...] = ()
    messages: tuple[PromptMessage, ...] | None = None
    label: Any = None
    turn: int | None = None
    error: str | None = None
    """The reason why there is no request."""
    values: tuple[tuple[str, Any], ...] = ()
    """The row's values in the columns that are rendered, if there is no request."""
    left_out: tuple[str, ...] = ()
    """The parts that a chat template has left out of the request, in words."""
    cells: tuple[tuple[TokenCell, ...], ...] = ()
    """The tokens of each of its `texts`; nothing if there is no tokenizer."""

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.all_pieces())

    @property
    def characters(self) -> int:
        return sum(len(piece.text) for piece in self.all_pieces())

    @property
    def bytes(self) -> int:
        return sum(len(piece.text.encode()) for piece in self.all_pieces())

    def all_pieces(self) -> Iterator[Piece]:
        yield from self.pieces
        for message in self.messages or ():
            yield from message.all_pieces()

    def texts(self) -> Iterator[PromptText]:
        for index, text in enumerate(self._texts()):
            yield replace(text, cells=self.cells[index]) if self.cells else text

    def _texts(self) -> Iterator[PromptText]:
        if self.messages is None:
            yield PromptText(self.pieces)
        for number, message in enumerate(self.messages or ()):
            yield from message.texts(number)


def heading(prompt: Prompt, *, separator: str = " · ") -> str:
    """Return one line that identifies a prompt and says how large it is."""
    entries = request_names(prompt.sample, prompt.label, prompt.turn)
    if prompt.request is None:
        return separator.join([*entries, "no prompt" if prompt.error is None else f"no prompt: {prompt.error}"])
    if prompt.messages is not None:
        entries.append(counted(len(prompt.messages), "message"))
    entries += [counted(prompt.bytes, "byte"), counted(prompt.characters, "character")]
    if prompt.cells:
        entries.append(token_counts_text([cell for cells in prompt.cells for cell in cells]))
    return separator.join(entries)


def message_counts(prompt: Prompt) -> str | None:
    """Return the numbers of tokens, and of trained ones, of each message in words; None if messages aren't known.

    The template's tokens belong to no message, but for those that are trained along with a message's.
    """
    messages: dict[int, tuple[str | None, list[TokenCell]]] = {}
    others = 0
    for text in prompt.texts() if prompt.cells else ():
        if text.message is not None and text.number is not None:
            messages.setdefault(text.number, (text.message.role, []))[1].extend(text.cells or ())
            continue
        latest: list[TokenCell] = []
        waiting: list[TokenCell] = []  # trained tokens before their message, such as a tag
        for cell, piece in text.cells_with_pieces():
            match = None if piece is None or not cell.data else _MESSAGE.match(piece.path or "")
            if match is not None and piece is not None:
                latest = messages.setdefault(int(match[1]), (piece.role, []))[1]
                latest += [*waiting, cell]
                waiting = []
            elif cell.trained and latest and latest[-1].trained:
                latest.append(cell)
            elif cell.trained:
                waiting.append(cell)
            else:
                others += cell.is_token
        others += len(waiting)
    out = []
    for number, (role, cells) in sorted(messages.items()):
        trained = sum(bool(cell.trained) for cell in cells)
        count = sum(cell.is_token for cell in cells)
        out.append(f"{number} {role or ''}".rstrip() + f" {count:,}" + (f" ({trained:,} trained)" if trained else ""))
    if not out:
        return None
    return f"tokens by message: {'; '.join([*out, f'template {others:,}'] if others else out)}"


def request_names(sample: int, label: Any, turn: int | None) -> list[str]:
    """Return the names of a request's row, and of its label and turn if it has them."""
    names = {"row": sample, "label": label, "turn": turn}
    return [f"{name} {value}" for name, value in names.items() if value is not None]


def as_request(value: Any, *, is_json: bool | None) -> Any:
    """Turn a value into a request: a text, or messages in JSON (None: if it holds nothing but objects with a role)."""
    if not isinstance(value, str) or is_json is False or (is_json is None and not value.startswith("[{")):
        return value
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return value
    if is_json or all(isinstance(item, dict) and isinstance(item.get("role"), str) for item in parsed):
        return parsed
    return value


def prompt_of(
    request: Any, sample: int, spans: Iterable[Mapping[str, Any]] = (), *, label: Any = None, turn: int | None = None
) -> Prompt:
    """Build a prompt from a request and rows of `Renderer.explain`, if they cover the text to the byte."""
    by_text: dict[tuple[int, int | None], list[dict[str, Any]]] = {}
    for span in spans:
        by_text.setdefault((span["message"], span["part"]), []).append(dict(span))
    if not isinstance(request, list):
        text = "" if request is None else _text(request)
        return Prompt(sample, request, _pieces(text, by_text.get((0, None), [])), label=label, turn=turn)
    messages = tuple(_message(number, item, by_text) for number, item in enumerate(request))
    return Prompt(sample, request, messages=messages, label=label, turn=turn)


def _message(number: int, item: Any, spans: Spans) -> PromptMessage:
    text_spans = spans.get((number, None), [])
    if not isinstance(item, dict):
        return PromptMessage(None, _pieces(_text(item), text_spans if isinstance(item, str) else []))
    role = item.get("role")
    key = next((key for key in _CONTENT_KEYS if isinstance(item.get(key), (str, list))), None)
    if role is None and "type" in item:  # the parts themselves are the messages
        return PromptMessage(None, parts=(_part(item, text_spans),))
    fields = tuple((name, value) for name, value in item.items() if name not in ("role", key))
    if not isinstance(role, (str, type(None))):
        fields, role = (("role", item["role"]), *fields), None
    content = None if key is None else item[key]
    if isinstance(content, list):
        parts = tuple(_part(part, spans.get((number, index), [])) for index, part in enumerate(content))
        return PromptMessage(role, parts=parts, fields=fields, key=key)
    return PromptMessage(role, _pieces(content or "", text_spans), fields=fields, key=key)


def _part(part: Any, spans: list[dict[str, Any]]) -> ContentPart:
    if not isinstance(part, dict):
        return ContentPart("", _pieces(_text(part), spans))
    kind = part.get("type")
    leaves = list(_leaves({key: value for key, value in part.items() if key != "type"}, ()))
    texts = [(path, value) for path, value in leaves if isinstance(value, str)]
    length = spans[-1]["end"] if spans else None
    fitting = [leaf for leaf in texts if length is None or len(leaf[1].encode()) == length] or texts
    fitting.sort(key=lambda leaf: leaf[0][-1] not in _PAYLOAD_KEYS)
    payload_path, payload = fitting[0] if fitting else ((), "")
    fields = [(".".join(map(str, path)), value) for path, value in leaves if path != payload_path]
    if kind is not None and not isinstance(kind, str):
        fields.insert(0, ("type", kind))
    return ContentPart(kind if isinstance(kind, str) else "", _pieces(payload, spans), tuple(fields))


def _leaves(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the values that nested dicts hold, each after the path of its keys."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    else:
        yield path, value


def _pieces(text: str, spans: list[dict[str, Any]]) -> tuple[Piece, ...]:
    """Cut a text at its spans, which count bytes."""
    if not text and not spans:
        return ()
    data = text.encode("utf-8", "surrogatepass")
    cuts = [0, *(span["end"] for span in spans)]
    if cuts[:-1] != [span["start"] for span in spans] or cuts[-1] != len(data):
        return (Piece(text),) if text else ()
    if len(data) == len(text):
        texts = [text[start:end] for start, end in pairwise(cuts)]
    else:
        try:
            texts = [data[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(cuts)]
        except UnicodeDecodeError:  # a span that ends within a character belongs to another text
            return (Piece(text),)
    names = ("source", "column", "example", "role", "path")
    origins: list[list[Any]] = [[span.get(name) for name in names] for span in spans]
    return tuple(Piece(part, *origin) for part, origin in zip(texts, origins, strict=True))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
