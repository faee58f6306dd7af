"""Tables as bytes and back, by Arrow's IPC format."""

from __future__ import annotations

import pyarrow as pa


def table_bytes(table: pa.Table) -> bytes:
    """Write a table down, and nothing else that its buffers hold."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def bytes_table(data: bytes) -> pa.Table:
    """Read a table that `table_bytes` wrote."""
    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()
