"""A chat template after what another engine renders: the texts that a chat model gets.

Chat messages (`role`, `content`) go to the template as they are, and a text is one message of the user. For messages
of a harness (`role`, `prompt`) the rules are those of OpenCompass 0.5.4 for its classes with a chat template
(`HuggingFacewithChatTemplate`, `VLLMwithChatTemplate`): what they make of messages before the template sees them.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

import pyarrow as pa

from promptpress._arrow import lazy_compute as pc
from promptpress._arrow import python_text as _text
from promptpress._arrow.columns import LAYOUTS, is_text, one_array, without_views
from promptpress._arrow.python_values import to_pylist
from promptpress._arrow.take import take_rows
from promptpress._config.from_harness import meta_template_of
from promptpress._core import RenderedRows, RenderError
from promptpress._engine.chat_engine import ChatEngine, answer_texts
from promptpress._engine.options import RenderOptions
from promptpress._engine.rendering import Part, sample_numbers
from promptpress._engine.table_engine import TableRenderer, engine_of
from promptpress._engine.template_engine import with_nulls
from promptpress._errors.errors import render_error, row_error_text, template_error
from promptpress._errors.left_out import LeftOut
from promptpress._jinja.chat.chat_renderer import ChatRenderer
from promptpress._jinja.chat.settings import ChatSettings
from promptpress._jinja.run import JinjaRun, spans_type
from promptpress.typing import StringLayout

_ROLES = {"HUMAN": "user", "BOT": "assistant", "SYSTEM": "system"}
_COLUMN, _ANSWER, _CONTENT = "promptpress.messages", "promptpress.answer", "content"
_Span = Mapping[str, Any]


class ChatStage:
    """Makes texts of a renderer's messages, by a `ChatTemplate`.

    A text ends where the assistant is to speak, as it does in the harness, unless the last message is an assistant's,
    or the template continues it. `answer` is a column of last messages.
    """

    def __init__(
        self,
        template: Any,
        strings: StringLayout,
        limits: Mapping[str, int] | None = None,
        *,
        answer: str | None = None,
        is_answered: bool = False,
    ) -> None:
        engine = engine_of(template) if isinstance(template, TableRenderer) else None
        if not isinstance(engine, ChatEngine):
            message = f"expected a ChatTemplate, found a {type(template).__name__}; see ChatTemplate.from_tokenizer"
            raise template_error("wrong_type", "chat_template", message)
        self.template = template
        self.answer = answer
        self._engine = engine
        self._limits = dict(limits or {})
        self._is_answered = is_answered
        settings = engine.renderer.settings
        asks = settings.continued is None and answer is None and not is_answered
        if settings.add_generation_prompt is asks or settings.continued is not None:
            renderer = engine.renderer
        else:
            renderer = ChatRenderer(dataclasses.replace(settings, add_generation_prompt=asks))
        self._texts = ChatEngine(renderer, _COLUMN, strings, {}, answer=None if answer is None else _ANSWER)

    def answered(self, column: str) -> ChatStage:
        """Return a stage whose conversations end with the texts of a column, as the assistant's messages."""
        return ChatStage(self.template, self._texts.strings, self._limits, answer=column)

    @classmethod
    def after(cls, template: Any, settings: Mapping[str, Any]) -> ChatStage:
        """Return a stage after the messages of a configuration, by the arguments of `Renderer`."""
        return cls(template, settings["strings"], settings["limits"], is_answered=_ends_with_answer(settings))

    def marked(self) -> ChatStage:
        marked = copy(self)
        marked._texts = self._texts.marked()  # noqa: SLF001 - its own class
        return marked

    @property
    def last_run(self) -> JinjaRun | None:
        """The counts of the rows that the template rendered last."""
        return self._texts.last_run

    @property
    def chat_settings(self) -> ChatSettings:
        """The settings that decide the texts."""
        return self._texts.chat_settings

    def refuse_left_out(self, codes: frozenset[str]) -> None:
        """Refuse rows of which the template leaves out what assistants say."""
        self._texts.refuse_left_out(codes)

    @property
    def missing_tokens(self) -> list[str]:
        """The special tokens that the template writes, and that nothing gives."""
        return self._texts.missing_tokens

    def settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a renderer whose messages are made into texts."""
        if settings["output"] == "openai":
            return dict(settings)
        if settings["output"] not in (None, "messages"):
            message = f"a chat template is put behind messages, and makes texts of them; found {settings['output']!r}"
            raise template_error("unsupported_mode", "output", message)
        out = {**settings, "output": "messages"}
        if out["meta_template"] is None:
            harness = "aisbench" if settings["dialect"] == "aisbench" else "opencompass"
            out["meta_template"] = meta_template_of(f"{harness}:HuggingFacewithChatTemplate")
        return out

    def field(self, field: pa.Field) -> pa.Field:
        """The field of the texts."""
        return pa.field(field.name, LAYOUTS[self._texts.strings])

    def spans_type(self, *, is_detailed: bool) -> pa.DataType:
        """Return the type of a text's spans."""
        fields = spans_type(self._texts.strings, is_chat=True, is_detailed=is_detailed).value_type
        return pa.list_(pa.struct([field for field in fields if field.name != "path"]))

    def finished(
        self,
        part: RenderedRows | Part,
        times: int,
        options: RenderOptions,
        samples: pa.Table | None = None,
        *,
        column: str | None = None,
        lacking: LeftOut | None = None,
    ) -> Part:
        """Return requests with texts in the place of their messages.

        `samples` hold the answers; requests that come from a `column` as they are have no template; `lacking` takes
        what the template leaves out.
        """
        refused: dict[int, str] | None = {} if options.collects_errors else None
        detail = options.span_detail
        of_texts = RenderOptions.of(
            (), spans=False if detail is None else "detailed", errors="raise" if refused is None else "column"
        )
        try:
            table = pa.table({_COLUMN: _conversations(part.prompts, refused)})
            if samples is not None:
                table = self._with_columns(table, part, times, samples)
            run = self._texts.begin(of_texts, None)
            parts: list[Any] = list(run.parts(table, 0))
            texts = one_array([each.prompts for each in parts])
            if lacking is not None:
                of_requests = sample_numbers(part, times)
                lacking.add_all(run.lacking.renumbered(lambda row: int(of_requests[row].as_py())))
            _check_limits(texts, self._limits, refused)
        except RenderError as error:
            row = None if error.row is None else int(sample_numbers(part, times)[error.row].as_py())
            column = None if error.column in (_COLUMN, _ANSWER) else error.column
            raise render_error(error.code, error.message, row, column) from error.__cause__
        self._engine.last_run = self._texts.last_run
        errors = None
        if refused is not None:
            location = f'column "{_COLUMN}": '  # which no user knows
            of_each: list[str | None] = [
                error and error.replace(location, "", 1) for each in parts for error in each.errors.to_pylist()
            ]
            of_each = [refused.get(row, error) for row, error in enumerate(of_each)]
            failures = pa.array(of_each, pa.string())
            errors = failures if part.errors is None else pc.coalesce(part.errors, failures)
            if errors.null_count < len(errors):
                texts = with_nulls(texts, errors.is_null().to_pylist())
        spans = None
        if detail is not None:
            answers = table.column(_ANSWER).to_pylist() if _ANSWER in table.column_names else None
            spans = self._spans(part, texts, parts, answers, column, is_detailed=detail)
        return Part.of(part, texts, errors, spans=spans)

    @property
    def required_columns(self) -> list[str]:
        """The columns of samples that the template surely reads."""
        return [*([] if self.answer is None else [self.answer]), *self._engine.required_columns[1:]]

    def columns(self, present: Sequence[str]) -> list[str]:
        """Return the columns of arguments among those of a table: what the template doesn't read of them is counted."""
        renderer = self._engine.renderer
        return list(dict.fromkeys([*renderer.argument_columns(present).values(), *renderer.unread_columns(present)]))

    def _with_columns(
        self, conversations: pa.Table, part: RenderedRows | Part, times: int, samples: pa.Table
    ) -> pa.Table:
        """Return conversations with the answer and the arguments of each one's sample."""
        names = self.columns(samples.column_names)
        columns = [(samples.schema.field(name), samples.column(name)) for name in names]
        if self.answer is not None:
            texts = answer_texts(samples, self.answer, part.start)
            columns.append((pa.field(_ANSWER, texts.type), texts))
        rows = pc.subtract(sample_numbers(part, times), part.start) if columns else None
        for field, column in columns:
            conversations = conversations.append_column(field, pa.chunked_array(take_rows(column, rows), field.type))
        return conversations

    def of_users(self, texts: list[str]) -> list[str]:
        """Return the texts that the template makes of conversations of one message of the user."""
        users = pa.repeat(pa.scalar(_ROLES["HUMAN"]), len(texts))
        table = pa.table({_COLUMN: _lists(range(len(texts) + 1), users, pa.array(texts, pa.large_string()))})
        chats = ChatEngine(self._texts.renderer, _COLUMN, self._texts.strings, {})
        parts: list[Any] = list(chats.begin(RenderOptions(), None).parts(table, 0))
        return [text for part in parts for text in part.prompts.to_pylist()]

    def _spans(
        self,
        part: RenderedRows | Part,
        texts: pa.Array,
        parts: list[Any],
        answers: list[str] | None,
        column: str | None,
        *,
        is_detailed: bool,
    ) -> pa.Array:
        """Return the spans of texts: those of the chat template, with the origins of the messages within them."""
        requests = zip(to_pylist(part.prompts), texts.is_valid().to_pylist(), strict=True)
        conversations = [_conversation(request) if has_text else None for request, has_text in requests]
        of_parts: Any = part.spans
        of_messages = [None] * len(texts) if of_parts is None else of_parts.to_pylist()
        for row, conversation in enumerate(conversations):
            if conversation is not None and column is not None:
                of_messages[row] = _of_column(conversation, column)
            if conversation is not None and answers is not None:
                conversations[row], answer = _with_answer(conversation, answers[row], str(self.answer))
                of_messages[row] = [*(of_messages[row] or ()), answer]
        chat_spans = pa.concat_arrays([each.spans for each in parts])
        return composed_spans(texts, chat_spans, of_messages, conversations, self.spans_type(is_detailed=is_detailed))


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


def _ends_with_answer(settings: Mapping[str, Any]) -> bool:
    """Return true for a configuration whose prompts are messages, of which the last is an assistant's."""
    template = settings["prompt_template"]
    if isinstance(template, Mapping):
        template = template.get("messages", template.get("template"))
    last = template[-1] if isinstance(template, list) and template else None
    return isinstance(last, Mapping) and last.get("role") in ("assistant", "BOT")


def _are_chats(kind: pa.DataType) -> bool:
    """Return true for a type of chat messages, which have `role` and `content`."""
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return bool(is_list and pa.types.is_struct(kind.value_type) and kind.value_type.get_field_index(_CONTENT) >= 0)


def _conversations(prompts: pa.Array, refused: dict[int, str] | None) -> pa.Array:
    """Make conversations of requests: a text is the user's, roles have other names, and turns of one role are joined.

    Requests that can't be made into one are put into `refused`, unless it is None. Those without messages, because they
    couldn't be rendered, become anything: they have an error already.
    """
    types = pa.types
    if is_text(prompts.type):
        users = pa.repeat(pa.scalar(_ROLES["HUMAN"]), len(prompts))
        return _lists(range(len(prompts) + 1), users, prompts)
    if _are_chats(prompts.type):
        return prompts
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
        return ChatConversation([{"role": _ROLES["HUMAN"], _CONTENT: request}], [[0]])
    if request and all(_CONTENT in item or ("role" in item and "prompt" not in item) for item in request):
        return ChatConversation(request, [[number] for number in range(len(request))])
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


def _of_column(conversation: ChatConversation, column: str) -> list[_Span]:
    """Return the origins of messages that a column holds as they are."""
    return [
        {"message": number, "start": 0, "end": len(text.encode()), "source": "field", "column": column}
        for number, message in enumerate(conversation.messages)
        if isinstance(text := message.get(_CONTENT), str)
    ]


def _with_answer(conversation: ChatConversation, answer: str, column: str) -> tuple[ChatConversation, _Span]:
    """Return a conversation with the assistant's answer, and the origin of the answer."""
    messages, sources = conversation
    number = max((part for parts in sources for part in parts), default=-1) + 1
    message = {"role": _ROLES["BOT"], _CONTENT: answer}
    origin = {"message": number, "start": 0, "end": len(answer.encode()), "source": "field", "column": column}
    return ChatConversation([*messages, message], [*sources, [number]]), {**origin, "role": message["role"]}


class ChatConversation(NamedTuple):
    """The messages that a chat template gets, and the numbers of the parts that each is joined of, by line feeds."""

    messages: Sequence[Mapping[str, Any]]
    sources: Sequence[Sequence[int]]


def composed_spans(
    texts: pa.Array,
    chat_spans: pa.Array,
    message_spans: Sequence[Sequence[_Span] | None],
    conversations: Sequence[ChatConversation | None],
    data_type: pa.DataType,
) -> pa.Array:
    """Return the spans of texts that a chat template has made of messages.

    `chat_spans` say which bytes of a text come from which message, and `message_spans` where the bytes of a request's
    messages come from.
    """
    names = [field.name for field in data_type.value_type]
    rows: list[list[dict[str, Any]] | None] = []
    for text, outer, inner, conversation in zip(
        texts.to_pylist(), chat_spans.to_pylist(), message_spans, conversations, strict=True
    ):
        if text is None or outer is None or inner is None or conversation is None:
            rows.append(None)
            continue
        composed = _joined(_composed(text.encode(), outer, inner, conversation), names)
        rows.append([{name: span.get(name) for name in names} for span in composed])
    return pa.array(rows, data_type)


def _composed(
    text: bytes, outer: Sequence[_Span], inner: Sequence[_Span], conversation: ChatConversation
) -> Iterator[dict[str, Any]]:
    """Yield the spans of a text."""
    of_messages: dict[int, list[_Span]] = {}
    for span in inner:
        of_messages.setdefault(span.get("message") or 0, []).append(span)
    for span in outer:
        number, start, end = span["message"], span["start"], span["end"]
        if span["source"] == "template":
            yield {"start": start, "end": end, "source": "chat_template"}
            continue
        location = {"message": number, "path": span["path"]}
        offset = None
        if span["source"] == "field" and span["path"] == "content" and number is not None:
            offset = _offset(text[start:end].decode(), conversation.messages[number]["content"])
        if offset is None:
            source = "chat_template" if span["path"] == "role" else span["source"]
            source = "computed" if source == "field" else source
            of_argument = {"column": span["column"]} if source == "argument" else {}
            yield {**location, **of_argument, "start": start, "end": end, "source": source}
            continue
        position = 0
        for stretch, length in _stretches(conversation.sources[number], of_messages):
            first, last = max(position, offset), min(position + length, offset + end - start)
            if first < last:
                begin = start - offset
                yield {**stretch, **location, "start": begin + first, "end": begin + last}
            position += length


def _stretches(sources: Sequence[int], of_messages: Mapping[int, Sequence[_Span]]) -> Iterator[tuple[_Span, int]]:
    """Yield the origins of a message's text, each with its number of bytes."""
    for position, number in enumerate(sources):
        if position:
            yield {"source": "separator"}, 1
        for span in of_messages.get(number, ()):
            yield span, span["end"] - span["start"]


def _offset(part: str, content: str) -> int | None:
    """Return at which byte of a content a part begins; None if it isn't known.

    >>> _offset("a", " a a "), _offset("a a", " a a "), _offset("x", "y")
    (None, 1, None)
    """
    # Templates mostly strip contents: what is left has no other place.
    first = len(content) - len(content.lstrip()) if part == content.strip() else content.find(part)
    if first < 0 or (part != content.strip() and content.find(part, first + 1) >= 0):
        return None
    return len(content[:first].encode())


def _joined(spans: Iterator[dict[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    """Join neighbours of one origin, as far as these names tell origins apart."""
    compared = [name for name in names if name not in ("start", "end")]
    out: list[dict[str, Any]] = []
    for span in spans:
        if out and all(out[-1].get(name) == span.get(name) for name in compared):
            out[-1]["end"] = span["end"]
        else:
            out.append(dict(span))
    return out
