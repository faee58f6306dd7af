"""Five-shot prompts on Ray Data.

python examples/engines/on_ray.py
"""

from __future__ import annotations

from pathlib import Path

import promptpress as pp
import pyarrow as pa
import ray
import ray.data
from five_shot import OUT, five_shot, samples


def prompts(data: ray.data.Dataset, renderer: pp.Renderer) -> ray.data.Dataset:
    """A renderer is a function of batches; each task unpickles it and compiles it again."""
    return data.map_batches(renderer, batch_format="pyarrow")


def prompts_by_actors(data: ray.data.Dataset, renderer: pp.Renderer, actors: int) -> ray.data.Dataset:
    """The same with actors, each of which unpickles and compiles once: for examples that are many."""
    return data.map_batches(
        Prompts,
        fn_constructor_args=(ray.put(renderer),),
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=actors),
    )


class Prompts:
    """What an actor keeps."""

    def __init__(self, renderer: ray.ObjectRef) -> None:
        self.renderer: pp.Renderer = ray.get(renderer)

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Render one batch."""
        return self.renderer(batch)


def start() -> None:
    """Ray on this machine, with two cores; each worker has one, and so one thread to render with."""
    ray.init(num_cpus=2, runtime_env={"env_vars": {"PROMPTPRESS_THREADS": "1"}}, include_dashboard=False)


def main(out: Path = OUT) -> None:
    """Read Parquet, render, write Parquet."""
    start()
    try:
        data = ray.data.read_parquet(samples(out))
        prompts(data, five_shot()).write_parquet(str(out / "ray"))
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
