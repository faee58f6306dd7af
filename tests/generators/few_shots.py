"""Small configurations, samples and helpers that several files of tests use."""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa
from test_layouts import CONFIGS, train

SAMPLES = pa.table({"q": ["1+1?", "2+2?", "3+3?"], "a": ["2", "4", "6"], "id": [7, 8, 9]})
SHOT = {"type": "PromptTemplate", "template": "{q}={a}"}
PROMPT = {"type": "PromptTemplate", "template": "</E>{q}={a}", "ice_token": "</E>"}
READER = {"input_columns": ["q"], "output_column": "a"}
FEW_SHOT: dict[str, Any] = {
    "prompt_template": PROMPT,
    "ice_template": SHOT,
    "reader": READER,
    "examples": pa.table(SAMPLES),
}
RAW = [{"role": "system", "content": "{a}"}, {"role": "user", "content": "{q}"}]


def texts(table: Any) -> list[Any]:
    return table["prompt"].to_pylist()


def renderer_of(name: str, **changes: Any) -> pp.Renderer:
    return pp.Renderer(**{**CONFIGS[name], "examples": train(), **changes})


def rendered_or_refused(renderer: pp.Renderer, samples: pa.Table) -> tuple[pa.Table | None, str]:
    try:
        return renderer.render(samples), ""
    except pp.RenderError as error:
        return None, str(error)


def few_shot_renderer(retriever: dict[str, Any], rows: int) -> pp.Renderer:
    examples = pa.table({"q": [f"q{n}" for n in range(rows)], "a": [f"a{n}" for n in range(rows)]})
    return pp.Renderer(**{**FEW_SHOT, "examples": examples}, retriever=retriever)
