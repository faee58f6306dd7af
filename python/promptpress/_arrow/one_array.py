"""Texts of one batch in one array, as those want it who gave one batch."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from promptpress._errors.errors import render_error


def one_array(arrays: Sequence[pa.Array], column: str | None = None) -> pa.Array:
    """Join arrays of texts."""
    if len(arrays) == 1:
        return arrays[0]
    try:
        return pa.concat_arrays(arrays)
    except pa.ArrowInvalid as error:
        message = f'{error}; give smaller batches, or strings="large_string"'
        raise render_error("offset_overflow", message, column=column) from error
