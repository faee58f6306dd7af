"""A chat template after the messages of a harness's configuration: the texts that a Hugging Face model gets.

The rules are those of OpenCompass 0.5.4 for its classes with a chat template (`HuggingFacewithChatTemplate`,
`VLLMwithChatTemplate`): what they make of messages before the tokenizer's template sees them.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from copy import copy
from typing import Any

import pyarrow as pa

from promptpress._arrow import python_text as _text
from promptpress._arrow.one_array import one_array
from promptpress._arrow.to_pylist import to_pylist
from promptpress._arrow.types import LAYOUTS, is_text, without_views
from promptpress._config.model_classes import meta_template_of
from promptpress._core import RenderedRows, RenderError
from promptpress._engine.chat_engine import ChatEngine
from promptpress._engine.chat_spans import ChatConversation, composed_spans
from promptpress._engine.options import RenderOptions
from promptpress._engine.run import Part
from promptpress._engine.sample_numbers import sample_numbers
from promptpress._engine.table_renderer import TableRenderer, engine_of
from promptpress._engine.template_engine import with_nulls
from promptpress._errors.errors import render_error, row_error_text, template_error
from promptpress._jinja.chat.chat_renderer import ChatRenderer
from promptpress._jinja.chat.settings import ChatSettings
from promptpress._jinja.run import spans_type
from promptpress._utils import lazy_compute as pc
from promptpress.typing import StringLayout

_ROLES = {"HUMAN": "user", "BOT": "assistant", "SYSTEM": "system"}
_COLUMN = "messages"
_MODEL_CLASS = "HuggingFacewithChatTemplate"


class ChatStage:
    """Makes texts of a renderer's messages.

    Args:
        template: The `ChatTemplate`. The text ends where the assistant is to speak, as it does in the harness, unless
            the template continues the last message.
        strings: The layout of the texts.
        limits: The limits that were given to the renderer.

    Raises:
        TemplateError: If it is no chat template.

    """

    def __init__(self, template: Any, strings: StringLayout, limits: Mapping[str, int] | None) -> None:
        engine = engine_of(template) if isinstance(template, TableRenderer) else None
        if not isinstance(engine, ChatEngine):
            message = f"expected a ChatTemplate, found a {type(template).__name__}; see ChatTemplate.from_tokenizer"
            raise template_error("wrong_type", "chat_template", message)
        self.template = template
        self._engine = engine
        self._limits = dict(limits or {})
        settings = engine.renderer.settings
        if settings.continued is None and settings.add_generation_prompt is False:
            renderer = ChatRenderer(dataclasses.replace(settings, add_generation_prompt=True))
        else:
            renderer = engine.renderer
        self._texts = ChatEngine(renderer, _COLUMN, strings, {})

    def marked(self) -> ChatStage:
        """Make a stage whose texts have marks, as `ChatEngine.marked`."""
        marked = copy(self)
        marked._texts = self._texts.marked()  # noqa: SLF001 - its own class
        return marked

    @property
    def chat_settings(self) -> ChatSettings:
        """The settings that decide the texts."""
        return self._texts.chat_settings

    def settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a renderer whose messages are made into texts.

        Args:
            settings: Arguments of `Renderer`.

        Returns:
            Settings that give messages, by the meta template that the harness's class has where none is given.

        Raises:
            TemplateError: If they say something else.

        """
        if settings["output"] not in (None, "messages"):
            message = f"a chat template is put behind messages, and makes texts of them; found {settings['output']!r}"
            raise template_error("unsupported_mode", "output", message)
        out = {**settings, "output": "messages"}
        if out["meta_template"] is None:
            harness = "aisbench" if settings["dialect"] == "aisbench" else "opencompass"
            out["meta_template"] = meta_template_of(f"{harness}:{_MODEL_CLASS}")
        return out

    def field(self, field: pa.Field) -> pa.Field:
        """The field of the texts.

        Args:
            field: That of the messages.

        """
        return pa.field(field.name, LAYOUTS[self._texts.strings])

    def spans_type(self, *, is_detailed: bool) -> pa.DataType:
        """Return the type of a text's spans.

        Args:
            is_detailed: True for spans with column, example and role.

        """
        fields = spans_type(self._texts.strings, is_chat=True, is_detailed=is_detailed).value_type
        return pa.list_(pa.struct([field for field in fields if field.name != "path"]))

    def finished(self, part: RenderedRows, times: int, options: RenderOptions) -> Part:
        """Return requests with texts in the place of their messages.

        Args:
            part: The messages; with detailed spans if spans are asked for.
            times: Requests of a sample, where all have as many.
            options: The columns next to the texts.

        Raises:
            RenderError: With the sample whose messages have no text, or one that is too long, unless errors are
                collected; if the texts pass a limit or what one array can hold.

        """
        refused: dict[int, str] | None = {} if options.collects_errors else None
        detail = options.span_detail
        of_texts = RenderOptions.of(
            (), spans=False if detail is None else "detailed", errors="raise" if refused is None else "column"
        )
        try:
            table = pa.table({_COLUMN: _conversations(part.prompts, refused)})
            parts: list[Any] = list(self._texts.begin(of_texts, None).parts(table, 0))
            texts = one_array([each.prompts for each in parts])
            _check_limits(texts, self._limits, refused)
        except RenderError as error:
            row = None if error.row is None else int(sample_numbers(part, times)[error.row].as_py())
            raise render_error(error.code, error.message, row) from error.__cause__
        self._engine.last_run = self._texts.last_run
        errors = None
        if refused is not None:
            errors = _all_errors(part, refused, pa.concat_arrays([each.errors for each in parts]))
            if errors.null_count < len(errors):
                texts = with_nulls(texts, errors.is_null().to_pylist())
        return Part(
            part.start,
            part.rows,
            texts,
            errors,
            labels=part.labels,
            turns=part.turns,
            samples=part.samples,
            spans=None if detail is None else self._spans(part, texts, parts, is_detailed=detail),
        )

    def of_users(self, texts: list[str]) -> list[str]:
        """Return the texts that the template makes of conversations of one message of the user.

        Args:
            texts: What each user says.

        Raises:
            RenderError: If the template has no text for one of them.

        """
        users = pa.repeat(pa.scalar(_ROLES["HUMAN"]), len(texts))
        table = pa.table({_COLUMN: _lists(range(len(texts) + 1), users, pa.array(texts, pa.large_string()))})
        parts: list[Any] = list(self._texts.begin(RenderOptions(), None).parts(table, 0))
        return [text for part in parts for text in part.prompts.to_pylist()]

    def _spans(self, part: RenderedRows, texts: pa.Array, parts: list[Any], *, is_detailed: bool) -> pa.Array:
        requests = zip(to_pylist(part.prompts), texts.is_valid().to_pylist(), strict=True)
        conversations = [_conversation(request) if has_text else None for request, has_text in requests]
        chat_spans = pa.concat_arrays([each.spans for each in parts])
        return composed_spans(texts, chat_spans, part.spans, conversations, self.spans_type(is_detailed=is_detailed))


def _all_errors(part: RenderedRows, refused: Mapping[int, str], of_texts: pa.Array) -> pa.Array:
    """Return the error of each request: of its messages, of their conversation, or of its text."""
    errors = [refused.get(row, error) for row, error in enumerate(of_texts.to_pylist())] if refused else of_texts
    return pc.coalesce(part.errors, pa.array(errors, pa.string()))


def _check_limits(texts: pa.Array, limits: Mapping[str, int], refused: dict[int, str] | None) -> None:
    """Refuse texts that pass a limit: a template writes more than the messages that the core has measured.

    Texts that are too long are put into `refused`, unless it is None.
    """
    longest, most = limits.get("prompt_bytes"), limits.get("batch_bytes")
    if longest is None and most is None:
        return
    lengths = pc.binary_length(without_views(pa.chunked_array([texts])))
    if longest is not None:
        message = (
            f'the prompt would have more than {longest} bytes; limits={{"prompt_bytes": {longest}}} allows no more'
        )
        for row in pc.indices_nonzero(pc.greater(lengths, longest)).to_pylist():
            error = render_error("limit_exceeded", message, row)
            if refused is None:
                raise error
            refused[row] = row_error_text(error)
    if most is not None and (pc.sum(lengths.cast(pa.int64())).as_py() or 0) > most:
        message = (
            f'the batch\'s prompts would take more than {most} bytes; limits={{"batch_bytes": {most}}} allows no more: '
            "give smaller batches, or a higher limit"
        )
        raise render_error("limit_exceeded", message)


def _conversations(prompts: pa.Array, refused: dict[int, str] | None) -> pa.Array:
    """Make conversations of requests: a text is the user's, roles have other names, and turns of one role are joined.

    Requests that can't be made into one are put into `refused`, unless it is None. Those without messages, because they
    couldn't be rendered, become anything: they have an error already.
    """
    types = pa.types
    if is_text(prompts.type):
        users = pa.repeat(pa.scalar(_ROLES["HUMAN"]), len(prompts))
        return _lists(range(len(prompts) + 1), users, prompts)
    if types.is_list(prompts.type) or types.is_large_list(prompts.type):
        role_numbers = _known_roles(prompts)
        if role_numbers is not None:
            lengths = pc.fill_null(pc.cast(pc.list_value_length(prompts), pa.int64()), 0)
            roles = pa.array(list(_ROLES.values())).take(role_numbers)
            return _lists([0, *pc.cumulative_sum(lengths).to_pylist()], roles, prompts.flatten().field("prompt"))
    return _one_by_one(prompts, refused)


def _known_roles(prompts: pa.Array) -> pa.Array | None:
    """The numbers of the messages' roles; None where a message is left out or joined, or isn't a role and a text."""
    items = prompts.flatten()
    is_message = pa.types.is_struct(items.type) and {field.name for field in items.type} == {"role", "prompt"}
    if not is_message or items.null_count:
        return None
    roles, contents = items.field("role"), items.field("prompt")
    if not is_text(contents.type) or contents.null_count or not len(items):
        return None
    roles, contents = without_views(roles), without_views(contents)
    role_numbers = pc.index_in(roles, value_set=pa.array(list(_ROLES)).cast(roles.type))
    lengths = pc.binary_length(contents)
    if role_numbers.null_count or pc.min(lengths).as_py() == 0:
        return None
    of, others = pc.list_parent_indices(prompts), len(items) - 1
    together = pc.equal(of.slice(1), of.slice(0, others))
    alike = pc.equal(role_numbers.slice(1), role_numbers.slice(0, others))
    return None if pc.any(pc.and_(together, alike)).as_py() else role_numbers


def _lists(ends: Any, roles: pa.Array, contents: pa.Array) -> pa.Array:
    messages = pa.StructArray.from_arrays([roles, contents], ["role", "content"])
    return pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), messages)


def _one_by_one(prompts: pa.Array, refused: dict[int, str] | None) -> pa.Array:
    """Make conversations of requests as the harness does; as JSON, because contents may be anything."""
    texts: list[str | None] = []
    for row, request in enumerate(_requests(prompts, refused)):
        try:
            texts.append(None if request is None else json.dumps(_conversation(request).messages, ensure_ascii=False))
        except (KeyError, TypeError) as error:
            message = f"{type(error).__name__}: {error}; a chat template's messages are of HUMAN, BOT or SYSTEM"
            if isinstance(request, list) and request and "content" in request[0]:
                message += (
                    "; the harness refuses raw messages, too: a ChatTemplate takes the table that is rendered without "
                    'chat_template= and with names={"prompt": "messages"}'
                )
            failure = render_error("unmapped_role", message, row)
            if refused is None:
                raise failure from error
            refused[row] = row_error_text(failure)
            texts.append(None)
    return pa.array(texts, pa.large_string())


def _requests(prompts: pa.Array, refused: dict[int, str] | None) -> list[Any]:
    """Return requests as Python values; None for those that are put into `refused`."""
    try:
        return list(to_pylist(prompts))
    except Exception:  # pyarrow raises anything for a date after the year 9999
        if refused is not None and len(prompts) > 1:
            return [request for row in range(len(prompts)) for request in _requests_of_row(prompts, row, refused)]
        _text.values(pa.chunked_array([prompts]), _COLUMN)  # names the row
        raise


def _requests_of_row(prompts: pa.Array, row: int, refused: dict[int, str]) -> list[Any]:
    try:
        return _requests(prompts.slice(row, 1), None)
    except RenderError as error:
        refused[row] = row_error_text(error)
        return [None]


def _conversation(request: Any) -> ChatConversation:
    if isinstance(request, str):
        return ChatConversation([{"role": _ROLES["HUMAN"], "content": request}], [[0]])
    messages: list[dict[str, Any]] = []
    sources: list[list[int]] = []
    for number, item in enumerate(request):
        if not item["prompt"]:
            continue
        role, content = _ROLES[item["role"]], item["prompt"]
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += "\n" + content
            sources[-1].append(number)
        else:
            messages.append({"role": role, "content": content})
            sources.append([number])
    return ChatConversation(messages, sources)
