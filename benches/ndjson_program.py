"""A Polars program that JSON lines are measured against: finished rows in an Arrow file, `write_ndjson` out.

python benches/ndjson_program.py FINISHED.arrow OUT.jsonl [--sync]

With `--sync` the file is on the disk when the program ends, as the command's files are.
"""

from __future__ import annotations

import os
import sys

import polars as pl
import pyarrow as pa


def main(finished: str, out: str, *options: str) -> None:
    prompts = pa.ipc.open_file(pa.memory_map(finished)).read_all()
    frame = pl.from_arrow(prompts)
    assert isinstance(frame, pl.DataFrame)
    frame.write_ndjson(out)
    if "--sync" in options:
        with open(out, "rb") as file:
            os.fsync(file.fileno())


if __name__ == "__main__":
    main(*sys.argv[1:])
