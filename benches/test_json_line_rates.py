"""Prompts as JSON lines and as a batch file, beside the same prompts as Parquet, and beside Polars' `write_ndjson`.

All are timed as whole processes, from start to exit, in turns. Polars gets finished prompts: it renders nothing. Its
file is left to the system to write; `polars-synced` waits until it is on the disk, as the command does for its files.
What a program leaves to the system is written before the next one starts, and not while that is timed.
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
import pytest
from memory import air
from peers.promptpress_peer import renderer_of
from rounds import ROUNDS, Replay
from workloads import BY_ID

MEMORY_LIMIT_BYTES = 1 << 30
ROUNDS_OF_EACH = ROUNDS + 2  # files of this size meet whatever else the disk does
SAMPLES = {"zero": 1_000_000, "five-text": 250_000}
QUICK_SAMPLES = 20_000
COMPARED_ROWS = 2_000
PROGRAMS = ("parquet", "jsonl", "batch", "polars", "polars-synced")
CASES = [(workload, program, Replay()) for workload in SAMPLES for program in PROGRAMS]
measured: dict[str, dict[str, list[float]]] = {}


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
    with pa.ipc.new_file(folder / "finished.arrow", prompts.schema) as writer:
        writer.write_table(prompts)
    ours = [sys.executable, "-m", "promptpress"]
    polars = [sys.executable, ndjson_program.__file__, str(folder / "finished.arrow")]
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
    compare(folder, count)
    return seconds


def compare(folder: Path, count: int) -> None:
    """Read back what was written: all of the same prompts, and a part of the batch's."""
    prompts = pq.read_table(folder / "parquet", columns=["prompt"])["prompt"]
    for program in ("jsonl", "polars", "polars-synced"):
        found = pyarrow.json.read_json(folder / program)["prompt"]
        assert found.equals(prompts.cast(found.type)), f"{program} holds different prompts"
    with open(folder / "batch", encoding="utf-8") as file:
        requests = [json.loads(line) for _, line in zip(range(COMPARED_ROWS), file, strict=False)]
        rest = sum(1 for _ in file)
    assert len(requests) + rest == count
    for number, (request, prompt) in enumerate(zip(requests, prompts[:COMPARED_ROWS].to_pylist(), strict=True)):
        body = {"model": "m", "messages": [{"role": "user", "content": prompt}]}
        assert request == {"custom_id": str(number), "method": "POST", "url": "/v1/chat/completions", "body": body}


@pytest.mark.parametrize(
    ("workload_id", "program", "replay"),
    [
        pytest.param(*case, id="-".join(case[:2]), marks=pytest.mark.benchmark(group="json_lines", timer=case[2]))
        for case in CASES
    ],
)
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
