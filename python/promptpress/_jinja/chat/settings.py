"""The arguments of a chat template, validated once."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from promptpress._errors.errors import template_error
from promptpress._jinja.chat.messages import plain
from promptpress._jinja.traced.origin import Origin
from promptpress._jinja.traced.values import traced

_FALLBACKS = ("jinja2", "refuse")
_RESERVED = frozenset({"chat_template", "conversations", "return_assistant_tokens_mask"})
"""Arguments that transformers passes to its `render_jinja_template` itself; no variable can have their names."""

_TOKEN = "_token"
"""The end of the names of variables that hold a tokenizer's special tokens."""


@dataclass(frozen=True)
class ChatSettings:
    """The arguments of a chat template that decide its texts.

    Args:
        source: The template.
        environment: The name of the environment in which the template is compiled.
        fallback: "jinja2" or "refuse": what happens to rows without a program.
        add_generation_prompt: Passed to the template.
        continued: The field of the last message that is continued, if any.
        tools: Schemas of tools.
        documents: Documents.
        now: The clock; None if the template doesn't read it.
        variables: Further variables of the template.
        is_marked: Whether marks stand around the texts of `{% generation %}` blocks.
    """

    source: str
    environment: str
    fallback: str
    add_generation_prompt: Any
    continued: str | None
    tools: list[Any] | None
    documents: Any
    now: datetime | None
    variables: dict[str, Any] = field(default_factory=dict)
    is_marked: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.source, str):
            message = (
                f"expected the template's text, found a {type(self.source).__name__}; "
                "ChatTemplate.from_tokenizer takes folders, configurations and tokenizers"
            )
            raise template_error("wrong_type", "source", message)
        if self.fallback not in _FALLBACKS:
            message = f"expected one of {', '.join(map(repr, _FALLBACKS))}, found {self.fallback!r}"
            raise template_error("unknown_name", "fallback", message)
        if self.continued is not None and self.add_generation_prompt:
            message = (
                "it can't go with add_generation_prompt: the one continues the last message, "
                "and the other begins a message of the assistant"
            )
            raise template_error("unsupported_mode", "continue_final_message", message)
        if "messages" in self.variables:
            message = "the messages are the column's; name the column by column="
            raise template_error("unknown_key", "messages", message)
        reserved = sorted(_RESERVED & set(self.variables)) if self.environment == "transformers" else []
        if reserved:
            message = (
                "transformers raises a TypeError for a variable of this name: its own function has such an argument"
            )
            raise template_error("unknown_key", reserved[0], message)

    def names(self) -> dict[str, Any]:
        """Return the variables of the template, without the messages."""
        return {
            "tools": self.tools,
            "documents": self.documents,
            "add_generation_prompt": self.add_generation_prompt,
            **self.variables,
        }

    def data(self) -> dict[str, Any]:
        """Return the variables that are data; special tokens are the template's own."""
        names = self.names().items()
        return {name: value for name, value in names if not isinstance(value, bool) and not name.endswith(_TOKEN)}

    def traced_names(self, containers: dict[int, Origin]) -> dict[str, Any]:
        """Return the variables as `names`; those that are data have origins. `containers` is as for `traced`."""
        given = {name: value for name, value in self.data().items() if value is not None}
        origins = {name: traced(value, Origin("argument", path=name), containers) for name, value in given.items()}
        return {**self.names(), **origins}


def tool_schemas(tools: Any) -> list[Any] | None:
    """Return tools as a template sees them.

    Args:
        tools: Dicts, or functions with annotations and a docstring, which transformers converts to dicts.

    Raises:
        TemplateError: If a tool is neither, or if it is a function and transformers isn't installed or can't read it.
    """
    if tools is None:
        return None
    schemas = []
    if isinstance(tools, (str, Mapping)) or not hasattr(tools, "__iter__"):
        raise template_error("wrong_type", "tools", f"expected a list of tools, found a {type(tools).__name__}")
    for number, tool in enumerate(tools):
        if isinstance(tool, dict):
            schemas.append(plain(tool))
        elif inspect.isfunction(tool) or inspect.ismethod(tool):
            schemas.append(plain(_schema(tool, f"tools[{number}]")))
        else:
            message = f"expected a schema, which is a dict, or a function, found a {type(tool).__name__}"
            raise template_error("wrong_type", f"tools[{number}]", message)
    return schemas


def _schema(function: Any, path: str) -> dict[str, Any]:
    try:
        make: Any = importlib.import_module("transformers.utils").get_json_schema
    except ImportError as error:
        message = (
            f"transformers makes schemas of functions, and it can't be imported ({error}); "
            f"give {function.__name__}'s schema, a dict"
        )
        raise template_error("wrong_type", path, message) from error
    try:
        schema: dict[str, Any] = make(function)
    except Exception as error:  # transformers has several exceptions for it
        raise template_error("wrong_type", path, f"{type(error).__name__}: {error}") from error
    return schema


def document_list(documents: Any) -> Any:
    """Return documents as a template sees them.

    Raises:
        TemplateError: If a document isn't a dict.
    """
    if documents is None:
        return None
    if isinstance(documents, (str, Mapping)) or not hasattr(documents, "__iter__"):
        message = f"expected a list of documents, found a {type(documents).__name__}"
        raise template_error("wrong_type", "documents", message)
    if not isinstance(documents, (list, tuple)):
        documents = list(documents)
    for number, document in enumerate(documents):
        if not isinstance(document, dict):
            message = f"expected a dict with 'title' and 'text', found a {type(document).__name__}"
            raise template_error("wrong_type", f"documents[{number}]", message)
    return plain(documents)
