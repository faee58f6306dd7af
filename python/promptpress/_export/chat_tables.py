"""Rendered tables as tables that other tools take: Hugging Face datasets, and rows for Ray Data's LLM stages."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from pyarrow import types

from promptpress._errors import render_error, template_error
from promptpress._export.chat_messages import Form, Prompts
from promptpress._export.written import Path
from promptpress._model_classes import did_you_mean
from promptpress._tables import as_reader
from promptpress.typing import StreamLike

__all__ = ["chat_batches", "datasets", "ray_batches", "ray_rows"]

MESSAGES = "messages"


def chat_batches(
    table: StreamLike, *, answer: str | None = None, prompt: str = "prompt", form: Form | None = None
) -> pa.RecordBatchReader:
    """Put `messages` in the place of the prompts, in types that every tool knows.

    Args:
        table: What is rendered.
        answer: A column whose text is the assistant's last message.
        prompt: The column of prompts.
        form: What it holds.

    Returns:
        The other columns, and the messages last.

    Raises:
        TemplateError: when an argument makes no sense.
        RenderError: when a column is missing; and, when a batch is read, as `Prompts`.

    """
    reader = as_reader(table)
    prompts = Prompts(reader.schema, prompt, form)
    at = reader.schema.get_field_index(prompt)
    if answer is not None and answer not in reader.schema.names:
        message = f"the table has no such column{did_you_mean(answer, reader.schema.names)}"
        raise render_error("missing_column", message, column=answer)
    if MESSAGES in reader.schema.names and prompt != MESSAGES:
        message = f"the table has a column {MESSAGES!r}, which the conversations are to be; drop or rename it"
        raise render_error("duplicate_output_column", message, column=MESSAGES)

    def converted(batch: pa.RecordBatch, first_row: int) -> pa.RecordBatch:
        messages = prompts.as_messages(batch.column(at), first_row)
        if answer is not None:
            messages = _with_answers(messages, batch.column(batch.schema.get_field_index(answer)), answer, first_row)
        others = [number for number in range(batch.num_columns) if number != at]
        names = [batch.schema.names[number] for number in others]
        columns = [_plain(array) for array in (*(batch.column(number) for number in others), messages)]
        return pa.RecordBatch.from_arrays(columns, [*names, MESSAGES])

    schema = converted(_no_rows(reader.schema), 0).schema

    def batches() -> Iterator[pa.RecordBatch]:
        first_row = 0
        for batch in reader:
            yield converted(batch, first_row).cast(schema)
            first_row += batch.num_rows

    return pa.RecordBatchReader.from_batches(schema, batches())


def _with_answers(messages: pa.Array, answers: pa.Array, name: str, first_row: int) -> pa.Array:
    """Add the assistant's message to each conversation."""
    kind = messages.type.value_type
    if [field.name for field in kind] != ["role", "content"] or types.is_nested(kind.field("content").type):
        message = "an answer is added to messages that have a role and a text alone; export messages_json"
        raise render_error("wrong_column_type", message, column=name)
    if answers.null_count:
        row = first_row + answers.is_null().to_pylist().index(True)
        raise render_error("null_value", "it has no answer", row, name)
    texts = answers.cast(kind.field("content").type)
    roles = pa.array(["assistant"] * len(texts), kind.field("role").type)
    last = pa.StructArray.from_arrays([roles, texts], fields=list(kind))
    items = messages.flatten()
    ends = messages.offsets.to_pylist()
    first, count = ends[0], len(items)
    # Each conversation's own items, and behind them its answer.
    order = [
        place
        for row, (start, end) in enumerate(itertools.pairwise(ends))
        for place in (*range(start - first, end - first), count + row)
    ]
    joined = pa.concat_arrays([items, last]).take(pa.array(order, pa.int64()))
    offsets = pa.array([end - first + row for row, end in enumerate(ends)], messages.offsets.type)
    make = pa.LargeListArray if types.is_large_list(messages.type) else pa.ListArray
    return make.from_arrays(offsets, joined)


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def _plain(array: pa.Array) -> pa.Array:
    kind = _plain_type(array.type)
    return array if kind == array.type else array.cast(kind)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """A type that older readers of Arrow know too: no views, no keys."""
    if types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if types.is_string_view(kind):
        return pa.large_string()
    if types.is_binary_view(kind):
        return pa.large_binary()
    if types.is_list(kind) or types.is_large_list(kind):
        make = pa.large_list if types.is_large_list(kind) else pa.list_
        return make(_plain_type(kind.value_type))
    if types.is_struct(kind):
        return pa.struct([pa.field(field.name, _plain_type(field.type)) for field in kind])
    return kind


def datasets(
    table: StreamLike,
    path: Path | None = None,
    *,
    answer: str | None = None,
    prompt: str = "prompt",
    form: Form | None = None,
) -> Any:
    """Make a Hugging Face dataset of a rendered table: its columns, and `messages` in the place of the prompts.

    Args:
        table: As `openai_batch` has it.
        path: A folder that the dataset is saved to, for `datasets.load_from_disk`; it must not be there, or be empty.
            A reader's batches go through a temporary file then, and not all of them are in memory.
        answer: A column whose text is the last message, the assistant's.
        prompt: The column of prompts.
        form: What it holds, as `openai_batch` has it.

    Returns:
        The `datasets.Dataset`; that of the folder where there is one.

    Raises:
        TemplateError: As `openai_batch`.
        RenderError: As `openai_batch`; and if an answer is null.
        ImportError: If `datasets` isn't installed.
        OSError: If the folder can't be written.

    >>> import pyarrow as pa
    >>> from promptpress import export
    >>> export.datasets(pa.table({"prompt": ["1+1=?"]}))[0]  # doctest: +SKIP
    {'messages': [{'role': 'user', 'content': '1+1=?'}]}

    """
    import tempfile  # noqa: PLC0415 - for this one export

    hugging_face = _hugging_face()
    reader = chat_batches(table, answer=answer, prompt=prompt, form=form)
    if path is None:
        return hugging_face.Dataset(_without_metadata(reader.read_all()))
    folder = os.fspath(path)
    if os.path.exists(folder) and not (os.path.isdir(folder) and not os.listdir(folder)):
        raise FileExistsError(f"{folder}: is there; take another name, or delete it")
    parent = os.path.dirname(os.path.abspath(folder))
    if not os.path.isdir(parent):
        raise FileNotFoundError(f"{folder}: there is no folder {parent!r} for it to be in")
    with tempfile.TemporaryDirectory(dir=parent, prefix=".promptpress-") as beside:
        stream, whole = os.path.join(beside, "rows.arrow"), os.path.join(beside, "whole")
        with pa.OSFile(stream, "wb") as file, pa.ipc.new_stream(file, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
        with _without_bars(hugging_face):
            hugging_face.Dataset.from_file(stream).save_to_disk(whole)
        if os.path.isdir(folder):
            os.rmdir(folder)
        os.rename(whole, folder)
    return hugging_face.load_from_disk(folder)


def _hugging_face() -> Any:
    try:
        import datasets as hugging_face  # noqa: PLC0415 - slow, and seldom needed
    except ImportError as error:
        message = "this export makes a Hugging Face dataset: pip install datasets"
        raise ImportError(message) from error
    return hugging_face


@contextmanager
def _without_bars(hugging_face: Any) -> Iterator[None]:
    """Save without a progress bar: the command has its own, and a library that prints has to be asked to."""
    shown = hugging_face.is_progress_bar_enabled()
    hugging_face.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            hugging_face.enable_progress_bars()


def _without_metadata(table: pa.Table) -> pa.Table:
    return table.replace_schema_metadata(None)


def ray_batches(
    table: StreamLike,
    *,
    sampling_params: Mapping[str, Any] | None = None,
    sampling_columns: Mapping[str, str] | None = None,
    prompt: str = "prompt",
    form: Form | None = None,
) -> pa.RecordBatchReader:
    """Make rows for Ray Data's LLM stages, batch by batch; `ray_rows` says how."""
    reader = as_reader(table)
    given, columns = dict(sampling_params or {}), dict(sampling_columns or {})
    for name, column in columns.items():
        if name in given:
            raise template_error("unknown_key", "sampling_columns", f"{name!r} is in sampling_params too; give it once")
        if column not in reader.schema.names:
            remedy = did_you_mean(column, reader.schema.names) or "; keep= keeps it when the table is rendered"
            raise render_error("missing_column", f"the table has no such column{remedy}", column=column)
    try:
        constants = [pa.scalar(value) for value in given.values()]
    except pa.ArrowException as error:
        raise template_error("wrong_type", "sampling_params", f"a value has no Arrow type: {error}") from error
    chats = chat_batches(reader, prompt=prompt, form=form)
    if not given and not columns:
        return chats

    def with_params(batch: pa.RecordBatch) -> pa.RecordBatch:
        own = [pa.repeat(value, batch.num_rows) for value in constants]
        own += [batch.column(batch.schema.get_field_index(column)) for column in columns.values()]
        params = pa.StructArray.from_arrays(own, [*given, *columns])
        return batch.append_column("sampling_params", params)

    schema = with_params(_no_rows(chats.schema)).schema
    return pa.RecordBatchReader.from_batches(schema, map(with_params, chats))


def ray_rows(
    table: StreamLike,
    *,
    sampling_params: Mapping[str, Any] | None = None,
    sampling_columns: Mapping[str, str] | None = None,
    prompt: str = "prompt",
    form: Form | None = None,
) -> pa.Table:
    """Make rows for `ray.data.llm` of a rendered table: its columns, `messages` and `sampling_params`.

    `ray.data.from_arrow(table)` is a dataset that a processor of `ray.data.llm.build_processor` takes without a
    `preprocess`.

    Args:
        table: As `openai_batch` has it.
        sampling_params: Parameters of all rows, such as `{"temperature": 0.0, "max_tokens": 512}`.
        sampling_columns: Parameters that each row has, and their columns.
        prompt: The column of prompts.
        form: What it holds, as `openai_batch` has it.

    Returns:
        The rows.

    Raises:
        TemplateError: As `openai_batch`.
        RenderError: As `openai_batch`.

    >>> import pyarrow as pa
    >>> from promptpress import export
    >>> export.ray_rows(pa.table({"prompt": ["1+1=?"]}), sampling_params={"max_tokens": 5}).to_pylist()
    [{'messages': [{'role': 'user', 'content': '1+1=?'}], 'sampling_params': {'max_tokens': 5}}]

    """
    batches = ray_batches(
        table, sampling_params=sampling_params, sampling_columns=sampling_columns, prompt=prompt, form=form
    )
    return batches.read_all()
