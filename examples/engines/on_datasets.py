"""Five-shot prompts on Hugging Face datasets.

python examples/engines/on_datasets.py
"""

from __future__ import annotations

from pathlib import Path

import datasets
import promptpress as pp
from five_shot import OUT, five_shot, samples


def prompts(data: datasets.Dataset, renderer: pp.Renderer, **arguments: object) -> datasets.Dataset:
    """In Arrow's format a batch is a table, which is what a renderer takes and gives."""
    return data.with_format("arrow").map(renderer, batched=True, **arguments).with_format(None)


def main(out: Path = OUT) -> None:
    """Read Parquet, render, write Parquet."""
    data = datasets.Dataset.from_parquet(samples(out), cache_dir=str(out / "cache"))
    prompts(data, five_shot()).to_parquet(str(out / "datasets.parquet"))


if __name__ == "__main__":
    main()
