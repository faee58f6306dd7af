"""The main job at size: one million samples, five examples each, through a chat meta template, to a Parquet file.

    python examples/demo.py [ROWS]

The samples are those of test.jsonl, repeated. `promptpress render` does the work; rendering is then timed once more by
itself, without reading and writing.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import promptpress as pp
import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq
from promptpress_harness.configs.config_file import read_config
from promptpress_harness.configs.selection import choose_dataset, choose_model
from promptpress_workbench import cli as _cli
from promptpress_workbench.cli.output import text_bytes

HERE = Path(__file__).resolve().parent
DATASET, MODEL, TRAIN, TEST = (HERE / name for name in ("sums.py", "chat_model.py", "train.jsonl", "test.jsonl"))
BATCH_ROWS = 65_536


def main(rows: int = 1_000_000, out: Path = HERE / "out") -> int:
    """Write the samples, render them by the command, and say how fast rendering alone is; returns the exit code."""
    out.mkdir(exist_ok=True)
    samples = repeated(pyarrow.json.read_json(TEST), rows)
    pq.write_table(samples, out / "samples.parquet")

    print(f"{rows:,} samples, five examples each. The first prompt, as the model will get it:\n", flush=True)
    job = ["render", DATASET, "--model", MODEL, "--examples", TRAIN, "--keep", "id", "--print-first", "--progress"]
    files = ["--data", out / "samples.parquet", "--out", out / "prompts.parquet"]
    code = _cli.main([str(word) for word in (*job, *files)])
    if code == 0:
        print("    that was end to end: Parquet read, prompts rendered, Parquet written", file=sys.stderr)
        print(f"    rendering alone: {rendering_alone(samples)}", file=sys.stderr)
    return code


def repeated(samples: pa.Table, rows: int) -> pa.Table:
    """The samples over and over, each repetition with memory of its own."""
    times, rest = divmod(rows, samples.num_rows)
    return pa.concat_tables([samples] * times + [samples.slice(0, rest)]).combine_chunks()


def rendering_alone(samples: pa.Table) -> str:
    """Render batch by batch from memory to memory; only that is on the clock."""
    dataset = choose_dataset(read_config(str(DATASET)), None).dataset
    model = choose_model(read_config(str(MODEL)), None)
    assert dataset is not None
    renderer = pp.Renderer.from_config(dataset, model, examples=pyarrow.json.read_json(TRAIN))
    size, seconds = 0, 0.0
    warnings.simplefilter("ignore", pp.PromptWarning)  # the command has said it
    for batch in samples.to_batches(BATCH_ROWS):
        start = time.perf_counter()
        prompts = renderer.render(batch)["prompt"]
        seconds += time.perf_counter() - start
        size += sum(text_bytes(chunk) for chunk in prompts.chunks)
    rows = samples.num_rows
    return f"{rows:,} rows in {seconds:.3f} s: {rows / seconds:,.0f} rows/s, {size / seconds / 1e9:.3f} GB/s"


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2])))
