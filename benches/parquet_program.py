"""A pyarrow program that the command is measured against: reads what it reads, writes what it writes, renders nothing.

python benches/parquet_program.py SAMPLES.parquet FINISHED.arrow LIKE.parquet OUT.parquet

The finished prompts lie in an uncompressed Arrow file, which is mapped. Codec, row groups and encoding are those of
LIKE.
"""

from __future__ import annotations

import sys

import pyarrow as pa
import pyarrow.parquet as pq

BATCH_ROWS = 65_536


def main(samples: str, finished: str, like: str, out: str) -> None:
    layout = pq.read_metadata(like)
    column = layout.row_group(0).column(layout.num_columns - 1)
    dictionary = any("DICTIONARY" in encoding for encoding in column.encodings)
    prompts = pa.ipc.open_file(pa.memory_map(finished)).read_all()
    batches = pq.ParquetFile(samples).iter_batches(BATCH_ROWS)
    read = written = 0
    with pq.ParquetWriter(
        out, prompts.schema, compression=column.compression.lower(), use_dictionary=dictionary
    ) as writer:
        for number in range(layout.num_row_groups):
            rows = layout.row_group(number).num_rows
            while read < written + rows and (batch := next(batches, None)) is not None:
                read += batch.num_rows
            writer.write_table(prompts.slice(written, rows), row_group_size=rows)
            written += rows
    assert read == written == prompts.num_rows


if __name__ == "__main__":
    main(*sys.argv[1:])
