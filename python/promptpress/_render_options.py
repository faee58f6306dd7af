"""What is asked for beside the prompts: columns of the samples, and columns that say more of each request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from promptpress import _core
from promptpress._kept_columns import names_of

__all__ = ["ERRORS", "RenderOptions"]

ERRORS = ("raise", "column")
"""What may become of a row that can't be rendered."""

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
        errors: Whether what is wrong with a row stands behind its requests, which are null then.

    >>> RenderOptions.of(["id"], index="row")
    RenderOptions(keep=('id',), index='row', hashes=False, errors=False)

    """

    keep: tuple[str, ...] = ()
    index: str | None = None
    hashes: bool = False
    errors: bool = False

    @classmethod
    def of(
        cls, keep: Iterable[str], index: str | None = None, *, hashes: bool = False, errors: str = "raise"
    ) -> RenderOptions:
        """Take what a user gave.

        Args:
            keep: Names, in any iterable but a string.
            index: As in the class.
            hashes: As in the class.
            errors: `"raise"` or `"column"`.

        Raises:
            TypeError: If `keep` holds something else than names, or `errors` is neither of the two.

        """
        if errors not in ERRORS:
            message = f"errors: expected {' or '.join(map(repr, ERRORS))}, found {errors!r}"
            raise TypeError(message)
        return cls(tuple(names_of(keep)), index, hashes, errors == "column")

    def fields(self, names: Mapping[str, str] | None = None) -> list[pa.Field]:
        """List the fields of what stands behind the prompts.

        Args:
            names: Other names of them, by the usual ones.

        """
        names = names or {}
        fields = []
        if self.hashes:
            fields.append(pa.field(_HASH, _core.request_hashes(pa.array([], pa.string()), False).type))
        if self.errors:
            fields.append(pa.field(names.get(_ERROR, _ERROR), pa.string()))
        return fields

    def columns(self, prompts: pa.Array, *, is_json: bool, errors: pa.Array | None = None) -> list[Any]:
        """Make what stands behind the prompts.

        Args:
            prompts: The requests, as they come out.
            is_json: Whether they are messages written as JSON.
            errors: What is wrong with them, where that is asked for.

        Returns:
            Arrays of one value a request, of `fields`.

        """
        own = [_core.request_hashes(prompts, is_json)] if self.hashes else []
        return [*own, errors] if self.errors else own
