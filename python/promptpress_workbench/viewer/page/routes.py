"""Answers to the fetches of the page, which the guard lets through: lines of the list, and prompts as HTML."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi import Response
from nicegui import app
from promptpress.engine.errors import reason

from promptpress_workbench.prompts.escapes import one_line, visible
from promptpress_workbench.prompts.html import legend_html, stylesheet_under
from promptpress_workbench.viewer.columns_html import columns_html
from promptpress_workbench.viewer.prompt_html import MAX_CHARACTERS, compared_html, cut, rows_html
from promptpress_workbench.viewer.view import View

STATIC = "/_promptpress"
"""The path of the page's own script and style, below the token."""

_MAX_LINES = 1000
_MAX_SHARED = 20_000


def add_routes(views: dict[str, View]) -> None:
    """Add the routes to NiceGUI's app, for the open pages by their random names."""
    app.add_static_files(STATIC, str(Path(__file__).parent / "static"))

    def style() -> Response:
        return Response(stylesheet_under("body.body--light", "body.body--dark"), media_type="text/css")

    def lines(view: str, start: int, stop: int) -> Response:
        return _answer(views, view, lambda state: _lines_of(state, start, min(stop, start + _MAX_LINES)))

    def prompt(view: str, line: int, whole: bool = False, whitespace: bool = False, compare: bool = False) -> Response:
        options = {"whole": whole, "whitespace": whitespace, "compare": compare}
        return _answer(views, view, lambda state: _prompt_of(state, line, **options))

    app.get("/prompts.css")(style)
    app.get("/lines")(lines)
    app.get("/prompt")(prompt)


def _lines_of(view: View, start: int, stop: int) -> dict[str, Any]:
    out = []
    lines, shared = view.window(start, stop)
    for line in lines:
        size = line["size"]
        text = one_line(line["text"].replace("\n", "↵"))
        out.append({**line, "size": "" if size is None else f"{size:,}", "text": text, "wrong": size is None})
    answer: dict[str, Any] = {"lines": out, "total": view.count()}
    if shared:
        answer |= {"shared": visible(shared[:_MAX_SHARED]), "sharedSize": f"{len(shared):,}"}
    return answer


def _prompt_of(view: View, line: int, *, whole: bool, whitespace: bool, compare: bool) -> dict[str, Any]:
    row = view.row_of(line)
    prompts = view.prompts(row)
    if compare and view.other is not None:
        others = view.prompts(row, other=True)
        sides = [list(cut(side, MAX_CHARACTERS)) for side in (prompts, others)]
        html = compared_html(*sides, names=view.names(), whitespace=whitespace)
        columns = columns_html(view.columns(row), [*prompts, *others])
        return {"row": row, "html": html, "legend": legend_html(sides[0] + sides[1]), "columns": columns}
    html, left = rows_html(prompts, whole=whole, whitespace=whitespace)
    columns = columns_html(view.columns(row), prompts)
    legend = legend_html(prompts if whole else cut(prompts, MAX_CHARACTERS))
    answer: dict[str, Any] = {"row": row, "html": html, "legend": legend, "columns": columns}
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
        if view.finder is not None and not view.finder.rows:
            return _json({"html": "", "legend": ""})  # the list says that no row was found
        return _json({"error": "there is no such row"})
    except Exception as error:
        return _json({"error": one_line(reason(error))})


def _json(value: dict[str, Any], status: int = 200) -> Response:
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Response(text, status, {"cache-control": "no-store"}, "application/json")
