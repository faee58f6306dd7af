"""The bill of a batch before it is sent: its tokens and what they cost, with and without the service's cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from promptpress.engine.errors import counted
from promptpress.engine.tokens import LoadedTokenizer

from promptpress_workbench.prompts.request_tree import Marks, RequestTree
from promptpress_workbench.statistics.prices import Cache, Price, Prices
from promptpress_workbench.statistics.statistics import Table, report

_NEVER = 2**31
_WAYS = {
    "no_cache": "without cache",
    "no_marks": "without marks",
    "file_order": "file order",
    "prefix_order": "prefix order",
}


class Bill:
    """Adds up the tokens of requests, batch by batch, for each model of a table of prices.

    Without a tokenizer four bytes of UTF-8 count as a token.
    """

    def __init__(self, prices: Prices, counter: LoadedTokenizer | None) -> None:
        self._prices = prices
        self._tokenizer = None if counter is None else counter.name
        kinds = dict.fromkeys(_blocks(price.cache) for price in prices.models)
        self._trees = {blocks: RequestTree(counter, blocks) for blocks in kinds}

    def add(self, requests: pa.Array, *, is_json: bool, tools: pa.Array | None = None) -> None:
        """Add requests; `tools` are texts that they begin with."""
        for tree in self._trees.values():
            tree.add(requests, is_json=is_json, tools=tools)

    @property
    def requests(self) -> int:
        """The number of requests."""
        return len(next(iter(self._trees.values())))

    def to_dict(
        self, orders: Mapping[str, list[int] | None], output: int | None, *, is_marked: bool = True
    ) -> dict[str, Any]:
        """Return the bill as plain data.

        Args:
            orders: The orders by name (`file_order`, `prefix_order`) in which requests may be sent; None: as they were
                added.
            output: The number of tokens of all answers; None if it isn't known.
            is_marked: Whether requests are marked for services that want it; else the bill has no orders of these.

        Returns:
            For each model its tokens and costs: without a cache; without marks, where the service writes whole
            requests to its cache then; and in each order.

        """
        models = []
        for price in self._prices.models:
            has_cache = price.cache is not None and (is_marked or not price.cache.marks)
            models.append(self._of_model(price, orders if has_cache else {}, output))
        return {
            "requests": self.requests,
            "tokenizer": self._tokenizer,
            "currency": self._prices.currency,
            "models": models,
        }

    def _of_model(self, price: Price, orders: Mapping[str, list[int] | None], output: int | None) -> dict[str, Any]:
        tree, cache = self._trees[_blocks(price.cache)], price.cache
        tokens = tree.tokens
        answers = None if output is None else price.of_output(output)
        out = {
            "model": price.model,
            "input_tokens": tokens,
            "output_tokens": output,
            "output_cost": answers,
            "no_cache": {"input_cost": price.of_input(tokens)},
        }
        if cache is None:
            return out
        marks = marks_of(cache, price.enough) if cache.marks else None
        ways = {name: (order, marks) for name, order in orders.items()}
        if cache.implicit:
            ways = {"no_marks": (None, (cache.minimum, _NEVER, cache.most, cache.answers, True)), **ways}
        for name, (order, rules) in ways.items():
            _, read, written = tree.served(order, price.kept, rules)
            cost = price.of_input(tokens, read, written)
            out[name] = {"cached_tokens": read, "written_tokens": written, "input_cost": cost}
        return out


def marks_of(cache: Cache, enough: int) -> Marks:
    """Return the rules of marks of a cache, where a mark pays for so many requests with one beginning."""
    return cache.minimum, enough, cache.most, cache.answers, False


def _blocks(cache: Cache | None) -> tuple[int, int] | None:
    return None if cache is None or cache.marks else (cache.minimum, cache.step)


def bill_report(bill: Mapping[str, Any], width: int) -> str:
    """Return a bill as a page of text: a row for each model and way to send the requests."""
    rows, costs = [], list[float]()
    for model in bill["models"]:
        for key, way in _WAYS.items():
            if key not in model:
                continue
            of_way = model[key]
            costs.append(of_way["input_cost"] + (model["output_cost"] or 0))
            cells = [_number(of_way.get(name)) for name in ("cached_tokens", "written_tokens")]
            rows.append([model["model"], way, _number(model["input_tokens"]), *cells, _number(model["output_tokens"])])
    digits = 2 if max(costs) >= 1 else 4
    rows = [[*row, f"{cost:,.{digits}f}"] for row, cost in zip(rows, costs, strict=True)]
    names = ["model", "", "input", "cached", "written", "output", f"cost {bill['currency']}".strip()]
    return report(_title(bill), [Table("", names, rows, texts=2, is_cut=False)], width, is_ascii=True)


def _title(bill: Mapping[str, Any]) -> str:
    title = f"the bill of {counted(bill['requests'], 'request')}, in tokens"
    if bill["tokenizer"] is None:
        title += ": an estimate, 4 bytes a token; --tokenizer DIR counts them"
    if all(model["output_tokens"] is None for model in bill["models"]):
        title += "; without answers, for which --expected-output stands"
    return title


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
