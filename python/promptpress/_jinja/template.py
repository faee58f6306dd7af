"""A Jinja template over tables."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NoReturn, overload

import pyarrow as pa
from jinja2 import nodes

from promptpress._configuration import Configuration
from promptpress._errors import PromptWarning, template_error
from promptpress._jinja.bounded import undeclared_names
from promptpress._jinja.bounds import BUDGET
from promptpress._jinja.environments import ENVIRONMENTS
from promptpress._jinja.one_array import one_array
from promptpress._jinja.partial.compile import outlook
from promptpress._jinja.reference import Reference
from promptpress._jinja.run import JinjaRun, Runner
from promptpress._kept_columns import names_of
from promptpress._output_schema import OutputSchemas
from promptpress._render_options import RenderOptions
from promptpress._settings import plain_settings
from promptpress._tables import as_reader, as_table, column_names
from promptpress.typing import StreamLike, StringLayout, TableLike

__all__ = ["JinjaTemplate"]

EnvironmentName = Literal["jinja2", "transformers", "lm_eval"]
Fallback = Literal["jinja2", "refuse"]

_FALLBACKS = ("jinja2", "refuse")
_COMPILED_SCHEMA = pa.schema(
    [("line", pa.int64()), ("node", pa.string()), ("compiled", pa.bool_()), ("reason", pa.string())]
)
_CLOCK = "strftime_now"
_MAX_SHOWN_REASONS = 5
_TO_CALLER = 3


class JinjaTemplate:
    r"""Renders the rows of tables by a Jinja template, as Jinja2 itself does, but compiled to what the core runs.

    A row's columns are the template's variables, with the values that `to_pylist` gives. Rows that can't be compiled
    with certainty are rendered by Jinja2 itself, in a sandbox and within limits of time and memory.

    Immutable, and safe to share between threads. It can be pickled, and equals another that is made of the same.

    Args:
        source: The template.
        environment: Whose rules hold: `"jinja2"` (`jinja2.Environment()`), `"transformers"` (those of
            `apply_chat_template`), or `"lm_eval"` (those of `lm_eval.utils.apply_template`).
        fallback: What becomes of a row that isn't compiled: `"jinja2"` renders it, `"refuse"` raises.
        names: Another name for the output column `prompt`: `{"prompt": ...}`.
        strings: Arrow layout of the texts: `"string"`, `"large_string"` or `"string_view"`.
        now: The clock that `strftime_now` reads. None: the time when the template is made.

    Raises:
        TemplateError: If Jinja2 can't compile the template, an argument isn't one of those above, or `"refuse"` would
            refuse each row.

    >>> import pyarrow as pa
    >>> template = JinjaTemplate("Q: {{ question.strip() }}\nA:")
    >>> template.render(pa.table({"question": [" 1+1=? ", "2+2=?"]}))["prompt"].to_pylist()
    ['Q: 1+1=?\nA:', 'Q: 2+2=?\nA:']

    """

    __slots__ = ("__weakref__", "_arguments", "_last_run", "_reference", "_runner", "_schemas", "_variables")

    _arguments: dict[str, Any]
    _last_run: JinjaRun | None
    _reference: Reference
    _runner: Runner
    _schemas: OutputSchemas
    _variables: frozenset[str]

    def __init__(  # noqa: PLR0917 - in the order of the contract
        self,
        source: str,
        environment: EnvironmentName = "jinja2",
        fallback: Fallback = "jinja2",
        names: Mapping[str, str] | None = None,
        strings: StringLayout = "string",
        now: datetime | None = None,
    ) -> None:
        _check("source", source, str)
        _one_of("environment", environment, tuple(ENVIRONMENTS))
        _one_of("fallback", fallback, _FALLBACKS)
        if now is not None:
            _check("now", now, datetime)
        # What has a Renderer's settings has its output's columns.
        settings = plain_settings({"prompt_template": "", "names": names, "strings": strings})
        self._set(
            {
                "source": source,
                "environment": environment,
                "fallback": fallback,
                "names": settings["names"],
                "strings": settings["strings"],
                "now": datetime.now() if now is None else now,
            }
        )
        if fallback == "refuse":
            self._refuse_hopeless()

    def _set(self, arguments: dict[str, Any]) -> None:
        reference = Reference(arguments["source"], arguments["environment"], arguments["now"])
        variables = _variables(reference)
        if _CLOCK not in variables:
            # A clock that isn't read makes no difference between two templates.
            arguments = {**arguments, "now": None}
        settings = plain_settings({**_RENDERER, "names": arguments["names"], "strings": arguments["strings"]})
        configuration = Configuration(settings, None, None)
        configuration.core  # noqa: B018 - checks the settings
        runner = Runner(
            reference,
            # A column of this name is what Jinja2 can't be given, whether the template reads it or not.
            variables | {"self"},
            arguments["strings"],
            refuse=arguments["fallback"] == "refuse",
        )
        values = {
            "_arguments": arguments,
            "_last_run": None,
            "_reference": reference,
            "_runner": runner,
            "_schemas": OutputSchemas(configuration),
            "_variables": variables,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _refuse_hopeless(self) -> None:
        program = outlook(self._reference, tuple(self.required_columns)).program
        reason = next((program.reasons[statement[1]] for statement in program.block if statement[0] == "bail"), None)
        if reason is not None:
            message = f'{reason}: that can\'t be compiled; fallback="jinja2" has Jinja2 render it'
            raise template_error("not_compiled", "source", message)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        message = f"a JinjaTemplate can't be changed: {name!r} is set when it is made"
        raise AttributeError(message)

    def __delattr__(self, name: str) -> NoReturn:
        message = f"a JinjaTemplate can't be changed: {name!r} can't be deleted"
        raise AttributeError(message)

    def render(self, table: TableLike, keep: Sequence[str] = (), *, index: str | None = None) -> pa.Table:
        """Render all rows.

        Args:
            table: Whatever `Renderer.render` takes.
            keep: Columns to keep beside the texts.
            index: The name of a column for the number of each row, from 0.

        Returns:
            One row a row of the table: the index (int64), the kept columns, then `prompt`.

        Raises:
            RenderError: If Jinja2 raises for a row: the message has its exception's type and message. If a row takes
                too long or makes too large a text. If a row isn't compiled under `fallback="refuse"`. As
                `Renderer.render`, for the table.
            TypeError: As `Renderer.render`.

        >>> import pyarrow as pa
        >>> template = JinjaTemplate("{{ 'yes' if ok else 'no' }}")
        >>> template.render(pa.table({"id": [7], "ok": [True]}), keep=["id"]).to_pylist()
        [{'id': 7, 'prompt': 'yes'}]

        """
        whole = as_table(table)
        keep = names_of(keep)
        schema = self._schemas.of(whole.schema, RenderOptions.of(keep, index))
        arrays, run = self._runner.run(whole)
        self._ran(run)
        self._warn(run)
        columns = [whole.column(name) for name in keep]
        if index is not None:
            columns.insert(0, _numbers(0, len(whole)))
        columns.append(pa.chunked_array(arrays, schema.field(len(columns)).type))
        return pa.Table.from_arrays(columns, schema=schema)

    def stream(
        self, batches: StreamLike, keep: Sequence[str] = (), *, index: str | None = None
    ) -> pa.RecordBatchReader:
        """Render a stream batch by batch, as it is read.

        Args:
            batches: Whatever `Renderer.stream` takes.
            keep: As in `render`.
            index: As in `render`.

        Returns:
            A reader; its memory is bounded by the batch. Rows count over the whole stream.

        Raises:
            RenderError: As `render`, when the batch is read.
            TypeError: As `render`.

        >>> import pyarrow as pa
        >>> batches = pa.table({"q": ["a", "b"]}).to_batches(max_chunksize=1)
        >>> [batch["prompt"].to_pylist() for batch in JinjaTemplate("{{ q }}!").stream(batches)]
        [['a!'], ['b!']]

        """
        reader = as_reader(batches)
        keep = names_of(keep)
        schema = self._schemas.of(reader.schema, RenderOptions.of(keep, index))
        return pa.RecordBatchReader.from_batches(schema, self._batches(reader, schema, keep, index is not None))

    def _stream_from(
        self, reader: pa.RecordBatchReader, keep: Sequence[str], index: str | None, first: int
    ) -> pa.RecordBatchReader:
        """Render a stream that goes on behind `first` rows which an earlier run has rendered."""
        schema = self._schemas.of(reader.schema, RenderOptions.of(keep, index))
        return pa.RecordBatchReader.from_batches(schema, self._batches(reader, schema, keep, index is not None, first))

    def _batches(
        self, reader: Iterable[pa.RecordBatch], schema: pa.Schema, keep: Sequence[str], numbered: bool, first: int = 0
    ) -> Iterator[pa.RecordBatch]:
        run = JinjaRun()
        for batch in reader:
            arrays, part = self._runner.run(pa.Table.from_batches([batch]), first)
            run.add(part)
            self._ran(run)
            self._warn(run)
            columns = [pa.chunked_array([batch.column(batch.schema.get_field_index(name))]) for name in keep]
            if numbered:
                columns.insert(0, _numbers(first, batch.num_rows))
            columns.append(pa.chunked_array(arrays, schema.field(len(columns)).type))
            first += batch.num_rows
            yield from pa.Table.from_arrays(columns, schema=schema).to_batches()

    @overload
    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch: ...
    @overload
    def __call__(self, batch: TableLike) -> pa.Table: ...  # type: ignore[overload-cannot-match]  # pyarrow is untyped
    def __call__(self, batch: pa.RecordBatch | TableLike) -> pa.RecordBatch | pa.Table:
        """Render one batch and keep all its columns: what `map_batches` and `mapInArrow` want.

        Args:
            batch: A `pyarrow.RecordBatch`, or a table.

        Returns:
            The same kind with the texts appended; one record batch stays one record batch.

        Raises:
            RenderError: As `render`; and if the texts pass what one array of 32-bit offsets can hold.

        >>> import pyarrow as pa
        >>> JinjaTemplate("{{ q }}!")(pa.record_batch({"q": ["a"]})).to_pylist()
        [{'q': 'a', 'prompt': 'a!'}]

        """
        whole = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else as_table(batch)
        schema = self._schemas.of(whole.schema, RenderOptions.of(column_names(whole.schema)))
        arrays, run = self._runner.run(whole)
        self._ran(run)
        self._warn(run)
        texts = pa.chunked_array(arrays, schema.field(len(schema) - 1).type)
        if not isinstance(batch, pa.RecordBatch):
            return pa.Table.from_arrays([*whole.columns, texts], schema=schema)
        return pa.RecordBatch.from_arrays([*batch.columns, one_array(texts.chunks)], schema=schema)

    def output_schema(self, schema: pa.Schema, keep: Sequence[str] = (), *, index: str | None = None) -> pa.Schema:
        """Return the schema of what rendering a table of `schema` gives; no data decides it.

        Args:
            schema: That of the table.
            keep: As in `render`.
            index: As in `render`.

        Returns:
            The schema of `render` and `stream`.

        Raises:
            RenderError: If a kept column is missing, or two columns would have one name.

        >>> import pyarrow as pa
        >>> JinjaTemplate("{{ q }}", strings="large_string").output_schema(pa.schema({"q": pa.string()}))
        prompt: large_string

        """
        return self._schemas.of(schema, RenderOptions.of(keep, index))

    @property
    def required_columns(self) -> list[str]:
        """The columns that a scan has to read: all variables that the template doesn't set itself.

        A variable that no table has is undefined, so leave it out of the scan.

        >>> JinjaTemplate("{% set x = a %}{{ x ~ b }}{{ range(3) }}").required_columns
        ['a', 'b']

        """
        own = self._variables - set(self._reference.environment.globals)
        return list(dict.fromkeys(node.name for node in self._reference.ast().find_all(nodes.Name) if node.name in own))

    @property
    def compiled(self) -> pa.Table:
        """What of the template is compiled, whatever a table's columns hold: line by line.

        `line`, `node` (the kind of a node of the template's tree), `compiled`, and for what isn't, the `reason` why
        rows that come there are Jinja2's.

        >>> JinjaTemplate("{{ a.strip() }}").compiled.to_pylist()[-1]
        {'line': 1, 'node': 'Name', 'compiled': True, 'reason': None}

        """
        found = outlook(self._reference, tuple(self.required_columns))
        refused = {(bail.line, bail.node): bail.reason for bail in found.bails}
        rows = [
            {"line": line, "node": node, "compiled": (line, node) not in refused, "reason": refused.get((line, node))}
            for line, node in dict.fromkeys([*found.visited, *refused])
        ]
        return pa.Table.from_pylist(rows, schema=_COMPILED_SCHEMA)

    @property
    def last_run(self) -> JinjaRun | None:
        """How many rows were rendered by programs, and how many by Jinja2 and why, when last a table was rendered.

        Of a stream, as far as it has been read. None before.

        >>> template = JinjaTemplate("{{ q }}")
        >>> template.last_run is None
        True

        """
        return self._last_run

    def _ran(self, run: JinjaRun) -> None:
        object.__setattr__(self, "_last_run", run)

    def _warn(self, run: JinjaRun) -> None:
        """Say once that rows weren't compiled, to whoever called the method that called this."""
        if run.jinja2 and not self._runner.noted:
            reasons = sorted(run.reasons.items(), key=lambda item: -item[1])
            shown = "; ".join(f"{reason} ({rows})" for reason, rows in reasons[:_MAX_SHOWN_REASONS])
            message = f"{run.jinja2} of {run.rows} rows were rendered by Jinja2 itself: {shown}"
            warnings.warn(f"{message}\n(JinjaTemplate.last_run counts them)", PromptWarning, stacklevel=_TO_CALLER)
            # Only now: a filter that makes the warning an error does so for every call.
            self._runner.noted = True

    def fingerprint(self) -> str:
        """Say in one short text what decides the bytes of the prompts: as `Renderer.fingerprint`.

        It is made of the source and its environment, of the clock where it is read, and of the number of the rules.

        Returns:
            64 hexadecimal digits.

        >>> JinjaTemplate("{{ q }}").fingerprint() == JinjaTemplate("{{ q }}", strings="large_string").fingerprint()
        True

        """
        from promptpress._fingerprint.fingerprint import of_jinja_template  # noqa: PLC0415 - seldom asked for

        return of_jinja_template(self._arguments)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JinjaTemplate):
            return NotImplemented
        return self._arguments == other._arguments

    def __hash__(self) -> int:
        names = self._arguments["names"]
        return hash((*(self._arguments[name] for name in _HASHED), None if names is None else tuple(names.items())))

    def __getstate__(self) -> dict[str, Any]:
        return self._arguments

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(state)

    def __repr__(self) -> str:
        given = {name: value for name, value in self._arguments.items() if value != _DEFAULTS.get(name)}
        source = given.pop("source", "")
        return f"JinjaTemplate({', '.join([repr(source), *(f'{name}={value!r}' for name, value in given.items())])})"


_HASHED = ("source", "environment", "fallback", "strings", "now")
_DEFAULTS = {"environment": "jinja2", "fallback": "jinja2", "strings": "string"}
_RENDERER: dict[str, Any] = {
    **dict.fromkeys(("ice_template", "retriever", "reader", "inferencer", "meta_template", "mode", "output", "labels")),
    **dict.fromkeys(("refuse", "roles")),
    "prompt_template": "",
    "dialect": "opencompass",
    "substitution": "harness",
}
"""The settings of a Renderer of nothing."""


def _variables(reference: Reference) -> frozenset[str]:
    """What a template reads of its row."""
    if reference.names_read is not None:
        return reference.names_read
    BUDGET.start()
    # A tree of its own: looking for names folds constants in it.
    found = undeclared_names(reference.environment.parse(reference.source))
    # A column hides what the environment has of its name.
    names = {node.name for node in reference.ast().find_all(nodes.Name)}
    return found | (names & set(reference.environment.globals))


def _check(name: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        message = f"expected a {kind.__name__}, found a {type(value).__name__}"
        raise template_error("wrong_type", name, message)


def _one_of(name: str, value: object, known: Sequence[str]) -> None:
    _check(name, value, str)
    if value not in known:
        message = f"{value!r} is not one of {', '.join(map(repr, known))}"
        raise template_error("unknown_name", name, message)


def _numbers(first: int, rows: int) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(range(first, first + rows), pa.int64())])
