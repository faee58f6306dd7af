"""`promptpress audit`: findings over all rows, for people and for machines."""

from __future__ import annotations

import json
import shlex
import sys
from argparse import Namespace
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa

import promptpress
from promptpress._audit.codes import SEVERITIES, known_codes
from promptpress._audit.report import report_lines, summary
from promptpress._cli.configured_renderer import configuration, renderer_of
from promptpress._cli.errors import ExitCode
from promptpress._cli.jinja_options import has_own_source
from promptpress._cli.progress import Progress
from promptpress._cli.prompt_stream import errors_of
from promptpress._cli.terminal import Terminal
from promptpress._cli.threads import set_threads
from promptpress._cli.token_counter import token_counter
from promptpress._config_files.config_file import Config, read_config
from promptpress._config_files.selection import Selection
from promptpress._file_errors import ConfigError, UsageError
from promptpress._inputs.formats import STDIN
from promptpress._inputs.samples import Samples, example_rows
from promptpress._model_classes import did_you_mean
from promptpress._outputs.output_file import output_file, standard_output

_SHOWN = (
    *("template", "system", "output_column", "shots", "model", "dataset", "model_abbr"),
    *("data", "examples", "data_format", "chat_template"),
    *("output", "roles", "mode", "labels", "substitution", "dialect"),
)
"""Options that `show` takes to make the same prompts."""


def audit(arguments: Namespace) -> ExitCode:
    """Do what the command line says.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Returns:
        Whether something is found that is serious enough.

    Raises:
        FileError: when something is wrong, by kind.
        promptpress.TemplateError: when the configuration is.
        promptpress.RenderError: when the data don't fit it.

    """
    set_threads(arguments.threads)
    if has_own_source(arguments):
        option = "--jinja" if arguments.jinja is not None else "--chat-template"
        raise UsageError(f"{option}: an audit is of a configuration: CONFIG, or --template TEXT")
    if arguments.max_tokens is not None and arguments.tokenizer is None:
        raise UsageError("--max-tokens: --tokenizer FILE says what counts them")
    counter = None if arguments.tokenizer is None else token_counter(arguments.tokenizer)
    allow = list(arguments.allow or ())
    try:
        known_codes(allow)
    except ValueError as error:
        raise UsageError(f"--{error}") from None
    renderer, of_config = _renderer(arguments)
    samples = Samples(arguments.data, arguments.data_format, arguments.batch_size, arguments.limit)
    limits = {name: limit for name in ("bytes", "tokens") if (limit := getattr(arguments, f"max_{name}")) is not None}
    rows = 0

    def count(more: int) -> None:
        nonlocal rows
        rows += more
        progress.advance(more)

    is_shown = arguments.progress or (not arguments.quiet and sys.stderr.isatty())
    with Progress(samples.num_rows, is_shown=is_shown) as progress, errors_of(samples):
        found = renderer.audit(samples.reader(count), tokenizer=counter, limits=limits, allow=[*allow, *of_config])
    samples.close()
    _tell(arguments, found)
    severities = found["severity"].to_pylist()
    if not arguments.quiet:
        where = "" if arguments.out is None else f": {arguments.out}"
        print(f"promptpress: {summary(severities, rows)}{where}", file=sys.stderr)
    if arguments.fail_on == "never":
        return ExitCode.OK
    serious = SEVERITIES[: SEVERITIES.index(arguments.fail_on) + 1]
    return ExitCode.FOUND if any(severity in serious for severity in severities) else ExitCode.OK


def _renderer(arguments: Namespace) -> tuple[promptpress.Renderer, list[str]]:
    """Make the renderer, and read which findings its configuration allows."""
    if all(STDIN in (getattr(arguments, name) or ()) for name in ("data", "examples")):
        raise UsageError("standard input is named twice, by --data and --examples; it can be read once")
    files: list[Config] = []

    def read(path: str) -> Config:
        files.append(read_config(path))
        return files[-1]

    chosen, model = configuration(arguments, read)
    renderer = renderer_of(arguments, chosen, model, example_rows(arguments.examples, arguments.data_format))
    return renderer, allowed_by(files[0], chosen) if files else []


def allowed_by(config: Config, chosen: Selection) -> list[str]:
    """Read which findings a configuration allows: `audit: {allow: [...]}` of the file, and of the dataset's dict.

    Args:
        config: The file.
        chosen: The dataset.

    Returns:
        The codes.

    Raises:
        ConfigError: When it says something else there.

    Example:
        >>> config = Config("a.json", {"prompt_template": "{q}", "audit": {"allow": ["null_value"]}}, python=False)
        >>> allowed_by(config, Selection())
        ['null_value']

    """
    out: list[str] = []
    for held in (config.value, chosen.dataset):
        given = held.get("audit") if isinstance(held, Mapping) else None
        if given is None or (config.python and not isinstance(given, Mapping)):
            continue
        if not isinstance(given, Mapping):
            raise ConfigError(f"{config.path}: audit: expected a mapping with 'allow', found a {type(given).__name__}")
        for key in given:
            if key != "allow":
                hint = did_you_mean(str(key), ["allow"]) or "; it may have 'allow'"
                raise ConfigError(f"{config.path}: audit.{key}: unknown{hint}")
        codes = given.get("allow") or ()
        try:
            known_codes(codes)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{config.path}: audit.{error}") from None
        out += codes
    return out


def _tell(arguments: Namespace, found: pa.Table) -> None:
    suffix = Path(arguments.out or "").suffix.lower().lstrip(".")
    kind = arguments.format or (suffix if suffix in ("json", "jsonl") else "table")
    if arguments.out is not None:
        with output_file(arguments.out) as file:
            stream = StringIO()
            stream_text = _page(stream, arguments, found) if kind == "table" else _data(found, kind)
            file.write(stream_text.encode("utf-8"))
        return
    with standard_output() as stdout:
        if kind != "table":
            stdout.write(_data(found, kind))
            return
        terminal = Terminal(stdout, arguments.color, is_terminal=sys.stdout.isatty())
        terminal.write(report_lines(found, lambda row: shown_by(arguments, row)))


def _page(stream: StringIO, arguments: Namespace, found: pa.Table) -> str:
    Terminal(stream, "never").write(report_lines(found, lambda row: shown_by(arguments, row)))
    return stream.getvalue()


def _data(found: pa.Table, kind: str) -> str:
    rows: list[dict[str, Any]] = found.to_pylist()
    if kind == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return json.dumps(rows, ensure_ascii=False, indent=2) + "\n"


def shown_by(arguments: Namespace, row: int) -> str:
    """Give the command that shows a row's prompt.

    Args:
        arguments: of the audit.
        row: the row.

    Returns:
        A line for a shell.

    Example:
        >>> none = dict.fromkeys((*_SHOWN, "chat_argument"))
        >>> shown_by(Namespace(**{**none, "config": "a.json", "data": ["b c.csv"]}), 17)
        "promptpress show a.json --data 'b c.csv' --row 17"

    """
    words = ["promptpress", "show"]
    if arguments.config is not None and arguments.template is None:
        words.append(arguments.config)
    for name in _SHOWN:
        value = getattr(arguments, name)
        if value is None:
            continue
        words.append(f"--{name.replace('_', '-')}")
        if name in ("roles", "labels"):
            words.append(json.dumps(value, ensure_ascii=False))
        else:
            words += value if isinstance(value, list) else [str(value)]
    if arguments.chat_argument:
        words += ["--chat-argument", *(f"{name}={value}" for name, value in arguments.chat_argument)]
    return shlex.join([*words, "--row", str(row)])
