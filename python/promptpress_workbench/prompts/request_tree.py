"""The beginnings that requests share, and their tokens: counted by a tokenizer, or four bytes each."""

from __future__ import annotations

import pyarrow as pa
from promptpress.engine import core as _core
from promptpress.engine.tokens import Encoder, LoadedTokenizer

Marks = tuple[int, int, int, bool, bool]
"""The fewest tokens of a beginning, the fewest requests that have it, the most marks of a request, whether a mark may
end what an assistant says, and whether the service marks the ends of requests by itself."""


class RequestTree:
    """The requests of a run, added batch by batch. A row without a request is left out.

    With `blocks` requests are compared in blocks of tokens: the number of the first block's, and of each other's.
    """

    def __init__(self, counter: LoadedTokenizer | None, blocks: tuple[int, int] | None = None) -> None:
        self._encoder = None if counter is None else Encoder.of(counter)
        self._tree = _core.PromptTree(blocks)

    def __len__(self) -> int:
        return len(self._tree)

    @property
    def tokens(self) -> int:
        """The tokens of all requests."""
        return self.served(None, 0, (0, 1, 1, False, False))[0]

    def add(self, requests: pa.Array, *, is_json: bool, tools: pa.Array | None = None) -> None:
        """Add requests; `tools` are texts that they begin with."""
        texts = self._tree.begin(requests, is_json, tools)
        ids = None
        if self._encoder is not None:
            rows, errors, *_ = self._encoder.encode(texts.cast(pa.string()), special=False, offsets=False)
            ids = rows.columns(None, False, None, "refuse", sorted(errors)).input_ids
        self._tree.finish(ids)

    def marks(self, first: int, count: int, marks: Marks) -> pa.Array:
        """Return the numbers of messages in the marked beginnings of some requests (lists of int32)."""
        return self._tree.marks(first, count, marks)

    def served(self, order: list[int] | None, kept: int, marks: Marks | None) -> tuple[int, int, int]:
        """Return all tokens, those read from a cache, and those written to it, of requests in an order.

        Args:
            order: The numbers of the requests; None: as they were added.
            kept: The number of requests for which the cache keeps a beginning after its last use.
            marks: The rules of marks; None: each beginning of whole blocks is kept.

        """
        return self._tree.served(order, kept, marks)
