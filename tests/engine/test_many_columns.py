"""Tables of many columns: what is done for each column takes no longer because there are others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from growth import growth
from marks import UNWARNED
from promptpress import export
from promptpress_workbench.cli import main

pytestmark = UNWARNED

FEW, MANY = 500, 4000
"""A way whose time grows with the square of the columns takes 64 times as long for as many more."""

RENDERER = pp.Renderer("{c0}")


def command(*words: str) -> Callable[[pa.Table, Path], object]:
    """Return a call of the command for a table, with `KEEP` for the names of all its columns."""

    def run(table: pa.Table, folder: Path) -> None:
        file = folder / f"{table.num_columns}.parquet"
        names = ",".join(table.column_names)
        given = [names if word == "KEEP" else word for word in words]
        code = main([*given, "--template", "{c0}", "--data", str(file), "--out", str(folder / "out.jsonl"), "--quiet"])
        assert code == 0

    return run


def joined(table: pa.Table, _: Path) -> object:
    body = {"choices": [{"message": {"content": "answer"}, "finish_reason": "stop"}]}
    results = [{"custom_id": str(n), "response": {"status_code": 200, "body": body}, "error": None} for n in range(3)]
    return export.join(results, table)


WAYS: dict[str, Callable[[pa.Table, Path], object]] = {
    "keep all": lambda table, _: RENDERER.render(table, keep="all"),
    "prefix order": lambda table, _: RENDERER.render(table, keep="all", order="prefix"),
    "stream": lambda table, _: RENDERER.stream(table, keep="all").read_all(),
    "a call": lambda table, _: RENDERER(table.to_batches()[0]),
    "a template's call": lambda table, _: pp.JinjaTemplate("{{ c0 }}")(table.to_batches()[0]),
    "rows": lambda table, _: RENDERER.render(table.to_pylist(), keep="all"),
    "audit": lambda table, _: RENDERER.audit(table),
    "join": joined,
    "--keep all": command("render", "--keep", "all"),
    "--keep names": command("render", "--keep", "KEEP"),
    "export --keep": command("export", "sharegpt", "--answer", "c1", "--keep", "KEEP"),
    "export pairs": command("export", "alpaca", "--answer", "c1", "--keep", "KEEP"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("columns")
    for number in (FEW, MANY):
        pq.write_table(columns(number), folder / f"{number}.parquet")
    return folder


def columns(number: int, value: Any = "v") -> pa.Table:
    return pa.table({f"c{n}": [value] * 3 for n in range(number)})


@pytest.mark.parametrize("name", WAYS)
def test_time_grows_with_the_number_of_columns(name: str, folder: Path) -> None:
    few, many = (columns(number) for number in (FEW, MANY))
    assert growth(lambda: WAYS[name](few, folder), lambda: WAYS[name](many, folder), 24) <= 24
