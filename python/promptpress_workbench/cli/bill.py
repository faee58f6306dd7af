"""The bill of a batch, and the marks of its requests: `--prices`, `--cache-control`."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol

import pyarrow as pa
from promptpress.engine import PromptColumn, RenderOptions, engine_of
from promptpress.engine.errors import UsageError, did_you_mean
from promptpress.engine.tables import is_text
from promptpress.engine.tables import lazy_compute as pc
from promptpress.engine.tokens import LoadedTokenizer

from promptpress_workbench.cli.cache_marks import CacheMarks
from promptpress_workbench.cli.configurations import token_counter
from promptpress_workbench.cli.prompt_sources import holds_messages
from promptpress_workbench.cli.prompt_stream import rendered
from promptpress_workbench.cli.run_counts import AnyRenderer
from promptpress_workbench.cli.terminal import say
from promptpress_workbench.files.read.samples import AnySamples, TableSamples
from promptpress_workbench.prompts.request_tree import RequestTree
from promptpress_workbench.statistics.bill import Bill
from promptpress_workbench.statistics.prices import Prices, read_prices

INDEX = "sample"


class _Adds(Protocol):
    """Adds up requests batch by batch."""

    def add(self, requests: pa.Array, *, is_json: bool, tools: pa.Array | None = None) -> None: ...


def in_memory(samples: AnySamples) -> AnySamples:
    """Return the same samples as a table, which can be rendered twice."""
    table = TableSamples(samples.table(), samples.batch_size)
    table.chosen, table.metadata = samples.chosen, samples.metadata
    return table


_OF_ALL = ("tools", "system", "instructions", "systemInstruction", "system_instruction")
"""The parameters that are part of what all requests begin with."""


def _of_all(params: Mapping[str, Any]) -> str:
    """Return the parameters that all requests begin with, as a text."""
    return "".join(json.dumps(params[name], ensure_ascii=False) for name in _OF_ALL if name in params)


def add_requests(
    to: Iterable[_Adds],
    batches: Iterable[pa.RecordBatch],
    prompt: str,
    tools: str | None,
    *,
    is_json: bool,
    same: str = "",
) -> None:
    """Add the prompts of rendered batches; requests begin with a text that is the `same` in all, and a row's tools."""
    adding = list(to)
    for batch in batches:
        column = batch.schema.get_field_index(prompt)
        of_tools = None if tools is None else _as_texts(batch.column(batch.schema.get_field_index(tools)))
        if same:
            given = pa.nulls(batch.num_rows, pa.large_string()) if of_tools is None else of_tools
            rows = given.fill_null("").dictionary_encode()
            texts = pa.array([same + text for text in rows.dictionary.to_pylist()], pa.large_string())
            of_tools = pa.DictionaryArray.from_arrays(rows.indices, texts)
        for each in adding:
            each.add(batch.column(column), is_json=is_json, tools=of_tools)


def _as_texts(column: pa.Array) -> pa.Array:
    """Return the texts of tools; other values than texts as Python prints them, which is about as long."""
    if is_text(column.type):
        return column
    return pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.large_string())


def bill_of(
    prices: Prices,
    renderer: AnyRenderer,
    samples: AnySamples,
    *,
    counter: LoadedTokenizer | None,
    expected_output: int | str | None,
    count: Callable[[int], object],
) -> dict[str, Any]:
    """Render the samples once more, in prefix order where there is one, and return the bill of their requests."""
    bill = Bill(prices, counter)
    engine, outputs = engine_of(renderer), renderer.output_schema(samples.schema)
    prompt = outputs.field(len(outputs) - 1 - len(engine.shot_fields))
    is_json = engine.writes_json
    if isinstance(renderer, PromptColumn):
        is_json = renderer.is_json(samples.schema) or holds_messages(prompt.name, samples.reader)
    # A file's texts can't be put in order: what they are made of isn't known.
    has_order = INDEX not in samples.schema.names and (
        not isinstance(renderer, PromptColumn) or is_json or not is_text(prompt.type)
    )
    tools = "tools" if "tools" in samples.schema.names and not is_text(prompt.type) else None
    options = RenderOptions.of([tools] if tools else [], None, errors="skip")
    if has_order:
        options = replace(options, index=INDEX, order="prefix")
    numbers = []
    for batch in rendered(renderer, samples, count, options):
        add_requests([bill], [batch], prompt.name, tools, is_json=is_json)
        if has_order:
            numbers.append(batch.column(0))
    orders: dict[str, list[int] | None] = {"file_order": None}
    if has_order:
        in_file = pc.array_sort_indices(pa.chunked_array(numbers, pa.int64()).combine_chunks()).to_pylist()
        orders = {"file_order": in_file, "prefix_order": None}
    return bill.to_dict(orders, output_tokens(expected_output, samples, bill.requests, counter))


class BatchCosts:
    """The marks of an export's requests for a cache, and their bill: each of both only if an option asks for it."""

    def __init__(self, arguments: Namespace) -> None:
        self._arguments = arguments
        self._prices = None if arguments.prices is None else read_prices(arguments.prices)
        if self._prices is not None and arguments.model_name is not None:
            self._prices = self._prices.of(arguments.model_name, arguments.prices)
        is_marked = arguments.cache_control == "auto"
        is_used = is_marked or self._prices is not None
        self._counter = token_counter(arguments.tokenizer) if is_used and arguments.tokenizer is not None else None
        self._marks = CacheMarks(arguments.kind, self._counter, self._prices) if is_marked else None
        self._bill = None if self._prices is None else Bill(self._prices, self._counter)
        self._output: int | None = None
        if is_used and arguments.model_name is None and "model" in (arguments.params_columns or {}):
            text = "each model has prices and a cache of its own; --where exports the rows of one, with --model-name"
            raise UsageError(f"{'--cache-control' if is_marked else '--prices'}: {text}")

    @property
    def has_keys(self) -> bool:
        """True if requests need the numbers of their groups."""
        return self._marks is not None and self._marks.has_keys

    def applied(self, arguments: Namespace, schema: pa.Schema) -> tuple[Namespace, pa.Schema]:
        """Return the arguments of the command and the schema of requests with what marks add."""
        if self._marks is None:
            return arguments, schema
        more = self._marks.parameters(arguments, schema.names)
        return Namespace(**{**vars(arguments), **more}), self._marks.schema(schema)

    def added(self, batches: Iterator[pa.RecordBatch], fingerprint: str) -> Iterator[pa.RecordBatch]:
        """Return the batches of requests with what marks add."""
        return batches if self._marks is None else self._marks.added(batches, fingerprint)

    def measured(
        self,
        renderer: AnyRenderer,
        samples: AnySamples,
        options: RenderOptions,
        prompt: str,
        tools: Iterable[str],
        *,
        is_json: bool,
    ) -> AnySamples:
        """Render the requests once before they are written, if they are measured; return the samples for a second time.

        Args:
            renderer: The renderer of the requests.
            samples: Its samples.
            options: How the requests will be rendered.
            prompt: Their column of prompts.
            tools: The columns of what they begin with.
            is_json: Whether prompts are messages as JSON.
        """
        adding = [each for each in (self._bill, None if self._marks is None else self._marks.tree) if each is not None]
        if adding:
            samples = in_memory(samples)
            tool = next((name for name in tools if name in options.kept), None)
            batches = rendered(renderer, samples, int, options)
            add_requests(adding, batches, prompt, tool, is_json=is_json, same=_of_all(self._arguments.params or {}))
        if self._bill is not None:
            given, requests = self._arguments.expected_output, self._bill.requests
            self._output = output_tokens(given, samples, requests, self._counter)
        return samples

    def report(self) -> None:
        """Say what was marked, and what the requests cost: a line for each model."""
        if self._marks is not None:
            say(self._marks.report())
        if self._bill is None:
            return
        order, output = "file_order" if self._arguments.order is None else "prefix_order", self._output
        data = self._bill.to_dict({order: None}, output, is_marked=self._marks is not None)
        for model in data["models"]:
            tokens = f"{model['input_tokens']:,} tokens" + ("" if self._counter else ", estimated as 4 bytes each")
            key = next((name for name in (order, "no_marks") if name in model), "no_cache")
            way = model[key]
            if key != "no_cache":
                tokens += f" ({way['cached_tokens']:,} cached, {way['written_tokens']:,} written)"
            if key == "no_marks":
                tokens += " without --cache-control"
            answers = "answers not counted" if output is None else f"{output:,} of answers"
            cost = way["input_cost"] + (model["output_cost"] or 0)
            say(f"{model['model']}: {tokens}, {answers}: {cost:,.{2 if cost >= 1 else 4}f} {data['currency']}".rstrip())


def output_tokens(
    given: int | str | None, samples: AnySamples, requests: int, counter: LoadedTokenizer | None
) -> int | None:
    """Return the tokens of all answers, by their number or a column of the samples; None if nothing is said of them."""
    if given is None or isinstance(given, int):
        return None if given is None else given * requests
    if given not in samples.schema.names:
        remedy = did_you_mean(given, samples.schema.names)
        raise UsageError(f"--expected-output: {given!r} is neither a number of tokens nor a column of the data{remedy}")
    column = samples.table()[given]
    if pa.types.is_integer(column.type):
        tokens = pc.sum(column).as_py() or 0
    elif is_text(column.type):
        answers = RequestTree(counter)
        for texts in column.chunks:
            answers.add(texts, is_json=False)
        tokens = answers.tokens
    else:
        message = f"the column {given!r} has neither numbers of tokens nor texts, but {column.type}"
        raise UsageError(f"--expected-output: {message}")
    # A sample may have several requests, each with an answer of its own.
    return round(tokens * requests / len(column)) if len(column) else 0
