"""Hints for words and options that a command can't take: they name the option that the user probably wanted."""

from __future__ import annotations

import re
from argparse import Namespace
from pathlib import Path

from promptpress.engine.errors import UsageError

_COLUMN = re.compile(r"\{[^{}]*\}")
_PARAMETERS = ("temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "stop", "n", "logprobs")

_ALTERNATIVES = {
    ("show", "limit"): "--row 0-9 shows the first ten rows, and --max says how many of --grep",
    ("show", "html"): "promptpress view --html FILE writes a page",
    ("diff", "limit"): "--where chooses rows, and --max says how many differences are shown",
    ("tokenize", "order"): "token ids stay in the order of the samples; render has it for texts",
    ("stats", "out"): "the report is printed; stats ... --json > FILE keeps it",
}
"""Hints for options that other commands have, keyed by command and option."""

_WITHOUT_ERRORS = ("diff", "show", "view")


def refuse_misplaced(arguments: Namespace) -> None:
    """Refuse a template, a row number or an API's model name in the place of a configuration.

    Example:
        >>> refuse_misplaced(Namespace(command="show", config="Q: {question}"))
        Traceback (most recent call last):
        ...
        promptpress._errors.file_errors.UsageError: 'Q: {question}': this looks like a template, ...

    """
    if arguments.command == "join":
        return
    for word in filter(None, [*_listed(getattr(arguments, "config", None)), getattr(arguments, "other", None)]):
        if _COLUMN.search(word) and not Path(word).exists():
            more = ", and --template-b TEXT for B" if arguments.command == "diff" else ""
            raise UsageError(f"{word!r}: this looks like a template, which --template TEXT gives{more}")
        if arguments.command == "show" and word.isdecimal() and not Path(word).exists():
            raise UsageError(f"{word}: this looks like a row, which --row {word} shows")
    for word in _listed(getattr(arguments, "model", None)):
        # The name of an API's model may contain a dot, but it doesn't end with a file's suffix.
        if not re.search(r"\.[A-Za-z]+$|://", word) and not Path(word).exists():
            hint = "; --model-name NAME is what an API calls it" if hasattr(arguments, "model_name") else ""
            raise UsageError(f"--model {word}: a file that says how a model's roles speak is needed{hint}")


def _listed(value: str | list[str] | None) -> list[str]:
    return value if isinstance(value, list) else [value] if value else []


def alternative(command: str, option: str) -> str | None:
    r"""Return a hint for an option that a command lacks but that has an equivalent; None if there is none.

    Example:
        >>> alternative("export", "--temperature")
        'parameters of all requests go into --body \'{"temperature": ...}\''
        >>> alternative("show", "--html")
        'promptpress view --html FILE writes a page'

    """
    name = option.lstrip("-").replace("-", "_")
    if (command, name) in _ALTERNATIVES:
        return _ALTERNATIVES[command, name]
    if name == "errors" and command in _WITHOUT_ERRORS:
        return (
            "render, export, stats and audit have it; render --errors column --out FILE says why rows can't be rendered"
        )
    if command == "export" and name in _PARAMETERS:
        return f"parameters of all requests go into --body '{{\"{name}\": ...}}'"
    if command == "join" and name in ("template", "system", "shots", "shots_seed", "output_column"):
        return "of a template each request is a row of the samples: --table FILE takes the samples' own file"
    return None
