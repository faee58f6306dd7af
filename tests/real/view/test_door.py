"""Access control, over plain HTTP and with plain sockets: the token, the Host and Origin headers, the policy."""

from __future__ import annotations

import http.client
import json
import re
import signal
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from real.view.served import served
from real.view.view_files import MILLION

FEW = ("zero.json", "--data", "few.parquet")


class Client:
    """Asks one server."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.host, self.port, self.path = parts.hostname, parts.port, parts.path
        self.token = self.path.strip("/")

    def get(self, path: str, **headers: str) -> tuple[int, dict[str, str], str]:
        """Ask for a path, as it is."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.putrequest("GET", path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        response = connection.getresponse()
        body = response.read().decode()
        connection.close()
        return response.status, {key.lower(): value for key, value in response.getheaders()}, body

    def view(self) -> str:
        """Open a page, and give the name under which it fetches."""
        return re.search(r"promptpress\.rows\([^\w-]*([\w-]{16})", self.get(self.path)[2]).group(1)

    def json(self, name: str, **parameters: object) -> dict[str, object]:
        """Fetch what the page's script fetches."""
        status, _, body = self.get(f"{self.path}{name}?{urlencode(parameters)}")
        assert status == 200, body
        return json.loads(body)


@pytest.fixture
def client(serve: Callable[..., str]) -> Client:
    return Client(serve(*FEW))


@pytest.mark.parametrize(
    ("words", "compares"),
    [(FEW, True), (("--jinja", "{{ question }}", "--data", "few.parquet"), False), (("few.jsonl",), False)],
    ids=["a configuration", "a template", "a file of prompts"],
)
def test_a_tab_compares_where_there_is_something_to_compare(
    words: tuple[str, ...], compares: bool, serve: Callable[..., str]
) -> None:
    more = () if compares or "--jinja" in words else ("--column", "question")
    client = Client(serve(*words, *more))
    assert ("Compare" in client.get(client.path)[2]) == compares


def test_everything_needs_the_token(client: Client) -> None:
    view = client.view()
    scripts = re.findall(r'(?:src|href)="([^"]+)"', client.get(client.path)[2])
    assert len(scripts) > 5
    paths = [client.path, f"{client.path}lines?view={view}&start=0&stop=3", f"{client.path}prompt?view={view}&line=0"]
    paths += [script if script.startswith("/") else client.path + script for script in scripts if script[0] != "d"]
    paths.append(f"{client.path}_nicegui_ws/socket.io/?EIO=4&transport=polling")
    for path in paths:
        assert path.startswith(f"/{client.token}/"), path
        for wrong in ("", "/wrong", f"/{client.token[:-1]}", f"/{client.token}x", f"/x/..{client.path[:-1]}"):
            bare = wrong + path.removeprefix(f"/{client.token}")
            status, headers, body = client.get(bare)
            assert (status, "token" in body) == (403, True), bare
            assert headers["content-type"].startswith("text/plain")
    assert client.get("/openapi.json")[0] == client.get("/docs")[0] == 403


def test_tokens_are_long_and_never_the_same(files: Path, client: Client) -> None:
    with served(files, *FEW) as other:
        token = Client(other.address).token
    assert len(token) == len(client.token) == 32
    assert token != client.token


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "[::1]:{port}", ""]
)
def test_another_host_is_refused(client: Client, host: str) -> None:
    # A name of someone else's that resolves to 127.0.0.1 (DNS rebinding) is still in the header.
    status, _, body = client.get(client.path, Host=host.format(port=client.port))
    assert (status, "Host" in body) == (403, True)


def test_localhost_is_the_same_place(client: Client) -> None:
    assert client.get(client.path, Host=f"localhost:{client.port}")[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"])
def test_another_page_is_refused_pages_and_sockets(client: Client, origin: str) -> None:
    origin = origin.format(port=client.port)
    assert client.get(client.path, Origin=origin)[0] == 403
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    socket = f"{client.path}_nicegui_ws/socket.io/?EIO=4&transport=websocket&client_id=x"
    assert client.get(socket, Origin=origin, **upgrade)[0] == 403
    assert client.get(socket.replace(client.token, "wrong"), **upgrade)[0] == 403


def test_headers_leave_a_browser_no_way_out(client: Client) -> None:
    _, headers, body = client.get(client.path)
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == policy["frame-ancestors"] == "'none'"
    assert policy["connect-src"] == "'self'"
    assert "unsafe-inline" not in policy["script-src"]
    nonce = re.search(r"'nonce-([^']+)'", policy["script-src"]).group(1)
    assert len(re.findall("<script", body)) == len(re.findall(f'<script nonce="{re.escape(nonce)}"', body)) > 3
    assert nonce not in client.get(client.path)[1]["content-security-policy"]
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)[^\s\"']*", body) == []
    assert "set-cookie" not in headers


def test_what_a_proxy_would_say_is_not_believed(client: Client) -> None:
    headers = {"X-Forwarded-Prefix": "/elsewhere", "X-Forwarded-Host": "evil.example"}
    assert "elsewhere" not in client.get(client.path, **headers)[2]


def test_lines_and_prompts(client: Client) -> None:
    view = client.view()
    answer = client.json("lines", view=view, start=0, stop=100)
    assert answer["total"] == 3
    assert [line["row"] for line in answer["lines"]] == [0, 1, 2]
    prompt = client.json("prompt", view=view, line=1)
    assert prompt["row"] == 1
    assert 'title="column question' in prompt["html"]
    assert "column: question, A, B" in prompt["legend"]
    assert client.json("prompt", view=view, line=3)["error"].endswith("there are 3")
    assert "there is no such row" in client.json("prompt", view=view, line=-1)["error"]
    status, _, body = client.get(f"{client.path}lines?view=other&start=0&stop=3")
    assert (status, "not open any more" in body) == (404, True)


def test_rows_of_a_format_that_does_not_say_how_many_it_has(serve: Callable[..., str]) -> None:
    client = Client(serve("zero.json", "--data", "few.jsonl"))
    answer = client.json("lines", view=client.view(), start=0, stop=100)
    assert [line["row"] for line in answer["lines"]] == [0, 1, 2]


@pytest.mark.full
def test_any_row_of_a_million_within_200_ms(files: Path) -> None:
    start = time.monotonic()
    with served(files, "zero.json", "--data", "million.parquet") as page:
        client = Client(page.address)
        view = client.view()
        first = client.json("lines", view=view, start=0, stop=100)
        opened = time.monotonic() - start
        assert len(first["lines"]) == 100
        while client.json("lines", view=view, start=MILLION - 1, stop=MILLION)["lines"][0]["row"] != MILLION - 1:
            time.sleep(0.1)
        seconds = []
        for row in range(3, MILLION, MILLION // 40):
            start = time.monotonic()
            assert len(client.json("lines", view=view, start=row, stop=row + 100)["lines"]) == 100
            assert f"town {row} and" in client.json("prompt", view=view, line=row)["html"]
            seconds.append(time.monotonic() - start)
    print(f"first lines {opened:.2f} s after the start, a row with its window {statistics.median(seconds):.4f} s")
    assert statistics.median(seconds) < 0.2


def test_the_port_is_loopbacks_alone(client: Client) -> None:
    listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:] if " 0A " in line]
    assert f"0100007F:{client.port:04X}" in listening
    assert f"00000000:{client.port:04X}" not in listening


def test_a_port_in_use_is_an_error(files: Path, client: Client) -> None:
    second = served(files, *FEW, "--port", str(client.port))
    with pytest.raises(AssertionError, match=r"--port \d+: Address already in use"), second:
        pass


def test_a_missing_port_is_an_error(files: Path) -> None:
    with (
        pytest.raises(AssertionError, match="--port 65536: ports go up to 65535"),
        served(files, *FEW, "--port", "65536"),
    ):
        pass


def test_the_browsers_command_line_does_not_hold_the_token(files: Path, tmp_path: Path) -> None:
    # Every user of the machine can read it.
    received = tmp_path / "told"
    browser = tmp_path / "browser"
    browser.write_text(
        f'#!/bin/sh\nprintf %s "$1" > {received}.part && mv {received}.part {received}\nexec sleep 10 2>&-\n'
    )
    browser.chmod(0o700)
    with served(files, *FEW, is_open=True, BROWSER=str(browser)) as page:
        client = Client(page.address)
        for _ in range(500):
            if received.exists():
                break
            time.sleep(0.02)
        start = time.monotonic()
        assert client.get(client.path)[0] == 200
        assert time.monotonic() - start < 5  # which doesn't wait for the browser to be closed
        address = urlsplit(received.read_text())
        assert (address.hostname, address.port) == (client.host, client.port)
        assert client.token not in address.path
        assert client.get(address.path, Host="evil.example")[0] == 403
        assert client.get(address.path, Origin="http://evil.example")[0] == 403
        status, headers, body = client.get(address.path)
        assert (status, headers["location"], body) == (303, client.path, "")
        assert headers["referrer-policy"] == "no-referrer"
        status, _, body = client.get(address.path)  # whoever comes second is told, and sees nothing
        assert (status, "has been used" in body, client.token in body) == (403, True, False)
        assert client.get(client.path)[0] == 200


@pytest.mark.parametrize("arguments", [FEW, ("zero.json", "--data", "million.parquet")])
def test_nothing_is_left_on_disk(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with served(files, *arguments) as page:
        client = Client(page.address)
        client.json("lines", view=client.view(), start=0, stop=3)
    assert page.process.returncode == 143
    assert list(tmp_path.iterdir()) == []
    assert "Traceback" not in "".join(page.error_lines)


def test_ctrl_c_is_how_it_ends(files: Path) -> None:
    with served(files, *FEW) as page:
        page.process.send_signal(signal.SIGINT)
        assert page.process.wait(30) == 0
    assert len(page.error_lines) == 1  # the address
