"""Samples and configurations that runs are resumed with, and what ends runs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest
from promptpress_workbench.cli import main
from promptpress_workbench.cli import prompt_stream as resume
from promptpress_workbench.files.write import parts
from promptpress_workbench.files.write.parts import Parts

ROWS = 3000
BATCH = 250
INTERRUPTED = str(Path(__file__).parent / "interrupted.py")

READER = {"input_columns": ["q"], "output_column": "a"}
SHOT = {"type": "PromptTemplate", "template": "</E>{q} -> {a}", "ice_token": "</E>"}
FEW = {"type": "PromptTemplate", "template": "</E>Q: {q}\nA: {a}", "ice_token": "</E>"}
META = {"round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}]}
DIALOGUE = {"round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}]}
TURNS = {"round": [{"role": "HUMAN", "prompt": "Q:{question}"}, {"role": "BOT", "prompt": "{answer}"}]}
CLOCK = "{{ messages[0].content }} at {{ strftime_now('%H:%M:%S.%f') }}"

CONFIGS: dict[str, dict[str, Any]] = {
    "gen": {"prompt_template": "Q: {q}\nA: {a}", "reader": READER},
    "ppl": {"prompt_template": {"A": "{q} A", "B": "{q} B"}, "mode": "ppl", "reader": READER},
    "column": {"prompt_template": "{q} {a}", "mode": "ppl", "reader": READER},
    "messages": {"prompt_template": DIALOGUE, "meta_template": META, "reader": READER},
    "random": {
        "prompt_template": FEW,
        "ice_template": SHOT,
        "retriever": {"type": "RandomRetriever", "ice_num": 3, "seed": 5},
        "reader": READER,
    },
    **{
        f"random {dialect}": {
            "prompt_template": {
                "type": "PromptTemplate",
                "template": {"A": "</E>{q} A", "B": "</E>{q} B"},
                "ice_token": "</E>",
            },
            "ice_template": {"type": "PromptTemplate", "template": "{q} -> {a}"},
            "retriever": {"type": "RandomRetriever", "ice_num": 2, "seed": 1},
            "mode": "ppl",
            "reader": READER,
            "dialect": dialect,
        }
        for dialect in ("opencompass", "aisbench")
    },
    "window": {
        "prompt_template": FEW,
        "ice_template": SHOT,
        "retriever": {"type": "SlidingWindowRetriever", "k": 4},
        "reader": READER,
    },
    "chosen": {
        "prompt_template": FEW,
        "ice_template": SHOT,
        "retriever": {"type": "IndexColumn", "column": "shots"},
        "reader": READER,
    },
    "turns": {
        "prompt_template": {"type": "MultiTurnPromptTemplate", "template": TURNS},
        "inferencer": {"type": "MultiTurnGenInferencer", "infer_mode": "every_with_gt"},
        "dialect": "aisbench",
        "meta_template": META,
    },
    "labelled messages": {
        "prompt_template": {"A": DIALOGUE, "B": DIALOGUE},
        "mode": "ppl",
        "meta_template": META,
        "strings": "string_view",
        "reader": READER,
    },
}
EXAMPLES = ["--examples", "train.parquet"]


def samples() -> pa.Table:
    numbers = range(ROWS)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "q": [f"question {n} é" * (n % 5 + 1) for n in numbers],
            "a": ["AB"[n % 2] for n in numbers],
            "when": pa.array([datetime(2026, 1, 1) + timedelta(seconds=n) if n % 7 else None for n in numbers]),
            "flag": pa.array([None if n % 11 == 3 else n % 3 == 0 for n in numbers]),
            "kind": pa.array([["x", "y", "z"][n % 3] for n in numbers]).dictionary_encode(),
            "shots": [[n % 50, (n * 7) % 50] if n % 400 != 9 else [99] for n in numbers],
            "question": [[f"{n}.{turn}?" for turn in range(n % 4)] for n in numbers],
            "answer": [[f"{n}.{turn}!" for turn in range(n % 4)] for n in numbers],
            "messages": [[{"role": "user", "content": f"Hi {n}."}] for n in numbers],
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Samples in every format, and configurations."""
    path = tmp_path_factory.mktemp("resume")
    table = samples()
    pq.write_table(table, path / "data.parquet", row_group_size=700)
    pq.write_table(table, path / "even.parquet", row_group_size=2 * BATCH)
    pq.write_table(table.slice(0, 1000), path / "part-1.parquet")
    pq.write_table(table.slice(1000), path / "part-2.parquet", row_group_size=333)
    pf.write_feather(table, path / "data.arrow", compression="uncompressed", chunksize=800)
    flat = table.select(["id", "q", "a"])
    pc.write_csv(flat, path / "data.csv")
    lines = [json.dumps(row) for row in flat.to_pylist()]
    (path / "data.jsonl").write_text("\n".join(lines) + "\n")
    (path / "data.json").write_text("[" + ",\n".join(lines) + "]")
    pq.write_table(table.slice(0, 50), path / "train.parquet")
    pq.write_table(pa.concat_tables([table] * 2).select(["q", "a"]), path / "long.parquet")
    for name, config in CONFIGS.items():
        (path / f"{name}.json").write_text(json.dumps(config))
    (path / "clock.jinja").write_text(CLOCK)
    (path / "task.yaml").write_text(
        "task: t\ndoc_to_text: 'Q: {{q}}'\ndoc_to_target: '{{a}}'\noutput_type: generate_until\ntest_split: test\n"
    )
    return path


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(resume, "PART_SECONDS", 0)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name for outputs that no other test has."""
    return f"out-{abs(hash(request.node.name)) % 10**10}"


class End(BaseException):
    pass


def stopped_after(monkeypatch: pytest.MonkeyPatch, count: int) -> Callable[[], None]:
    """Let the next runs end when so many parts have been written; call what is returned for those after them."""
    write = Parts.write

    def stopping(self: Parts, *arguments: Any) -> None:
        if self.count >= count:
            raise End
        write(self, *arguments)

    monkeypatch.setattr(Parts, "write", stopping)
    return lambda: monkeypatch.setattr(Parts, "write", write)


def render(*arguments: str) -> int:
    return main(["render", *arguments, "--quiet"])


def parts_of(out: str) -> list[str]:
    folder = parts.parts_folder(out)
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


PLAIN = ["gen.json", "--data", "data.parquet"]


def interrupted(name: str, monkeypatch: pytest.MonkeyPatch, *given: str) -> str:
    out = f"{name}.jsonl"
    go_on = stopped_after(monkeypatch, 3)
    with pytest.raises(End):
        render(*given, "--out", out, "--resume")
    go_on()
    return out
