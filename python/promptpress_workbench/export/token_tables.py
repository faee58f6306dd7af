"""Tables of token ids under the names that inference engines and trainers give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

import pyarrow as pa
from promptpress.engine import as_reader
from promptpress.engine.errors import render_error, template_error
from promptpress.engine.tables import lazy_compute as pc
from promptpress.typing import StreamLike, Unknown
from pyarrow import types

from promptpress_workbench.export.chat_messages import lists_of, refuse_nulls
from promptpress_workbench.export.forms import MaskColumn
from promptpress_workbench.export.streams import (
    converted_reader,
    no_rows,
    read_whole,
    refuse_misspelt_columns,
    with_sampling_params,
)

_IDS = "input_ids"
_MASK = "assistant_masks"
_LABELS = "labels"
_NOT_HANDED_ON = ("n_tokens", "offsets", "n_shots", "truncated")
"""Columns that `tokenize` adds and no consumer reads."""

_NOT_TRAINED = -100
_MORE = "tokenize() with mask= and labels=True says what is trained"


@read_whole
def vllm_tokens(table: StreamLike, *, unknown: Unknown = "refuse") -> pa.Table:
    """Make prompts for vLLM of a table of token ids: kept columns, and `prompt_token_ids`.

    `LLM(...).generate(rows.to_pylist(), ...)` takes each row as a prompt.

    Args:
        table: What `tokenize` gives, or `stream` with `tokenize=`.
        unknown: As for `openai_batch`.

    Returns:
        The rows.

    Raises:
        TemplateError: As for `openai_batch`.
        RenderError: If the table has no token ids, or a row has none.

    >>> import pyarrow as pa
    >>> from promptpress import export
    >>> export.vllm_tokens(pa.table({"input_ids": [[5, 6]], "n_tokens": [2]})).to_pylist()
    [{'prompt_token_ids': [5, 6]}]
    """
    return _token_batches(table, lambda ids, _: {"prompt_token_ids": ids}, unknown)


@read_whole
def sglang_tokens(
    table: StreamLike,
    *,
    sampling_params: Mapping[str, Any] | None = None,
    sampling_columns: Mapping[str, str] | None = None,
    unknown: Unknown = "refuse",
) -> pa.Table:
    """Make requests for SGLang of a table of token ids: kept columns, `input_ids` and `sampling_params`.

    Each row is the body of a request to `/generate`. `Engine.generate(input_ids=..., sampling_params=...)` takes both
    columns as lists.

    Args:
        table: As for `vllm_tokens`.
        sampling_params: Parameters of all rows, such as `{"temperature": 0.0, "max_new_tokens": 512}`.
        sampling_columns: Parameters with a value for each row, and their columns.
        unknown: As for `openai_batch`.

    Returns:
        The rows.

    Raises:
        TemplateError: As for `openai_batch`.
        RenderError: As for `vllm_tokens`.

    >>> import pyarrow as pa
    >>> from promptpress import export
    >>> tokens = pa.table({"input_ids": [[5, 6]], "n_tokens": [2]})
    >>> export.sglang_tokens(tokens, sampling_params={"max_new_tokens": 9}).to_pylist()
    [{'input_ids': [5, 6], 'sampling_params': {'max_new_tokens': 9}}]
    """
    rows = _token_batches(table, lambda ids, _: {_IDS: ids}, unknown)
    return with_sampling_params(rows, sampling_params, sampling_columns)


@read_whole
def ray_tokens(
    table: StreamLike,
    *,
    sampling_params: Mapping[str, Any] | None = None,
    sampling_columns: Mapping[str, str] | None = None,
    unknown: Unknown = "refuse",
) -> pa.Table:
    """Make rows for `ray.data.llm` of a table of token ids: kept columns, `tokenized_prompt` and `sampling_params`.

    A processor takes `ray.data.from_arrow(rows)` with `chat_template_stage=False` and `tokenize_stage=False`. The
    column `prompt` is null: the stage of SGLang asks for the column, and nothing reads it.

    Args:
        table: As for `vllm_tokens`.
        sampling_params: Parameters of all rows, such as `{"temperature": 0.0, "max_tokens": 512}`.
        sampling_columns: Parameters with a value for each row, and their columns.
        unknown: As for `openai_batch`.

    Returns:
        The rows.

    Raises:
        TemplateError: As for `openai_batch`.
        RenderError: As for `vllm_tokens`.

    >>> import pyarrow as pa
    >>> from promptpress import export
    >>> tokens = pa.table({"input_ids": [[5, 6]], "n_tokens": [2]})
    >>> export.ray_tokens(tokens, sampling_params={"max_tokens": 9}).to_pylist()
    [{'prompt': None, 'tokenized_prompt': [5, 6], 'sampling_params': {'max_tokens': 9}}]
    """
    rows = _token_batches(
        table, lambda ids, _: {"prompt": pa.nulls(len(ids), pa.string()), "tokenized_prompt": ids}, unknown
    )
    return with_sampling_params(rows, sampling_params, sampling_columns)


@read_whole
def trl_tokens(
    table: StreamLike, *, mask_column: MaskColumn = "assistant_masks", unknown: Unknown = "refuse"
) -> pa.Table:
    """Make training data for TRL of a table of token ids: kept columns, `input_ids`, `labels` and `assistant_masks`.

    `SFTTrainer` takes a dataset with `input_ids` as one that is prepared already: it applies no template.

    Args:
        table: As for `vllm_tokens`, with `mask=`.
        mask_column: What the mask is called: `"completion_mask"` in data of prompts and completions.
        unknown: As for `openai_batch`.

    Returns:
        The rows.

    Raises:
        TemplateError: As for `openai_batch`.
        RenderError: If the table has no token ids or doesn't say what is trained, or a row has none.

    >>> import pyarrow as pa
    >>> from promptpress import export
    >>> export.trl_tokens(pa.table({"input_ids": [[5, 6]], "assistant_masks": [[False, True]]})).to_pylist()
    [{'input_ids': [5, 6], 'labels': [-100, 6], 'assistant_masks': [0, 1]}]
    """
    if mask_column not in get_args(MaskColumn):
        message = f"{mask_column!r} is not one of {', '.join(map(repr, get_args(MaskColumn)))}"
        raise template_error("unknown_name", "mask_column", message)

    def columns(ids: pa.Array, labels: pa.Array) -> Mapping[str, pa.Array]:
        trained = pc.not_equal(labels.flatten(), _NOT_TRAINED).cast(pa.int8())
        return {_IDS: ids, _LABELS: labels, mask_column: lists_of(ids, trained)}

    return _token_batches(table, columns, unknown, is_trained=True)


@read_whole
def axolotl_tokens(table: StreamLike, *, unknown: Unknown = "refuse") -> pa.Table:
    """Make training data for Axolotl of a table of token ids: kept columns, `input_ids`, `attention_mask`, `labels`.

    Axolotl recognises a dataset with these three as one that is tokenized already, whatever `type:` its entry of
    `datasets:` has. `attention_mask` is 1 for all tokens.

    Args:
        table: As for `vllm_tokens`, with `mask=`.
        unknown: As for `openai_batch`.

    Returns:
        The rows.

    Raises:
        TemplateError: As for `openai_batch`.
        RenderError: As for `trl_tokens`.

    >>> import pyarrow as pa
    >>> from promptpress import export
    >>> export.axolotl_tokens(pa.table({"input_ids": [[5, 6]], "labels": [[-100, 6]]})).to_pylist()
    [{'input_ids': [5, 6], 'attention_mask': [1, 1], 'labels': [-100, 6]}]
    """

    def columns(ids: pa.Array, labels: pa.Array) -> Mapping[str, pa.Array]:
        attended = pa.repeat(pa.scalar(1, pa.int8()), len(ids.flatten()))
        return {_IDS: ids, "attention_mask": lists_of(ids, attended), _LABELS: labels}

    return _token_batches(table, columns, unknown, is_trained=True)


def _token_batches(
    table: StreamLike,
    columns_of: Callable[[pa.Array, Any], Mapping[str, pa.Array]],
    unknown: Unknown,
    *,
    is_trained: bool = False,
) -> pa.RecordBatchReader:
    """Put the columns of a consumer in the place of those of `tokenize`, after the kept columns."""
    reader = as_reader(table)
    refuse_misspelt_columns(reader.schema, unknown)
    if _IDS not in reader.schema.names:
        message = "the table has no such column: tokenize() gives the token ids that this export hands on"
        raise render_error("missing_column", message, column=_IDS)
    _check_lists(reader.schema, _IDS)
    replaced = [
        name for name in (_IDS, _LABELS, _MASK) if name in reader.schema.names and _has_lists(reader.schema, name)
    ]
    kept = [name for name in reader.schema.names if name not in (*replaced, *_NOT_HANDED_ON)]

    def made(batch: pa.RecordBatch, first_row: int) -> Mapping[str, pa.Array]:
        ids = _ids(batch, first_row, may_be_empty=is_trained)
        return columns_of(ids, _labels(batch, ids, first_row) if is_trained else None)

    for name in made(no_rows(reader.schema), 0):
        if name in kept:
            message = f"the export has a column {name!r} of its own; drop or rename the table's"
            raise render_error("duplicate_output_column", message, column=name)

    def converted(batch: pa.RecordBatch, first_row: int) -> pa.RecordBatch:
        columns = {name: batch.column(batch.schema.get_field_index(name)) for name in kept}
        return pa.RecordBatch.from_pydict({**columns, **made(batch, first_row)})

    return converted_reader(reader, converted)


def _has_lists(schema: pa.Schema, name: str) -> bool:
    kind = schema.field(name).type
    is_list = types.is_list(kind) or types.is_large_list(kind)
    return bool(is_list and (types.is_integer(kind.value_type) or types.is_boolean(kind.value_type)))


def _check_lists(schema: pa.Schema, name: str) -> None:
    if not _has_lists(schema, name):
        message = f"lists of numbers are expected, as tokenize() gives them, and it is {schema.field(name).type}"
        raise render_error("wrong_column_type", message, column=name)


def _ids(batch: pa.RecordBatch, first_row: int, *, may_be_empty: bool) -> pa.Array:
    """Return the ids of a batch; refuse rows with an error, and maybe those without tokens."""
    ids = batch.column(batch.schema.get_field_index(_IDS))
    refuse_nulls(ids, first_row, _IDS, 'the row has an error and no token ids; errors="skip" leaves such rows out')
    empty = [] if may_be_empty else pc.indices_nonzero(pc.equal(pc.list_value_length(ids), 0)).to_pylist()
    if empty:
        message = "the prompt has no token, which engines refuse; leave the row out"
        raise render_error("null_value", message, first_row + empty[0], _IDS)
    return ids


def _labels(batch: pa.RecordBatch, ids: pa.Array, first_row: int) -> pa.Array:
    """Return the labels of a batch, made from its mask if it has none."""
    name = _LABELS if _LABELS in batch.schema.names else _MASK
    if name not in batch.schema.names:
        raise render_error("missing_column", f"the table has no such column: {_MORE}", column=_LABELS)
    _check_lists(batch.schema, name)
    values = batch.column(batch.schema.get_field_index(name))
    are_equal = pc.fill_null(pc.equal(pc.list_value_length(values), pc.list_value_length(ids)), False)
    for row in pc.indices_nonzero(pc.invert(are_equal)).to_pylist():
        raise render_error("wrong_column_type", f"it doesn't have a value for each of {_IDS}", first_row + row, name)
    if name == _LABELS:
        return values
    tokens = ids.flatten()
    return lists_of(ids, pc.if_else(values.flatten().cast(pa.bool_()), tokens, pa.scalar(_NOT_TRAINED, tokens.type)))
