"""Texts of templates, rendered for a block of documents before the harness asks for them.

The first document, which the harness builds itself, shows which templates are needed. Jinja2 renders any other text
when the harness asks for it, so that it also raises where it would without the backend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from promptpress.engine.core import RenderError

from promptpress_harness.lm_eval.backend.comparison import difference
from promptpress_harness.lm_eval.backend.documents import BLOCK, Documents
from promptpress_harness.lm_eval.backend.pool import as_table
from promptpress_harness.lm_eval.backend.record import TaskRecord
from promptpress_harness.lm_eval.backend.templates import TextCache, TextRequest
from promptpress_harness.lm_eval.rendering import renderer_of

_MIN_ROWS = 8
"""For fewer documents, Jinja2 is faster than compiling a template."""


class TextPrerenderer:
    """Fills the cache of texts ahead of the harness, for the templates that the first document requested."""

    def __init__(
        self,
        cache: TextCache,
        requests: Sequence[TextRequest],
        documents: Documents,
        record: TaskRecord,
        apply_template: Callable[[str, dict[str, Any]], str],
        *,
        has_default_environment: bool,
    ) -> None:
        self._cache = cache
        self._documents = documents
        self._record = record
        self._apply_template = apply_template
        first = id(documents.docs[0])
        self._sources = list(dict.fromkeys(source for source, doc in requests if doc == first))
        self._pool_sources = list(dict.fromkeys(source for source, doc in requests if doc != first))
        if not has_default_environment:
            record.left("the environment of its templates was changed")
            self._sources = []
        self._has_default_environment = has_default_environment

    def render_pool(
        self, pool: Sequence[dict[str, Any]], shots: int, whole_examples: Callable[[pa.Table], bool] = lambda _: False
    ) -> None:
        """Render the texts of the documents that examples are drawn from.

        Args:
            pool: The documents.
            shots: Number of examples of each evaluated document.
            whole_examples: A function that makes whole examples of the pool's table, and returns true if it did; then
                no texts are needed.
        """
        if not self._has_default_environment or len(pool) > len(self._documents.docs) * shots:
            return
        table = as_table(pool) if len(pool) >= _MIN_ROWS else None
        if table is not None and whole_examples(table):
            return
        for source in self._pool_sources:
            texts = self._texts(source, table, len(pool))
            if texts and self._equals_jinja2(source, pool[0], texts[0]):
                self._cache.pool[source] = dict(zip(map(id, pool), texts, strict=True))

    def render_block(self, start: int) -> None:
        """Render the block of documents from index `start` on."""
        self._cache.block.clear()
        docs = self._documents.docs[start : start + BLOCK]
        table = self._documents.table(start) if any("{" in source for source in self._sources) else None
        for source in list(self._sources):
            texts = self._texts(source, table, len(docs))
            if texts is not None and self._equals_jinja2(source, docs[0], texts[0]):
                self._cache.block[source] = dict(zip(map(id, docs), texts, strict=True))

    def _texts(self, source: str, table: pa.Table | None, count: int) -> list[str] | None:
        """Return a template's texts for some documents; None if they can't be rendered ahead."""
        if "{" not in source:
            return [source.replace("\r\n", "\n").replace("\r", "\n")] * count
        if len(self._documents.docs) < _MIN_ROWS:
            self._record.log_jinja2(f"Jinja2 renders templates: for fewer than {_MIN_ROWS} documents that is faster")
            return None
        if table is None:
            return None
        render, reason = renderer_of(source)
        if reason:
            self._record.log_jinja2(f"Jinja2 renders what isn't compiled of a template: {reason}")
        try:
            return None if render is None else render(table)
        except RenderError:
            return None  # Jinja2 raises, or not, when the harness comes to that row

    def _equals_jinja2(self, source: str, doc: dict[str, Any], text: str) -> bool:
        """Compare the text of a block's first document; if it differs, leave the template to Jinja2 from now on."""
        by_jinja2 = id(doc) in self._cache.by_jinja2
        expected = self._apply_template(source, doc)
        if expected == text:
            # The harness gets the text from the block, so its document counts as one in bulk.
            if not by_jinja2:
                self._cache.by_jinja2.discard(id(doc))
            return True
        self._sources = [other for other in self._sources if other != source]
        self._record.left(f"a template's text is another{difference(expected, text)}")
        return False
