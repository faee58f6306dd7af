"""Input files of batch services: `openai_batch`, `vllm_batch` and `litellm_batch`, and their lines, a request each."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from promptpress import PromptWarning
from promptpress.engine import RenderedLines
from promptpress.engine import core as _core
from promptpress.engine.errors import callers_level, render_error, template_error
from promptpress.engine.tables import argument_texts, checked_columns, named_json_field
from promptpress.engine.tables import lazy_compute as pc
from promptpress.typing import StreamLike, Unknown

from promptpress_workbench.export.chat_messages import Form, Prompts, are_plain, column_field, holds_texts, refuse_nulls
from promptpress_workbench.export.custom_ids import CustomIds
from promptpress_workbench.export.streams import Path, RenderedStream, Written, write_lines
from promptpress_workbench.files.write.json_lines import LineWriter, Piece

CHAT = "/v1/chat/completions"
_COMPLETIONS = "/v1/completions"

_KWARGS = "chat_template_kwargs"
"""The key of the arguments of the server's chat template, in vLLM."""

_NUMBERS = (
    *("frequency_penalty", "max_completion_tokens", "max_tokens", "n", "presence_penalty", "seed", "temperature"),
    *("top_k", "top_logprobs", "top_p"),
)
"""Parameters that are numbers."""


@dataclass(frozen=True)
class RequestSettings:
    """Settings of the lines of requests: the arguments of `promptpress.export.openai_batch`, which describes them."""

    model: str | None
    body: Mapping[str, Any] | None = None
    body_columns: Mapping[str, str] | None = None
    custom_id: str = "{sample}"
    custom_id_length: int | None = None
    url: str = CHAT
    prompt: str = "prompt"
    form: Form | None = None
    argument_columns: Mapping[str, str] | None = None


class BatchRequests:
    """Makes a line for each row of batches of one schema."""

    def __init__(self, schema: pa.Schema, settings: RequestSettings) -> None:
        prompt, model, url = settings.prompt, settings.model, settings.url
        self._prompts = Prompts(schema, prompt, settings.form)
        self._prompt_index = schema.get_field_index(prompt)
        self._given_type = schema.field(self._prompt_index).type
        self._ids = CustomIds(settings.custom_id, schema, settings.custom_id_length)
        key = self._prompt_key(url)
        self._model_column: str | None = None
        body, columns = _mapping(settings.body, "body"), _mapping(settings.body_columns, "body_columns")
        _check_parameters(schema, model, body, columns, key)
        self._are_named = settings.argument_columns is not None
        self._arguments = _argument_columns(schema, settings.argument_columns, {**body, **columns}, key)
        self._parameters = list(columns.values())
        columns |= {_KWARGS if name == "*" else name: column for name, column in self._arguments.items()}
        pieces = [Piece("literal", '{"custom_id": "'), *self._ids.pieces()]
        ids = range(1, len(pieces))
        pieces.append(Piece("literal", f'", "method": "POST", "url": {_json(url, "url")}, "body": {{'))
        if model is None:
            self._model_column = columns.pop("model")
            pieces += [Piece("literal", '"model": '), Piece("value", column=self._model_column)]
        else:
            pieces.append(Piece("literal", f'"model": {_json(model, "model")}'))
        pieces += [Piece("literal", f', "{key}": '), *self._prompt_pieces(key, prompt)]
        for name, value in body.items():
            pieces.append(Piece("literal", f", {_json(name, 'body')}: {_json(value, f'body[{name!r}]')}"))
        for name, column in columns.items():
            pieces.append(Piece("member", f", {_json(name, 'body_columns')}: ", column))
        pieces.append(Piece("literal", "}}\n"))
        self._prompt_field = pa.field(prompt, self._prompts.type)
        written = schema.set(self._prompt_index, self._prompt_field)
        for column in self._arguments.values():
            written = written.set(schema.get_field_index(column), named_json_field(column, pa.large_string()))
        self._writer = LineWriter(written, pieces, ids)
        self._are_roles_checked = False

    def _prompt_key(self, url: str) -> str:
        if isinstance(url, str) and url.endswith("/chat/completions"):
            return "messages"
        if not isinstance(url, str) or not url.endswith("/completions"):
            raise template_error("unknown_name", "url", f"expected {CHAT!r} or {_COMPLETIONS!r}, found {url!r}")
        if self._prompts.form != "text":
            message = f"{url!r} takes texts, and the prompts are messages; {CHAT!r} takes them"
            raise template_error("unsupported_mode", "url", message)
        return "prompt"

    def _prompt_pieces(self, key: str, prompt: str) -> list[Piece]:
        value = Piece("json" if self._prompts.form == "messages_json" else "request", column=prompt)
        if self._prompts.form != "text" or key == "prompt":
            return [value]
        return [Piece("literal", '[{"role": "user", "content": '), value, Piece("literal", "}]")]

    @property
    def frame(self) -> _core.LineLayout | None:
        """The text around each request; None if lines have more of a row, or if its messages are converted."""
        is_shown = self._prompts.type == self._given_type and self._prompts.form != "messages_json"
        return self._writer.frame if is_shown else None

    def lines(self, batch: pa.RecordBatch | RenderedLines, first_row: int) -> list[pa.LargeBinaryArray]:
        """Make the lines of the next batch, in several arrays; rendered lines in `frame` are only checked."""
        if isinstance(batch, RenderedLines):
            self._check_first(batch, first_row)
            self._ids.check_numbers(first_row, batch.num_rows)
            return [batch.lines]
        self._check_values(batch, first_row)
        prompts = self._prompts.converted(batch.column(self._prompt_index), first_row)
        converted = batch.set_column(self._prompt_index, self._prompt_field, prompts)
        for name, column in self._arguments.items():
            index = batch.schema.get_field_index(column)
            field, of_json = batch.schema.field(index), named_json_field(column, pa.large_string())
            texts = argument_texts(name, batch.column(index), field, first_row, is_named=self._are_named)
            converted = converted.set_column(index, of_json, pa.array(texts, pa.large_string()))
        out, ids = self._writer.lines_and_ids(converted, first_row)
        self._ids.check(ids, batch, first_row)
        return out

    def _check_first(self, rendered: RenderedLines, first_row: int) -> None:
        """Refuse messages that no API takes; one row is enough, because the roles are the same in all rows."""
        if self._prompts.form == "messages" and not self._are_roles_checked and rendered.num_rows:
            self._are_roles_checked = True
            messages = json.loads(rendered.lines[0].as_py())["body"]["messages"]
            # To make an array of Python's values pyarrow imports pandas: only for the error.
            if not are_plain(messages):
                self._prompts.converted(pa.array([messages], self._given_type), first_row)

    def _check_values(self, batch: pa.RecordBatch, first_row: int) -> None:
        """Refuse rows without a model, or with a number that JSON doesn't have."""
        if self._model_column is not None:
            models = batch.column(self._model_column)
            refuse_nulls(models, first_row, self._model_column, "the request names no model")
        for name in self._parameters:
            column = batch.column(name)
            if not pa.types.is_floating(column.type):
                continue
            index = pc.index(pc.is_finite(column.cast(pa.float64())), False).as_py()  # a null is neither
            if index >= 0:
                message = f"JSON has no {column[index].as_py()}; a null leaves the parameter out"
                raise render_error("no_json_form", message, first_row + index, name)


def _mapping(value: Mapping[str, Any] | None, path: str) -> dict[str, Any]:
    """Check an argument that maps names of parameters to values or columns."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        example = '{"max_tokens": "answer_length"}' if path == "body_columns" else '{"temperature": 0}'
        raise template_error("wrong_type", path, f"expected a dict, such as {example}, found {type(value).__name__}")
    for name, item in value.items():
        if not isinstance(name, str):
            raise template_error("wrong_type", path, f"expected names of parameters, found {name!r}")
        if path == "body_columns" and not isinstance(item, str):
            raise template_error("wrong_type", f"{path}[{name!r}]", f"expected a column's name, found {item!r}")
    return dict(value)


def _argument_columns(
    schema: pa.Schema, given: Mapping[str, str] | None, parameters: Mapping[str, Any], key: str
) -> dict[str, str]:
    """Return the columns of the arguments that go into a request; a request of texts has none."""
    if given is None:
        has_tools = key == "messages" and "tools" in schema.names and "tools" not in parameters
        return {"tools": "tools"} if has_tools else {}
    columns = checked_columns(given, parameters) or {}
    for column in columns.values():
        column_field(schema, column)
    if columns and key != "messages":
        message = "a request of texts has no such arguments: a chat template has written them into the text"
        raise template_error("unsupported_mode", "argument_columns", message)
    return columns


def _check_parameters(
    schema: pa.Schema, model: str | None, body: Mapping[str, Any], columns: Mapping[str, str], key: str
) -> None:
    if model is None and "model" not in columns:
        raise template_error(
            "missing_key", "model", 'each request names a model: model="...", or its column in body_columns'
        )
    if model is not None and not isinstance(model, str):
        raise template_error("wrong_type", "model", f"expected a string, found {type(model).__name__}")
    if model is None and columns["model"] in schema.names:
        kind = schema.field(columns["model"]).type
        if not holds_texts(kind):
            raise render_error(
                "wrong_column_type", f"models are named by texts, and it is {kind}", column=columns["model"]
            )
    for name in ("model", key):
        if name in body or (name in columns and not (name == "model" and model is None)):
            what = "model= says it" if name == "model" else "the prompts are it"
            raise template_error("unknown_key", "body" if name in body else "body_columns", f"{name!r}: {what}")
    for name, column in columns.items():
        if name in body:
            raise template_error("unknown_key", "body_columns", f"{name!r} is in body too; give it once")
        if name in _NUMBERS and column in schema.names and holds_texts(schema.field(column).type):
            message = (
                f"body_columns: {name!r} is a number for APIs, and the column {column!r} is text, which most of them"
                " refuse; columns of CSV files are text, and JSON lines have numbers"
            )
            warnings.warn(message, PromptWarning, stacklevel=callers_level())
        column_field(schema, column)


def _json(value: Any, path: str) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise template_error("no_json_form", path, f"it can't be JSON: {error}") from error
    return text


_MAX_REQUESTS = 50_000
_MAX_BYTES = 200_000_000
"""OpenAI's limits of a file, which other services have too."""

_OPENAI_ID_LENGTH = 512
"""OpenAI documents no limit of ids; an id longer than this is a mistake."""

_LITELLM_ID_LENGTH = 64
"""The limit of Anthropic and others that LiteLLM passes batches on to."""


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
    max_requests: int | None = _MAX_REQUESTS,
    max_bytes: int | None = _MAX_BYTES,
    custom_id_length: int | None = _OPENAI_ID_LENGTH,
    unknown: Unknown = "refuse",
) -> Written:
    """Write a rendered table as the input files of OpenAI's Batch API.

    Either all files are written completely, or none is there. If one file would pass the limits, there are several with
    names such as `name-00000.jsonl`; ids are unique over all of them, so that `join` brings all results back.

    Args:
        table: The result of `render` or `stream`, best with `output="openai"`: a table, or a reader, of which one batch
            at a time is in memory.
        path: The file.
        model: The model's name for the API. None: `body_columns` has a column for `"model"`.
        body: Parameters of all requests, such as `{"temperature": 0, "max_tokens": 512}`.
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
    settings = RequestSettings(
        model, body, body_columns, custom_id, custom_id_length, url, prompt, form, argument_columns
    )
    return _write_requests(table, path, settings, max_requests, max_bytes, unknown=unknown)


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
    argument_columns: Mapping[str, str] | None = None,
    max_requests: int | None = None,
    unknown: Unknown = "refuse",
) -> Written:
    """Write a rendered table as an input file of `vllm run-batch`, which takes chats in one file of any size.

    Args:
        table: The rendered table or stream, as for `openai_batch`.
        path: The file.
        model: The model that vLLM serves.
        body: Parameters of all requests, vLLM's own (`top_k`, `guided_choice`, ...) among them.
        body_columns: Parameters with a value for each row, and their columns.
        custom_id: A pattern over the table's columns, as for `openai_batch`.
        prompt: The column of prompts.
        form: The form of the prompts, as for `openai_batch`.
        argument_columns: As for `openai_batch`.
        max_requests: Requests of a file, for several workers. None: no limit.
        unknown: As for `openai_batch`.

    Returns:
        The files, the number of requests and of bytes.

    Raises:
        TemplateError: As for `openai_batch`.
        RenderError: As for `openai_batch`.
        OSError: If a file can't be written.

    >>> import tempfile, pyarrow as pa
    >>> from promptpress import export
    >>> table = pa.table({"prompt": ["1+1=?", "2+2=?"]})
    >>> folder = tempfile.TemporaryDirectory()
    >>> export.vllm_batch(table, f"{folder.name}/in.jsonl", model="m", body={"top_k": 1}).requests
    2
    >>> folder.cleanup()
    """
    settings = RequestSettings(model, body, body_columns, custom_id, None, CHAT, prompt, form, argument_columns)
    return _write_requests(table, path, settings, max_requests, None, unknown=unknown)


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
    argument_columns: Mapping[str, str] | None = None,
    max_requests: int | None = _MAX_REQUESTS,
    max_bytes: int | None = _MAX_BYTES,
    custom_id_length: int | None = _LITELLM_ID_LENGTH,
    unknown: Unknown = "refuse",
) -> Written:
    """Write a rendered table as the input files of LiteLLM's batches, which pass requests on to many services.

    Args:
        table: The rendered table or stream, as for `openai_batch`.
        path: The file.
        model: The model as LiteLLM's configuration names it, such as `"gpt-4o-batch"` or `"azure/gpt-4o"`.
        body: Parameters of all requests.
        body_columns: Parameters with a value for each row, and their columns.
        custom_id: A pattern over the table's columns, as for `openai_batch`.
        url: As for `openai_batch`.
        prompt: The column of prompts.
        form: The form of the prompts, as for `openai_batch`.
        argument_columns: As for `openai_batch`.
        max_requests: Requests of a file; OpenAI's limit, which others have too.
        max_bytes: Bytes of a file; OpenAI's limit, too.
        custom_id_length: Characters of a `custom_id`; Anthropic and others take 64.
        unknown: As for `openai_batch`.

    Returns:
        The files, the number of requests and of bytes.

    Raises:
        TemplateError: As for `openai_batch`.
        RenderError: As for `openai_batch`.
        OSError: If a file can't be written.

    >>> import tempfile, pyarrow as pa
    >>> from promptpress import export
    >>> folder = tempfile.TemporaryDirectory()
    >>> export.litellm_batch(pa.table({"prompt": ["1+1=?"]}), f"{folder.name}/in.jsonl", model="azure/m").requests
    1
    >>> folder.cleanup()
    """
    settings = RequestSettings(
        model, body, body_columns, custom_id, custom_id_length, url, prompt, form, argument_columns
    )
    return _write_requests(table, path, settings, max_requests, max_bytes, unknown=unknown)


def _write_requests(
    table: StreamLike | RenderedStream,
    path: Path,
    settings: RequestSettings,
    max_requests: int | None,
    max_bytes: int | None,
    *,
    unknown: Unknown,
) -> Written:
    """Write the lines of `BatchRequests` into files of a service."""
    lengths = ("custom_id_length", settings.custom_id_length)
    for name, limit in (("max_requests", max_requests), ("max_bytes", max_bytes), lengths):
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
            raise template_error("wrong_type", name, f"expected a whole number from 1 on, or None, found {limit!r}")
    source_of = partial(BatchRequests, settings=settings)
    return write_lines(table, path, source_of, max_requests, max_bytes, unknown=unknown)
