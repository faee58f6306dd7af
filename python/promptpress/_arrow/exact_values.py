"""Values of Python that Arrow holds exactly, and JSON for those that it would change or refuse."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa
from pyarrow import types

_SCALARS = frozenset({bool, int, float, str})
_BUILTIN = frozenset({*_SCALARS, list, dict})


def is_exact(values: Iterable[Any], kind: pa.DataType, *, builtin: bool = False) -> bool:
    """Return true if a column of a type has the values that Arrow made it of, as far as JSON has such values.

    Arrow makes a number with a fraction of an integer next to one, and gives all dicts the same keys in one order.
    """
    present = [value for value in values if value is not None]
    kinds = set(map(type, present))
    if builtin and not kinds <= _BUILTIN:
        return False
    if types.is_struct(kind):
        names = tuple(field.name for field in kind)
        if not all(isinstance(value, Mapping) and tuple(value) == names for value in present):
            return False
        return all(is_exact([value[field.name] for value in present], field.type, builtin=builtin) for field in kind)
    if types.is_list(kind) or types.is_large_list(kind):
        return is_exact(chain.from_iterable(present), kind.value_type, builtin=builtin)
    if types.is_floating(kind):
        return not any(issubclass(kind, int) for kind in kinds)
    return not (types.is_integer(kind) and bool in kinds)


def json_texts(values: Sequence[Any]) -> list[str | None] | None:
    """Write values as JSON, a tuple as a list; return None if one of them has no such form."""
    texts: list[str | None] = []
    for value in values:
        if value is None:
            texts.append(None)
            continue
        try:
            text = json.dumps(value, default=_plain_number)
        except (TypeError, ValueError, RecursionError):
            return None
        if type(value) not in _SCALARS and not _has_text_keys(value):
            return None
        texts.append(text)
    return texts


def _plain_number(value: Any) -> Any:
    """Return the value of one of NumPy's numbers; raise TypeError for anything else."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} isn't a type of JSON")


def _has_text_keys(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(key, str) for key in value) and all(map(_has_text_keys, value.values()))
    return not isinstance(value, (list, tuple)) or all(map(_has_text_keys, value))
