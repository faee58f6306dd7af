"""What was probably meant by a word that stands where it can't: the option that it belongs to."""

from __future__ import annotations

import re
from argparse import Namespace
from pathlib import Path

from promptpress._file_errors import UsageError

_COLUMN = re.compile(r"\{[^{}]*\}")
_PARAMETERS = ("temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "stop", "n", "logprobs")


def refuse_misplaced(arguments: Namespace) -> None:
    """Refuse a template, the number of a row, or the name of an API's model in the place of a configuration.

    Args:
        arguments: as the parser has read them.

    Raises:
        UsageError: naming the option that says it.

    Example:
        >>> refuse_misplaced(Namespace(command="show", config="Q: {question}"))
        Traceback (most recent call last):
        ...
        promptpress._file_errors.UsageError: 'Q: {question}': this looks like a template, which --template TEXT gives

    """
    if arguments.command == "join":
        return
    config = getattr(arguments, "config", None)
    words = [*(config if isinstance(config, list) else [config]), getattr(arguments, "other", None)]
    for word in filter(None, words):
        if _COLUMN.search(word) and not Path(word).exists():
            more = ", and --template-b TEXT for B" if arguments.command == "diff" else ""
            raise UsageError(f"{word!r}: this looks like a template, which --template TEXT gives{more}")
        if arguments.command == "show" and word.isdecimal() and not Path(word).exists():
            raise UsageError(f"{word}: this looks like a row, which --row {word} shows")
    model = getattr(arguments, "model", None)
    for word in model if isinstance(model, list) else [model] if model else []:
        # A name of an API's model may have a dot in it, but no suffix of a file.
        if not re.search(r"\.[A-Za-z]+$|://", word) and not Path(word).exists():
            hint = "; --model-name NAME is what an API calls it" if hasattr(arguments, "model_name") else ""
            raise UsageError(f"--model {word}: a file that says how a model's roles speak is needed{hint}")


def other_way(command: str, option: str) -> str | None:
    r"""Say what does what an option would do that a command doesn't have.

    Args:
        command: the command.
        option: the option, `--temperature`.

    Returns:
        The hint; None where nothing is known.

    Example:
        >>> other_way("export", "--temperature")
        'parameters of all requests go into --body \'{"temperature": ...}\''

    """
    name = option.lstrip("-").replace("-", "_")
    if command == "export" and name in _PARAMETERS:
        return f"parameters of all requests go into --body '{{\"{name}\": ...}}'"
    if command == "join" and name in ("template", "system", "shots", "output_column"):
        return "of a template each request is a row of the samples: --table FILE takes the samples' own file"
    return None
