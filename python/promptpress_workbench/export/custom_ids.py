"""The `custom_id` of each request, made of a pattern over columns and checked to be unique.

`batch_requests` writes the ids, `join_results` and the command read them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pyarrow as pa
from promptpress.engine.errors import did_you_mean, render_error, template_error

from promptpress_workbench.files.write.json_lines import LineIds, LineWriter, Piece

_TOKEN = re.compile(r"\{\{|\}\}|\{[^{}]*\}|[{}]|[^{}]+")
SAMPLE = "sample"
_WITHIN_SAMPLE = ("label", "turn")
"""Columns that tell a sample's rows apart, if a table has several rows a sample."""
_PROMPT = "prompt"
"""A column that rendered tables have, and samples seldom."""


class CustomIds:
    """Makes the ids of the rows of batches of one schema, by a text with `{column}` in it; `{{` and `}}` are braces.

    `{sample}` is the column of that name, or the row's number if there is one row a sample. `allowed` is a regular
    expression of the ids that a service takes.
    """

    def __init__(self, pattern: str, schema: pa.Schema, longest: int | None = None, allowed: str | None = None) -> None:
        if not isinstance(pattern, str):
            raise template_error("wrong_type", "custom_id", f"expected a string, found {type(pattern).__name__}")
        self.pattern = pattern
        self._schema = schema
        self._longest = longest
        self._allowed = allowed
        self._parts = list(_parts(pattern, schema))
        if all(part.kind == "literal" for part in self._parts):
            message = f'{pattern!r} names no column, so all requests would have one id; "{{sample}}" numbers them'
            raise template_error("wrong_template_form", "custom_id", message)
        plain = [Piece("plain", column=p.column) if p.column else p for p in self._parts]
        self._writer = LineWriter(schema, plain, range(len(plain)))
        self._rows = 0

    def pieces(self) -> list[Piece]:
        """Return the pieces of an id within a JSON string."""
        return [
            Piece("literal", json.dumps(part.text, ensure_ascii=False)[1:-1]) if part.kind == "literal" else part
            for part in self._parts
        ]

    def checked(self, batch: pa.RecordBatch) -> list[pa.LargeBinaryArray]:
        """Make the ids of the next batch; refuse ids that are empty, too long, or have occurred before."""
        out, ids = self._writer.lines_and_ids(batch, self._rows)
        self.check(ids, batch, self._rows)
        self._rows += batch.num_rows
        return out

    def check(self, ids: LineIds, batch: pa.RecordBatch, first_row: int) -> None:
        """Check the ids in the lines of a batch; escapes in a JSON string may make an id seem longer than it is."""
        is_long = self._longest is not None and ids.longest > self._longest
        if not ids.shortest or is_long or (self._allowed is not None and any(part.column for part in self._parts)):
            self._check_each(self._ids(batch, first_row), first_row)
        elif self._allowed is not None:
            self._check_each(self._ids(batch.slice(0, 1), first_row), first_row)  # other numbers are numbers, too
        if ids.repeated is not None:
            row, before = ids.repeated
            raise self._repeated(row, before, *self._ids(batch.slice(row - first_row, 1), row))

    def check_numbers(self, first_row: int, count: int) -> None:
        """Check the lengths of ids that differ by the row's number alone, and so are unique."""
        if self._longest is None or not count:
            return
        rows = pa.record_batch({"": pa.nulls(count)})
        if len(self._ids(rows.slice(count - 1), first_row + count - 1)[0]) > self._longest:
            self._check_each(self._ids(rows, first_row), first_row)

    def _ids(self, batch: pa.RecordBatch, first_row: int) -> list[str]:
        return [text.decode() for ids in self._writer.lines(batch, first_row) for text in ids.to_pylist()]

    def _check_each(self, ids: list[str], first_row: int) -> None:
        for row, text in enumerate(ids, first_row):
            if not text:
                raise render_error("invalid_custom_id", f"its custom_id, by {self.pattern!r}, is empty", row)
            if self._longest is not None and len(text) > self._longest:
                message = (
                    f"its custom_id {text[:40] + '…'!r} has {len(text)} characters, and {self._longest} are allowed;"
                    " make it of shorter columns, such as {sample}"
                ) + (", or give custom_id_length=" if self._allowed is None else "")
                raise render_error("invalid_custom_id", message, row)
            if self._allowed is not None and not re.fullmatch(self._allowed, text):
                message = (
                    f"its custom_id {text!r} has more than letters of ASCII, digits, _ and -, which all have to be"
                )
                raise render_error("invalid_custom_id", f"{message}; make it of other columns, such as {{sample}}", row)

    def _repeated(self, row: int, before: int, custom_id: str) -> Exception:
        names = {part.column for part in self._parts}
        more = [name for name in (SAMPLE, *_WITHIN_SAMPLE) if name in self._schema.names and name not in names]
        if more:
            remedy = f"add {' and '.join(f'{{{name}}}' for name in more)} to the pattern: " + repr(
                "-".join([self.pattern, *(f"{{{name}}}" for name in more)])
            )
        elif SAMPLE in self._schema.names or any(part.kind == "row" for part in self._parts):
            remedy = "add a column that tells the rows apart to the pattern"
        elif any(name in self._schema.names for name in _WITHIN_SAMPLE):
            remedy = f'render with index="{SAMPLE}", and add {{{SAMPLE}}} to the pattern'
        else:
            remedy = f"add {{{SAMPLE}}} to the pattern, the row's number"
        message = (
            f"it has the custom_id of row {before}, {custom_id!r}, and each request needs one of its own; {remedy}"
        )
        return render_error("duplicate_custom_id", message, row)


def columns_of(pattern: str) -> list[str]:
    """List the columns that a pattern of ids names, in order."""
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
    # Only if there are prompts: samples may have labels of their own.
    within = [other for other in _WITHIN_SAMPLE if other in schema.names and _PROMPT in schema.names]
    if within:
        message = (
            f"the table has several rows a sample (it has a column {within[0]!r}) and doesn't say which; render with"
            f' index="{SAMPLE}", and take custom_id="{{{SAMPLE}}}-{{{within[0]}}}"'
        )
        raise template_error("missing_column", "custom_id", message)
    return Piece("row")
