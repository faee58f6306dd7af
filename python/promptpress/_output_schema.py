"""The schema of what is rendered: no data decides it."""

from __future__ import annotations

import pyarrow as pa

from promptpress._configuration import Configuration
from promptpress._errors import render_error
from promptpress._fingerprint.request_hash import FINGERPRINT
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
        if (
            known is None
            or not (known[1] is options or known[1] == options)
            or not known[0].equals(schema, check_metadata=True)
        ):
            known = self._last = (schema, options, self._new(schema, options))
        return known[2]

    def _new(self, schema: pa.Schema, options: RenderOptions) -> pa.Schema:
        own = list(self._configuration.output_fields(core_schema(schema)))
        spans = self._configuration.spans_type(core_schema(schema), options.span_detail)
        for field in options.fields(self._configuration.settings.get("names"), spans):
            if any(field.name == other.name for other in own):
                message = f"two output columns would be called {field.name!r}; rename one by names="
                raise render_error("duplicate_output_column", message, column=field.name, placed=False)
            own.append(field)
        kept = kept_schema(schema, options.keep, own)
        if options.index is not None:
            kept = indexed_schema(kept, options.index, options.keep)
        return kept.with_metadata({FINGERPRINT: self._configuration.fingerprint()}) if options.hashes else kept
