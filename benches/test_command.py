"""The command `promptpress render`, Parquet to Parquet, beside a pyarrow program that reads and writes the same.

Both are timed as whole processes, from start to exit, in turns.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import parquet_program
import pyarrow as pa
import pyarrow.parquet as pq
from memory import air
from peers.promptpress_peer import renderer_of
from rounds import ROUNDS, Replay, by_program
from workloads import BY_ID

MEMORY_LIMIT_BYTES = 1 << 30  # bytes, more than either program has at any time
PROGRAMS = ("command", "pyarrow")
CASES = [(workload, program, Replay()) for workload in ("zero", "five-text") for program in PROGRAMS]
measured: dict[str, dict[str, list[float]]] = {}


def commands(workload_id: str, folder: Path, count: int) -> dict[str, list[str]]:
    """Write the files that both programs take; returns their command lines."""
    workload = BY_ID[workload_id]
    samples = workload.samples(count)
    files = {name: str(folder / name) for name in ("samples.parquet", "examples.parquet", "config.json")}
    files.update({name: str(folder / name) for name in ("finished.arrow", "command.parquet", "pyarrow.parquet")})
    pq.write_table(samples, files["samples.parquet"])
    Path(files["config.json"]).write_text(json.dumps(workload.config), encoding="utf-8")
    ours = [sys.executable, "-m", "promptpress", "render", files["config.json"], "--data", files["samples.parquet"]]
    ours += ["--out", files["command.parquet"], "--quiet"]
    if workload.examples:
        pq.write_table(workload.examples(), files["examples.parquet"])
        ours += ["--examples", files["examples.parquet"]]
    prompts = renderer_of(workload).render(samples)
    with pa.ipc.new_file(files["finished.arrow"], prompts.schema) as writer:
        writer.write_table(prompts)
    theirs = [sys.executable, parquet_program.__file__]
    theirs += [files[name] for name in ("samples.parquet", "finished.arrow", "command.parquet", "pyarrow.parquet")]
    return {"command": ours, "pyarrow": theirs}


def measure(workload_id: str, folder: Path, count: int) -> dict[str, list[float]]:
    lines = commands(workload_id, folder, count)
    seconds: dict[str, list[float]] = {program: [] for program in PROGRAMS}
    for number in range(ROUNDS + 1):  # the first brings files into the cache
        for program in PROGRAMS:
            (folder / f"{program}.parquet").unlink(missing_ok=True)
            air(MEMORY_LIMIT_BYTES)
            start = time.perf_counter()
            subprocess.run(lines[program], check=True)
            if number:
                seconds[program].append(time.perf_counter() - start)
    assert layout(folder / "command.parquet") == layout(folder / "pyarrow.parquet")
    ours, theirs = (pq.read_table(folder / f"{program}.parquet") for program in PROGRAMS)
    assert ours.equals(theirs), "the two files hold different prompts"
    return seconds


def layout(path: Path) -> list[Any]:
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    return [
        (group.num_rows, group.column(number).compression, group.column(number).encodings)
        for group in groups
        for number in range(group.num_columns)
    ]


@by_program(CASES, "command")
def test_command(  # noqa: PLR0917 - fixtures
    workload_id: str,
    program: str,
    replay: Replay,
    quick: bool,
    benchmark: Any,
    record_property: Any,
    tmp_path: Path,
) -> None:
    count = 20_000 if quick else 1_000_000
    if workload_id not in measured:
        measured[workload_id] = measure(workload_id, tmp_path, count)
    replay.seconds = list(measured[workload_id][program])
    benchmark.pedantic(replay.play, rounds=ROUNDS)
    benchmark.extra_info.update({"kind": "command", "workload": workload_id, "program": program, "samples": count})
    record_property("figure", f"{workload_id:18} {'process: ' + program:20} {benchmark.stats.stats.median:14.3f} s")
