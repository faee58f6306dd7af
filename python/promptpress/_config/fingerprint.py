"""One short text for all that decides the bytes of prompts.

Settings and their defaults come from the core. A difference that may make none stays a difference: equal fingerprints
promise equal bytes, and different ones promise nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from promptpress._config.hashed_values import content, written
from promptpress._config.request_hash import RULES
from promptpress._config.settings import token_texts
from promptpress._core import OUTPUT_FORMS, TEMPLATE_KEYS, CompiledRenderer

if TYPE_CHECKING:
    from promptpress._config.configuration import Configuration

ChatSettings = Any
"""The settings of a chat template, of a room above this one."""

_SECTIONS = {"begin", "round", "end"}
_CHATTING = ("ChatInferencer", "ParallelChatInferencer")
_EMPTY: Mapping[str, Any] = {}


def deciding_settings(settings: Mapping[str, Any], core: CompiledRenderer) -> dict[str, Any]:
    """Give what decides the bytes of prompts: defaults filled in, keys whose order says nothing in alphabetical order.

    Left out are `strings` and `names`, which say how columns are laid out and called, `refuse`, which says what becomes
    an error, and what nobody reads here, such as a reader's splits.
    """
    inferencer = settings.get("inferencer") or _EMPTY
    family = _last_part(inferencer.get("type"))
    meta, prompt, ice = (settings.get(name) for name in ("meta_template", "prompt_template", "ice_template"))
    # A JSON text has the keys of a message in the order in which they are given; elsewhere they have names.
    order_counts = OUTPUT_FORMS[core.settings["output"]].writes_json
    labels = core.labels
    if labels is None:
        labels = settings.get("labels") if settings.get("labels") is not None else inferencer.get("labels")
    deciding = {
        **core.settings,
        "ice_template": _template(ice, order_counts=order_counts),
        "is_chat": family in _CHATTING,
        "label_column": core.label_column,
        "labels": labels,
        "meta_template": _meta(meta, order_counts=order_counts),
        "prompt_template": _template(prompt, order_counts=order_counts),
        "reader": _reader(settings.get("reader") or _EMPTY),
        "retriever": _retriever(settings.get("retriever") or _EMPTY, core.settings["retriever"]),
        "roles": _by_key(settings.get("roles") or {}),
    }
    return _by_key(deciding)


def _template(value: Any, *, order_counts: bool) -> Any:
    if not isinstance(value, dict):
        if isinstance(value, list):
            return ["messages", _items(value, order_counts=order_counts)]
        return None if value is None else _of_family("PromptTemplate", {"template": value})
    keys = set(value)
    if "type" in keys:
        family = _last_part(value["type"])
    elif "template" in keys and keys.issubset(TEMPLATE_KEYS["PromptTemplate"]):
        family = "PromptTemplate"
    elif "messages" in keys and keys.issubset(TEMPLATE_KEYS["RawPromptTemplate"]):
        family = "RawPromptTemplate"
    else:
        return _of_family("PromptTemplate", {"template": _body(value, order_counts=order_counts)})
    parts = {key: item for key, item in value.items() if key != "type"}
    if family == "RawPromptTemplate":
        if isinstance(parts.get("messages"), list):
            parts["messages"] = _items(parts["messages"], order_counts=order_counts)
        parts["format_variables"] = bool(parts.get("format_variables", True))
    else:
        parts = {key: item for key, item in parts.items() if key not in {"ice_token", "sep_token"} or item is not None}
        parts["template"] = _body(parts.get("template"), order_counts=order_counts)
    return _of_family(family, parts)


def _of_family(family: str, parts: dict[str, Any]) -> dict[str, Any]:
    return {"family": family, "parts": _by_key(parts)}


def _body(value: Any, *, order_counts: bool) -> Any:
    """A template without what is around it: a dict is a dialogue or a label map, whose order is that of the labels."""
    if isinstance(value, list):
        return _items(value, order_counts=order_counts)
    if not isinstance(value, dict):
        return value
    inner = {key: _body(item, order_counts=order_counts) for key, item in value.items()}
    return _by_key(inner) if set(inner) <= _SECTIONS else inner


def _items(items: list[Any], *, order_counts: bool) -> list[Any]:
    """Turns, messages or roles: their keys are looked up by name. What a key holds stays as it is."""
    return [_by_key(item) if isinstance(item, dict) and not order_counts else item for item in items]


def _meta(value: Any, *, order_counts: bool) -> Any:
    if isinstance(value, list):
        return _items(value, order_counts=order_counts) or None
    if not isinstance(value, dict):
        return value or None
    lists = {
        key: _items(item, order_counts=order_counts) if isinstance(item, list) else item
        for key, item in value.items()
        if key != "eos_token_id"  # where a model stops is no part of a prompt
    }
    return _by_key(lists) if value else None


def _reader(value: Mapping[str, Any]) -> dict[str, Any]:
    columns = value.get("input_columns")
    columns = columns.split() if isinstance(columns, str) else columns
    return {"input_columns": columns or [], "output_column": value.get("output_column") or None}


def _retriever(value: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The retriever; the rows of a fixed choice stand among the examples, by what they say."""
    filled = {**defaults, **value, "type": defaults["type"]}
    # Only `RandomRetriever` reads a number of examples.
    ignored = {"fix_id_list", "index_split", "test_split", "accelerator", *({"ice_num"} - defaults.keys())}
    return _by_key({key: item for key, item in filled.items() if key not in ignored})


def _last_part(name: Any) -> str:
    return name.rpartition(".")[2] if isinstance(name, str) else ""


def _by_key(value: Mapping[Any, Any]) -> dict[Any, Any]:
    return dict(sorted(value.items(), key=lambda item: (type(item[0]).__name__, str(item[0]))))


def of_configuration(configuration: Configuration, chat: ChatSettings | None = None, answer: str | None = None) -> str:
    """Return the fingerprint of a renderer, whose chats end with the answers of a column or not."""
    settings, core = configuration.settings, configuration.core
    single_pass = settings.get("substitution") == "single_pass"
    parts = {
        "settings": deciding_settings(settings, core),
        "examples": content(configuration.examples, core, single_pass=single_pass),
        "tokens": _tokens(configuration),
        "chat_template": None if chat is None else _chat(chat),
        **_answer(answer),
    }
    return _hex("renderer", parts)


def of_jinja_template(arguments: Mapping[str, Any]) -> str:
    now = arguments["now"]
    parts = {
        "source": arguments["source"],
        "environment": arguments["environment"],
        "now": None if now is None else now.isoformat(),
        **({} if arguments["constants"] == "{}" else {"constants": arguments["constants"]}),
        **arguments["options"],
    }
    return _hex("jinja template", parts)


def of_chat_template(settings: ChatSettings, column: str, answer: str | None = None) -> str:
    return _hex("chat template", {**_chat(settings), "column": column, **_answer(answer)})


def of_staged(texts: str, settings: ChatSettings, answer: str | None) -> str:
    """Return the fingerprint of a chat template after texts that have one themselves."""
    return _hex("chat of texts", {**_chat(settings), "texts": texts, **_answer(answer)})


def _answer(column: str | None) -> dict[str, str]:
    return {} if column is None else {"answer": column}


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
        # Settings that usually aren't given: without them a fingerprint is what it was before there were any.
        **({"roles": _by_key(settings.roles)} if settings.roles else {}),
        **({"system": settings.system} if settings.system else {}),
        **({"decode_arguments": True} if settings.decode_arguments else {}),
        **({} if settings.argument_columns is None else {"argument_columns": _by_key(settings.argument_columns)}),
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
