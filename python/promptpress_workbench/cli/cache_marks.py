"""`--cache-control`: marks at the ends of the beginnings that requests share, for the caches of batch services."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from promptpress.engine.errors import UsageError
from promptpress.engine.tables import lazy_compute as pc
from promptpress.engine.tokens import LoadedTokenizer

from promptpress_workbench.export.message_columns import MARKS
from promptpress_workbench.export.streams import CACHE_KEY, schema_with_cache_keys, with_cache_keys
from promptpress_workbench.prompts.request_tree import RequestTree
from promptpress_workbench.statistics.bill import marks_of
from promptpress_workbench.statistics.prices import CACHES, Prices

CACHED = {"openai-batch": "openai", "openai-responses": "openai", "anthropic-batch": "anthropic"}
"""The forms whose requests can have marks, with the names of the services' caches."""

_OPTIONS = "prompt_cache_options"


class CacheMarks:
    """The marks of the requests of an export: a column, and for OpenAI a key for each group of requests too.

    The requests are added to `tree` before they are written.
    """

    def __init__(self, kind: str, counter: LoadedTokenizer | None, prices: Prices | None) -> None:
        self._cache = CACHES[CACHED[kind]]
        self.has_keys = CACHED[kind] == "openai"
        enough = 2
        if prices is not None and len(prices.models) == 1:
            (price,) = prices.models
            enough, self._cache = price.enough, price.cache
        self._rules = None if self._cache is None or not self._cache.marks else marks_of(self._cache, enough)
        self.tree = RequestTree(counter)
        self._rows = self._marked = 0

    def parameters(self, arguments: Namespace, columns: Iterable[str]) -> dict[str, Any]:
        """Return the parameters of requests with those of caches, for arguments of the command."""
        if not self.has_keys:
            return {}
        of_rows, of_all = arguments.params_columns or {}, arguments.params or {}
        for name in (CACHE_KEY, _OPTIONS):
            if name in {*of_rows, *of_all} or (name == CACHE_KEY and name in columns):
                raise UsageError(f"--cache-control: there is a {name!r} already; leave one of both out")
        # Without this the service writes whole prompts to its cache too, which costs more than sending them.
        options = {} if self._rules is None else {_OPTIONS: {"mode": "explicit"}}
        return {"params_columns": {**of_rows, CACHE_KEY: CACHE_KEY}, "params": {**of_all, **options}}

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema of requests with their marks; with keys it has what requests share in its last columns."""
        if MARKS in schema.names:
            raise UsageError(f"--cache-control: there is a column {MARKS!r} already; rename it")
        keyed = schema_with_cache_keys(schema) if self.has_keys else schema
        return keyed if self._rules is None else keyed.append(pa.field(MARKS, pa.list_(pa.int32())))

    def added(self, batches: Iterable[pa.RecordBatch], fingerprint: str) -> Iterator[pa.RecordBatch]:
        """Yield the batches of requests with their marks and keys."""
        for batch in with_cache_keys(batches, fingerprint) if self.has_keys else batches:
            if self._rules is None:
                yield batch
                continue
            marks = self.tree.marks(self._rows, batch.num_rows, self._rules)
            self._rows += batch.num_rows
            self._marked += pc.sum(pc.greater(pc.list_value_length(marks), 0)).as_py() or 0
            yield batch.append_column(pa.field(MARKS, marks.type), marks)

    def report(self) -> str:
        """Say in a line what was done."""
        if self._rules is None:
            return "cache: the prices name no cache that takes marks; requests have keys of their groups alone"
        minimum, enough = self._rules[:2]
        if not self._marked:
            return f"cache: no request is marked: no message ends {minimum:,} tokens that {enough} of them begin with"
        unmarked = "" if self._marked == self._rows else "; the others share too little"
        return f"cache: the shared beginnings of {self._marked:,} of {self._rows:,} requests are marked{unmarked}"
