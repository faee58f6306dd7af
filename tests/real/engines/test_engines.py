"""A renderer on each engine gives what it gives in one process, however the samples are split.

What runs are the programs of examples/engines, on real engines with workers of their own. `make test` runs a small part
for each engine that is installed; `make test-engines` brings the engines and runs all.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import itertools
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.json
import pytest

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[2] / "examples"
SAMPLES = pyarrow.json.read_json(EXAMPLES / "test.jsonl")
PACKAGES = {
    "duckdb": "duckdb",
    "polars": "polars",
    "datasets": "datasets",
    "daft": "daft",
    "dask": "distributed",
    "ray": "ray",
    "spark": "pyspark",
}
"""Packages that each engine needs."""
STRINGS = {"daft": "large_string", "polars": "string_view"}
"""The string types of engines that don't use `string`."""
ASK_NOBODY = ("run_datasets", "run_ray")
"""Engines that call no function if there are no rows, so that their result has no prompt column."""
SPLITS = {
    "two": [12, 12],
    "one": [24],
    "seven": [4, 4, 4, 3, 3, 3, 3],
    "uneven": [1, 20, 3],
    "empty between": [10, 0, 14],
    "empty last": [24, 0],
    "no rows": [0],
}
"""Rows of each partition; the first is what `make test` runs."""
API = [{"role": "HUMAN", "api_role": "user"}, {"role": "BOT", "api_role": "assistant", "generate": True}]
JOBS: dict[str, dict[str, Any]] = {
    "messages": {"meta_template": {"round": API}},
    "ppl": {"labels": ["3", 5], "mode": "ppl"},
}

# Engines warn about their own dependencies, and leave sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="session")
def importable() -> Iterator[None]:
    """Make this module importable by name, here and in every worker, because functions are pickled by name."""
    before, inherited = sys.path[:], os.environ.get("PYTHONPATH")
    added = [str(EXAMPLES / "engines"), str(HERE)]
    sys.path[:0] = added
    os.environ["PYTHONPATH"] = os.pathsep.join([*added, *filter(None, [inherited])])
    yield
    sys.path[:] = before
    del os.environ["PYTHONPATH"]
    if inherited is not None:
        os.environ["PYTHONPATH"] = inherited


@pytest.fixture(scope="module")
def engine(request: pytest.FixtureRequest, importable: None) -> Iterator[ModuleType]:  # noqa: ARG001
    """The module that runs an engine's example on given partitions, while the engine runs."""
    name: str = request.param
    if importlib.util.find_spec(PACKAGES[name]) is None:
        pytest.skip(f"{PACKAGES[name]} isn't installed here: make test-engines")
    if name == "spark" and shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs a Java runtime, and there is none")
    with warnings.catch_warnings(), contextlib.ExitStack() as stack:
        warnings.simplefilter("ignore")
        module = importlib.import_module(f"run_{name}")
        stack.enter_context(module.started())
        yield module


def on(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("engine", names, indirect=True)


def five_shot(engine: ModuleType, **overrides: Any) -> pp.Renderer:
    strings = STRINGS.get(engine.__name__.removeprefix("run_"), "string")
    renderer: pp.Renderer = importlib.import_module("five_shot").five_shot(strings=strings, **overrides)
    return renderer


def split(table: pa.Table, rows: list[int]) -> list[pa.Table]:
    starts = itertools.accumulate(rows, initial=0)
    return [table.slice(start, count) for start, count in zip(starts, rows, strict=False)]


def check(engine: ModuleType, renderer: pp.Renderer, parts: list[pa.Table]) -> None:
    samples = pa.concat_tables(parts)
    out = engine.run(renderer, parts)
    assert in_order(out) == renderer(samples).to_pylist()
    if engine.__name__ in ASK_NOBODY and not samples.num_rows:
        assert "prompt" not in out.column_names
    else:
        expected = renderer.output_schema(engine.schema(parts), keep=samples.column_names)
        assert out.schema.equals(expected), out.schema


def in_order(table: pa.Table) -> list[dict[str, Any]]:
    """The rows as the samples stood; requests of one sample stay together in any case."""
    return sorted(table.to_pylist(), key=lambda row: row["id"])


@on(*PACKAGES)
@pytest.mark.parametrize(
    "rows", [pytest.param(rows, id=name, marks=[pytest.mark.full] * (name != "two")) for name, rows in SPLITS.items()]
)
def test_any_split(engine: ModuleType, rows: list[int]) -> None:
    check(engine, five_shot(engine), split(SAMPLES, rows))


@on(*(name for name in PACKAGES if name != "daft"))
@pytest.mark.parametrize("job", JOBS)
@pytest.mark.full
def test_any_output(engine: ModuleType, job: str) -> None:
    """Daft's functions give one value a row, so it has neither structs that it names otherwise nor more rows."""
    check(engine, five_shot(engine, **JOBS[job]), split(SAMPLES, [1, 20, 3]))


@on(*PACKAGES)
def test_a_mistake_in_the_data(engine: ModuleType) -> None:
    """The error's text comes through, whatever the engine wraps around it."""
    shots = pa.array([[0]] * 23 + [[99]], pa.list_(pa.int64()))
    renderer = five_shot(engine, retriever={"type": "IndexColumn", "column": "shots"})
    with pytest.raises(Exception, match='column "shots": example 99 is out of range: there are 8 examples'):
        engine.run(renderer, split(SAMPLES.append_column("shots", shots), [12, 12]))


@on(*PACKAGES)
def test_what_depends_on_more_than_the_batch(engine: ModuleType) -> None:
    """Positions: the choice made beforehand goes along as a column."""
    by_position = five_shot(engine, retriever={"type": "RandomRetriever", "ice_num": 5})
    if engine.__name__ != "run_duckdb":  # a stream counts positions itself
        with pytest.raises(Exception, match="by the sample's position"):
            engine.run(by_position, split(SAMPLES, [12, 12]))
    samples = SAMPLES.append_column("shots", by_position.retrieve(SAMPLES.num_rows))
    renderer = five_shot(engine, retriever={"type": "IndexColumn", "column": "shots"})
    out = engine.run(renderer, split(samples, [1, 20, 3]))
    assert [row["prompt"] for row in in_order(out)] == by_position.render(SAMPLES)["prompt"].to_pylist()


@on(*PACKAGES)
@pytest.mark.full
def test_the_program(engine: ModuleType, tmp_path: Path) -> None:
    """Each example as it stands, Parquet to Parquet, in a process of its own."""
    name = engine.__name__.removeprefix("run_")
    program = f"import sys, pathlib, on_{name}; on_{name}.main(pathlib.Path(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (out,) = (path for path in tmp_path.iterdir() if path.name.startswith(name))
    assert in_order(ds.dataset(out).to_table()) == five_shot(engine)(SAMPLES).to_pylist()


EIGHT = split(SAMPLES, [3] * 8)


@dataclass(frozen=True)
class Travels:
    """Counts how often each worker unpickled, compiled and called a renderer."""

    unpickled: dict[int, int]
    compiled: dict[int, int]
    called: dict[int, int]

    @classmethod
    def of(cls, engine: ModuleType, how: str, folder: Path, *more: Any) -> Travels:
        counted = importlib.import_module("counted")
        out = getattr(engine, how)(counted.Counted.of(five_shot(engine), folder), EIGHT, *more)
        assert out.num_rows == SAMPLES.num_rows
        return cls(*(counted.counts(folder, event) for event in ("unpickled", "compiled", "called")))


@pytest.mark.parametrize(
    ("engine", "how", "most", "more"),
    [
        ("ray", "run_by_actors", 1, [2]),
        # Now and then Dask sends a worker what is scattered once more, for a task that came before it.
        ("dask", "run", 2, []),
        ("spark", "run", 1, []),
        ("datasets", "run", 1, [2]),
    ],
    indirect=["engine"],
)
@pytest.mark.full
def test_the_examples_travel_once_to_each_worker(
    engine: ModuleType, how: str, most: int, more: list[Any], tmp_path: Path
) -> None:
    travels = Travels.of(engine, how, tmp_path, *more)
    assert sum(travels.called.values()) == len(EIGHT)
    assert 1 <= max(*travels.unpickled.values(), *travels.compiled.values()) <= most
    assert travels.compiled.keys() == travels.called.keys() <= travels.unpickled.keys()


@pytest.mark.parametrize(
    ("engine", "how"), [("ray", "run"), ("dask", "run_by_closure"), ("spark", "run_by_closure")], indirect=["engine"]
)
@pytest.mark.full
def test_a_function_travels_with_each_task(engine: ModuleType, how: str, tmp_path: Path) -> None:
    travels = Travels.of(engine, how, tmp_path)
    assert sum(travels.called.values()) == len(EIGHT)
    assert travels.unpickled == travels.compiled == travels.called


@on("ray", "dask", "spark")
@pytest.mark.full
def test_a_worker_of_one_core_renders_with_one_thread(engine: ModuleType, tmp_path: Path) -> None:
    travels = Travels.of(engine, "run", tmp_path)
    assert importlib.import_module("counted").counts(tmp_path, "called with 1 threads") == travels.called


@on("duckdb", "polars", "daft")
@pytest.mark.full
def test_one_process_pickles_nothing(engine: ModuleType, tmp_path: Path) -> None:
    assert Travels.of(engine, "run", tmp_path) == Travels({}, {}, {})
