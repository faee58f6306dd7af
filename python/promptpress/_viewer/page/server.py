"""The local server: bound to loopback, behind the token."""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI
from nicegui import app, ui

from promptpress._file_errors import UsageError, reason
from promptpress._view.visible import one_line
from promptpress._viewer.guard import Guard

_HOST = "127.0.0.1"
_LAST_PORT = 65535
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#2257c4"/>'
    '<path d="M3 5h10M3 8h7M3 11h9" stroke="#fff" stroke-width="1.6"/></svg>'
)


def serve(title: str, port: int, announce: Callable[[str], None], *, open_browser: bool) -> None:
    """Serve the pages that NiceGUI knows, until the process is interrupted.

    Args:
        title: of the page.
        port: the port; 0: any that is free.
        announce: is told the address when the server answers there.
        open_browser: whether the system's browser is sent there.

    Raises:
        UsageError: when the port can't be had.

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
            reconnect_timeout=60,  # seconds that a page's state outlives its connection: a lid that is closed
            gzip_middleware_factory=None,  # nothing is gained on loopback
            cache_control_directives="private, max-age=3600",
        )
        address = f"http://{_HOST}:{port}/{token}/"

        def started() -> None:
            announce(address)
            if open_browser:
                # The browser's command line can be read by every user of the machine: it isn't told the token.
                once = f"http://{_HOST}:{port}/{guarded.ticket()}"
                # Some browsers don't return before they are closed.
                threading.Thread(target=webbrowser.open, args=(once,), daemon=True).start()

        app.on_startup(started)
        listening.listen()  # so that a browser that is quicker than the server waits
        guarded = Guard(root, token, port)
        config = uvicorn.Config(
            guarded, log_level="error", access_log=False, ws="websockets-sansio", proxy_headers=False
        )
        uvicorn.Server(config).run(sockets=[listening])
