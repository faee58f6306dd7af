"""Prompts as JSON lines and as a batch file, beside the same prompts as Parquet, and beside Polars' `write_ndjson`.

All are timed as whole processes, from start to exit, in turns. Polars gets finished rows: it renders nothing. They are
the prompts, or, for `polars-batch`, the requests as they stand in the batch file. Its files are left to the system to
write; with `-synced` it waits until they are on the disk, as the command does for its files. What a program leaves to
the system is written before the next one starts, and not while that is timed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import ndjson_program
import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq
from memory import air
from peers.promptpress_peer import renderer_of
from rounds import ROUNDS, Replay, by_program
from workloads import BY_ID

MEMORY_LIMIT_BYTES = 1 << 30
ROUNDS_OF_EACH = ROUNDS + 2  # files of this size meet whatever else the disk does
SAMPLES = {"zero": 1_000_000, "five-text": 250_000}
QUICK_SAMPLES = 20_000
PROGRAMS = ("parquet", "jsonl", "batch", "polars", "polars-synced", "polars-batch", "polars-batch-synced")
CASES = [(workload, program, Replay()) for workload in SAMPLES for program in PROGRAMS]
measured: dict[str, dict[str, list[float]]] = {}


def requests_of(prompts: pa.Table) -> pa.Table:
    """The lines of a batch file, as a table of their fields."""

    def same(value: str) -> pa.Array:
        return pa.repeat(value, prompts.num_rows)

    contents = prompts["prompt"].combine_chunks()
    message = pa.StructArray.from_arrays([same("user"), contents], ["role", "content"])
    messages = pa.ListArray.from_arrays(pa.array(range(prompts.num_rows + 1), pa.int32()), message)
    fields = {
        "custom_id": pa.array(range(prompts.num_rows)).cast(pa.string()),
        "method": same("POST"),
        "url": same("/v1/chat/completions"),
        "body": pa.StructArray.from_arrays([same("m"), messages], ["model", "messages"]),
    }
    return pa.table(fields)


def commands(workload_id: str, folder: Path, count: int) -> dict[str, list[str]]:
    """Write the files that the programs take; returns their command lines."""
    workload = BY_ID[workload_id]
    samples = workload.samples(count)
    pq.write_table(samples, folder / "samples.parquet")
    (folder / "config.json").write_text(json.dumps(workload.config), encoding="utf-8")
    given = [str(folder / "config.json"), "--data", str(folder / "samples.parquet"), "--output", "text", "--quiet"]
    if workload.examples:
        pq.write_table(workload.examples(), folder / "examples.parquet")
        given += ["--examples", str(folder / "examples.parquet")]
    prompts = renderer_of(workload).render(samples)
    for name, finished in (("finished.arrow", prompts), ("requests.arrow", requests_of(prompts))):
        with pa.ipc.new_file(folder / name, finished.schema) as writer:
            writer.write_table(finished)
    ours = [sys.executable, "-m", "promptpress"]
    polars = [sys.executable, ndjson_program.__file__, str(folder / "finished.arrow")]
    polars_batch = [sys.executable, ndjson_program.__file__, str(folder / "requests.arrow")]
    everything = ["--max-requests", "1000000000", "--max-bytes", "1000000000000"]  # one file, as the others are
    return {
        "parquet": [*ours, "render", *given, "--out", str(folder / "parquet")],
        "jsonl": [*ours, "render", *given, "--out", str(folder / "jsonl")],
        "batch": [
            *ours,
            "export",
            "openai-batch",
            *given,
            *everything,
            "--model-name",
            "m",
            "--out",
            str(folder / "batch"),
        ],
        "polars": [*polars, str(folder / "polars")],
        "polars-synced": [*polars, str(folder / "polars-synced"), "--sync"],
        "polars-batch": [*polars_batch, str(folder / "polars-batch")],
        "polars-batch-synced": [*polars_batch, str(folder / "polars-batch-synced"), "--sync"],
    }


def measure(workload_id: str, folder: Path, count: int) -> dict[str, list[float]]:
    lines = commands(workload_id, folder, count)
    lines["parquet"] += ["--out-format", "parquet"]
    lines["jsonl"] += ["--out-format", "jsonl"]
    seconds: dict[str, list[float]] = {program: [] for program in PROGRAMS}
    for number in range(ROUNDS_OF_EACH + 1):  # the first brings files into the cache
        for program in PROGRAMS:
            (folder / program).unlink(missing_ok=True)
            os.sync()
            air(MEMORY_LIMIT_BYTES)
            start = time.perf_counter()
            subprocess.run(lines[program], check=True)
            if number:
                seconds[program].append(time.perf_counter() - start)
    compare(folder)
    return seconds


def compare(folder: Path) -> None:
    """Read back what was written: all of the same prompts and requests."""
    prompts = pq.read_table(folder / "parquet", columns=["prompt"])["prompt"]
    for program in ("jsonl", "polars", "polars-synced"):
        loaded = pyarrow.json.read_json(folder / program)["prompt"]
        assert loaded.equals(prompts.cast(loaded.type)), f"{program} holds different prompts"
    requests = requests_of(pa.table({"prompt": prompts}))
    as_requests = pyarrow.json.ParseOptions(explicit_schema=requests.schema)
    for program in ("batch", "polars-batch", "polars-batch-synced"):
        loaded = pyarrow.json.read_json(folder / program, parse_options=as_requests)
        assert loaded.equals(requests), f"{program} holds different requests"


@by_program(CASES, "json_lines")
def test_json_lines(  # noqa: PLR0917 - fixtures
    workload_id: str,
    program: str,
    replay: Replay,
    quick: bool,
    benchmark: Any,
    record_property: Any,
    tmp_path: Path,
) -> None:
    count = QUICK_SAMPLES if quick else SAMPLES[workload_id]
    if workload_id not in measured:
        measured[workload_id] = measure(workload_id, tmp_path, count)
    replay.seconds = list(measured[workload_id][program])
    benchmark.pedantic(replay.play, rounds=ROUNDS_OF_EACH)
    benchmark.extra_info.update({"kind": "json_lines", "workload": workload_id, "program": program, "samples": count})
    record_property("figure", f"{workload_id:18} {'JSON lines: ' + program:20} {benchmark.stats.stats.median:14.3f} s")
