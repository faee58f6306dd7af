"""The engine of `JinjaTemplate`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa
from jinja2 import nodes

from promptpress._arrow.core_tables import column_names
from promptpress._core import RenderError, closest_name
from promptpress._engine.misspelt_columns import MisspeltColumn
from promptpress._engine.schema_warnings import listed_texts
from promptpress._engine.template_engine import TemplateEngine
from promptpress._errors.errors import PromptWarning
from promptpress._jinja.reference import Reference
from promptpress._jinja.run import JinjaRun, Origins, Runner, Texts
from promptpress._jinja.sandbox.bounded import undeclared_names
from promptpress._jinja.sandbox.bounds import BUDGET
from promptpress._jinja.undefined_names import guarded_names, undefined_names
from promptpress._utils.callers import callers_level
from promptpress._utils.counted import counted

_CLOCK = "strftime_now"
_HASHED = ("source", "environment", "fallback", "strings", "now")
_DEFAULTS = {"environment": "jinja2", "fallback": "jinja2", "strings": "string"}
_MAX_SHOWN_REASONS = 5


class _UndefinedName(NamedTuple):
    """A variable of a template that nothing gives a value.

    Args:
        name: Its name.
        line: The line where it first stands.
        closest: The column that is probably meant; None if no name is near.

    """

    name: str
    line: int
    closest: str | None

    @property
    def location(self) -> str:
        """The location in the template."""
        return f"line {self.line}"

    @property
    def message(self) -> str:
        """The fault, and a remedy."""
        guard = "`is defined` or `default` says that it may be missing"
        remedy = guard if self.closest is None else f"did you mean {self.closest!r}?"
        return f"{self.name!r} is no column, and the template doesn't set it, so it is undefined; {remedy}"


class JinjaEngine(TemplateEngine):
    """Renders rows by a Jinja template.

    Args:
        arguments: Those of `JinjaTemplate`, checked.

    Raises:
        TemplateError: If Jinja2 can't compile the template.

    """

    def __init__(self, arguments: dict[str, Any]) -> None:
        super().__init__(arguments["strings"], arguments["names"])
        self.reference = Reference(
            arguments["source"], arguments["environment"], arguments["now"], arguments["options"]
        )
        self._variables = _variables(self.reference)
        # A clock that isn't read makes no difference between two templates.
        self.arguments = arguments if _CLOCK in self._variables else {**arguments, "now": None}
        self.runner = Runner(
            self.reference,
            # A column of this name is what Jinja2 can't be given, whether the template reads it or not.
            self._variables | {"self"},
            arguments["strings"],
            refuse=arguments["fallback"] == "refuse",
        )

    @property
    def source(self) -> str:
        """The text of the template."""
        return str(self.arguments["source"])

    @property
    def required_columns(self) -> list[str]:
        """The template's variables that it doesn't set itself, in the order in which they appear."""
        given = self._variables - set(self.reference.environment.globals)
        names = (node.name for node in self.reference.ast().find_all(nodes.Name))
        return list(dict.fromkeys(name for name in names if name in given))

    def undefined_names(self, schema: pa.Schema) -> list[str]:
        """Say of each variable that no column gives it, as `TableEngine.undefined_names`."""
        return [f"{name.location}: {name.message}" for name in self._undefined_names(schema)]

    def _undefined_names(self, schema: pa.Schema) -> list[_UndefinedName]:
        """Return the variables that no column gives, and that the template neither sets nor guards."""
        columns = column_names(schema)
        tree, environment = self.reference.ast(), self.reference.environment
        guarded = guarded_names(tree)
        lines = undefined_names(tree, {*columns, *environment.globals})
        # Jinja2 reads some names before a `set` as undefined although there is a column.
        names = lines.keys() - guarded - set(columns)
        return [_UndefinedName(name, lines[name], closest_name(name, columns)) for name in lines if name in names]

    def misspelt_columns(self, schema: pa.Schema) -> list[MisspeltColumn]:
        """Return the undefined variables that are near to a column's name, as `TableEngine.misspelt_columns`."""
        shows_nothing = set(self.required_columns).isdisjoint(column_names(schema))
        return [
            MisspeltColumn(name.location, name.message)
            for name in self._undefined_names(schema)
            if name.closest or shows_nothing
        ]

    def warn(self, output: pa.Schema, schema: pa.Schema, samples: pa.Table | pa.RecordBatch | None) -> None:  # noqa: ARG002
        """Warn of undefined variables, as `TableEngine.warn`."""
        where = "JinjaTemplate.required_columns lists the variables"
        self.warnings.warn(schema, lambda: listed_texts(self.undefined_names(schema), where))

    def texts(
        self,
        table: pa.Table,
        first: int,
        counts: JinjaRun,
        failed: dict[int, RenderError] | None,
        origins: Origins | None,
    ) -> Iterator[Texts]:
        """Render the next rows, as `TemplateEngine.texts`."""
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
        """Return what is the same for all that writes the same bytes."""
        from promptpress._fingerprint.fingerprint import of_jinja_template  # noqa: PLC0415 - seldom asked for

        return of_jinja_template(self.arguments)

    def state(self) -> dict[str, Any]:
        """Return what a pickle holds: the arguments."""
        return self.arguments

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> JinjaEngine:
        """Make an engine from a pickle."""
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
        """Return the arguments that were given, as in a call."""
        given = {name: value for name, value in self.arguments.items() if value != _DEFAULTS.get(name)}
        source = given.pop("source", "")
        given |= given.pop("options")
        return ", ".join([repr(source), *(f"{name}={value!r}" for name, value in given.items())])


def _variables(reference: Reference) -> frozenset[str]:
    """Return what a template reads of its row."""
    if reference.names_read is not None:
        return reference.names_read
    BUDGET.start()
    # A tree of its own: looking for names folds constants in it.
    undeclared = undeclared_names(reference.environment.parse(reference.source))
    # A column hides what the environment has of its name.
    names = {node.name for node in reference.ast().find_all(nodes.Name)}
    return undeclared | (names & set(reference.environment.globals))
