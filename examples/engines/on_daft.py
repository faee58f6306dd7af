"""Five-shot prompts on Daft.

python examples/engines/on_daft.py
"""

from __future__ import annotations

from pathlib import Path

import daft
import promptpress as pp
import pyarrow as pa
from five_shot import OUT, five_shot, samples


def prompts(data: daft.DataFrame, renderer: pp.Renderer) -> daft.DataFrame:
    """Daft's functions take columns and give one; its strings have 64-bit offsets, so the renderer's should too."""
    names = data.column_names
    field = renderer.output_schema(data.schema().to_pyarrow_schema()).field("prompt")

    @daft.func.batch(return_dtype=daft.DataType.from_arrow_type(field.type))
    def prompt(*columns: daft.Series) -> pa.Array:
        batch = pa.RecordBatch.from_arrays([column.to_arrow() for column in columns], names=names)
        return renderer(batch).column("prompt")

    return data.with_column("prompt", prompt(*(daft.col(name) for name in names)))


def main(out: Path = OUT) -> None:
    """Read Parquet, render, write Parquet."""
    data = daft.read_parquet(samples(out))
    prompts(data, five_shot(strings="large_string")).write_parquet(str(out / "daft"), write_mode="overwrite")


if __name__ == "__main__":
    main()
