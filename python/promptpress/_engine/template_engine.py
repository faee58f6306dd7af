"""The engine of `JinjaTemplate`, and the base that it shares with that of `ChatTemplate`."""

from __future__ import annotations

import json
import os
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from jinja2 import nodes

from promptpress._arrow import lazy_compute as pc
from promptpress._arrow.columns import LAYOUTS, one_array
from promptpress._arrow.core_tables import column_names
from promptpress._arrow.python_rows import excerpt, json_texts
from promptpress._config.settings import plain
from promptpress._core import RenderError, closest_name
from promptpress._engine.notes import MisspeltColumn, listed_texts
from promptpress._engine.options import RenderOptions
from promptpress._engine.rendering import Part, Run
from promptpress._engine.table_engine import TableEngine
from promptpress._errors.errors import (
    ABOUT_THE_TABLE,
    PromptWarning,
    callers_level,
    counted,
    row_error_text,
    template_error,
)
from promptpress._jinja.reference import Reference
from promptpress._jinja.run import JinjaRun, Origins, Runner, Texts, spans_type
from promptpress._jinja.undefined_names import guarded_names, undefined_names
from promptpress.typing import StringLayout

FailedRows = dict[int, RenderError]
"""The errors of rows that can't be rendered, keyed by their numbers among all rows."""

_SUFFIXES = (".jinja", ".jinja2", ".j2", ".json")

_OUTPUT_COLUMNS = ("prompt", "label", "turn", "hash", "spans", "error")
"""Columns that `names` may rename: those of a `Renderer`, so that both take the same names."""

_HASHED = ("source", "environment", "fallback", "strings", "now", "constants")
_DEFAULTS = {"environment": "jinja2", "fallback": "jinja2", "strings": "string"}
_MAX_SHOWN_REASONS = 5


def checked_output(names: Mapping[str, str] | None, strings: object) -> dict[str, Any]:
    """Check the arguments of a template that name and lay out its output."""
    if names is not None and not isinstance(names, Mapping):
        raise template_error("wrong_type", "names", f'expected {{"prompt": ...}}, found a {type(names).__name__}')
    for column, name in (names or {}).items():
        if column not in _OUTPUT_COLUMNS:
            message = f"{column!r} is not one of {', '.join(map(repr, _OUTPUT_COLUMNS))}"
            raise template_error("unknown_name", "names", message)
        if not isinstance(name, str) or not name or "\0" in name:
            raise template_error("wrong_type", f"names.{column}", f"{name!r} is no name for a column")
    if strings not in LAYOUTS:
        raise template_error("unknown_name", "strings", f"{strings!r} is not one of {', '.join(map(repr, LAYOUTS))}")
    return {"names": None if names is None else dict(names), "strings": strings}


def checked_constants(constants: Mapping[str, Any] | None) -> str:
    """Return constants as a JSON text, which tells `1` and `True` apart; refuse what isn't a value of JSON."""
    if not isinstance(constants or {}, Mapping):
        raise template_error("wrong_type", "constants", f"expected a dict, found a {type(constants).__name__}")
    given = plain(dict(constants or {}), "constants")
    for name, value in given.items():
        if not isinstance(name, str) or not name.isidentifier() or name == "self":
            raise template_error("wrong_type", "constants", f"{name!r} is no name of a variable")
        if json_texts([value]) is None:
            message = f"expected a value that JSON has, found a {type(value).__name__}: {excerpt(value)}"
            raise template_error("wrong_type", f"constants.{name}", message)
    return json.dumps(dict(sorted(given.items())))


def warn_of_file_name(source: str, remedy: str) -> None:
    """Warn if a template is probably the name of a file."""
    is_word = len(source.split()) == 1 and not {"{", "\0"} & set(source)
    if is_word and (source.endswith(_SUFFIXES) or ("/" in source and os.path.exists(source))):
        message = f"source: {source!r} is the name of a file, and would be the text of every prompt; {remedy}"
        warnings.warn(message, PromptWarning, stacklevel=callers_level())


class TemplateEngine(TableEngine):
    """Renders one text for each row."""

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
    def sources(self) -> list[str]:
        return [self.source]

    @property
    def names(self) -> Mapping[str, str]:
        return self._names

    def request_fields(self, schema: pa.Schema) -> list[pa.Field]:  # noqa: ARG002 - they have no other
        """Return the field of the texts."""
        return [pa.field(self._names.get("prompt", "prompt"), LAYOUTS[self.strings])]

    def spans_type(self, schema: pa.Schema, detail: bool | None) -> pa.DataType | None:  # noqa: ARG002
        if detail is None:
            return None
        return spans_type(self.strings, is_chat=self.column is not None, is_detailed=detail)

    def begin(self, options: RenderOptions, labels: list[Any] | None, first: int = 0) -> Run:  # noqa: ARG002
        origins = None if options.span_detail is None else Origins(self.spans_type(pa.schema([]), options.span_detail))
        return _TemplateRun(self, origins, first, errors=options.collects_errors)

    def ended(self, run: Run, *, is_batch: bool = False) -> None:
        super().ended(run, is_batch=is_batch)
        if self.last_run is not None:
            self.last_run.errors = run.errors.renumbered(self._row_number_in(run))
            self.last_run.lacking = run.lacking.renumbered(self._row_number_in(run))

    @abstractmethod
    def texts(
        self, table: pa.Table, first: int, counts: JinjaRun, failed: FailedRows | None, origins: Origins | None
    ) -> Iterator[Texts]:
        """Render the next rows, after `first` others; yield anything in the place of a row that failed.

        `failed` takes the errors of rows; without it the first is raised. `origins` numbers the origins of spans.
        """


class _TemplateRun(Run):
    def __init__(self, engine: TemplateEngine, origins: Origins | None, first: int, *, errors: bool) -> None:
        super().__init__(first)
        self._engine = engine
        self._origins = origins
        self._errors = errors
        self._counts = JinjaRun(lacking=self.lacking)

    def parts(self, table: pa.Table, first: int, *, single: bool = False) -> Iterator[Part]:
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
            failed: FailedRows = {}
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
                    self._counts.add(JinjaRun(1, 0, 1, 0, {"a row that can't be read": 1}))
                    spans = None if self._origins is None else pa.nulls(1, self._origins.data_type)
                    yield _part(pa.array([""], LAYOUTS[self._engine.strings]), spans, first, {first: error})
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


def _part(texts: pa.Array, spans: pa.Array | None, start: int, failed: FailedRows) -> Part:
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
    """Return texts with nulls where they aren't valid."""
    if pa.types.is_string_view(texts.type):
        pairs = zip(texts.to_pylist(), is_valid, strict=True)
        return pa.array([text if valid else None for text, valid in pairs], texts.type)
    buffers = texts.buffers()
    validity = pa.array([True] * texts.offset + is_valid).buffers()[1]
    return pa.Array.from_buffers(texts.type, len(texts), [validity, *buffers[1:]], offset=texts.offset)


class JinjaEngine(TemplateEngine):
    """Renders rows by a Jinja template."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        super().__init__(arguments["strings"], arguments["names"])
        self.constants: dict[str, Any] = json.loads(arguments["constants"])
        of_environment = (arguments[name] for name in ("source", "environment", "now", "options"))
        self.reference = Reference(*of_environment, constants=self.constants)
        self._variables = _variables(self.reference)
        # A clock that isn't read makes no difference between two templates.
        self.arguments = arguments if "strftime_now" in self._variables else {**arguments, "now": None}
        self.runner = Runner(
            self.reference,
            # A column of this name is what Jinja2 can't be given, whether the template reads it or not.
            (self._variables - self.constants.keys()) | {"self"},
            arguments["strings"],
            refuse=arguments["fallback"] == "refuse",
        )

    @property
    def source(self) -> str:
        return str(self.arguments["source"])

    @property
    def required_columns(self) -> list[str]:
        given = self._variables - set(self.reference.environment.globals)
        names = (node.name for node in self.reference.ast().find_all(nodes.Name))
        return list(dict.fromkeys(name for name in names if name in given))

    def undefined_names(self, schema: pa.Schema) -> list[str]:
        return [f"{name.location}: {name.message}" for name, _ in self._undefined_names(schema)]

    def _undefined_names(self, schema: pa.Schema) -> Iterator[tuple[MisspeltColumn, bool]]:
        """Yield the variables that nothing gives a value or guards, and whether a column's name is near to each."""
        columns = column_names(schema)
        tree, environment = self.reference.ast(), self.reference.environment
        lines = undefined_names(tree, {*columns, *environment.globals})
        # Jinja2 reads some names before a `set` as undefined although there is a column.
        names = lines.keys() - guarded_names(tree) - set(columns)
        for name in filter(names.__contains__, lines):
            closest = closest_name(name, columns)
            guard = "`is defined` or `default` says that it may be missing"
            remedy = guard if closest is None else f"did you mean {closest!r}?"
            message = f"{name!r} is no column, and the template doesn't set it, so it is undefined; {remedy}"
            yield MisspeltColumn(f"line {lines[name]}", message), closest is not None

    def misspelt_columns(self, schema: pa.Schema) -> list[MisspeltColumn]:
        shows_nothing = set(self.required_columns).isdisjoint(column_names(schema))
        return [name for name, is_near in self._undefined_names(schema) if is_near or shows_nothing]

    def warn(
        self,
        output: pa.Schema,  # noqa: ARG002
        schema: pa.Schema,
        samples: pa.Table | pa.RecordBatch | None,  # noqa: ARG002
        *,
        looks: bool = False,  # noqa: ARG002
    ) -> None:
        where = "JinjaTemplate.required_columns lists the variables"
        self.warnings.warn(schema, lambda: listed_texts(self.undefined_names(schema), where))

    def texts(
        self, table: pa.Table, first: int, counts: JinjaRun, failed: FailedRows | None, origins: Origins | None
    ) -> Iterator[Texts]:
        arrays, run = self.runner.run(table, first, failed, origins)
        counts.add(run)
        self.last_run = counts
        self._warn(counts)
        yield from arrays

    def _warn(self, run: JinjaRun) -> None:
        """Warn once that rows weren't compiled."""
        if run.jinja2 and not self.runner.noted:
            reasons = sorted(run.reasons.items(), key=lambda item: -item[1])
            listed = "; ".join(f"{reason} ({rows:,})" for reason, rows in reasons[:_MAX_SHOWN_REASONS])
            message = f"{run.jinja2:,} of {counted(run.rows, 'row')} were rendered by Jinja2 itself: {listed}"
            warnings.warn(f"{message}\n(JinjaTemplate.last_run counts them)", PromptWarning, stacklevel=callers_level())
            # Only now: a filter that makes the warning an error does so for every call.
            self.runner.noted = True

    def fingerprint(self) -> str:
        from promptpress._config.fingerprint import of_jinja_template  # noqa: PLC0415 - seldom asked for

        return of_jinja_template(self.arguments)

    def state(self) -> dict[str, Any]:
        return self.arguments

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> JinjaEngine:
        return cls(state)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JinjaEngine):
            return NotImplemented
        return self.arguments == other.arguments

    def __hash__(self) -> int:
        names, options = self.arguments["names"], self.arguments["options"]
        hashed = (self.arguments[name] for name in _HASHED)
        return hash((*hashed, tuple(options.items()), None if names is None else tuple(names.items())))

    def __repr__(self) -> str:
        given = {name: value for name, value in self.arguments.items() if value != _DEFAULTS.get(name)}
        source = given.pop("source", "")
        given |= given.pop("options")
        given["constants"] = self.constants or None
        given = {name: value for name, value in given.items() if value is not None}
        return ", ".join([repr(source), *(f"{name}={value!r}" for name, value in given.items())])


def _variables(reference: Reference) -> frozenset[str]:
    """Return what a template reads of its row."""
    # A column hides what the environment has of its name.
    names = {node.name for node in reference.ast().find_all(nodes.Name)}
    return reference.undeclared | (names & set(reference.environment.globals))
