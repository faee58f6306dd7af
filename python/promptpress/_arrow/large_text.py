"""The memory of large strings and large binary, as it lies."""

from __future__ import annotations

import pyarrow as pa


def ends_of(texts: pa.LargeBinaryArray | pa.LargeStringArray) -> memoryview:
    """Say where the first of some texts starts, and where each ends.

    Args:
        texts: one or more.

    Returns:
        Numbers of 64 bits, one more than there are texts.

    >>> ends_of(pa.array(["a", "bc"], pa.large_string())).tolist()
    [0, 1, 3]

    """
    return memoryview(texts.buffers()[1]).cast("q")[texts.offset : texts.offset + len(texts) + 1]


def text_of(texts: pa.LargeBinaryArray | pa.LargeStringArray) -> memoryview:
    """Return the bytes of texts, one after the other, without a copy.

    Args:
        texts: any number of them.

    Returns:
        The bytes; those of nulls too.

    >>> bytes(text_of(pa.array([b"a", b"bc"], pa.large_binary())))
    b'abc'

    """
    data = texts.buffers()[2]
    if not len(texts) or data is None:
        return memoryview(b"")
    ends = ends_of(texts)
    return memoryview(data)[ends[0] : ends[-1]]
