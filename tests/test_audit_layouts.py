"""The audit of texts in any layout: it finds what it finds in plain strings."""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest

ROWS = {
    "q": ["What is the capital of France?", "see {a} there", "what is the CAPITAL of France", "see {a} there", None],
    "a": ["Paris", "gold", "paris", "gold", "x"],
}
PLAIN = pa.table(ROWS)
READER = {"input_columns": ["q"], "output_column": "a"}
FIXED: dict[str, Any] = {
    "prompt_template": {"type": "PromptTemplate", "template": "</E>{q}", "ice_token": "</E>"},
    "ice_template": {"type": "PromptTemplate", "template": "{q} {a}"},
    "retriever": {"type": "FixKRetriever", "fix_id_list": [1, 0]},
    "reader": READER,
}
BY_POSITION = {**FIXED, "retriever": {"type": "RandomRetriever", "ice_num": 2, "seed": 3}}
CONVERSATION = {"round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}]}
CONFIGS: dict[str, dict[str, Any]] = {
    "fixed examples": FIXED,
    "examples by position": BY_POSITION,
    "views of prompts": {"prompt_template": "{q}", "reader": READER, "strings": "string_view"},
    "views of messages": {
        "prompt_template": CONVERSATION,
        "reader": READER,
        "strings": "string_view",
        "output": "messages",
    },
}


def dictionary(column: pa.ChunkedArray, values: pa.DataType) -> pa.Array:
    encoded = column.combine_chunks().dictionary_encode()
    return pa.DictionaryArray.from_arrays(encoded.indices, encoded.dictionary.cast(values))


LAYOUTS: dict[str, pa.Table] = {
    "large_string": PLAIN.cast(pa.schema([("q", pa.large_string()), ("a", pa.large_string())])),
    "string_view": PLAIN.cast(pa.schema([("q", pa.string_view()), ("a", pa.string_view())])),
    "dictionary": pa.table({name: dictionary(PLAIN[name], pa.string()) for name in ROWS}),
    "dictionary of views": pa.table({name: dictionary(PLAIN[name], pa.string_view()) for name in ROWS}),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CONFIGS)
def test_findings_are_those_of_plain_strings(name: str, layout: str) -> None:
    config = CONFIGS[name]

    def found(table: pa.Table) -> list[dict[str, Any]]:
        examples = {"examples": table} if "retriever" in config else {}
        rows: list[dict[str, Any]] = pp.Renderer(**config, **examples).audit(table).to_pylist()
        return rows

    plain = found(PLAIN)
    assert plain
    assert found(LAYOUTS[layout]) == plain
