"""`promptpress export`: its options."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Any

from promptpress._cli.commands.command import Command
from promptpress._cli.errors import ExitCode
from promptpress._cli.options import (
    DATA_FORMATS,
    add_config,
    add_data,
    add_no_clobber,
    add_prompt_options,
    add_threads,
    add_traceback,
    names,
    natural,
    positive,
)

_DESCRIPTION = """\
Render every row of some files into requests, and write them as the next tool takes them.

  openai-batch   input files of OpenAI's Batch API; several where one would pass 50,000 requests or 200 MB
  vllm-batch     the input file of `vllm run-batch`
  litellm-batch  input files of LiteLLM's batches
  sharegpt       conversations of from and value, JSON lines
  messages-json  {"messages": [...]} of role and content, JSON lines
  datasets       a folder for Hugging Face's datasets.load_from_disk
  ray            rows for ray.data.llm: messages and sampling_params, as Parquet or Arrow

CONFIG and files are as for render. Prompts are rendered by --output openai unless another is said.
"""

_EXIT_CODES = """\
exit codes: 0 done, 1 unexpected, 2 command line, 3 configuration, 4 data, 5 output, 130 interrupted, 143 terminated.
Whatever goes wrong, either all files are there or none.
"""

KINDS = ("openai-batch", "vllm-batch", "litellm-batch", "sharegpt", "messages-json", "datasets", "ray")
"""What can be exported."""


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument("kind", metavar="FORM", choices=KINDS, help=f"one of {', '.join(KINDS)}")
    add_config(parser)
    add_data(parser)
    parser.add_argument(
        "--out", metavar="PATH", required=True, help="the file, or folder (datasets); - is JSON lines on stdout"
    )
    what = parser.add_argument_group("what is rendered, over what the configuration says")
    add_prompt_options(what)
    what.add_argument("--keep", type=names, action="extend", metavar="COL,COL", help="columns to keep beside, or: all")
    what.add_argument("--limit", type=natural, metavar="N", help="the first N samples only")

    batch = parser.add_argument_group("requests (openai-batch, vllm-batch, litellm-batch)")
    batch.add_argument("--model-name", metavar="NAME", help="the model's name for the API")
    batch.add_argument("--body", type=_json_object, metavar="JSON", help="parameters, '{\"temperature\": 0}'")
    batch.add_argument(
        "--body-columns", type=pairs, metavar="A=COL,B=COL", help="parameters of each row: max_tokens=answer_length"
    )
    batch.add_argument(
        "--custom-id", metavar="PATTERN", help="'{sample}-{label}', of any columns; default: what tells rows apart"
    )
    batch.add_argument("--url", metavar="URL", help="/v1/chat/completions (default), or /v1/completions for texts")
    batch.add_argument("--max-requests", type=positive, metavar="N", help="of a file")
    batch.add_argument("--max-bytes", type=positive, metavar="N", help="of a file")

    chat = parser.add_argument_group("conversations and rows")
    chat.add_argument("--answer", metavar="COL", help="its text is the assistant's last message (not ray)")
    chat.add_argument("--sampling-params", type=_json_object, metavar="JSON", help="ray: parameters of all rows")
    chat.add_argument("--sampling-columns", type=pairs, metavar="A=COL,B=COL", help="ray: parameters of each row")

    how = parser.add_argument_group("how")
    how.add_argument("--data-format", choices=DATA_FORMATS, help="of --data, whatever the suffix")
    how.add_argument("--batch-size", type=positive, default=65536, metavar="N", help="samples at a time (65536)")
    add_threads(how)

    add_no_clobber(how)

    talk = parser.add_argument_group("what is said")
    bar = talk.add_mutually_exclusive_group()
    bar.add_argument("--progress", action="store_true", help="a progress bar even where stderr is no terminal")
    bar.add_argument("--quiet", action="store_true", help="neither a bar, nor notes, nor the summary")
    talk.add_argument("--strict", action="store_true", help="what is probably a mistake is an error (exit code 3)")
    add_traceback(talk)


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text, object_pairs_hook=_without_twins)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is no JSON object: {error}") from None
    if not isinstance(value, dict):
        raise ArgumentTypeError(f"{text!r} is no JSON object, such as '{{\"temperature\": 0}}'")
    return value


def _without_twins(members: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(members)
    if len(out) < len(members):
        names = [name for name, _ in members]
        twin = next(name for name in names if names.count(name) > 1)
        message = f"it has {twin!r} twice"
        raise ValueError(message)
    return out


def pairs(text: str) -> dict[str, str]:
    """Read names and the columns that they come from.

    Raises:
        argparse.ArgumentTypeError: for what is no pair.

    Example:
        >>> pairs("max_tokens=length,seed=id")
        {'max_tokens': 'length', 'seed': 'id'}

    """
    out: dict[str, str] = {}
    for pair in text.split(","):
        name, equals, column = pair.partition("=")
        if not (name and equals and column):
            raise ArgumentTypeError(f"{pair!r} is no pair, such as max_tokens=answer_length")
        if name in out:
            raise ArgumentTypeError(f"{text!r}: {name!r} is there twice")
        out[name] = column
    return out


def _run(arguments: Namespace) -> ExitCode:
    from promptpress._cli.export import export  # noqa: PLC0415 - --help needn't wait for Arrow

    export(arguments)
    return ExitCode.OK


COMMAND = Command(
    "export",
    "render files of samples, and write them for the next tool",
    _DESCRIPTION,
    _EXIT_CODES,
    _add_options,
    _run,
    max_operands=2,
)
