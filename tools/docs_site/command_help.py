"""The page of all commands and their options, made from the parsers that the command itself uses."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from promptpress_workbench.cli.arguments import make_parser, overall_help
from promptpress_workbench.cli.commands import COMMANDS

WIDTH = 76
OPTION = re.compile(r"--\w[\w-]*")


def command_page() -> str:
    """The page, as Markdown."""
    lines = [
        "# All commands and options",
        "",
        "What `promptpress COMMAND --help-all` says; this page is made from it. [command.md](command.md) explains.",
        "",
        "| command | |",
        "|---|---|",
        *(f"| [`{name}`](#promptpress-{name}) | {cell(command.summary)} |" for name, command in COMMANDS.items()),
        "",
        "```text",
        overall_help().strip(),
        "```",
        "",
    ]
    for action in make_parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            for parser in action.choices.values():
                lines += described(parser)
    return "\n".join(lines) + "\n"


def described(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the lines of a parser: its usage, its description, and its options."""
    yield from (f"## {parser.prog}", "", "```text", usage(parser), "```", "")
    yield from paragraphs(parser.description)
    for group in parser._action_groups:  # argparse has no public way to them
        actions = [action for action in group._group_actions if action.help is not argparse.SUPPRESS]
        if actions:
            yield from (f"**{heading(group.title or '')}**", "", "| | |", "|---|---|")
            yield from (f"| {called(action)} | {explained(action, parser)} |" for action in actions)
            yield ""
    yield from paragraphs(parser.epilog)


def heading(text: str) -> str:
    """Return a group's title with a capital letter; the other letters stay, as in `instead of CONFIG`."""
    return escaped(text[:1].upper() + text[1:])


def paragraphs(text: str | None) -> Iterator[str]:
    """Paragraphs; what is set in columns stays so."""
    for paragraph in (text or "").strip("\n").split("\n\n"):
        is_set = any(line.startswith(" ") for line in paragraph.splitlines())
        yield from ("```text", paragraph, "```", "") if is_set else (escaped(paragraph), "")


def usage(parser: argparse.ArgumentParser) -> str:
    """Return the usage on lines of a fixed width, which doesn't depend on the terminal."""
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
    """Return the text after the name of an option."""
    if action.nargs == 0:
        return ""
    metavar = action.metavar or (action.dest.upper() if action.choices is None else action.dest)
    name = " ".join(metavar) if isinstance(metavar, tuple) else metavar
    return f"{name}..." if action.nargs in ("+", "*") else name


def explained(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    """An option's help, the values that it takes, and whether it must be there."""
    parts = [cell((action.help or "") % {**vars(action), "prog": parser.prog})] if action.help else []
    if action.choices is not None and not all(str(choice) in f"{action.metavar} {parts}" for choice in action.choices):
        parts.append(", ".join(f"`{choice}`" for choice in action.choices).replace("|", "\\|"))
    if action.required and action.option_strings:
        parts.append("(required)")
    return " ".join(parts)


def escaped(text: str) -> str:
    """Return plain text as Markdown, with its options as code, so that no typographic dash takes the place of `--`."""
    for mark in "\\`*_[]<>":
        text = text.replace(mark, f"\\{mark}")
    return OPTION.sub(r"`\g<0>`", text.strip())


def cell(text: str) -> str:
    """The same in a table."""
    return " ".join(escaped(text).split()).replace("|", "\\|")
