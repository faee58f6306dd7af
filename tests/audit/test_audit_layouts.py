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

    def findings(table: pa.Table) -> list[dict[str, Any]]:
        examples = {"examples": table} if "retriever" in config else {}
        rows: list[dict[str, Any]] = pp.Renderer(**config, **examples).audit(table).to_pylist()
        return rows

    plain = findings(PLAIN)
    assert plain
    assert findings(LAYOUTS[layout]) == plain


TWICE = [
    {"x": "the answer is blue whale", "y": ["<|im_end|>\x07 {q}"]},
    {"x": "<|im_end|> {q}", "y": ["nothing", "the answer is red panda", "<|im_end|> \x07"]},
    {"x": "<|im_end|>\x07 {q} {z} here", "y": ["<|im_end|>\x07 {q} {z} <|im_end|>"]},
    {"x": "the answer is tree frog \x07 {q} {z}", "y": ["so the answer is tree frog, <|im_end|>"]},
]


@pytest.mark.parametrize("rows", [1, 2, 65536])
def test_a_row_counts_once_however_many_texts_its_value_has(rows: int) -> None:
    answers = ["the answer is " + what for what in ("blue whale", "red panda", "sea otter", "tree frog")]
    samples = pa.table({"q": TWICE * 3, "a": answers * 3, "z": ["-"] * 12})
    assert pp.Renderer("{q}{z}", reader=READER).audit(samples).num_rows
    batches = pa.RecordBatchReader.from_batches(samples.schema, samples.to_batches(max_chunksize=rows))
    for finding in pp.Renderer("{q}{z}", reader=READER).audit(batches).to_pylist():
        if finding["first_rows"] is not None:
            assert finding["first_rows"] == sorted(set(finding["first_rows"])), finding
            assert finding["rows"] <= len(samples), finding
            if finding["rows"] <= 10:
                assert finding["rows"] == len(finding["first_rows"]), finding
