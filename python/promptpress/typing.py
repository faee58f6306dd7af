"""Types of what promptpress takes and returns, to annotate with.

>>> from promptpress import Renderer
>>> from promptpress.typing import Dialect, TableLike
>>> def first_prompt(samples: TableLike, template: str, dialect: Dialect = "opencompass") -> object:
...     return Renderer(template, dialect=dialect).render(samples)["prompt"][0].as_py()
>>> import pyarrow as pa
>>> first_prompt(pa.table({"question": ["1+1=?"]}), "Q: {question}")
'Q: 1+1=?'
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict, runtime_checkable

import pyarrow as pa

__all__ = [
    "ArrowArrayExportable",
    "ArrowStreamExportable",
    "ChatTemplateLike",
    "Columns",
    "ConfigFile",
    "ConfigLike",
    "ControlTokens",
    "Dialect",
    "Finding",
    "FitLabels",
    "FitRule",
    "HuggingFaceDataset",
    "JinjaOptions",
    "KeptColumns",
    "Label",
    "Mask",
    "Message",
    "Mode",
    "Output",
    "Path",
    "PolarsLazyFrame",
    "PyArrowDataset",
    "Request",
    "RequestOrder",
    "RowPolicy",
    "Rows",
    "SpanDetail",
    "StreamLike",
    "StreamingHuggingFaceDataset",
    "StringLayout",
    "Substitution",
    "TableLike",
    "Template",
    "Tokens",
    "Truncation",
    "Turns",
    "Unknown",
]


@runtime_checkable
class ArrowStreamExportable(Protocol):
    """An object that exports an Arrow stream by the PyCapsule interface: tables, frames, readers, relations."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


@runtime_checkable
class ChatTemplateLike(Protocol):
    """`promptpress.ChatTemplate`, which needs Jinja2."""

    @property
    def source(self) -> str:
        """The template's text."""
        ...

    @property
    def starts_with_bos(self) -> bool | None:
        """True if texts begin with the `bos_token`."""
        ...


@runtime_checkable
class ArrowArrayExportable(Protocol):
    """An object that exports an Arrow array by the PyCapsule interface: a record batch, or an array of structs."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any: ...


@runtime_checkable
class PyArrowDataset(Protocol):
    """`pyarrow.dataset.Dataset` and `pyarrow.dataset.Scanner`, which are read when they are asked."""

    def count_rows(self) -> int:
        """Count the rows."""

    def to_table(self) -> pa.Table:
        """Read all of it."""


@runtime_checkable
class HuggingFaceDataset(Protocol):
    """`datasets.Dataset`; those that stream are no table."""

    @property
    def column_names(self) -> Any:
        """The names of its columns."""

    def __len__(self) -> int: ...

    def with_format(self, type: str | None = None) -> Any:  # noqa: A002 - its name there
        """Return the same rows in another form, such as `"arrow"`."""


@runtime_checkable
class StreamingHuggingFaceDataset(Protocol):
    """`datasets.IterableDataset`, whose rows are made when they are asked for."""

    @property
    def column_names(self) -> Any:
        """The names of its columns, where it knows them."""

    def iter(self, batch_size: int) -> Iterable[Any]:
        """Go through the rows, some at a time."""

    def with_format(self, type: str | None = None) -> Any:  # noqa: A002 - its name there
        """Return the same rows in another form, such as `"arrow"`."""


@runtime_checkable
class PolarsLazyFrame(Protocol):
    """`polars.LazyFrame`, which is collected by its streaming engine."""

    def collect(self) -> Any:
        """Make a frame of it."""

    def collect_schema(self) -> Any:
        """Say which columns it will have."""


if TYPE_CHECKING:
    Rows: TypeAlias = Iterable[Mapping[str, Any]]
    """Rows of Python's own values, also of a generator."""

    Columns: TypeAlias = Mapping[str, Sequence[Any]]
    """Columns of Python's own values, or arrays."""

    Path: TypeAlias = str | os.PathLike[str]
    """The path of a file, a pattern, a folder or an address."""
else:  # what `isinstance` takes
    Rows, Columns, Path = list | tuple | Iterator, dict | Mapping, str | os.PathLike

TableLike: TypeAlias = (
    ArrowStreamExportable
    | ArrowArrayExportable
    | PyArrowDataset
    | HuggingFaceDataset
    | StreamingHuggingFaceDataset
    | PolarsLazyFrame
    | Rows
    | Columns
    | Path
)
"""Samples or examples, as any object that holds a whole table. A string is the path of a file."""

StreamLike: TypeAlias = TableLike | Iterable[pa.RecordBatch]
"""Samples that are read batch by batch; a table is a stream too."""


@runtime_checkable
class ConfigFile(Protocol):
    """The result of `promptpress.load_config`: a file's configurations by name."""

    @property
    def path(self) -> str:
        """The file."""

    @property
    def datasets(self) -> Mapping[str, Mapping[str, Any]]:
        """Dataset dicts by name."""

    @property
    def models(self) -> Mapping[str, Mapping[str, Any]]:
        """Model dicts by name."""


ConfigLike: TypeAlias = Mapping[str, Any] | str | os.PathLike[str] | ConfigFile
"""A configuration, or the file of it."""

ControlTokens: TypeAlias = Literal["parse", "text"]
"""A choice of whether data may bring control tokens, or all that looks like one in data is text."""

Dialect: TypeAlias = Literal["opencompass", "aisbench", "openicl", "meta_prompt_design"]
"""The harness, or the early design of meta templates, whose rules decide where they differ."""

FitLabels: TypeAlias = Literal["each", "jointly"]
"""As many examples as fit for each label's request, or the same for all labels of a sample."""

FitRule: TypeAlias = Literal["harness", "first", "last"]
"""The examples that are left out of a prompt that is too long, by the harness's rule, or from one end of them."""

Mask: TypeAlias = Literal["generation", "assistant", "assistant+end", "assistant+turn"]
"""The tokens that are trained, of the template's `{% generation %}` blocks or of what assistants say."""

Mode: TypeAlias = Literal["gen", "ppl"]
"""A prompt for each sample, or one for each sample and label."""

Output: TypeAlias = Literal["text", "messages", "prompt_list", "messages_json", "openai"]
"""The form of a request."""


class JinjaOptions(TypedDict, total=False):
    """Options of `JinjaTemplate` that replace those of its environment, by the names that `jinja2.Environment` has.

    >>> options: JinjaOptions = {"undefined": "strict", "trim_blocks": True}
    """

    block_start_string: str
    block_end_string: str
    variable_start_string: str
    variable_end_string: str
    comment_start_string: str
    comment_end_string: str
    line_statement_prefix: str | None
    line_comment_prefix: str | None
    trim_blocks: bool
    lstrip_blocks: bool
    newline_sequence: Literal["\n", "\r\n", "\r"]
    keep_trailing_newline: bool
    extensions: Sequence[Literal["do", "loopcontrols"]]
    undefined: Literal["default", "strict", "chainable", "debug"]
    autoescape: bool


KeptColumns: TypeAlias = Sequence[str] | Literal["all"]
"""The names of columns that are kept next to the prompts, or `"all"` for all of them."""

RequestOrder: TypeAlias = Literal["prefix"]
"""An order of requests in the place of that of the samples. `"prefix"` puts requests with equal beginnings together."""

RowPolicy: TypeAlias = Literal["raise", "column", "skip"]
"""A choice of what becomes of a sample that can't be rendered."""

SpanDetail: TypeAlias = bool | Literal["detailed"]
"""Whether it is said where bytes come from, and whether in detail."""

Truncation: TypeAlias = Literal["refuse", "left", "right", "middle"]
"""A choice of what becomes of a request with too many tokens, either an error or a cut, and where that is."""

Turns: TypeAlias = Literal["all", "each"]
"""A choice between a row for a conversation and a row for each turn of an assistant."""

Substitution: TypeAlias = Literal["harness", "single_pass"]
"""Whether values are looked into for placeholders."""

Unknown: TypeAlias = Literal["refuse", "keep"]
"""A choice of what becomes of a template that is surely mistaken, such as one that names a misspelt column."""

StringLayout: TypeAlias = Literal["string", "large_string", "string_view"]
"""The Arrow type of written strings."""

Finding: TypeAlias = Literal["media_tag", "untagged_text"]
"""What `Renderer.findings` finds, and `refuse` makes an error."""

Template: TypeAlias = str | Mapping[Any, Any] | Sequence[Any]
"""A harness's dict of a template, or the bare template."""

Tokens: TypeAlias = Mapping[int, str] | Callable[[int], str | None]
"""Texts of token ids."""

Label: TypeAlias = str | int | float | bool | None
"""A label of ppl."""

Message: TypeAlias = dict[str, Any]
"""A message as the harness passes it on, with the keys that it has."""

Request: TypeAlias = str | list[str | Message]
"""A request as `to_pylist` returns it, a text or messages. Bare strings may stand among the messages."""
