"""`promptpress show`: prompts in the terminal."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence

from promptpress._cli.prompt_sources import prompt_source
from promptpress._cli.terminal import Terminal
from promptpress._cli.threads import set_threads
from promptpress._outputs.output_file import standard_output
from promptpress._view.layout import Layout
from promptpress._view.prompt import Prompt
from promptpress._view.prompt_source import PromptSource
from promptpress._view.renderer_source import RendererSource
from promptpress._view.search import RequestFilter, extremes, match_marks, matching, sampled_rows

Count = Callable[[Prompt], int]

_MAX_LOOKED_INTO = 100
"""Of how many rows it is said that a value was taken for a template."""


def show(arguments: Namespace) -> None:
    """Do what the command line says.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Raises:
        FileError: when something is wrong, by kind.
        promptpress.TemplateError: when the configuration is.
        promptpress.RenderError: when the data don't fit it, or there is no such row.

    """
    set_threads(arguments.threads)
    count = None if arguments.tokenizer is None else token_count(arguments.tokenizer)
    source = prompt_source(arguments)
    with standard_output() as stream:
        terminal = Terminal(stream, arguments.color, is_terminal=sys.stdout.isatty())
        layout = Layout(terminal.width, terminal.glyphs, arguments.whitespace, show_masked=terminal.is_colored)
        shown: list[Prompt] = []
        for prompt in _prompts(source, arguments, terminal, layout):
            tokens = None if count is None else count(prompt)
            marks = () if arguments.grep is None else match_marks(prompt, arguments.grep)
            if shown:
                terminal.write([[]])
            shown.append(prompt)
            terminal.write(layout.prompt(prompt, marks=marks, tokens=tokens))
            if arguments.origins:
                is_jinja = arguments.jinja is not None or arguments.chat_template is not None
                _origins(prompt, terminal, layout, source, is_jinja=is_jinja)
        if terminal.is_colored:
            legend = list(layout.legend(shown))
            terminal.write([[], *legend] if legend else [])
    if not arguments.quiet and isinstance(source, RendererSource):
        _tell_taken(source, [prompt.sample for prompt in shown])


def _tell_taken(source: RendererSource, rows: Sequence[int]) -> None:
    """Say where a value was filled in: in the prompt it looks as if the data had it."""
    for row in list(dict.fromkeys(rows))[:_MAX_LOOKED_INTO]:
        columns = source.taken_for_templates(row)
        if columns:
            names = ", ".join(map(repr, columns))
            said = f"row {row}: braces in the text of {names} were filled in, as harnesses do"
            print(f"promptpress: note: {said}; --substitution single_pass leaves them alone", file=sys.stderr)


def _origins(prompt: Prompt, terminal: Terminal, layout: Layout, source: PromptSource, *, is_jinja: bool) -> None:
    if source.has_origins:
        terminal.write(layout.said("origins, in bytes:", "head"))
        terminal.write(layout.origins(prompt))
    else:
        said = "a file of prompts doesn't say them; its configuration does"
        said = "texts of a Jinja template don't say them" if is_jinja else said
        terminal.write(layout.said(f"origins: {said}", "head"))


def _prompts(source: PromptSource, arguments: Namespace, terminal: Terminal, layout: Layout) -> Iterator[Prompt]:
    """Go through the prompts that the options name."""
    label, turn = arguments.label, arguments.turn
    kept = RequestFilter(label, turn)
    if arguments.grep is not None:
        found = matching(source, arguments.grep, arguments.max, kept)
        said = f"{found.matching:,} of {found.requests:,} requests match"
        more = f"; the first {len(found.first)}:" if found.matching > len(found.first) else ""
        terminal.write(layout.said(said + more, "head"))
        places = found.first
    elif arguments.longest is not None or arguments.shortest is not None:
        count = arguments.longest or arguments.shortest
        places = extremes(source, count, kept, longest=arguments.longest is not None)
    else:
        rows: Sequence[int] = arguments.row or [0]
        if arguments.sample is not None:
            rows = sampled_rows(source.num_samples, arguments.sample, arguments.seed)
        for row in rows:
            yield from source.prompts(row, label, turn)
        return
    for place in places:
        yield from place.prompts(source)


def token_count(name: str) -> Count:
    """Load a tokenizer.

    Args:
        name: as `--tokenizer` has it.

    Returns:
        What counts the tokens of a prompt's texts: those of its messages together, without roles.

    Raises:
        UsageError: when there is no such tokenizer, or the package isn't installed.

    """
    from promptpress._cli.token_counter import token_counter  # noqa: PLC0415 - an extra

    counter = token_counter(name)

    def count(prompt: Prompt) -> int:
        texts = ["".join(piece.text for piece in pieces) for _, _, pieces in prompt.texts()]
        return sum(counter.count(texts))

    return count
