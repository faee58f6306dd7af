"""Texts of templates, rendered for a block of documents before the harness asks for them.

Which templates those are shows the first document, which the harness builds itself. What isn't known ahead is rendered
by Jinja2 when it is asked for, so that it also raises where it did.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

import promptpress
from promptpress._lm_eval.backend.alike import difference
from promptpress._lm_eval.backend.contexts import Contexts
from promptpress._lm_eval.backend.documents import BLOCK, Documents
from promptpress._lm_eval.backend.environments import is_as_it_comes
from promptpress._lm_eval.backend.pool import as_table
from promptpress._lm_eval.backend.record import TaskRecord
from promptpress._lm_eval.backend.renderers import Render, renderer_of
from promptpress._lm_eval.backend.templates import MODULE, Asked, Known

_MIN_ROWS = 8
"""Fewer documents are rendered sooner than a template is compiled."""


class TextsAhead:
    """What fills in the texts that are known.

    Args:
        known: Where they go.
        asked: Which templates the first document asked for, and for which document each.
        documents: The documents.
        contexts: What shows examples, and may know them itself.
        record: What is said of the task.
    """

    def __init__(
        self,
        known: Known,
        asked: Sequence[Asked],
        documents: Documents,
        contexts: Contexts,
        record: TaskRecord,
    ) -> None:
        self._known = known
        self._documents = documents
        self._record = record
        if not is_as_it_comes(vars(sys.modules[MODULE])["env"]):
            record.left("the environment of its templates was changed")
            self._sources: list[str] = []
            return
        first = id(documents.docs[0])
        self._sources = list(dict.fromkeys(source for source, doc in asked if doc == first))
        pool = contexts.pool
        if len(pool) <= len(documents.docs) * contexts.shots:
            table = as_table(pool) if len(pool) >= _MIN_ROWS else None
            if table is not None and contexts.know(table, record):
                return
            for source in dict.fromkeys(source for source, doc in asked if doc != first):
                texts = self._texts(source, table, len(pool))
                if texts is not None:
                    known.pool[source] = dict(zip(map(id, pool), texts, strict=True))

    def block(self, start: int) -> None:
        """Render a block of documents.

        Args:
            start: The place of its first one.
        """
        self._known.block.clear()
        docs = self._documents.docs[start : start + BLOCK]
        table = self._documents.table(start) if any("{" in source for source in self._sources) else None
        for source in list(self._sources):
            texts = self._texts(source, table, len(docs))
            if texts is None:
                continue
            found = dict(zip(map(id, docs), texts, strict=True))
            if self._is_as_jinja(source, docs[0], texts[0]):
                self._known.block[source] = found

    def _texts(self, source: str, table: pa.Table | None, count: int) -> list[str] | None:
        """A template's texts for some documents; None where they aren't known ahead."""
        if "{" not in source:
            return [_as_read(source)] * count
        if table is None or count < _MIN_ROWS:
            return None
        render = self._renderer(source)
        if render is None:
            return None
        try:
            return render(table)
        except promptpress.RenderError:
            return None  # Jinja2 shall raise, or not, when it comes to that row

    def _renderer(self, source: str) -> Render | None:
        render, reason = renderer_of(source)
        if reason:
            self._record.noted(f"Jinja2 renders what isn't compiled of a template: {reason}")
        return render

    def _is_as_jinja(self, source: str, doc: dict[str, Any], text: str) -> bool:
        """Whether Jinja2 makes the same of a block's first document; if not, the template is its own from now on."""
        own = vars(sys.modules[MODULE])["apply_template"](source, doc)
        if own == text:
            return True
        self._sources.remove(source)
        self._record.left(f"a template's text is another{difference(own, text)}")
        return False


def _as_read(source: str) -> str:
    return source.replace("\r\n", "\n").replace("\r", "\n")
