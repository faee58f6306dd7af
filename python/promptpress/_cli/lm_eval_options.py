"""What is said of a task of lm-evaluation-harness on the command line."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from promptpress._cli.options import natural
from promptpress._file_errors import UsageError

_OWN = ("num_fewshot", "fewshot_as_multiturn", "seed", "processed_docs", "system_instruction")
_OTHERS = (
    *(
        "keep",
        "index",
        "hashes",
        "template",
        "shots",
        "output_column",
        "model",
        "dataset",
        "model_abbr",
        "jinja",
        "column",
    ),
    *("output", "roles", "mode", "labels", "substitution", "dialect", "strings", "system", "add_generation_prompt"),
)


def add_lm_eval(parser: ArgumentParser) -> None:
    """Add the options of tasks.

    Args:
        parser: the command's.

    """
    add = parser.add_argument_group("where CONFIG is a YAML task of lm-evaluation-harness").add_argument
    add("--num-fewshot", type=natural, metavar="N", help="how many examples, whatever it says; --examples has them")
    add("--fewshot-as-multiturn", action="store_true", default=None, help="with --chat-template: examples are messages")
    add("--system-instruction", metavar="TEXT", help="stands before the description")
    add("--seed", type=int, metavar="N", help="of the examples' draws (1234)")
    add("--processed-docs", action="store_true", default=None, help="--data holds what the task's process_docs returns")


def refuse_lm_eval(arguments: Namespace) -> None:
    """Refuse the options of tasks where there is none.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Raises:
        UsageError: naming the option.

    """
    for name in _OWN:
        if getattr(arguments, name) is not None:
            raise UsageError(f"--{name.replace('_', '-')} is for tasks of lm-evaluation-harness, and there is none")


def refuse_others(arguments: Namespace) -> None:
    """Refuse options that a task has no use for.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Raises:
        UsageError: naming the option.

    """
    for name in _OTHERS:
        if getattr(arguments, name) is not None:
            hint = "; --system-instruction says what stands first" if name == "system" else ""
            raise UsageError(
                f"--{name.replace('_', '-')}: {arguments.config} is a task of lm-evaluation-harness, which says "
                f"itself what a request is{hint}"
            )
    if arguments.fewshot_as_multiturn and arguments.chat_template is None:
        raise UsageError("--fewshot-as-multiturn: examples are messages in a chat; --chat-template says which")
