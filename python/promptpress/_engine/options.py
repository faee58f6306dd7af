"""Output columns: those of the samples that are kept, the index, and columns that say more of each request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

import pyarrow as pa

import promptpress._core as _core
from promptpress._arrow.core_tables import column_names
from promptpress._errors.errors import did_you_mean, render_error
from promptpress.typing import KeptColumns, RequestOrder, RowPolicy, SpanDetail, Turns

ALL = "all"
"""The value of `keep` that keeps all columns."""

ERRORS = ("raise", "column", "skip")
"""All that may become of a row that can't be rendered."""

INDEX = "sample"
"""The name of the index of requests that are in another order than the samples or of turns, if no other is given."""

SHARED = ("prefix_group", "shared_bytes")
"""The usual names of the columns that say how much requests have in common."""


def names_of(keep: Iterable[str]) -> list[str]:
    """List the names of the columns to keep; an iterator gives them only once."""
    if isinstance(keep, str):
        raise TypeError(
            f"keep: expected a sequence of column names or {ALL!r}, found the str {keep!r}; a list of one is [{keep!r}]"
        )
    if not isinstance(keep, Iterable):
        raise TypeError(f"keep: expected a sequence of column names, found {keep!r}")
    names = list(keep)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"keep: expected column names, found {name!r}")
    return names


def with_distinct_names(fields: list[pa.Field]) -> list[pa.Field]:
    """Return output columns; refuse two of one name."""
    seen = set[str]()
    for field in fields:
        if field.name in seen:
            message = f"two output columns would be called {field.name!r}; rename one by names="
            raise render_error("duplicate_output_column", message, column=field.name, placed=False)
        seen.add(field.name)
    return fields


def kept_schema(schema: pa.Schema, keep: Sequence[str], fields: list[pa.Field]) -> pa.Schema:
    """Put the fields of kept columns before the output's own."""
    # Sets, because a table may have tens of thousands of columns.
    present, seen, output_names = set(column_names(schema)), set[str](), {field.name for field in fields}
    for name in keep:
        if name not in present:
            listed = ", ".join(map(repr, schema.names))
            message = f"keep: the table has no column {name!r}; it has {listed}{did_you_mean(name, schema.names)}"
            raise render_error("missing_column", message, column=name, placed=False)
        if name in seen:
            message = f"keep: column {name!r} stands there twice; one output has no two columns of a name"
            raise render_error("duplicate_output_column", message, column=name, placed=False)
        if name in output_names:
            message = f"column {name!r} is kept and has the name of an output column; rename that by names="
            raise render_error("duplicate_output_column", message, column=name, placed=False)
        seen.add(name)
    return pa.schema([*(schema.field(name) for name in keep), *fields])


def indexed_schema(schema: pa.Schema, name: str, keep: Sequence[str]) -> pa.Schema:
    """Put the index before an output's columns."""
    if not isinstance(name, str):
        raise TypeError(f"index: expected the name of a column, found {name!r}")
    if not name or "\0" in name:
        raise render_error("invalid_column_name", f"index: {name!r} is no name for a column", placed=False)
    if name in schema.names:
        what = "a kept column" if name in keep else "an output column"
        other = f"{name}_index" if f"{name}_index" not in schema.names else "another"
        message = f"index: {what} is called {name!r} too; call the index {other!r}, say"
        message += "" if name in keep else ", or rename that by names="
        raise render_error("duplicate_output_column", message, column=name, placed=False)
    return pa.schema([pa.field(name, pa.int64()), *schema])


@dataclass(frozen=True)
class RenderOptions:
    """The columns of a rendered table next to its labels, turns and prompts.

    Args:
        keep: Names of the samples' columns that come along; None: all of them.
        index: The name of a column of the samples' numbers; None: there is none.
        hashes: True for a column of each request's hash.
        spans: True for a column of the origins of its bytes; `"detailed"`: with column, example and role.
        errors: What becomes of a row that can't be rendered: `"raise"` raises its error; `"column"` makes its requests
            null and adds a column of errors; `"skip"` leaves it out.
        order: `"prefix"` puts requests with equal beginnings together; None keeps the order of the samples.
        shared: True for columns of the group of each request and of the bytes that it shares with the one before.
        turns: `"each"`: a request for each turn of an assistant; `"all"`: a conversation is one.

    >>> RenderOptions.of(["id"], index="row").kept
    ('id',)
    """

    keep: tuple[str, ...] | None = ()
    index: str | None = None
    hashes: bool = False
    spans: SpanDetail = False
    errors: RowPolicy = "raise"
    order: RequestOrder | None = None
    shared: bool = False
    turns: Turns = "all"

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
        turns: Turns = "all",
    ) -> RenderOptions:
        """Take what a user gave: the arguments are those of the class; with an order or turns there always is an index.

        Raises:
            TypeError: If an argument is something else, or `shared` is given without an order.
        """
        if not isinstance(hashes, bool):
            raise TypeError(f"hashes: expected True or False, found {hashes!r}")
        if not isinstance(spans, bool) and spans != "detailed":
            raise TypeError(f"spans: expected True, False or 'detailed', found {spans!r}")
        if errors not in ERRORS:
            raise TypeError(f"errors: expected {' or '.join(map(repr, ERRORS))}, found {errors!r}")
        if order not in {None, "prefix"}:
            raise TypeError(f"order: expected 'prefix' or None, found {order!r}")
        if not isinstance(shared, bool):
            raise TypeError(f"shared: expected True or False, found {shared!r}")
        if turns not in get_args(Turns):
            raise TypeError(f"turns: expected {' or '.join(map(repr, get_args(Turns)))}, found {turns!r}")
        if shared and order is None:
            raise TypeError("shared: the columns are those of requests in prefix order; add order='prefix'")
        has_index = index is not None or order is not None or turns == "each"
        if not (hashes or spans or has_index) and keep == () and errors == "raise":
            return _PROMPTS_ALONE
        index = INDEX if index is None and has_index else index
        kept = None if keep == ALL else tuple(names_of(keep))
        return cls(kept, index, hashes, spans, errors, order, shared, turns)

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
    def span_detail(self) -> bool | None:
        """The spans that the core is asked for: None for none, true for detailed ones."""
        return None if self.spans is False else self.spans == "detailed"

    def fields(self, names: Mapping[str, str] | None = None, spans: pa.DataType | None = None) -> list[pa.Field]:
        """List the fields of the columns after the prompts, some under other names; no type: no spans."""
        names = names or {}
        columns = {} if spans is None else {"spans": spans}
        if self.shared:
            columns |= dict.fromkeys(SHARED, pa.int64())
        if self.hashes:
            columns["hash"] = _core.request_hashes(pa.array([], pa.string()), False).type
        if self.has_error_column:
            columns["error"] = pa.string()
        return [pa.field(names.get(name, name), data_type) for name, data_type in columns.items()]


_PROMPTS_ALONE = RenderOptions()
"""The options of most calls: making them again takes as long as rendering ten rows."""
