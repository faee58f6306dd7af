"""Small parts of the audit: texts within values, rows of values, tokens of templates, and summaries."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from promptpress_workbench.audit.batch import _written_forms as written_forms
from promptpress_workbench.audit.batch import request_texts, shared_property, texts_in_json, texts_within
from promptpress_workbench.audit.codes import known_codes
from promptpress_workbench.audit.findings import summary, take_column
from promptpress_workbench.audit.requests import _rows_with as rows_with
from promptpress_workbench.audit.special_tokens import _tokens_in as tokens_in
from promptpress_workbench.audit.subject import strings_within
from promptpress_workbench.audit.tokens import _changed as changed
from promptpress_workbench.audit.tokens import _ends as ends
from promptpress_workbench.audit.tokens import _last_trained as last_trained
from promptpress_workbench.audit.values import _nulls as nulls

TALK = [{"role": role, "content": "x"} for role in ("user", "assistant", "user", "assistant")]
VIEWS = pa.array(["a", None], pa.string_view())
RUNS = pa.RunEndEncodedArray.from_arrays(pa.array([1, 3]), VIEWS).slice(0, 2)
CODES = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["a", None]))


def texts_and_rows(texts: Any) -> tuple[list[str], list[int]]:
    return texts.array.to_pylist(), texts.parents.to_pylist()


@pytest.mark.parametrize(
    ("result", "wanted"),
    [
        (
            [texts_and_rows(texts) for texts in texts_within(pa.array([["a"], [], ["b", "c"]]))],
            [(["a", "b", "c"], [0, 2, 2])],
        ),
        (
            texts_and_rows(texts_in_json(pa.array(['[{"role": "user", "content": "\\u0041"}]', None]))),
            (["role", "content", "user", "A"], [0, 0, 0, 0]),
        ),
        ([texts.array.to_pylist() for texts in request_texts(pa.array(["a", "b"]), is_json=False)], [["a", "b"]]),
        (written_forms("a\n"), {"a\n", "a\\n"}),
        (rows_with(pa.array([True, False, True, False]), pa.array([0, 0, 1, 2])).to_pylist(), [0, 1]),
        (tokens_in(["<|im_start|>user\n", "[INST] {q} [/INST]", "a < b"]), ["<|im_start|>", "[INST]", "[/INST]"]),
        (list(last_trained(b"\0\1\1\0\1")), [2, 4]),
        (ends(TALK), [2]),
        (changed("<u>a<m>b<end>", "<u>a<m>b<u>c", "b"), None),
        (changed("<think><m>b", "<m>b<u>c", "b"), 1),
        (nulls(CODES).to_pylist(), [False, True, True]),
        (nulls(RUNS).to_pylist(), [False, True]),
        (take_column(pa.array(["a", "b"], pa.string_view()), pa.array([1])).to_pylist(), ["b"]),
        (summary(["error", "info", "info"], 24), "1 error, 2 infos in 24 rows"),
        (summary([], 1), "no findings in 1 row"),
        (list(strings_within({"begin": "<s>", "round": [{"role": "HUMAN"}]}, {"role"})), ["HUMAN"]),
        (known_codes(["empty_prompt"]), {"empty_prompt"}),
    ],
)
def test_a_part(result: Any, wanted: Any) -> None:
    assert result == wanted


def test_an_unknown_code() -> None:
    with pytest.raises(ValueError, match="allow: there is no finding 'emptyprompt'; did you mean 'empty_prompt'"):
        known_codes(["emptyprompt"])


def test_a_shared_property_is_computed_once() -> None:
    class Sample:
        @shared_property
        def texts(self) -> list[str]:
            return ["made once"]

    sample = Sample()
    assert sample.texts is sample.texts
