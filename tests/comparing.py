"""Compares requests of a model with requests of promptpress."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def clean(request: Any) -> Any:
    """A request without what Arrow adds: null fields, and the struct around a bare string."""
    if isinstance(request, dict):
        kept = {key: clean(value) for key, value in request.items() if value is not None}
        return kept["prompt"] if set(kept) == {"prompt"} and isinstance(kept["prompt"], str) else kept
    return [clean(item) for item in request] if isinstance(request, list) else request


def fits_arrow(requests: list[Any]) -> bool:
    """Return true if one Arrow type can hold these requests."""
    wrapped = [
        request
        if isinstance(request, str)
        else [{"prompt": item} if isinstance(item, str) else item for item in request]
        for request in requests
    ]
    try:
        pa.array(wrapped)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return False
    return True
