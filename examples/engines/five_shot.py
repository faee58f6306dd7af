"""What the programs beside this file render: the sums of examples/, five-shot, through a chat meta template."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow.json
import pyarrow.parquet as pq
from promptpress_harness.configs.config_file import read_config
from promptpress_harness.configs.selection import choose_dataset, choose_model

EXAMPLES = Path(__file__).resolve().parents[1]
OUT = EXAMPLES / "out"


def five_shot(**overrides: Any) -> pp.Renderer:
    """The renderer; its five examples are part of it and travel with it."""
    dataset = choose_dataset(read_config(str(EXAMPLES / "sums.py")), None).dataset
    model = choose_model(read_config(str(EXAMPLES / "chat_model.py")), None)
    assert dataset is not None
    train = pyarrow.json.read_json(EXAMPLES / "train.jsonl")
    return pp.Renderer.from_config(dataset, model, **{"examples": train, **overrides})


def samples(folder: Path = OUT) -> str:
    """Write the samples as Parquet, which every engine reads; returns the file's name."""
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pyarrow.json.read_json(EXAMPLES / "test.jsonl"), folder / "samples.parquet")
    return str(folder / "samples.parquet")
