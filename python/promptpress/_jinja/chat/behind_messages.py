"""A chat template behind the messages of a harness's configuration: what a Hugging Face model really gets.

The rules are those of OpenCompass 0.5.4 for its classes with a chat template (`HuggingFacewithChatTemplate`,
`VLLMwithChatTemplate`): what they make of messages before the tokenizer's template sees them.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from promptpress import _compute as pc
from promptpress import _text
from promptpress._core import Outcome, RenderError
from promptpress._errors import render_error, template_error
from promptpress._jinja.chat.chat_renderer import ChatRenderer
from promptpress._jinja.chat.settings import ChatSettings
from promptpress._jinja.chat.template import ChatTemplate
from promptpress._jinja.one_array import one_array
from promptpress._jinja.run import JinjaRun
from promptpress._model_classes import meta_template_of
from promptpress._sample_numbers import sample_numbers
from promptpress._to_pylist import to_pylist
from promptpress.typing import ChatTemplateLike

__all__ = ["BehindMessages"]

_ROLES = {"HUMAN": "user", "BOT": "assistant", "SYSTEM": "system"}
_STRINGS = {"string": pa.string(), "large_string": pa.large_string(), "string_view": pa.string_view()}
_COLUMN = "messages"
_MODEL_CLASS = "HuggingFacewithChatTemplate"


class BehindMessages:
    """Makes texts of a renderer's messages.

    Args:
        chat: The chat template. The text ends where the assistant is to speak, as it does in the harness, unless
            the template continues the last message.
        strings: The layout of the texts.

    """

    __slots__ = ("_renderer", "_strings", "chat")

    def __init__(self, chat: ChatTemplateLike, strings: str) -> None:
        if not isinstance(chat, ChatTemplate):
            message = f"expected a ChatTemplate, found a {type(chat).__name__}; see ChatTemplate.from_tokenizer"
            raise template_error("wrong_type", "chat_template", message)
        self.chat = chat
        self._strings = strings
        settings = chat._renderer.settings
        if settings.continued is None and settings.add_generation_prompt is False:
            self._renderer = ChatRenderer(dataclasses.replace(settings, add_generation_prompt=True))
        else:
            self._renderer = chat._renderer

    @property
    def chat_settings(self) -> ChatSettings:
        """What decides the texts."""
        return self._renderer.settings

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
        return pa.field(field.name, _STRINGS[self._strings])

    def texts(self, part: Outcome, times: int, limits: Mapping[str, int]) -> pa.Array:
        """The texts of requests.

        Args:
            part: Their messages.
            times: Requests of a sample, where all have as many.
            limits: The limits of the renderer that were given.

        Returns:
            One text a request.

        Raises:
            RenderError: With the sample whose messages have no text, or one that is too long; if the texts pass a limit
                or what one array can hold.

        """
        run = JinjaRun()

        def sample(request: int) -> int:
            return int(sample_numbers(part, times)[request].as_py())

        try:
            table = pa.table({_COLUMN: _conversations(part.prompts)})
            arrays = list(self._renderer.texts(table, _COLUMN, 0, self._strings, run))
            _check_limits(arrays, limits)
        except RenderError as error:
            row = None if error.row is None else sample(error.row)
            raise render_error(error.code, error.message, row) from error.__cause__
        object.__setattr__(self.chat, "_last_run", run)
        return one_array(arrays)


def _check_limits(texts: list[pa.Array], limits: Mapping[str, int]) -> None:
    """Refuse texts that pass a limit: a template writes more than the messages that the core has measured."""
    longest, most = limits.get("prompt_bytes"), limits.get("batch_bytes")
    if longest is None and most is None:
        return
    lengths = pc.binary_length(_without_views(pa.chunked_array(texts)))
    if longest is not None and (too_long := pc.indices_nonzero(pc.greater(lengths, longest))):
        message = (
            f'the prompt would have more than {longest} bytes; limits={{"prompt_bytes": {longest}}} allows no more'
        )
        raise render_error("limit_exceeded", message, too_long[0].as_py())
    if most is not None and (pc.sum(lengths.cast(pa.int64())).as_py() or 0) > most:
        message = (
            f'the batch\'s prompts would take more than {most} bytes; limits={{"batch_bytes": {most}}} allows no more: '
            "give smaller batches, or a higher limit"
        )
        raise render_error("limit_exceeded", message)


def _conversations(prompts: pa.Array) -> pa.Array:
    """Requests as conversations: a text is the user's, roles have other names, and turns of one role are joined."""
    types = pa.types
    if _is_text(prompts.type) and not prompts.null_count:
        users = pa.repeat(pa.scalar(_ROLES["HUMAN"]), len(prompts))
        return _lists(range(len(prompts) + 1), users, prompts)
    if types.is_list(prompts.type) or types.is_large_list(prompts.type):
        known = _known_roles(prompts)
        if known is not None:
            ends = pc.cumulative_sum(pc.cast(pc.list_value_length(prompts), pa.int64())).to_pylist()
            roles = pa.array(list(_ROLES.values())).take(known)
            return _lists([0, *ends], roles, prompts.flatten().field("prompt"))
    return _one_by_one(prompts)


def _known_roles(prompts: pa.Array) -> pa.Array | None:
    """The numbers of the messages' roles; None where a message is left out or joined, or isn't a role and a text."""
    items = prompts.flatten()
    is_message = pa.types.is_struct(items.type) and {field.name for field in items.type} == {"role", "prompt"}
    if not is_message or items.null_count or prompts.null_count:
        return None
    roles, contents = items.field("role"), items.field("prompt")
    if not _is_text(contents.type) or contents.null_count or not len(items):
        return None
    roles, contents = _without_views(roles), _without_views(contents)
    known = pc.index_in(roles, value_set=pa.array(list(_ROLES)).cast(roles.type))
    lengths = pc.binary_length(contents)
    if known.null_count or pc.min(lengths).as_py() == 0:
        return None
    of, others = pc.list_parent_indices(prompts), len(items) - 1
    together = pc.equal(of.slice(1), of.slice(0, others))
    alike = pc.equal(known.slice(1), known.slice(0, others))
    return None if pc.any(pc.and_(together, alike)).as_py() else known


def _without_views(texts: pa.Array) -> pa.Array:
    """Return texts of a layout that pyarrow's functions know."""
    return texts.cast(pa.large_string()) if pa.types.is_string_view(texts.type) else texts


def _is_text(data_type: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_string(data_type) or types.is_large_string(data_type) or types.is_string_view(data_type))


def _lists(ends: Any, roles: pa.Array, contents: pa.Array) -> pa.Array:
    messages = pa.StructArray.from_arrays([roles, contents], ["role", "content"])
    return pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), messages)


def _one_by_one(prompts: pa.Array) -> pa.Array:
    """Requests as conversations, as the harness makes them; as JSON, for contents may be anything."""
    try:
        requests = to_pylist(prompts)
    except Exception:  # pyarrow raises anything for a date after the year 9999
        _text.values(pa.chunked_array([prompts]), _COLUMN)  # names the row
        raise
    texts = []
    for row, request in enumerate(requests):
        try:
            texts.append(json.dumps(_conversation(request), ensure_ascii=False))
        except (KeyError, TypeError) as error:
            message = f"{type(error).__name__}: {error}; a chat template's messages are of HUMAN, BOT or SYSTEM"
            raise render_error("unmapped_role", message, row) from error
    return pa.array(texts, pa.large_string())


def _conversation(request: Any) -> list[dict[str, Any]]:
    if isinstance(request, str):
        return [{"role": _ROLES["HUMAN"], "content": request}]
    messages: list[dict[str, Any]] = []
    for item in request:
        if not item["prompt"]:
            continue
        role, content = _ROLES[item["role"]], item["prompt"]
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += "\n" + content
        else:
            messages.append({"role": role, "content": content})
    return messages
