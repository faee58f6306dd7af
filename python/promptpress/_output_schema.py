"""The schema of what is rendered: no data decides it."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from promptpress._configuration import Configuration
from promptpress._errors import render_error
from promptpress._kept_columns import kept_schema
from promptpress._render_options import RenderOptions
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
    _last: tuple[pa.Schema, RenderOptions, pa.Schema] | None

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._last = None

    def of(self, schema: pa.Schema, options: RenderOptions) -> pa.Schema:
        """Return the output's schema: the same object as before, where the same was asked.

        Args:
            schema: The samples'.
            options: What comes beside the prompts.

        Returns:
            The schema: the index, the kept columns, the output's own, what else is said of each request.

        Raises:
            RenderError: If a kept column is missing, or two columns would have one name.

        """
        known = self._last
        if known is None or known[1] != options or not known[0].equals(schema, check_metadata=True):
            known = self._last = (schema, options, self._new(schema, options))
        return known[2]

    def _new(self, schema: pa.Schema, options: RenderOptions) -> pa.Schema:
        names = self._configuration.settings.get("names")
        own = [*self._configuration.output_fields(core_schema(schema)), *options.fields(names)]
        _refuse_twins(own)
        kept = kept_schema(schema, options.keep, own)
        return kept if options.index is None else indexed_schema(kept, options.index, options.keep)


def _refuse_twins(fields: Sequence[pa.Field]) -> None:
    """Refuse two columns of one name, of those that the output has of its own."""
    names = [field.name for field in fields]
    for n, name in enumerate(names):
        if name in names[:n]:
            message = f"two columns of the output are called {name!r}; give one another name by names="
            raise render_error("duplicate_output_column", message, column=name, placed=False)
