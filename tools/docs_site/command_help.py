"""The page of all commands and their options, made from the parsers that the command itself uses."""

from __future__ import annotations

import argparse
import io
import os
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from unittest import mock

from promptpress._cli.arguments import parse
from promptpress._cli.commands import COMMANDS

WIDTH = 76


def command_page() -> str:
    """The page, as Markdown."""
    lines = [
        "# All commands and options",
        "",
        "What `promptpress COMMAND --help` says; this page is made from it. [command.md](command.md) explains.",
        "",
        "| command | |",
        "|---|---|",
        *(f"| [`{name}`](#promptpress-{name}) | {cell(command.summary)} |" for name, command in COMMANDS.items()),
        "",
        "```text",
        overall_help(),
        "```",
        "",
    ]
    for name, command in COMMANDS.items():
        parser = argparse.ArgumentParser(
            prog=f"promptpress {name}",
            description=command.description,
            epilog=command.epilog,
        )
        command.add_options(parser)
        lines += described(parser, "##")
    return "\n".join(lines) + "\n"


def overall_help() -> str:
    """What `promptpress --help` prints."""
    out = io.StringIO()
    with mock.patch.dict(os.environ, {"COLUMNS": str(WIDTH + 2)}), redirect_stdout(out), suppress(SystemExit):
        parse(["--help"])
    return out.getvalue().strip()


def described(parser: argparse.ArgumentParser, level: str) -> Iterator[str]:
    """A parser: how it is called, what it says, its options, and the same of the parsers below it."""
    yield from (f"{level} {parser.prog}", "", "```text", usage(parser), "```", "")
    yield from told(parser.description)
    for group in parser._action_groups:  # argparse has no public way to them
        actions = [one for one in group._group_actions if one.help is not argparse.SUPPRESS]
        actions = [one for one in actions if not isinstance(one, argparse._SubParsersAction)]
        if actions:
            yield from (f"**{escaped(group.title or '').capitalize()}**", "", "| | |", "|---|---|")
            yield from (f"| {called(one)} | {explained(one, parser)} |" for one in actions)
            yield ""
    yield from told(parser.epilog)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in dict.fromkeys(action.choices.values()):
                yield from described(below, level + "#")


def told(text: str | None) -> Iterator[str]:
    """Paragraphs; what is set in columns stays so."""
    for paragraph in (text or "").strip("\n").split("\n\n"):
        is_set = any(line.startswith(" ") for line in paragraph.splitlines())
        yield from ("```text", paragraph, "```", "") if is_set else (escaped(paragraph), "")


def usage(parser: argparse.ArgumentParser) -> str:
    """How it is called, on lines of one width, whatever the terminal's."""
    parser.formatter_class = lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=WIDTH)  # type: ignore[assignment]
    return parser.format_usage().rstrip()


def called(action: argparse.Action) -> str:
    """An option's names with what comes after them, or an operand's."""
    value = values(action)
    if not action.option_strings:
        return f"`{value}`"
    names = ", ".join(f"`{name} {value}`".replace(" `", "`") for name in action.option_strings)
    return names.replace("|", "\\|")


def values(action: argparse.Action) -> str:
    """What stands behind an option."""
    if action.nargs == 0:
        return ""
    metavar = action.metavar or (action.dest.upper() if action.choices is None else action.dest)
    name = " ".join(metavar) if isinstance(metavar, tuple) else metavar
    return f"{name}..." if action.nargs in ("+", "*") else name


def explained(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    """An option's help, the values that it takes, and whether it must be there."""
    parts = [cell((action.help or "") % {**vars(action), "prog": parser.prog})] if action.help else []
    if action.choices is not None:
        parts.append(", ".join(f"`{choice}`" for choice in action.choices).replace("|", "\\|"))
    if action.required and action.option_strings:
        parts.append("(required)")
    return " ".join(parts)


def escaped(text: str) -> str:
    """Help is plain text: nothing in it is Markdown."""
    for mark in "\\`*_[]<>":
        text = text.replace(mark, f"\\{mark}")
    return text.strip().replace("--", "\\-\\-")


def cell(text: str) -> str:
    """The same in a table."""
    return " ".join(escaped(text).split()).replace("|", "\\|")
