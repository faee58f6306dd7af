"""The configuration of a renderer, compiled once in each process, and its labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from pyarrow import types

import promptpress._core as _core
from promptpress._arrow import lazy_compute as pc
from promptpress._arrow import python_text as _text
from promptpress._arrow.columns import bytes_table, is_text, same_texts, table_bytes
from promptpress._arrow.core_tables import for_core, install_printable
from promptpress._config.from_harness import last_part
from promptpress._config.settings import braced_names, canonical, plain, token_texts
from promptpress._errors.errors import render_error, template_error
from promptpress.typing import Tokens


class _LabelText:
    """A label of another type than str, int, float or None; its `repr` is the label's text, which the core uses."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def are_plain(data_type: pa.DataType) -> bool:
    """Return true if the core reads and orders the values of a type as Python does.

    True for strings, numbers and truth values, also in a dictionary array. True also for lists and structs, which the
    core refuses as labels.
    """
    if types.is_dictionary(data_type):
        return are_plain(data_type.value_type)
    if isinstance(data_type, pa.BaseExtensionType) or types.is_run_end_encoded(data_type):
        return False
    return bool(
        is_text(data_type)
        or types.is_integer(data_type)
        or types.is_floating(data_type)
        or types.is_boolean(data_type)
        or types.is_null(data_type)
        or (types.is_nested(data_type) and _text.is_native(data_type))
    )


def labels_of(core: _core.CompiledRenderer, table: pa.Table, core_table: pa.Table) -> list[Any] | None:
    """Return the labels of all samples, from the configuration or the values of a column; None for gen mode."""
    name = core.label_column
    if name is None:
        return core.labels
    if name not in table.column_names or are_plain(table.schema.field(name).type):
        return core.labels_of(core_table)
    return column_labels(table.column(name), name)


def column_labels(column: pa.ChunkedArray, name: str) -> list[Any]:
    """Return the distinct values of a column in Python's order, None first.

    Strings, numbers and truth values stay as they are; others become their texts. Values that Python can't compare are
    ordered by type and text.
    """
    try:
        distinct = set(_distinct(column, name))
    except TypeError as error:
        message = f"its values would be the labels, which can't be of type {column.type}; give labels="
        raise render_error("wrong_column_type", message, column=name) from error
    values = [value for value in distinct if value is not None]
    try:
        values.sort()
    except TypeError:
        values.sort(key=lambda value: (type(value).__name__, str(value)))
    ordered = [None, *values] if len(values) < len(distinct) else values
    return [value if isinstance(value, (str, int, float, type(None))) else _LabelText(str(value)) for value in ordered]


def _distinct(column: pa.ChunkedArray, name: str) -> list[Any]:
    """Return the values of a column, without most duplicates if Arrow can drop them."""
    kind = column.type
    # Of views Arrow loses nulls, and of other types it can't list the distinct values.
    if not (types.is_temporal(kind) or types.is_decimal(kind) or types.is_binary(kind)):
        return _text.values(column, name)
    try:
        for chunk in column.chunks:
            chunk.validate(full=True)
        return _text.values(pa.chunked_array([pc.unique(column)]), name)
    except (pa.ArrowException, ValueError):
        # If a value can't be converted, this raises an error with its row in the whole column.
        return _text.values(column, name)


def label_or_text(label: Any) -> Any:
    """Return the value by which the core finds a label: a scalar of Python's, or the label's text."""
    # A tuple, such as an interval, is one label and no list of labels.
    value = str(label) if isinstance(label, (tuple, list, dict)) else plain(label, "label")
    if value is None or isinstance(value, (str, int, float)):
        return value
    return repr(value) if isinstance(value, (bytes, bytearray)) else str(value)


_DEFAULTS = {"dialect": _core.DIALECTS[0], "strings": _core.STRING_LAYOUTS[0]}


class Configuration:
    """A renderer's configuration: it is compared, hashed and pickled, and it is compiled at its first use."""

    __slots__ = ("compiled", "examples", "settings", "tokens")

    compiled: _core.CompiledRenderer | None
    examples: pa.Table | None
    settings: dict[str, Any]
    tokens: Tokens | None

    def __init__(self, settings: dict[str, Any], examples: pa.Table | None, tokens: Tokens | None) -> None:
        self.settings = settings
        self.examples = examples
        self.tokens = tokens
        self.compiled = None

    @property
    def core(self) -> _core.CompiledRenderer:
        """The compiled configuration; a forked process compiles it again."""
        if self.compiled is None or self.compiled.orphaned_by_fork:
            self.compiled = self.compile(None if self.tokens is None else token_texts(self.tokens))
        assert self.compiled is not None
        return self.compiled

    def compile(self, text: Callable[[int], str | None] | None) -> _core.CompiledRenderer:
        """Compile the configuration; `text` returns a token's text, for the tokens of the meta template."""
        install_printable()
        examples, python_text = (None, None) if self.examples is None else for_core(self.examples, of="examples")
        try:
            return _core.CompiledRenderer(self.settings, examples, text, python_text)
        except _core.TemplateError as error:
            raise self._with_remedy(error) from None

    def _with_remedy(self, error: _core.TemplateError) -> _core.TemplateError:
        """Return the core's error, or one that tells which argument of `Renderer` is missing."""
        if self.examples is None and error.code in ("missing_examples", "example_index_out_of_range"):
            retriever = self.settings.get("retriever")
            kind = last_part(retriever.get("type")) if isinstance(retriever, Mapping) else ""
            message = (
                f"none are given, and {kind or 'the retriever'} takes in-context examples from them; "
                "give the rows that it chooses from, usually the train split, as examples="
            )
            return template_error("missing_examples", "examples", message)
        if error.code == "missing_output_column":
            message = (
                "in-context examples need it, and none is named; "
                'give reader={"input_columns": [...], "output_column": "..."}, a dataset\'s reader_cfg'
            )
            return template_error(error.code, "reader.output_column", message)
        return error

    @property
    def writes_json(self) -> bool:
        """True if the requests are messages written as JSON."""
        form = _core.OUTPUT_FORMS.get(self.settings.get("output") or "")
        return form is not None and form.writes_json

    def required_columns(self) -> list[str]:
        """Return the names in braces of all templates and the columns of labels and choices, except the masked one."""
        # Doubled braces stand for braces only around the name of a column that is there, so it counts too.
        names = dict.fromkeys(name for text in self.core.literals for name in braced_names(text))
        masked = self.core.masked_column
        for column in (self.core.label_column, self.core.index_column):
            if column is not None:
                names[column] = None
                masked = None if column == masked else masked
        return [name for name in names if name != masked]

    def refuse_replies(self) -> None:
        """Raise a TemplateError if requests of a conversation depend on the model's replies."""
        if self.core.wants_replies:
            message = (
                '"every" needs the model\'s replies; use converse(samples), or the modes "every_with_gt" and "last"'
            )
            raise template_error("unsupported_mode", "inferencer.infer_mode", message)

    def refuse_label_column(self, what: str) -> None:
        """Raise a TemplateError if labels are a column's values, of which the caller, `what`, doesn't see all."""
        if self.core.label_column is not None:
            message = (
                f"they would be the values of column {self.core.label_column!r}, which {what} doesn't know "
                "as a whole; give labels="
            )
            raise template_error("depends_on_other_rows", "labels", message)

    def refuse_position(self) -> None:
        """Raise a TemplateError if the retriever chooses examples by the sample's position."""
        if self.core.by_position:
            message = (
                "it goes by the sample's position, which a batch alone doesn't know; "
                'give the choice of retrieve(num_samples) as a column, by {"type": "IndexColumn", "column": ...}'
            )
            raise template_error("depends_on_other_rows", "retriever", message)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Configuration):
            return NotImplemented
        if canonical(self.settings) != canonical(other.settings) or self.tokens != other.tokens:
            return False
        if self.examples is None or other.examples is None:
            return self.examples is other.examples
        return same_texts(self.examples, other.examples)

    def __hash__(self) -> int:
        return hash(canonical(self.settings))

    def state(self) -> dict[str, Any]:
        """Return the content of a pickle, which is everything except the compiled configuration."""
        # An Arrow stream, because a pickled slice would contain the whole table that it is a slice of.
        examples = None if self.examples is None else table_bytes(self.examples)
        return {"settings": self.settings, "examples": examples, "tokens": self.tokens}

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> Configuration:
        examples = state["examples"]
        return cls(state["settings"], None if examples is None else bytes_table(examples), state["tokens"])

    def changed(self, **settings: Any) -> Configuration:
        return Configuration({**self.settings, **settings}, self.examples, self.tokens)

    def __repr__(self) -> str:
        """The arguments as in a call, without the default ones."""
        words = {key: value for key, value in self.settings.items() if value != _DEFAULTS.get(key)}
        if words.get("substitution") == _core.default_substitution({**words, "substitution": None}):
            if words.get("unknown") == "refuse" and words.pop("substitution") == "single_pass":
                del words["unknown"]
            words.pop("substitution", None)
        given = [f"{key}={value!r}" for key, value in words.items()]
        if self.examples is not None:
            given.insert(3, f"examples=<{self.examples.num_rows} rows of {', '.join(self.examples.column_names)}>")
        if self.tokens is not None:
            given.append("tokens=...")
        return ", ".join(given)
