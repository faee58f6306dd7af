"""Access control for the page: which requests are served, and what a browser may do with the answers."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from hmac import compare_digest
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_POLICY = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The page may load and run what comes from this server, and nothing else.

`unsafe-eval`: NiceGUI's Vue compiles the templates of its elements in the browser. `unsafe-inline` is for styles alone:
a `<script>` or an `onerror=` that a value smuggled in would not run, because the page's scripts have a nonce.
"""

_HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",  # the token is a part of the address
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
}


_NO_TOKEN = "the address lacks the token that `promptpress view` printed"
_USED = (
    "this address works once, and has been used; open the one that `promptpress view` printed. If it wasn't you who "
    "used it, another user of this machine did, and has the page: end the command"
)


class Guard:
    """An ASGI app that serves a request if it has the token and comes from the page itself.

    The token is the first part of every path: of the page, of its fetches, its scripts and its socket. A cookie would
    also be sent to servers on other ports of this machine.

    The guarded app is mounted at `/TOKEN`. The headers `Host` and `Origin` have to name the port.
    """

    def __init__(self, app: App, token: str, port: int) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = {f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost")}
        self._origins = {b"http://" + host for host in self._hosts}
        self._ticket = b""
        self._used = b""

    def ticket(self) -> str:
        """Return a path, without its first slash, that leads to the page once, and make earlier ones invalid.

        It is for channels that others may read before the path is used.
        """
        self._ticket = secrets.token_urlsafe(24).encode()
        return self._ticket.decode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        why = self.refusal(scope)
        if why == _NO_TOKEN and scope["type"] == "http" and scope.get("method") == "GET":
            if _is_same(scope["path"][1:], self._ticket):
                self._used, self._ticket = self._ticket, b""
                headers = [(b"location", b"/" + self._token + b"/"), (b"cache-control", b"no-store")]
                await _respond(send, 303, headers, b"")
                return
            if _is_same(scope["path"][1:], self._used):
                why = _USED
        if why is not None and scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": why})
            return
        if why is not None:
            await _respond(send, 403, [(b"content-type", b"text/plain; charset=utf-8")], f"403: {why}\n".encode())
            return
        # There is no proxy between browser and server, so such headers can only be forged.
        scope["headers"] = [(k, v) for k, v in scope["headers"] if not k.lower().startswith(b"x-forwarded-")]
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
            return
        await self._app(scope, receive, _SecuredResponse(send, secrets.token_urlsafe(16)))

    def refusal(self, scope: Scope) -> str | None:
        """Return the reason to refuse a request, given by its ASGI scope; None if it is served."""
        hosts, origins = (_headers(scope, name) for name in (b"host", b"origin"))
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return "the Host header names another place"
        if any(origin.lower() not in self._origins for origin in origins):
            return "another page asks"
        first = scope["path"].split("/")[1] if scope["path"].startswith("/") else ""
        return None if _is_same(first, self._token) else _NO_TOKEN


def _is_same(given: str, secret: bytes) -> bool:
    return bool(secret) and compare_digest(given.encode("utf-8", "surrogatepass"), secret)


def _headers(scope: Scope, name: bytes) -> list[bytes]:
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    return [value for key, value in headers if key.lower() == name]


async def _respond(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *_HEADERS.items()]})
    await send({"type": "http.response.body", "body": body})


class _SecuredResponse:
    """Sends a response with security headers, and puts the nonce of a page into its scripts.

    A page as it is first sent holds no value of the data, so every script in it is the framework's.
    """

    def __init__(self, send: Send, nonce: str) -> None:
        self._send = send
        self._nonce = nonce
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            await self._begin(message)
        elif self._start is None or message["type"] != "http.response.body":
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._send_page(self._start)

    async def _begin(self, message: Message) -> None:
        secured = {**_HEADERS, b"content-security-policy": _POLICY.format(nonce=self._nonce).encode()}
        headers = [(key.lower(), value) for key, value in message["headers"] if key.lower() not in secured]
        message["headers"] = [*headers, *secured.items()]
        if dict(headers).get(b"content-type", b"").startswith(b"text/html"):
            self._start = message
        else:
            await self._send(message)

    async def _send_page(self, start: Message) -> None:
        body = self._body.replace(b"<script", f'<script nonce="{self._nonce}"'.encode())
        headers = [(key, value) for key, value in start["headers"] if key != b"content-length"]
        await self._send({**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
        await self._send({"type": "http.response.body", "body": body})
