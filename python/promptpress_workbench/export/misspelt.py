"""The check that the template of prompts names no misspelt column, which all exports make before they write."""

from __future__ import annotations

from typing import Literal

import pyarrow as pa
from promptpress.engine import misspelt_columns
from promptpress.engine.errors import template_error

Unknown = Literal["refuse", "keep"]
"""The choice to refuse or to keep prompts whose template names a misspelt column."""


def refuse_misspelt_columns(schema: pa.Schema, unknown: Unknown) -> None:
    """Refuse prompts of a template with a misspelt column, as metadata say: they may cost money."""
    if unknown not in ("refuse", "keep"):
        raise template_error("unknown_name", "unknown", f"{unknown!r} is not one of 'refuse', 'keep'")
    misspelt = [] if unknown == "keep" else misspelt_columns(schema)
    if misspelt:
        location, message = misspelt[0]
        more = f"; and {len(misspelt) - 1} more" if len(misspelt) > 1 else ""
        message = f'{message}{more} (unknown="keep" writes the prompts all the same)'
        raise template_error("unknown_placeholder", location, message)
