"""Five-shot prompts in a lazy Polars query.

python examples/engines/on_polars.py
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import promptpress as pp
from five_shot import OUT, five_shot, samples


def prompts(data: pl.LazyFrame, renderer: pp.Renderer) -> pl.LazyFrame:
    """Polars runs the renderer on a frame at a time; its strings are views, so the renderer's should be too."""

    def rendered(frame: pl.DataFrame) -> pl.DataFrame:
        return pl.DataFrame(renderer(frame))

    schema = rendered(data.collect_schema().to_frame()).schema
    return data.map_batches(rendered, schema=schema, streamable=True)


def main(out: Path = OUT) -> None:
    """Read Parquet, render, write Parquet."""
    prompts(pl.scan_parquet(samples(out)), five_shot(strings="string_view")).sink_parquet(out / "polars.parquet")


if __name__ == "__main__":
    main()
