"""Constructors of the core's exceptions, warnings, and parts of messages: suggestions, remedies, counted nouns."""

from __future__ import annotations

import difflib
import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from promptpress._core import RenderError, TemplateError


def close_names(name: str, names: Iterable[str], count: int = 1, cutoff: float = 0.6) -> list[str]:
    """Return at most `count` names that resemble a misspelt one, the closest first."""
    return difflib.get_close_matches(name, names, count, cutoff)


def did_you_mean(name: str, names: Iterable[str], cutoff: float = 0.75) -> str:
    """Return the end of an error message that suggests the closest valid name, or an empty string."""
    return "".join(f"; did you mean {close!r}?" for close in close_names(name, names, cutoff=cutoff))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, which gets an "s" unless the number is one."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_PACKAGES = tuple(
    os.path.join(_FOLDER, name, "") for name in ("promptpress", "promptpress_workbench", "promptpress_harness")
)


def callers_level() -> int:
    """Return the `stacklevel` with which a warning names the first caller outside the packages."""
    # A frame that held itself in the end would keep all callers' tables until garbage is collected.
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGES):
        frame = frame.f_back
        level += 1
    return level - 1 if frame is None else level


class PromptWarning(UserWarning):
    """Warning of a probable mistake in a configuration: see `promptpress.Renderer.notes`."""


class FilledValuesWarning(PromptWarning):
    """Warning that rendering has changed data: values were filled in as templates, as harnesses do."""


class LeftOutWarning(PromptWarning):
    """Warning that a chat template has left out what conversations hold: messages, calls of tools, or arguments."""


class NothingRenderedWarning(PromptWarning):
    """Warning that there was nothing to render: the samples have no rows."""


def template_error(code: str, path: str, message: str) -> TemplateError:
    """Make the error for a fault of the configuration, with a text that begins with the path.

    Args:
        code: One of `promptpress._core.ERROR_CODES`.
        path: The faulty part of the configuration, such as `prompt_template.begin[0]`.
        message: The fault and its remedy, without the path.

    >>> error = template_error("wrong_type", "reader", "found nothing")
    >>> print(error, error.code, error.path, sep=", ")
    reader: found nothing, wrong_type, reader
    """
    error = TemplateError(f"{path}: {message}")
    error.code, error.message = code, message
    error.path, error.row, error.column = path, None, None
    return error


def render_error(
    code: str, message: str, row: int | None = None, column: str | None = None, *, placed: bool = True
) -> RenderError:
    """Make the error for a fault of the data.

    Args:
        code: One of `promptpress._core.ERROR_CODES`.
        message: The fault and its remedy, without row and column.
        row: The row's number among all samples.
        column: The faulty column's name.
        placed: Begin the text with row and column. False if the message names them itself.

    >>> print(render_error("row_out_of_range", "no such row", row=3))
    row 3: no such row
    """
    row_and_column = [f"row {row}"] * (row is not None) + [f'column "{column}"'] * (column is not None)
    prefix = ", ".join(row_and_column) + ": " if placed and row_and_column else ""
    # A NUL byte ends a C string: an exported stream's message would be cut there.
    error = RenderError(f"{prefix}{message}".replace("\0", "\\x00"))
    error.code, error.message = code, message
    error.path, error.row, error.column = None, row, column
    return error


def of_row(error: RenderError, row: int) -> RenderError:
    """Renumber the error of a one-row table for a larger table; a text that names no row stays as it is."""
    message = error.message if error.path in (None, "") else f"{error.path}: {error.message}"
    out = render_error(error.code, message, error.row if error.row is None else row, error.column)
    out.message, out.path, out.row = error.message, error.path, row
    return out


ABOUT_THE_TABLE = frozenset(
    {"internal_error", "out_of_memory", "missing_column", "wrong_column_type", "unsupported_column_type"}
)
"""Codes of errors that concern the whole table, at whatever row they are raised."""


def row_error_text(error: RenderError) -> str:
    """Return an error as a column of errors shows it: code, column if any, and message."""
    column = "" if error.column is None else f'column "{error.column}": '
    return f"{error.code}: {column}{error.message}"


_MAX_FIRST = 3


class RowError(NamedTuple):
    """The number of a row, and why it couldn't be rendered."""

    row: int
    message: str


@dataclass
class RowErrors:
    """The number of rows of a run that couldn't be rendered, and the first three of them."""

    rows: int = 0
    first: list[RowError] = field(default_factory=list)

    def add(self, rows: Iterable[int], messages: Iterable[str]) -> None:
        """Add the errors of some requests, by the rows that they are of; a row's requests follow each other."""
        last = None
        for row, message in zip(rows, messages, strict=True):
            if row != last:
                self.rows += 1
                if len(self.first) < _MAX_FIRST:
                    self.first.append(RowError(row, message))
            last = row

    def renumbered(self, row_number: Callable[[int], int]) -> RowErrors:
        """Return the same errors with other row numbers."""
        return RowErrors(self.rows, [RowError(row_number(error.row), error.message) for error in self.first])


_SAMPLES = re.compile(r"\bsamples\b")
_ITEM_REMEDIES = (
    (Mapping, "dicts", "put them into a list: {}; stream takes them as they are"),
    (pa.RecordBatch, "record batches", "make a table of them: pyarrow.Table.from_batches({}); stream takes them"),
    (pa.Table, "tables", "make one of them: pyarrow.concat_tables({})"),
    ((list, tuple), "rows without names", 'name the columns: [dict(zip(["question", "answer"], row)) for row in {}]'),
    (str, "strings", 'name the column: pyarrow.table({{"question": {}}})'),
)
_ENGINES = ("pyspark", "dask", "ray", "daft")


def of_examples(error: TypeError) -> TypeError:
    """Return an error of `not_a_table` with "examples" in place of "samples"."""
    remedy = vars(error).get("remedy", "")
    return TypeError(f"examples: {str(error).removesuffix(remedy)}{_SAMPLES.sub('examples', remedy)}")


def not_a_table(samples: Any, first: Any = None) -> TypeError:
    """Make the error for samples that aren't a table; the text tells how to make a table of them, if possible."""
    description, remedy = _description_and_remedy(samples, first)
    article = "an" if description[0].lower() in "aeiou" else "a"
    message = (
        "expected a table (anything with the Arrow PyCapsule interface, a Hugging Face dataset, a Polars LazyFrame,"
        f" dicts of a list or a generator, a dict of lists, or a path), found {article} {description}"
    )
    error = TypeError(f"{message}; {remedy}" if remedy else message)
    vars(error)["remedy"] = remedy  # for `of_examples`
    return error


def _description_and_remedy(samples: Any, first: Any) -> tuple[str, str]:  # noqa: PLR0911 - for each kind
    name, package = type(samples).__name__, type(samples).__module__.partition(".")[0]
    if isinstance(samples, os.PathLike):
        return name, "a path is text, not bytes: os.fsdecode(samples)"
    if isinstance(samples, Mapping):
        return name, _mapping_remedy(samples, name, package)
    if isinstance(samples, (list, tuple)):
        if not samples:
            return f"{name} without rows", 'name its columns: pyarrow.table({"question": []})'
        if any(isinstance(row, Mapping) for row in samples):
            index = next(index for index, row in enumerate(samples) if not isinstance(row, Mapping))
            return f"{name} of dicts", f"item {index} is no dict but {type(samples[index]).__name__}"
        return _of_items(name, next(iter(samples), None), "samples")
    if first is not None:
        return _of_items(name, first, "list(samples)")
    if isinstance(samples, (pa.Array, pa.ChunkedArray)):
        return f"{name} of {samples.type}", 'name the column: pyarrow.table({"question": samples})'
    if name == "Series":
        return name, "make a frame of it: samples.to_frame()"
    if package == "pandas":
        return f"pandas {name}", "convert it: pyarrow.Table.from_pandas(samples)"
    if name == "ParquetFile":
        return name, "read it: samples.read(); stream takes samples.iter_batches()"
    if name == "Renderer" and package == "promptpress":
        return name, "it makes one: renderer.render(samples)"
    if package in _ENGINES:
        return f"{package} {name}", "hand the renderer to its map over batches (docs/scale.md)"
    return name, ""


def _mapping_remedy(samples: Mapping[Any, Any], name: str, package: str) -> str:
    values = list(samples.values())
    if package == "datasets" or any(hasattr(value, "column_names") or hasattr(value, "schema") for value in values):
        return f"choose one of its splits: {', '.join(f'samples[{key!r}]' for key in samples) or 'it has none'}"
    scalars = [key for key, value in samples.items() if not _is_column(value)]
    if len(scalars) == len(values):
        return f"a {name} is one row: put it into a list: [samples]"
    if scalars:
        key = scalars[0]
        return f"as columns every value is a list, and {key!r} has a {type(samples[key]).__name__}"
    key = next(key for key, value in samples.items() if len(getattr(value, "shape", (0,))) != 1)
    return f"a column has one dimension, and {key!r} has another number; make lists of it: .tolist()"


def _is_column(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or hasattr(value, "__array__")


def _of_items(name: str, first: Any, samples: str) -> tuple[str, str]:
    for kind, items, remedy in _ITEM_REMEDIES:
        if isinstance(first, kind):
            return f"{name} of {items}", remedy.format(samples)
    return f"{name} of {type(first).__name__}", "rows are dicts, whose keys are columns"
