"""Bytes, and the number of the rules by which they are made: whoever changes the one raises the other.

If a test here fails because prompts come out otherwise than before, and that is meant: raise `RULES` in
python/promptpress/_config/request_hash.py by one, and write down what is found now. If `RULES` was raised, only the
fingerprints are to be written anew. If neither was meant, something else has changed bytes.
"""

from __future__ import annotations

import hashlib
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED
from promptpress._config.request_hash import RULES
from test_layouts import CONFIGS, META, ROWS, TRAIN

SAMPLES = pa.table(
    {
        **{name: [row[name] for row in ROWS] for name in ROWS[0]},
        "shots": [[n % 6, 5 - n % 6] for n in range(len(ROWS))],
        "number": pa.array([1.0, -0.0, 1e22, 0.1, float("nan"), None, 1e-7], pa.float64()),
        "day": pa.array([0, 1, None, 19_000, -1, 2, 3], pa.date32()),
        "list": [[1, None], [], None, [2], [3, 4], [5], [6]],
    }
)
MADE: dict[str, dict[str, Any]] = {
    **CONFIGS,
    "values": {"prompt_template": "{number} {day} {list} {a}"},
    "random": {**CONFIGS["five-shot text"], "retriever": {"type": "RandomRetriever", "ice_num": 3}},
    "openai": {
        **CONFIGS["five-shot messages"],
        "output": "openai",
        "meta_template": {"round": META["round"], "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}]},
    },
    "json": {**CONFIGS["five-shot messages"], "output": "messages_json"},
    "single pass": {**CONFIGS["zero-shot"], "substitution": "single_pass"},
}
FIXED = 1
"""The rules by which the following was made."""

RECORDED = {
    "zero-shot": ("34395cb8b802c14e", "6db5336dfcefe298"),
    "five-shot text": ("f0a7ac6d84d07bc9", "4a0f2d9cf8949544"),
    "five-shot messages": ("f20a488a5227f2f3", "a503d088a7ef22e6"),
    "prompt list": ("4d2ab2c53ec64613", "1630b3afd1b11110"),
    "ppl": ("9b027204cf71d9b0", "feb315c8c1f22edc"),
    "index column": ("bceb99d536cd9e6e", "4113a3aaeafc025d"),
    "raw messages": ("bb873971a3f5b46e", "c5d8f4a1692b8f3b"),
    "single pass": ("b34a043f107bc0eb", "d8c915bcc464efd5"),
    "values": ("a080c3bdb2e22dde", "e8ffed2ad3b154dd"),
    "random": ("fad8f905f7908c5e", "21de6994ed81ea0a"),
    "openai": ("18ce22f32bcd3c25", "918e7703ed109f7e"),
    "json": ("f20a488a5227f2f3", "20a8eede2165406d"),
}
"""The beginnings of SHA-256 of the hashes of all requests, and of the fingerprint."""


def renderer_of(name: str, **more: Any) -> pp.Renderer:
    settings = {"reader": {"input_columns": ["q", "hint"], "output_column": "a"}, **MADE[name], **more}
    return pp.Renderer(**settings, examples=pa.Table.from_pylist(TRAIN) if "retriever" in settings else None)


def hash_of(table: pa.Table) -> str:
    return hashlib.sha256(b"".join(table["hash"].to_pylist())).hexdigest()


@UNWARNED
@pytest.mark.parametrize("name", MADE)
def test_bytes_are_those_of_the_rules(name: str) -> None:
    renderer = renderer_of(name)
    computed = hash_of(renderer.render(SAMPLES, hashes=True))[:16], renderer.fingerprint()[:16]
    assert computed[0] == RECORDED[name][0], "other bytes: if they are meant, raise RULES and write down what is found"
    if RULES == FIXED:
        assert computed[1] == RECORDED[name][1], (
            "another fingerprint of the same bytes: written in another way, or a default"
        )
    else:
        assert computed[1] != RECORDED[name][1], "RULES were raised, and the fingerprint is as before"


def test_the_rules_are_those_that_are_written_down_here() -> None:
    assert RULES == FIXED, "RULES were raised: write down here what is found now, and FIXED"
