"""Tables as bytes and back, by Arrow's IPC format."""

from __future__ import annotations

import pyarrow as pa


def table_bytes(table: pa.Table) -> bytes:
    """Write a table down, and nothing else that its buffers hold.

    >>> import pyarrow as pa
    >>> large = pa.table({"a": [str(n) for n in range(10_000)]})
    >>> len(table_bytes(large.slice(0, 1))) < 1_000
    True
    >>> bytes_table(table_bytes(large)).equals(large)
    True

    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def bytes_table(data: bytes) -> pa.Table:
    """Read a table that `table_bytes` wrote."""
    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()
