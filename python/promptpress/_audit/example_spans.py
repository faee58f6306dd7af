"""Stretches of requests that examples bring."""

from __future__ import annotations

import pyarrow as pa

from promptpress import _compute as pc
from promptpress._audit.texts import Texts

__all__ = ["ExampleSpans"]

_MAX_MESSAGES = 1 << 24
"""More messages than a request has."""


class ExampleSpans:
    """Stretches of texts that overlap a span of an example.

    Args:
        spans: The spans of some requests, in detail.
        texts: Texts of these requests.
        places: Numbers of texts, ascending, each with one stretch.
        starts: The first byte of each stretch.
        ends: The byte after its last.

    """

    def __init__(self, spans: pa.Array, texts: Texts, places: pa.Array, starts: pa.Array, ends: pa.Array) -> None:
        places = places.cast(pa.int64())
        requests = texts.rows(places).cast(pa.int64())
        messages = pc.multiply(places, 0)
        flat = spans.flatten()
        has_messages = flat.type.get_field_index("message") >= 0
        if texts.parents is not None and has_messages:
            # The texts of a request stand one behind the other, a message each.
            messages = pc.subtract(places, pc.index_in(requests, value_set=texts.parents).cast(pa.int64()))
        parents = pc.list_parent_indices(spans).cast(pa.int64())
        of_example = pc.indices_nonzero(pc.struct_field(flat, "example").is_valid())
        flat, parents = flat.take(of_example), parents.take(of_example)
        own = pc.struct_field(flat, "message").cast(pa.int64()) if has_messages else pc.multiply(parents, 0)
        stretches = pc.add(pc.multiply(requests, _MAX_MESSAGES), messages)
        which = pc.index_in(pc.add(pc.multiply(parents, _MAX_MESSAGES), own), value_set=stretches)
        overlap = pc.and_(
            pc.less(pc.struct_field(flat, "start"), ends.take(which)),
            pc.greater(pc.struct_field(flat, "end"), starts.take(which)),
        )
        kept = pc.indices_nonzero(overlap)
        self._which, self._spans = which.take(kept), flat.take(kept)

    def hits(self) -> pa.Array:
        """Return the numbers of the stretches that overlap an example, ascending."""
        unique = pc.unique(self._which)
        return unique.take(pc.sort_indices(unique))

    def first(self) -> str:
        """Name the example that the first such stretch overlaps first, and its column."""
        span = self._spans[pc.index(self._which, pc.min(self._which)).as_py()].as_py()
        return f"example {span['example']}" + ("" if span["column"] is None else f", column {span['column']!r}")
