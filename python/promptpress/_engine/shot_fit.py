"""Settings of a budget of tokens: how long a request may be, and which examples are left out until it fits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

import pyarrow as pa

from promptpress._config.from_harness import CHAT_INFERENCERS
from promptpress._config.model_classes import last_part
from promptpress._errors.errors import template_error
from promptpress._errors.suggestions import did_you_mean
from promptpress.typing import FitLabels, FitRule

SHOT_COLUMNS = {"n_shots": pa.int32(), "truncated": pa.bool_()}
"""The types of the columns that say what is left of each request, keyed by their usual names."""

_LIMITS = {"openicl": "max_model_token_num"}
_LIMIT = "max_seq_len"
"""The key of an inferencer that says how long a request may be, in all dialects but those of `_LIMITS`."""

_TAKES_NO_PART = frozenset({*CHAT_INFERENCERS, "AgentInferencer", "SWCELossInferencer"})
"""OpenCompass's inferencers that leave out no examples, whatever `max_seq_len` is."""


class TokenCounts(Protocol):
    """Counts the tokens of texts."""

    @property
    def digest(self) -> str:
        """The digest of all that decides the tokens."""

    def counts(self, texts: Sequence[str], special: bool | None) -> list[int | None]:
        """Return the number of tokens of each text; None for a text that can't be encoded."""


@dataclass(frozen=True)
class ShotFit:
    """A budget of tokens, and the rule by which examples are left out.

    Args:
        counter: Counts tokens.
        limit: The most tokens of a request.
        drops: The end of a sample's list of examples from which examples are left out; None: none is.
        labels: `"each"` fits each label's request alone; `"jointly"` gives all labels of a sample the same examples;
            `"in_turn"` fits label after label, and what is left out for one stays out for the next.
        is_harness: True if tokens are counted as the harness counts them: with special tokens; and of messages, in one
            text of all.
        names: Other names of the columns, keyed by the usual ones.

    """

    counter: TokenCounts
    limit: int
    drops: Literal["first", "last"] | None
    labels: Literal["each", "jointly", "in_turn"]
    is_harness: bool
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def fields(self) -> list[pa.Field]:
        """The fields of the columns, by the names that they shall have."""
        return [pa.field(self.names.get(name, name), data_type) for name, data_type in SHOT_COLUMNS.items()]

    def shorter(self, examples: list[int]) -> list[int]:
        """Return a list of examples without the one that is left out first."""
        return examples[1:] if self.drops == "first" else examples[:-1]

    @property
    def _key(self) -> tuple[Any, ...]:
        return self.counter.digest, self.limit, self.drops, self.labels, self.is_harness

    def fingerprint(self, inner: str) -> str:
        """Return the fingerprint of a renderer with this budget."""
        return hashlib.sha256(json.dumps([inner, *self._key]).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ShotFit):
            return NotImplemented
        return self._key == other._key and dict(self.names) == dict(other.names)

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"ShotFit(limit={self.limit}, drops={self.drops!r}, labels={self.labels!r})"


def harness_limit(settings: Mapping[str, Any]) -> Any:
    """Return the number of tokens to which the inferencer of a configuration fits prompts; None if it has none."""
    inferencer = settings.get("inferencer")
    key = _LIMITS.get(settings.get("dialect") or "", _LIMIT)
    return inferencer.get(key) if isinstance(inferencer, Mapping) else None


def shot_fit_of(
    counter: TokenCounts,
    settings: Mapping[str, Any],
    *,
    max_seq_len: Any,
    fit: FitRule,
    reserve: int,
    fit_labels: FitLabels,
    names: Mapping[str, str],
    is_ppl: bool,
) -> ShotFit:
    """Make the budget that the arguments of `Renderer` ask for."""
    _check_choice("fit", fit, get_args(FitRule))
    _check_choice("fit_labels", fit_labels, get_args(FitLabels))
    most = _number("max_seq_len", max_seq_len) - _number("reserve", reserve)
    if most < 0:
        raise template_error(
            "invalid_number", "reserve", f"{reserve} tokens are more than max_seq_len={max_seq_len} has"
        )
    if fit != "harness":
        return ShotFit(counter, most, fit, fit_labels, is_harness=False, names=names)
    for name, is_given in (("reserve", reserve), ("fit_labels", fit_labels != "each")):
        if is_given:
            raise template_error(
                "unsupported_mode",
                name,
                f'fit="harness" is the harness\'s own rule, which has no {name}; fit="last" leaves out the same '
                "examples and takes it",
            )
    inferencer = last_part((settings.get("inferencer") or {}).get("type"))
    drops: Literal["last"] | None = "last"
    if settings["dialect"] == "aisbench" or inferencer in _TAKES_NO_PART:
        drops = None
    if inferencer == "CLPInferencer":
        most -= 1  # for the token that is scored
    return ShotFit(counter, most, drops, "in_turn" if is_ppl else "each", is_harness=True, names=names)


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        hint = did_you_mean(str(value), choices)
        raise template_error("unknown_name", name, f"{value!r} is not one of {', '.join(map(repr, choices))}{hint}")


def _number(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise template_error("wrong_type", name, f"expected a number, found {value!r}")
    if value < 0:
        raise template_error("invalid_number", name, f"expected a number from 0 on, found {value}")
    return value
