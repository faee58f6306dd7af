"""Tables with a column of messages: `datasets` for Hugging Face, `ray_rows` for the LLM stages of Ray Data."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from promptpress.engine import as_reader, warn_of_no_rows
from promptpress.engine.errors import render_error
from promptpress.typing import StreamLike, Unknown
from pyarrow import types

from promptpress_workbench.export.chat_messages import Form, Prompts, answer_texts, check_answer
from promptpress_workbench.export.streams import (
    Path,
    converted_reader,
    read_whole,
    refuse_misspelt_columns,
    whole_table,
    with_sampling_params,
)

_MESSAGES = "messages"


def chat_batches(
    table: StreamLike,
    *,
    answer: str | None = None,
    prompt: str = "prompt",
    form: Form | None = None,
    unknown: Unknown = "refuse",
) -> pa.RecordBatchReader:
    """Put `messages` in place of the prompts, as the last column, in types that every tool reads."""
    reader = as_reader(table)
    refuse_misspelt_columns(reader.schema, unknown)
    prompts = Prompts(reader.schema, prompt, form)
    prompt_index = reader.schema.get_field_index(prompt)
    if answer is not None:
        check_answer(reader.schema, answer)
    if _MESSAGES in reader.schema.names and prompt != _MESSAGES:
        message = f"the table has a column {_MESSAGES!r}, which the conversations are to be; drop or rename it"
        raise render_error("duplicate_output_column", message, column=_MESSAGES)

    def converted(batch: pa.RecordBatch, first_row: int) -> pa.RecordBatch:
        messages = prompts.as_messages(batch.column(prompt_index), first_row)
        if answer is not None:
            messages = _with_answers(messages, batch, answer, first_row)
        out = batch.remove_column(prompt_index)
        columns = [array.cast(_plain_type(array.type)) for array in (*out.columns, messages)]
        return pa.RecordBatch.from_arrays(columns, [*out.schema.names, _MESSAGES])

    return converted_reader(reader, converted)


def _with_answers(messages: pa.Array, batch: pa.RecordBatch, name: str, first_row: int) -> pa.Array:
    kind = messages.type.value_type
    if [field.name for field in kind] != ["role", "content"] or types.is_nested(kind.field("content").type):
        message = "an answer is added to messages that have a role and a text alone; export messages_json"
        raise render_error("wrong_column_type", message, column=name)
    texts = answer_texts(batch, name, first_row).cast(kind.field("content").type)
    roles = pa.array(["assistant"] * len(texts), kind.field("role").type)
    last = pa.StructArray.from_arrays([roles, texts], fields=list(kind))
    items = messages.flatten()
    ends = messages.offsets.to_pylist()
    first, count = ends[0], len(items)
    # The items of each conversation, and then its answer.
    order = [
        index
        for row, (start, end) in enumerate(itertools.pairwise(ends))
        for index in (*range(start - first, end - first), count + row)
    ]
    joined = pa.concat_arrays([items, last]).take(pa.array(order, pa.int64()))
    offsets = pa.array([end - first + row for row, end in enumerate(ends)], messages.offsets.type)
    make = pa.LargeListArray if types.is_large_list(messages.type) else pa.ListArray
    return make.from_arrays(offsets, joined)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the like type that older readers of Arrow know too: no views, no dictionaries."""
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
    unknown: Unknown = "refuse",
) -> Any:
    """Make a Hugging Face dataset of a rendered table: its columns, and `messages` in place of the prompts.

    Args:
        table: The rendered table or stream, as for `openai_batch`.
        path: A folder that the dataset is saved to, for `datasets.load_from_disk`; it must be empty if it exists. A
            reader's batches go through a temporary file then, so they aren't all in memory.
        answer: A column whose text is the last message, the assistant's.
        prompt: The column of prompts.
        form: The form of the prompts, as for `openai_batch`.
        unknown: As for `openai_batch`.

    Returns:
        The `datasets.Dataset`; that of the folder if there is one.

    Raises:
        TemplateError: As for `openai_batch`.
        RenderError: As for `openai_batch`; and if an answer is null.
        ImportError: If `datasets` isn't installed.
        OSError: If the folder can't be written.

    >>> import pyarrow as pa
    >>> from promptpress import export
    >>> export.datasets(pa.table({"prompt": ["1+1=?"]}))[0]  # doctest: +SKIP
    {'messages': [{'role': 'user', 'content': '1+1=?'}]}
    """
    import tempfile  # noqa: PLC0415 - for this one export

    try:
        import datasets as hugging_face  # noqa: PLC0415 - slow, and seldom needed
    except ImportError as error:
        raise ImportError("this export makes a Hugging Face dataset: pip install datasets") from error
    reader = chat_batches(table, answer=answer, prompt=prompt, form=form, unknown=unknown)
    if path is None:
        return hugging_face.Dataset(whole_table(reader).replace_schema_metadata(None))
    folder = os.fspath(path)
    if os.path.exists(folder) and not (os.path.isdir(folder) and not os.listdir(folder)):
        raise FileExistsError(f"{folder}: is there; take another name, or delete it")
    parent = os.path.dirname(os.path.abspath(folder))
    if not os.path.isdir(parent):
        raise FileNotFoundError(f"{folder}: there is no folder {parent!r} for it to be in")
    with tempfile.TemporaryDirectory(dir=parent, prefix=".promptpress-") as temporary:
        stream, whole = os.path.join(temporary, "rows.arrow"), os.path.join(temporary, "whole")
        with pa.OSFile(stream, "wb") as file, pa.ipc.new_stream(file, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
        # The command has its own progress bar, and a library should be silent.
        was_enabled = hugging_face.is_progress_bar_enabled()
        hugging_face.disable_progress_bars()
        try:
            hugging_face.Dataset.from_file(stream).save_to_disk(whole)
        finally:
            if was_enabled:
                hugging_face.enable_progress_bars()
        if os.path.isdir(folder):
            os.rmdir(folder)
        os.rename(whole, folder)
    dataset = hugging_face.load_from_disk(folder)
    warn_of_no_rows(len(dataset))
    return dataset


@read_whole
def ray_rows(
    table: StreamLike,
    *,
    sampling_params: Mapping[str, Any] | None = None,
    sampling_columns: Mapping[str, str] | None = None,
    prompt: str = "prompt",
    form: Form | None = None,
    unknown: Unknown = "refuse",
) -> pa.Table:
    """Make rows for `ray.data.llm` of a rendered table: its columns, `messages` and `sampling_params`.

    `ray.data.from_arrow(table)` is a dataset that a processor of `ray.data.llm.build_processor` takes without a
    `preprocess`.

    Args:
        table: The rendered table or stream, as for `openai_batch`.
        sampling_params: Parameters of all rows, such as `{"temperature": 0.0, "max_tokens": 512}`.
        sampling_columns: Parameters with a value for each row, and their columns.
        prompt: The column of prompts.
        form: The form of the prompts, as for `openai_batch`.
        unknown: As for `openai_batch`.

    Returns:
        The rows.

    Raises:
        TemplateError: As for `openai_batch`.
        RenderError: As for `openai_batch`.

    >>> import pyarrow as pa
    >>> from promptpress import export
    >>> export.ray_rows(pa.table({"prompt": ["1+1=?"]}), sampling_params={"max_tokens": 5}).to_pylist()
    [{'messages': [{'role': 'user', 'content': '1+1=?'}], 'sampling_params': {'max_tokens': 5}}]
    """
    rows = chat_batches(table, prompt=prompt, form=form, unknown=unknown)
    return with_sampling_params(rows, sampling_params, sampling_columns)
