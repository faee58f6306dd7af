"""The schema of what is rendered: no data decides it."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from promptpress._configuration import Configuration
from promptpress._kept_columns import kept_schema
from promptpress._sample_numbers import indexed_schema
from promptpress._tables import core_schema

__all__ = ["OutputSchemas"]


class OutputSchemas:
    """What comes out of samples by their schema; the last one is kept, for batch after batch has the same.

    Args:
        configuration: What says which columns the output has of its own.

    """

    __slots__ = ("_configuration", "_last")

    _configuration: Configuration
    _last: tuple[pa.Schema, tuple[Sequence[str], str | None], pa.Schema] | None

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._last = None

    def of(self, schema: pa.Schema, keep: Sequence[str], index: str | None = None) -> pa.Schema:
        """Return the output's schema: the same object as before, where the same was asked.

        Args:
            schema: The samples'.
            keep: Names of the columns to keep.
            index: The name of a column of the samples' numbers.

        Returns:
            The schema: the index, the kept columns, the output's own.

        Raises:
            RenderError: If a kept column is missing, or two columns would have one name.

        """
        known, asked = self._last, (keep, index)
        if known is None or known[1] != asked or not known[0].equals(schema, check_metadata=True):
            known = self._last = (schema, asked, self._new(schema, keep, index))
        return known[2]

    def _new(self, schema: pa.Schema, keep: Sequence[str], index: str | None) -> pa.Schema:
        kept = kept_schema(schema, keep, self._configuration.output_fields(core_schema(schema)))
        return kept if index is None else indexed_schema(kept, index, keep)
