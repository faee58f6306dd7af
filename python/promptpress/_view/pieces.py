"""A request and the spans of `explain`, put together into a prompt."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from promptpress._view.prompt import ContentPart, Piece, Prompt, PromptMessage

__all__ = ["as_request", "prompt_of"]

_CONTENT_KEYS = ("prompt", "content", "parts", "prompt_mm", "text")
"""Keys under which a message may have its content, the first that there is."""

_PAYLOAD_KEYS = ("text", "content", "url", "data")
"""Keys of a part's payload that are asked first: a part has a type and may have options beside."""

Spans = Mapping[tuple[int, int | None], list[dict[str, Any]]]


def as_request(value: Any, *, is_json: bool | None) -> Any:
    """Turn a value of a prompt column into a request.

    Args:
        value: As `promptpress.to_pylist` gives it.
        is_json: Whether texts are `messages_json`; None where that isn't known, and has to be guessed.

    Returns:
        A text, or a list of messages. A text is guessed to be messages where it is JSON of nothing but objects with a
        role.

    >>> as_request('[{"role": "user", "content": "Hi."}]', is_json=None)
    [{'role': 'user', 'content': 'Hi.'}]
    >>> as_request("[1, 2]", is_json=None)
    '[1, 2]'

    """
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
    request: Any,
    sample: int,
    spans: Iterable[Mapping[str, Any]] = (),
    *,
    label: Any = None,
    turn: int | None = None,
) -> Prompt:
    """Put a request and its spans together.

    Args:
        request: A text, or a list of messages and bare strings, or one JSON object; None for a null.
        sample: The number of its sample.
        spans: Rows of `Renderer.explain`; none where origins aren't known. A text that its spans don't cover to the
            byte is one piece without origin.
        label: The request's label.
        turn: The request's turn.

    Returns:
        The prompt.

    >>> span = {"message": 0, "part": None, "start": 0, "end": 2, "source": "field", "column": "q"}
    >>> prompt_of("é", 0, [span]).pieces
    (Piece(text='é', source='field', column='q', example=None, role=None),)

    """
    found: dict[tuple[int, int | None], list[dict[str, Any]]] = {}
    for span in spans:
        found.setdefault((span["message"], span["part"]), []).append(dict(span))
    if not isinstance(request, list):
        text = "" if request is None else request if isinstance(request, str) else _json(request)
        return Prompt(sample, request, _pieces(text, found.get((0, None), [])), label=label, turn=turn)
    messages = tuple(_message(number, item, found) for number, item in enumerate(request))
    return Prompt(sample, request, messages=messages, label=label, turn=turn)


def _message(number: int, item: Any, spans: Spans) -> PromptMessage:
    own = spans.get((number, None), [])
    if isinstance(item, str):
        return PromptMessage(None, _pieces(item, own))
    if not isinstance(item, dict):
        return PromptMessage(None, _pieces(_json(item), []))
    role = item.get("role")
    key = next((key for key in _CONTENT_KEYS if isinstance(item.get(key), (str, list))), None)
    if role is None and "type" in item:  # the parts themselves are the messages
        part = _part(item, own)
        return PromptMessage(None, parts=(part,))
    others = tuple((name, value) for name, value in item.items() if name not in ("role", key))
    if not isinstance(role, (str, type(None))):
        others, role = (("role", item["role"]), *others), None
    content = None if key is None else item[key]
    if isinstance(content, list):
        parts = tuple(_part(part, spans.get((number, at), [])) for at, part in enumerate(content))
        return PromptMessage(role, parts=parts, fields=others, key=key)
    return PromptMessage(role, _pieces(content or "", own), fields=others, key=key)


def _part(part: Any, spans: list[dict[str, Any]]) -> ContentPart:
    if not isinstance(part, dict):
        return ContentPart("", _pieces(part if isinstance(part, str) else _json(part), spans))
    kind = part.get("type")
    leaves = list(_leaves({key: value for key, value in part.items() if key != "type"}, ()))
    texts = [(path, value) for path, value in leaves if isinstance(value, str)]
    length = spans[-1]["end"] if spans else None
    fitting = [leaf for leaf in texts if length is None or len(leaf[1].encode()) == length] or texts
    fitting.sort(key=lambda leaf: leaf[0][-1] not in _PAYLOAD_KEYS)
    path, payload = fitting[0] if fitting else ((), "")
    fields = [(".".join(map(str, own)), value) for own, value in leaves if own != path]
    if kind is not None and not isinstance(kind, str):
        fields.insert(0, ("type", kind))
    return ContentPart(kind if isinstance(kind, str) else "", _pieces(payload, spans), tuple(fields))


def _leaves(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Go through what a part holds, with the keys on the way there."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    else:
        yield path, value


def _pieces(text: str, spans: list[dict[str, Any]]) -> tuple[Piece, ...]:
    """Cut a text by its spans, which are in bytes."""
    if not text and not spans:
        return ()
    data = text.encode("utf-8", "surrogatepass")
    ends = [span["end"] for span in spans]
    if [0, *ends][:-1] != [span["start"] for span in spans] or (ends or [0])[-1] != len(data):
        return (Piece(text),) if text else ()
    if len(data) == len(text):
        cuts = [0, *ends]
        texts = [text[start:end] for start, end in pairwise(cuts)]
    else:
        try:
            texts = [data[span["start"] : span["end"]].decode("utf-8", "surrogatepass") for span in spans]
        except UnicodeDecodeError:  # a span that ends within a character isn't one of this text
            return (Piece(text),)
    names = ("source", "column", "example", "role")
    return tuple(Piece(part, *(span.get(name) for name in names)) for part, span in zip(texts, spans, strict=True))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
