"""`promptpress diff`: compares two ways of rendering the same samples."""

from __future__ import annotations

import json
import sys
from argparse import Namespace

from promptpress.engine.errors import UsageError

from promptpress_workbench.cli.shell.errors import ExitCode, report_no_rows
from promptpress_workbench.cli.shell.options import option_name
from promptpress_workbench.cli.shell.terminal import Terminal
from promptpress_workbench.cli.sources.jinja_options import has_jinja_source
from promptpress_workbench.cli.sources.jinja_runs import AnyRenderer
from promptpress_workbench.cli.sources.prompt_sources import chosen_rows, is_rendered, prompt_source
from promptpress_workbench.cli.sources.second_side import prompt_options, second_side
from promptpress_workbench.diff.comparison import Comparison, compare, difference_rows
from promptpress_workbench.diff.diff import DiffLayout, summary
from promptpress_workbench.files.write.output_file import standard_output
from promptpress_workbench.prompts.layout import Layout
from promptpress_workbench.prompts.prompt_source import SampleRows


def diff(arguments: Namespace) -> ExitCode:
    """Compare both sides and print the differences; the exit code tells if there are any."""
    sides = (Namespace(**vars(arguments)), second_side(arguments))
    names = [action.dest for action in prompt_options()]
    if arguments.other is None and all(vars(sides[0])[name] == vars(sides[1])[name] for name in names):
        has_jinja_source(sides[0])  # raises an error if options don't go together
        what = (
            "neither A nor --template" if arguments.config is None else f"{arguments.config}: both sides are the same"
        )
        for name in ("template", "jinja", "chat_template"):
            if getattr(arguments, name) is not None:
                what = f"{option_name(name)}: both sides are the same"
        raise UsageError(f"{what}; name B, or an option of B such as --model-b or --template-b")
    for side in sides:
        if _holds_prompts(side) and not all(map(_holds_prompts, sides)):
            # This side is a file of prompts, so the options are for the other side.
            vars(side).update(dict.fromkeys(names), data=None)
    opened: list[SampleRows] = []

    def open_rows(renderer: AnyRenderer) -> SampleRows:
        # Both sides share the rows, because standard input can be read only once.
        if not opened:
            opened.append(chosen_rows(arguments, renderer))
        return opened[0]

    a, b = (prompt_source(side, open_rows) for side in sides)
    comparison = compare(a, b, limit=arguments.max, prompts=arguments.max)
    with standard_output() as stream:
        if arguments.json:
            counts = {name: getattr(comparison, name) for name in ("compared", "different", "only_a", "only_b")}
            print(json.dumps({**counts, "first": difference_rows(comparison.first).to_pylist()}), file=stream)
        else:
            _show(comparison, arguments, Terminal(stream, arguments.color, is_terminal=sys.stdout.isatty()))
    report_no_rows(arguments, comparison.compared + comparison.only_a + comparison.only_b)
    return ExitCode.OK if comparison.is_equal else ExitCode.DIFFERENT


def _holds_prompts(side: Namespace) -> bool:
    return side.config is not None and is_rendered(side.config)


def _show(comparison: Comparison, arguments: Namespace, terminal: Terminal) -> None:
    layout = Layout(terminal.width, terminal.glyphs, arguments.whitespace)
    diff_layout = DiffLayout(layout, brackets=not terminal.is_colored)
    terminal.write(layout.caption(summary(comparison), "head"))
    for difference in comparison.first:
        terminal.write([[], *diff_layout.difference(difference)])
    left = comparison.different + comparison.only_a + comparison.only_b - len(comparison.first)
    if left and comparison.first:
        terminal.write([[], *layout.caption(f"and {left:,} more; --max shows them", "head")])
