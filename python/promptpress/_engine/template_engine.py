"""The base of the engines of Jinja templates and chat templates: texts, and what went which way."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from promptpress._arrow.one_array import one_array
from promptpress._arrow.types import LAYOUTS
from promptpress._core import RenderError
from promptpress._engine.options import RenderOptions
from promptpress._engine.run import Part, Run
from promptpress._engine.table_engine import TableEngine
from promptpress._errors.errors import ABOUT_THE_TABLE, PromptWarning, row_error_text, template_error
from promptpress._jinja.chat.settings import ChatSettings
from promptpress._jinja.run import JinjaRun, Origins, Texts, spans_type
from promptpress._utils import lazy_compute as pc
from promptpress._utils.callers import callers_level
from promptpress.typing import StringLayout

_PROMPT = "prompt"
_SUFFIXES = (".jinja", ".jinja2", ".j2", ".json")
_OUTPUT_COLUMNS = (_PROMPT, "label", "turn", "hash", "spans", "error")
"""Columns that `names` may rename: those of a `Renderer`, so that both take the same names."""


def checked_output(names: Mapping[str, str] | None, strings: object) -> dict[str, Any]:
    """Check the arguments of a template that name and lay out its output.

    Args:
        names: Other names of output columns.
        strings: The layout of the texts.

    Returns:
        Both.

    Raises:
        TemplateError: If an output column isn't known, a name is none, or a layout isn't known.

    """
    if names is not None and not isinstance(names, Mapping):
        message = f'expected {{"{_PROMPT}": ...}}, found a {type(names).__name__}'
        raise template_error("wrong_type", "names", message)
    for column, name in (names or {}).items():
        if column not in _OUTPUT_COLUMNS:
            message = f"{column!r} is not one of {', '.join(map(repr, _OUTPUT_COLUMNS))}"
            raise template_error("unknown_name", "names", message)
        if not isinstance(name, str) or not name or "\0" in name:
            raise template_error("wrong_type", f"names.{column}", f"{name!r} is no name for a column")
    if strings not in LAYOUTS:
        message = f"{strings!r} is not one of {', '.join(map(repr, LAYOUTS))}"
        raise template_error("unknown_name", "strings", message)
    return {"names": None if names is None else dict(names), "strings": strings}


def warn_of_file_name(source: str, remedy: str) -> None:
    """Warn if a template is probably the name of a file.

    Args:
        source: The template.
        remedy: The way to give the file's text.

    """
    if source.endswith(_SUFFIXES) and len(source.split()) == 1 and "{" not in source:
        message = f"source: {source!r} is the name of a file, and would be the text of every prompt; {remedy}"
        warnings.warn(message, PromptWarning, stacklevel=callers_level())


class TemplateEngine(TableEngine):
    """Renders one text for each row.

    Args:
        strings: The layout of the texts.
        names: Other names of output columns.

    """

    column: str | None = None
    """The only column that is read; None: the template decides."""

    def __init__(self, strings: StringLayout, names: Mapping[str, str] | None) -> None:
        super().__init__()
        self.strings = strings
        self._names = dict(names or {})
        self.last_run: JinjaRun | None = None

    @property
    @abstractmethod
    def source(self) -> str:
        """The text of the template."""

    @property
    def chat_settings(self) -> ChatSettings | None:
        """The settings of a chat template; None for a Jinja template."""
        return None

    @property
    def names(self) -> Mapping[str, str]:
        """Other names of output columns, as `TableEngine.names`."""
        return self._names

    def request_fields(self, schema: pa.Schema) -> list[pa.Field]:  # noqa: ARG002 - they have no other
        """Return the field of the texts."""
        return [pa.field(self._names.get(_PROMPT, _PROMPT), LAYOUTS[self.strings])]

    def spans_type(self, schema: pa.Schema, detail: bool | None) -> pa.DataType | None:  # noqa: ARG002
        """Return the type of a text's spans, as `TableEngine.spans_type`."""
        if detail is None:
            return None
        return spans_type(self.strings, is_chat=self.column is not None, is_detailed=detail)

    def begin(
        self,
        options: RenderOptions,
        labels: list[Any] | None,  # noqa: ARG002 - there are none
        first: int = 0,
    ) -> Run:
        """Begin a run, as `TableEngine.begin`."""
        origins = None if options.span_detail is None else Origins(self.spans_type(pa.schema([]), options.span_detail))
        return _TemplateRun(self, origins, first, errors=options.collects_errors)

    def ended(self, run: Run, *, is_batch: bool = False) -> None:
        """Keep the errors of rows next to the counts of the run; and as `TableEngine.ended`."""
        super().ended(run, is_batch=is_batch)
        if self.last_run is not None:
            self.last_run.errors = run.errors.renumbered(self._row_number_in(run))

    @abstractmethod
    def texts(
        self,
        table: pa.Table,
        first: int,
        counts: JinjaRun,
        failed: dict[int, RenderError] | None,
        origins: Origins | None,
    ) -> Iterator[Texts]:
        """Render the next rows.

        Args:
            table: The rows.
            first: How many rows came before.
            counts: Counts the rows of the whole run.
            failed: Takes the error of each row that can't be rendered, keyed by its number among all rows. None: the
                first error is raised.
            origins: Numbers the origins of spans; None: no spans are asked for.

        Yields:
            The texts, in order, with their spans; anything in the place of a row that failed.

        Raises:
            RenderError: If a row can't be rendered, or something is wrong with the table.

        """


class _TemplateRun(Run):
    def __init__(self, engine: TemplateEngine, origins: Origins | None, first: int, *, errors: bool) -> None:
        super().__init__(first)
        self._engine = engine
        self._origins = origins
        self._errors = errors
        self._counts = JinjaRun()

    def parts(self, table: pa.Table, first: int, *, single: bool = False) -> Iterator[Part]:
        """Render the next rows, as `Run.parts`."""
        if self._errors:
            yield from self._parts_or_errors(table, first)
            return
        arrays = self._engine.texts(table, first, self._counts, None, self._origins)
        if single:
            texts, spans = zip(*arrays, strict=True)
            whole = None if self._origins is None else pa.concat_arrays(spans)
            arrays = iter([(one_array(list(texts), self._engine.column), whole)])
        del table
        for prompts, of_prompts in arrays:
            yield Part(first, len(prompts), prompts, spans=of_prompts)
            first += len(prompts)

    def _parts_or_errors(self, table: pa.Table, first: int) -> Iterator[Part]:
        """Render rows; where a row can't even be read, the rows before and after it are rendered without it."""
        while True:
            failed: dict[int, RenderError] = {}
            counts = JinjaRun()
            try:
                arrays = list(self._engine.texts(table, first, counts, failed, self._origins))
            except RenderError as error:
                row = -1 if error.row is None else error.row - first
                if error.code in ABOUT_THE_TABLE or not 0 <= row < table.num_rows:
                    raise
                if row:
                    yield from self._parts_or_errors(table.slice(0, row), first)
                if table.num_rows == 1:
                    texts = pa.array([""], LAYOUTS[self._engine.strings])
                    self._counts.add(JinjaRun(1, 0, 1, 0, {"a row that can't be read": 1}))
                    spans = None
                    if self._origins is not None:
                        spans = pa.nulls(1, self._origins.data_type)
                    yield _part(texts, spans, first, {first: error})
                    return
                # The error's row is believed only if that row fails alone too.
                yield from self._parts_or_errors(table.slice(row, 1), first + row)
                table, first = table.slice(row + 1), first + row + 1
                if not table.num_rows:
                    return
                continue
            self._counts.add(counts)
            self._engine.last_run = self._counts
            for texts, spans in arrays:
                yield _part(texts, spans, first, failed)
                first += len(texts)
            return


def _part(texts: pa.Array, spans: pa.Array | None, start: int, failed: dict[int, RenderError]) -> Part:
    errors: list[str | None] = [None] * len(texts)
    for row in list(failed):
        if start <= row < start + len(texts):
            errors[row - start] = row_error_text(failed.pop(row))
    if any(errors):
        is_valid = [error is None for error in errors]
        texts = with_nulls(texts, is_valid)
        # The place of a row that failed has no bytes, and so no spans.
        spans = None if spans is None else pc.if_else(pa.array(is_valid), spans, pa.nulls(len(spans), spans.type))
    return Part(start, len(texts), texts, pa.array(errors, pa.string()), spans=spans)


def with_nulls(texts: pa.Array, is_valid: list[bool]) -> pa.Array:
    """Return texts with nulls where they aren't valid.

    Args:
        texts: Texts of any layout, without nulls or with some.
        is_valid: For each text, whether it stays.

    """
    if pa.types.is_string_view(texts.type):
        pairs = zip(texts.to_pylist(), is_valid, strict=True)
        return pa.array([text if valid else None for text, valid in pairs], texts.type)
    buffers = texts.buffers()
    validity = pa.array([True] * texts.offset + is_valid).buffers()[1]
    return pa.Array.from_buffers(texts.type, len(texts), [validity, *buffers[1:]], offset=texts.offset)
