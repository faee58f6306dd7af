"""Common parts of the tests of audits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import promptpress as pp
import pyarrow as pa

CHAT = {
    "round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}],
    "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}],
}
CHATML = {
    "round": [
        {"role": "HUMAN", "begin": "<|im_start|>user\n", "end": "<|im_end|>\n"},
        {"role": "BOT", "begin": "<|im_start|>assistant\n", "end": "<|im_end|>\n", "generate": True},
    ]
}
READER = {"input_columns": ["q"], "output_column": "a"}
ICE = {"type": "PromptTemplate", "template": "</E>Q: {q}\nA: {a}", "ice_token": "</E>"}
SHOT = "Q: {q}\nA: {a}\n"


def table(q: Sequence[Any], a: Sequence[Any] | None = None, **more: Sequence[Any]) -> pa.Table:
    return pa.table({"q": q, "a": [f"answer {n}" for n in range(len(q))] if a is None else a, **more})


def findings_by_code(renderer: pp.Renderer, samples: Any, **options: Any) -> dict[str, dict[str, Any]]:
    """Findings by their codes; of several of one code the first."""
    out: dict[str, dict[str, Any]] = {}
    for finding in renderer.audit(samples, **options).to_pylist():
        out.setdefault(finding["code"], finding)
    return out


def rows(findings: Mapping[str, Mapping[str, Any]], code: str) -> list[int] | None:
    """The rows of a finding; None where there is no such finding."""
    return None if code not in findings else findings[code]["first_rows"]


def shots(retriever: Mapping[str, Any], examples: pa.Table, **more: Any) -> pp.Renderer:
    """A renderer of prompts with examples."""
    return pp.Renderer(ICE, SHOT, retriever, examples, reader=READER, **more)
