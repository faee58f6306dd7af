"""Common parts of the tests of chats."""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa

MESSAGES = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))


def prompts(renderer: pp.Renderer, samples: pa.Table) -> list[Any]:
    return renderer.render(samples)["prompt"].to_pylist()
