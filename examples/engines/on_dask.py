"""Five-shot prompts on Dask.

python examples/engines/on_dask.py
"""

from __future__ import annotations

from pathlib import Path

import dask.dataframe as dd
import pandas as pd
import promptpress as pp
import pyarrow as pa
from distributed import Client, LocalCluster
from five_shot import OUT, five_shot, samples


def prompts(data: dd.DataFrame, renderer: pp.Renderer, client: Client) -> dd.DataFrame:
    """Scattering sends the renderer to each worker once. The frame's columns are Arrow's (`pandas.ArrowDtype`).

    Without `hash=False` two scattered renderers that are equal share a key, and releasing one can lose the other.
    """
    shared = client.scatter(renderer, broadcast=True, hash=False)
    schema = pa.Schema.from_pandas(data._meta, preserve_index=False)
    meta = renderer.output_schema(schema, keep=schema.names).empty_table().to_pandas(types_mapper=pd.ArrowDtype)
    return data.map_partitions(rendered, shared, meta=meta)


def rendered(frame: pd.DataFrame, renderer: pp.Renderer) -> pd.DataFrame:
    """One partition, from pandas to Arrow and back; neither way copies columns of Arrow's types."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return renderer(table).to_pandas(types_mapper=pd.ArrowDtype)


def start() -> LocalCluster:
    """Dask on this machine, with two workers; each has a core, and so one thread to render with."""
    return LocalCluster(n_workers=2, threads_per_worker=1, env={"PROMPTPRESS_THREADS": "1"}, dashboard_address=None)


def main(out: Path = OUT) -> None:
    """Read Parquet, render, write Parquet."""
    with start() as cluster, Client(cluster) as client:
        data = dd.read_parquet(samples(out), dtype_backend="pyarrow")
        prompts(data, five_shot(), client).to_parquet(str(out / "dask"), write_index=False, overwrite=True)


if __name__ == "__main__":
    main()
