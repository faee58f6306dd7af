"""Documents: rows of a table, or dicts that a configuration lists; and templates rendered for all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from promptpress._core import RenderError, TemplateError
from promptpress._errors import render_error
from promptpress._lm_eval.columns import Column, Constant, Lists, Texts, column_of, values
from promptpress._lm_eval.listed_choices import listed_choices
from promptpress._lm_eval.rendered import rendered_row, rendered_table, syntax_tree
from promptpress._lm_eval.row_numbers import as_array
from promptpress._take_rows import take_rows

__all__ = ["Documents", "ListedDocuments", "TableDocuments", "raised"]


class Documents:
    """Some documents, in order.

    Args:
        numbers: Each one's number among all that the user gave.
        kind: What they are, for messages: `row` or `few-shot document`.

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
        """Return a field's values; KeyError where a document lacks it."""
        raise NotImplementedError

    def rendered(self, source: str) -> Column:
        """Return a template's texts."""
        raise NotImplementedError

    def listed(self, source: str) -> Lists | None:  # noqa: ARG002 - dicts have no columns to take lists from
        """Return the lists of texts that a template prints, where they can be had without printing them."""
        return None

    def resolved(self, field: str | None) -> Column:
        """Return the values of a field that documents have, else the texts of a template."""
        raise NotImplementedError

    def raised(self, error: Exception, row: int) -> RenderError:
        """Make the error for what was raised at a document."""
        return raised(error, self.kind, self.numbers[row])

    def refused(self, error: RenderError, row: int) -> RenderError:
        """Make the error for one that names no document, or another's number."""
        return _of_document(error.code, error.message, self.kind, self.numbers[row])


def raised(error: Exception, kind: str, number: int) -> RenderError:
    """Make the error for what the harness raises at a document too.

    Args:
        error: As Python or Jinja2 raises it.
        kind: What the document is.
        number: Which of them.

    Returns:
        The error to raise.

    >>> print(raised(IndexError("list index out of range"), "few-shot document", 3))
    few-shot document 3: IndexError: list index out of range

    """
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return _of_document("template_raised", message, kind, number)


def _of_document(code: str, message: str, kind: str, number: int) -> RenderError:
    if kind == "row":
        return render_error(code, message, row=number)
    return render_error(code, f"{kind} {number}: {message}")


def constant_text(source: str) -> str | None:
    r"""Return the text of a template that holds no Jinja, None for others.

    >>> constant_text("one\r\ntwo"), constant_text("{{a}}")
    ('one\ntwo', None)

    """
    if "{" in source and re.search(r"\{[{%#]", source):
        return None
    return re.sub("\r\n?", "\n", source)


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
        wanted = as_array(rows)
        taken = [pa.chunked_array(take_rows(column, wanted), column.type) for column in self.table.columns]
        table = pa.Table.from_arrays(taken, schema=self.table.schema)
        own = rows if isinstance(numbers, range) and numbers == range(len(numbers)) else [numbers[row] for row in rows]
        return TableDocuments(table, self.kind, own)

    def rows(self) -> list[dict[str, Any]]:
        return self.table.to_pylist()  # type: ignore[no-any-return]

    def column(self, name: str) -> Column:
        if name not in self.names:
            raise self.raised(KeyError(name), 0)
        return column_of(self.table.column(name))

    def rendered(self, source: str) -> Column:
        text = constant_text(source)
        if text is not None:
            return Constant(text, len(self))
        try:
            return Texts(rendered_table(source, self.table))
        except RenderError as error:
            if error.row is None:
                raise
            raise self.refused(error, error.row) from error

    def listed(self, source: str) -> Lists | None:
        return None if constant_text(source) is not None else listed_choices(syntax_tree(source), self.table)

    def resolved(self, field: str | None) -> Column:
        if not field:
            return Constant(None, len(self))
        return self.column(field) if field in self.names else self.rendered(field)


class ListedDocuments(Documents):
    """Dicts that needn't have the same keys."""

    def __init__(self, documents: Sequence[dict[str, Any]], kind: str, numbers: Sequence[int] | None = None) -> None:
        super().__init__(range(len(documents)) if numbers is None else numbers, kind)
        self.documents = documents

    def take(self, rows: Sequence[int]) -> ListedDocuments:
        return ListedDocuments([self.documents[row] for row in rows], self.kind, [self.numbers[row] for row in rows])

    def rows(self) -> list[dict[str, Any]]:
        return list(self.documents)

    def column(self, name: str) -> Column:
        for row, document in enumerate(self.documents):
            if name not in document:
                raise self.raised(KeyError(name), row)
        return [document[name] for document in self.documents]

    def rendered(self, source: str) -> Column:
        texts = []
        for row, document in enumerate(self.documents):
            try:
                texts.append(rendered_row(source, document))
            except TemplateError:
                raise
            except RenderError as error:
                raise self.refused(error, row) from error
            except Exception as error:
                raise self.raised(error, row) from error
        return texts

    def resolved(self, field: str | None) -> Column:
        if not field:
            return Constant(None, len(self))
        have = [field in document for document in self.documents]
        if all(have):
            return self.column(field)
        if not any(have):
            return self.rendered(field)
        lack = [row for row, has in enumerate(have) if not has]
        texts = dict(zip(lack, values(self.take(lack).rendered(field)), strict=True))
        return [texts[row] if row in texts else document[field] for row, document in enumerate(self.documents)]
