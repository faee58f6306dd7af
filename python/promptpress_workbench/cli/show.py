"""`promptpress show` and `promptpress diff`: prompts, or the differences of two ways to render them, on a terminal."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

from promptpress import DataError
from promptpress.engine.errors import UsageError, counted
from promptpress.engine.tokens import LoadedTokenizer

from promptpress_workbench.cli.configurations import with_dataset_rows
from promptpress_workbench.cli.errors import NO_ROWS, ExitCode, in_options
from promptpress_workbench.cli.jinja_sources import has_jinja_source
from promptpress_workbench.cli.options import PROMPT_OPTIONS, SEEN_TOKEN_OPTIONS, TWIN_OPTIONS, first_given
from promptpress_workbench.cli.prompt_sources import chosen_rows, is_rendered, prompt_source, second_side
from promptpress_workbench.cli.run_counts import AnyRenderer, report_no_rows
from promptpress_workbench.cli.settings import Settings
from promptpress_workbench.cli.terminal import Terminal, say
from promptpress_workbench.cli.token_options import draws_tokens, of_tokens, token_view, trained_answer
from promptpress_workbench.diff.comparison import MAX_GROUPED, MAX_KINDS, Comparison, compare, difference_rows
from promptpress_workbench.diff.diff import DiffLayout, location_text, summary
from promptpress_workbench.files.read.samples import sampled_rows
from promptpress_workbench.files.write.output_file import standard_output
from promptpress_workbench.prompts.failed_rows import REMEDY, failed_count
from promptpress_workbench.prompts.file_rows import ChosenSource
from promptpress_workbench.prompts.layout import Layout, Line
from promptpress_workbench.prompts.prompt import Prompt
from promptpress_workbench.prompts.prompt_source import (
    PromptSource,
    RequestFilter,
    SampleRows,
    extremes,
    failing,
    match_marks,
    matching,
    text_bytes,
)
from promptpress_workbench.prompts.renderer_source import RendererSource
from promptpress_workbench.prompts.tokenized import TokenSource
from promptpress_workbench.statistics.collect import token_counts

_ROLE_OPTIONS = ("output", "model", "chat_template", "dialect")
"""Options that say otherwise what roles are called."""

_COUNTS = ("compared", "different", "only_a", "only_b", "errors_a", "errors_b", "errors_differ", "errors_equal")

_MAX_CHECKED_ROWS = 100  # the number of rows that are checked for values that were treated as templates


def show(settings: Settings, arguments: Namespace) -> None:
    """Print the prompts that the options choose."""
    tokens = token_view(settings, arguments)
    counter = None if tokens is None else tokens.loaded
    if settings.system is not None and not settings.given(_ROLE_OPTIONS):
        settings = replace(settings, output="openai")  # the roles as an API is sent them
    source = prompt_source(settings, answer=trained_answer(settings, arguments))
    if isinstance(source, ChosenSource) and not source.num_samples:
        raise DataError(NO_ROWS)
    with standard_output() as stream:
        terminal = Terminal(stream, arguments.color, is_terminal=sys.stdout.isatty())
        remedy = in_options(REMEDY)
        looks = arguments.whitespace, terminal.is_colored, arguments.ids, draws_tokens(source, arguments)
        layout = Layout(terminal.width, terminal.glyphs, *looks, remedy)
        printed: list[Prompt] = []
        for prompt in _prompts(source, settings, arguments, terminal, layout, counter=counter):
            if tokens is not None:
                (prompt,) = tokens.with_cells(source, [prompt])  # noqa: PLW2901 - with its tokens
            marks = () if arguments.grep is None else match_marks(prompt, arguments.grep)
            if printed:
                terminal.write([[]])
            if prompt.error is not None:
                prompt = replace(prompt, error=in_options(prompt.error))  # noqa: PLW2901 - for users of the command
            printed.append(prompt)
            terminal.write(layout.prompt(prompt, marks=marks))
            if arguments.origins and prompt.request is not None:
                terminal.write(_origins(source, layout, prompt))
        legend = list(layout.legend(printed))
        terminal.write([[], *legend] if legend else [])
    if not settings.quiet and isinstance(source, (RendererSource, ChosenSource)):
        # A value that was treated as a template looks in the prompt as if the data contained that text.
        rows = dict.fromkeys(prompt.sample for prompt in printed if prompt.request is not None)
        for row in list(rows)[:_MAX_CHECKED_ROWS]:
            if columns := source.divergent_columns(row):
                filled = f"braces in the text of {', '.join(map(repr, columns))} were filled in, as harnesses do"
                say(f"note: row {row}: {filled}; --substitution single_pass leaves them alone")


def _origins(source: PromptSource, layout: Layout, prompt: Prompt) -> Iterator[Line]:
    """Yield the lines of a prompt's origins, or the reason why they aren't known."""
    if source.has_origins:
        yield from layout.caption("origins, in bytes:", "head")
        yield from layout.origins(prompt)
        return
    of_file = "a file of prompts doesn't say them; its configuration does"
    of_chat = "a chat template after a configuration doesn't say them"
    message = of_chat if isinstance(source, (RendererSource, ChosenSource)) else of_file
    yield from layout.caption(f"origins: {message}", "head")


def _prompts(
    source: PromptSource,
    settings: Settings,
    arguments: Namespace,
    terminal: Terminal,
    layout: Layout,
    *,
    counter: LoadedTokenizer | None,
) -> Iterator[Prompt]:
    """Yield the prompts that the options choose."""
    label, turn, choice = arguments.label, arguments.turn, settings.row_choice
    request_filter = RequestFilter(label, turn)
    if arguments.grep is not None or arguments.failed:
        if arguments.failed:
            matches = failing(source, arguments.max, request_filter)
            heading = failed_count(matches.matching, matches.requests)
        else:
            matches = matching(source, arguments.grep, arguments.max, request_filter)
            heading = f"{matches.matching:,} of {counted(matches.requests, 'request')} match"
        more = f"; the first {len(matches.first)}:" if matches.matching > len(matches.first) else ""
        terminal.write(layout.caption(heading + more, "head"))
    elif arguments.longest is not None or arguments.shortest is not None:
        count = arguments.longest or arguments.shortest
        measure = text_bytes if counter is None else partial(token_counts, counter)
        matches = extremes(source, count, request_filter, measure, longest=arguments.longest is not None)
    else:
        rows: Sequence[int] = arguments.row or []
        if not rows:
            positions = [0]
            if settings.sample is not None:
                positions = sampled_rows(source.num_samples, settings.sample, choice.seed)
            rows = list(map(source.row_number, positions)) if isinstance(source, ChosenSource) else positions
        for row in rows:
            yield from source.prompts(row, label, turn)
        return
    for request in matches.first:
        yield from source.prompts(*request)
    if arguments.failed:
        for kind in matches.failed.kinds():
            more = f", first in row {kind.first_rows[0]:,}"
            say(f"{counted(kind.rows, 'row')}{more}: {in_options(kind.error)}")
    elif matches.failed and not settings.quiet:
        say(f"note: {counted(matches.failed.rows, 'row')} can't be rendered; --failed shows them")


def diff(settings: Settings, arguments: Namespace) -> ExitCode:
    """Compare both sides and print the differences; the exit code tells if there are any."""
    sides = [settings, second_side(settings, arguments)]
    if arguments.other is None and first_given(arguments, [f"{name}_b" for name in TWIN_OPTIONS]) is None:
        if not is_rendered(settings.config) or settings.data is None:
            _refuse_one_side(settings)
        sides[1] = replace(settings, config=None)  # a file, and what the options make of --data
    if arguments.data is None:
        of_b = with_dataset_rows(replace(sides[1], data=None, rows=None))
        if of_b.rows is not None:
            if settings.rows is not None and not of_b.rows.test.equals(settings.rows.test):
                raise UsageError("A and B name datasets with other rows; --data FILE gives both the same")
            sides[1] = of_b
    if is_rendered(sides[0].config) != is_rendered(sides[1].config):
        # One side is a file of prompts, so the options are for the other side.
        number = 0 if is_rendered(sides[0].config) else 1
        nothing: dict[str, Any] = dict.fromkeys(
            (*(name for name in PROMPT_OPTIONS if name not in ("column", "tokenizer")), "data", "rows")
        )
        sides[number] = replace(sides[number], **nothing)
    opened: list[SampleRows] = []

    def open_rows(renderer: AnyRenderer) -> SampleRows:
        # Both sides share the rows, because standard input can be read only once.
        if not opened:
            opened.append(chosen_rows(next((side for side in sides if side.data), settings), renderer))
        return opened[0]

    masks_of_b = {name: value for name in SEEN_TOKEN_OPTIONS if (value := getattr(arguments, f"{name}_b")) is not None}
    options = [arguments, Namespace(**{**vars(arguments), **masks_of_b})]
    sources = [
        prompt_source(side, open_rows, trained_answer(side, of)) for side, of in zip(sides, options, strict=True)
    ]
    a, b = of_tokens(sources, sides, options) or sources
    has_tokens = isinstance(a, TokenSource)
    grouped = has_tokens or not arguments.json
    comparison = compare(a, b, limit=arguments.max * arguments.json, prompts=0, grouped=grouped)
    with standard_output() as stream:
        if arguments.json:
            counts = {name: getattr(comparison, name) for name in _COUNTS}
            counts |= _token_groups(comparison) if has_tokens else {}
            print(json.dumps({**counts, "first": difference_rows(comparison.first).to_pylist()}), file=stream)
        else:
            _show(comparison, arguments, Terminal(stream, arguments.color, is_terminal=sys.stdout.isatty()))
    report_no_rows(settings, comparison.compared + comparison.only_a + comparison.only_b)
    return ExitCode.OK if comparison.is_equal else ExitCode.DIFFERENT


def _refuse_one_side(settings: Settings) -> NoReturn:
    has_jinja_source(settings)  # raises an error if options don't go together
    named = first_given(settings, ("chat_template", "jinja", "template")) or settings.config
    what = "neither A nor --template" if named is None else f"{named}: there is only one side"
    raise UsageError(f"{what}; name B, or an option of B such as --model-b or --template-b")


def _token_groups(comparison: Comparison) -> dict[str, Any]:
    """Return how many rows have other ids, or another mask, and the changes, the commonest first."""
    groups = []
    for group in sorted(comparison.groups.values(), key=lambda group: -group.count):
        first, tokens = group.first, group.first.location.tokens
        text = location_text(first.location, first.a) if tokens is None else tokens.description
        change = {"change": first.location.change, "cause": tokens and tokens.cause, "description": text}
        groups.append({**change, "rows": group.count, "first_row": first.sample})
    equal = comparison.compared - comparison.different
    counts = {"equal": equal, "other_ids": comparison.other_ids, "other_masks": comparison.other_masks or 0}
    return {**counts, "groups": groups}


def _show(comparison: Comparison, arguments: Namespace, terminal: Terminal) -> None:
    layout = Layout(terminal.width, terminal.glyphs, arguments.whitespace, remedy=in_options(REMEDY))
    diff_layout = DiffLayout(layout, brackets=not terminal.is_colored)
    terminal.write(layout.caption(summary(comparison), "head"))
    groups = sorted(comparison.groups.values(), key=lambda group: -group.count)
    for group in groups[: arguments.max]:
        terminal.write([[], *diff_layout.difference(group.first, group)])
    more = []
    if groups[arguments.max :]:
        more.append(f"{counted(len(groups) - arguments.max, 'more change')}; --max {len(groups)} shows all")
    if comparison.ungrouped:
        told_apart = f"{MAX_KINDS} changes in the first {MAX_GROUPED:,} of them are told apart"
        more.append(f"{comparison.ungrouped:,} more that differ; {told_apart}")
    for text in more:
        terminal.write([[], *layout.caption(f"and {text}", "head")])
