"""Common parts of texts are put together once: the question of a row's labels, and each example that rows show.

The oracle is the plain model, which knows nothing of it.
"""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import UNWARNED
from models.plain_model import render

QUICK = settings(max_examples=part_of(60), deadline=None, database=None)
ROWS = 1100  # more than one thread takes at a time
LONG = "a long passage " * 45
VALUES = ["", "yes", "é", "日本", LONG, "{", "{b", "}", "b}", "{a}", "{b}", "x{c", "{c}{a}", "</E>"]
META: dict[str, Any] = {
    "begin": "<s>",
    "round": [
        {"role": "HUMAN", "begin": "<user>\n", "end": "</user>\n", "api_role": "HUMAN"},
        {"role": "BOT", "begin": "<bot>\n", "end": "</bot>\n", "api_role": "BOT", "generate": True},
    ],
}
READER = {"input_columns": ["a", "b", "c"], "output_column": None}

odd_rows = st.dictionaries(
    st.sampled_from([0, 1, 63, 64, 255, 256, 1023, 1024, ROWS - 1]),
    st.tuples(*[st.sampled_from(VALUES)] * 3),
    max_size=4,
)


def samples(odd: dict[int, tuple[str, ...]], data_type: pa.DataType) -> pa.Table:
    plain = [(f"question {n}" + " and so on" * (n % 9), "no" if n % 3 else "", f"{n}") for n in range(ROWS)]
    columns = zip(*[odd.get(n, row) for n, row in enumerate(plain)], strict=True)
    return pa.table(
        {name: pa.array(list(values), pa.string()).cast(data_type) for name, values in zip("abc", columns, strict=True)}
    )


def check(config: dict[str, Any], table: pa.Table, train: pa.Table | None = None) -> None:
    want = render(config, table.to_pylist(), train.to_pylist() if train else [])
    renderer = pp.Renderer(**config, examples=train)
    assert renderer.render(table)["prompt"].to_pylist() == want
    assert renderer.stream(table.to_reader(max_chunksize=257)).read_all()["prompt"].to_pylist() == want


def without_texts(role: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in role.items() if key not in ("begin", "end")}


# Texts of labels that begin alike, end alike, both, neither, or are the same; some name a field as their answer.
pieces = st.sampled_from(["{a}", "{b}", "{c}", " and ", "? ", "yes", "no", "ye", "{", "b}", LONG, "é", "è"])


@st.composite
def labelled(draw: st.DrawFn) -> dict[str, str]:
    first, last = draw(st.lists(pieces, max_size=5)), draw(st.lists(pieces, max_size=5))
    middles = draw(st.lists(st.lists(pieces, max_size=2), min_size=1, max_size=4))
    return {f"label {n}": "".join([*first, *middle, *last]) or "." for n, middle in enumerate(middles)}


@UNWARNED
@QUICK
@given(labelled(), odd_rows, st.sampled_from([pa.string(), pa.large_string(), pa.string_view()]))
def test_labels_share_what_they_have_in_common(
    texts: dict[str, str], odd: dict[int, tuple[str, ...]], data_type: pa.DataType
) -> None:
    config = {
        "prompt_template": {"type": "PromptTemplate", "template": texts},
        "reader": READER,
        "inferencer": {"type": "PPLInferencer"},
    }
    check(config, samples(odd, data_type))


@UNWARNED
@pytest.mark.parametrize("output", ["text", "messages"])
@QUICK
@given(labelled(), odd_rows)
def test_labels_of_dialogues(output: str, texts: dict[str, str], odd: dict[int, tuple[str, ...]]) -> None:
    rounds = {
        label: {"round": [{"role": "HUMAN", "prompt": "{a} {b}?"}, {"role": "BOT", "prompt": text}]}
        for label, text in texts.items()
    }
    config = {
        "prompt_template": {"type": "PromptTemplate", "template": rounds},
        "reader": READER,
        "inferencer": {"type": "PPLInferencer"},
        "meta_template": META if output == "text" else {"round": [without_texts(role) for role in META["round"]]},
        "output": output,
    }
    check(config, samples(odd, pa.string()))


rows_of_shots = st.lists(st.lists(st.integers(0, 5), max_size=3), min_size=1, max_size=6)


@UNWARNED
@QUICK
@given(
    rows_of_shots,
    odd_rows,
    st.lists(st.tuples(*[st.sampled_from(VALUES)] * 3), min_size=6, max_size=6),
    st.sampled_from(["gen", "ppl"]),
    st.sampled_from(["{b}", "{b} {c}", "it is {c}", "same"]),
)
def test_examples_of_several_parts(
    shots: list[list[int]],
    odd: dict[int, tuple[str, ...]],
    train: list[tuple[str, ...]],
    mode: str,
    answer: str,
) -> None:
    def dialogue(answer: str) -> dict[str, Any]:
        return {"round": [{"role": "HUMAN", "prompt": "Q: {a}"}, {"role": "BOT", "prompt": answer}]}

    main: dict[str, Any] = {"begin": ["</E>"], **dialogue(answer)}
    ice: dict[str, Any] = dialogue(answer)
    if mode == "ppl":
        main = {label: {"begin": ["</E>"], **dialogue(f"{answer} {label}")} for label in "xyz"}
    config = {
        "prompt_template": {"type": "PromptTemplate", "template": main, "ice_token": "</E>"},
        "ice_template": {"type": "PromptTemplate", "template": ice, "ice_token": "</E>"},
        "retriever": {"type": "IndexColumn", "column": "shots"},
        "reader": {"input_columns": ["a", "b"], "output_column": "c"},
        "inferencer": {"type": "PPLInferencer" if mode == "ppl" else "GenInferencer"},
        "meta_template": META,
        "output": "text",
    }
    table = samples(odd, pa.string())
    table = table.append_column("shots", pa.array([shots[n % len(shots)] for n in range(ROWS)], pa.list_(pa.int64())))
    columns = zip(*train, strict=True)
    check(config, table, pa.table({name: list(values) for name, values in zip("abc", columns, strict=True)}))
