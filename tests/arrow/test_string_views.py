"""`strings="string_view"`: what every row says stands once, and fields alone stay where the table has them."""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest

BEGIN = [{"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": "Answer in one word, whatever is asked."}]
ROUND = [
    {"role": "HUMAN", "prompt": "{question}"},
    {"role": "BOT", "prompt": "ok"},
    {"role": "HUMAN", "prompt": "And {hint}?"},
    {"role": "BOT", "prompt": "{answer}"},
    {"role": "HUMAN", "prompt": ""},
]
META = {
    "round": [
        {"role": "HUMAN", "api_role": "user"},
        {"role": "BOT", "api_role": "assistant", "generate": True},
    ],
    "reserved_roles": [{"role": "SYSTEM", "api_role": "system"}],
}
LONG = "a question of more than twelve bytes"


def rendered(samples: pa.Table, strings: str, **more: Any) -> pa.Table:
    config: dict[str, Any] = {
        "template": {"begin": BEGIN, "round": ROUND},
        "meta_template": META,
        "output": "messages",
        "strings": strings,
        **more,
    }
    return pp.Renderer(config.pop("template"), **config).render(samples)


def table(data_type: pa.DataType, questions: list[str | None]) -> pa.Table:
    values = pa.array(questions, pa.string())
    column = values.dictionary_encode() if pa.types.is_dictionary(data_type) else values.cast(data_type)
    rows = len(questions)
    return pa.table({"question": column, "hint": [f"hint {n}" for n in range(rows)], "answer": ["yes"] * rows})


def size(array: Any) -> int:
    """Bytes of distinct buffers."""
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    return sum({b.address: b.size for chunk in chunks for b in chunk.buffers() if b is not None}.values())


@pytest.mark.parametrize(
    "data_type",
    [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())],
    ids=str,
)
@pytest.mark.parametrize("odd", [None, "", "short", LONG, "é" * 40, "{answer}", "{hint} {", LONG + "{answer}"])
def test_views_say_what_copies_say(data_type: pa.DataType, odd: str | None) -> None:
    samples = table(data_type, [f"{LONG} {n}" for n in range(150)] + [odd] + ["{x} short"] * 3)
    samples = pa.concat_tables([samples.slice(3, 60), samples.slice(40)])
    views, copies = rendered(samples, "string_view"), rendered(samples, "string")
    views.validate(full=True)
    assert views["prompt"].to_pylist() == copies["prompt"].to_pylist()


@pytest.mark.parametrize("rows", [0, 1, 70_000])
def test_any_number_of_rows(rows: int) -> None:
    samples = table(pa.string(), [f"{LONG} {n}" for n in range(rows)])
    views, copies = rendered(samples, "string_view"), rendered(samples, "string")
    views.validate(full=True)
    assert views["prompt"].to_pylist() == copies["prompt"].to_pylist()


def test_labels_share_what_they_have_in_common() -> None:
    turn = {"role": "HUMAN", "prompt": "{question}"}
    template = {x: {"round": [turn, {"role": "BOT", "prompt": f"It is {x}, I would say."}]} for x in "ABC"}
    samples = table(pa.string(), [f"{LONG} {n}" for n in range(200)])
    views = rendered(samples, "string_view", template=template, mode="ppl")
    assert (
        views["prompt"].to_pylist() == rendered(samples, "string", template=template, mode="ppl")["prompt"].to_pylist()
    )


def test_nothing_that_all_rows_say_is_copied() -> None:
    samples = table(pa.string(), [f"{LONG} {n} " * 20 for n in range(5_000)])
    contents = rendered(samples, "string_view")["prompt"].combine_chunks().values.field("prompt")
    addresses = {b.address for b in samples["question"].chunk(0).buffers() if b is not None}
    assert addresses & {b.address for b in contents.buffers() if b is not None}
    assert size(contents) < size(samples["question"]) + 16 * len(contents) + 30 * samples.num_rows


def test_views_outlive_the_table() -> None:
    samples = table(pa.string(), [f"{LONG} {n}" for n in range(5_000)])
    want = rendered(samples, "string")["prompt"].to_pylist()
    views = rendered(samples, "string_view")
    del samples
    pa.array(["something else " * 20] * 5_000)
    assert views["prompt"].to_pylist() == want


def test_a_field_that_is_no_text_is_found_in_its_row() -> None:
    values = [b"fine"] * 100
    values[7] = b"\xff"
    samples = table(pa.string(), ["?"] * 100).set_column(0, "question", pa.array(values, pa.binary()).view(pa.string()))
    with pytest.raises(pp.RenderError, match="invalid UTF-8") as caught:
        rendered(samples, "string_view")
    assert (caught.value.row, caught.value.column) == (7, "question")
