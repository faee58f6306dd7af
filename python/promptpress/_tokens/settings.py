"""Settings of token ids: their columns, how long a request may be, what is trained, and special tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

import pyarrow as pa

from promptpress._errors.errors import did_you_mean
from promptpress.typing import ControlTokens, Mask, Truncation

_OFFSETS = pa.list_(pa.struct([("start", pa.int64()), ("end", pa.int64())]))
_IDS = pa.list_(pa.int32())


@dataclass(frozen=True)
class TokenSettings:
    """The checked arguments of `tokenize` that are the tokens'.

    Args:
        add_special_tokens: Whether the tokenizer puts its special tokens around texts; None: around those that have no
            first special token yet, and never around texts of chat templates.
        max_tokens: How many tokens a request may have; None: any number.
        truncation: What becomes of a request with more.
        mask: Which tokens are trained; None: no column says so.
        answer: The column whose texts are the assistant's last messages; None: prompts are encoded as they are.
        labels: Whether a column has the ids of trained tokens, and -100 in the place of others.
        control_tokens: Whether what data brings may be a control token (`"parse"`), or is text in any case (`"text"`).
        reasoning: Whether an assistant's reasoning is trained, with the tags around it.
        last_turn: Whether only the last turn of an assistant is trained.
        offsets: Whether a column says where in its prompt each token stands.
        names: Other names of the columns, keyed by the usual ones.

    Raises:
        TypeError: If an argument is something else.
        ValueError: If the value of an argument is wrong, or an argument needs another that isn't given.
    """

    add_special_tokens: bool | None = None
    max_tokens: int | None = None
    truncation: Truncation = "refuse"
    mask: Mask | None = None
    answer: str | None = None
    labels: bool = False
    control_tokens: ControlTokens = "parse"
    reasoning: bool = False
    last_turn: bool = False
    offsets: bool = False
    names: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.add_special_tokens not in (None, True, False):
            raise _wrong_type("add_special_tokens", "True, False or None", self.add_special_tokens)
        for name in ("labels", "reasoning", "last_turn", "offsets"):
            if not isinstance(getattr(self, name), bool):
                raise _wrong_type(name, "True or False", getattr(self, name))
        if self.max_tokens is not None:
            if isinstance(self.max_tokens, bool) or not isinstance(self.max_tokens, int):
                raise _wrong_type("max_tokens", "a number or None", self.max_tokens)
            if self.max_tokens < 0:
                raise ValueError(f"max_tokens: expected a number from 0 on, found {self.max_tokens}")
        for name, kind in (("truncation", Truncation), ("mask", Mask), ("control_tokens", ControlTokens)):
            value = getattr(self, name)
            if value not in get_args(kind) and not (name == "mask" and value is None):
                raise ValueError(f"{name}: {value!r} is not one of {', '.join(map(repr, get_args(kind)))}")
        if self.cuts and self.max_tokens is None:
            raise ValueError(f'truncation="{self.truncation}" needs max_tokens=, the number of tokens to cut to')
        if self.labels and self.mask is None:
            raise ValueError('labels=True needs mask=, which says what is trained: for example mask="assistant+end"')
        for name in ("reasoning", "last_turn"):
            if getattr(self, name) and self.mask in (None, "generation"):
                needs = 'needs a mask of what assistants say: mask="assistant", or with what ends the turn'
                raise ValueError(f"{name}=True {needs}")
        self._check_names()

    def _check_names(self) -> None:
        if not isinstance(self.answer, (str, type(None))):
            raise _wrong_type("answer", "the name of a column or None", self.answer)
        if not isinstance(self.names, Mapping):
            raise _wrong_type("names", "a dict of columns and their names", self.names)
        columns = list(self.columns)
        for column, name in self.names.items():
            if column not in columns:
                hint = did_you_mean(str(column), columns)
                raise ValueError(f"names: no column {column!r}{hint}; there are {columns}")
            if not isinstance(name, str) or not name or "\0" in name:
                raise ValueError(f"names: {name!r} is no name for a column")

    @property
    def has_assistants(self) -> bool:
        """True if the mask is of what assistants say."""
        return self.mask not in (None, "generation")

    @property
    def needs_origins(self) -> bool:
        """True if it has to be known where the bytes of prompts come from."""
        return self.control_tokens == "text" or self.has_assistants

    @property
    def cuts(self) -> bool:
        """True if requests that are too long are cut."""
        return self.truncation != "refuse"

    @property
    def columns(self) -> dict[str, pa.DataType]:
        """The types of the columns, keyed by their usual names, in order."""
        columns = {"input_ids": _IDS, "n_tokens": pa.int32()}
        if self.mask is not None:
            columns["assistant_masks"] = pa.list_(pa.bool_())
        if self.labels:
            columns["labels"] = _IDS
        if self.offsets:
            columns["offsets"] = _OFFSETS
        if self.cuts:
            columns["truncated"] = pa.bool_()
        return columns

    @property
    def fields(self) -> list[pa.Field]:
        """The fields of the columns, by the names that they shall have."""
        return [pa.field(self.names.get(name, name), data_type) for name, data_type in self.columns.items()]


def _wrong_type(name: str, expected: str, value: Any) -> TypeError:
    return TypeError(f"{name}: expected {expected}, found {value!r}")
