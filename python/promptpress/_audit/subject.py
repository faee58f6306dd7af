"""What is known before any sample is seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from promptpress import _core
from promptpress._configuration import Configuration
from promptpress._core import CompiledRenderer
from promptpress._tables import core_schema
from promptpress._tokenizer import TokenCounter

if TYPE_CHECKING:
    from promptpress._renderer import Renderer

__all__ = ["Subject", "strings_within"]

_CONTENT = ("question", "answer", "content")
"""Columns that templates of conversations and of media read without a placeholder."""


@dataclass
class Subject:
    """The renderer, the schema of the samples, and what was asked for.

    Args:
        renderer: What renders.
        schema: The samples'.
        labels: The labels of ppl; None for gen.
        limits: How long a prompt may be, by `bytes` and `tokens`.
        counter: What counts tokens, where a tokenizer is given.

    """

    renderer: Renderer
    schema: pa.Schema
    labels: list[Any] | None = None
    limits: Mapping[str, int] = field(default_factory=dict)
    counter: TokenCounter | None = None

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The renderer's arguments, as plain data."""
        return self.renderer._configuration.settings

    @property
    def core(self) -> CompiledRenderer:
        """The configuration, compiled."""
        return self.renderer._core

    @property
    def is_json(self) -> bool:
        """Whether requests are messages written as JSON."""
        return bool(self.settings["output"] == "messages_json")

    @property
    def is_harness(self) -> bool:
        """Whether values are looked into for placeholders."""
        return bool(self.settings["substitution"] == "harness")

    @property
    def is_gen(self) -> bool:
        """Whether each sample has one prompt for a model to answer."""
        return self.labels is None and self.core.label_column is None and self.settings["mode"] != "ppl"

    @cached_property
    def family(self) -> str:
        """The class of the prompt template, by the last part of its name; `""` where none is said."""
        return _family(self.settings["prompt_template"])

    @cached_property
    def output_column(self) -> str | None:
        """The column of the answers, where the samples have it."""
        name = (self.settings["reader"] or {}).get("output_column")
        return name if isinstance(name, str) and name in self.schema.names else None

    @cached_property
    def input_columns(self) -> list[str]:
        """What the reader calls input columns."""
        given = (self.settings["reader"] or {}).get("input_columns") or []
        return given.split() if isinstance(given, str) else [name for name in given if isinstance(name, str)]

    @cached_property
    def single_pass(self) -> Configuration:
        """The same configuration with each placeholder of a template filled in once, and none of values."""
        own = self.renderer._configuration
        return Configuration({**own.settings, "substitution": "single_pass"}, own.examples, own.tokens)

    @property
    def is_conversation(self) -> bool:
        """Return true if the samples' columns hold conversations, whose requests show some of their turns."""
        return self.core.has_turns or self.family == "MultiTurnPromptTemplate" or self._reads_chats

    @cached_property
    def template_columns(self) -> list[str]:
        """The samples' columns that requests show by their templates, before any value is seen."""
        # Where placeholders of templates alone are filled in, no example's value brings in a column.
        core = self.single_pass.core if self.is_harness else self.core
        names = set(_core.template_columns(core, self._core_schema, self.labels, _no_texts))
        if self.family in {"MultiTurnPromptTemplate", "MMPromptTemplate"}:
            names |= {*self.renderer.required_columns, *_CONTENT} - {self.core.masked_column}
        if self._reads_chats:
            names |= set(self.input_columns)
        return [name for name in self.schema.names if name in names and name != self.core.index_column]

    @cached_property
    def example_columns(self) -> dict[str, pa.Array]:
        """The columns of the examples that requests show, each with a mask of the examples whose value is shown."""
        examples = self.renderer._configuration.examples
        if not self.has_examples or examples is None or not len(examples):
            return {}
        masks = dict(_core.example_columns(self.core, self._core_schema, self.labels, _no_texts))
        return {name: masks[name] for name in examples.column_names if name in masks}

    @property
    def _core_schema(self) -> pa.Schema:
        return core_schema(self.schema)

    @property
    def _reads_chats(self) -> bool:
        return "Chat" in _family(self.settings["inferencer"])

    @cached_property
    def has_examples(self) -> bool:
        """Whether there are examples that something chooses from, for a template of theirs."""
        retriever = _family(self.settings["retriever"])
        chooses = self.core.index_column is not None or retriever not in {"", "ZeroRetriever"}
        return chooses and self.renderer._configuration.examples is not None


def _no_texts(*_: Any) -> Any:
    raise AssertionError  # a schema alone has no values


def _family(part: Any) -> str:
    given = part.get("type") if isinstance(part, Mapping) else None
    return str(given or "").rpartition(".")[2]


def strings_within(value: Any, keys: set[str] | None = None) -> Iterator[str]:
    """Give the strings in a configuration's value.

    Args:
        value: Dicts, lists and scalars.
        keys: Only those that stand directly under one of these keys; None: all.

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
