"""What is asked for beside the prompts: columns of the samples, and columns that say more of each request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from promptpress import _core
from promptpress._kept_columns import names_of

__all__ = ["RenderOptions"]

_HASH = "hash"


@dataclass(frozen=True)
class RenderOptions:
    """Which columns a rendered table has beside its labels, turns and prompts.

    What stands behind the prompts is a field in `fields` and an array in `columns`, in one order.

    Args:
        keep: Names of the samples' columns that come along.
        index: The name of a column of the samples' numbers; None: there is none.
        hashes: Whether each request's fingerprint stands behind it.

    >>> RenderOptions.of(["id"], index="row")
    RenderOptions(keep=('id',), index='row', hashes=False)

    """

    keep: tuple[str, ...] = ()
    index: str | None = None
    hashes: bool = False

    @classmethod
    def of(cls, keep: Iterable[str], index: str | None = None, *, hashes: bool = False) -> RenderOptions:
        """Take what a user gave.

        Args:
            keep: Names, in any iterable but a string.
            index: As in the class.
            hashes: As in the class.

        Raises:
            TypeError: If `keep` holds something else than names.

        """
        return cls(tuple(names_of(keep)), index, hashes)

    def fields(self, names: Mapping[str, str] | None = None) -> list[pa.Field]:
        """List the fields of what stands behind the prompts.

        Args:
            names: What output columns are called that aren't called as usual.

        """
        name = (names or {}).get(_HASH, _HASH)
        return [pa.field(name, _core.request_hashes(pa.array([], pa.string()), False).type)] if self.hashes else []

    def columns(self, prompts: pa.Array, *, is_json: bool) -> list[Any]:
        """Make what stands behind the prompts.

        Args:
            prompts: The requests, as they come out.
            is_json: Whether they are messages written as JSON.

        Returns:
            Arrays of one value a request, of `fields`.

        """
        return [_core.request_hashes(prompts, is_json)] if self.hashes else []
