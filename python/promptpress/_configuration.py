"""What a renderer is made of: settings, examples and texts of tokens, compiled once a process."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from promptpress import _core
from promptpress._errors import template_error
from promptpress._ipc_bytes import bytes_table, table_bytes
from promptpress._process import install_printable
from promptpress._remedies import with_remedy
from promptpress._settings import canonical
from promptpress._table_equality import same_texts
from promptpress._tables import for_core
from promptpress._token_texts import token_texts
from promptpress.typing import ChatTemplateLike, Tokens

if TYPE_CHECKING:
    from promptpress._jinja.chat.behind_messages import BehindMessages
    from promptpress._jinja.chat.template import ChatTemplate

__all__ = ["Configuration", "behind_messages"]

_DEFAULTS = {"dialect": "opencompass", "substitution": "harness", "strings": "string"}
_NAME = re.compile(r"\{([^{}]*)\}")


def behind_messages(chat: ChatTemplateLike, settings: Mapping[str, Any]) -> BehindMessages:
    """What makes texts of messages.

    Args:
        chat: The chat template.
        settings: The renderer's.

    Raises:
        TemplateError: If it is none.

    """
    from promptpress._jinja.chat.behind_messages import BehindMessages  # noqa: PLC0415 - it needs Jinja2

    return BehindMessages(chat, settings["strings"])


class Configuration:
    """A renderer's configuration: compared, hashed, pickled, and compiled when it is first needed.

    Args:
        settings: Arguments of `Renderer` but `examples` and `tokens`, as `plain_settings` gives them.
        examples: The table of examples.
        tokens: Texts of token ids.
        chat: A chat template behind the messages.

    >>> one, other = (Configuration({"prompt_template": "{q}"}, None, None) for _ in range(2))
    >>> one == other
    True

    """

    __slots__ = ("_fingerprint", "chat", "compiled", "examples", "settings", "tokens")

    chat: BehindMessages | None
    compiled: _core.CompiledRenderer | None
    examples: pa.Table | None
    settings: dict[str, Any]
    tokens: Tokens | None

    def __init__(
        self,
        settings: dict[str, Any],
        examples: pa.Table | None,
        tokens: Tokens | None,
        chat: BehindMessages | None = None,
    ) -> None:
        self.chat = chat
        self.settings = settings
        self.examples = examples
        self.tokens = tokens
        self.compiled = None
        self._fingerprint: str | None = None

    @property
    def core(self) -> _core.CompiledRenderer:
        """The configuration, compiled: once, and again in a process that was forked.

        Raises:
            TemplateError: If the configuration is wrong.

        """
        if self.compiled is None or self.compiled.orphaned_by_fork:
            self.compiled = self.compile(None if self.tokens is None else token_texts(self.tokens))
        assert self.compiled is not None
        return self.compiled

    def compile(self, text: Callable[[int], str | None] | None) -> _core.CompiledRenderer:
        """Compile it.

        Args:
            text: What gives the texts of token ids; it is called for those that are needed.

        Raises:
            TemplateError: If the configuration is wrong.

        """
        install_printable()
        examples, lower = (None, None) if self.examples is None else for_core(self.examples, of="examples")
        try:
            return _core.CompiledRenderer(self.settings, examples, text, lower)
        except _core.TemplateError as error:
            raise with_remedy(error, self.settings, has_examples=examples is not None) from None

    def fingerprint(self) -> str:
        """What is the same for all that writes the same bytes; computed once.

        Raises:
            TemplateError: If the configuration is wrong.

        """
        if self._fingerprint is None:
            from promptpress._fingerprint.fingerprint import of_configuration  # noqa: PLC0415 - seldom asked for

            self._fingerprint = of_configuration(self)
        return self._fingerprint

    def output_fields(self, schema: pa.Schema) -> list[pa.Field]:
        """The columns that the output has of its own.

        Args:
            schema: The samples', as the core has it.

        """
        fields = list(self.core.output_fields(schema))
        return fields if self.chat is None else [*fields[:-1], self.chat.field(fields[-1])]

    def spans_type(self, schema: pa.Schema, detail: bool | None) -> pa.DataType | None:
        """The type of a request's spans; None where they aren't asked for.

        Args:
            schema: The samples', as the core has it.
            detail: Whether they are asked for in detail; None: not at all.

        Raises:
            TemplateError: If the request is a chat template's text, of which nobody says where its bytes come from.

        """
        if detail is None:
            return None
        self.refuse_chat("spans")
        return self.core.spans_field(schema, detail).field(0).type

    def prompts(self, part: _core.Outcome, times: int) -> pa.Array:
        """The requests of a part, as they come out.

        Args:
            part: What the core has rendered.
            times: Requests of a sample, where all have as many.

        Raises:
            RenderError: If the chat template has no text for one, or one that passes a limit.

        """
        return part.prompts if self.chat is None else self.chat.texts(part, times, self.settings["limits"] or {})

    def refuse_chat(self, what: str) -> None:
        """Refuse what isn't there for texts of a chat template.

        Args:
            what: What was asked for.

        Raises:
            TemplateError: If they are.

        """
        if self.chat is not None:
            message = f"{what} isn't available for what a chat template makes of messages; leave chat_template= out"
            raise template_error("unsupported_mode", "chat_template", message)

    def required_columns(self) -> list[str]:
        """List the names in braces of all templates, and the columns of labels and choices; without a masked one."""
        found: dict[str, None] = {}
        for literal in self.core.literals:
            found.update(dict.fromkeys(_NAME.findall(literal)))
        masked = self.core.masked_column
        for column in (self.core.label_column, self.core.index_column):
            if column is not None:
                found[column] = None
                masked = None if column == masked else masked
        return [name for name in found if name != masked]

    def refuse_replies(self) -> None:
        """Refuse conversations whose requests depend on the model's replies.

        Raises:
            TemplateError: If it is one.

        """
        if self.core.wants_replies:
            message = (
                '"every" needs the model\'s replies; use converse(samples), or the modes "every_with_gt" and "last"'
            )
            raise template_error("unsupported_mode", "inferencer.infer_mode", message)

    def refuse_label_column(self, what: str) -> None:
        """Refuse labels that are the values of a column.

        Args:
            what: What doesn't know all the rows.

        Raises:
            TemplateError: If they are.

        """
        if self.core.label_column is not None:
            message = (
                f"they would be the values of column {self.core.label_column!r}, which {what} doesn't know "
                "as a whole; give labels="
            )
            raise template_error("depends_on_other_rows", "labels", message)

    def refuse_position(self) -> None:
        """Refuse a retriever that goes by the sample's position.

        Raises:
            TemplateError: If it does.

        """
        if self.core.by_position:
            message = (
                "it goes by the sample's position, which a batch alone doesn't know; "
                'give the choice of retrieve(num_samples) as a column, by {"type": "IndexColumn", "column": ...}'
            )
            raise template_error("depends_on_other_rows", "retriever", message)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Configuration):
            return NotImplemented
        if canonical(self.settings) != canonical(other.settings) or self.tokens != other.tokens:
            return False
        if self._chat_template() != other._chat_template():
            return False
        if self.examples is None or other.examples is None:
            return self.examples is other.examples
        return same_texts(self.examples, other.examples)

    def __hash__(self) -> int:
        return hash(canonical(self.settings))

    def state(self) -> dict[str, Any]:
        """What a pickle holds: all but what is compiled."""
        # As a stream: pickling a table would take along whatever larger table it is a slice of.
        examples = None if self.examples is None else table_bytes(self.examples)
        state = {"settings": self.settings, "examples": examples, "tokens": self.tokens}
        return state if self.chat is None else {**state, "chat": self._chat_template()}

    def _chat_template(self) -> ChatTemplate | None:
        return None if self.chat is None else self.chat.chat

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> Configuration:
        """The configuration of a pickle, which isn't compiled yet.

        Args:
            state: What `state` gave.

        """
        examples, chat = state["examples"], state.get("chat")
        if chat is not None:
            chat = behind_messages(chat, state["settings"])
        return cls(**{**state, "examples": None if examples is None else bytes_table(examples), "chat": chat})

    def __repr__(self) -> str:
        """The arguments that were given, as in a call."""
        given = [f"{key}={value!r}" for key, value in self.settings.items() if value != _DEFAULTS.get(key)]
        if self.examples is not None:
            given.insert(3, f"examples=<{self.examples.num_rows} rows of {', '.join(self.examples.column_names)}>")
        if self.tokens is not None:
            given.append("tokens=...")
        if self.chat is not None:
            given.append(f"chat_template={self.chat.chat!r}")
        return ", ".join(given)
