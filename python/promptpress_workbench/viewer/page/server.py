"""The local server, which is bound to loopback and needs the token."""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI
from nicegui import app, ui
from promptpress.engine.errors import UsageError, reason

from promptpress_workbench.prompts.escapes import one_line
from promptpress_workbench.viewer.guard import Guard

_HOST = "127.0.0.1"
_LAST_PORT = 65535
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#2257c4"/>'
    '<path d="M3 5h10M3 8h7M3 11h9" stroke="#fff" stroke-width="1.6"/></svg>'
)


def serve(title: str, port: int, announce: Callable[[str], None], *, open_browser: bool) -> None:
    """Serve the pages of NiceGUI's app until the process is interrupted.

    Port 0 is any free port. `announce` receives the address when the server answers there; if `open_browser` is true,
    the system's browser opens it.

    Raises:
        UsageError: If the port can't be used.

    """
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
