"""Tables of prices, as users write them: what tokens of a model cost, and how its service caches prompts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from promptpress import ConfigError
from promptpress.engine.errors import did_you_mean, reason
from promptpress_harness.bounded_file import read_text

_MAX_FILE_BYTES = 1 << 20
_MILLION = 1_000_000
_NUMBERS = ("input", "output", "cached", "written", "batch")
_COUNTS = ("minimum", "step", "kept")
_KEYS = (*_NUMBERS, "cache", *_COUNTS)


class Cache(NamedTuple):
    """The rules of a service's cache of prompts.

    With `marks` the service keeps the beginnings that requests mark, else whatever requests begin with, in steps of
    `step` tokens. No beginning of less than `minimum` tokens is kept.
    """

    marks: bool
    answers: bool = False
    """True if a mark may end what the assistant says."""
    minimum: int = 1024
    step: int = 128
    most: int = 4
    """The most marks of a request."""
    implicit: bool = False
    """True if the service writes whole requests to its cache where they don't say that marks are enough."""


CACHES = {
    "openai": Cache(marks=True, implicit=True),
    "anthropic": Cache(marks=True, answers=True),
    "automatic": Cache(marks=False),
    "none": None,
}
"""The caches that a table of prices can name: "openai" is that of its models that have breakpoints."""


@dataclass(frozen=True)
class Price:
    """The price of a million tokens of a model, and the rules of its service.

    Attributes:
        model: the model's name.
        input: tokens of requests that no cache serves.
        output: tokens of answers.
        cached: tokens that the cache serves.
        written: tokens that are written to the cache.
        batch: the share of these prices that requests of a batch cost.
        cache: the rules of the cache; None if there is none.
        kept: the number of requests for which a beginning is kept after its last use.

    """

    model: str
    input: float
    output: float
    cached: float
    written: float
    batch: float
    cache: Cache | None
    kept: int

    @property
    def enough(self) -> int:
        """The fewest requests with one beginning for which writing it costs less than sending it each time."""
        saved = self.input - self.cached
        return 2**31 if saved <= 0 else max(2, int((self.written - self.cached) / saved) + 1)

    def of_input(self, tokens: int, cached: int = 0, written: int = 0) -> float:
        """Return what requests of a batch cost, of whose tokens some are cached and some written."""
        price = cached * self.cached + written * self.written + (tokens - cached - written) * self.input
        return price * self.batch / _MILLION

    def of_output(self, tokens: int) -> float:
        """Return what answers of a batch cost."""
        return tokens * self.output * self.batch / _MILLION


@dataclass(frozen=True)
class Prices:
    """Prices of models in one currency."""

    currency: str
    models: tuple[Price, ...]

    def of(self, model: str, path: str) -> Prices:
        """Return the price of one model alone; `path` is the file's, for the error of a model that isn't in it."""
        names = [price.model for price in self.models]
        if model not in names:
            remedy = did_you_mean(model, names) or f"; it has {', '.join(map(repr, names))}"
            raise ConfigError(f"{path}: it has no price of the model {model!r}{remedy}")
        return Prices(self.currency, (self.models[names.index(model)],))


def read_prices(path: str) -> Prices:
    """Read a table of prices, YAML or JSON.

    Raises:
        ConfigError: If it isn't such a table. The message has the location.

    """
    given = _mapping(_parsed(path), path, "the table", ("currency", "models"))
    models = _mapping(given.get("models"), path, "models", None)
    if not models:
        raise ConfigError(f"{path}: models: it has no model")
    return Prices(str(given.get("currency", "")), tuple(_price(name, entry, path) for name, entry in models.items()))


def _parsed(path: str) -> Any:
    try:
        import yaml  # noqa: PLC0415 - an extra
    except ImportError:
        raise ConfigError(f"{path}: YAML needs PyYAML: pip install 'promptpress[cli]'") from None
    text = read_text(path, _MAX_FILE_BYTES)
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ConfigError(f"{path}: not valid YAML: {reason(error)}") from None


def _mapping(value: Any, path: str, location: str, keys: tuple[str, ...] | None) -> Mapping[str, Any]:
    """Check that a value is a mapping whose keys are texts, and some of `keys`."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ConfigError(f"{path}: {location}: expected keys with values, found {value!r:.60}")
    for key in value:
        if keys is not None and key not in keys:
            remedy = did_you_mean(key, keys) or f"; there are {', '.join(keys)}"
            raise ConfigError(f"{path}: {location}: unknown key {key!r}{remedy}")
    return value


def _price(model: str, value: Any, path: str) -> Price:
    location = f"models.{model}"
    given = _mapping(value, path, location, _KEYS)
    for key in ("input", "output"):
        if key not in given:
            raise ConfigError(f"{path}: {location}: the price {key!r} of a million tokens is missing")
    for key in (*_NUMBERS, *_COUNTS):
        if key in given:
            _check_number(given[key], f"{path}: {location}.{key}", is_whole=key in _COUNTS)
    name = given.get("cache", "automatic" if "cached" in given else "none")
    if not isinstance(name, str) or name not in CACHES:
        raise ConfigError(f"{path}: {location}.cache: expected one of {', '.join(CACHES)}, found {name!r}")
    cache = CACHES[name]
    if cache is not None:
        if "cached" not in given:
            raise ConfigError(f"{path}: {location}: the price 'cached' of tokens that the cache serves is missing")
        cache = cache._replace(**{key: given[key] for key in ("minimum", "step") if key in given})
    price = given["input"]
    cached, written = (given.get(key, price) for key in ("cached", "written"))
    return Price(model, price, given["output"], cached, written, given.get("batch", 1), cache, given.get("kept", 1000))


def _check_number(value: Any, location: str, *, is_whole: bool) -> None:
    kinds = int if is_whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not (1 if is_whole else 0) <= value < 2**53:
        wanted = "a whole number from 1 on" if is_whole else "a number from 0 on"
        raise ConfigError(f"{location}: expected {wanted}, found {value!r:.40}")
