"""Settings of a chat template, and the sources of templates: folders, files, configurations, and tokenizers.

A model without a template may have an encoder in its place: the Python file of its folder, or a library.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from promptpress._errors.errors import did_you_mean, template_error
from promptpress._errors.file_errors import ConfigError
from promptpress._errors.left_out import CODES
from promptpress._jinja.chat.arguments import RESERVED
from promptpress._jinja.chat.conversations import plain
from promptpress._jinja.chat.roles import TurnRules
from promptpress._jinja.traced_values import TEMPLATE, Origin, traced

_FALLBACKS = ("jinja2", "refuse")
_TOKEN = "_token"
"""The end of the names of variables that hold a tokenizer's special tokens."""


@dataclass(frozen=True)
class ChatSettings:
    """The arguments of a chat template that decide its texts.

    `fallback` is "jinja2" or "refuse"; `continued` is the field of the last message that is continued; `now` is None if
    the template doesn't read the clock; with `is_marked`, marks stand around the texts of `{% generation %}` blocks.
    `roles` are other names of roles; `system` is "merge" or None.
    `argument_columns` has the columns of arguments that each row has of its own, or is None if nothing says which.
    `refuse` are the codes of what no text may lack.
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
    roles: dict[str, str] = field(default_factory=dict)
    system: str | None = None
    decode_arguments: bool = False
    argument_columns: dict[str, str] | None = None
    refuse: tuple[str, ...] = ()

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
        if self.system not in (None, "merge"):
            raise template_error("unknown_name", "system", f"expected 'merge' or None, found {self.system!r}")
        if not isinstance(self.decode_arguments, bool):
            message = f"expected a bool, found a {type(self.decode_arguments).__name__}"
            raise template_error("wrong_type", "decode_arguments", message)
        if self.continued is not None and self.add_generation_prompt:
            message = (
                "it can't go with add_generation_prompt: the one continues the last message, "
                "and the other begins a message of the assistant"
            )
            raise template_error("unsupported_mode", "continue_final_message", message)
        if "messages" in self.variables:
            raise template_error("unknown_key", "messages", "the messages are the column's; name the column by column=")
        reserved = sorted(RESERVED & set(self.variables)) if self.environment == "transformers" else []
        if reserved:
            message = (
                "transformers raises a TypeError for a variable of this name: its own function has such an argument"
            )
            raise template_error("unknown_key", reserved[0], message)

    @property
    def turn_rules(self) -> TurnRules:
        """The rules by which messages become those that the template reads."""
        return TurnRules(self.roles, self.decode_arguments)

    def names(self, arguments: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
        """Return the variables of the template, without the messages; `arguments` are those of a row."""
        return {
            "tools": self.tools,
            "documents": self.documents,
            "add_generation_prompt": self.add_generation_prompt,
            **self.variables,
            **arguments,
        }

    def data(self, arguments: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
        """Return the variables that are data; special tokens are the template's own."""
        names = self.names(arguments).items()
        return {name: value for name, value in names if type(value) is not bool and not name.endswith(_TOKEN)}

    def traced_names(
        self, containers: dict[int, Origin], arguments: Mapping[str, Any] = MappingProxyType({})
    ) -> dict[str, Any]:
        """Return the variables as `names`; those that are data have origins. `containers` is as for `traced`."""
        origins = {
            name: traced(value, argument_origin(name, of_row=name in arguments), containers)
            for name, value in self.data(arguments).items()
            if value is not None
        }
        return {**self.names(arguments), **origins}


def argument_origin(name: str, *, of_row: bool) -> Origin:
    """Return the origin of an argument; one of a row has its name in the place of the column."""
    if of_row and name.endswith(_TOKEN):
        return TEMPLATE
    return Origin("argument", name if of_row else None, path=name)


def left_out_codes(refuse: Any) -> tuple[str, ...]:
    """Check and return the codes of what no text may lack."""
    codes = [refuse] if isinstance(refuse, str) else list(refuse)
    for code in codes:
        if code not in CODES:
            hint = did_you_mean(code, CODES) if isinstance(code, str) else ""
            names = ", ".join(map(repr, sorted(CODES)))
            raise template_error("unknown_name", "refuse", f"there is no code {code!r}{hint}; there are {names}")
    return tuple(sorted(set(codes)))


def role_names(roles: Any) -> dict[str, str]:
    """Check and return other names of roles."""
    if roles is None:
        return {}
    if not isinstance(roles, Mapping):
        message = f"expected a dict of roles and their other names, found a {type(roles).__name__}"
        raise template_error("wrong_type", "roles", message)
    for role, name in roles.items():
        if type(role) is not str or type(name) is not str or not name:
            message = f"expected names of roles, which are texts that aren't empty, found {role!r}: {name!r}"
            raise template_error("wrong_type", "roles", message)
    return dict(roles)


def tool_schemas(tools: Any) -> list[Any] | None:
    """Return tools as a template sees them; transformers converts functions with a docstring to dicts."""
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
    """Return documents as a template sees them."""
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


_STANDARD = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_CONFIG, _SPECIAL_TOKENS = "tokenizer_config.json", "special_tokens_map.json"
_TEMPLATE, _MORE_TEMPLATES, _OLD_TEMPLATE = "chat_template.jinja", "additional_chat_templates", "chat_template.json"
_METHOD, _MODULES = "apply_chat_template", ("transformers.tokenization_utils_base", "transformers.processing_utils")
"""The method that renders templates, and the modules of transformers that have it; others encode in their own way."""
_FUNCTION = re.compile(
    r"^[ \t]*(?:async[ \t]+)?def[ \t]+(\w*(?:encode|render|build|format|apply)\w*)[ \t]*\("
    r"\s*(?:self\s*,\s*)?(?:messages|conversations?|chat)\b",
    re.MULTILINE,
)
"""A function that makes something of a conversation, which is its first argument."""
_NAME = re.compile(r"(?!test_|modeling_|_).*(?:encod|tokeniz|chat|template|render|prompt|message)", re.IGNORECASE)
"""The names of files that may hold such a function."""
_MAX_BYTES = 1 << 20
"""Larger files are no encoders, and aren't read."""
_LIBRARY_OF_TYPE = {"gpt_oss": "openai-harmony"}
"""The library that encodes conversations, by the type of the model in `config.json`."""
_LIBRARY_OF_FILE = {"tekken.json": "mistral-common"}
"""The library that encodes conversations, by a file that only such models have."""


_BY_TOOLS = "{{% if tools is not none %}}\n{}{{%+ else %}}\n{}{{%+ endif %}}"
"""A template of two. A line feed after a block is no text, and begins a line, as the beginning of a template does."""


class TokenizerTemplates(NamedTuple):
    """The chat templates of a tokenizer by name (a single one is "default"), and its special tokens.

    `source_name` stands in errors. `encoder` is what encodes conversations in the place of a template, if that is
    known.
    """

    templates: dict[str, str]
    tokens: dict[str, str]
    source_name: str
    encoder: str | None = None

    def chosen(self, name: str | None, *, tools: Literal["given", "of_rows", "none"]) -> str:
        """Return the source of a template, chosen as `apply_chat_template` does.

        Without a name, it is "tool_use" if there are tools and such a template, else "default"; if rows have tools, it
        is both, of which each row takes one.
        """
        if not self.templates:
            template_file = Path(self.source_name).with_name(_TEMPLATE)
            has_file = self.source_name.endswith(".json") and template_file.is_file()
            if self.encoder is not None and not has_file:
                raise _encoded_in_python(self.source_name, self.encoder)
            remedy = (
                f"{template_file} may be it: give the folder"
                if has_file
                else "give its source: ChatTemplate(source, ...)"
            )
            raise template_error("missing_template", "source", f"{self.source_name} has no chat template; {remedy}")
        if name is None and tools == "of_rows" and {"default", "tool_use"} <= self.templates.keys():
            return _BY_TOOLS.format(*(self.templates[of].removesuffix("\n") for of in ("tool_use", "default")))
        if name is None:
            name = "tool_use" if tools == "given" and "tool_use" in self.templates else "default"
        if name not in self.templates:
            names = ", ".join(map(repr, sorted(self.templates)))
            remedy = did_you_mean(name, list(self.templates))
            message = (
                f"{self.source_name} has no chat template {name!r}; it has {names}{remedy or '; name one by template='}"
            )
            raise template_error("unknown_name", "template", message)
        return self.templates[name]


def templates_of(source: Any) -> TokenizerTemplates:
    """Read the chat templates and special tokens of a tokenizer.

    The source is a folder, a file (`tokenizer_config.json`, `chat_template.jinja`, `chat_template.json`), a dict as in
    `tokenizer_config.json`, or an object with `chat_template` and `special_tokens_map`.
    """
    if isinstance(source, Mapping):
        return TokenizerTemplates(_named(source.get("chat_template")), _tokens(source), "the configuration")
    if isinstance(source, (str, os.PathLike)):
        path = Path(os.fspath(source))
        if path.is_dir():
            return _of_folder(path)
        if path.suffix == ".json":
            content = templates_of(_json(path))
            encoder = None if content.templates else encoder_of(path.parent)
            return content._replace(source_name=str(path), encoder=encoder)
        if path.suffix == ".jinja":
            return TokenizerTemplates({"default": _text(path)}, {}, str(path))
        message = f"{path} is no folder, and no file of a tokenizer ({_CONFIG}, {_TEMPLATE}, {_OLD_TEMPLATE})"
        raise template_error("unreadable_config", "source", message)
    kind = type(source).__name__
    tokenizer = source if hasattr(source, "special_tokens_map") else getattr(source, "tokenizer", None)
    templates = _named(getattr(source, "chat_template", None))
    encoder = None if templates else _encoder_in_memory(source, tokenizer)
    if encoder is None and not hasattr(source, "chat_template"):
        message = f"expected a folder, a configuration or a tokenizer, found a {kind}, which has no chat_template"
        raise template_error("wrong_type", "source", message)
    tokens = getattr(tokenizer, "special_tokens_map", {})
    texts = {str(name): str(token) for name, token in tokens.items() if not isinstance(token, (list, tuple))}
    return TokenizerTemplates(templates, texts, f"the {kind}", encoder)


def _of_folder(folder: Path) -> TokenizerTemplates:
    config = _json(folder / _CONFIG) if (folder / _CONFIG).is_file() else {}
    tokens = dict(config)
    if "added_tokens_decoder" not in config and (folder / _SPECIAL_TOKENS).is_file():
        tokens.update(_json(folder / _SPECIAL_TOKENS))
    templates = {}
    if (folder / _TEMPLATE).is_file():
        templates["default"] = _text(folder / _TEMPLATE)
    if (folder / _MORE_TEMPLATES).is_dir():
        for file in sorted((folder / _MORE_TEMPLATES).glob("*.jinja")):
            templates[file.name.removesuffix(".jinja")] = _text(file)
    templates = templates or _named(config.get("chat_template"))
    if not templates and (folder / _OLD_TEMPLATE).is_file():
        templates = _named(_json(folder / _OLD_TEMPLATE).get("chat_template"))
    return TokenizerTemplates(templates, _tokens(tokens), str(folder), None if templates else encoder_of(folder))


def _encoder_in_memory(source: Any, tokenizer: Any) -> str | None:
    """Return what encodes conversations for a tokenizer or a processor without a template, if that is known."""
    method = getattr(type(source), _METHOD, None)
    if inspect.isfunction(method) and method.__module__ not in _MODULES:
        return f"{method.__qualname__} in {method.__module__}"
    folder = getattr(tokenizer, "name_or_path", None)
    return encoder_of(Path(folder)) if isinstance(folder, str) and Path(folder).is_dir() else None


def _encoded_in_python(source_name: str, encoder: str) -> ConfigError:
    message = (
        f"{source_name} has no Jinja template, for {encoder} encodes the conversations of this model, and another "
        "model's template gives other texts; encode them with it, and keep the column of texts: "
        'JinjaTemplate("{{ text }}") renders and tokenizes it as it is'
    )
    error = ConfigError(f"source: {message}")
    error.code, error.path, error.message = "missing_template", "source", message
    return error


def _named(template: Any) -> dict[str, str]:
    """Return templates by name, given what a configuration or a tokenizer has."""
    if template is None:
        return {}
    if isinstance(template, str):
        return {"default": template}
    try:
        is_mapping = isinstance(template, Mapping)
        out = dict(template if is_mapping else ((entry["name"], entry["template"]) for entry in template))
    except (TypeError, KeyError):
        out = {"": None}
    if not all(isinstance(text, str) for text in (*out, *out.values())):
        message = 'expected a text, or a list of {"name": ..., "template": ...}'
        raise template_error("wrong_type", "chat_template", message)
    return out


def _tokens(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the special tokens of a configuration: texts, or dicts with the text as their `content`."""
    tokens = {}
    for more in ("model_specific_special_tokens", "extra_special_tokens"):
        if isinstance(config.get(more), Mapping):
            tokens.update(config[more])
    tokens.update({name: value for name, value in config.items() if name in _STANDARD or name.endswith("_token")})
    texts = {name: token.get("content") if isinstance(token, Mapping) else token for name, token in tokens.items()}
    return {name: text for name, text in texts.items() if isinstance(text, str)}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise template_error("unreadable_config", "source", f"{path} can't be read: {error}") from error


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(_text(path))
    except ValueError as error:
        raise template_error("unreadable_config", "source", f"{path} holds no JSON: {error}") from error
    if not isinstance(content, dict):
        raise template_error("unreadable_config", "source", f"{path} holds no object, but a {type(content).__name__}")
    return content


def encoder_of(folder: Path) -> str | None:
    """Return the encoder of a model whose tokenizer has no chat template, as an error names it; None without one.

    Nothing is imported or run: files are read as texts.
    """
    files = [*folder.glob("*.py"), *folder.glob("encod*/*.py")]
    names = {file.relative_to(folder).as_posix(): file for file in files if _NAME.match(file.name)}
    # A tokenizer's class may have a method of its own, which calls the encoder that lies beside it.
    for name in sorted(names, key=lambda name: ("encod" not in name, name)):
        if function := _FUNCTION.search(_code(names[name])):
            return f"{name} ({function[1]})"
    try:
        config = json.loads(_code(folder / "config.json") or "{}")
    except (ValueError, RecursionError):
        config = {}
    library = _LIBRARY_OF_TYPE.get(str(config.get("model_type"))) if isinstance(config, dict) else None
    for file, name in _LIBRARY_OF_FILE.items():
        library = library or (name if (folder / file).is_file() else None)
    return library and f"the library {library}"


def _code(file: Path) -> str:
    """Read a file; return an empty text if that can't be done, or if the file is large."""
    try:
        return file.read_text(encoding="utf-8", errors="replace") if file.stat().st_size <= _MAX_BYTES else ""
    except OSError:
        return ""
