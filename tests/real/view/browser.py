"""Debian's Chromium, headless, and what the tests do with a page."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest
from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

T = TypeVar("T")

ABSENT = "Chromium and its driver aren't installed here (Debian: chromium, chromium-driver): make test-view"
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # which a container, as root, can't have
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--window-size=1280,800",
    # No name resolves, and no address but loopback is reached: were something asked for, it would be seen in the log.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Open a browser for all tests of a run."""
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip(ABSENT)
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for option in _OPTIONS:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    web = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver, env={**os.environ}))
    try:
        web.set_script_timeout(20)
        web.set_page_load_timeout(60)
        yield Browser(web)
    finally:
        web.quit()


class Browser:
    """A browser with a page of ours."""

    def __init__(self, web: webdriver.Chrome) -> None:
        self.web = web

    def open(self, address: str, width: int = 1280, height: int = 800, *, dark: bool = False) -> float:
        """Open a page anew, and wait until it shows a prompt; say how long that took."""
        self.web.get("about:blank")
        self.log()
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.web.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.web.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        start = time.monotonic()
        self.web.get(address)
        self.until(lambda: (self.prompt() or width < 800) and self.lines())
        return time.monotonic() - start

    def until(self, condition: Callable[[], T], seconds: float = 20) -> T:
        """Wait until something holds; fail with what the page shows if it doesn't."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if value := condition():
                    return value
            except (NoSuchElementException, StaleElementReferenceException, IndexError):
                pass
            time.sleep(0.02)
        pytest.fail(f"it did not come to that within {seconds} s; the page shows:\n{self.text('body')[:2000]}")

    def text(self, selector: str) -> str:
        """Give what an element says; nothing if it isn't there or isn't shown."""
        return next(iter(self.texts(selector)), "")

    def texts(self, selector: str) -> list[str]:
        """Give what each such element says, at one moment."""
        elements = "return [...document.querySelectorAll(arguments[0])]"
        texts = self.web.execute_script(
            f"{elements}.map(one => one.checkVisibility() ? (one.innerText ?? one.textContent).trim() : '')", selector
        )
        return list(texts)

    def prompt(self) -> str:
        """Give what the right side says."""
        return self.text("#pp-place")

    def lines(self) -> list[str]:
        """Give the lines of the list that are shown, without those that are being fetched."""
        return [line for line in self.texts(".pp-grid .ag-center-cols-container .ag-row") if line]

    def keys(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        ActionChains(self.web).send_keys(*keys).perform()

    def leave(self) -> None:
        """Take the focus out of any field."""
        self.web.execute_script("document.activeElement.blur()")

    def type(self, selector: str, text: str) -> None:
        """Put a text into a field, and press Enter."""
        field = self.web.find_element(By.CSS_SELECTOR, selector)
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(text, Keys.ENTER)

    def click(self, selector: str) -> None:
        """Click on an element."""
        self.web.find_element(By.CSS_SELECTOR, selector).click()

    def click_text(self, selector: str, text: str) -> None:
        """Click on the one of some elements that says this, when it is there."""

        def clicked() -> bool:
            positions = [position for position, caption in enumerate(self.texts(selector)) if caption == text]
            for position in positions[:1]:
                self.web.find_elements(By.CSS_SELECTOR, selector)[position].click()
            return bool(positions)

        self.until(clicked)

    def choose(self, field: str, name: str) -> None:
        """Choose an entry of a field at the top."""
        self.click(field)
        self.click_text(".q-menu .q-item", name)

    def hover(self, selector: str) -> None:
        """Move the mouse onto an element."""

        def moved() -> bool:
            ActionChains(self.web).move_to_element(self.web.find_element(By.CSS_SELECTOR, selector)).perform()
            return True

        self.until(moved)

    def run(self, script: str, *arguments: object) -> Any:
        """Run a script in the page, and give what it returns."""
        return self.web.execute_script(script, *arguments)

    def log(self) -> list[str]:
        """Give what the page complained of since the last time."""
        return [entry["message"] for entry in self.web.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def addresses(self) -> list[str]:
        """Give what the page asked for, over HTTP and sockets, since the last time."""
        out = []
        for entry in self.web.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            parameters = message["params"]
            if message["method"] == "Network.requestWillBeSent":
                out.append(str(parameters["request"]["url"]))
            elif message["method"] == "Network.webSocketCreated":
                out.append(str(parameters["url"]))
        return out
