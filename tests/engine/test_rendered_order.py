"""Rendered tables whose rows are shuffled, missing, or of a conversation's last turns, beside those that aren't."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promptpress_workbench.prompts.file_rows import FileRows
from promptpress_workbench.prompts.prompt_source import TableRows
from promptpress_workbench.prompts.rendered_source import RenderedSource

SAMPLES = pa.table({"q": [f"q{n}" for n in range(40)], "a": ["x"] * 40})
TEXT = pp.Renderer("Q: {q}", reader={"output_column": "a"})
DIALOGUE = {"round": [{"role": "HUMAN", "prompt": "{q}"}]}
VIEWS = [pp.Renderer(DIALOGUE, output=output, strings="string_view") for output in ("text", "prompt_list")]
PPL = pp.Renderer({"A": "{q} A", "B": "{q} B"}, mode="ppl", reader={"output_column": "a"})


def counts(*sides: Any) -> tuple[int, int, int, int]:
    diff = pp.diff(*sides)
    return diff.compared, diff.different, diff.only_a, diff.only_b


@pytest.mark.parametrize("renderer", [TEXT, PPL, *VIEWS], ids=["text", "ppl", "views", "views in messages"])
def test_shuffled_rows_are_found_by_their_numbers(renderer: pp.Renderer) -> None:
    table = renderer.render(SAMPLES, index="sample")
    order = random.Random(5).sample(range(len(table)), len(table))
    shuffled = pa.concat_tables([table.slice(row, 1) for row in order])  # `take` knows no views
    assert counts(table, shuffled) == counts(renderer, shuffled, SAMPLES) == (len(table), 0, 0, 0)
    source = RenderedSource(TableRows(shuffled))
    want = [row["prompt"] for row in shuffled.to_pylist() if row["sample"] == 7]
    assert [prompt.request for prompt in source.prompts(7)] == want
    fewer = counts(shuffled.slice(1), table)
    assert fewer == (len(table) - 1, 0, 0, 1)


@pytest.mark.parametrize(
    "numbers", [pa.array([0, None, 2]), pa.array([-1, 0, 1]), pa.array([2**64 - 1] * 3, pa.uint64())], ids=str
)
def test_what_is_no_number_of_a_row_isnt_used_as_a_row_number(numbers: pa.Array) -> None:
    samples = SAMPLES.slice(0, 3)
    table = TEXT.render(samples).add_column(0, "sample", numbers)
    assert counts(TEXT, table, samples) == (3, 0, 0, 0)


@pytest.mark.parametrize("index", [None, "sample"])
def test_labels_of_which_some_are_missing(index: str | None) -> None:
    table = PPL.render(SAMPLES, index=index)
    fewer = table.take([n for n in range(len(table)) if n not in (3, 11)])
    for other in ((table,), (PPL, SAMPLES)):
        diff = pp.diff(other[0], fewer, *other[1:])
        assert diff.rows.select(["sample", "label", "change"]).to_pylist() == [
            {"sample": sample, "label": "B", "change": "only_a"} for sample in (1, 5)
        ]
        assert (diff.compared, diff.different) == (len(fewer), 0)
    assert counts(table.slice(0, 5), table) == (5, 0, 0, len(table) - 5)


@pytest.mark.parametrize("rounds", [[2, 1, 1, 3, 2], [1, 2, 3], [1, 1], [3, 3]], ids=str)
def test_last_turns_are_each_a_samples(rounds: list[int]) -> None:
    chat = {"inferencer": {"type": "ChatInferencer", "infer_mode": "last"}, "reader": {"output_column": "a"}}
    talks = [[f"{sample} {turn}" for turn in range(turns)] for sample, turns in enumerate(rounds)]
    samples = pa.table({"q": talks, "a": talks})
    renderer = pp.Renderer(**{**chat, "reader": {"input_columns": ["q"], "output_column": "a"}})
    table = renderer.render(samples)
    assert counts(renderer, table, samples) == counts(table, renderer, samples) == (len(rounds), 0, 0, 0)
    if rounds != sorted(rounds) or rounds[0] > 1:  # else they may as well be all the turns of one
        assert RenderedSource(TableRows(table)).num_samples == len(rounds)


def test_rows_of_a_file_are_counted_by_one_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "prompts.parquet")
    pq.write_table(PPL.render(SAMPLES, index="sample"), path, row_group_size=16)
    read: list[Any] = []
    plain = pq.ParquetFile.iter_batches

    def noted(file: pq.ParquetFile, *arguments: Any, **options: Any) -> Any:
        read.append(arguments)
        return plain(file, *arguments, **options)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", noted)
    source = RenderedSource(FileRows([path]))
    assert [prompt.text for prompt in source.prompts(30)] == ["q30 A", "q30 B"]
    assert [groups for _, groups in read] == [[3]]  # the row group that the row is in, and no other


@pytest.mark.parametrize("index", [None, "sample"])
def test_numbers_of_csv_are_texts(index: str | None) -> None:
    talks = [["a", "b"], ["c"], ["d", "e"]]
    samples = pa.table({"q": talks, "a": talks})
    chat = {"type": "ChatInferencer", "infer_mode": "every_with_gt"}
    renderer = pp.Renderer(reader={"input_columns": ["q"], "output_column": "a"}, inferencer=chat)
    table = renderer.render(samples, index=index)
    texts = pa.table({name: [str(value) for value in table[name].to_pylist()] for name in table.column_names})
    assert counts(renderer, texts, samples) == counts(texts, table) == (5, 0, 0, 0)
    assert [prompt.turn for prompt in RenderedSource(TableRows(texts)).prompts(2)] == [0, 1]
    named = texts.set_column(texts.column_names.index("turn"), "turn", pa.array(["0", "1", "left", "0", "1"]))
    assert RenderedSource(TableRows(named.select(["turn", "prompt"]))).num_samples == 5


@pytest.mark.parametrize("values", [[1, 2], [b"a"], [1.5], [True]], ids=str)
def test_a_column_that_holds_no_prompts(values: list[Any]) -> None:
    table = pa.table({"prompt": values})
    for look in (lambda: pp.stats(table), lambda: pp.diff(table, table)):
        with pytest.raises(pp.RenderError, match=r'column "prompt": it holds \w+; prompts are texts or lists'):
            look()


def test_two_columns_of_prompts() -> None:
    table = pa.table([["a"], ["b"]], names=["prompt", "prompt"])
    with pytest.raises(pp.RenderError, match="2 columns of this name"):
        pp.diff(table, table)
