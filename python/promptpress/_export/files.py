"""Exports as files of lines: batch requests and conversations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from promptpress._export.batch_requests import CHAT, BatchRequests
from promptpress._export.chat_messages import Form
from promptpress._export.conversations import SHAREGPT_ROLES, Conversations
from promptpress._export.limits import LITELLM, OPENAI, VLLM, Limits
from promptpress._export.written import Path, Written, as_os_errors, write_lines
from promptpress.typing import StreamLike

__all__ = ["litellm_batch", "messages_json", "openai_batch", "sharegpt", "vllm_batch"]


def openai_batch(
    table: StreamLike,
    path: Path,
    *,
    model: str | None,
    body: Mapping[str, Any] | None = None,
    body_columns: Mapping[str, str] | None = None,
    custom_id: str = "{sample}",
    url: str = CHAT,
    prompt: str = "prompt",
    form: Form | None = None,
    max_requests: int | None = OPENAI.max_requests,
    max_bytes: int | None = OPENAI.max_bytes,
    custom_id_length: int | None = OPENAI.custom_id_length,
) -> Written:
    """Write a rendered table as the input files of OpenAI's Batch API.

    Files are complete, or not there at all. Where one file would pass the limits there are several, whose names are
    `name-00000.jsonl` and so on; ids are unique over all of them, so that `join` brings all results back.

    Args:
        table: What `render` or `stream` gives, best with `output="openai"`: a table, or a reader, of which a batch is
            in memory at a time.
        path: The file.
        model: The model's name for the API. None: `body_columns` has a column for `"model"`.
        body: Parameters of all requests, such as `{"temperature": 0, "max_tokens": 512}`.
        body_columns: Parameters that each row has, and their columns, such as `{"max_tokens": "answer_length"}`. Where
            a row's value is null, its request lacks the parameter.
        custom_id: A pattern over the table's columns; `{{` is a brace. `{sample}` is the column of that name
            (`index="sample"`), else the row's number where there is one row a sample. Several rows a sample need
            `{label}` or `{turn}` too.
        url: `"/v1/chat/completions"`, or `"/v1/completions"` for texts.
        prompt: The column of prompts.
        form: `"text"`, `"messages"` or `"messages_json"`. None: texts are texts, each the one message of a user.
        max_requests: Requests of a file. None: any number.
        max_bytes: Bytes of a file. None: any number.
        custom_id_length: Characters of a `custom_id`. None: any number.

    Returns:
        The files, the number of requests and of bytes.

    Raises:
        TemplateError: If an argument makes no sense.
        RenderError: If two rows would have one id, a request is larger than a file, or a row has no prompt that the API
            takes; nothing is written then.
        OSError: If a file can't be written.

    >>> import tempfile, pyarrow as pa
    >>> from promptpress import Renderer, export
    >>> table = Renderer("{q}").render(pa.table({"q": ["1+1=?", "2+2=?"], "id": ["a", "b"]}), keep=["id"])
    >>> folder = tempfile.TemporaryDirectory()
    >>> export.openai_batch(table, f"{folder.name}/in.jsonl", model="m", custom_id="math-{id}").requests
    2
    >>> folder.cleanup()

    """
    requests = partial(
        BatchRequests,
        model=model,
        body=body,
        body_columns=body_columns,
        custom_id=custom_id,
        url=url,
        prompt=prompt,
        form=form,
    )
    return _written(table, path, requests, Limits(max_requests, max_bytes, custom_id_length))


def vllm_batch(
    table: StreamLike,
    path: Path,
    *,
    model: str | None,
    body: Mapping[str, Any] | None = None,
    body_columns: Mapping[str, str] | None = None,
    custom_id: str = "{sample}",
    prompt: str = "prompt",
    form: Form | None = None,
    max_requests: int | None = VLLM.max_requests,
) -> Written:
    """Write a rendered table as an input file of `vllm run-batch`, which takes chats in one file of any size.

    Args:
        table: As `openai_batch` has it.
        path: The file.
        model: The model that vLLM serves.
        body: Parameters of all requests, vLLM's own (`top_k`, `guided_choice`, ...) among them.
        body_columns: Parameters that each row has, and their columns.
        custom_id: A pattern over the table's columns, as `openai_batch` has it.
        prompt: The column of prompts.
        form: What it holds, as `openai_batch` has it.
        max_requests: Requests of a file, for several workers. None: any number.

    Returns:
        The files, the number of requests and of bytes.

    Raises:
        TemplateError: As `openai_batch`.
        RenderError: As `openai_batch`.
        OSError: If a file can't be written.

    >>> import tempfile, pyarrow as pa
    >>> from promptpress import export
    >>> table = pa.table({"prompt": ["1+1=?", "2+2=?"]})
    >>> folder = tempfile.TemporaryDirectory()
    >>> export.vllm_batch(table, f"{folder.name}/in.jsonl", model="m", body={"top_k": 1}).requests
    2
    >>> folder.cleanup()

    """
    requests = partial(
        BatchRequests,
        model=model,
        body=body,
        body_columns=body_columns,
        custom_id=custom_id,
        prompt=prompt,
        form=form,
    )
    return _written(table, path, requests, replace(VLLM, max_requests=max_requests))


def litellm_batch(
    table: StreamLike,
    path: Path,
    *,
    model: str | None,
    body: Mapping[str, Any] | None = None,
    body_columns: Mapping[str, str] | None = None,
    custom_id: str = "{sample}",
    url: str = CHAT,
    prompt: str = "prompt",
    form: Form | None = None,
    max_requests: int | None = LITELLM.max_requests,
    max_bytes: int | None = LITELLM.max_bytes,
    custom_id_length: int | None = LITELLM.custom_id_length,
) -> Written:
    """Write a rendered table as the input files of LiteLLM's batches, which pass them on to many services.

    Args:
        table: As `openai_batch` has it.
        path: The file.
        model: The model as LiteLLM's configuration names it, such as `"gpt-4o-batch"` or `"azure/gpt-4o"`.
        body: Parameters of all requests.
        body_columns: Parameters that each row has, and their columns.
        custom_id: A pattern over the table's columns, as `openai_batch` has it.
        url: As `openai_batch` has it.
        prompt: The column of prompts.
        form: What it holds, as `openai_batch` has it.
        max_requests: Requests of a file; OpenAI's limit, which others have too.
        max_bytes: Bytes of a file, likewise.
        custom_id_length: Characters of a `custom_id`; Anthropic and others take 64.

    Returns:
        The files, the number of requests and of bytes.

    Raises:
        TemplateError: As `openai_batch`.
        RenderError: As `openai_batch`.
        OSError: If a file can't be written.

    >>> import tempfile, pyarrow as pa
    >>> from promptpress import export
    >>> folder = tempfile.TemporaryDirectory()
    >>> export.litellm_batch(pa.table({"prompt": ["1+1=?"]}), f"{folder.name}/in.jsonl", model="azure/m").requests
    1
    >>> folder.cleanup()

    """
    requests = partial(
        BatchRequests,
        model=model,
        body=body,
        body_columns=body_columns,
        custom_id=custom_id,
        url=url,
        prompt=prompt,
        form=form,
    )
    return _written(table, path, requests, Limits(max_requests, max_bytes, custom_id_length))


def _written(table: StreamLike, path: Path, requests: Callable[..., BatchRequests], limits: Limits) -> Written:
    """Write requests into files of a service; `requests` makes their lines of a schema."""
    limits.check()
    with as_os_errors():
        return write_lines(
            table,
            path,
            lambda schema: requests(schema, custom_id_length=limits.custom_id_length),
            limits.max_requests,
            limits.max_bytes,
        )


def sharegpt(
    table: StreamLike,
    path: Path,
    *,
    answer: str | None = None,
    keep: Sequence[str] = (),
    roles: Mapping[str, str] | None = None,
    prompt: str = "prompt",
    form: Form | None = None,
) -> Written:
    """Write a rendered table as ShareGPT's conversations, as LLaMA-Factory, Axolotl and FastChat read them.

    Each line is `{"conversations": [{"from": "human", "value": ...}, ...]}`.

    Args:
        table: As `openai_batch` has it.
        path: The file.
        answer: A column whose text is the last turn, `gpt`'s; what is trained on.
        keep: Columns that stand before the conversation, such as an `id`.
        roles: Whom each role is in `from`, over the usual ones, such as `{"tool": "observation"}`.
        prompt: The column of prompts.
        form: What it holds, as `openai_batch` has it.

    Returns:
        The file, the number of conversations and of bytes.

    Raises:
        TemplateError: As `openai_batch`.
        RenderError: As `openai_batch`; and if a content is no text, or an answer is null.
        OSError: If the file can't be written.

    >>> import tempfile, pyarrow as pa
    >>> from pathlib import Path
    >>> from promptpress import export
    >>> table = pa.table({"prompt": ["1+1=?"], "gold": ["2"]})
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = export.sharegpt(table, f"{folder.name}/train.jsonl", answer="gold")
    >>> print(Path(f"{folder.name}/train.jsonl").read_text(), end="")
    {"conversations": [{"from": "human", "value": "1+1=?"}, {"from": "gpt", "value": "2"}]}
    >>> folder.cleanup()

    """
    names = {**SHAREGPT_ROLES, **(roles or {})}
    with as_os_errors():
        return write_lines(
            table,
            path,
            lambda schema: Conversations(
                schema, "conversations", ("from", "value"), names, answer=answer, keep=keep, prompt=prompt, form=form
            ),
        )


def messages_json(
    table: StreamLike,
    path: Path,
    *,
    answer: str | None = None,
    keep: Sequence[str] = (),
    prompt: str = "prompt",
    form: Form | None = None,
) -> Written:
    """Write a rendered table as lines of messages: `{"messages": [{"role": ..., "content": ...}, ...]}`.

    OpenAI's fine-tuning, TRL and most other trainers read them.

    Args:
        table: As `openai_batch` has it.
        path: The file.
        answer: A column whose text is the last message, the assistant's.
        keep: Columns that stand before the messages.
        prompt: The column of prompts.
        form: What it holds, as `openai_batch` has it.

    Returns:
        The file, the number of lines and of bytes.

    Raises:
        TemplateError: As `openai_batch`.
        RenderError: As `openai_batch`; and if an answer is null.
        OSError: If the file can't be written.

    >>> import tempfile, pyarrow as pa
    >>> from pathlib import Path
    >>> from promptpress import export
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = export.messages_json(pa.table({"prompt": ["1+1=?"]}), f"{folder.name}/out.jsonl")
    >>> print(Path(f"{folder.name}/out.jsonl").read_text(), end="")
    {"messages": [{"role": "user", "content": "1+1=?"}]}
    >>> folder.cleanup()

    """
    with as_os_errors():
        return write_lines(
            table,
            path,
            lambda schema: Conversations(
                schema, "messages", ("role", "content"), answer=answer, keep=keep, prompt=prompt, form=form
            ),
        )
