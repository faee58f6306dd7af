"""The replacement of the function by which transformers renders chat templates.

`apply_chat_template` of tokenizers and of processors calls it with the conversations and the template, and does all the
rest itself: it chooses the template, checks arguments, makes tokens, masks and tensors. So only texts come from here.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import logging
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from promptpress._harnesses.bulk.monkeypatches import NotCoveredError, check_unpatched
from promptpress._jinja.chat.conversations import REASONING

if TYPE_CHECKING:
    from promptpress._jinja.chat.conversation_texts import ConversationTexts, TemplateCall

MODULE = "transformers.utils.chat_template_utils"
FUNCTION = "render_jinja_template"

_logger = logging.getLogger("promptpress.transformers")

_PARAMETERS = (
    *("conversations", "tools", "documents", "chat_template", "return_assistant_tokens_mask"),
    *("continue_final_message", "add_generation_prompt", "kwargs"),
)
_COMPILER = "_compile_jinja_template"
"""The function that compiles a template. If it is replaced, the templates' environment may be another."""
_ENVIRONMENT = "_cached_compile_jinja_template"
"""The function that makes the templates' environment."""
_REASONING = "_alias_reasoning_fields"
"""The function that stores a message's reasoning under each of its names. Releases before 5.21 lack it."""
_FUNCTIONS = (FUNCTION, "_plain_template_data", _REASONING, _ENVIRONMENT)
"""The functions whose rules the drop-in follows. Releases before 5.23 lack the second, which copies JSON's types."""
KNOWN_CODE = {
    "b952f0511bafc4e5": "5.24",
    "c5fde40ec642f5bb": "5.23",
    "088b540f591fc09e": "5.21 and 5.22",
    "eaa27dfe91580d16": "5.20",
}
"""The releases whose functions are known, by a digest of their source. Others may have other rules for some texts."""

Rendered = tuple[list[str], list[Any]]
Render = Callable[..., Rendered]


class _DropIn:
    """The state of the drop-in in this process.

    Args:
        is_enabled: True if it is on for all calls.
        is_called: True if it is on for the current call.
    """

    def __init__(self) -> None:
        self.is_enabled = False
        self.is_called: ContextVar[bool] = ContextVar("promptpress_chat_template", default=False)

    @functools.cached_property
    def texts(self) -> ConversationTexts:
        """Renders the conversations of all tokenizers and processors; kept when the drop-in is switched off."""
        from promptpress._jinja.chat.conversation_texts import ConversationTexts  # noqa: PLC0415 - needs Jinja2

        return ConversationTexts()


drop_in = _DropIn()


@functools.cache
def replacement(original: Render) -> Render:
    """Return a function that renders as the original does; the original itself if it isn't that of a known release.

    What is returned and raised is the same. The original renders what isn't certain: see `ConversationTexts`.
    """
    if not _is_covered(original):
        releases = ", ".join(KNOWN_CODE.values())
        _logger.warning(
            "transformers renders chat templates itself: its code isn't that of a known release (%s)", releases
        )
        return original
    names: dict[str, Any] = original.__globals__
    compiler = names[_COMPILER]
    copies_reasoning = _REASONING in names

    @functools.wraps(original)
    def render_jinja_template(  # noqa: PLR0917 - the parameters are the original's
        conversations: Any,
        tools: Any = None,
        documents: Any = None,
        chat_template: Any = None,
        return_assistant_tokens_mask: Any = False,
        continue_final_message: Any = False,
        add_generation_prompt: Any = False,
        **kwargs: Any,
    ) -> Rendered:
        arguments = {
            **kwargs,
            "tools": tools,
            "documents": documents,
            "continue_final_message": continue_final_message,
            "add_generation_prompt": add_generation_prompt,
        }

        def by_original(chats: Any) -> Rendered:
            return original(
                chats,
                chat_template=chat_template,
                return_assistant_tokens_mask=return_assistant_tokens_mask,
                **arguments,
            )

        if (
            not (drop_in.is_enabled or drop_in.is_called.get())
            or type(conversations) is not list
            or type(chat_template) is not str
            or return_assistant_tokens_mask
            or names.get(_COMPILER) is not compiler
            or not (copies_reasoning or all(map(_is_without_reasoning, conversations)))
            or (continue_final_message and add_generation_prompt)
        ):
            return by_original(conversations)
        call = drop_in.texts.call(chat_template, arguments, getattr(names.get("datetime"), "now", None))
        return by_original(conversations) if call is None else _rendered(call, conversations, by_original)

    return render_jinja_template


def _rendered(call: TemplateCall, conversations: list[Any], by_original: Render) -> Rendered:
    """Render conversations; those that only the original renders go to it together."""

    def original(chat: Any) -> str:
        return by_original([chat])[0][0]

    texts: list[Any] = []
    failure: Exception | None = None
    try:
        texts += [drop_in.texts.text(call, chat, original) for chat in conversations]
    except Exception as error:
        failure = error
    if failure is not None:
        # Outside the handler, so that errors have no context of ours. An earlier conversation's error comes first.
        rendered = by_original(conversations)
        _logger.warning("transformers renders conversations that the drop-in can't", exc_info=failure)
        return rendered
    left = [number for number, text in enumerate(texts) if text is None]
    if len(left) == len(texts):
        return by_original(conversations)
    if left:
        others, _ = by_original([conversations[number] for number in left])
        for number, text in zip(left, others, strict=True):
            texts[number] = text
    return texts, []


def _is_without_reasoning(conversation: Any) -> bool:
    return type(conversation) is list and not any(
        name in message for message in conversation if type(message) is dict for name in REASONING
    )


def _is_covered(original: Any) -> bool:
    """Return true if the function, and those that it calls, are the code of a known release, as its file has it."""
    if not inspect.isfunction(original) or original.__module__ != MODULE:
        return False
    names = original.__globals__
    if tuple(inspect.signature(original).parameters) != _PARAMETERS or _digest(names) not in KNOWN_CODE:
        return False
    try:
        for name in filter(names.__contains__, _FUNCTIONS):
            check_unpatched(MODULE, name, deeply=False)
    except NotCoveredError:
        return False
    return getattr(names.get(_COMPILER), "__module__", None) == MODULE


def _digest(names: dict[str, Any]) -> str:
    """Return a digest of the functions' source without comments; empty if there is none."""
    functions = [names[name] for name in _FUNCTIONS if name in names]
    if not all(map(inspect.isfunction, functions)):
        return ""
    try:
        lines = [line.strip() for function in functions for line in inspect.getsource(function).splitlines()]
    except OSError:
        return ""
    code = "\n".join(line for line in lines if line and not line.startswith("#"))
    return hashlib.sha256(code.encode()).hexdigest()[:16]
