"""`promptpress completion`: prints the script by which a shell completes the command line."""

from __future__ import annotations

from argparse import SUPPRESS, Action, ArgumentParser, Namespace

from promptpress.engine.errors import UsageError

from promptpress_workbench.cli.arguments import make_parser
from promptpress_workbench.cli.commands import COMMANDS
from promptpress_workbench.cli.options import option_name
from promptpress_workbench.cli.settings import Settings
from promptpress_workbench.files.write.output_file import standard_output

_OF_PATHS = ("FILE", "PATH", "CONFIG", "A", "B", "RESULTS")
"""The placeholders of values that are paths, alone or next to another one."""


def completion(_: Settings, arguments: Namespace) -> None:
    """Print the script for a shell."""
    try:
        import shtab  # noqa: PLC0415 - an extra
    except ImportError:
        raise UsageError("completion needs shtab: pip install 'promptpress[cli]'") from None
    parser = make_parser()
    for name, subparser in _parsers(parser).items():
        for action in subparser._actions:  # noqa: SLF001 - argparse has no public way to a parser's options
            if action.help == SUPPRESS and COMMANDS[name].has_twins:
                action.help = f"of B, instead of {option_name(action.dest.removesuffix('_b'))}"
            if action.choices is None and set(str(action.metavar).split("|")) & set(_OF_PATHS):
                action.complete = shtab.FILE  # type: ignore[attr-defined]  # shtab reads this attribute
    with standard_output() as stream:
        print(shtab.complete(parser, shell=arguments.shell), file=stream)


def _parsers(parser: ArgumentParser) -> dict[str, ArgumentParser]:
    """Return the parsers of the commands by name."""
    actions: list[Action] = parser._actions  # noqa: SLF001 - as above
    return next(dict(action.choices) for action in actions if isinstance(action.choices, dict))
