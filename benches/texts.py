"""The samples of the benches: real text where it is at hand, else generated in the same shape.

The data sets are looked for where `PROMPTPRESS_SHARED` says, else in the folder `shared` beside the project. Generated
text has a fixed seed: so many rows, so many bytes a field. Either way the rows are repeated up to the number asked for,
each repetition with memory of its own.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SHARED = Path(os.environ.get("PROMPTPRESS_SHARED") or Path(__file__).resolve().parents[2] / "shared")
SEED = 20240607
SHOTS = 5


def real_texts() -> bool:
    """Return true if the data sets are available."""
    return (SHARED / "data").is_dir()


@lru_cache
def multiple_choice() -> pa.Table:
    """3,018 questions with four choices: input, A, B, C, D, target."""
    names = ["input", "A", "B", "C", "D", "target"]
    if real_texts():
        return pq.read_table(SHARED / "data" / "mmlu_stem.parquet", columns=names)
    words = Words("multiple_choice")
    rows = [[words.text(149), *(words.text(27) for _ in range(4)), words.pick("ABCD")] for _ in range(3018)]
    return pa.table({name: pa.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)})


@lru_cache
def word_problems(split: str) -> pa.Table:
    """7,473 (train) or 1,319 (test) questions and worked answers: question, answer."""
    if real_texts():
        return pq.read_table(SHARED / "data" / f"gsm8k_{split}.parquet", columns=["question", "answer"])
    words = Words(split)
    count = {"train": 7473, "test": 1319}[split]
    return pa.table(
        {
            "question": [words.text(237) for _ in range(count)],
            "answer": [f"{words.text(280)}\n#### {words.number()}" for _ in range(count)],
        }
    )


@lru_cache
def mathematics() -> pa.Table:
    """272 problems in LaTeX, braces everywhere, no placeholder among them: problem, type."""
    if real_texts():
        return pq.read_table(SHARED / "data" / "minerva_math.parquet", columns=["problem", "type"])
    words = Words("mathematics")
    return pa.table({"problem": [words.latex(421) for _ in range(272)], "type": [words.text(46) for _ in range(272)]})


class Words:
    """Text of about a given length, the same in every run."""

    ALPHABET = "etaoinshrdlucmfwypvbgkq"

    def __init__(self, name: str) -> None:
        self.random = random.Random(f"{SEED} {name}")

    def pick(self, choices: str) -> str:
        return self.random.choice(choices)

    def number(self) -> int:
        return self.random.randrange(1000)

    def word(self) -> str:
        return "".join(self.random.choices(self.ALPHABET, k=self.random.randint(1, 9)))

    def text(self, mean: int) -> str:
        return self._until(mean, self.word)

    def latex(self, mean: int) -> str:
        return self._until(mean, lambda: self.formula() if self.number() < 250 else self.word())

    def formula(self) -> str:
        a, b, c = self.word(), self.number(), self.number()
        return self.pick([f"$\\frac{{{b}}}{{{c}}}$", f"${b} \\mathrm{{~{a}}}$", f"$x_{{{b}}}^{{{c}}}$", "\\sqrt{\\pi}"])

    def _until(self, mean: int, part: Callable[[], str]) -> str:
        length = max(1, int(self.random.lognormvariate(0, 0.5) * mean * 0.88))
        text = part()
        while len(text) < length:
            text += " " + part()
        return text[:length].rstrip() if "\\" not in text else text


def repeated(table: pa.Table, count: int, columns: list[str] | None = None) -> pa.Table:
    """The first `count` rows of the table repeated without end, one chunk a column."""
    table = table.select(columns) if columns else table
    times = -(-count // table.num_rows)
    return pa.concat_tables([table] * times).slice(0, count).combine_chunks()


def with_shot_columns(count: int) -> pa.Table:
    """Word problems with a column of five examples each, drawn at random for every row."""
    table = repeated(word_problems("test"), count)
    draw = random.Random(SEED)
    indices = draw.choices(range(word_problems("train").num_rows), k=SHOTS * count)
    offsets = pa.array(range(0, SHOTS * count + 1, SHOTS), pa.int32())
    return table.append_column("shots", pa.ListArray.from_arrays(offsets, pa.array(indices, pa.int64())))


def hostile(count: int) -> pa.Table:
    """Multiple choice in which every value but the last column's brings in the placeholder of the next column."""
    table = repeated(multiple_choice(), count)
    names = table.column_names
    columns = [pc.binary_join_element_wise(table[name], "{" + later + "}", " ") for name, later in pairwise(names)]
    return pa.table([*columns, table[names[-1]]], names=names)


def with_placeholders(table: pa.Table, every: int, name: str, token: str) -> pa.Table:
    """Return the table with a placeholder at the end of the column's value in one row of so many."""
    ends = pa.array([f" {token}" if row % every == every // 2 else "" for row in range(table.num_rows)])
    column = pc.binary_join_element_wise(table[name], ends, "")
    return table.set_column(table.schema.get_field_index(name), name, column)


def mixed(count: int) -> pa.Table:
    """Values that aren't texts: integers, floats, booleans, nulls and lists beside a question."""
    draw = random.Random(SEED)
    base = multiple_choice()
    rows = base.num_rows
    choices = [base[name].to_pylist() for name in "ABCD"]
    columns = {
        "question": base["input"],
        "number": pa.array([draw.randrange(-(10**6), 10**6) for _ in range(rows)], pa.int64()),
        "score": pa.array([round(draw.uniform(-100, 100), draw.randrange(12)) for _ in range(rows)], pa.float64()),
        "checked": pa.array([draw.random() < 0.5 for _ in range(rows)]),
        "hint": pa.array([draw.choice([None, draw.randrange(100)]) for _ in range(rows)], pa.int64()),
        "nothing": pa.nulls(rows),
        "choices": pa.array([list(row) for row in zip(*choices, strict=True)]),
    }
    return repeated(pa.table(columns), count)


def conversations(count: int) -> pa.Table:
    """Two questions and two answers a row: question, answer, both lists."""
    base = word_problems("test")
    rows = base.num_rows

    def paired(name: str) -> pa.Array:
        first = base[name].combine_chunks()
        both = pc.list_flatten(
            pa.array(list(zip(range(rows), (*range(1, rows), 0), strict=True)), pa.list_(pa.int32()))
        )
        return pa.ListArray.from_arrays(pa.array(range(0, 2 * rows + 1, 2), pa.int32()), first.take(both))

    return repeated(pa.table({name: paired(name) for name in ("question", "answer")}), count)


def endless(table: pa.Table, rows: int, batch: int) -> Iterator[pa.RecordBatch]:
    """`rows` rows in batches, each cut out of the repeated table at another place: nothing is kept of them."""
    block = repeated(table, batch + table.num_rows).to_batches()[0]
    done = 0
    while done < rows:
        length = min(batch, rows - done)
        yield block.slice(done % table.num_rows, length)
        done += length
