"""CSV files with the types of the harnesses' reader, compared with pandas and `datasets`."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random

import pandas as pd
import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from promptpress_workbench.files.read.samples import Samples

NEWEST = int(pd.__version__.split(".")[0]) >= 3
"""Older pandas rounds numbers of many digits otherwise."""
NULLS = ["", "NA", "null", "None", "nan", "NaN", "n/a", "<NA>", "#N/A", "na"]
ODD_NUMBERS = [
    *("+7", " 8", "9 ", "\t3", "1.", ".5", "-.5", "1e5", "1E+3", "2e-3", "1e", "1e+", ".", "-", "+", "0x10", "1_000"),
    *(
        "1e999",
        "-1e999",
        "1e-999",
        "inf",
        "-inf",
        "Infinity",
        "+INF",
        " inf",
        "infi",
        "-0",
        "-0.0",
        "0e999999",
        "\u0661",
    ),
    *("99999999999999999999.5", "9223372036854775807", "9223372036854775808", "-9223372036854775808"),
    *("-9223372036854775809", "18446744073709551615", "18446744073709551616", "9" * 5000),
]


def digits(random: Random, most: int) -> str:
    return "".join(random.choice("0123456789") for _ in range(random.randint(0, most)))


CELLS: dict[str, Callable[[Random], str]] = {
    "integer": lambda random: str(random.randint(-99, 999)),
    "zeros": lambda random: f"{random.randint(0, 50):03}",
    "large": lambda random: str(random.randint(-(2**63) - 5, 2**64 + 5)),
    "number": lambda random: repr(random.uniform(-1, 1) * 10.0 ** random.randint(-300, 300)),
    "digits": lambda random: f"{digits(random, 25)}.{digits(random, 25)}",
    "odd": lambda random: random.choice(ODD_NUMBERS),
    "truth": lambda random: random.choice(["True", "False", "true", "FALSE", "tRue"]),
    "text": lambda random: random.choice(["a", "b c", " x", "é", "True", "1", "a,b", 'q"u', "l\nn", "007"]),
    "null": lambda random: random.choice(NULLS),
}


def drawn(random: Random) -> str:
    """A file in whose columns most cells are of one kind."""
    rows = random.randint(1, 6)
    columns = []
    for _ in range(random.randint(2, 4)):
        kind, odd = random.choice([*CELLS]), random.choice([0, 0, 0.2])
        column = [
            CELLS[random.choice([*CELLS, "null", "null"]) if random.random() < odd else kind] for _ in range(rows)
        ]
        columns.append([cell(random) for cell in column])
    file = io.StringIO()
    writer = csv.writer(file, quoting=random.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    writer.writerows([[f"c{number}" for number in range(len(columns))], *zip(*columns, strict=True)])
    return file.getvalue()


def plain(table: pa.Table) -> list[tuple[str, str, str]]:
    """The columns, with whatever differs between equal values."""
    return [
        (name, str(column.type).removeprefix("large_"), repr(column.to_pylist()))
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]


def read(path: Path) -> pa.Table:
    samples = Samples([str(path)], harness_types="all")
    table = samples.table()
    samples.close()
    return table


@pytest.mark.skipif(not NEWEST, reason="pandas 3 is the reference")
def test_types_are_those_of_pandas(tmp_path: Path) -> None:
    random, compared = Random(2), 0
    path = tmp_path / "x.csv"
    for _ in range(part_of(4000) // 10):
        text = drawn(random)
        path.write_text(text, newline="")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            part = next(iter(pd.read_csv(path, iterator=True, chunksize=10_000)))
        try:
            want = pa.Table.from_pandas(part)
        except OverflowError:
            continue  # integers of more than 64 bits, which `datasets` can't read
        assert plain(read(path)) == plain(want), text
        compared += 1
    assert compared > 50


@pytest.mark.full
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_the_first_rows_decide_as_in_datasets(tmp_path: Path, suffix: str) -> None:
    datasets = pytest.importorskip("datasets")
    mark = "\t" if suffix == ".tsv" else ","
    path = tmp_path / f"x{suffix}"
    rows = [["i", "f", "t", "u", "n"]] + [[str(n), "1", "x", "1.5", ""] for n in range(10_000)]
    rows += [["7.0", "", "007", "2", "3"], ["", "2.5", "true", "NA", "4.5"]]
    path.write_text("".join(mark.join(row) + "\n" for row in rows))
    options = {"sep": mark, "cache_dir": str(tmp_path / "cache")}
    want = datasets.load_dataset("csv", data_files=str(path), split="train", **options).data.table
    assert plain(read(path)) == plain(want)
    path.write_text("".join(mark.join(row) + "\n" for row in [*rows, ["a", "1", "x", "1", ""]]))
    with pytest.raises(pp.DataError, match="column 'i' has the type int64 in its first 10,000 rows"):
        read(path)


def test_without_rows_there_are_no_types(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n")
    table = read(path)
    assert (table.num_rows, table.column_names) == (0, ["a", "b"])
