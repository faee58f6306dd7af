"""The compiled core."""

from collections.abc import Callable, Sequence
from typing import Any, final

import pyarrow as pa

__version__: str

__all__ = [
    "DIALECTS",
    "ERROR_CODES",
    "JINJA_OPERATIONS",
    "ODD_KINDS",
    "OUTPUT_FORMS",
    "SETTINGS",
    "STRING_LAYOUTS",
    "TEMPLATE_KEYS",
    "CompiledRenderer",
    "ConversationShapes",
    "Duplicates",
    "JinjaOperation",
    "JinjaProgram",
    "JsonColumns",
    "JsonItems",
    "Lengths",
    "LineLayout",
    "Note",
    "OutputForm",
    "PromptTree",
    "RenderError",
    "RenderedRows",
    "RequestsHash",
    "RowSource",
    "SeenIds",
    "Setting",
    "SharedBytes",
    "StreamState",
    "TemplateError",
    "TextEncoder",
    "TextFinder",
    "TokenColumns",
    "TokenRows",
    "__version__",
    "are_plain_chats",
    "begin_with",
    "closest_name",
    "content_hashes",
    "copied",
    "default_substitution",
    "drawn_rows",
    "example_columns",
    "field_texts",
    "fill",
    "find_row_texts",
    "find_texts",
    "first_rows",
    "is_aligned",
    "is_native",
    "jinja_keys",
    "jinja_spans",
    "json_batches",
    "json_schema",
    "notes",
    "odd_characters",
    "origin_totals",
    "panicking",
    "prefix_order",
    "render_jinja",
    "repeated_rows",
    "request_hashes",
    "request_sizes",
    "set_printable",
    "set_threads",
    "shown_columns",
    "template_columns",
    "threads",
]

ERROR_CODES: dict[str, str]
"""The codes of errors, and what each means."""

@final
class Setting:
    """A setting of a renderer: an argument of `Renderer`."""

    @property
    def group(self) -> str:
        """The subject: `template`, `harness`, `rendering`, `short` (the short form), `budget`, or `object`."""
    @property
    def in_files(self) -> bool:
        """True if a configuration file may hold it."""
    @property
    def option(self) -> str | None:
        """The option of the command without its dashes, if there is one."""
    @property
    def is_unordered(self) -> bool:
        """True if it is a dict whose keys have no order."""

SETTINGS: dict[str, Setting]
"""The settings of a renderer by name, in the order of its arguments."""

DIALECTS: list[str]
"""The names of the dialects. The first one is the default."""

STRING_LAYOUTS: list[str]
"""The names of the string layouts. The first one is the default."""

TEMPLATE_KEYS: dict[str, list[str]]
"""The keys by which a template's dict without a `type` is known, by the class that it is read as."""

ODD_KINDS: list[str]
"""The names of the kinds of odd characters that `odd_characters` tells by number."""

@final
class JinjaOperation:
    """An operation of compiled Jinja templates."""

    @property
    def least(self) -> int:
        """The minimum number of operands."""
    @property
    def most(self) -> int | None:
        """The maximum number of operands; None for any number."""
    @property
    def result(self) -> str | None:
        """The type of all results, if it is always the same; `"list of str"` if their items are texts."""
    @property
    def certain(self) -> list[list[str]] | None:
        """The types of operands for which Python never raises. Empty: it never does; None: no types make it certain."""

JINJA_OPERATIONS: dict[str, JinjaOperation]
"""The operations of compiled Jinja templates, by name."""

@final
class OutputForm:
    """An output form."""

    @property
    def writes_messages(self) -> bool:
        """True if requests are messages, as an API's parser writes them."""
    @property
    def writes_json(self) -> bool:
        """True if each request is written as a JSON string."""
    @property
    def roles(self) -> list[str]:
        """The roles of its chat API."""
    @property
    def aliases(self) -> list[tuple[str, str]]:
        """Other names of these roles, in lower case, each with the API's name."""

OUTPUT_FORMS: dict[str, OutputForm]
"""The output forms, by name."""

class TemplateError(ValueError):
    """The configuration is wrong: its path, what was found there, and what would be right."""

    code: str
    """What kind of fault it is: one of `ERROR_CODES`; docs/errors.md lists them."""
    message: str
    """What was found and what would be right, without the place."""
    path: str | None
    row: int | None
    column: str | None

class RenderError(ValueError):
    """A value, a row or a table can't be rendered: the row, the column, and the value's start."""

    code: str
    """What kind of fault it is: one of `ERROR_CODES`; docs/errors.md lists them."""
    message: str
    """What was found and what would be right, without the place."""
    path: str | None
    row: int | None
    column: str | None

@final
class JsonColumns:
    """The columns of a file of JSON objects, found by looking at all of its blocks."""

    def __new__(cls) -> JsonColumns: ...
    def look(self, blocks: list[tuple[bytes, int, int]]) -> tuple[int, int, int] | None: ...
    @property
    def rows(self) -> int: ...
    def kinds(self) -> list[tuple[str, list[str]]]: ...

@final
class JsonItems:
    """The items of a JSON array, turned into lines."""

    def __new__(cls, key: str | None) -> JsonItems: ...
    def feed(self, piece: bytes) -> tuple[bytes, tuple[int, str] | None]: ...
    def finish(self) -> tuple[int, str] | None: ...

@final
class LineLayout:
    """The parts of an export's lines."""

    def __new__(cls, segments: list[tuple[str, str, int]], ids: tuple[int, int]) -> LineLayout: ...
    def lines(self, table: pa.Table, first_row: int) -> list[pa.LargeBinaryArray]: ...

@final
class SeenIds:
    """The ids that rows have had so far."""

    def __new__(cls) -> SeenIds: ...
    def lines(
        self, layout: LineLayout, table: pa.Table, first_row: int
    ) -> tuple[list[pa.LargeBinaryArray], int, int, tuple[int, int] | None]: ...

@final
class StreamState:
    """The state of a stream: the number of rows so far, that of random draws, and the rows with filled values."""

    def __new__(cls, counts: bool = False) -> StreamState: ...
    def copy(self) -> StreamState: ...
    @property
    def rows(self) -> int: ...
    @property
    def filled(self) -> tuple[int, tuple[int, list[str]] | None, bool]: ...

@final
class RenderedRows:
    """The output columns of some rows, one value a request."""

    @property
    def start(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def labels(self) -> pa.Array | None: ...
    @property
    def turns(self) -> pa.Array | None: ...
    @property
    def prompts(self) -> pa.Array: ...
    @property
    def samples(self) -> pa.Array | None: ...
    @property
    def text_bytes(self) -> int | None: ...
    @property
    def spans(self) -> pa.Array | None: ...
    @property
    def errors(self) -> pa.Array | None: ...
    @property
    def hashes(self) -> pa.Array | None: ...

@final
class Note:
    """One thing that is probably a mistake."""

    @property
    def code(self) -> str: ...
    @property
    def severity(self) -> str: ...
    @property
    def place(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def remedy(self) -> str: ...
    @property
    def column(self) -> str | None: ...
    @property
    def is_whole(self) -> bool: ...

@final
class ConversationShapes:
    """The shapes of conversations that were met, shared by all batches."""

    def __new__(
        cls, limit: int, max_bytes: int, call_roles: list[str] = ..., opens_arguments: bool = False
    ) -> ConversationShapes: ...
    def read(
        self,
        column: pa.Array,
        start: int,
        rows: int,
        first_row: int,
        opening: int,
        arguments: Sequence[tuple[str, bool, pa.Array]] = ...,
    ) -> tuple[pa.UInt32Array, pa.LargeListArray, list[tuple[int, int]]]: ...
    def skeleton(self, shape: int) -> str: ...
    def __len__(self) -> int: ...

@final
class CompiledRenderer:
    """A compiled configuration."""

    def __new__(
        cls,
        settings: dict[str, Any],
        examples: pa.Table | None,
        tokens: Callable[[int], str | None] | None,
        python_text: Callable[..., Any] | None,
    ) -> CompiledRenderer: ...
    def opposite(self) -> CompiledRenderer: ...
    def render(
        self,
        samples: pa.Table,
        labels: list[Any] | None,
        position: StreamState,
        single_chunk: bool,
        python_text: Callable[..., Any],
        spans: bool | None = None,
        hashes: bool = False,
        errors: bool = False,
    ) -> list[RenderedRows]: ...
    def lines(
        self, samples: pa.Table, position: StreamState, python_text: Callable[..., Any], layout: LineLayout
    ) -> list[RenderedRows]: ...
    def skip(self, position: StreamState, rows: int) -> None: ...
    def label_values(self, schema: pa.Schema, labels: list[Any] | None) -> pa.Array | None: ...
    def spans_field(self, schema: pa.Schema, detailed: bool) -> pa.Schema: ...
    def turn(
        self, samples: pa.Table, turn: int, replies: pa.Array, python_text: Callable[..., Any]
    ) -> list[RenderedRows]: ...
    def labels_of(self, samples: pa.Table) -> list[Any] | None: ...
    def output_fields(self, schema: pa.Schema) -> pa.Schema: ...
    def retrieve(self, count: int) -> pa.Array | None: ...
    def explain(
        self,
        samples: pa.Table,
        row: int,
        labels: list[Any] | None,
        label: Any,
        turn: int | None,
        python_text: Callable[..., Any],
        start: int = 0,
    ) -> pa.RecordBatch: ...
    def divergence(
        self, samples: pa.Table, labels: list[Any] | None, python_text: Callable[..., Any]
    ) -> pa.RecordBatch: ...
    def findings(self, samples: pa.Table, python_text: Callable[..., Any]) -> pa.RecordBatch: ...
    @property
    def labels(self) -> list[Any] | None: ...
    @property
    def orphaned_by_fork(self) -> bool: ...
    @property
    def has_turns(self) -> bool: ...
    @property
    def wants_replies(self) -> bool: ...
    @property
    def label_column(self) -> str | None: ...
    @property
    def by_position(self) -> bool: ...
    @property
    def index_column(self) -> str | None: ...
    @property
    def settings(self) -> dict[str, Any]: ...
    @property
    def eos_token_id(self) -> Any: ...
    @property
    def masked_column(self) -> str | None: ...
    @property
    def literals(self) -> list[str]: ...

@final
class Lengths:
    """Lengths, added up batch by batch."""

    def __new__(cls, kept: int) -> Lengths: ...
    def add(self, first: int, lengths: pa.Array) -> None: ...
    def summary(self, percentages: list[int], bins: int) -> dict[str, Any]: ...

@final
class Duplicates:
    """Fingerprints, kept batch by batch."""

    def __new__(cls) -> Duplicates: ...
    def add(self, first: int, hashes: pa.Array) -> None: ...
    def summary(self, groups: int, rows: int) -> tuple[int, int, list[tuple[int, list[int]]]]: ...

@final
class RequestsHash:
    """BLAKE3 of requests as one stream, each with 8 bytes of its length before it, whatever they are cut into.

    Two runs that have it sent the same requests, in one order. Labels, turns and kept columns say what is made of an
    answer, not what the model reads, and don't count.
    """

    def __new__(cls, json: bool = False) -> RequestsHash: ...
    def update(self, requests: pa.Array) -> None: ...
    def hexdigest(self) -> str: ...

@final
class RowSource:
    """A table whose rows are taken in any order. Texts come as binaries."""

    def __new__(cls, table: pa.Table) -> RowSource: ...
    def take(self, rows: pa.Array) -> list[pa.Array]: ...

@final
class TextEncoder:
    """A tokenizer that encodes columns of texts.

    Args:
        json: A `tokenizer.json`.
        added: The added tokens, each with its id if texts can be cut at it, else None; and whether the library treats
            it in a way of its own.
        context: An added token with its id that has to stand before pieces; None: none has to.
        cuts: The family of places to cut further; None: nowhere.

    Raises:
        ValueError: If the core doesn't know a part of the tokenizer.

    """

    def __new__(
        cls,
        json: str,
        added: Sequence[tuple[str, int | None, bool]],
        context: tuple[str, int] | None,
        cuts: str | None,
    ) -> TextEncoder: ...
    def set_lengths(self, lengths: Sequence[int], has_normal_form: bool) -> None:
        """Tell the number of bytes of each token, and whether texts are brought into the normal form NFC."""
    def encode(self, texts: pa.Array, offsets: bool) -> TokenRows:
        """Return the tokens of texts; rows whose tokens aren't certain here are open."""

@final
class TokenRows:
    """The tokens of some rows."""

    @staticmethod
    def open(texts: pa.Array, offsets: bool) -> TokenRows:
        """Return rows for texts, all of them open."""

    @property
    def open_rows(self) -> list[int]:
        """The numbers of the open rows."""

    def ids(self, row: int) -> list[int] | None:
        """Return the ids of a row, without special tokens around them; None if it is open or null."""

    def spans(self, row: int) -> list[tuple[int, int]] | None:
        """Return the bytes of each token of a row: the first, and the one after the last."""

    def fill(self, row: int, ids: Sequence[int], starts: Sequence[int], ends: Sequence[int]) -> None:
        """Set the ids of a row; the first byte of each token, and the one after its last."""

    def surround(self, before: Sequence[int], after: Sequence[int], always: bool) -> None:
        """Put special tokens around each row, and around one that begins with the first of them if `always`."""

    def columns(
        self,
        trained: pa.Array | None,
        labels: bool,
        most: int | None,
        truncation: str,
        failed: Sequence[int],
    ) -> TokenColumns:
        """Return the columns, and give up the rows.

        Args:
            trained: The stretches of each row that are trained: lists of structs of `start` and `end`.
            labels: Whether labels are asked for.
            most: The most tokens of a row; None: any number.
            truncation: Which tokens stay of a row with more.
            failed: The rows that have no tokens, because something else is wrong with them, in order.

        """

@final
class TokenColumns:
    """The Arrow columns of some rows."""

    @property
    def input_ids(self) -> pa.Array: ...
    @property
    def n_tokens(self) -> pa.Array: ...
    @property
    def assistant_masks(self) -> pa.Array | None: ...
    @property
    def labels(self) -> pa.Array | None: ...
    @property
    def offsets(self) -> pa.Array | None: ...
    @property
    def truncated(self) -> pa.Array: ...
    @property
    def too_long(self) -> list[tuple[int, int]]:
        """The rows with too many tokens, and how many they have."""

    @property
    def untrained(self) -> int:
        """The number of rows of which no token is trained."""

@final
class SharedBytes:
    """Counts the bytes that each request shares with the one before it, batch by batch."""

    def __new__(cls) -> SharedBytes: ...
    def add(self, requests: pa.Array, json: bool) -> pa.Array: ...

@final
class PromptTree:
    """The beginnings of rendered requests, which are added batch by batch."""

    def __new__(cls, blocks: tuple[int, int] | None) -> PromptTree: ...
    def begin(self, requests: pa.Array, json: bool, tools: pa.Array | None) -> pa.Array: ...
    def finish(self, ids: pa.Array | None) -> None: ...
    def marks(self, first: int, count: int, marks: tuple[int, int, int, bool, bool]) -> pa.Array: ...
    def served(
        self, order: list[int] | None, kept: int, marks: tuple[int, int, int, bool, bool] | None
    ) -> tuple[int, int, int]: ...
    def __len__(self) -> int: ...

@final
class JinjaProgram:
    """A Jinja template, specialised for the rows of one kind: see `promptpress._jinja.compiler.program`."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns that it reads."""
    @property
    def reasons(self) -> list[str]:
        """The reasons for which rows are given up, by the numbers that the block has."""
    @property
    def origins(self) -> int:
        """The number of origins of the program's own data, whose numbers come after those of columns or items."""

    def __new__(
        cls,
        columns: list[str],
        nodes: Sequence[tuple[Any, ...]],
        block: Sequence[tuple[Any, ...]],
        reasons: Sequence[str],
        parts: tuple[list[int | None], list[int | None], list[list[int]]] | None = None,
    ) -> JinjaProgram:
        """Make a program.

        `parts` are those of the input that texts may lack: the part of each item of the only column's lists, that of
        each origin of the program's own data, and the numbers under which each part is counted.
        """

    def row(self, texts: list[str]) -> tuple[str, list[int]] | None:
        """Render one row whose only column has a list of texts.

        The result is the text, and the numbers under which is counted what it lacks. It is None if the row is given up,
        or if it isn't known what the text lacks.
        """

def render_jinja(
    programs: list[JinjaProgram | None],
    which: pa.Array | None,
    table: pa.Table,
    strings: str,
    reference: Callable[[list[int]], list[str]],
    most: int = 0,
) -> tuple[list[pa.Array], list[tuple[int, int, int]], list[tuple[int, int, list[int]]], list[int]]:
    """Return the texts of a table's rows, and how many of which program were given up for which reason.

    Then follow the numbers under which parts are counted that texts lack, with the number of rows and the first `most`
    of them, and the rows of which that isn't known.

    A row is rendered by the program that `which`, of type uint32, says; without it by the first. `reference` gives the
    texts of those that are given up or have no program, by their numbers. A reason is a number that the program gives,
    or 4294967295 where an operation was not certain.
    """

def jinja_spans(
    programs: list[JinjaProgram | None],
    origins: list[list[int]],
    by_item: bool,
    which: pa.Array | None,
    table: pa.Table,
    lengths: pa.Array,
) -> list[pa.Array]:
    """Return which bytes of each row's text come from where, as lists of `start`, `end` and `origin`.

    `origins` has a number for each column of each program, or with `by_item` for each text of the only column's lists;
    0 is the template, 1 several of them, and 2 a text that no program renders. `lengths` are those of the texts, of
    type int64; null for a row without one.
    """

def jinja_keys(
    program: JinjaProgram, keys: list[int], table: pa.Table
) -> tuple[pa.Array, list[tuple[int, ...]], list[int]]:
    """Return the group of each row by the values of nodes, the values of each group, and each group's first row.

    Ints alone count; -1 stands for any other value, and where a node is given up.
    """

def request_sizes(requests: pa.Array, json: bool) -> tuple[pa.Array, pa.Array]:
    """Return how long requests are: bytes and characters; null where there is none."""

def request_hashes(requests: pa.Array, json: bool) -> pa.Array:
    """Return requests' fingerprints, 16 bytes each; null where there is none."""

def origin_totals(
    renderer: CompiledRenderer,
    samples: pa.Table,
    labels: list[Any] | None,
    position: StreamState,
    python_text: Callable[..., Any],
) -> pa.RecordBatch:
    """Return how many bytes of the requests come from where."""

def shown_columns(
    renderer: CompiledRenderer,
    samples: pa.Table,
    labels: list[Any] | None,
    position: StreamState,
    copies: bool,
    python_text: Callable[..., Any],
) -> tuple[list[tuple[str, pa.Array | None]], pa.Array | None, list[str], pa.Array | None]:
    """Return what the requests of a table of one batch show.

    These are the samples' columns with masks of the rows that show them (None: all rows), such a mask of the rows that
    show examples, the literals of each plan, and the plan of each request (None: the plans are one a label).
    """

def template_columns(
    renderer: CompiledRenderer, schema: pa.Schema, labels: list[Any] | None, python_text: Callable[..., Any]
) -> list[str]:
    """Return the samples' columns that requests show by their templates, whatever values bring in."""

def example_columns(
    renderer: CompiledRenderer, schema: pa.Schema, labels: list[Any] | None, python_text: Callable[..., Any]
) -> list[tuple[str, pa.Array]]:
    """Return the columns of the examples that requests show, with masks of the rows whose value is shown."""

@final
class TextFinder:
    """Texts to look for, ready for column after column: what `find_texts` does, with its preparation done once."""

    def __new__(cls, needles: Sequence[str]) -> TextFinder: ...
    def find(self, texts: pa.Array) -> pa.RecordBatch: ...

def find_texts(texts: pa.Array, needles: Sequence[str]) -> pa.RecordBatch:
    """Return the first place of each needle in each row's text: `row`, `needle` (its number), `start` and `end`.

    Places are bytes of the text; rows are in order, in a row by place. An empty needle and a null have none. Texts are
    strings of any layout; of other values they are what `str()` prints.
    """

def begin_with(texts: pa.Array, first: bytes) -> pa.Int64Array:
    """Return the rows whose text begins with one of some bytes, ascending. A text needn't be UTF-8."""

def find_row_texts(texts: pa.Array, needles: pa.Array, whole_words: bool) -> pa.Int64Array:
    """Return the byte at which each row's own needle first stands in that row's text.

    Null where it doesn't, where either is null, and where the needle is empty. With `whole_words` a place doesn't count
    where a letter or digit stands directly before or after it; letters of scripts without spaces between words may.
    """

def odd_characters(texts: pa.Array) -> pa.RecordBatch:
    """Return the first character of each kind that nobody sees in each row's text: `row`, `kind`, `start` and `end`.

    `kind` is a number; `ODD_KINDS` has the names. 0, "control": C0 but tab, line feed and carriage return; DEL; C1. 1,
    "bidi": embeddings, overrides and isolates. 2, "line_end": a line end of another kind than the text's first. 3,
    "invisible": zero-width and other characters that show nothing, but for joiners and variation selectors where they
    have something to join or to vary. 4, "replacement": U+FFFD. 5, "byte_order_mark": U+FEFF. Places are bytes.
    """

def content_hashes(rows: pa.RecordBatch | pa.Table, normalised: bool) -> pa.FixedSizeBinaryArray:
    """Return a hash of each row's content, 16 bytes each.

    Columns count by name, in any order, those that are null not at all; layouts, dictionaries and widths of integers
    make no difference. With `normalised` texts count in lower case (`str.casefold`), without punctuation, spaces as
    one; what makes another number (`3.5`, `-5`, `6/2`) stays.
    """

def set_threads(n: int | None, /) -> None:
    """Set the number of threads that rendering uses, for all of this process; None for the default."""

def threads() -> int:
    """Return the number of threads that rendering uses."""

def json_schema(columns: list[tuple[str, str]]) -> pa.Schema: ...
def json_batches(
    blocks: list[tuple[bytes, int, int]], columns: list[tuple[str, str]], batch_rows: int
) -> tuple[list[pa.RecordBatch], tuple[int, int, int] | None]: ...
def notes(
    renderer: CompiledRenderer,
    settings: dict[str, Any],
    samples: list[tuple[str, str]],
    examples: list[str] | None,
    same: bool,
    shared: list[int],
) -> list[Note]: ...
def closest_name(name: str, names: list[str]) -> str | None: ...
def fill(text: str, fields: dict[str, Any]) -> str | None: ...
def panicking(on_pool: bool) -> None: ...
def set_printable(bitmap: bytes) -> bool: ...
def field_texts(table: pa.Table, as_json: bool = False) -> list[pa.LargeStringArray]: ...
def are_plain_chats(table: pa.Table, roles: Sequence[str], content: str) -> bool: ...
def copied(value: Any, depth: int) -> Any: ...
def default_substitution(settings: dict[str, Any]) -> str: ...
def prefix_order(parts: pa.Table, groups: bool) -> tuple[pa.Array, pa.Array | None, bool]: ...
def drawn_rows(
    state: Sequence[int], pool: int, shots: int, count: int, groups: tuple[pa.Array, pa.Array] | None = None
) -> tuple[pa.Array, list[int]]: ...
def first_rows(shots: int, pool: pa.Array, documents: pa.Array) -> pa.Array: ...
def is_aligned(batch: pa.RecordBatch) -> bool: ...
def is_native(data_type: pa.DataType) -> bool: ...
def repeated_rows(start: int, rows: int, times: int) -> pa.Array: ...
