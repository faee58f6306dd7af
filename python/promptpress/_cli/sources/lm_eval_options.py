"""Options for tasks of lm-evaluation-harness."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from promptpress._cli.shell.option_values import natural
from promptpress._cli.shell.options import BUDGET_OPTIONS, first_given
from promptpress._errors.file_errors import UsageError

_TASK_OPTIONS = ("task_format", "num_fewshot", "fewshot_as_multiturn", "processed_docs", "system_instruction")
_OTHER_OPTIONS = (
    *(
        "keep",
        "index",
        "order",
        "shared",
        "hashes",
        "template",
        "shots",
        "shots_seed",
        "output_column",
        "model",
        "dataset",
        "model_abbr",
        "jinja",
    ),
    *("column", "output", "roles", "mode", "labels", "substitution", "dialect", "strings", "system"),
    *("add_generation_prompt", "where", "sample", "tokenizer"),
    *BUDGET_OPTIONS,
)


def add_lm_eval(parser: ArgumentParser) -> None:
    """Add the options of tasks."""
    add = parser.add_argument_group("if CONFIG is a YAML task of lm-evaluation-harness").add_argument
    chosen = "the format of the prompts (mcqa, cloze, generate, cot), as TASK@NAME of lm_eval 0.5"
    add("--task-format", metavar="NAME", help=chosen)
    add("--num-fewshot", type=natural, metavar="N", help="number of examples from --examples, instead of the task's")
    multiturn = "with --chat-template: write each example as messages of its own"
    add("--fewshot-as-multiturn", action="store_true", default=None, help=multiturn)
    add("--system-instruction", metavar="TEXT", help="a text before the description")
    add("--seed", type=int, metavar="N", help="the seed for the choice of examples (1234); else that of --sample (0)")
    processed = "--data contains what the task's process_docs returns"
    add("--processed-docs", action="store_true", default=None, help=processed)


def refuse_lm_eval(arguments: Namespace) -> None:
    """Refuse the options of tasks if there is no task."""
    option = first_given(arguments, _TASK_OPTIONS)
    if option is not None:
        raise UsageError(f"{option} is for tasks of lm-evaluation-harness, and there is none")


def refuse_others(arguments: Namespace) -> None:
    """Refuse options that don't apply to a task."""
    option = first_given(arguments, _OTHER_OPTIONS)
    if option is not None:
        hint = "; --system-instruction says what stands first" if option == "--system" else ""
        raise UsageError(
            f"{option}: {arguments.config} is a task of lm-evaluation-harness, which says itself what a request is"
            f"{hint}"
        )
    if arguments.fewshot_as_multiturn and arguments.chat_template is None:
        raise UsageError("--fewshot-as-multiturn: examples are messages in a chat; --chat-template says which")
