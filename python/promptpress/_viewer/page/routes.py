"""What the page fetches: lines of the list, and prompts as HTML. All of it behind the guard."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi import Response
from nicegui import app

from promptpress._file_errors import reason
from promptpress._view.visible import one_line
from promptpress._viewer.compared_html import compared_html
from promptpress._viewer.prompt_html import SHOWN, cut, page_stylesheet, rows_html, rows_legend
from promptpress._viewer.view import View

STATIC = "/_promptpress"
"""Where our own script and style are, below the token."""

_MAX_LINES = 1000


def add_routes(views: dict[str, View]) -> None:
    """Add what the page fetches to NiceGUI's app.

    Args:
        views: the open pages by their names, which are random.

    """
    app.add_static_files(STATIC, str(Path(__file__).parent / "static"))

    def style() -> Response:
        return Response(page_stylesheet(), media_type="text/css")

    def lines(view: str, start: int, stop: int) -> Response:
        return _answer(views, view, lambda shown: _lines_of(shown, start, min(stop, start + _MAX_LINES)))

    def prompt(view: str, line: int, whole: bool = False, whitespace: bool = False, compare: bool = False) -> Response:
        options = {"whole": whole, "whitespace": whitespace, "compare": compare}
        return _answer(views, view, lambda shown: _prompt_of(shown, line, **options))

    app.get("/prompts.css")(style)
    app.get("/lines")(lines)
    app.get("/prompt")(prompt)


def _lines_of(view: View, start: int, stop: int) -> dict[str, Any]:
    lines = view.lines(start, stop)
    shown = [{**line, "size": f"{line['size']:,}", "text": one_line(line["text"].replace("\n", "↵"))} for line in lines]
    return {"lines": shown, "total": view.count()}


def _prompt_of(view: View, line: int, *, whole: bool, whitespace: bool, compare: bool) -> dict[str, Any]:
    row = view.row_of(line)
    prompts = view.prompts(row)
    if compare and view.other is not None:
        others = view.prompts(row, other=True)
        html = compared_html(list(cut(prompts, SHOWN)), list(cut(others, SHOWN)), whitespace=whitespace)
        return {"row": row, "html": html, "legend": rows_legend([*prompts, *others])}
    html, left = rows_html(prompts, whole=whole, whitespace=whitespace)
    answer: dict[str, Any] = {"row": row, "html": html, "legend": rows_legend(prompts)}
    if left:
        answer["cut"] = f"Show all: {left:,} more characters"
    if view.search is not None:
        answer |= {"wanted": view.search.wanted, "ignoreCase": view.search.ignore_case}
    return answer


def _answer(views: dict[str, View], name: str, make: Callable[[View], dict[str, Any]]) -> Response:
    view = views.get(name)
    if view is None:
        return _json({"error": "this page is not open any more: load it again"}, 404)
    try:
        return _json(make(view))
    except IndexError:
        if view.finder is not None and not view.finder.found:
            return _json({"html": "", "legend": ""})  # the list says how many were found, and that is what is shown
        return _json({"error": "there is no such row"})
    except Exception as error:
        return _json({"error": one_line(reason(error))})


def _json(value: dict[str, Any], status: int = 200) -> Response:
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Response(text, status, {"cache-control": "no-store"}, "application/json")
