"""The `custom_id` of each request: a pattern over the table's columns, checked to be unique."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from promptpress._errors import render_error, template_error
from promptpress._model_classes import did_you_mean
from promptpress._outputs.json_lines import FoundIds, LineWriter, Piece

__all__ = ["CustomIds", "columns_of"]

_TOKEN = re.compile(r"\{\{|\}\}|\{[^{}]*\}|[{}]|[^{}]+")
SAMPLE = "sample"
_BESIDE_SAMPLE = ("label", "turn")
"""Columns of a table that has several rows a sample."""
_PROMPT = "prompt"
"""A column that rendered tables have, and samples seldom."""


class CustomIds:
    """Makes the ids of the rows of batches of one schema.

    Args:
        pattern: text with `{column}` in it; `{sample}` is the column of that name, else the row's number where there is
            one row a sample. `{{` and `}}` are braces.
        schema: of the batches.
        longest: how many characters an id may have; None: any number.

    Raises:
        TemplateError: when the pattern names no column of the table, or can't give each row an id of its own.

    >>> ids = CustomIds("math-{sample}-{label}", pa.schema({"sample": pa.int64(), "label": pa.string()}))
    >>> [id for ids in ids.checked(pa.record_batch({"sample": [0, 0], "label": ["A", "B"]})) for id in ids.to_pylist()]
    [b'math-0-A', b'math-0-B']

    """

    def __init__(self, pattern: str, schema: pa.Schema, longest: int | None = None) -> None:
        if not isinstance(pattern, str):
            raise template_error("wrong_type", "custom_id", f"expected a string, found {type(pattern).__name__}")
        self.pattern = pattern
        self._schema = schema
        self._longest = longest
        self._parts = list(_parts(pattern, schema))
        if all(part.kind == "literal" for part in self._parts):
            message = f'{pattern!r} names no column, so all requests would have one id; "{{sample}}" numbers them'
            raise template_error("wrong_template_form", "custom_id", message)
        plain = [Piece("plain", column=p.column) if p.column else p for p in self._parts]
        self._writer = LineWriter(schema, plain, range(len(plain)))
        self._rows = 0

    def pieces(self) -> list[Piece]:
        """Return the pieces of an id within a JSON string."""
        # A literal may hold what JSON escapes.
        return [Piece("literal", _escaped(p.text)) if p.kind == "literal" else p for p in self._parts]

    def checked(self, batch: pa.RecordBatch) -> list[pa.LargeBinaryArray]:
        """Make the ids of the next batch.

        Args:
            batch: of the schema.

        Returns:
            The ids, in order, some in each array.

        Raises:
            RenderError: when a row's id is empty, is too long, or has been there before.

        """
        ids, found = self._writer.lines_and_ids(batch, self._rows)
        self.check(found, batch, self._rows)
        self._rows += batch.num_rows
        return ids

    def check(self, found: FoundIds, batch: pa.RecordBatch, first_row: int) -> None:
        """Check the ids that have been found in lines.

        Args:
            found: of them; an id within a JSON string may be longer than it is.
            batch: the rows.
            first_row: the first one's number.

        Raises:
            RenderError: as `checked`.

        """
        if not found.shortest or (self._longest is not None and found.longest > self._longest):
            self._check_lengths(self._texts(batch, first_row), first_row)
        if found.repeated is not None:
            row, before = found.repeated
            raise self._repeated(row, before, *self._texts(batch.slice(row - first_row, 1), row))

    def check_numbers(self, first_row: int, count: int) -> None:
        """Check the ids of rows that are told apart by their number alone: none has been there before.

        Args:
            first_row: the first one's number.
            count: how many there are.

        Raises:
            RenderError: when an id is too long.

        """
        rows = pa.table({"": pa.nulls(count)}).to_batches()
        if (
            self._longest is not None
            and rows
            and len(self._texts(rows[0].slice(count - 1), first_row + count - 1)[0]) > self._longest
        ):
            self._check_lengths(self._texts(rows[0], first_row), first_row)

    def _texts(self, batch: pa.RecordBatch, first_row: int) -> list[str]:
        return as_texts(self._writer.lines(batch, first_row))

    def _check_lengths(self, ids: list[str], first_row: int) -> None:
        for row, text in enumerate(ids, first_row):
            if not text:
                raise render_error("invalid_custom_id", f"its custom_id, by {self.pattern!r}, is empty", row)
            if self._longest is not None and len(text) > self._longest:
                message = (
                    f"its custom_id {text[:40] + '…'!r} has {len(text)} characters, and {self._longest} are allowed;"
                    " make it of shorter columns, such as {sample}, or give custom_id_length="
                )
                raise render_error("invalid_custom_id", message, row)

    def _repeated(self, row: int, before: int, found: str) -> Exception:
        names = {part.column for part in self._parts}
        more = [name for name in (SAMPLE, *_BESIDE_SAMPLE) if name in self._schema.names and name not in names]
        if more:
            remedy = f"add {' and '.join(f'{{{name}}}' for name in more)} to the pattern: " + repr(
                "-".join([self.pattern, *(f"{{{name}}}" for name in more)])
            )
        elif SAMPLE in self._schema.names or any(part.kind == "row" for part in self._parts):
            remedy = "add a column that tells the rows apart to the pattern"
        elif any(name in self._schema.names for name in _BESIDE_SAMPLE):
            remedy = f'render with index="{SAMPLE}", and add {{{SAMPLE}}} to the pattern'
        else:
            remedy = f"add {{{SAMPLE}}} to the pattern, the row's number"
        message = f"it has the custom_id of row {before}, {found!r}, and each request needs one of its own; {remedy}"
        return render_error("duplicate_custom_id", message, row)


def columns_of(pattern: str) -> list[str]:
    """List the columns that a pattern names.

    Args:
        pattern: of ids.

    Returns:
        Their names, in order.

    >>> columns_of("{{x}}-{sample}-{label}")
    ['sample', 'label']

    """
    return [token[1:-1] for token in _TOKEN.findall(pattern) if token[0] == "{" and token not in ("{", "{{")]


def _parts(pattern: str, schema: pa.Schema) -> Iterator[Piece]:
    for token in _TOKEN.findall(pattern):
        if token in ("{{", "}}"):
            yield Piece("literal", token[0])
        elif token in ("{", "}"):
            message = (
                f"{pattern!r} has a single {token!r}; a column's name stands in braces, and a brace is {token * 2!r}"
            )
            raise template_error("wrong_template_form", "custom_id", message)
        elif token[0] == "{":
            yield _column(token[1:-1], schema)
        else:
            yield Piece("literal", token)


def _column(name: str, schema: pa.Schema) -> Piece:
    if name in schema.names:
        return Piece("text", column=name)
    if name != SAMPLE:
        remedy = did_you_mean(name, schema.names) or f"; the table has {', '.join(map(repr, schema.names))}"
        raise template_error("missing_column", "custom_id", f"the table has no column {name!r}{remedy}")
    # Only where there are prompts: samples may have labels of their own.
    beside = [other for other in _BESIDE_SAMPLE if other in schema.names and _PROMPT in schema.names]
    if beside:
        message = (
            f"the table has several rows a sample (it has a column {beside[0]!r}) and doesn't say which; render with"
            f' index="{SAMPLE}", and take custom_id="{{{SAMPLE}}}-{{{beside[0]}}}"'
        )
        raise template_error("missing_column", "custom_id", message)
    return Piece("row")


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def as_texts(arrays: list[Any]) -> list[str]:
    """Return ids as strings.

    >>> as_texts([pa.array([b"a"], pa.large_binary())])
    ['a']

    """
    return [text.decode() for ids in arrays for text in ids.to_pylist()]
