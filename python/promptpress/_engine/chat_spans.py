"""Origins of texts that a chat template makes of a configuration's messages.

The configuration says where the bytes of each message come from, and the chat template which bytes of a text come from
which message. Put together, they say where each byte of the text comes from. Texts are put together one by one in
Python: this takes longer than to render them, and is done only where spans are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

CHAT_TEMPLATE = "chat_template"
"""The source of what a chat template says itself."""

_CONTENT = "content"
_JOINT = {"source": "separator"}

Span = Mapping[str, Any]


class ChatConversation(NamedTuple):
    """The messages that a chat template gets, and the parts that each of them is joined of.

    Args:
        messages: The messages, each with `role` and `content`.
        sources: The numbers of the request's messages whose texts each message is joined of, by line feeds.

    """

    messages: Sequence[Mapping[str, Any]]
    sources: Sequence[Sequence[int]]


def composed_spans(
    texts: pa.Array,
    chat_spans: pa.Array,
    message_spans: pa.Array,
    conversations: Sequence[ChatConversation | None],
    data_type: pa.DataType,
) -> pa.Array:
    """Return the spans of texts that a chat template has made of messages.

    Args:
        texts: The texts.
        chat_spans: The detailed spans of each text: which bytes come from which message.
        message_spans: The detailed spans of each request: where the bytes of its messages come from.
        conversations: The messages of each request, as the template gets them; None for a request without a text.
        data_type: The type of a text's spans.

    """
    names = [field.name for field in data_type.value_type]
    rows: list[list[dict[str, Any]] | None] = []
    for text, outer, inner, conversation in zip(
        texts.to_pylist(), chat_spans.to_pylist(), message_spans.to_pylist(), conversations, strict=True
    ):
        if text is None or outer is None or inner is None or conversation is None:
            rows.append(None)
            continue
        composed = _joined(_composed(text.encode(), outer, inner, conversation), names)
        rows.append([{name: span.get(name) for name in names} for span in composed])
    return pa.array(rows, data_type)


def _composed(
    text: bytes, outer: Sequence[Span], inner: Sequence[Span], conversation: ChatConversation
) -> Iterator[dict[str, Any]]:
    """Yield the spans of a text."""
    of_messages: dict[int, list[Span]] = {}
    for span in inner:
        of_messages.setdefault(span.get("message") or 0, []).append(span)
    for span in outer:
        number, start, end = span["message"], span["start"], span["end"]
        if span["source"] == "template":
            yield {"start": start, "end": end, "source": CHAT_TEMPLATE}
            continue
        location = {"message": number, "path": span["path"]}
        offset = None
        if span["source"] == "field" and span["path"] == _CONTENT and number is not None:
            offset = _offset(text[start:end].decode(), conversation.messages[number]["content"])
        if offset is None:
            source = CHAT_TEMPLATE if span["path"] == "role" else span["source"]
            source = "computed" if source == "field" else source
            yield {**location, "start": start, "end": end, "source": source}
            continue
        position = 0
        for stretch, length in _stretches(conversation.sources[number], of_messages):
            first, last = max(position, offset), min(position + length, offset + end - start)
            if first < last:
                begin = start - offset
                yield {**stretch, **location, "start": begin + first, "end": begin + last}
            position += length


def _stretches(sources: Sequence[int], of_messages: Mapping[int, Sequence[Span]]) -> Iterator[tuple[Span, int]]:
    """Yield the origins of a message's text, each with its number of bytes."""
    for position, number in enumerate(sources):
        if position:
            yield _JOINT, 1
        for span in of_messages.get(number, ()):
            yield span, span["end"] - span["start"]


def _offset(part: str, content: str) -> int | None:
    """Return at which byte of a content a part begins; None if it isn't known.

    >>> _offset("a", " a a "), _offset("a a", " a a "), _offset("x", "y")
    (None, 1, None)

    """
    # Templates mostly strip contents: what is left has no other place.
    first = len(content) - len(content.lstrip()) if part == content.strip() else content.find(part)
    if first < 0 or (part != content.strip() and content.find(part, first + 1) >= 0):
        return None
    return len(content[:first].encode())


def _joined(spans: Iterator[dict[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    """Join neighbours of one origin, as far as these names tell origins apart."""
    compared = [name for name in names if name not in ("start", "end")]
    out: list[dict[str, Any]] = []
    for span in spans:
        if out and all(out[-1].get(name) == span.get(name) for name in compared):
            out[-1]["end"] = span["end"]
        else:
            out.append(dict(span))
    return out
