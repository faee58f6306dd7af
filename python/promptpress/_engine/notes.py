"""Notes on probable mistakes in a configuration, and the warnings about schemas, tables and runs."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

import promptpress._core as _core
from promptpress._arrow.columns import is_messages, is_text
from promptpress._arrow.core_tables import check_values, column_names
from promptpress._config.configuration import Configuration
from promptpress._config.tokenizer import EncodedRequests
from promptpress._core import Note, RenderError, StreamState, TemplateError
from promptpress._errors.errors import (
    NothingRenderedWarning,
    PromptWarning,
    RowErrors,
    callers_level,
    counted,
    template_error,
)
from promptpress._errors.left_out import LeftOut

_MISSPELT_COLUMNS = b"promptpress.misspelt_columns"
_MAX_COLUMNS = 3
_MAX_SHOWN = 5
_MAX_COMPARED_ROWS = 4096
_SCHEMA = pa.schema([(name, pa.string()) for name in ("code", "severity", "place", "message", "remedy")])


class MisspeltColumn(NamedTuple):
    """A name in a template that no column has, and that resembles the name of a column.

    Args:
        location: The place in the configuration or the template.
        message: The fault and its remedy.
        code: The code of the fault, for other mistakes that nobody means.
    """

    location: str
    message: str
    code: str = "unknown_placeholder"


def with_misspelt_columns(schema: pa.Schema, columns: list[MisspeltColumn]) -> pa.Schema:
    """Record the misspelt columns of a template in the metadata of a schema; without any, return the schema itself."""
    if not columns:
        return schema
    return schema.with_metadata({**(schema.metadata or {}), _MISSPELT_COLUMNS: json.dumps(columns, ensure_ascii=False)})


def misspelt_columns(schema: pa.Schema) -> list[MisspeltColumn]:
    """Return the misspelt columns that `with_misspelt_columns` has recorded.

    >>> columns = [MisspeltColumn("prompt_template", "'{questoin}' names no column")]
    >>> misspelt_columns(with_misspelt_columns(pa.schema([]), columns))[0].location
    'prompt_template'
    """
    return [MisspeltColumn(*item) for item in json.loads((schema.metadata or {}).get(_MISSPELT_COLUMNS, b"[]"))]


def refusal(columns: list[MisspeltColumn]) -> TemplateError | None:
    """Return the error of a template with such columns: the first, and how many more there are; None for none."""
    if not columns:
        return None
    location, message, code = columns[0]
    more = f"; and {len(columns) - 1} more" if len(columns) > 1 else ""
    return template_error(code, location, f'{message}{more} (unknown="keep" writes the prompts all the same)')


@dataclass(frozen=True)
class LastRun:
    """The samples of a run that are worth a look: those whose values were filled in, and those with errors.

    Args:
        rows: The number of samples whose values were filled in, or took part in a placeholder: those of
            `Renderer.divergence`.
        first_row: The first of them; None if there are none.
        columns: The columns whose values did so in the first row.
        is_partial: True if some rows couldn't be compared.
        samples: The number of all samples of the run.
        errors: The samples that couldn't be rendered, under `errors="column"` or `"skip"`: their number is
            `errors.rows`, and `errors.first` has the first three with their messages.
        tokens: The requests by what has encoded them; None if nobody asked for tokens.
        lacking: What the chat template has left out, of which `left_out` is the table.

    >>> LastRun(2, 17, ("q",), samples=5000).message.partition("; ")[0]
    "in 2 of 5,000 rows, values were filled in as templates, first in row 17, column 'q'"
    """

    rows: int = 0
    first_row: int | None = None
    columns: tuple[str, ...] = ()
    is_partial: bool = False
    samples: int = 0
    errors: RowErrors = field(default_factory=RowErrors)
    tokens: EncodedRequests | None = None
    lacking: LeftOut = field(default_factory=LeftOut, repr=False)

    @classmethod
    def of(
        cls,
        state: StreamState,
        samples: int,
        errors: RowErrors | None = None,
        row_number: Callable[[int], int] = int,
        lacking: LeftOut | None = None,
    ) -> LastRun:
        """Return what the state of a run has counted."""
        rows, first, is_partial = state.filled
        first_row, columns = (row_number(first[0]), first[1]) if first is not None else (None, [])
        errors = RowErrors() if errors is None else errors.renumbered(row_number)
        lacking = LeftOut() if lacking is None else lacking.renumbered(row_number)
        return cls(rows, first_row, tuple(columns), is_partial, samples, errors, lacking=lacking)

    @property
    def left_out(self) -> pa.Table:
        """The parts that the chat template has left out: a table of `code`, `rows`, `first_row` and `place`."""
        return self.lacking.table()

    @property
    def message(self) -> str:
        """The text of the warning of filled values."""
        more = ", ..." if len(self.columns) > _MAX_COLUMNS else ""
        names = ", ".join(map(repr, self.columns[:_MAX_COLUMNS])) + more
        count = f"in {'at least ' if self.is_partial else ''}{self.rows:,} of {counted(self.samples, 'row')}"
        of_columns = f", column{'' if len(self.columns) == 1 else 's'} {names}" if self.columns else ""
        return (
            f"{count}, values were filled in as templates, first in row {self.first_row}{of_columns}; "
            'substitution="single_pass" leaves values alone'
        )


class SchemaWarnings:
    """The schemas that a renderer has warned about, so that each is warned about once."""

    __slots__ = ("seen", "silent")

    def __init__(self, *, silent: bool = False) -> None:
        self.silent = silent
        self.seen: set[tuple[tuple[str, ...], tuple[str, ...]]] = set()

    def warn(self, schema: pa.Schema, text_of: Callable[[], str]) -> None:
        """Warn of what is probably a mistake, unless that was done for this schema."""
        key = (tuple(schema.names), tuple(map(str, schema.types)))
        if self.silent or key in self.seen:
            return
        text = text_of()
        if text:
            warnings.warn(text, PromptWarning, stacklevel=callers_level())
        # Only now: a filter that makes the warning an error does so for every call.
        self.seen.add(key)


def listed_texts(texts: list[str], where: str) -> str:
    """Return several texts as those of one warning: a filter that makes it an error would show the first alone."""
    if not texts:
        return ""
    lines = texts[:_MAX_SHOWN]
    if len(texts) > _MAX_SHOWN:
        lines.append(f"and {len(texts) - _MAX_SHOWN} more")
    return "\n  ".join(lines) + f"\n({where})"


def warn_of_no_rows(rows: int) -> None:
    """Warn if there are no rows. The text is always the same, so that Python shows it once for a line of a program."""
    if not rows:
        message = "the table has no rows, so nothing was rendered"
        warnings.warn(message, NothingRenderedWarning, stacklevel=callers_level())


def find_notes(
    configuration: Configuration, schema: pa.Schema, samples: pa.Table | pa.RecordBatch | None, *, same: bool = False
) -> list[Note]:
    """Find what is probably a mistake, in the order of the configuration's parts.

    Args:
        configuration: The renderer's configuration.
        schema: The samples' schema.
        samples: The samples, where they are at hand.
        same: True if the examples are known to be the samples' own table.
    """
    settings, examples = configuration.settings, configuration.examples
    shared: list[int] = []
    if examples is not None and samples is not None and settings["ice_template"] is not None and len(samples):
        samples = pa.Table.from_batches([samples]) if isinstance(samples, pa.RecordBatch) else samples
        same = same or samples is examples or _equal(samples, examples)
        shared = [] if same else _shared(settings["retriever"], examples, samples)
    names = None if examples is None else examples.column_names
    columns = list(zip(column_names(schema), map(_kind, schema.types), strict=True))
    return _core.notes(configuration.core, settings, columns, names, same, shared)


def checked_notes(notes: list[Note]) -> list[Note]:
    """Return the notes, or raise a TemplateError of those that are errors."""
    errors = [note for note in notes if note.severity == "error"]
    error = refusal([MisspeltColumn(note.place, f"{note.message}; {note.remedy}", note.code) for note in errors])
    if error is not None:
        raise error
    return notes


def warning_text(notes: list[Note]) -> str:
    """Return the text of the warning about notes; an empty text if none of them is a warning."""
    texts = [f"{note.place}: {note.message}; {note.remedy}" for note in notes if note.severity != "info"]
    return listed_texts(texts, "Renderer.notes lists them")


def misspelt_in(notes: list[Note], *, shows_nothing: bool = False) -> list[MisspeltColumn]:
    """Return the placeholders that name no column, and are near to a column's name or a whole text."""
    return [
        MisspeltColumn(note.place, f"{note.message}; {note.remedy}")
        for note in notes
        if note.column is not None or note.is_whole or (shows_nothing and note.code == "unknown_placeholder")
    ]


def table_of(notes: list[Note]) -> pa.Table:
    """Make the table of notes that users see."""
    rows = [{name: getattr(note, name) for name in _SCHEMA.names} for note in notes]
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def _kind(data_type: pa.DataType) -> str:
    """Return what a column holds, in the words of the core."""
    if is_text(data_type, encoded=True):
        return "texts"
    return "messages" if is_messages(data_type) else "other"


def _shared(retriever: Any, examples: pa.Table, samples: pa.Table) -> list[int]:
    """Return the rows of a fixed choice that are among the first samples, with all their columns."""
    ids = retriever.get("fix_id_list") if isinstance(retriever, dict) else None
    names = examples.column_names
    if not ids or set(names) != set(samples.column_names):
        return []
    if any(examples.schema.field(name).type != samples.schema.field(name).type for name in names):
        return []
    chosen = [row for row in dict.fromkeys(ids) if -len(examples) <= row < len(examples)]
    first = samples.slice(0, _MAX_COMPARED_ROWS)
    values: dict[str, list[Any]] = {}
    try:
        check_values(first)
        return [row for row in chosen if _stands_in(first, values, examples, row % len(examples))]
    except Exception:  # what can't be converted is an error of rendering, if of anything
        return []


def _equal(samples: pa.Table, examples: pa.Table) -> bool:
    if len(samples) != len(examples) or samples.schema != examples.schema:
        return False
    try:
        check_values(samples)
        check_values(examples)
    except RenderError:  # rendering says so where it matters
        return False
    return bool(samples.equals(examples))


def _stands_in(samples: pa.Table, values: dict[str, list[Any]], examples: pa.Table, row: int) -> bool:
    """Return true if a row of the examples is a sample; `values` caches the columns that were read."""
    left: Iterable[int] = range(len(samples))
    for name in examples.column_names:
        if name not in values:
            values[name] = samples[name].to_pylist()
        cell = examples.select([name]).slice(row, 1)
        check_values(cell)
        column, wanted = values[name], cell[name][0].as_py()
        left = [row for row in left if column[row] == wanted]
        if not left:
            return False
    return True
