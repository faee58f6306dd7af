"""Messages for Python callers in the words of the command: options in the place of arguments."""

from __future__ import annotations

import re

_PHRASES = {
    'substitution="single_pass" leaves values alone': "--substitution single_pass leaves values alone",
    'fallback="jinja2" has Jinja2 render it': "--fallback jinja2 has Jinja2 render it",
    "answer= names": "--answer COL names",
    "labels=True needs": "--token-labels needs",
    "reasoning=True needs": "--reasoning needs",
    "last_turn=True needs": "--last-turn needs",
    "alone (last_turn=True)": "alone (--last-turn)",
    "max_tokens= allows": "--max-tokens allows",
    "tokenizer= applies it": "--tokenizer FILE applies it",
    "fewshot_docs: shots are drawn": "--examples: shots are drawn",
    "name it by column=": "--column names it",
    "name one by template=": "name one by --chat-argument template=NAME",
    "ChatTemplate renders such a column": "--chat-template FOLDER renders such a column",
    "ChatTemplate.from_tokenizer(FOLDER) with": "--chat-template FOLDER with",
    'JinjaTemplate("{{ text }}") renders and': "--jinja '{{ text }}' renders and",
}
"""Phrases that aren't an argument with its value, each with the phrase for users of the command."""

_OPTIONS = (
    *("chat_template", "column", "data_format", "dialect", "environment", "errors", "examples", "fallback", "index"),
    *("keep", "labels", "limit", "limits", "mask", "max_tokens", "mode", "output", "output_column", "roles", "seed"),
    *("shots", "strings"),
    *("substitution", "system", "fit", "fit_labels", "max_seq_len", "reserve"),
    *("template", "tokenizer", "truncation", "unknown"),
)
"""Arguments that are options of the same name, but for `_RENAMED`."""

_RENAMED = {"seed": "shots-seed"}
"""Arguments whose options have other names."""

_KEYS = (
    *("ice_template", "inferencer", "meta_template", "names", "prompt_template", "reader", "refuse", "retriever"),
    "tokens",
)
"""Arguments that a configuration has as keys."""

_CHAT_ARGUMENTS = (r"\w+_token", "tools", "documents", "continue_final_message")

_LIMIT = re.compile(r'\blimits=\{"(\w+)": (\d+)\}')
_VALUE = r'(?<![\w.])({})=("(?P<value>[^"\s]*)"|(?![\w"\'({{\[=]))'
_OPTION = re.compile(_VALUE.format("|".join(_OPTIONS)))
_KEY = re.compile(_VALUE.format("|".join(_KEYS)))
_CHAT_ARGUMENT = re.compile(_VALUE.format("|".join(_CHAT_ARGUMENTS)))
_ROLE = re.compile(r"by roles=\{'(.*)': 'user'\}", re.DOTALL)
_PLAIN_ROLE = re.compile(r"[^\s,='\"{\\]+")


def in_options(text: str) -> str:
    """Return a message with options, or keys of the configuration, in the place of Python arguments.

    Example:
        >>> in_options("the table has no such column; name it by column=")
        'the table has no such column; --column names it'
        >>> in_options('the list holds something else; use output="messages_json"')
        'the list holds something else; use --output messages_json'
        >>> in_options("rename that by names=")
        'rename that by names: in the configuration'
        >>> in_options("say which it is by roles={'critic': 'user'}")
        "say which it is by --roles 'critic=user', or roles: in the configuration"

    """
    for of_python, of_options in _PHRASES.items():
        text = text.replace(of_python, of_options)
    text = _LIMIT.sub(r"--limits \1=\2", text)
    text = _OPTION.sub(
        lambda match: f"--{_RENAMED.get(match[1], match[1].replace('_', '-'))}{_spaced(match['value'])}", text
    )
    text = _KEY.sub(lambda match: f"{match[1]}:{_spaced(match['value'])} in the configuration", text)
    text = _CHAT_ARGUMENT.sub(lambda match: f"--chat-argument {match[1]}={match['value'] or 'VALUE'}", text)
    return _ROLE.sub(_role_option, text)


def _spaced(value: str | None) -> str:
    return f" {value}" if value else ""


def _role_option(match: re.Match[str]) -> str:
    role = match[1]
    example = f"--roles '{role}=user'" if _PLAIN_ROLE.fullmatch(role) else "--roles, as a JSON object"
    return f"by {example}, or roles: in the configuration"
