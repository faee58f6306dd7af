"""A sample of the page in a real browser: it opens, goes to any row, is not harmed by values, and needs its token."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from real.view.view_files import HARM as HARM_COLUMNS
from real.view.view_files import HARMFUL_NAME

if TYPE_CHECKING:
    from real.view.browser import Browser

MILLION = ("zero.json", "--data", "million.parquet", "--model", "models.json", "--model-abbr", "chat-api")
HARM = ("harm.json", "--data", HARMFUL_NAME, "--model", "harm-models.json")


def test_opens_and_jumps_to_row_900000(serve: Callable[..., str], chromium: Browser) -> None:
    chromium.open(serve(*MILLION))
    assert "row 0" in chromium.prompt()
    chromium.until(lambda: "1,000,000 rows" in chromium.text(".pp-status"))
    chromium.type(".pp-goto input", "900000")
    chromium.until(lambda: "row 900000 " in chromium.prompt())
    assert "library of the old town 900000 and who" in chromium.prompt()
    chromium.until(lambda: any(line.startswith("900000\n") for line in chromium.lines()))
    chromium.type(".pp-goto input", "1000000")  # one too many
    chromium.until(lambda: "there are rows 0 to 999999" in chromium.text("body"))
    assert chromium.log() == []


def test_a_link_leads_to_the_same_place(serve: Callable[..., str], chromium: Browser) -> None:
    address = serve("--template", "Q: {question}", "--data", "few.parquet")
    chromium.open(address)
    chromium.type(".pp-search input", "T")
    chromium.until(lambda: len(chromium.lines()) == 2)
    chromium.leave()
    chromium.keys("j")
    chromium.until(lambda: chromium.web.current_url == f"{address}?row=2&search=T")
    chromium.web.refresh()
    chromium.until(lambda: "row 2 " in chromium.prompt() and len(chromium.lines()) == 2)
    chromium.open(address + "?column=question&value=Two%3F&rows=1-9&tab=prompts")
    chromium.until(lambda: chromium.text(".pp-says") == "1 found in 3 rows \u00b7 question = Two? \u00b7 rows 1-9")
    chromium.until(lambda: "row 1 " in chromium.prompt())
    chromium.click(".pp-all")
    chromium.until(lambda: chromium.web.current_url == address)
    assert chromium.log() == []


def test_values_are_text_and_nothing_leaves_the_machine(serve: Callable[..., str], chromium: Browser) -> None:
    address = serve(*HARM)
    chromium.web.get_log("performance")
    chromium.open(address)
    seen = []
    for row in range(7):
        chromium.type(".pp-goto input", str(row))
        chromium.until(lambda row=row: f"row {row} " in chromium.prompt())
        seen.append(chromium.prompt())
    assert "<script>window.harmed = 1</script><img src=x onerror='window.harmed = 1'>" in seen[0]
    assert r"right to left \u202e override \u2066 isolate" in seen[1]
    assert r"nul \x00 escape \x1b[31m red\r" in seen[2]
    assert "</pre></div><style>body{display:none}</style>" in seen[5]
    assert "<a href='http://example.invalid'>link</a>" in seen[6]
    assert any(r"\x00" in line for line in chromium.lines())
    assert any("<script>" in line for line in chromium.lines())
    assert chromium.run(
        "return [window.harmed, document.querySelectorAll('#pp-place :is(script, img, a, b)').length]"
    ) == [
        None,
        0,
    ]
    chromium.click(".pp-filtering")  # nor is a value that is offered to filter by
    chromium.choose(".pp-column-name", "question")
    chromium.until(lambda: chromium.text(".pp-says").startswith("7 found in 7 rows"))
    value = HARM_COLUMNS["question"][0][:60] + "…"
    chromium.until(lambda: not chromium.texts(".q-menu"))
    chromium.click(".pp-value .q-field__append")
    offered = chromium.until(lambda: chromium.texts(".q-menu .q-item"))
    assert offered[:2] == [value, r"right to left \u202e override \u2066 isolate"]
    chromium.click_text(".q-menu .q-item", value)
    chromium.until(lambda: chromium.text(".pp-says").startswith("1 found in 7 rows"))
    chromium.until(lambda: len(chromium.lines()) == 1)
    chromium.click(".pp-all")
    chromium.until(lambda: len(chromium.lines()) == 7)
    assert chromium.run("return window.harmed") is None
    # A value of a megabyte is shown in part, in the list as in the prompt, and all of it when that is asked for.
    assert len(seen[3]) < 110_000
    assert max(map(len, chromium.lines())) < 1000
    chromium.type(".pp-goto input", "3")
    chromium.until(lambda: "Show all: " in chromium.prompt())
    chromium.click(".pp-show-all")
    chromium.until(lambda: chromium.run("return document.querySelector('#pp-place').textContent.includes(' the end.')"))
    assert chromium.log() == []
    requested = [
        requested_address
        for requested_address in chromium.addresses()
        if not requested_address.startswith(("data:", "about:"))
    ]
    allowed = (address, address.replace("http://", "ws://"))
    assert requested
    assert [requested_address for requested_address in requested if not requested_address.startswith(allowed)] == []


def test_without_the_token_nothing_is_shown(serve: Callable[..., str], chromium: Browser) -> None:
    address = serve(*HARM)
    for other in (address.rsplit("/", 2)[0] + "/", address[:-2] + "/", address[:-1] + "x/"):
        chromium.web.get(other)
        assert "403" in chromium.text("body")
        assert "window.harmed" not in chromium.web.page_source
    chromium.log()  # the refusals themselves
