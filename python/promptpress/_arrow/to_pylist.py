"""Requests out of Arrow, as the harness's Python objects."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from promptpress._arrow.types import is_text
from promptpress.typing import Request


def to_pylist(prompts: pa.Array | pa.ChunkedArray) -> list[Request | None]:
    """Return requests as the Python objects that the harness passes on.

    An Arrow struct has every field in every row, so a table's own `to_pylist` fills what a message lacks with None.
    Here a message has the keys that it has, and a bare string among messages is a str again.

    Args:
        prompts: The prompt column of a rendered table: strings, messages, or a prompt list.

    Returns:
        A str or a list a request; None for a null.

    >>> import pyarrow as pa
    >>> rendered = pa.array([[{"role": None, "prompt": "Be kind."}, {"role": "HUMAN", "prompt": "1+1=?"}]])
    >>> to_pylist(rendered)
    [['Be kind.', {'role': 'HUMAN', 'prompt': '1+1=?'}]]

    """
    requests: list[Any] = prompts.to_pylist()
    if is_text(prompts.type):
        return requests
    return [None if request is None else _request(request) for request in requests]


def _request(request: Any) -> Any:
    return [_message(item) for item in request] if isinstance(request, list) else request


def _message(item: Any) -> Any:
    kept = _without_nulls(item)
    if isinstance(kept, dict) and len(kept) == 1 and isinstance(kept.get("prompt"), str):
        return kept["prompt"]
    return kept


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value
