"""Input files of batch services: `openai_batch`, `anthropic_batch` and the like."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

from promptpress.engine.errors import template_error
from promptpress.typing import StreamLike, Unknown

from promptpress_workbench.export.batch_requests import CHAT, BatchRequests, RequestSettings
from promptpress_workbench.export.chat_messages import Form
from promptpress_workbench.export.services import ANTHROPIC, GEMINI, LITELLM, OPENAI, RESPONSES, VLLM, Service
from promptpress_workbench.export.streams import Path, RenderedStream, Written, write_lines

if TYPE_CHECKING:
    from typing_extensions import Unpack


class BatchOptions(TypedDict, total=False):
    """Options of all forms of requests, which `openai_batch` describes.

    >>> options: BatchOptions = {"custom_id": "math-{id}", "max_requests": 1000}
    """

    body: Mapping[str, Any] | None
    body_columns: Mapping[str, str] | None
    custom_id: str
    prompt: str
    form: Form | None
    argument_columns: Mapping[str, str] | None
    max_requests: int | None
    max_bytes: int | None
    custom_id_length: int | None
    unknown: Unknown


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
    argument_columns: Mapping[str, str] | None = None,
    max_requests: int | None = OPENAI.max_requests,
    max_bytes: int | None = OPENAI.max_bytes,
    custom_id_length: int | None = OPENAI.id_length,
    unknown: Unknown = "refuse",
) -> Written:
    """Write a rendered table as the input files of OpenAI's Batch API.

    Either all files are written completely, or none is there. If one file would pass the limits, there are several with
    names such as `name-00000.jsonl`; ids are unique over all of them, so that `join` brings all results back.

    Args:
        table: The result of `render` or `stream`, best with `output="openai"`: a table, or a reader, of which one batch
            at a time is in memory. If it has a column `cache_marks`, a list of the numbers of messages, from 1 on, each
            of these messages ends in `prompt_cache_breakpoint`.
        path: The file.
        model: The model's name for the API. None: `body_columns` has a column for `"model"`.
        body: Parameters of all requests in the service's words, such as `{"temperature": 0, "max_tokens": 512}`. A dot
            leads into an object: `{"stream_options.include_usage": True}`.
        body_columns: Parameters with a value for each row, and their columns, such as
            `{"max_tokens": "answer_length"}`. If a row's value is null, its request lacks the parameter.
        custom_id: A pattern over the table's columns; `{{` is a brace. `{sample}` is the column of that name
            (`index="sample"`), else the row's number where there is one row a sample. Several rows a sample need
            `{label}` or `{turn}` too.
        url: `"/v1/chat/completions"`, or `"/v1/completions"` for texts.
        prompt: The column of prompts.
        form: `"text"`, `"messages"` or `"messages_json"`. None: texts are texts, each the one message of a user.
        argument_columns: Columns of arguments for the server's chat template, as for `ChatTemplate`: `{"tools":
            "tools"}` puts a row's tools into its request, and `"*"` its `chat_template_kwargs`. None: `tools` come from
            a column of this name, if there is one; `{}`: from none.
        max_requests: Requests of a file. None: no limit.
        max_bytes: Bytes of a file. None: no limit.
        custom_id_length: Characters of a `custom_id`. None: no limit.
        unknown: `"refuse"`, or `"keep"` for tables that were rendered from a template with a misspelt column, such as
            `{questoin}`, which stands in every prompt as it is.

    Returns:
        The files, the number of requests and of bytes.

    Raises:
        TemplateError: If an argument makes no sense, or the template names a misspelt column.
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
    options: BatchOptions = {
        **{"body": body, "body_columns": body_columns, "custom_id": custom_id, "prompt": prompt, "form": form},
        **{"argument_columns": argument_columns, "max_requests": max_requests, "max_bytes": max_bytes},
        **{"custom_id_length": custom_id_length, "unknown": unknown},
    }
    return _write_requests(OPENAI, table, path, model, url, options)


def vllm_batch(table: StreamLike, path: Path, *, model: str | None, **options: Unpack[BatchOptions]) -> Written:
    """Write a rendered table as an input file of `vllm run-batch`, which takes chats in one file of any size.

    Args:
        table: The rendered table or stream, as for `openai_batch`.
        path: The file.
        model: The model that vLLM serves.
        options: As for `openai_batch`. Parameters may be vLLM's own (`top_k`, `guided_choice`, ...). Files have no
            limits, but `max_requests` gives several workers a file each.

    Returns:
        The files, the number of requests and of bytes.

    Raises:
        TemplateError, RenderError, OSError: As for `openai_batch`.

    >>> import tempfile, pyarrow as pa
    >>> from promptpress import export
    >>> table, folder = pa.table({"prompt": ["1+1=?"]}), tempfile.TemporaryDirectory()
    >>> export.vllm_batch(table, f"{folder.name}/in.jsonl", model="m", body={"top_k": 1}).requests
    1
    >>> folder.cleanup()
    """
    return _write_requests(VLLM, table, path, model, CHAT, options)


def litellm_batch(
    table: StreamLike, path: Path, *, model: str | None, url: str = CHAT, **options: Unpack[BatchOptions]
) -> Written:
    """Write a rendered table as the input files of LiteLLM's batches, which pass requests on to many services.

    Args:
        table: The rendered table or stream, as for `openai_batch`.
        path: The file.
        model: The model as LiteLLM's configuration names it, such as `"gpt-4o-batch"` or `"azure/gpt-4o"`.
        url: As for `openai_batch`.
        options: As for `openai_batch`, whose limits others have, too; ids have 64 characters, which all services take.

    Returns:
        The files, the number of requests and of bytes.

    Raises:
        TemplateError, RenderError, OSError: As for `openai_batch`.

    >>> import tempfile, pyarrow as pa
    >>> from promptpress import export
    >>> table, folder = pa.table({"prompt": ["1+1=?"]}), tempfile.TemporaryDirectory()
    >>> export.litellm_batch(table, f"{folder.name}/in.jsonl", model="azure/m").requests
    1
    >>> folder.cleanup()
    """
    return _write_requests(LITELLM, table, path, model, url, options)


def openai_responses(table: StreamLike, path: Path, *, model: str | None, **options: Unpack[BatchOptions]) -> Written:
    """Write a rendered table as the input files of OpenAI's Batch API for the Responses API, `/v1/responses`.

    Messages are the `input`. Parts, tools, calls of tools and their results get the API's own form.

    Args:
        table: The rendered table or stream, as for `openai_batch`.
        path: The file.
        model: The model's name for the API.
        options: As for `openai_batch`, in the API's words: `body={"max_output_tokens": 9, "reasoning.effort": "low"}`.

    Returns:
        The files, the number of requests and of bytes.

    Raises:
        TemplateError, RenderError, OSError: As for `openai_batch`; and if a parameter is another service's, or there is
            no place for what a message says.

    >>> import tempfile, pyarrow as pa
    >>> from promptpress import export
    >>> table, folder = pa.table({"prompt": ["1+1=?"]}), tempfile.TemporaryDirectory()
    >>> export.openai_responses(table, f"{folder.name}/in.jsonl", model="m").requests
    1
    >>> folder.cleanup()
    """
    return _write_requests(RESPONSES, table, path, model, "/v1/responses", options)


def anthropic_batch(table: StreamLike, path: Path, *, model: str | None, **options: Unpack[BatchOptions]) -> Written:
    """Write a rendered table as requests of Anthropic's Message Batches, each a line with `custom_id` and `params`.

    A file is the `requests` of one batch: `client.messages.batches.create(requests=map(json.loads, open(path)))`.

    Args:
        table: The rendered table or stream, as for `openai_batch`; marks are `cache_control`.
        path: The file.
        model: The model's name for the API.
        options: As for `openai_batch`, in Anthropic's words. `max_tokens` is required, in `body` or in `body_columns`.
            Ids have at most 64 letters of ASCII, digits, `_` and `-`.

    Returns:
        The files, the number of requests and of bytes.

    Raises:
        TemplateError, RenderError, OSError: As for `openai_batch`; and if a parameter is another service's, or there is
            no place for what a message says.

    >>> import tempfile, pyarrow as pa
    >>> from promptpress import export
    >>> table, folder = pa.table({"prompt": ["1+1=?"]}), tempfile.TemporaryDirectory()
    >>> export.anthropic_batch(table, f"{folder.name}/in.jsonl", model="m", body={"max_tokens": 9}).requests
    1
    >>> folder.cleanup()
    """
    return _write_requests(ANTHROPIC, table, path, model, None, options)


def gemini_batch(table: StreamLike, path: Path, **options: Unpack[BatchOptions]) -> Written:
    """Write a rendered table as the input files of Gemini's Batch API, each a line with `key` and `request`.

    The model is named when the batch is created.

    Args:
        table: The rendered table or stream, as for `openai_batch`.
        path: The file.
        options: As for `openai_batch`, in Gemini's words: `body={"generationConfig": {"temperature": 0}}`, and
            `body_columns={"generationConfig.maxOutputTokens": "answer_length"}`.

    Returns:
        The files, the number of requests and of bytes.

    Raises:
        TemplateError, RenderError, OSError: As for `openai_batch`; and if a parameter is another service's, or there is
            no place for what a message says.

    >>> import tempfile, pyarrow as pa
    >>> from promptpress import export
    >>> table, folder = pa.table({"prompt": ["1+1=?"]}), tempfile.TemporaryDirectory()
    >>> export.gemini_batch(table, f"{folder.name}/in.jsonl").requests
    1
    >>> folder.cleanup()
    """
    return _write_requests(GEMINI, table, path, None, None, options)


def _write_requests(  # noqa: PLR0917 - what all forms have
    service: Service,
    table: StreamLike | RenderedStream,
    path: Path,
    model: str | None,
    url: str | None,
    options: BatchOptions,
) -> Written:
    """Write the lines of `BatchRequests` into files of a service, whose limits hold unless others are given."""
    if "model" in options:
        raise template_error("unknown_key", "model", "the model is named when the batch is created")
    limits = {
        "max_requests": service.max_requests,
        "max_bytes": service.max_bytes,
        "custom_id_length": service.id_length,
    }
    given: dict[str, Any] = {**limits, **options}
    for name in limits:
        limit = given[name]
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
            raise template_error("wrong_type", name, f"expected a whole number from 1 on, or None, found {limit!r}")
    unknown, max_requests, max_bytes = given.pop("unknown", "refuse"), given.pop("max_requests"), given.pop("max_bytes")
    source_of = partial(BatchRequests, settings=RequestSettings(service, model, url=url, **given))
    return write_lines(table, path, source_of, max_requests, max_bytes, unknown=unknown)
