"""The base of all renderers: streams, batches and schemas, which are the same for each of them."""

from __future__ import annotations

from typing import TypeVar, overload

import pyarrow as pa

from promptpress._engine.options import RenderOptions
from promptpress._engine.table_engine import TableEngine
from promptpress._engine.table_renderer import TableRenderer
from promptpress.typing import KeptColumns, RowPolicy, SpanDetail, StreamLike, TableLike

__all__ = ["PromptRenderer"]

Engine = TypeVar("Engine", bound=TableEngine)


class PromptRenderer(TableRenderer[Engine]):
    """Renders streams, batches and schemas."""

    __slots__ = ()

    def stream(
        self,
        batches: StreamLike,
        keep: KeptColumns = (),
        *,
        index: str | None = None,
        hashes: bool = False,
        spans: SpanDetail = False,
        errors: RowPolicy = "raise",
    ) -> pa.RecordBatchReader:
        """Render a stream batch by batch, as it is read.

        Args:
            batches: A reader, a scanner, anything that exports an Arrow stream, an iterable of record batches, or
                whatever `render` takes; files, LazyFrames and datasets that stream are read batch by batch.
            keep: As in `render`.
            index: As in `render`.
            hashes: As in `render`; the metadata have the fingerprint alone, because the rest is known only at the end.
            spans: As in `render`.
            errors: As in `render`.

        Returns:
            A reader; its memory is bounded by the batch. Positions count over the whole stream.

        Raises:
            TemplateError: If the labels would be the values of a column, which no stream knows beforehand.
            RenderError: As `render`, when the batch is read.
            TypeError: As `render`.

        >>> import pyarrow as pa
        >>> from promptpress import JinjaTemplate, Renderer
        >>> batches = pa.table({"question": ["1+1=?", "2+2=?"]}).to_batches(max_chunksize=1)
        >>> [batch["prompt"].to_pylist() for batch in Renderer("Q: {question}").stream(batches)]
        [['Q: 1+1=?'], ['Q: 2+2=?']]
        >>> [batch["prompt"].to_pylist() for batch in JinjaTemplate("Q: {{ question }}").stream(batches)]
        [['Q: 1+1=?'], ['Q: 2+2=?']]

        """
        options = RenderOptions.of(keep, index, hashes=hashes, spans=spans, errors=errors)
        return self._engine.stream(batches, options)

    @overload
    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch: ...
    @overload
    def __call__(self, batch: TableLike) -> pa.Table: ...  # type: ignore[overload-cannot-match]  # pyarrow is untyped
    def __call__(self, batch: pa.RecordBatch | TableLike) -> pa.RecordBatch | pa.Table:
        """Render one batch and keep all its columns: what `map_batches` and `mapInArrow` want.

        Args:
            batch: A `pyarrow.RecordBatch`, or a table.

        Returns:
            The same kind with the output columns appended; one record batch stays one record batch.

        Raises:
            TemplateError: If the configuration depends on more than the batch; the message says what to do.
            RenderError: As `render`; and if the prompts pass what one array of 32-bit offsets can hold.

        >>> import pyarrow as pa
        >>> from promptpress import Renderer
        >>> renderer = Renderer("Q: {question}")
        >>> renderer(pa.record_batch({"question": ["1+1=?"]})).to_pylist()
        [{'question': '1+1=?', 'prompt': 'Q: 1+1=?'}]

        """
        return self._engine.batch(batch)

    def output_schema(
        self,
        schema: pa.Schema,
        keep: KeptColumns = (),
        *,
        index: str | None = None,
        hashes: bool = False,
        spans: SpanDetail = False,
        errors: RowPolicy = "raise",
    ) -> pa.Schema:
        """Return the schema of what rendering samples of `schema` gives; no data decides it.

        Args:
            schema: That of the samples.
            keep: As in `render`.
            index: As in `render`.
            hashes: As in `render`.
            spans: As in `render`.
            errors: As in `render`.

        Returns:
            The schema of `render` and `stream`.

        Raises:
            RenderError: If a kept column or that of the conversations is missing, or two columns would have one name.

        >>> import pyarrow as pa
        >>> from promptpress import Renderer
        >>> Renderer("Q: {q}", strings="large_string").output_schema(pa.schema({"q": pa.string()}))
        prompt: large_string

        """
        options = RenderOptions.of(keep, index, hashes=hashes, spans=spans, errors=errors)
        return self._engine.output_schema(schema, options)
