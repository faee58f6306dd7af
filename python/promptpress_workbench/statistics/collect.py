"""`promptpress.stats`: statistics, collected batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from promptpress import RenderError
from promptpress.engine import (
    ConfiguredEngine,
    Part,
    PromptColumn,
    RenderOptions,
    TableEngine,
    TableRenderer,
    as_reader,
    as_table,
    engine_of,
    sample_numbers,
)
from promptpress.engine import core as _core
from promptpress.engine.tables import PROMPT_COLUMN, batch_rows, column_of_prompts, for_core, is_json
from promptpress.engine.tables import lazy_compute as pc
from promptpress.engine.tokens import Encoder, LoadedTokenizer, load_tokenizer, text_parts
from promptpress.typing import StreamLike, TableLike

from promptpress_workbench.prompts.failed_rows import FailedRows
from promptpress_workbench.prompts.rendered_source import column_requests
from promptpress_workbench.statistics.statistics import LengthSummary, Statistics

_PERCENTAGES = [1, 5, 25, 50, 75, 95, 99]
_BINS = 20
_MAX_FIRST = 5
"""The number of longest and shortest requests, of groups of duplicates, and of requests of a group."""

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
_SHOTS = pa.schema([(name, pa.int64()) for name in ("n_shots", "requests", "truncated")])
_HISTOGRAM = pa.schema([(name, pa.int64()) for name in ("start", "end", "requests")])


def stats(
    renderer_or_rendered: TableRenderer[Any] | TableLike | StreamLike,
    samples: TableLike | StreamLike | None = None,
    *,
    tokenizer: Any = None,
    column: str | None = None,
) -> Statistics:
    """Return the lengths of requests, the origins of their bytes, and the requests that are equal.

    Samples that can't be rendered are counted, with their errors, and are in no other figure; so are nulls among
    rendered requests.

    Samples are rendered batch by batch and dropped. Memory grows by 16 bytes for each request (40 at the end), which
    are needed to find duplicates, and for conversations by the sample and turn of each request.

    Args:
        renderer_or_rendered: A renderer; or rendered requests, as a table or a stream with a column of them.
        samples: The samples for the renderer, as in `Renderer.render` or `Renderer.stream`.
        tokenizer: Count tokens too: the file of a Hugging Face tokenizer (`tokenizer.json`), a folder that holds one,
            the name of a model in the local Hugging Face cache, or a `tokenizers.Tokenizer`. Needs the extra
            `promptpress[tokenizer]`. Special tokens that a tokenizer would add aren't counted. None: the tokenizer of
            `Renderer(tokenizer=)`, if it has one.
        column: The column of requests in a rendered table; None: `prompt`.

    Returns:
        The statistics.

    Raises:
        RenderError: If something is wrong with the whole table, as in `Renderer.render`.
        TypeError: If samples are missing or hold no Arrow data.
        KeyError: If the rendered table has no such column.
        ImportError: If the package `tokenizers` is needed, and isn't installed.
        ValueError: If the tokenizer can't be read (`FileNotFoundError` if there is none).

    >>> import pyarrow as pa
    >>> from promptpress import Renderer
    >>> statistics = stats(Renderer("Q: {q}"), pa.table({"q": ["1+1=?", "1+1=?"]}))
    >>> statistics.requests, statistics.bytes.sum, statistics.repeated
    (2, 16, 1)
    >>> statistics.by_origin.select(["source", "column", "bytes"]).to_pylist()
    [{'source': 'field', 'column': 'q', 'bytes': 10}, {'source': 'prompt_template', 'column': None, 'bytes': 6}]
    """
    if tokenizer is None and isinstance(renderer_or_rendered, TableRenderer):
        tokenizer = engine_of(renderer_or_rendered).tokenizer
    counter = None if tokenizer is None else load_tokenizer(tokenizer)
    if not isinstance(renderer_or_rendered, TableRenderer):
        if samples is not None:
            raise TypeError(f"samples go with a Renderer, found a {type(renderer_or_rendered).__name__}")
        return _of_rendered(as_reader(renderer_or_rendered), column, counter)
    if samples is None:
        raise TypeError("stats(renderer, samples): the samples are missing")
    if column is not None:
        raise TypeError("column= is of rendered tables; a renderer says itself what its requests are")
    engine = engine_of(renderer_or_rendered)
    if isinstance(engine, ConfiguredEngine) and engine.fit is None and engine.chat is None:
        return _of_configuration(engine, samples, counter)
    return _of_engine(engine, samples, counter)


class _Collector:
    """Collects the statistics of requests, batch by batch."""

    def __init__(self, counter: LoadedTokenizer | None, *, is_json: bool) -> None:
        self._counter = counter
        self._is_json = is_json
        self._bytes, self._characters, self._tokens = (_core.Lengths(_MAX_FIRST) for _ in range(3))
        self._duplicates = _core.Duplicates()
        self._count = 0
        self.failed = FailedRows()

    def add(self, requests: pa.Array, samples: pa.Array, errors: pa.Array | None) -> None:
        """Add requests by their samples; those with an error are null, and are counted by their errors."""
        self.failed.add(samples, errors)
        sizes, characters = _core.request_sizes(requests, self._is_json)
        self._bytes.add(self._count, sizes)
        self._characters.add(self._count, characters)
        self._duplicates.add(self._count, _core.request_hashes(requests, self._is_json))
        if self._counter is not None:
            self._tokens.add(self._count, token_counts(self._counter, requests, is_json=self._is_json))
        self._count += len(requests)

    def statistics(
        self,
        samples: int | None,
        origins: Counter[tuple[Any, ...]] | None,
        locator: _Locator,
        shots: pa.Table | None = None,
    ) -> Statistics:
        """Return the statistics of so many samples, of which some can't be rendered."""
        sizes, characters, tokens = (
            lengths.summary(_PERCENTAGES, _BINS) for lengths in (self._bytes, self._characters, self._tokens)
        )
        unit, longest_by = ("bytes", sizes) if self._counter is None else ("tokens", tokens)
        repeated, groups, largest = self._duplicates.summary(_MAX_FIRST, _MAX_FIRST)
        columns: Counter[tuple[Any, ...]] = Counter()
        for (_, name, *_), size in (origins or {}).items():
            columns[name,] += size
        return Statistics(
            requests=sizes["requests"],
            samples=None if samples is None else samples - self.failed.rows,
            bytes=_summary(sizes),
            characters=_summary(characters),
            tokens=None if self._counter is None else _summary(tokens),
            by_origin=None if origins is None else _shares(origins, _ORIGINS),
            by_column=None if origins is None else _shares(columns, _COLUMNS),
            repeated=repeated,
            duplicate_groups=groups,
            duplicates=pa.Table.from_pylist([{"requests": n, "first": first} for n, first in largest], _DUPLICATES),
            longest=locator.table(longest_by["longest"], unit),
            shortest=locator.table(longest_by["shortest"], unit),
            unrendered=self.failed.rows,
            errors=self.failed.table(),
            shots=shots,
        )


class _Locator:
    """Finds the sample, label and turn of a request by its number, if they are known."""

    def __init__(self, labels: Sequence[Any] | None = None, *, is_known: bool = True) -> None:
        self._labels = labels or ()
        self._label_values: pa.Array | None = None
        self._is_known = is_known
        self._rows: list[tuple[pa.Array, list[int] | None, pa.Array | None]] = []

    def add(self, part: _core.RenderedRows | Part) -> None:
        """Keep the samples and turns of conversations, and the labels of the first sample."""
        if part.samples is not None:
            self._rows.append((part.samples, None, part.turns))
        self._add_labels(part)

    def _add_labels(self, part: _core.RenderedRows | Part) -> None:
        if self._label_values is None and part.labels is not None and len(part.labels):
            # The label column of rendered rows has the one type that holds all labels.
            self._label_values = part.labels.slice(0, len(self._labels))

    def table(self, lengths: Iterable[tuple[int, int]], unit: str) -> pa.Table:
        """Return a table of requests, each given by its length and its number."""
        rows = [(number, *self._location(number), length) for length, number in lengths]
        requests, samples, labels, turns, sizes = zip(*rows, strict=True) if rows else ((),) * 5
        label_column = pa.nulls(len(rows))
        if rows and self._label_values is not None:
            # The label None is null here, even if other labels are texts.
            pairs = zip(self._labels, self._label_values.to_pylist(), strict=True)
            values = [None if label is None else value for label, value in pairs]
            label_column = pa.array([values[number] for number in labels], self._label_values.type)
        numbers = {"request": requests, "sample": samples, "label": (), "turn": turns, unit: sizes}
        columns = {name: pa.array(column, pa.int64()) for name, column in numbers.items()}
        return pa.table({**columns, "label": label_column})

    def _location(self, number: int) -> tuple[int | None, int | None, int | None]:
        """Return the sample of a request, the number of its label, and its turn."""
        if not self._is_known:
            return None, None, None
        if self._labels and not self._rows:
            return number // len(self._labels), number % len(self._labels), None
        for samples, labels, turns in self._rows:
            if number < len(samples):
                label = None if labels is None else labels[number]
                return samples[number].as_py(), label, None if turns is None else turns[number].as_py()
            number -= len(samples)
        return number, None, None


def open_samples(
    engine: TableEngine, samples: Any, options: RenderOptions, *, warns: bool = False
) -> tuple[pa.RecordBatchReader, list[Any] | None]:
    """Return the samples as batches, and the labels: those of a column need the whole table."""
    engine.check_table()
    texts = engine.text_engine
    has_label_column = isinstance(texts, ConfiguredEngine) and texts.core.label_column is not None
    table = as_table(samples, engine.value_reading) if has_label_column else None
    reader = as_reader(samples, engine.value_reading) if table is None else table.to_reader()
    schema = engine.output_schema(reader.schema, options)  # raises for duplicate columns and similar mistakes
    if warns:
        engine.warn(schema, reader.schema, table, looks=True)
    return reader, engine.labels if table is None else engine.labels_of_table(table)


def _of_configuration(engine: ConfiguredEngine, samples: Any, counter: LoadedTokenizer | None) -> Statistics:
    """Return the statistics of requests of which the core adds up the origins."""
    core = engine.core
    reader, labels = open_samples(engine, samples, RenderOptions(), warns=True)
    collector = _Collector(counter, is_json=engine.configuration.writes_json)
    locator = _Locator(labels)
    origins: Counter[tuple[Any, ...]] = Counter()
    position = _core.StreamState()
    run = engine.begin(RenderOptions(errors="column"), labels)
    first = 0
    for batch in sliced(reader):
        failed = []
        for part in run.parts(pa.Table.from_batches([batch]), first):
            samples_of = sample_numbers(part, run.times)
            collector.add(part.prompts, samples_of, part.errors)
            locator.add(part)
            if part.errors is not None and part.errors.null_count < len(part.errors):
                failed.append(samples_of.filter(part.errors.is_valid()))
        for start, rows in rendered_rows(batch, failed, first, by_position=core.by_position):
            core_table, python_text = for_core(pa.Table.from_batches([rows]), start)
            if start > position.rows:
                core.skip(position, start - position.rows)
            for row in _core.origin_totals(core, core_table, labels, position, python_text).to_pylist():
                origins[row["source"], row["column"], row["example"] is not None, row["role"]] += row["bytes"]
        first += batch.num_rows
    return collector.statistics(first, origins, locator)


def rendered_rows(
    batch: pa.RecordBatch, failed: Sequence[pa.Array], first: int, *, by_position: bool
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the rows of a batch that can be rendered, after the number of their first row; `failed` are the others.

    If examples are chosen `by_position`, the batch is cut at the others; else the rows that are left stand together,
    and only the number of the batch's first row is true.
    """
    if not failed:
        yield first, batch
        return
    bad = pc.subtract(pc.unique(pa.concat_arrays(failed).cast(pa.int64())), first)
    if not by_position:
        rows = _core.repeated_rows(0, batch.num_rows, 1)
        rows = rows.filter(pc.invert(pc.is_in(rows, value_set=bad)))
        if len(rows):
            yield first, batch_rows(batch, rows)
        return
    start = 0
    for row in [*bad.to_pylist(), batch.num_rows]:
        if row > start:
            yield first + start, batch.slice(start, row - start)
        start = row + 1


def _of_engine(engine: TableEngine, samples: Any, counter: LoadedTokenizer | None) -> Statistics:
    """Return the statistics of requests of any engine, and origins if there is a budget."""
    fitted = engine if isinstance(engine, ConfiguredEngine) and engine.fit is not None else None
    has_origins = fitted is not None and fitted.chat is None
    options = RenderOptions(spans="detailed" if has_origins else False, errors="column")
    reader, labels = open_samples(engine, samples, options, warns=True)
    collector, locator = _Collector(counter, is_json=engine.writes_json), _Locator(labels)
    origins: Counter[tuple[Any, ...]] = Counter()
    shots: Counter[tuple[int, bool]] = Counter()
    run: Any = engine.begin(options, labels)
    first = 0
    for batch in sliced(reader):
        for part in run.parts(pa.Table.from_batches([batch]), first):
            collector.add(part.prompts, sample_numbers(part, run.times), part.errors)
            locator.add(part)
            if fitted is not None:
                columns = [column.drop_null().to_pylist() for column in part.more]
                shots.update(zip(*columns, strict=True))
            for span in part.spans.flatten().to_pylist() if has_origins else ():
                size = span["end"] - span["start"]
                origins[span["source"], span["column"], span["example"] is not None, span["role"]] += size
        first += batch.num_rows
    of_fit = None if fitted is None else _shots_table(shots)
    return collector.statistics(first, origins if has_origins else None, locator, of_fit)


def _shots_table(shots: Counter[tuple[int, bool]]) -> pa.Table:
    numbers = sorted({count for count, _ in shots}, reverse=True)
    rows = [(count, shots[count, False] + shots[count, True], shots[count, True]) for count in numbers]
    columns = zip(*rows, strict=True) if rows else ((),) * len(_SHOTS)
    return pa.table(list(map(pa.array, columns)), schema=_SHOTS)


def _of_rendered(reader: pa.RecordBatchReader, column: str | None, counter: LoadedTokenizer | None) -> Statistics:
    name = PROMPT_COLUMN if column is None else column
    try:
        index = column_of_prompts(reader.schema, name)
    except RenderError as error:
        number = {"missing_column": "no", "duplicate_column": "more than one"}.get(error.code)
        if number is None:
            raise
        has = ", ".join(map(repr, reader.schema.names))
        hint = "; column= says which holds the requests" if column is None else ""
        raise KeyError(f"the table has {number} column {name!r}; it has {has}{hint}") from None
    field = reader.schema.field(index)
    # Conversations in ShareGPT's form become the JSON of messages.
    is_conversation = engine_of(PromptColumn(name)).output_schema(reader.schema, RenderOptions()).types != [field.type]
    collector = _Collector(counter, is_json=is_json(field) or is_conversation)
    first = 0
    for batch in sliced(reader):
        requests, errors = column_requests(batch, name, first)
        collector.add(requests, _core.repeated_rows(first, batch.num_rows, 1), errors)
        first += batch.num_rows
    return collector.statistics(None, None, _Locator(is_known=False))


def sliced(reader: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches of at most 65,536 rows."""
    for batch in reader:
        for start in range(0, batch.num_rows, _BATCH_ROWS):
            yield batch.slice(start, _BATCH_ROWS)


def length_summary(lengths: _core.Lengths) -> LengthSummary:
    """Return the summary of lengths that were added up."""
    return _summary(lengths.summary(_PERCENTAGES, _BINS))


def _summary(summary: dict[str, Any]) -> LengthSummary:
    return LengthSummary(
        sum=summary["sum"],
        mean=summary["sum"] / summary["requests"] if summary["requests"] else None,
        min=summary["min"],
        max=summary["max"],
        percentiles=dict(zip(_PERCENTAGES, summary["percentiles"], strict=False)),
        histogram=pa.Table.from_pylist(
            [dict(zip(_HISTOGRAM.names, row, strict=True)) for row in summary["histogram"]], _HISTOGRAM
        ),
    )


def _shares(sizes: Counter[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    """Return sizes with their shares as a table, the largest first."""
    total = sizes.total()
    ordered = sorted(sizes.items(), key=lambda item: (-item[1], str(item[0])))
    rows = [dict(zip(schema.names, (*key, size, size / total), strict=True)) for key, size in ordered]
    return pa.Table.from_pylist(rows, schema)


def token_counts(counter: LoadedTokenizer, requests: pa.Array, is_json: bool) -> pa.Array:
    """Return the number of tokens in the texts of each request."""
    texts: list[str] = []
    ends: list[int | None] = []
    for request in requests.to_pylist():
        if request is not None:
            texts.extend(text_parts(request, is_json=is_json))
        ends.append(None if request is None else len(texts))
    totals: list[int | None] = []
    counts, start = Encoder.of(counter).counts(texts, special=False), 0
    for end in ends:
        totals.append(None if end is None else sum(count or 0 for count in counts[start:end]))
        start = start if end is None else end
    return pa.array(totals, pa.uint64())
