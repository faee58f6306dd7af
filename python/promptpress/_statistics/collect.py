"""Statistics, collected batch by batch."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from promptpress import _core
from promptpress._core import RenderError
from promptpress._label_values import labels_of
from promptpress._prompt_column import PROMPT_COLUMN, column_of_prompts
from promptpress._render_options import RenderOptions
from promptpress._renderer import Renderer
from promptpress._statistics.statistics import LengthSummary, Statistics
from promptpress._tables import as_reader, as_table, for_core
from promptpress._tokenizer import TokenCounter, load_tokenizer
from promptpress.typing import StreamLike, TableLike

__all__ = ["stats"]

PERCENTAGES = (1, 5, 25, 50, 75, 95, 99)
"""What percentiles are given of."""

_BINS = 20
_SHOWN = 5
_BATCH_ROWS = 65_536
_ORIGINS = pa.schema(
    [
        ("source", pa.string()),
        ("column", pa.string()),
        ("example", pa.bool_()),
        ("role", pa.string()),
        ("bytes", pa.int64()),
        ("share", pa.float64()),
    ]
)
_COLUMNS = pa.schema([("column", pa.string()), ("bytes", pa.int64()), ("share", pa.float64())])
_DUPLICATES = pa.schema([("requests", pa.int64()), ("first", pa.list_(pa.int64()))])


def stats(
    renderer_or_rendered: Renderer | TableLike | StreamLike,
    samples: TableLike | StreamLike | None = None,
    *,
    tokenizer: Any = None,
    column: str | None = None,
) -> Statistics:
    """Say how long requests are, what their bytes come from, and which of them are the same.

    Samples are rendered batch by batch and dropped; what grows with their number are 16 bytes a request (40 at the
    end), by which duplicates are found, and for conversations the number of each request's sample and turn.

    Args:
        renderer_or_rendered: A renderer; or requests that were rendered before: a table or a stream with a column of
            them.
        samples: What the renderer renders, as in `Renderer.render` or `Renderer.stream`.
        tokenizer: Count tokens too: the file of a Hugging Face tokenizer (`tokenizer.json`), a folder that holds one,
            the name of a model in the local Hugging Face cache, or a `tokenizers.Tokenizer`. Needs the extra
            `promptpress[tokenizer]`. Special tokens that a tokenizer would add aren't counted.
        column: The column of requests in a rendered table; None: `prompt`.

    Returns:
        The statistics.

    Raises:
        RenderError: As `Renderer.render`.
        TypeError: If samples are missing or hold no Arrow data.
        KeyError: If the rendered table has no such column.
        ImportError: If the package `tokenizers` is needed, and isn't installed.
        ValueError: If the tokenizer can't be read; `FileNotFoundError` if there is none.

    >>> import pyarrow as pa
    >>> own = stats(Renderer("Q: {q}"), pa.table({"q": ["1+1=?", "1+1=?"]}))
    >>> own.requests, own.bytes.sum, own.repeated
    (2, 16, 1)
    >>> own.by_origin.select(["source", "column", "bytes"]).to_pylist()
    [{'source': 'field', 'column': 'q', 'bytes': 10}, {'source': 'prompt_template', 'column': None, 'bytes': 6}]

    """
    counter = None if tokenizer is None else load_tokenizer(tokenizer)
    if isinstance(renderer_or_rendered, Renderer):
        if samples is None:
            message = "stats(renderer, samples): the samples are missing"
            raise TypeError(message)
        if column is not None:
            message = "column= is of rendered tables; a renderer says itself what its requests are"
            raise TypeError(message)
        return _of_renderer(renderer_or_rendered, samples, counter)
    if samples is not None:
        message = f"samples go with a Renderer, found a {type(renderer_or_rendered).__name__}"
        raise TypeError(message)
    return _of_rendered(as_reader(renderer_or_rendered), column, counter)


class _Collected:
    """What has been seen of requests so far."""

    def __init__(self, counter: TokenCounter | None, *, is_json: bool) -> None:
        self._counter = counter
        self._is_json = is_json
        self._bytes, self._characters, self._tokens = (_core.Lengths(_SHOWN) for _ in range(3))
        self._duplicates = _core.Duplicates()
        self._seen = 0

    def add(self, requests: pa.Array) -> None:
        """Look at more requests."""
        sizes, characters = _core.request_sizes(requests, self._is_json)
        self._bytes.add(self._seen, sizes)
        self._characters.add(self._seen, characters)
        self._duplicates.add(self._seen, _core.request_hashes(requests, self._is_json))
        if self._counter is not None:
            self._tokens.add(self._seen, _token_counts(requests, self._counter, is_json=self._is_json))
        self._seen += len(requests)

    def statistics(self, samples: int | None, origins: Counter[tuple[Any, ...]] | None, places: _Places) -> Statistics:
        """Say what is known."""
        (sizes, summary), (_, characters), (_, tokens) = map(_summed, (self._bytes, self._characters, self._tokens))
        repeated, groups, largest = self._duplicates.summary(_SHOWN, _SHOWN)
        by_origin = None if origins is None else _shares(origins, _ORIGINS)
        by_column = None
        if origins is not None:
            of_columns: Counter[tuple[Any, ...]] = Counter()
            for (_, name, *_), size in origins.items():
                of_columns[name,] += size
            by_column = _shares(of_columns, _COLUMNS)
        return Statistics(
            requests=sizes["requests"],
            samples=samples,
            bytes=summary,
            characters=characters,
            tokens=None if self._counter is None else tokens,
            by_origin=by_origin,
            by_column=by_column,
            repeated=repeated,
            duplicate_groups=groups,
            duplicates=pa.Table.from_pylist([{"requests": n, "first": first} for n, first in largest], _DUPLICATES),
            longest=places.table(sizes["longest"]),
            shortest=places.table(sizes["shortest"]),
        )


class _Places:
    """Which sample, label and turn a request is of."""

    def __init__(self, labels: Sequence[Any] | None = None, *, is_known: bool = True) -> None:
        self._labels = labels or ()
        self._label_values: pa.Array | None = None
        self._is_known = is_known
        self._turns: list[tuple[pa.Array, pa.Array | None]] = []

    def add(self, part: _core.Outcome) -> None:
        """Keep the samples and turns of more requests, where they aren't one a row, and the labels of one sample."""
        if part.samples is not None:
            self._turns.append((part.samples, part.turns))
        if self._label_values is None and part.labels is not None and len(part.labels):
            # The label column of rendered rows has the one type that holds all labels.
            self._label_values = part.labels.slice(0, len(self._labels))

    def table(self, best: Iterable[tuple[int, int]]) -> pa.Table:
        """Tell requests, each given by its length and its number."""
        rows = [(number, *self._place(number), length) for length, number in best]
        requests, samples, labels, turns, lengths = zip(*rows, strict=True) if rows else ((),) * 5
        label_column = pa.nulls(len(rows))
        if rows and self._label_values is not None:
            # The label None is null here, also among texts.
            pairs = zip(self._labels, self._label_values.to_pylist(), strict=True)
            values = [None if label is None else value for label, value in pairs]
            label_column = pa.array([values[number] for number in labels], self._label_values.type)
        return pa.table(
            {
                "request": pa.array(requests, pa.int64()),
                "sample": pa.array(samples, pa.int64()),
                "label": label_column,
                "turn": pa.array(turns, pa.int64()),
                "bytes": pa.array(lengths, pa.int64()),
            }
        )

    def _place(self, number: int) -> tuple[int | None, int | None, int | None]:
        """Return the sample of a request, the number of its label, and its turn."""
        if not self._is_known:
            return None, None, None
        if self._labels:
            return number // len(self._labels), number % len(self._labels), None
        for samples, turns in self._turns:
            if number < len(samples):
                return samples[number].as_py(), None, None if turns is None else turns[number].as_py()
            number -= len(samples)
        return number, None, None


def _of_renderer(renderer: Renderer, samples: Any, counter: TokenCounter | None) -> Statistics:
    core = renderer._core
    renderer._configuration.refuse_replies()
    renderer._configuration.refuse_chat("stats")
    table = as_table(samples) if core.label_column is not None else None
    reader = as_reader(samples) if table is None else table.to_reader()
    renderer._warn(renderer._output_schemas.of(reader.schema, RenderOptions()), reader.schema, table)
    labels = core.labels if table is None else labels_of(core, table, for_core(table)[0])
    is_json = renderer._configuration.settings["output"] == "messages_json"
    collected, places = _Collected(counter, is_json=is_json), _Places(labels)
    origins: Counter[tuple[Any, ...]] = Counter()
    position, own_position = _core.Position(), _core.Position()
    first = 0
    for batch in _sliced(reader):
        core_table, lower = for_core(pa.Table.from_batches([batch]), first)
        first += batch.num_rows
        for part in core.render(core_table, labels, position, False, lower):
            collected.add(part.prompts)
            places.add(part)
        for row in _core.origin_totals(core, core_table, labels, own_position, lower).to_pylist():
            origins[row["source"], row["column"], row["example"] is not None, row["role"]] += row["bytes"]
    return collected.statistics(first, origins, places)


def _of_rendered(reader: pa.RecordBatchReader, column: str | None, counter: TokenCounter | None) -> Statistics:
    name = PROMPT_COLUMN if column is None else column
    try:
        at = column_of_prompts(reader.schema, name)
    except RenderError as error:
        many = {"missing_column": "no", "duplicate_column": "more than one"}.get(error.code)
        if many is None:
            raise
        has = ", ".join(map(repr, reader.schema.names))
        hint = "; column= says which holds the requests" if column is None else ""
        message = f"the table has {many} column {name!r}; it has {has}{hint}"
        raise KeyError(message) from None
    collected = _Collected(counter, is_json=False)
    for batch in _sliced(reader):
        collected.add(batch.column(at))
    return collected.statistics(None, None, _Places(is_known=False))


def _sliced(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    for batch in reader:
        for start in range(0, batch.num_rows, _BATCH_ROWS):
            yield batch.slice(start, _BATCH_ROWS)


def _summed(lengths: _core.Lengths) -> tuple[dict[str, Any], LengthSummary]:
    own = lengths.summary(list(PERCENTAGES), _BINS)
    rows = [dict(zip(("start", "end", "requests"), one, strict=True)) for one in own["histogram"]]
    schema = pa.schema([(name, pa.int64()) for name in ("start", "end", "requests")])
    return own, LengthSummary(
        sum=own["sum"],
        mean=own["sum"] / own["requests"] if own["requests"] else None,
        min=own["min"],
        max=own["max"],
        percentiles=dict(zip(PERCENTAGES, own["percentiles"], strict=False)),
        histogram=pa.Table.from_pylist(rows, schema),
    )


def _shares(sizes: Counter[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    """Sizes as a table, the largest first."""
    total = sizes.total()
    ordered = sorted(sizes.items(), key=lambda one: (-one[1], str(one[0])))
    rows = [dict(zip(schema.names, (*key, size, size / total), strict=True)) for key, size in ordered]
    return pa.Table.from_pylist(rows, schema)


def _token_counts(requests: pa.Array, counter: TokenCounter, *, is_json: bool) -> pa.Array:
    texts: list[str] = []
    ends: list[int | None] = []
    for request in requests.to_pylist():
        if request is not None:
            texts.extend(_texts(_parsed(request) if is_json else request))
        ends.append(None if request is None else len(texts))
    counts, totals, at = counter.count(texts), [], 0
    for end in ends:
        totals.append(None if end is None else sum(counts[at:end]))
        at = at if end is None else end
    return pa.array(totals, pa.uint64())


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _texts(request: Any) -> Iterator[str]:
    """Give the texts of a request: what is read, but no payloads of media."""
    if isinstance(request, str):
        yield request
    elif isinstance(request, list):
        for item in request:
            yield from _texts(item)
    elif isinstance(request, dict):
        for key in ("prompt", "prompt_mm", "content", "parts", "text"):
            yield from _texts(request.get(key))
