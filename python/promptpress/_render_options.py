"""What is asked for beside the prompts: columns of the samples, and columns that say more of each request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from promptpress import _core
from promptpress._kept_columns import names_of
from promptpress.typing import SpanDetail

if TYPE_CHECKING:
    from promptpress._row_errors import Part

__all__ = ["ERRORS", "RenderOptions"]

ERRORS = ("raise", "column")
"""What may become of a row that can't be rendered."""

_DETAILED = "detailed"
_SPANS = "spans"
_HASH = "hash"
_ERROR = "error"


@dataclass(frozen=True)
class RenderOptions:
    """Which columns a rendered table has beside its labels, turns and prompts.

    What stands behind the prompts is a field in `fields` and an array in `columns`, in one order.

    Args:
        keep: Names of the samples' columns that come along.
        index: The name of a column of the samples' numbers; None: there is none.
        hashes: Whether each request's fingerprint stands behind it.
        spans: Whether it is said where its bytes come from; `"detailed"`: with column, example and role.
        errors: Whether what is wrong with a row stands behind its requests, which are null then.

    >>> RenderOptions.of(["id"], index="row")
    RenderOptions(keep=('id',), index='row', hashes=False, spans=False, errors=False)

    """

    keep: tuple[str, ...] = ()
    index: str | None = None
    hashes: bool = False
    spans: SpanDetail = False
    errors: bool = False

    @classmethod
    def of(
        cls,
        keep: Iterable[str],
        index: str | None = None,
        *,
        hashes: bool = False,
        spans: SpanDetail = False,
        errors: str = "raise",
    ) -> RenderOptions:
        """Take what a user gave.

        Args:
            keep: Names, in any iterable but a string.
            index: As in the class.
            hashes: As in the class.
            spans: As in the class.
            errors: `"raise"` or `"column"`.

        Raises:
            TypeError: If `keep` holds something else than names, or `hashes`, `spans` or `errors` is something else.

        """
        if not isinstance(hashes, bool):
            message = f"hashes: expected True or False, found {hashes!r}"
            raise TypeError(message)
        if not isinstance(spans, bool) and spans != _DETAILED:
            message = f"spans: expected True, False or {_DETAILED!r}, found {spans!r}"
            raise TypeError(message)
        if errors not in ERRORS:
            message = f"errors: expected {' or '.join(map(repr, ERRORS))}, found {errors!r}"
            raise TypeError(message)
        if not (hashes or spans or index is not None) and keep == () and errors == "raise":
            return _PROMPTS_ALONE
        return cls(tuple(names_of(keep)), index, hashes, spans, errors == "column")

    @property
    def span_detail(self) -> bool | None:
        """What the core is asked for: no spans, spans, or spans in detail."""
        return None if self.spans is False else self.spans == _DETAILED

    def fields(self, names: Mapping[str, str] | None = None, spans: pa.DataType | None = None) -> list[pa.Field]:
        """List the fields of what stands behind the prompts.

        Args:
            names: What output columns are called that aren't called as usual.
            spans: The type of a request's spans, where they are asked for.

        """
        names = names or {}
        fields = [] if spans is None else [pa.field(names.get(_SPANS, _SPANS), spans)]
        if self.hashes:
            fields.append(
                pa.field(names.get(_HASH, _HASH), _core.request_hashes(pa.array([], pa.string()), False).type)
            )
        if self.errors:
            fields.append(pa.field(names.get(_ERROR, _ERROR), pa.string()))
        return fields

    def columns(
        self, part: _core.Outcome | Part, prompts: pa.Array, *, is_json: bool, errors: pa.Array | None = None
    ) -> list[Any]:
        """Make what stands behind the prompts.

        Args:
            part: What the core has rendered.
            prompts: The requests, as they come out.
            is_json: Whether they are messages written as JSON.
            errors: What is wrong with them, where that is asked for.

        Returns:
            Arrays of one value a request, of `fields`.

        """
        own = [] if self.spans is False else [part.spans]
        if self.hashes:
            own.append(_core.request_hashes(prompts, is_json))
        return [*own, errors] if self.errors else own


_PROMPTS_ALONE = RenderOptions()
"""What most calls ask for: making it again takes as long as ten rows do."""
