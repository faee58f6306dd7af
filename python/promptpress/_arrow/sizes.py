"""The size of the memory that columns refer to, whatever they hold."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def bytes_of(data: pa.Table | pa.RecordBatch | pa.Array | pa.ChunkedArray) -> int:
    """Return how many bytes columns refer to: of a slice those of its rows, but for unions, which count as a whole.

    pyarrow's own `nbytes` reads what isn't there in unions whose children have no buffers; they are valid, and any file
    may hold them.
    """
    if isinstance(data, (pa.Table, pa.RecordBatch)):
        return sum(map(bytes_of, data.itercolumns()))
    size: int = data.get_total_buffer_size() if _has_union(data.type) else data.nbytes
    return size


def _has_union(kind: Any) -> bool:
    if isinstance(kind, pa.BaseExtensionType):
        return _has_union(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _has_union(kind.value_type)
    return pa.types.is_union(kind) or any(_has_union(kind.field(n).type) for n in range(kind.num_fields))
