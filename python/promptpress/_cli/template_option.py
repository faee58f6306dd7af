"""`--template`: a template on the command line in the place of a configuration."""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Callable
from typing import Any

import promptpress
from promptpress._config_files.config_file import Config
from promptpress._file_errors import UsageError

TEMPLATE = "--template"
"""What stands for the path of the configuration."""

_CHAT_OUTPUTS = ("messages", "messages_json", "openai")
_ICE_TOKEN = "</E>"
_ROLES = {
    "round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}],
    "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}],
}


def with_template(arguments: Namespace, read: Callable[[str], Config]) -> Callable[[str], Config]:
    """Have a template take the place of the configuration's file.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them; `config` is `TEMPLATE` from then on.
        read: what reads a file.

    Returns:
        What reads a file, or the template.

    Raises:
        UsageError: when there is neither CONFIG nor --template, or both; or an option that goes with the other.

    Example:
        >>> arguments = Namespace(
        ...     config=None, template="Q: {q}", system=None, shots=None, output_column=None, model=None, examples=None
        ... )
        >>> with_template(arguments, Config)(arguments.config).value
        {'prompt_template': 'Q: {q}'}

    """
    if getattr(arguments, "template", None) is None:
        for name in ("system", "shots", "output_column"):
            if getattr(arguments, name, None) is not None:
                raise UsageError(f"--{name.replace('_', '-')} goes with --template; a CONFIG says it itself")
        if arguments.config is None:
            raise UsageError("neither CONFIG nor --template; one of them says what a prompt is")
        return read
    if arguments.config == TEMPLATE:  # asked before
        return _reader(arguments, read)
    if arguments.config is not None:
        raise UsageError(f"--template beside {arguments.config}: one of them says what a prompt is")
    arguments.config = TEMPLATE
    _check(arguments)
    return _reader(arguments, read)


def _reader(arguments: Namespace, read: Callable[[str], Config]) -> Callable[[str], Config]:
    config = Config(TEMPLATE, _value(arguments), python=False)
    return lambda path: config if path == TEMPLATE else read(path)


def _check(arguments: Namespace) -> None:
    examples = getattr(arguments, "examples", None)
    column = arguments.output_column
    if examples and arguments.shots is None:
        raise UsageError("--examples: --shots N says how many of them stand before each prompt")
    if arguments.shots is not None:
        if column is None:
            raise UsageError("--shots: --output-column COL names the answers, which only examples show")
        names_it = f"{{{column}}}" in arguments.template
        if _is_chat(arguments) and names_it:
            raise UsageError(f"--template: {{{column}}} is what the assistant says in a chat; leave it out here")
        if not _is_chat(arguments) and not names_it:
            raise UsageError(f"--template: say where the answer of an example stands, by {{{column}}}")
    if "\\n" in arguments.template and "\n" not in arguments.template:
        message = (
            "--template: \\n is a backslash and an n, which go into the prompt as they are; "
            "in bash $'...' makes a line break of it"
        )
        warnings.warn(message, promptpress.PromptWarning, stacklevel=2)


def _is_chat(arguments: Namespace) -> bool:
    """Say whether the template is what the user of a chat says, instead of the whole prompt."""
    is_asked_for = getattr(arguments, "output", None) in _CHAT_OUTPUTS
    is_behind = getattr(arguments, "chat_template", None) is not None
    return is_asked_for or is_behind or arguments.system is not None or arguments.model is not None


def _value(arguments: Namespace) -> dict[str, Any]:
    """Write the options as a configuration."""
    value: dict[str, Any] = {}
    shot: Any = arguments.template
    prompt: Any = shot if arguments.shots is None else f"{_ICE_TOKEN}{shot}"
    if _is_chat(arguments):
        turns = [{"role": "HUMAN", "prompt": arguments.template}]
        if arguments.output_column is not None:
            turns.append({"role": "BOT", "prompt": f"{{{arguments.output_column}}}"})
        begin: list[Any] = []
        if arguments.system is not None:
            begin.append({"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": arguments.system})
        if arguments.shots is not None:
            begin.append(_ICE_TOKEN)
        shot = {"round": turns}
        prompt = {**({"begin": begin} if begin else {}), **shot}
        if arguments.model is None:
            value["meta_template"] = _ROLES
    value["prompt_template"] = prompt if isinstance(prompt, str) else {"type": "PromptTemplate", "template": prompt}
    if arguments.shots is not None:
        value["prompt_template"] = {"type": "PromptTemplate", "template": prompt, "ice_token": _ICE_TOKEN}
        value["ice_template"] = {"type": "PromptTemplate", "template": shot}
        value["retriever"] = {"type": "FixKRetriever", "fix_id_list": list(range(arguments.shots))}
    if arguments.output_column is not None:
        value["reader"] = {"output_column": arguments.output_column}
    return value
