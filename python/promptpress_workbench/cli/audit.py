"""`promptpress audit`: reports the findings over all rows as a table, or as JSON for programs."""

from __future__ import annotations

import json
import shlex
import sys
from argparse import Namespace
from datetime import datetime
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
from promptpress.engine import ConfiguredEngine, PromptColumn, engine_of
from promptpress.engine.errors import UsageError
from promptpress_harness.configs.config_file import read_config
from promptpress_harness.configs.selection import choose_dataset

from promptpress_workbench.audit.allowed import allowed_findings
from promptpress_workbench.audit.codes import LIMITS, SEVERITIES, known_codes
from promptpress_workbench.audit.collect import audit as audit_table
from promptpress_workbench.audit.findings import report_lines, summary
from promptpress_workbench.cli.arguments import parse
from promptpress_workbench.cli.configurations import token_counter
from promptpress_workbench.cli.errors import ExitCode, in_options
from promptpress_workbench.cli.options import option_name
from promptpress_workbench.cli.prompt_sources import NO_AUDIT, open_source
from promptpress_workbench.cli.prompt_stream import reading_errors
from promptpress_workbench.cli.run_counts import RunCounts, report_no_rows
from promptpress_workbench.cli.settings import Settings
from promptpress_workbench.cli.terminal import ColorChoice, Progress, Terminal, say
from promptpress_workbench.files.write.output_file import output_file, standard_output

_NOT_SHOWN = ("command", "sample", "seed", "threads", "color", "quiet", "traceback")
"""Arguments that `promptpress show` has too, and that make no difference to the prompt of a row."""


def audit(settings: Settings, arguments: Namespace) -> ExitCode:
    """Audit the prompts and report the findings; the exit code depends on `--fail-on`."""
    limits = {name: limit for name in LIMITS if (limit := getattr(arguments, f"max_{name}")) is not None}
    for name in limits:
        if LIMITS[name].needs_tokenizer and arguments.tokenizer is None:
            raise UsageError(f"{option_name(f'max_{name}')}: --tokenizer FILE says what counts them")
    if arguments.mask is not None and arguments.tokenizer is None:
        raise UsageError("--mask: what is trained are tokens; --tokenizer FILE says whose")
    counter = None if settings.tokenizer is None else token_counter(settings.tokenizer)
    allow, only = list(arguments.allow or ()), arguments.only
    try:
        known_codes(allow)
        known_codes(only or (), "only")
    except ValueError as error:
        raise UsageError(f"--{error}") from None
    renderer, samples = open_source(settings, allowed=("answer",))
    if isinstance(renderer, PromptColumn):
        raise UsageError(NO_AUDIT)
    is_configured = isinstance(engine_of(renderer), ConfiguredEngine)
    if is_configured and settings.config is not None:
        config = read_config(settings.config)
        allow += allowed_findings(config, choose_dataset(config, settings.dataset))
    with Progress(settings, samples.num_rows) as progress, reading_errors(samples):
        reader, column = samples.reader(progress.advance), None if is_configured else settings.answer
        number = int if samples.chosen is None else samples.chosen.number
        options = {"only": only, "mask": arguments.mask, "output_column": column}
        if arguments.mask is not None and settings.answer is not None:
            options["answer"] = settings.answer
        findings = audit_table(renderer, reader, counter, limits, allow, row_number=number, **options)
    samples.close()
    findings = _in_options(findings)
    if not (is_configured or settings.quiet):
        RunCounts(renderer).report()
    report_no_rows(settings, progress.rows)
    _write_report(arguments, findings)
    severities = findings["severity"].to_pylist()
    if not settings.quiet:
        say(summary(severities, progress.rows) + ("" if arguments.out is None else f": {arguments.out}"))
    if arguments.fail_on == "never":
        return ExitCode.OK
    serious = SEVERITIES[: SEVERITIES.index(arguments.fail_on) + 1]
    return ExitCode.FINDINGS if any(severity in serious for severity in severities) else ExitCode.OK


def _in_options(findings: pa.Table) -> pa.Table:
    """Return the findings with options in the place of Python arguments."""
    for name in ("message", "remedy"):
        texts = pa.array(map(in_options, findings[name].to_pylist()), pa.string())
        findings = findings.set_column(findings.schema.get_field_index(name), findings.schema.field(name), texts)
    return findings


def _write_report(arguments: Namespace, findings: pa.Table) -> None:
    """Write the findings to `--out` or standard output, in the format of `--out-format` or of the suffix."""
    suffix = Path(arguments.out or "").suffix.lower().lstrip(".")
    kind = arguments.out_format or (suffix if suffix in ("json", "jsonl") else "table")

    def write(stream: TextIO, color: ColorChoice, *, is_terminal: bool) -> None:
        if kind == "table":
            lines = report_lines(findings, partial(show_command, arguments))
            Terminal(stream, color, is_terminal=is_terminal).write(lines)
        elif kind == "jsonl":
            stream.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in findings.to_pylist()))
        else:
            stream.write(json.dumps(findings.to_pylist(), ensure_ascii=False, indent=2) + "\n")

    if arguments.out is None:
        with standard_output() as stdout:
            write(stdout, arguments.color, is_terminal=sys.stdout.isatty())
        return
    with output_file(arguments.out) as file:
        text = StringIO()
        write(text, "never", is_terminal=False)
        file.write(text.getvalue().encode("utf-8"))


def show_command(arguments: Namespace, row: int) -> str:
    """Return the command line of `promptpress show` for the prompt of a row, with all options that it has too."""
    words = ["promptpress", "show"]
    if arguments.config is not None and arguments.template is None:
        words.append(arguments.config)
    unset = vars(parse(["show"]))
    for name, value in vars(arguments).items():
        if name == "config" or name in _NOT_SHOWN or name not in unset or value == unset[name]:
            continue
        if name == "answer" and arguments.template is None:
            continue  # of an audit of templates, which show has not
        words += [option_name(name), *_values(name, value)]
    return " ".join(map(_quoted, [*words, "--row", str(row)]))


def _values(name: str, value: Any) -> list[str]:
    """Return the words of an option's value, as a command line has them."""
    if value is True:
        return []
    if isinstance(value, dict) or name == "labels":
        return [json.dumps(value, ensure_ascii=False)]
    if isinstance(value, datetime):
        return [value.isoformat()]
    if isinstance(value, list):
        return [f"{item[0]}={item[1]}" if isinstance(item, tuple) else str(item) for item in value]
    return [str(value)]


def _quoted(word: str) -> str:
    """Quote a word for a shell; a line feed and the like are written as escapes, which people can copy."""
    if word.isprintable():
        return shlex.quote(word)
    escaped = "".join(
        {"\\": "\\\\", "'": "\\'"}.get(letter, letter)
        if letter.isprintable()
        else letter.encode("unicode_escape").decode()
        for letter in word
    )
    return f"$'{escaped}'"
