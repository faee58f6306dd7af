"""The command, timed as whole processes, in turns, beside programs that read and write the same and render nothing.

`pyarrow` writes the prompts, finished, as Parquet with the same codec, row groups and encoding; `polars` as JSON
lines. Each file is left to the system to write, but for the command's own, which it syncs; what is left is written
before the next starts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ndjson_program
import parquet_program
import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq
from chat_workloads import CHATML, conversations
from in_turns import Sizes, Way, measured
from peers import cores
from peers.promptpress_peer import renderer_of
from record import Record
from workloads import BY_ID

MEMORY_LIMIT_BYTES = 1 << 30  # bytes, more than any of them has at any time
COMMAND = [sys.executable, "-m", "promptpress"]


def program(folder: Path, name: str, rows: int, line: list[str], role: str = "ours") -> Way:
    """Return a way that runs a command line which ends with the file that it writes: NAME in the folder."""

    def clean() -> None:
        for file in folder.iterdir():  # what the program before left to the system
            with file.open("rb") as written:
                os.fsync(written.fileno())
        (folder / name).unlink(missing_ok=True)

    work = lambda: subprocess.run([*line, str(folder / name)], check=True)  # noqa: E731
    return Way(name, rows, work, cores(), role, MEMORY_LIMIT_BYTES, clean)


def of_prompts(workload_id: str, folder: Path, count: int) -> Iterator[Way]:
    """Write the files that the programs take."""
    workload = BY_ID[workload_id]
    samples, finished = (str(folder / name) for name in ("samples.parquet", "finished.arrow"))
    table = workload.samples(count)
    pq.write_table(table, samples)
    (folder / "config.json").write_text(json.dumps(workload.config), encoding="utf-8")
    given = [str(folder / "config.json"), "--data", samples, "--output", "text", "--quiet"]
    if workload.examples:
        pq.write_table(workload.examples(), folder / "examples.parquet")
        given += ["--examples", str(folder / "examples.parquet")]
    prompts = renderer_of(workload).render(table)
    with pa.ipc.new_file(finished, prompts.schema) as writer:
        writer.write_table(prompts)
    like = str(folder / "render to Parquet")
    yield program(folder, "render to Parquet", count, [*COMMAND, "render", *given, "--out-format", "parquet", "--out"])
    yield program(folder, "pyarrow", count, [sys.executable, parquet_program.__file__, samples, finished, like], "peer")
    if workload_id == "zero":
        to_lines = [*COMMAND, "render", *given, "--out-format", "jsonl", "--out"]
        yield program(folder, "render to JSON lines", count, to_lines)
        one_file = ["--max-requests", "1000000000", "--max-file-size", "1000000000000"]
        to_batch = [*COMMAND, "export", "openai-batch", *given, *one_file, "--model-name", "m", "--out"]
        yield program(folder, "export openai-batch", count, to_batch)
        yield program(folder, "polars", count, [sys.executable, ndjson_program.__file__, finished], "peer")


def layout(path: Path) -> list[Any]:
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    return [
        (group.num_rows, group.column(number).compression, group.column(number).encodings)
        for group in groups
        for number in range(group.num_columns)
    ]


def test_zero(sizes: Sizes, record: Record, tmp_path: Path) -> None:
    turns = measured(of_prompts("zero", tmp_path, sizes.ours(1_000_000)))
    record("command", "zero", turns)
    same_parquet(tmp_path)
    prompts = pq.read_table(tmp_path / "render to Parquet", columns=["prompt"])["prompt"]
    for name in ("render to JSON lines", "polars"):
        loaded = pyarrow.json.read_json(tmp_path / name)["prompt"]
        assert loaded.equals(prompts.cast(loaded.type)), f"{name} holds different prompts"


def test_five_text(sizes: Sizes, record: Record, tmp_path: Path) -> None:
    record("command", "five-text", measured(of_prompts("five-text", tmp_path, sizes.ours(250_000))))
    same_parquet(tmp_path)


def same_parquet(folder: Path) -> None:
    """Read back what was written: the same prompts in the same layout."""
    ours, theirs = folder / "render to Parquet", folder / "pyarrow"
    assert layout(ours) == layout(theirs)
    assert pq.read_table(ours).equals(pq.read_table(theirs)), "the two files hold different prompts"


def test_chats(sizes: Sizes, record: Record, tmp_path: Path) -> None:
    """Conversations through a chat template, and through a template that prints the column as it is."""
    count, data = sizes.ours(300_000), tmp_path / "chats.parquet"
    pq.write_table(conversations(0, count), data)
    (tmp_path / "chatml.jinja").write_text(CHATML, encoding="utf-8")
    given = ["--data", str(data), "--out-format", "parquet", "--quiet", "--out"]
    names = {"--chat-template": str(tmp_path / "chatml.jinja"), "--template": "{messages}"}
    ways = [program(tmp_path, name, count, [*COMMAND, "render", name, value, *given]) for name, value in names.items()]
    record("command", "chatml", measured(ways))
    assert [pq.read_metadata(tmp_path / name).num_rows for name in names] == [count, count]
