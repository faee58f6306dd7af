"""The audited renderer, and facts about it that are known before any sample is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa
from promptpress.engine import ConfiguredEngine
from promptpress.engine import core as _core
from promptpress.engine.configs import Configuration
from promptpress.engine.core import CompiledRenderer
from promptpress.engine.tables import core_schema
from promptpress.engine.templates import ChatSettings, TemplateEngine
from promptpress.engine.tokens import LoadedTokenizer
from promptpress.typing import Mask

from promptpress_workbench.audit.token_batches import TokenBatches

_CONTENT = ("question", "answer", "content")
"""Columns that templates of conversations and of media read without a placeholder."""


@dataclass
class Subject:
    """The subject of an audit: any renderer. The defaults are those of a template, which has no configuration.

    Args:
        schema: The samples' schema.
        labels: The labels of ppl; None for gen.
        limits: The most `bytes` and `tokens` of a prompt.
        counter: Counts tokens; None without a tokenizer.
        output_column: The column of the answers; None if the samples lack it.
        row_number: Returns the number of a row in findings, for its number among the samples.
        mask: What is trained; None: masks aren't checked.
        tokens: Encodes the requests; None without a tokenizer, or where requests are no texts.
        codes: The codes of the findings that are looked for.
    """

    schema: pa.Schema
    labels: list[Any] | None = None
    limits: Mapping[str, int] = field(default_factory=dict)
    counter: LoadedTokenizer | None = None
    output_column: str | None = None
    row_number: Callable[[int], int] = int
    mask: Mask | None = None
    tokens: TokenBatches | None = None
    codes: frozenset[str] = frozenset()

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
    """A Jinja template or a chat template.

    Args:
        engine: Its engine.

    """

    engine: TemplateEngine = field(kw_only=True)

    def __post_init__(self) -> None:
        self.control_texts = [self.engine.source]
        self.chat_settings = self.engine.chat_settings
        self.is_conversation = self.chat_settings is not None  # a chat template may show some messages only

    @property
    def template_columns(self) -> list[str]:
        """The samples' columns that the template reads."""
        names = self.engine.required_columns
        return [name for name in self.schema.names if name in names]


@dataclass
class ConfiguredSubject(Subject):
    """A renderer with a configuration.

    Args:
        engine: Its engine.

    """

    engine: ConfiguredEngine = field(kw_only=True)

    def __post_init__(self) -> None:
        settings, core = self.engine.settings, self.engine.core
        self.settings = settings
        """The renderer's arguments, as plain data."""
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

    @property
    def core(self) -> CompiledRenderer:
        """The compiled configuration."""
        return self.engine.core

    @cached_property
    def input_columns(self) -> list[str]:
        """The reader's input columns."""
        names = (self.settings["reader"] or {}).get("input_columns") or []
        return names.split() if isinstance(names, str) else [name for name in names if isinstance(name, str)]

    @cached_property
    def single_pass(self) -> Configuration:
        """The same configuration, but placeholders in values aren't filled in."""
        return self.engine.configuration.changed(substitution="single_pass")

    @cached_property
    def template_columns(self) -> list[str]:
        # If only the templates' placeholders are filled in, no value of an example brings in a column.
        core = self.single_pass.core if self.is_harness else self.core
        names = set(_core.template_columns(core, core_schema(self.schema), self.labels, _no_texts))
        if self.family in {"MultiTurnPromptTemplate", "MMPromptTemplate"}:
            names |= {*self.engine.required_columns, *_CONTENT} - {self.core.masked_column}
        if self._reads_chats:
            names |= set(self.input_columns)
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
    """Yield the strings in a configuration's dicts and lists: those directly under one of some keys, or all.

    >>> list(strings_within({"begin": "<s>", "round": [{"role": "HUMAN"}]}, {"role"}))
    ['HUMAN']

    """
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
