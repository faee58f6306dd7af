"""One short text for all that decides the bytes of prompts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from promptpress._config.settings import token_texts
from promptpress._fingerprint.examples import content
from promptpress._fingerprint.rules import RULES
from promptpress._fingerprint.settings import deciding_settings
from promptpress._fingerprint.written import written

if TYPE_CHECKING:
    from promptpress._config.configuration import Configuration
    from promptpress._jinja.chat.settings import ChatSettings


def of_configuration(configuration: Configuration, chat: ChatSettings | None = None) -> str:
    """Return the fingerprint of a renderer."""
    settings, core = configuration.settings, configuration.core
    single_pass = settings.get("substitution") == "single_pass"
    parts = {
        "settings": deciding_settings(settings, core),
        "examples": content(configuration.examples, core, single_pass=single_pass),
        "tokens": _tokens(configuration),
        "chat_template": None if chat is None else _chat(chat),
    }
    return _hex("renderer", parts)


def of_jinja_template(arguments: Mapping[str, Any]) -> str:
    """The fingerprint of a Jinja template."""
    now = arguments["now"]
    parts = {
        "source": arguments["source"],
        "environment": arguments["environment"],
        "now": None if now is None else now.isoformat(),
        **arguments["options"],
    }
    return _hex("jinja template", parts)


def of_chat_template(settings: ChatSettings, column: str) -> str:
    """The fingerprint of a chat template over a column."""
    return _hex("chat template", {**_chat(settings), "column": column})


def _chat(settings: ChatSettings) -> dict[str, Any]:
    return {
        "source": settings.source,
        "environment": settings.environment,
        "add_generation_prompt": settings.add_generation_prompt,
        "continued": settings.continued,
        "tools": settings.tools,
        "documents": settings.documents,
        "now": None if settings.now is None else settings.now.isoformat(),
        "variables": dict(sorted(settings.variables.items())),
    }


def _tokens(configuration: Configuration) -> list[list[Any]] | None:
    """The texts of the token ids that the meta template names: a function has no other content."""
    if configuration.tokens is None:
        return None
    texts: dict[int, str | None] = {}
    find = token_texts(configuration.tokens)

    def text(token: int) -> str | None:
        texts[token] = find(token)
        return texts[token]

    configuration.compile(text)
    return [[token, texts[token]] for token in sorted(texts)] or None


def _hex(kind: str, parts: dict[str, Any]) -> str:
    return hashlib.sha256(written(["promptpress fingerprint", RULES, kind, parts])).hexdigest()
