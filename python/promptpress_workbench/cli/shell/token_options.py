"""Options that say how prompts are encoded, for the commands that write token ids."""

from __future__ import annotations

from argparse import BooleanOptionalAction, Namespace
from typing import Any, get_args

from promptpress.engine.errors import UsageError
from promptpress.engine.tokens import TokenSettings
from promptpress.typing import ControlTokens, Mask, Truncation

from promptpress_workbench.cli.shell.option_values import natural
from promptpress_workbench.cli.shell.option_words import in_options

TOKEN_OPTIONS: dict[str, dict[str, Any]] = {
    "--tokenizer": {
        "metavar": "FILE|NAME",
        "help": "a tokenizer.json, its folder, or a model in the local Hugging Face cache; nothing is downloaded",
    },
    "--mask": {
        "choices": get_args(Mask),
        "help": "add assistant_masks, which says what is trained: the {%% generation %%} blocks of a chat template, or"
        " what assistants say; and what ends the turn; and blanks after that",
    },
    "--token-labels": {"action": "store_true", "help": "add labels: the ids of trained tokens, else -100"},
    "--control-tokens": {
        "choices": get_args(ControlTokens),
        "help": "what data brings may be a control token (parse, default), or is text whatever it looks like (text)",
    },
    "--reasoning": {
        "action": "store_true",
        "default": None,
        "help": "train the reasoning of assistants too, with the tags around it",
    },
    "--last-turn": {"action": "store_true", "default": None, "help": "train only the last turn of an assistant"},
    "--offsets": {"action": "store_true", "help": "add offsets: where in its prompt each token stands"},
    "--max-tokens": {"type": natural, "metavar": "N", "help": "how many tokens a request may have"},
    "--truncation": {
        "choices": get_args(Truncation),
        "help": "what becomes of a request with more: an error (refuse, default), or where tokens are left out",
    },
    "--special-tokens": {
        "action": BooleanOptionalAction,
        "help": "put the tokenizer's special tokens around prompts, or not (default: not around those of a chat"
        " template, nor before a prompt that begins with one)",
    },
}
"""The options with the keywords of `add_argument`, in the order in which help lists them."""

_ARGUMENTS = {"token_labels": "labels", "special_tokens": "add_special_tokens"}
"""The arguments of `TokenSettings` whose names differ from the option's."""


def token_settings(arguments: Namespace, **more: Any) -> dict[str, Any]:
    """Return the arguments of `TokenSettings` that a command line gives.

    Args:
        arguments: The command line. It needn't have all options.
        more: Arguments that the command itself decides.

    Raises:
        UsageError: If an option needs another that isn't given.

    >>> token_settings(Namespace(mask="assistant", truncation=None), labels=True)
    {'mask': 'assistant', 'labels': True}

    """
    names = [option[2:].replace("-", "_") for option in TOKEN_OPTIONS if option != "--tokenizer"]
    given = {_ARGUMENTS.get(name, name): getattr(arguments, name, None) for name in names} | more
    settings = {name: value for name, value in given.items() if value is not None}
    try:
        TokenSettings(**settings)
    except ValueError as error:
        raise UsageError(in_options(str(error))) from error
    return settings
