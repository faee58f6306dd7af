"""Plain values written down in one way, the same for every Python and machine: what fingerprints are hashes of."""

from __future__ import annotations

import math
import struct
from typing import Any


def written(value: Any) -> bytes:
    """Write a value down so that no two different ones are written alike.

    A letter for the type; before texts, lists and dicts their length, 8 bytes, the lowest first. `1`, `1.0`, `True` and
    `"1"` differ, tuples are lists, NaN is itself, and a dict is written in the order that it has.
    """
    out: list[bytes] = []
    _write(value, out)
    return b"".join(out)


def _write(value: Any, out: list[bytes]) -> None:
    if value is None:
        out.append(b"n")
    elif value is True or value is False:
        out.append(b"b\x01" if value else b"b\x00")
    elif isinstance(value, str):
        _bytes(b"s", value.encode("utf-8", "surrogatepass"), out)
    elif isinstance(value, int):
        # In base 16: Python refuses to print thousands of digits in base 10, and a version may print that differently.
        _bytes(b"i", f"{int(value):x}".encode(), out)
    elif isinstance(value, float):
        out.append(b"f" + struct.pack("<d", math.nan if math.isnan(value) else value))
    elif isinstance(value, (bytes, bytearray, memoryview)):
        _bytes(b"y", bytes(value), out)
    elif isinstance(value, (list, tuple)):
        out.append(b"l" + _count(len(value)))
        for item in value:
            _write(item, out)
    elif isinstance(value, dict):
        out.append(b"d" + _count(len(value)))
        for key, item in value.items():
            _write(key, out)
            _write(item, out)
    else:
        _bytes(b"o", f"{type(value).__name__} {value}".encode("utf-8", "surrogatepass"), out)


def _bytes(tag: bytes, data: bytes, out: list[bytes]) -> None:
    out += (tag, _count(len(data)), data)


def _count(number: int) -> bytes:
    return number.to_bytes(8, "little")
