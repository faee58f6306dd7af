"""The documents of a task, as rows of a table or as dicts, and the columns and templates evaluated for all of them.

If the harness raises an exception at a document, everything here that reads documents raises RenderError with the
document's number and the exception's name.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import pyarrow as pa
from promptpress import RenderError, TemplateError
from promptpress.engine import core as _core
from promptpress.engine.errors import render_error
from promptpress.engine.tables import holds_json, is_text, rows_of, take_rows, values_of
from promptpress.engine.tables import lazy_compute as pc
from pyarrow import types

if TYPE_CHECKING:
    from jinja2 import nodes
    from promptpress.engine.templates import Reference, Runner

_TYPES = {"b": pa.int8(), "i": pa.int32(), "q": pa.int64()}


def as_array(rows: Sequence[int]) -> pa.Array:
    """Return row numbers as an Arrow array: int64, or the type of an `array.array`, whose memory is shared."""
    if isinstance(rows, array) or (isinstance(rows, memoryview) and rows.format == "q"):
        return pa.Array.from_buffers(_TYPES[memoryview(rows).format], len(rows), [None, pa.py_buffer(rows)])
    if not isinstance(rows, range):
        return pa.array(rows, pa.int64())
    if rows.step == 1:
        return _core.repeated_rows(rows.start, len(rows), 1)
    return pc.add(pc.multiply(_core.repeated_rows(0, len(rows), 1), rows.step), rows.start)


def as_sequence(rows: pa.Array) -> Sequence[int]:
    """Return an array of row numbers (int32 or int64, without nulls) as a Python sequence over the same memory."""
    if not len(rows):
        return ()
    numbers = memoryview(rows.buffers()[1]).cast("i" if rows.type == pa.int32() else "q")
    return numbers[rows.offset : rows.offset + len(rows)]


@dataclass(frozen=True)
class Constant:
    """The same value for all documents."""

    value: Any
    length: int


@dataclass(frozen=True)
class _ArrowColumn:
    array: pa.ChunkedArray


class Texts(_ArrowColumn):
    """A text (large_string) for each document, without nulls."""


class Lists(_ArrowColumn):
    """A list of texts for each document, without nulls in the lists or in place of a list."""


class Numbers(_ArrowColumn):
    """An integer (int64) for each document, without nulls."""


Column: TypeAlias = Constant | Texts | Lists | Numbers | list[Any]


def values(column: Column) -> list[Any]:
    """Return the value of each document."""
    if isinstance(column, Constant):
        return [column.value] * column.length
    if isinstance(column, list):
        return column
    return column.array.to_pylist()  # type: ignore[no-any-return]


def column_of(array: pa.ChunkedArray) -> Column:
    """Return a table's column; it stays in Arrow if requests can be built from its type in bulk."""
    if not array.null_count:
        if is_text(array.type):
            return Texts(array.cast(pa.large_string()))
        if types.is_integer(array.type) and array.type != pa.uint64():
            return Numbers(array.cast(pa.int64()))
        if types.is_list(array.type) and is_text(array.type.value_type):
            lists = array.cast(pa.large_list(pa.large_string()))
            if not any(chunk.flatten().null_count for chunk in lists.chunks):
                return Lists(lists)
    return array.to_pylist()  # type: ignore[no-any-return]


_MAX_TEMPLATES = 256
"""Number of cached templates: a task renders its fields for its first document, for shots and for all documents."""


def constant_text(source: str) -> str | None:
    """Return the text of a template that holds no Jinja, and None for other templates."""
    if "{" in source and re.search(r"\{[{%#]", source):
        return None
    return re.sub("\r\n?", "\n", source)


def render_table(source: str, table: pa.Table) -> pa.ChunkedArray:
    """Render a template for each row of a table, as large_string; errors have the row's number in the table."""
    parts, _ = _runner(source).run(table)
    return pa.chunked_array([texts for texts, _ in parts], pa.large_string())


def render_row(source: str, document: Mapping[str, Any]) -> str:
    """Render a template for a dict, and raise what Jinja2 raises, or TemplateError if it can't compile the template."""
    return _reference(source).render(document)


@lru_cache(_MAX_TEMPLATES)
def syntax_tree(source: str) -> nodes.Template:
    """Return a template's syntax tree, which is shared and must not be changed."""
    return _reference(source).ast()


@lru_cache(_MAX_TEMPLATES)
def _reference(source: str) -> Reference:
    from promptpress.engine.templates import Reference  # noqa: PLC0415 - needs Jinja2, which only templates need

    return Reference(source, "lm_eval")


@lru_cache(_MAX_TEMPLATES)
def _runner(source: str) -> Runner:
    from jinja2.meta import find_undeclared_variables  # noqa: PLC0415 - needs Jinja2
    from promptpress.engine.templates import Runner  # noqa: PLC0415 - needs Jinja2

    reference = _reference(source)
    variables = frozenset(find_undeclared_variables(reference.ast())) | {"self"}
    return Runner(reference, variables, "large_string", refuse=False)


@lru_cache(_MAX_TEMPLATES)
def renderer_of(source: str) -> tuple[Callable[[pa.Table], list[str]] | None, str]:
    """Return a function that renders a template, and the reason if not all of the template is compiled.

    The function raises RenderError for a row that isn't compiled. Such a row isn't rendered here, because Jinja2 may
    draw random numbers for it, in the harness's order. If nothing is compiled, there is no function.
    """
    from promptpress import JinjaTemplate  # noqa: PLC0415 - needs Jinja2

    try:
        compiled = JinjaTemplate(source, environment="lm_eval").compiled
    except TemplateError as error:
        return None, str(error)
    uncompiled = compiled.filter(pc.invert(compiled["compiled"]))
    if not uncompiled.num_rows:
        return lambda table: render_table(source, table).to_pylist(), ""
    first = uncompiled.slice(0, 1).to_pylist()[0]
    reason = f"line {first['line']}: {first['reason']}"
    try:
        template = JinjaTemplate(source, environment="lm_eval", fallback="refuse")
    except TemplateError:
        return None, reason  # the error's text has advice that the harness's user can't follow
    return lambda table: template.render(table)["prompt"].to_pylist(), reason


T = TypeVar("T")


def listed_choices(template: nodes.Template, table: pa.Table) -> Lists | None:
    """Return the choices of a template such as `{{ choices }}` or `{{ [first, others[0], 'none'] }}`.

    The harness prints such a list and reads the printed text as Python source. The result equals the list only for
    texts without nulls; for other lists, return None.
    """
    from jinja2 import nodes  # noqa: PLC0415 - needs Jinja2

    if len(template.body) != 1 or not isinstance(template.body[0], nodes.Output) or len(template.body[0].nodes) != 1:
        return None
    # A column named `self` is an error for every template.
    if "self" in table.column_names or not len(table):
        return None
    (node,) = template.body[0].nodes
    try:
        if isinstance(node, nodes.List):
            return _interleaved([_texts(item, table) for item in node.items], len(table))
        column = column_of(pa.chunked_array([_values(node, table)]))
    except (_NeedsRenderingError, pa.ArrowException):
        return None
    return column if isinstance(column, Lists) else None


class _NeedsRenderingError(Exception):
    """Raised if only rendering gives an expression's value."""


def _texts(node: nodes.Expr, table: pa.Table) -> pa.Array:
    from jinja2 import nodes  # noqa: PLC0415 - needs Jinja2

    if isinstance(node, nodes.Const):
        if not isinstance(node.value, str):
            raise _NeedsRenderingError
        return pa.repeat(pa.scalar(node.value, pa.large_string()), len(table))
    values = _values(node, table)
    if values.null_count or not is_text(values.type):
        raise _NeedsRenderingError
    return values.cast(pa.large_string())


def _values(node: nodes.Expr, table: pa.Table) -> pa.Array:
    """Return the values of a column, or of a field or an item in it."""
    from jinja2 import nodes  # noqa: PLC0415 - needs Jinja2

    if isinstance(node, nodes.Name) and node.name in table.column_names:
        return table.column(node.name).combine_chunks()
    if not isinstance(node, (nodes.Getattr, nodes.Getitem)):
        raise _NeedsRenderingError
    values = _values(node.node, table)
    if values.null_count:
        raise _NeedsRenderingError
    key: Any = node.attr if isinstance(node, nodes.Getattr) else node.arg
    if isinstance(key, nodes.Const):
        key = key.value
    if type(key) is int and key >= 0 and types.is_list(values.type):
        return pc.list_element(values, key)  # raises if an item is missing
    # After a dot, a dict's methods come before its keys.
    is_method = isinstance(node, nodes.Getattr) and hasattr(dict, key)
    if type(key) is str and types.is_struct(values.type) and not is_method:
        names = [field.name for field in values.type]
        if names.count(key) == 1:
            return values.flatten()[names.index(key)]
    raise _NeedsRenderingError


def _interleaved(columns: list[pa.Array], rows: int) -> Lists | None:
    """Return a list of the texts of each row."""
    width = len(columns)
    if not width:
        return None
    row = _core.repeated_rows(0, rows, width)
    column = pc.subtract(_core.repeated_rows(0, rows * width, 1), pc.multiply(row, width))
    texts = pa.chunked_array(columns).take(pc.add(pc.multiply(column, rows), row)).combine_chunks()
    offsets = pc.multiply(_core.repeated_rows(0, rows + 1, 1), width)
    return Lists(pa.chunked_array([pa.LargeListArray.from_arrays(offsets, texts)]))


class Documents:
    """Some documents, in order, with their numbers among all that the user passed.

    `kind` is the noun for a document in messages: `row` or `few-shot document`.
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
    """Return the error for an exception of Python or Jinja2 that the harness, too, raises at a document."""
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
