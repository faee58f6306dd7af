"""What a file of prompts says of its making: the renderer's fingerprint, the hash of all requests, the version."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

import promptpress
from promptpress import _compute as pc
from promptpress import _core
from promptpress._cli.jinja_runs import Maker
from promptpress._file_errors import ConfigError
from promptpress._fingerprint.request_hash import FINGERPRINT, HASH, VERSION, RequestsHash
from promptpress._outputs.formats import takes_metadata_at_end
from promptpress._rendered_lines import RenderedLines

_COLUMN = "hash"
_BYTES = 16


def hash_column(renderer: Maker) -> str:
    """Say what the column of the requests' hashes is called.

    Args:
        renderer: what renders.

    Returns:
        The name.

    Example:
        >>> hash_column(promptpress.Renderer("{q}", names={"hash": "blake3"}))
        'blake3'

    """
    names = renderer._configuration.settings["names"] if isinstance(renderer, promptpress.Renderer) else None
    return str((names or {}).get(_COLUMN, _COLUMN))


class Stamp:
    """Hashes prompts on their way into a file.

    Args:
        renderer: what rendered them.
        schema: of the rendered batches.
        kind: the file's format, one of `promptpress._outputs.out_format.OUT_FORMATS`.
        hashes: whether each prompt's hash is a column of the file: bytes, and hexadecimal digits in texts.
        behind: how many columns stand behind the prompts.

    Raises:
        ConfigError: when another column has that column's name.

    Example:
        >>> renderer = promptpress.Renderer("{q}")
        >>> batch = renderer.render({"q": ["a"]}).to_batches()[0]
        >>> stamp = Stamp(renderer, batch.schema, "jsonl", hashes=True)
        >>> next(stamp.stamped([batch])).to_pylist()
        [{'prompt': 'a', 'hash': '17762fddd969a453925d65717ac3eea2'}]

    """

    def __init__(self, renderer: Maker, schema: pa.Schema, kind: str, *, hashes: bool, behind: int = 0) -> None:
        self._is_text = kind in ("jsonl", "csv")
        self._total = RequestsHash() if hashes or takes_metadata_at_end(kind) else None
        settings = renderer._configuration.settings if isinstance(renderer, promptpress.Renderer) else {}
        self._is_json = settings.get("output") == "messages_json"
        self._is_column = hashes
        self.fingerprint = renderer.fingerprint()
        self.prompts = (-2 if hashes else -1) - behind
        self._at = len(schema) - behind
        fields = list(schema)
        if hashes:
            name = hash_column(renderer)
            if name in schema.names:
                raise ConfigError(
                    f"--hashes: another column is called {name!r}, too; rename one, by names: {{hash: ...}}"
                )
            fields.insert(self._at, pa.field(name, pa.string() if self._is_text else pa.binary(_BYTES)))
        known = {FINGERPRINT: self.fingerprint, VERSION: promptpress.__version__}
        self.schema: pa.Schema = pa.schema(fields, None if self._is_text else {**(schema.metadata or {}), **known})

    def stamped(self, batches: Iterable[pa.RecordBatch | RenderedLines]) -> Iterator[pa.RecordBatch | RenderedLines]:
        """Go through rendered batches.

        Args:
            batches: as they come; lines only where nothing is hashed.

        Yields:
            The file's.

        """
        for batch in batches:
            if isinstance(batch, RenderedLines):
                yield batch
                continue
            columns = batch.columns
            if self._total is not None:
                hashes = _core.request_hashes(columns[self._at - 1], self._is_json)
                self._total.update(hashes)
                if self._is_column:
                    columns.insert(self._at, _digits(hashes) if self._is_text else hashes)
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)

    @property
    def hash(self) -> str | None:
        """The hash of all requests so far; None where they aren't hashed."""
        return None if self._total is None else self._total.hexdigest()

    def at_end(self) -> Mapping[str, str]:
        """What is known when all requests have been there."""
        return {} if self.hash is None else {HASH: self.hash}


def _digits(hashes: pa.Array) -> pa.Array:
    data = hashes.buffers()[1].slice(hashes.offset * _BYTES, len(hashes) * _BYTES).to_pybytes().hex().encode()
    ends = array("i", range(0, len(data) + 1, 2 * _BYTES))
    digits = pa.StringArray.from_buffers(len(hashes), pa.py_buffer(ends), pa.py_buffer(data))
    return pc.if_else(hashes.is_valid(), digits, None) if hashes.null_count else digits
