"""`promptpress show`: prints prompts to the terminal, coloured by origin."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence

from promptpress import DataError
from promptpress.engine.errors import counted
from promptpress.engine.tokens import Encoder

from promptpress_workbench.cli.shell.errors import NO_ROWS, say
from promptpress_workbench.cli.shell.options import row_choice
from promptpress_workbench.cli.shell.terminal import Terminal
from promptpress_workbench.cli.sources.configured_renderer import token_counter
from promptpress_workbench.cli.sources.prompt_sources import prompt_source
from promptpress_workbench.files.read.chosen_rows import sampled_rows
from promptpress_workbench.files.write.output_file import standard_output
from promptpress_workbench.prompts.file_rows import ChosenSource
from promptpress_workbench.prompts.layout import Layout
from promptpress_workbench.prompts.prompt import Prompt
from promptpress_workbench.prompts.prompt_source import PromptSource, RequestFilter, extremes, match_marks, matching
from promptpress_workbench.prompts.renderer_source import RendererSource

_ROLE_OPTIONS = ("output", "model", "chat_template", "dialect")
"""Options that say otherwise what roles are called."""

_MAX_CHECKED_ROWS = 100
"""The number of rows that are checked for values that were treated as templates."""


def show(arguments: Namespace) -> None:
    """Print the prompts that the options choose."""
    counter = None if arguments.tokenizer is None else token_counter(arguments.tokenizer)
    if arguments.system is not None and all(getattr(arguments, name) is None for name in _ROLE_OPTIONS):
        arguments.output = "openai"  # the roles as an API is sent them
    source = prompt_source(arguments)
    if isinstance(source, ChosenSource) and not source.num_samples:
        raise DataError(NO_ROWS)
    with standard_output() as stream:
        terminal = Terminal(stream, arguments.color, is_terminal=sys.stdout.isatty())
        layout = Layout(terminal.width, terminal.glyphs, arguments.whitespace, show_masked=terminal.is_colored)
        printed: list[Prompt] = []
        for prompt in _prompts(source, arguments, terminal, layout):
            tokens = None
            if counter is not None:
                texts = [text.text for text in prompt.texts()]
                tokens = sum(count or 0 for count in Encoder.of(counter).counts(texts, special=False))
            marks = () if arguments.grep is None else match_marks(prompt, arguments.grep)
            if printed:
                terminal.write([[]])
            printed.append(prompt)
            terminal.write(layout.prompt(prompt, marks=marks, tokens=tokens))
            if arguments.origins and source.has_origins:
                terminal.write(layout.caption("origins, in bytes:", "head"))
                terminal.write(layout.origins(prompt))
            elif arguments.origins:
                of_file = "a file of prompts doesn't say them; its configuration does"
                of_chat = "a chat template after a configuration doesn't say them"
                message = of_chat if isinstance(source, (RendererSource, ChosenSource)) else of_file
                terminal.write(layout.caption(f"origins: {message}", "head"))
        if terminal.is_colored:
            legend = list(layout.legend(printed))
            terminal.write([[], *legend] if legend else [])
    if not arguments.quiet and isinstance(source, (RendererSource, ChosenSource)):
        # A value that was treated as a template looks in the prompt as if the data contained that text.
        for row in list(dict.fromkeys(prompt.sample for prompt in printed))[:_MAX_CHECKED_ROWS]:
            if columns := source.divergent_columns(row):
                filled = f"braces in the text of {', '.join(map(repr, columns))} were filled in, as harnesses do"
                say(f"note: row {row}: {filled}; --substitution single_pass leaves them alone")


def _prompts(source: PromptSource, arguments: Namespace, terminal: Terminal, layout: Layout) -> Iterator[Prompt]:
    """Yield the prompts that the options choose."""
    label, turn, choice = arguments.label, arguments.turn, row_choice(arguments)
    request_filter = RequestFilter(label, turn)
    if arguments.grep is not None:
        matches = matching(source, arguments.grep, arguments.max, request_filter)
        heading = f"{matches.matching:,} of {counted(matches.requests, 'request')} match"
        more = f"; the first {len(matches.first)}:" if matches.matching > len(matches.first) else ""
        terminal.write(layout.caption(heading + more, "head"))
        requests = matches.first
    elif arguments.longest is not None or arguments.shortest is not None:
        count = arguments.longest or arguments.shortest
        requests = extremes(source, count, request_filter, longest=arguments.longest is not None)
    else:
        rows: Sequence[int] = arguments.row or []
        if not rows:
            positions = [0]
            if arguments.sample is not None:
                positions = sampled_rows(source.num_samples, arguments.sample, choice.seed)
            rows = list(map(source.row_number, positions)) if isinstance(source, ChosenSource) else positions
        for row in rows:
            yield from source.prompts(row, label, turn)
        return
    for request in requests:
        yield from source.prompts(*request)
