"""Metadata of a rendered file: the renderer's fingerprint, the hash of all requests, and the version."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping

import promptpress
import pyarrow as pa
from promptpress import ConfigError
from promptpress.engine import FINGERPRINT, HASH, VERSION, RenderedLines, RequestsHash, engine_of
from promptpress.engine import core as _core
from promptpress.engine.tables import lazy_compute as pc

from promptpress_workbench.cli.sources.jinja_runs import AnyRenderer
from promptpress_workbench.files.write.formats import OUT_FORMATS
from promptpress_workbench.files.write.writers import takes_metadata_at_end

_HASH_COLUMN = "hash"
_HASH_BYTES = 16


class Stamp:
    """Adds metadata to a rendered file, and with `hashes` a column with the hash of each prompt.

    `schema` is that of the rendered batches, in which `columns_after` columns follow the prompts.
    """

    def __init__(
        self,
        renderer: AnyRenderer,
        schema: pa.Schema,
        kind: str,
        *,
        hashes: bool,
        columns_after: int = 0,
    ) -> None:
        self._is_text = OUT_FORMATS[kind].is_text
        has_total = engine_of(renderer).token_counts is None and (hashes or takes_metadata_at_end(kind))
        self._total = RequestsHash() if has_total else None
        self._is_json = engine_of(renderer).writes_json
        self._adds_column = hashes
        self.fingerprint = engine_of(renderer).fingerprint()
        self.prompts = (-2 if hashes else -1) - columns_after
        self._index = len(schema) - columns_after
        fields = list(schema)
        if hashes:
            name = engine_of(renderer).names.get(_HASH_COLUMN, _HASH_COLUMN)
            if name in schema.names:
                raise ConfigError(
                    f"--hashes: another column is called {name!r}, too; rename one, by names: {{hash: ...}}"
                )
            fields.insert(self._index, pa.field(name, pa.string() if self._is_text else pa.binary(_HASH_BYTES)))
        metadata = {**(schema.metadata or {}), FINGERPRINT: self.fingerprint, VERSION: promptpress.__version__}
        self.schema: pa.Schema = pa.schema(fields, None if self._is_text else metadata)

    def stamped(self, batches: Iterable[pa.RecordBatch | RenderedLines]) -> Iterator[pa.RecordBatch | RenderedLines]:
        """Yield the rendered batches with the file's schema, and hash their prompts."""
        for batch in batches:
            if isinstance(batch, RenderedLines):
                yield batch
                continue
            columns = batch.columns
            if self._total is not None:
                hashes = _core.request_hashes(columns[self._index - 1], self._is_json)
                self._total.update(hashes)
                if self._adds_column:
                    columns.insert(self._index, _digits(hashes) if self._is_text else hashes)
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)

    @property
    def hash(self) -> str | None:
        """The hash of all requests so far; None if they aren't hashed."""
        return None if self._total is None else self._total.hexdigest()

    def at_end(self) -> Mapping[str, str]:
        """Return the metadata that depends on all requests, for the end of the file."""
        return {} if self.hash is None else {HASH: self.hash}


def _digits(hashes: pa.Array) -> pa.Array:
    """Return the hexadecimal digits of hashes."""
    start, size = hashes.offset * _HASH_BYTES, len(hashes) * _HASH_BYTES
    data = hashes.buffers()[1].slice(start, size).to_pybytes().hex().encode()
    ends = array("i", range(0, len(data) + 1, 2 * _HASH_BYTES))
    digits = pa.StringArray.from_buffers(len(hashes), pa.py_buffer(ends), pa.py_buffer(data))
    return pc.if_else(hashes.is_valid(), digits, None) if hashes.null_count else digits
