"""The columns next to the prompts: columns of the samples, and columns that say more of each request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

import promptpress._core as _core
from promptpress._arrow.core_tables import column_names
from promptpress._engine.kept_columns import ALL, names_of
from promptpress._engine.run import Part
from promptpress.typing import KeptColumns, RequestOrder, RowPolicy, SpanDetail

ERRORS = ("raise", "column", "skip")
"""All that may become of a row that can't be rendered."""

INDEX = "sample"
"""The name of the index of requests that are in another order than the samples, if no other is given."""

SHARED = ("prefix_group", "shared_bytes")
"""The usual names of the columns that say how much requests have in common."""

_PREFIX = "prefix"
_DETAILED = "detailed"
_SPANS = "spans"
_HASH = "hash"
_ERROR = "error"


@dataclass(frozen=True)
class RenderOptions:
    """The columns of a rendered table next to its labels, turns and prompts.

    Each column after the prompts is a field in `fields` and an array in `columns`, in one order.

    Args:
        keep: Names of the samples' columns that come along; None: all of them.
        index: The name of a column of the samples' numbers; None: there is none.
        hashes: True for a column of each request's hash.
        spans: True for a column of the origins of its bytes; `"detailed"`: with column, example and role.
        errors: What becomes of a row that can't be rendered: `"raise"` raises its error; `"column"` makes its requests
            null and adds a column of errors; `"skip"` leaves it out.
        order: `"prefix"` puts requests with equal beginnings together; None keeps the order of the samples.
        shared: True for columns of the group of each request and of the bytes that it shares with the one before.

    >>> RenderOptions.of(["id"], index="row")
    RenderOptions(keep=('id',), index='row', hashes=False, spans=False, errors='raise', order=None, shared=False)

    """

    keep: tuple[str, ...] | None = ()
    index: str | None = None
    hashes: bool = False
    spans: SpanDetail = False
    errors: RowPolicy = "raise"
    order: RequestOrder | None = None
    shared: bool = False

    @classmethod
    def of(
        cls,
        keep: KeptColumns | Iterable[str],
        index: str | None = None,
        *,
        hashes: bool = False,
        spans: SpanDetail = False,
        errors: RowPolicy = "raise",
        order: RequestOrder | None = None,
        shared: bool = False,
    ) -> RenderOptions:
        """Take what a user gave."""
        if not isinstance(hashes, bool):
            raise TypeError(f"hashes: expected True or False, found {hashes!r}")
        if not isinstance(spans, bool) and spans != _DETAILED:
            raise TypeError(f"spans: expected True, False or {_DETAILED!r}, found {spans!r}")
        if errors not in ERRORS:
            raise TypeError(f"errors: expected {' or '.join(map(repr, ERRORS))}, found {errors!r}")
        if order not in {None, _PREFIX}:
            raise TypeError(f"order: expected {_PREFIX!r} or None, found {order!r}")
        if not isinstance(shared, bool):
            raise TypeError(f"shared: expected True or False, found {shared!r}")
        if shared and order is None:
            raise TypeError(f"shared: the columns are those of requests in prefix order; add order={_PREFIX!r}")
        if not (hashes or spans or index is not None or order) and keep == () and errors == "raise":
            return _PROMPTS_ALONE
        if order is not None and index is None:
            index = INDEX
        return cls(None if keep == ALL else tuple(names_of(keep)), index, hashes, spans, errors, order, shared)

    def of_schema(self, schema: pa.Schema) -> RenderOptions:
        """Return the options with the names of all columns, if all are kept."""
        return self if self.keep is not None else replace(self, keep=tuple(column_names(schema)))

    @property
    def kept(self) -> tuple[str, ...]:
        """The names of the kept columns, which `of_schema` knows."""
        assert self.keep is not None
        return self.keep

    @property
    def collects_errors(self) -> bool:
        """True if rows that can't be rendered don't end the run."""
        return self.errors != "raise"

    @property
    def has_error_column(self) -> bool:
        """True if a column holds the errors of rows."""
        return self.errors == "column"

    @property
    def has_columns(self) -> bool:
        """True if any column comes after the prompts."""
        return self.hashes or self.has_error_column or self.spans is not False

    @property
    def span_detail(self) -> bool | None:
        """The spans that the core is asked for: None for none, true for detailed ones."""
        return None if self.spans is False else self.spans == _DETAILED

    def fields(self, names: Mapping[str, str] | None = None, spans: pa.DataType | None = None) -> list[pa.Field]:
        """List the fields of the columns after the prompts."""
        names = names or {}
        fields = [] if spans is None else [pa.field(names.get(_SPANS, _SPANS), spans)]
        if self.shared:
            fields += [pa.field(names.get(name, name), pa.int64()) for name in SHARED]
        if self.hashes:
            fields.append(
                pa.field(names.get(_HASH, _HASH), _core.request_hashes(pa.array([], pa.string()), False).type)
            )
        if self.has_error_column:
            fields.append(pa.field(names.get(_ERROR, _ERROR), pa.string()))
        return fields

    def columns(self, part: _core.RenderedRows | Part, prompts: pa.Array, *, is_json: bool) -> list[Any]:
        """Make the columns after the prompts."""
        columns = [] if self.spans is False else [part.spans]
        if self.hashes:
            hashes = part.hashes
            columns.append(_core.request_hashes(prompts, is_json) if hashes is None else hashes)
        if self.has_error_column:
            columns.append(part.errors)
        return columns


_PROMPTS_ALONE = RenderOptions()
"""The options of most calls: making them again takes as long as rendering ten rows."""
