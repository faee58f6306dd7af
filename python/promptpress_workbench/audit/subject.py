"""The audited renderer: facts that are known before any sample is read, and the tokens of its requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pyarrow as pa
from promptpress.engine import ConfiguredEngine, LeftOut, RenderOptions, TableEngine, sample_numbers
from promptpress.engine import core as _core
from promptpress.engine.tables import core_schema, is_text
from promptpress.engine.tables import lazy_compute as pc
from promptpress.engine.tokens import Encoder, LoadedTokenizer, TokenEngine, TokenSettings
from promptpress.typing import Mask

if TYPE_CHECKING:
    from promptpress.engine.templates import ChatSettings  # they need Jinja2

_DATA = pa.array(["field", "filled_field", "argument", "computed"])
"""The sources of what data bring; all others are the configuration's."""

_UNKNOWN = "jinja2"

_CONTENT = ("question", "answer", "content")
"""Columns that templates of conversations and of media read without a placeholder."""


class RequestTokens(NamedTuple):
    """The tokens of one request of a sample, with the bytes of the text at which each token begins and ends."""

    sample: int
    text: bytes
    ids: Sequence[int]
    starts: Sequence[int]
    ends: Sequence[int]
    mask: bytes | None
    """A byte for each token, 1 if it is trained, else 0; None: there is no mask."""
    borders: Sequence[int]
    """The bytes at which data begin or end next to the template's own text, in order."""


class TokenBatches:
    """Encodes the requests of an audit batch by batch, in order, once for all checks that look at tokens."""

    def __init__(
        self, engine: TableEngine, schema: pa.Schema, counter: LoadedTokenizer, labels: Any, mask: Mask | None
    ) -> None:
        self.encoder = Encoder.of(counter)
        tokens = TokenEngine(engine, self.encoder, TokenSettings(mask=mask, offsets=True))
        tokens.request_fields(schema)  # raises if there is a mask, and the requests are no texts or have no roles
        self._tokens = tokens.begin(RenderOptions(errors="column"), labels)
        self._texts = engine.begin(RenderOptions(spans="detailed"), labels)
        self._latest: tuple[pa.RecordBatch | None, list[RequestTokens], dict[int, str]] = (None, [], {})
        self._encoding = Lock()

    def of(self, samples: pa.RecordBatch, first: int) -> tuple[list[RequestTokens], dict[int, str]]:
        """Return the requests of the next batch that have tokens, and the errors of the others by sample."""
        with self._encoding:  # checks of other threads wait for the finished lists
            if self._latest[0] is not samples:
                table = pa.Table.from_batches([samples])
                errors: dict[int, str] = {}
                texts: list[tuple[int, str, list[int]]] = []
                for part in self._texts.parts(table, first):
                    samples_of = sample_numbers(part, self._texts.times).to_pylist()
                    borders_of = _borders(part.spans, len(samples_of))
                    texts += zip(samples_of, part.prompts.to_pylist(), borders_of, strict=True)
                tokens = [row for part in self._tokens.parts(table, first) for row in self._of_tokens(part)]
                requests = []
                for (sample, text, borders), row in zip(texts, tokens, strict=True):
                    if isinstance(row, str):
                        errors.setdefault(sample, row)
                    else:
                        requests.append(RequestTokens(sample, text.encode(), *row, borders))
                self._latest = (samples, requests, errors)
            return self._latest[1:]

    def _of_tokens(self, part: Any) -> Iterator[str | tuple[Any, Any, Any, bytes | None]]:
        """Yield the ids, offsets and mask of each request of a part, or its error."""
        ids, _, *masks, offsets = part.more
        numbers = [
            _numbers(ids.flatten(), "i"),
            *(_numbers(pc.struct_field(offsets.flatten(), name), "q") for name in ("start", "end")),
        ]
        trained = _numbers(masks[0].flatten().cast(pa.uint8()), "B") if masks else None
        first = 0
        for row, count in enumerate(pc.list_value_length(ids).to_pylist()):
            if count is None:
                # The message alone, without the code before it.
                yield part.errors[row].as_py().partition(": ")[2]
                continue
            of_row = slice(first, first + count)
            ids_of_row, starts, ends = (values[of_row] for values in numbers)
            yield ids_of_row, starts, ends, None if trained is None else bytes(trained[of_row])
            first += count


def token_batches(
    engine: TableEngine, schema: pa.Schema, counter: LoadedTokenizer | None, labels: list[Any] | None, mask: Mask | None
) -> TokenBatches | None:
    """Return what encodes the requests of an audit; None without a tokenizer, or for requests that are no texts."""
    if counter is None:
        return None
    if mask is None:
        *_, prompt = engine.request_fields(schema)
        if engine.writes_json or not is_text(prompt.type):
            return None
    return TokenBatches(engine, schema, counter, labels, mask)


def _numbers(array: pa.Array, kind: Literal["i", "q", "B"]) -> Any:
    """Return the values of an array without nulls as a view of its bytes."""
    _, values = array.buffers()
    size = array.type.bit_width // 8
    if values is None:
        return memoryview(b"").cast(kind)
    view = memoryview(values)[array.offset * size : (array.offset + len(array)) * size]
    return view.cast(kind)


def _borders(spans: pa.Array, rows: int) -> list[list[int]]:
    """Return the bytes of each text at which a span of data touches one that isn't, by rows."""
    out: list[list[int]] = [[] for _ in range(rows)]
    flat, parents = spans.flatten(), pc.list_parent_indices(spans)
    if len(flat) < 2:
        return out
    sources = pc.struct_field(flat, "source")
    is_data, is_known = pc.is_in(sources, value_set=_DATA), pc.not_equal(sources, _UNKNOWN)
    is_border = pc.and_(
        pc.and_(pc.equal(parents[1:], parents[:-1]), pc.not_equal(is_data[1:], is_data[:-1])),
        pc.and_(is_known[1:], is_known[:-1]),
    )
    numbers = pc.add(pc.indices_nonzero(is_border), 1)
    starts = pc.struct_field(flat, "start").take(numbers).to_pylist()
    for row, start in zip(parents.take(numbers).to_pylist(), starts, strict=True):
        out[row].append(start)
    return out


@dataclass
class Subject:
    """The subject of an audit: any renderer. The defaults are those of a template, which has no configuration."""

    schema: pa.Schema
    labels: list[Any] | None = None
    engine: TableEngine = field(kw_only=True)
    limits: Mapping[str, int] = field(default_factory=dict)
    """The most `bytes` and `tokens` of a prompt."""
    counter: LoadedTokenizer | None = None
    output_column: str | None = None
    """The column of the answers; None if the samples lack it."""
    row_number: Callable[[int], int] = int
    """Returns the number of a row in findings, for its number among the samples."""
    mask: Mask | None = None
    tokens: TokenBatches | None = None
    codes: frozenset[str] = frozenset()
    """The codes of the findings that are looked for."""

    lacking: LeftOut = field(default_factory=LeftOut, init=False)
    """The parts that a chat template has left out of the requests so far."""

    is_json: bool = field(default=False, init=False)
    """True if requests are messages written as JSON."""
    is_harness: bool = field(default=False, init=False)
    """True if placeholders in values are filled in too, as harnesses do."""
    is_gen: bool = field(default=True, init=False)
    """True if each sample has one prompt for a model to answer."""
    is_conversation: bool = field(default=False, init=False)
    """True if the samples' columns hold conversations, of which requests show some turns."""
    has_turns: bool = field(default=False, init=False)
    """True if a sample has a request for each turn."""
    has_examples: bool = field(default=False, init=False)
    """True if there are examples, and something chooses from them."""
    examples: pa.Table | None = field(default=None, init=False)
    """The rows that examples are made of."""
    family: str = field(default="", init=False)
    """The class name of the prompt template, without its module; empty if none is given."""
    chat_settings: ChatSettings | None = field(default=None, init=False)
    """The settings of the chat template; None if there is none."""
    control_texts: list[str] = field(default_factory=list, init=False)
    """The texts of the configuration or template that may have control tokens of the model."""

    @property
    def example_columns(self) -> Mapping[str, pa.Array]:
        """The examples' columns that requests show, each with a mask of the examples whose value they show."""
        return {}

    @property
    def requests_per_sample(self) -> int:
        """The number of requests of each sample; conversations have other numbers."""
        return 1 if self.labels is None else len(self.labels)

    @property
    def template_columns(self) -> list[str]:
        """The samples' columns that templates show, whatever the values are."""
        raise NotImplementedError


@dataclass
class TemplateSubject(Subject):
    """A Jinja template, a chat template, or a column of prompts."""

    def __post_init__(self) -> None:
        self.control_texts = self.engine.sources
        self.chat_settings = self.engine.chat_settings
        self.is_conversation = self.chat_settings is not None  # a chat template may show some messages only

    @property
    def template_columns(self) -> list[str]:
        return self.engine.columns_read(self.schema.names)


@dataclass
class ConfiguredSubject(Subject):
    """A renderer with a configuration."""

    engine: ConfiguredEngine = field(kw_only=True)

    def __post_init__(self) -> None:
        settings, core = self.engine.settings, self.engine.core
        self.settings, self.core = settings, core
        name = (settings["reader"] or {}).get("output_column")
        self.output_column = name if isinstance(name, str) and name in self.schema.names else None
        self.family = _class_name(settings["prompt_template"])
        self.is_json = self.engine.configuration.writes_json
        self.is_harness = settings["substitution"] == "harness"
        self.is_gen = self.labels is None and core.label_column is None and settings["mode"] != "ppl"
        self.has_turns = core.has_turns
        self._reads_chats = "Chat" in _class_name(settings["inferencer"])
        self.is_conversation = core.has_turns or self.family == "MultiTurnPromptTemplate" or self._reads_chats
        self.examples = self.engine.configuration.examples
        retriever = _class_name(settings["retriever"])
        chooses = core.index_column is not None or retriever not in {"", "ZeroRetriever"}
        self.has_examples = chooses and self.examples is not None
        self.control_texts = list(strings_within(settings["meta_template"]))
        self.chat_settings = None if self.engine.chat is None else self.engine.chat.chat_settings

    @cached_property
    def input_columns(self) -> list[str]:
        """The reader's input columns."""
        names = (self.settings["reader"] or {}).get("input_columns") or []
        return names.split() if isinstance(names, str) else [name for name in names if isinstance(name, str)]

    @cached_property
    def single_pass(self) -> _core.CompiledRenderer:
        """The core of the same configuration of a harness, but placeholders in values aren't filled in."""
        return self.core.opposite()

    @cached_property
    def template_columns(self) -> list[str]:
        # If only the templates' placeholders are filled in, no value of an example brings in a column.
        core = self.single_pass if self.is_harness else self.core
        names = set(_core.template_columns(core, core_schema(self.schema), self.labels, _no_texts))
        if self.family in {"MultiTurnPromptTemplate", "MMPromptTemplate"}:
            names |= {*self.engine.required_columns, *_CONTENT} - {self.core.masked_column}
        if self._reads_chats:
            names |= set(self.input_columns)
        names |= set() if self.engine.chat is None else set(self.engine.chat.columns(self.schema.names))
        return [name for name in self.schema.names if name in names and name != self.core.index_column]

    @cached_property
    def example_columns(self) -> dict[str, pa.Array]:
        examples = self.examples
        if not self.has_examples or examples is None or not len(examples):
            return {}
        masks = dict(_core.example_columns(self.core, core_schema(self.schema), self.labels, _no_texts))
        return {name: masks[name] for name in examples.column_names if name in masks}


def _no_texts(*_: Any) -> Any:
    raise AssertionError  # a schema alone has no values


def _class_name(part: Any) -> str:
    """Return the class name of a part of the configuration, without its module; empty if none is given."""
    name = part.get("type") if isinstance(part, Mapping) else None
    return str(name or "").rpartition(".")[2]


def strings_within(value: Any, keys: set[str] | None = None) -> Iterator[str]:
    """Yield the strings in a configuration's dicts and lists: those directly under one of some keys, or all."""
    if isinstance(value, str):
        if keys is None:
            yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if keys is not None and key in keys and isinstance(item, str):
                yield item
            else:
                yield from strings_within(item, keys)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from strings_within(item, keys)
