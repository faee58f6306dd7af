"""Data sets of token ids that somebody prepared for training: their columns, and their rows as prompts of cells."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any

import pyarrow as pa
from promptpress.engine import core as _core
from promptpress.engine.errors import render_error
from promptpress.engine.tables import is_json
from promptpress.engine.tables import lazy_compute as pc
from promptpress.engine.tokens import LoadedTokenizer, load_tokenizer
from pyarrow import types

from promptpress_workbench.prompts.prompt import Piece, Prompt
from promptpress_workbench.prompts.prompt_source import RequestBatch, RequestId, SampleRows
from promptpress_workbench.prompts.rendered_source import rendered_errors
from promptpress_workbench.prompts.token_cells import TokenTexts, cells_of_ids

IDS = "input_ids"
_END = "_ids"  # of the names of columns of ids, which may be JSON
LABELS = "labels"
MASKS = ("assistant_masks", "completion_mask", "loss_mask")
"""The columns that are true for what is trained."""

ATTENTION = "attention_mask"
_NOT_TRAINED = -100
_LABELS_TYPE = pa.list_(pa.int64())
_BATCH = 4096


def prepared_column(schema: pa.Schema, name: str | None = None) -> str | None:
    """Return the column of token ids of a prepared data set, `input_ids` unless it is named; None if there is none."""
    index = schema.get_field_index(name or IDS)
    if index < 0:
        return None
    field = schema.field(index)
    is_ids = field.name.endswith(_END) and is_json(field)
    return field.name if is_ids or _holds(field.type, types.is_integer) else None


def columns_of_ids(schema: pa.Schema) -> list[str]:
    """Return the columns that probably hold token ids, `input_ids` first."""
    names = sorted(schema.names, key=lambda name: name != IDS)
    return [name for name in names if name.endswith(_END) and prepared_column(schema, name) is not None]


def _holds(kind: pa.DataType, is_value: Any) -> bool:
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(is_list and is_value(kind.value_type))


def token_column(
    ids: pa.Array,
    trained: pa.Array | None,
    offsets: pa.Array | None = None,
    padded: pa.Array | None = None,
    labels: pa.Array | None = None,
) -> pa.Array:
    """Put lists of the tokens of requests into one column, by which requests are compared.

    `labels` has those of rows in which a label isn't the token's id, and is null for all others.
    """
    ids = ids.cast(pa.list_(pa.int64()), safe=False)  # a number beyond is an unknown id all the same
    nulls = pa.nulls(len(ids), pa.list_(pa.bool_()))
    columns = {IDS: ids, "trained": nulls if trained is None else trained}
    columns |= {
        name: column
        for name, column in (("offsets", offsets), ("padded", padded), (LABELS, labels))
        if column is not None
    }
    return pa.StructArray.from_arrays(list(columns.values()), list(columns), mask=ids.is_null())


class PreparedBatch:
    """The lists of some rows: ids, what is trained of them (None: nothing says it), and what is padding."""

    def __init__(self, batch: pa.RecordBatch, ids_column: str) -> None:
        def column(name: str) -> pa.Array | None:
            index = batch.schema.get_field_index(name)
            if index >= 0 and is_json(batch.schema.field(index)):
                texts: list[Any] = batch.column(index).to_pylist()
                return pa.array([_numbers(text, are_flags=name in MASKS) for text in texts], pa.list_(pa.int64()))
            kind = None if index < 0 else batch.schema.field(index).type
            takes = [types.is_integer, types.is_boolean, *([types.is_floating] if name in MASKS else [])]
            are_numbers = kind is not None and _holds(kind, lambda of: any(is_kind(of) for is_kind in takes))
            return _as_list(batch.column(index)) if are_numbers else None

        ids = column(ids_column)
        assert ids is not None  # as in `prepared_column`
        self.ids = ids
        given = {name: values for name in (LABELS, *MASKS, ATTENTION) if (values := column(name)) is not None}
        self.errors = self._errors(given, batch)
        self.labels = given.get(LABELS)
        flags = [pc.not_equal(self.labels.flatten(), _NOT_TRAINED)] if self.labels is not None else []
        flags += [given[name].flatten().cast(pa.bool_()) for name in MASKS if name in given]
        self.is_sound = self.errors.null_count == len(self.errors)
        self.trained = self._flags(reduce(pc.and_, flags)) if flags and self.is_sound else None
        self.padded: pa.Array | None = None
        if ATTENTION in given and self.is_sound:
            self.padded = self._flags(pc.invert(given[ATTENTION].flatten().cast(pa.bool_())))

    def _errors(self, given: dict[str, pa.Array], batch: pa.RecordBatch) -> pa.Array:
        """Return the error of each row that has no ids, or not a value for each of them."""
        errors = rendered_errors(self.ids, batch)
        counts = pc.list_value_length(self.ids)
        for name, values in given.items():
            equal = pc.fill_null(pc.equal(pc.list_value_length(values), counts), False)
            message = f"{name}: it doesn't have a value for each token"
            errors = pc.if_else(pc.or_(equal, errors.is_valid()), errors, message)
        return errors.cast(pa.string())

    def strip(self) -> None:
        """Take the padding out of all lists."""
        if self.padded is None:
            return
        kept = pc.invert(self.padded.values)
        counts = true_counts(self.padded, kept)
        offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(counts)])

        def stripped(lists: pa.Array | None) -> Any:
            return None if lists is None else pa.ListArray.from_arrays(offsets, lists.flatten().filter(kept))

        self.ids, self.labels = stripped(self.ids), stripped(self.labels)
        self.trained, self.padded = stripped(self.trained), None

    def _flags(self, values: pa.Array) -> pa.Array:
        return pa.ListArray.from_arrays(_bounds(self.ids), pc.fill_null(values, False))

    @property
    def other_labels(self) -> pa.Array | None:
        """The labels of the rows in which one is that of another token, null for all others; None if there are none."""
        if self.labels is None or not self.is_sound:
            return None
        labels, ids = self.labels.flatten(), self.ids.flatten()
        is_other = pc.and_(pc.not_equal(labels, _NOT_TRAINED), pc.not_equal(labels, ids))
        has_other = pc.greater(true_counts(self.labels, pc.fill_null(is_other, False)), 0)
        return pc.if_else(has_other, self.labels, pa.scalar(None, self.labels.type)).cast(_LABELS_TYPE)

    def counts(self) -> tuple[pa.Array, pa.Array | None]:
        """Return the tokens of each row without padding, and how many of them are trained."""
        tokens = pc.list_value_length(self.ids).cast(pa.int64())
        if self.padded is not None:
            tokens = pc.subtract(tokens, true_counts(self.padded, self.padded.values))
        return tokens, None if self.trained is None else true_counts(self.trained, self.trained.values)


def _bounds(lists: pa.Array) -> pa.Array:
    """Return where each list begins and ends among the values of all, `flatten()`."""
    counts = pc.fill_null(pc.list_value_length(lists), 0).cast(pa.int32())
    return pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(counts)])


def true_counts(lists: pa.Array, flags: pa.Array) -> pa.Array:
    """Return how many of each list's values have a true flag."""
    sums = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(flags.cast(pa.int32()))])
    sums = sums.take(_bounds(lists))
    return pc.subtract(sums[1:], sums[:-1])


def _numbers(text: str | None, *, are_flags: bool) -> list[int] | None:
    """Return the numbers of a list as JSON, or its flags, which may be fractions; None for another value."""
    try:
        values = json.loads(text or "null")
    except (ValueError, RecursionError):  # the file's values are as they stand there
        return None
    kinds = (int, float) if are_flags else int
    if not isinstance(values, list) or not all(isinstance(value, kinds) for value in values):
        return None
    return [int(value != 0) if are_flags else int(value) for value in values]


def _as_list(column: pa.Array) -> pa.Array:
    """Return lists that begin at their array's first value, whatever kind of lists they are."""
    kind = pa.list_(column.type.value_type)
    return column.cast(kind) if column.type != kind else column


def prepared_batches(batch: pa.RecordBatch, ids_column: str) -> Iterator[tuple[int, PreparedBatch]]:
    """Yield the lists of a batch after the number of their first row; a row that isn't sound stands alone."""
    parts = [(0, batch)]
    while parts:
        start, rows = parts.pop()
        prepared, half = PreparedBatch(rows, ids_column), rows.num_rows // 2
        if prepared.is_sound or not half:
            yield start, prepared
        else:
            parts += [(start + half, rows.slice(half)), (start, rows.slice(0, half))]


def prompt_of_tokens(texts: TokenTexts, value: Mapping[str, Any], request: RequestId) -> Prompt:
    """Make a prompt of tokens as `token_column` has them, maybe with their `labels`."""
    ids = value[IDS]
    cells = cells_of_ids(texts, ids, value["trained"] or [None] * len(ids))
    if padded := value.get("padded"):
        cells = [replace(cell, is_padding=flag) for cell, flag in zip(cells, padded, strict=True)]
    if labels := value.get(LABELS):
        pairs = zip(cells, labels, strict=True)
        cells = [cell if label in (cell.id, _NOT_TRAINED) else replace(cell, label=label) for cell, label in pairs]
    text = b"".join(cell.data for cell in cells).decode("utf-8", "replace")
    sample, label, turn = request
    return Prompt(sample, text, (Piece(text),), label=label, turn=turn, cells=(tuple(cells),))


class PreparedSource:
    """The rows of a prepared data set as prompts: their ids decoded one by one, with what is trained of them."""

    has_origins = False
    labels = None

    def __init__(self, rows: SampleRows, tokenizer: Any, ids_column: str = IDS) -> None:
        self.rows = rows
        self.ids_column = ids_column
        loaded: LoadedTokenizer = load_tokenizer(tokenizer)
        self.texts = TokenTexts(loaded.tokenizer)

    @property
    def has_mask(self) -> bool:
        """True if a column says what is trained."""
        return any(name in self.rows.schema.names for name in (LABELS, *MASKS))

    @property
    def num_samples(self) -> int:
        return self.rows.num_rows

    def prompts(self, row: int, label: Any = None, turn: int | None = None) -> list[Prompt]:
        if label is not None:
            raise render_error("unknown_label", "there are no labels: the rows are token ids")
        if turn is not None:
            raise render_error("turn_out_of_range", "turn: there are no turns: the rows are token ids", row=row)
        (batch,) = self.rows.row(row).to_batches()
        prepared = PreparedBatch(batch, self.ids_column)
        error = prepared.errors[0].as_py()
        if error is not None:
            return [Prompt(row, None, error=error)]
        (value,) = self._tokens(prepared).to_pylist()
        return [self.request(value, row)]

    @staticmethod
    def _tokens(prepared: PreparedBatch) -> pa.Array:
        return token_column(prepared.ids, prepared.trained, None, prepared.padded, prepared.other_labels)

    def request(self, value: Any, sample: int, label: Any = None, turn: int | None = None) -> Prompt:
        """Make a prompt of a text, or of tokens as `token_column` has them."""
        if not isinstance(value, dict):
            return Prompt(sample, value, (Piece(value),) if value else ())
        return prompt_of_tokens(self.texts, value, RequestId(sample, label, turn))

    def requests(self) -> Iterator[RequestBatch]:
        """Yield the texts of all rows, as the library decodes them."""
        for first, batch in self._batches():
            yield from self.texts_of(batch, first)

    def texts_of(self, batch: pa.RecordBatch, first: int) -> Iterator[RequestBatch]:
        """Yield the texts of a batch of rows, of which the first has a number."""
        for start in range(0, batch.num_rows, _BATCH):
            for offset, prepared in prepared_batches(batch.slice(start, _BATCH), self.ids_column):
                part = self._request(first + start + offset, prepared)
                ids = [
                    [number for number in of_row or () if self.texts.name(number) is not None]
                    for of_row in pc.struct_field(part.prompts, IDS).to_pylist()
                ]
                texts = self.texts.tokenizer.decode_batch(ids, skip_special_tokens=False)
                null = pa.scalar(None, pa.string())
                yield replace(part, prompts=pc.if_else(part.prompts.is_null(), null, pa.array(texts, pa.string())))

    def token_requests(self) -> Iterator[RequestBatch]:
        """Yield the tokens of all rows as `token_column` has them, without padding."""
        for first, prepared in self.prepared():
            prepared.strip()
            yield self._request(first, prepared)

    def prepared(self) -> Iterator[tuple[int, PreparedBatch]]:
        """Yield the lists of all rows, each batch after the number of its first row."""
        for first, batch in self._batches():
            for start, lists in prepared_batches(batch, self.ids_column):
                yield first + start, lists

    def _batches(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the batches of all rows, each after the number of its first row."""
        first = 0
        for batch in self.rows.batches():
            yield first, batch
            first += batch.num_rows

    def _request(self, first: int, prepared: PreparedBatch) -> RequestBatch:
        """Return the tokens of rows, of which the first has a number."""
        errors, tokens = None if prepared.is_sound else prepared.errors, self._tokens(prepared)
        if errors is not None:
            tokens = pc.if_else(errors.is_null(), tokens, pa.scalar(None, tokens.type))
        samples = _core.repeated_rows(first, len(prepared.ids), 1)
        return RequestBatch(samples, tokens, numbering="own", errors=errors)
