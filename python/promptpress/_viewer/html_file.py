"""Chosen rows in one self-contained file, to attach to a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from promptpress._file_errors import DataError
from promptpress._outputs.output_file import output_file
from promptpress._view.html import STYLESHEET, legend_html
from promptpress._view.prompt import Prompt
from promptpress._view.visible import one_line
from promptpress._viewer.catalogue import Choice
from promptpress._viewer.prompt_html import rows_html
from promptpress._viewer.sample_store import SampleStore
from promptpress._viewer.sources import Sources

_LOOKS = """\
body{max-width:60em;margin:2em auto;padding:0 1em;font:14px/1.5 system-ui,sans-serif;color-scheme:light dark;\
background:Canvas;color:CanvasText}
h1{font-size:1.2em} .pp-said{opacity:.75}
"""


def write_html(path: str, rows: Sequence[int] | None, store: SampleStore, sources: Sources, choice: Choice) -> int:
    """Write the prompts of some rows.

    Args:
        path: the file.
        rows: which samples, in this order; None: the first ten.
        store: the samples.
        sources: the prompts of each choice.
        choice: the one that is written.

    Returns:
        How many rows were written.

    Raises:
        OutputError: when the file can't be written.
        DataError: when the samples can't be read so far.
        RenderError: when there is no such row, or it can't be rendered.

    """
    source = sources.of(choice)
    wanted = 10 if rows is None else max(rows, default=-1) + 1
    if not store.wait(wanted) and store.error is not None:
        raise DataError(store.error)
    if rows is None:
        rows = range(min(10, source.num_samples))
    prompts = [source.prompts(row) for row in rows]
    with output_file(path) as file:
        file.write(page_html(prompts, _said(choice)).encode("utf-8", "backslashreplace"))
    return len(prompts)


def page_html(rows: Iterable[Sequence[Prompt]], said: str) -> str:
    """Write prompts as a page that needs nothing beside itself and runs nothing.

    Args:
        rows: the requests of each row.
        said: what the page says of them.

    Returns:
        The page.

    Example:
        >>> from promptpress._view.prompt import Piece
        >>> page = page_html([[Prompt(0, "<script>", (Piece("<script>"),))]], "job.json")
        >>> "<script>" in page, "&lt;script&gt;" in page
        (False, True)

    """
    every = [list(prompts) for prompts in rows]
    legend = legend_html(prompt for prompts in every for prompt in prompts)
    body = "\n".join(rows_html(prompts, whole=True)[0] for prompts in every)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>Prompts</title>\n<style>\n{_LOOKS}{STYLESHEET}</style></head>\n"
        f'<body><h1>Prompts</h1><p class="pp-said">{escape(one_line(said))}</p>\n{legend}\n{body}\n</body></html>\n'
    )


def _said(choice: Choice) -> str:
    parts = (choice.prompts, choice.model, choice.mode, choice.output, choice.substitution)
    return " · ".join(part for part in parts if part)
