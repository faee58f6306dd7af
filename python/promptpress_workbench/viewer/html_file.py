"""Chosen rows in one self-contained HTML file, to attach to a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from promptpress import DataError

from promptpress_workbench.files.write.output_file import output_file
from promptpress_workbench.prompts.escapes import one_line
from promptpress_workbench.prompts.html import STYLESHEET, legend_html
from promptpress_workbench.prompts.prompt import Prompt
from promptpress_workbench.viewer.catalogue import Choice
from promptpress_workbench.viewer.prompt_html import rows_html
from promptpress_workbench.viewer.sample_store import SampleStore
from promptpress_workbench.viewer.sources import Sources

_STYLE = """\
body{max-width:60em;margin:2em auto;padding:0 1em;font:14px/1.5 system-ui,sans-serif;color-scheme:light dark;\
background:Canvas;color:CanvasText}
h1{font-size:1.2em;overflow-wrap:anywhere} .pp-said{opacity:.75}
"""


def write_html(
    path: str, rows: Sequence[int] | None, store: SampleStore, sources: Sources, choice: Choice, *, heading: str
) -> int:
    """Write the prompts of some rows, in the given order, or of the first ten; return the number of rows.

    `heading` is the page's: it names the template and the file of samples.

    Raises:
        OutputError: If the file can't be written.
        DataError: If the samples can't be read up to these rows.
        RenderError: If there is no such row, or it can't be rendered.

    """
    source = sources.of(choice)
    count = 10 if rows is None else max(rows, default=-1) + 1
    if not store.wait(count) and store.error is not None:
        raise DataError(store.error)
    if rows is None:
        rows = range(min(10, source.num_samples))
    prompts = [source.prompts(row) for row in rows]
    parts = (choice.model, choice.mode, choice.output, choice.substitution)
    with output_file(path) as file:
        caption = " · ".join(part for part in parts if part)
        file.write(page_html(prompts, heading, caption).encode("utf-8", "backslashreplace"))
    return len(prompts)


def page_html(rows: Iterable[Sequence[Prompt]], heading: str, caption: str) -> str:
    """Return the requests of some rows as a page that needs no other file and runs no script."""
    rows = list(rows)
    legend = legend_html(prompt for prompts in rows for prompt in prompts)
    title = escape(one_line(heading))
    details = f'<p class="pp-said">{escape(one_line(caption))}</p>' if caption else ""
    body = "\n".join(rows_html(prompts, whole=True)[0] for prompts in rows)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title}</title>\n<style>\n{_STYLE}{STYLESHEET}</style></head>\n"
        f"<body><h1>{title}</h1>{details}\n{legend}\n{body}\n</body></html>\n"
    )
