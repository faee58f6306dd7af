"""Labels that the real retriever takes from a column, and what it makes of a meta template's ids that nobody speaks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest

READER = {"input_columns": ["q"], "output_column": "a"}
COLUMNS: dict[str, pa.Array] = {
    "zoned": pa.array([1_600_000_000, 0, 1_600_000_000], pa.timestamp("s", "UTC")),
    "durations": pa.array([1_000_000, 227, 4], pa.duration("s")),
    "dates": pa.array([20_000, 0, 20_000], pa.date32()),
    "decimals": pa.array([105, -90, 90]).cast(pa.decimal256(60, 1)),
    "unsigned": pa.array([2**64 - 1, 9, 9], pa.uint64()),
    "bytes": pa.array([b"b", b"a", b"b"]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_labels_are_those_of_the_retriever(opencompass: Any, name: str) -> None:
    from opencompass.openicl.icl_prompt_template import PromptTemplate
    from opencompass.openicl.icl_retriever import ZeroRetriever

    assert opencompass
    samples = pa.table({"q": ["x", "y", "z"], "a": COLUMNS[name]})
    rows = Rows(samples.to_pylist())
    reader = SimpleNamespace(output_column="a", input_columns=["q"])
    retriever = ZeroRetriever(SimpleNamespace(reader=reader, train=rows, test=rows))
    template = PromptTemplate("Q: {q} {a}")
    labels = sorted(retriever.get_labels(prompt_template=template))
    want = [
        (str(label), retriever.generate_label_prompt(row, "", label, prompt_template=template))
        for row in range(3)
        for label in labels
    ]
    table = pp.Renderer("Q: {q} {a}", mode="ppl", reader=READER).render(samples)
    assert list(zip(map(str, table["label"].to_pylist()), table["prompt"].to_pylist(), strict=True)) == want


class Rows(list[dict[str, Any]]):
    """Rows that give a column by its name, as a dataset does."""

    def __getitem__(self, key: Any) -> Any:
        return [row[key] for row in self] if isinstance(key, str) else super().__getitem__(key)


def test_ids_that_nobody_speaks(opencompass: Any) -> None:
    from opencompass.models.base_api import APITemplateParser

    assert opencompass
    meta = {
        "round": [
            {"role": "HUMAN", "api_role": "HUMAN", "begin": [1, 2]},
            {"role": "BOT", "api_role": "BOT", "end": [3], "generate": True},
        ],
        "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM", "begin": [4]}],
    }
    want = APITemplateParser(meta).parse_template("Q: x", mode="gen")
    renderer = pp.Renderer("Q: {q}", meta_template=meta)
    assert renderer.render(pa.table({"q": ["x"]}))["prompt"].to_pylist() == [want]
