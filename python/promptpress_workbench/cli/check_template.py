"""`promptpress check-template`: prints the facts about chat templates, each with the code of what may be a mistake."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpress import ConfigError, TemplateError
from promptpress.engine.errors import UsageError, counted, did_you_mean

from promptpress_workbench.audit.codes import SEVERITIES
from promptpress_workbench.cli.errors import ExitCode
from promptpress_workbench.cli.jinja_sources import chat_template
from promptpress_workbench.cli.settings import Settings
from promptpress_workbench.cli.terminal import Terminal
from promptpress_workbench.files.write.output_file import standard_output
from promptpress_workbench.prompts.escapes import printable
from promptpress_workbench.prompts.layout import Fragment, Line
from promptpress_workbench.template_check.facts import FINDINGS, Fact, facts_of

if TYPE_CHECKING:
    from promptpress import ChatTemplate

_FILES = ("chat_template.jinja", "tokenizer_config.json", "chat_template.json")
_MAX_ANSWER = 88


def check_template(settings: Settings, arguments: Namespace) -> ExitCode:
    """Check the templates and print the facts; the exit code tells if one of them is serious."""
    allowed = arguments.allow or ()
    for code in allowed:
        if code not in FINDINGS:
            hint = did_you_mean(code, FINDINGS) or f"; they are {', '.join(FINDINGS)}"
            raise UsageError(f"--allow: there is no code {code!r}{hint}")
    paths = [path for given in arguments.paths for path in _paths(Path(given))]
    checks: dict[str, list[Fact]] = {}
    for path in paths:
        try:
            facts = facts_of(partial(_template, settings, path))
        except (ConfigError, TemplateError) as error:
            if len(paths) == 1:
                raise
            facts = [Fact("template", str(error), "unrenderable_row")]
        checks[str(path)] = [replace(fact, code=None) if fact.code in allowed else fact for fact in facts]
    with standard_output() as stream:
        if arguments.json:
            listed = {name: [{**asdict(fact), "severity": fact.severity} for fact in checks[name]] for name in checks}
            templates = [{"template": name, "facts": facts} for name, facts in listed.items()]
            print(json.dumps({"templates": templates}, ensure_ascii=False), file=stream)
        else:
            terminal = Terminal(stream, arguments.color, is_terminal=sys.stdout.isatty())
            for name, facts in checks.items():
                is_short = len(checks) > 1 and not arguments.verbose
                terminal.write([_summary(name, facts)] if is_short else _lines(name, facts, arguments.verbose))
    serious = () if arguments.fail_on == "never" else SEVERITIES[: SEVERITIES.index(arguments.fail_on) + 1]
    is_serious = any(fact.severity in serious for facts in checks.values() for fact in facts)
    return ExitCode.FINDINGS if is_serious else ExitCode.OK


def _paths(path: Path) -> list[Path]:
    """Return a template's path, or those of all templates in a folder that is no model's."""
    if not path.exists():
        raise ConfigError(f"{path}: no such file or folder")
    files = sorted(path.glob("*.jinja")) if path.is_dir() else []
    return files if files and not any((path / name).exists() for name in _FILES) else [path]


def _template(settings: Settings, path: Path, **arguments: Any) -> ChatTemplate:
    """Make the template with the arguments of the command line and others."""
    prompt: Any = arguments.pop("add_generation_prompt", None)
    given = [*(settings.chat_argument or ()), *((name, json.dumps(value)) for name, value in arguments.items())]
    return chat_template(replace(settings, chat_template=str(path), chat_argument=given, add_generation_prompt=prompt))


def _lines(path: str, facts: list[Fact], verbose: bool) -> Iterator[Line]:
    """Yield a line for each fact, with its conversation and text if the output is verbose."""
    yield [Fragment(printable(path), "head")]
    for fact in facts:
        answer = printable(": ".join(filter(None, (fact.answer, fact.reason))))
        if len(answer) > _MAX_ANSWER and not verbose:
            answer = f"{answer[: _MAX_ANSWER - 3]}..."
        marks = frozenset({"removed"} if fact.severity == "error" else ())
        code = [] if fact.code is None else [Fragment("  "), Fragment(fact.code, "head", marks)]
        yield [Fragment(f"  {fact.fact:24}", "role"), Fragment(answer), *code]
        if verbose and fact.messages:
            given = json.dumps({"messages": fact.messages, **fact.arguments}, ensure_ascii=False)
            yield [Fragment(f"      {printable(given)}", "text")]
            yield [Fragment(f"      {printable(repr(fact.text))}", "text")]


def _summary(path: str, facts: list[Fact]) -> Line:
    """Return a line with the number of facts that are errors, and their codes."""
    codes = dict.fromkeys(fact.code for fact in facts if fact.severity == "error" and fact.code)
    grown = next((fact.answer for fact in facts if fact.fact == "append-only"), "-")
    number = sum(fact.severity == "error" for fact in facts)
    errors = f"{counted(number, 'error')}: {', '.join(codes)}" if number else "no errors"
    return [Fragment(f"{printable(path)}  ", "head"), Fragment(f"append-only: {grown}  {errors}")]
