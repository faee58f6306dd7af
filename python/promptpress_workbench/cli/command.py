"""A command of the command line: its help texts and options, of which its parser and the page of commands are made."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from promptpress_workbench.cli.options import GROUPS, OPERANDS, OPTIONS, TWIN_OPTIONS, Keywords, option_name

EXIT_CODES = """\
exit codes: 0 done, 1 unexpected, 2 command line, 3 configuration, 4 data, 5 output, 130 interrupted, 143 terminated.
"""

Purpose: TypeAlias = Literal["make", "look", "check", "hand on", "for harnesses", "for the shell"]
"""The group of a command in the help."""


@dataclass(frozen=True)
class Command:
    """A command: its help texts, its options, and the function that runs it.

    The function is named as `module:function`; it takes a `Settings` and the parsed arguments, and returns an exit
    code, or None for success. `sentence`, `example` and the options `main` are the short help; `more` and all
    `options` come with `--help-all`. `changed` holds keywords that differ from those of the table of options; one
    option of each entry of `exclusive` can be given. Each of `TWIN_OPTIONS` has a twin for B, `--model-b` of
    `--model`, if the command `has_twins`. At most `max_operands` words may precede the first option; None is any
    number.
    """

    name: str
    purpose: Purpose
    summary: str
    run: str
    usage: str
    sentence: str
    example: str
    main: tuple[str, ...]
    options: tuple[str, ...]
    more: str = ""
    changed: dict[str, Keywords] = field(default_factory=dict)
    exclusive: tuple[tuple[str, ...], ...] = (("progress", "quiet"),)
    has_twins: bool = False
    epilog: str = EXIT_CODES
    max_operands: int | None = 1

    @property
    def operands(self) -> tuple[str, ...]:
        return tuple(name for name in OPERANDS if name in self.options)

    def keywords(self, name: str) -> Keywords:
        """Return the keywords of `add_argument` for an option or operand."""
        return {**(OPERANDS.get(name) or OPTIONS[name]), **self.changed.get(name, {})}

    def groups(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the groups of the command's options with their titles, in the order of the stages."""
        for title, group in GROUPS.items():
            if names := tuple(name for name in group if name in self.options):
                yield title, names

    def add_operands(self, parser: ArgumentParser) -> None:
        for name in self.operands:
            parser.add_argument(name, **self.keywords(name))

    def add_options(self, parser: ArgumentParser) -> None:
        """Add all operands and options to a parser, in groups by stage."""
        self.add_operands(parser)
        for title, names in self.groups():
            group = parser.add_argument_group(title)
            either: dict[tuple[str, ...], Any] = {}
            for name in names:
                entry = next((entry for entry in self.exclusive if name in entry), None)
                if entry is not None and entry not in either:
                    either[entry] = group.add_mutually_exclusive_group()
                target = group if entry is None else either[entry]
                target.add_argument(option_name(name), **self.keywords(name))
        for name in TWIN_OPTIONS if self.has_twins else ():
            parser.add_argument(f"{option_name(name)}-b", **{**self.keywords(name), "default": None, "help": SUPPRESS})

    def add_main_options(self, parser: ArgumentParser) -> None:
        """Add the operands and options of the short help to a parser."""
        self.add_operands(parser)
        for name in (name for _, names in self.groups() for name in names if name in self.main):
            parser.add_argument(option_name(name), **self.keywords(name))
