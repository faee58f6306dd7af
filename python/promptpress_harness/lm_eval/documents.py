"""The documents of a task, as rows of a table or as dicts, and the templates rendered for all of them.

If the harness raises an exception at a document, everything here that reads documents raises RenderError with the
document's number and the exception's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from promptpress.engine.core import RenderError, TemplateError
from promptpress.engine.errors import render_error
from promptpress.engine.tables import holds_json, rows_of, take_rows, values_of

from promptpress_harness.lm_eval.columns import Column, Constant, Lists, Texts, column_of, values
from promptpress_harness.lm_eval.rendering import constant_text, render_row, render_table, syntax_tree
from promptpress_harness.lm_eval.row_numbers import as_array

T = TypeVar("T")


class Documents:
    """Some documents, in order.

    Args:
        numbers: The number of each document among all that the user passed.
        kind: The noun for a document in messages: `row` or `few-shot document`.
    """

    def __init__(self, numbers: Sequence[int], kind: str) -> None:
        self.numbers = numbers
        self.kind = kind

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, rows: Sequence[int]) -> Documents:
        """Return the documents of these rows, which are in ascending order."""
        raise NotImplementedError

    def rows(self) -> list[dict[str, Any]]:
        """Return all documents as dicts."""
        raise NotImplementedError

    def column(self, name: str) -> Column:
        """Return the values of a field, which each document must have."""
        raise NotImplementedError

    def render(self, source: str) -> Column:
        """Render a template for each document."""
        raise NotImplementedError

    def listed(self, source: str) -> Lists | None:  # noqa: ARG002 - dicts have no columns to take lists from
        """Return the lists of texts that a template prints, or None if it has to be rendered to get them."""
        return None

    def resolve(self, field: str | None) -> Column:
        """Return the values of a field if documents have it, or else the texts of `field` as a template."""
        raise NotImplementedError

    def each(self, function: Callable[..., T], *arguments: Iterable[Any]) -> list[T]:
        """Call a function with the arguments of each document; an exception becomes the error of its document."""
        results = []
        for row, document_arguments in enumerate(zip(*arguments, strict=True)):
            try:
                results.append(function(*document_arguments))
            except Exception as error:
                raise self.raised_at(error, row) from error
        return results

    def raised_at(self, error: Exception, row: int) -> RenderError:
        """Return the error for an exception that the harness, too, raises at a document."""
        return document_error(error, self.kind, self.numbers[row])

    def refused_at(self, error: RenderError, row: int) -> RenderError:
        """Return an error of the renderer with the number of the document."""
        return _numbered_error(error.code, error.message, self.kind, self.numbers[row])


def document_error(error: Exception, kind: str, number: int) -> RenderError:
    """Return the error for an exception of Python or Jinja2 that the harness, too, raises at a document.

    >>> print(document_error(IndexError("list index out of range"), "few-shot document", 3))
    few-shot document 3: IndexError: list index out of range
    """
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return _numbered_error("template_raised", message, kind, number)


def _numbered_error(code: str, message: str, kind: str, number: int) -> RenderError:
    if kind == "row":
        return render_error(code, message, row=number)
    return render_error(code, f"{kind} {number}: {message}")


class TableDocuments(Documents):
    """Rows of a table."""

    def __init__(self, table: pa.Table, kind: str, numbers: Sequence[int] | None = None) -> None:
        super().__init__(range(len(table)) if numbers is None else numbers, kind)
        self.table = table
        self.names = frozenset(table.column_names)

    def take(self, rows: Sequence[int]) -> TableDocuments:
        numbers = self.numbers
        if isinstance(rows, range) and rows.step == 1:
            return TableDocuments(self.table.slice(rows.start, len(rows)), self.kind, numbers[rows.start : rows.stop])
        indices = as_array(rows)
        columns = [pa.chunked_array(take_rows(column, indices), column.type) for column in self.table.columns]
        table = pa.Table.from_arrays(columns, schema=self.table.schema)
        numbers_are_rows = isinstance(numbers, range) and numbers == range(len(numbers))
        return TableDocuments(table, self.kind, rows if numbers_are_rows else [numbers[row] for row in rows])

    def rows(self) -> list[dict[str, Any]]:
        return rows_of(self.table)

    def column(self, name: str) -> Column:
        if name not in self.names:
            raise self.raised_at(KeyError(name), 0)
        if holds_json(self.table.schema.field(name)):
            return values_of(self.table, name)
        return column_of(self.table.column(name))

    def render(self, source: str) -> Column:
        text = constant_text(source)
        if text is not None:
            return Constant(text, len(self))
        try:
            return Texts(render_table(source, self.table))
        except RenderError as error:
            if error.row is None:
                raise
            raise self.refused_at(error, error.row) from error

    def listed(self, source: str) -> Lists | None:
        if constant_text(source) is not None:
            return None
        from promptpress_harness.lm_eval.listed_choices import listed_choices  # noqa: PLC0415 - needs Jinja2

        return listed_choices(syntax_tree(source), self.table)

    def resolve(self, field: str | None) -> Column:
        if not field:
            return Constant(None, len(self))
        return self.column(field) if field in self.names else self.render(field)


class ListedDocuments(Documents):
    """Dicts, which may have different keys."""

    def __init__(self, documents: Sequence[dict[str, Any]], kind: str, numbers: Sequence[int] | None = None) -> None:
        super().__init__(range(len(documents)) if numbers is None else numbers, kind)
        self.documents = documents

    def take(self, rows: Sequence[int]) -> ListedDocuments:
        return ListedDocuments([self.documents[row] for row in rows], self.kind, [self.numbers[row] for row in rows])

    def rows(self) -> list[dict[str, Any]]:
        return list(self.documents)

    def column(self, name: str) -> Column:
        return self.each(lambda document: document[name], self.documents)

    def render(self, source: str) -> Column:
        texts = []
        for row, document in enumerate(self.documents):
            try:
                texts.append(render_row(source, document))
            except TemplateError:
                raise
            except RenderError as error:
                raise self.refused_at(error, row) from error
            except Exception as error:
                raise self.raised_at(error, row) from error
        return texts

    def resolve(self, field: str | None) -> Column:
        if not field:
            return Constant(None, len(self))
        lacking = [row for row, document in enumerate(self.documents) if field not in document]
        if not lacking:
            return self.column(field)
        if len(lacking) == len(self):
            return self.render(field)
        texts = dict(zip(lacking, values(self.take(lacking).render(field)), strict=True))
        return [texts[row] if row in texts else document[field] for row, document in enumerate(self.documents)]
