"""The local server, which is bound to loopback and needs the token, and its answers to the fetches of the page."""

from __future__ import annotations

import json
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Response
from nicegui import app, ui
from promptpress.engine.errors import UsageError, reason

from promptpress_workbench.prompts.escapes import one_line, visible
from promptpress_workbench.prompts.layout import legend_html
from promptpress_workbench.prompts.stylesheet import stylesheet_under
from promptpress_workbench.viewer.guard import Guard
from promptpress_workbench.viewer.prompt_html import MAX_CHARACTERS, columns_html, compared_html, cut, rows_html
from promptpress_workbench.viewer.view import View

_HOST = "127.0.0.1"
_LAST_PORT = 65535
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#2257c4"/>'
    '<path d="M3 5h10M3 8h7M3 11h9" stroke="#fff" stroke-width="1.6"/></svg>'
)

STATIC = "/_promptpress"
"""The path of the page's own script and style, below the token."""

_MAX_LINES = 1000
_MAX_SHARED = 20_000


def serve(title: str, port: int, announce: Callable[[str], None], *, open_browser: bool) -> None:
    """Serve the pages of NiceGUI's app at a port (0: any free one) until the process is interrupted."""
    if port > _LAST_PORT:
        raise UsageError(f"--port {port}: ports go up to {_LAST_PORT}; without --port any free one is taken")
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((_HOST, port))
        except OSError as error:
            raise UsageError(f"--port {port}: {reason(error)}; without --port any free one is taken") from error
        port = listening.getsockname()[1]
        token = secrets.token_urlsafe(24)
        root = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
        ui.run_with(
            root,
            mount_path=f"/{token}",
            title=one_line(title),
            favicon=_ICON,
            dark=None,
            tailwind=False,
            show_welcome_message=False,
            reconnect_timeout=60,  # seconds that a page's state outlives its connection, for a laptop that was closed
            gzip_middleware_factory=None,  # no gain on loopback
            cache_control_directives="private, max-age=3600",
        )
        address = f"http://{_HOST}:{port}/{token}/"

        def started() -> None:
            announce(address)
            if open_browser:
                # Every user of the machine can read the browser's command line, so the token isn't in it.
                once = f"http://{_HOST}:{port}/{guarded.ticket()}"
                # Some browsers only return when they are closed.
                threading.Thread(target=webbrowser.open, args=(once,), daemon=True).start()

        app.on_startup(started)
        listening.listen()  # so that a browser that is faster than the server waits
        guarded = Guard(root, token, port)
        config = uvicorn.Config(
            guarded, log_level="error", access_log=False, ws="websockets-sansio", proxy_headers=False
        )
        uvicorn.Server(config).run(sockets=[listening])


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
    row = view.row = view.row_of(line)
    prompts = view.prompts(row)
    if compare:
        others = view.prompts(row, other=True)
        sides = [list(cut(side, MAX_CHARACTERS)) for side in (prompts, others)]
        html = compared_html(*sides, names=view.names(), whitespace=whitespace)
        columns = columns_html(view.columns(row), [*prompts, *others])
        return {"row": row, "html": html, "legend": legend_html(sides[0] + sides[1]), "columns": columns}
    html, left = rows_html(prompts, whole=whole, whitespace=whitespace, ids=view.sources.shows_ids)
    columns = columns_html(view.columns(row), prompts)
    legend = legend_html(prompts if whole else cut(prompts, MAX_CHARACTERS))
    answer: dict[str, Any] = {"row": row, "html": html, "legend": legend, "columns": columns}
    if left:
        answer["cut"] = f"Show all: {left:,} more characters"
    if view.search is not None:
        answer |= {"wanted": view.search.search, "ignoreCase": not view.search.case}
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
        return _json({"error": "there is no such row; All rows, or Esc, lists those that there are"})
    except Exception as error:
        return _json({"error": one_line(reason(error))})


def _json(value: dict[str, Any], status: int = 200) -> Response:
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Response(text, status, {"cache-control": "no-store"}, "application/json")
