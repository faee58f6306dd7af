"""`promptpress diff`: two ways of rendering the same samples."""

from __future__ import annotations

import json
import sys
from argparse import Namespace

from promptpress._cli.errors import ExitCode
from promptpress._cli.jinja_options import has_own_source
from promptpress._cli.prompt_sources import is_rendered, prompt_source, sample_rows
from promptpress._cli.second_side import prompt_options, second_side
from promptpress._cli.terminal import Terminal
from promptpress._cli.threads import set_threads
from promptpress._diff.comparison import Comparison, compare
from promptpress._diff.rows import rows_of
from promptpress._diff.shown import DiffLayout, summary
from promptpress._file_errors import UsageError
from promptpress._outputs.output_file import standard_output
from promptpress._view.layout import Layout


def diff(arguments: Namespace) -> ExitCode:
    """Do what the command line says.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Returns:
        Whether there is a difference.

    Raises:
        FileError: when something is wrong, by kind.
        promptpress.TemplateError: when a configuration is.
        promptpress.RenderError: when the data don't fit it.

    """
    sides = (Namespace(**vars(arguments)), second_side(arguments))
    if arguments.other is None and all(vars(sides[0])[name] == vars(sides[1])[name] for name in _names()):
        has_own_source(sides[0])  # refuses what doesn't go together
        what = (
            "neither A nor --template" if arguments.config is None else f"{arguments.config}: both sides are the same"
        )
        for option in ("--template", "--jinja", "--chat-template"):
            if getattr(arguments, option[2:].replace("-", "_")) is not None:
                what = f"{option}: both sides are the same"
        raise UsageError(f"{what}; name B, or an option of B such as --model-b or --template-b")
    for side in sides:
        if _holds_prompts(side) and not all(map(_holds_prompts, sides)):
            # The options are the other side's.
            vars(side).update(dict.fromkeys(_names()), data=None)
    set_threads(arguments.threads)
    # Opened once: standard input can be read once only.
    rows = sample_rows(arguments.data, arguments.data_format) if arguments.data else None
    a, b = (prompt_source(side, rows) for side in sides)
    found = compare(a, b, limit=arguments.max, prompts=arguments.max)
    with standard_output() as stream:
        if arguments.json:
            print(json.dumps(_report(found)), file=stream)
        else:
            _show(found, arguments, Terminal(stream, arguments.color, is_terminal=sys.stdout.isatty()))
    return ExitCode.OK if found.is_equal else ExitCode.DIFFERENT


def _holds_prompts(side: Namespace) -> bool:
    return side.config is not None and is_rendered(side.config)


def _names() -> list[str]:
    return [action.dest for action in prompt_options()]


def _show(found: Comparison, arguments: Namespace, terminal: Terminal) -> None:
    own = Layout(terminal.width, terminal.glyphs, arguments.whitespace)
    layout = DiffLayout(own, brackets=not terminal.is_colored)
    terminal.write(own.said(summary(found), "head"))
    for one in found.first:
        terminal.write([[]])
        terminal.write(layout.difference(one))
    left = found.different + found.only_a + found.only_b - len(found.first)
    if left and found.first:
        terminal.write([[]])
        terminal.write(own.said(f"and {left:,} more; --max shows them", "head"))


def _report(found: Comparison) -> dict[str, object]:
    counts = {name: getattr(found, name) for name in ("compared", "different", "only_a", "only_b")}
    return {**counts, "first": rows_of(found.first).to_pylist()}
