"""The door of the page: who is let in, and what a browser may do with what it gets."""

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
"""What the page may load and run: what comes from here, and nothing else.

`unsafe-eval`: NiceGUI's Vue compiles the templates of its elements in the browser. `unsafe-inline` is for styles alone:
a `<script>` or an `onerror=` that a value smuggled in would not run, for the scripts of the page have a nonce.
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
    """Lets a request in if it names the token and comes from the page itself.

    The token is the first part of every path, of the page as of what it fetches, of its scripts and of its socket: no
    cookie has to carry it, which a server on another port of this machine would be sent too.

    Args:
        app: what is behind the door, mounted at `/TOKEN`.
        token: the token.
        port: the port that is served, which `Host` and `Origin` have to name.

    Example:
        >>> guard = Guard(None, "secret", 8000)
        >>> guard.refusal({"type": "http", "path": "/secret/", "headers": [(b"host", b"127.0.0.1:8000")]})
        >>> guard.refusal({"type": "http", "path": "/secret/", "headers": [(b"host", b"evil.example")]})
        'the Host header names another place'

    """

    def __init__(self, app: App, token: str, port: int) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = {f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost")}
        self._origins = {b"http://" + host for host in self._hosts}
        self._ticket = b""
        self._used = b""

    def ticket(self) -> str:
        """Make a path that leads to the page once, for where others may read it before it is used.

        Returns:
            The path, without the slash before it. Those that were made before don't lead there any more.

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
            if _same(scope["path"][1:], self._ticket):
                self._used, self._ticket = self._ticket, b""
                await _lead(send, b"/" + self._token + b"/")
                return
            if _same(scope["path"][1:], self._used):
                why = _USED
        if why is not None:
            await _refuse(scope, send, why)
            return
        # Nothing stands between browser and server that could know better.
        scope["headers"] = [(k, v) for k, v in scope["headers"] if not k.lower().startswith(b"x-forwarded-")]
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
            return
        await self._app(scope, receive, _Answer(send, secrets.token_urlsafe(16)))

    def refusal(self, scope: Scope) -> str | None:
        """Say why a request is refused.

        Args:
            scope: the request, as ASGI has it.

        Returns:
            The reason; None if it is let in.

        """
        hosts, origins = (_all(scope, name) for name in (b"host", b"origin"))
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return "the Host header names another place"
        if any(origin.lower() not in self._origins for origin in origins):
            return "another page asks"
        first = scope["path"].split("/")[1] if scope["path"].startswith("/") else ""
        if not _same(first, self._token):
            return _NO_TOKEN
        return None


def _same(given: str, secret: bytes) -> bool:
    return bool(secret) and compare_digest(given.encode("utf-8", "surrogatepass"), secret)


def _all(scope: Scope, name: bytes) -> list[bytes]:
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    return [value for key, value in headers if key.lower() == name]


async def _refuse(scope: Scope, send: Send, why: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": why})
        return
    headers = [(b"content-type", b"text/plain; charset=utf-8"), *_HEADERS.items()]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": f"403: {why}\n".encode()})


async def _lead(send: Send, path: bytes) -> None:
    headers = [(b"location", path), (b"cache-control", b"no-store"), *_HEADERS.items()]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


class _Answer:
    """Sends a response with the headers of the house; the scripts of a page are given its nonce.

    No value of the data is part of a page as it is first sent, so every script that stands in it is the framework's.
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
                await self._page(self._start)

    async def _begin(self, message: Message) -> None:
        policy = _POLICY.format(nonce=self._nonce).encode()
        own = {**_HEADERS, b"content-security-policy": policy}
        headers = [(key.lower(), value) for key, value in message["headers"] if key.lower() not in own]
        message["headers"] = [*headers, *own.items()]
        if dict(headers).get(b"content-type", b"").startswith(b"text/html"):
            self._start = message
        else:
            await self._send(message)

    async def _page(self, start: Message) -> None:
        body = self._body.replace(b"<script", f'<script nonce="{self._nonce}"'.encode())
        headers = [(key, value) for key, value in start["headers"] if key != b"content-length"]
        await self._send({**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
        await self._send({"type": "http.response.body", "body": body})
