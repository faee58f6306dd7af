"""The rest of the page in a real browser: search, what is chosen, where a piece comes from, keys, looks."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    from real.view.browser import Browser

pytestmark = pytest.mark.full

MILLION = ("zero.json", "--data", "million.parquet", "--model", "models.json", "--model-abbr", "chat-api")
SHOTS = ("shots.json", "--data", "few.parquet", "--examples", "few.parquet")
LABELS = ("labels.json", "--data", "few.parquet")
SEVERAL = (
    "zero.json",
    "shots.json",
    "--data",
    "few.parquet",
    "--examples",
    "few.parquet",
    "--model",
    "models.json",
    "--model-abbr",
    "chat-api",
)


def test_search_in_a_million_prompts(serve: Callable[..., str], chromium: Browser) -> None:
    chromium.open(serve(*MILLION))
    chromium.type(".pp-search input", "SQUARE 999999")
    status = chromium.until(lambda: (status := chromium.text(".pp-says")).endswith("rows") and status)
    assert status == "1 found in 1,000,000 rows"
    chromium.until(lambda: "row 999999 " in chromium.prompt())
    chromium.until(lambda: ["square 999999" in line for line in chromium.lines()] == [True])
    assert chromium.run("return [...CSS.highlights.get('pp-found')].map(String)") == ["square 999999"]
    chromium.click(".pp-case")  # upper and lower case count now
    chromium.until(lambda: chromium.text(".pp-says") == "0 found in 1,000,000 rows")
    chromium.until(lambda: not chromium.lines())
    chromium.click(".pp-case")
    chromium.type(".pp-search input", "town 12345")
    chromium.until(lambda: chromium.text(".pp-says") == "11 found in 1,000,000 rows")
    chromium.leave()
    chromium.keys("j")
    chromium.until(lambda: "row 123450 " in chromium.prompt())
    chromium.keys("\ue00c")  # Escape: all rows again
    chromium.until(lambda: "row 0 " in chromium.prompt())
    chromium.until(lambda: len(chromium.lines()) > 5 and chromium.lines()[1].startswith("1\n"))
    assert chromium.log() == []


def test_a_search_can_be_stopped(serve: Callable[..., str], chromium: Browser) -> None:
    chromium.open(serve(*MILLION))
    press = (
        "setInterval(() => { const one = document.querySelector('.pp-stop'); if (one.offsetParent) one.click() }, 5)"
    )
    chromium.run(press)
    chromium.type(".pp-search input", "e")
    status = chromium.until(lambda: "so far" not in (status := chromium.text(".pp-says")) and status)
    assert status.endswith(", stopped") or status == "1,000,000 found in 1,000,000 rows"  # it was quicker


def test_model_output_and_substitution_switch_live(serve: Callable[..., str], chromium: Browser) -> None:
    chromium.open(serve(*MILLION))
    assert "HUMAN" in chromium.texts(".pp-role")
    chromium.type(".pp-goto input", "900000")
    chromium.until(lambda: "row 900000 " in chromium.prompt())
    chromium.choose(".pp-model", "tags")
    chromium.until(lambda: "<|user|>" in chromium.prompt())
    assert "row 900000 " in chromium.prompt()  # the row stays
    assert "meta template" in chromium.text("#pp-colours")
    chromium.choose(".pp-output", "prompt_list")
    chromium.until(lambda: "<|user|>" not in chromium.prompt())
    chromium.choose(".pp-output", "as configured")
    chromium.choose(".pp-model", "as configured, or none")
    chromium.until(lambda: "HUMAN" not in chromium.prompt() and "<|user|>" not in chromium.prompt())


def test_substitution_shows_what_a_value_brought_in(serve: Callable[..., str], chromium: Browser) -> None:
    chromium.open(serve("harm.json", "--data", "harm.parquet", "--output", "text"))
    chromium.type(".pp-goto input", "4")
    chromium.until(lambda: "Q: see " in chromium.prompt())
    harness = chromium.prompt()
    chromium.choose(".pp-substitution", "single_pass")
    chromium.until(lambda: "Q: see {answer}" in chromium.prompt())
    assert "Q: see {answer}" not in harness


def test_the_page_reports_a_choice_that_makes_no_sense(serve: Callable[..., str], chromium: Browser) -> None:
    chromium.open(serve("plain.json", "--data", "few.parquet"))
    chromium.choose(".pp-mode", "ppl")
    chromium.until(lambda: "ppl mode needs labels" in chromium.text(".pp-error"))
    assert "row 0 " in chromium.prompt()  # the last good one stays
    chromium.choose(".pp-mode", "gen")
    chromium.until(lambda: not chromium.web.find_element("css selector", ".pp-error").is_displayed())


def test_prompts_of_several_configurations(serve: Callable[..., str], chromium: Browser) -> None:
    chromium.open(serve(*SEVERAL))
    assert "Answer the question" in chromium.prompt()
    chromium.choose(".pp-prompts", "shots.json")
    chromium.until(lambda: "A: B" in chromium.prompt())


def test_labels(serve: Callable[..., str], chromium: Browser) -> None:
    chromium.open(serve(*LABELS))
    assert "label A" in chromium.prompt()
    assert "label B" in chromium.prompt()
    chromium.choose(".pp-label", "B")
    chromium.until(lambda: "label A" not in chromium.prompt())
    assert "It is b." in chromium.prompt()
    chromium.until(lambda: chromium.lines() and "It is b." in chromium.lines()[0])
    chromium.type(".pp-search input", "It is a")  # which B never says
    chromium.until(lambda: chromium.text(".pp-says").startswith("0 found"))


def test_where_a_piece_comes_from(serve: Callable[..., str], chromium: Browser) -> None:
    chromium.open(serve(*SHOTS))
    chromium.hover("#pp-place .pp-example_column")
    chromium.until(lambda: chromium.text("#pp-origin") == "from: column question, example 0")
    chromium.hover("#pp-place .pp-column")
    chromium.until(lambda: chromium.text("#pp-origin").startswith("from: column question"))
    chromium.run("document.querySelector('#pp-place').focus()")
    origins = []
    for _ in range(4):  # and by keyboard
        chromium.keys("\ue004")
        origins.append(chromium.text("#pp-origin"))
    assert origins[:2] == ["from: example template, example 0", "from: column question, example 0"]
    assert "masked answer" in chromium.text("#pp-colours")


def test_keys(serve: Callable[..., str], chromium: Browser) -> None:
    chromium.open(serve(*SHOTS))
    chromium.leave()
    for keys, row in (("j", 1), ("j", 2), ("j", 2), ("k", 1), ("\ue015", 2), ("\ue013", 1)):
        chromium.keys(keys)
        chromium.until(lambda row=row: f"row {row} " in chromium.prompt())
    chromium.leave()
    chromium.keys("g")
    chromium.keys("0", "\ue007")
    chromium.until(lambda: "row 0 " in chromium.prompt())
    chromium.leave()
    chromium.keys("/")
    chromium.keys("Three", "\ue007")
    chromium.until(lambda: chromium.text(".pp-says") == "1 found in 3 rows")
    chromium.keys("\ue00c", "\ue00c")
    chromium.until(lambda: len(chromium.lines()) == 3)
    chromium.leave()
    chromium.keys("w")
    chromium.until(lambda: "↵" in chromium.prompt())
    chromium.keys("?")
    chromium.until(lambda: "white space made visible" in chromium.text("body"))
    chromium.keys("\ue00c")
    chromium.until(lambda: not chromium.texts(".q-dialog"))
    light = chromium.run("return getComputedStyle(document.body).backgroundColor")
    chromium.keys("d")
    chromium.until(lambda: chromium.run("return getComputedStyle(document.body).backgroundColor") != light)


def test_dark_where_the_system_is(serve: Callable[..., str], chromium: Browser) -> None:
    address = serve(*SHOTS)
    seen = []
    for dark in (False, True):
        chromium.open(address, dark=dark)
        seen.append(chromium.run("return getComputedStyle(document.body).backgroundColor"))
    assert seen == ["rgb(255, 255, 255)", "rgb(22, 24, 28)"]


def test_on_a_phone(serve: Callable[..., str], chromium: Browser) -> None:
    chromium.open(serve(*MILLION), 390, 844)
    assert chromium.run("return document.documentElement.scrollWidth") <= 390

    def fits(*parts: str) -> None:
        for part in parts:
            box = chromium.web.find_element("css selector", part).rect
            assert box["width"] > 40, part
            assert box["y"] + box["height"] <= 850, part

    fits(".pp-grid", ".pp-search", ".pp-model", ".pp-tabs")
    chromium.click(".pp-grid .ag-row[row-index='3']")  # the prompt takes the place of the list
    fits("#pp-place", "#pp-colours")
    chromium.until(lambda: "row 3 " in chromium.prompt())
    assert chromium.web.find_element("css selector", "#pp-place").rect["height"] > 500
    chromium.click(".pp-back")
    chromium.type(".pp-goto input", "5")
    chromium.until(lambda: "row 5 " in chromium.prompt())


def test_a_rendered_file(files: Path, serve: Callable[..., str], chromium: Browser) -> None:
    from promptpress_workbench.cli import main

    out = str(files / "rendered.parquet")
    arguments = ["render", str(files / "labels.json"), "--data", str(files / "few.parquet"), "--out", out, "--quiet"]
    assert main(arguments) == 0
    chromium.open(serve("rendered.parquet"))
    assert "row 0 · label A" in chromium.prompt()
    chromium.until(lambda: len(chromium.lines()) == 3)
    assert chromium.texts(".pp-model") == []
    chromium.type(".pp-search input", "Two")
    chromium.until(lambda: chromium.text(".pp-says").startswith("1 found"))
    chromium.until(lambda: "row 1 " in chromium.prompt())


def test_two_pages_do_not_disturb_each_other(serve: Callable[..., str], chromium: Browser) -> None:
    address = serve(*SHOTS)
    chromium.open(address)
    chromium.type(".pp-search input", "Three")
    chromium.until(lambda: len(chromium.lines()) == 1)
    first = chromium.web.current_window_handle
    chromium.web.switch_to.new_window("tab")
    try:
        chromium.open(address)
        chromium.until(lambda: len(chromium.lines()) == 3)
    finally:
        chromium.web.close()
        chromium.web.switch_to.window(first)
    chromium.until(lambda: len(chromium.lines()) == 1)


def test_compare_two_configurations(serve: Callable[..., str], chromium: Browser) -> None:
    chromium.open(serve("harm.json", "--data", "harm.parquet"))
    chromium.click_text(".q-tab", "Compare")
    chromium.until(lambda: chromium.text(".pp-says") == "0 differ in 7 rows")
    chromium.choose(".pp-other .pp-substitution", "single_pass")
    chromium.until(lambda: chromium.text(".pp-says") == "1 differs in 7 rows")
    chromium.until(lambda: len(chromium.lines()) == 1)
    chromium.until(lambda: "row 4 " in chromium.prompt())
    sides = chromium.texts(".pp-side")
    assert "{answer}" not in sides[2]
    assert "{answer}" in sides[3]
    assert [side.partition(" · ")[0] for side in sides[:2]] == ["substitution as configured", "single_pass"]
    assert "{answer}" in chromium.texts(".pp-side .pp-added")
    assert chromium.text(".pp-differs").startswith("differs: byte 7, character 7")
    boxes = [element.rect for element in chromium.web.find_elements("css selector", ".pp-side")]
    assert [box["y"] for box in boxes[::2]] == [box["y"] for box in boxes[1::2]]  # side by side
    chromium.click(".pp-all")
    chromium.until(lambda: len(chromium.lines()) == 7)
    chromium.until(lambda: chromium.text(".pp-differs") == "the same on both sides")
    chromium.click_text(".q-tab", "Prompts")
    chromium.until(lambda: not chromium.texts(".pp-side"))
    assert chromium.run("return window.harmed") is None


def test_compare_two_files(serve: Callable[..., str], chromium: Browser) -> None:
    chromium.open(serve(*SEVERAL))
    chromium.click_text(".q-tab", "Compare")
    chromium.until(lambda: chromium.text(".pp-says") == "3 differ in 3 rows")
    chromium.until(lambda: "Answer the question" in chromium.texts(".pp-side")[2])
    assert "A: B" in chromium.texts(".pp-side")[3]


def test_two_models_stand_side_by_side_at_first(serve: Callable[..., str], chromium: Browser) -> None:
    chromium.open(serve("quiz.json", "--data", "few.parquet", "--examples", "train.parquet", "--model", "models.json"))
    chromium.until(lambda: chromium.text(".pp-says") == "3 differ in 3 rows")
    chromium.until(lambda: len(chromium.texts(".pp-side")) == 4)  # the headings, and a text beside messages
    sides = chromium.texts(".pp-side")
    assert [side.partition(" · ")[0] for side in sides[:2]] == ["chat-api", "tags"]
    assert "<|user|>" in sides[3]
    assert "<|user|>\n" in chromium.texts(".pp-side .pp-added")[0] + "\n"
    assert chromium.texts(".pp-controls .pp-output") == ["", ""]
    chromium.click(".pp-options")
    chromium.choose(".pp-output", "prompt_list")
    chromium.choose(".pp-other .pp-output", "prompt_list")
    chromium.until(lambda: chromium.text(".pp-says") == "0 differ in 3 rows")
    chromium.click_text(".q-tab", "Prompts")
    chromium.until(lambda: not chromium.texts(".pp-side") and len(chromium.lines()) == 3)


def test_the_list_starts_at_what_differs(serve: Callable[..., str], chromium: Browser) -> None:
    chromium.open(serve("shots.json", "--data", "million.parquet", "--examples", "few.parquet"))
    beginning = "Q: One?\nA: A\n\nQ: Two?\nA: B\n\nQ: where is the library of the old town "
    chromium.until(lambda: chromium.lines()[0].splitlines()[-1].startswith("…0 and who"))
    assert str(len(beginning)) in chromium.text("#pp-shared summary")
    assert chromium.text("#pp-shared-text") == ""
    chromium.click("#pp-shared summary")
    chromium.until(lambda: chromium.text("#pp-shared-text") == beginning.strip())
    chromium.type(".pp-search input", "town 9000 and")
    chromium.until(lambda: chromium.text(".pp-says").endswith(" rows") and chromium.text("#pp-shared summary") == "")


def test_the_other_columns_stand_next_to_the_prompt(serve: Callable[..., str], chromium: Browser) -> None:
    chromium.open(serve(*MILLION))
    chromium.type(".pp-goto input", "7")
    chromium.until(lambda: "row 7 " in chromium.prompt())
    assert chromium.text("#pp-values").split() == ["id", "7", "answer", "B"]
    prompt, columns = (chromium.web.find_element("css selector", part).rect for part in ("#pp-place", "#pp-columns"))
    assert columns["y"] == prompt["y"]
    assert columns["x"] >= prompt["x"] + prompt["width"]


def test_waiting_for_lengths_shows_how_far_it_is(serve: Callable[..., str], chromium: Browser) -> None:
    chromium.open(serve(*MILLION))
    chromium.until(lambda: "1,000,000 rows" in chromium.text(".pp-status"))
    chromium.click_text(".q-tab", "Lengths")
    chromium.until(lambda: chromium.texts(".pp-progress"))
    assert "of 1,000,000 rows" in chromium.text(".pp-figures")
    chromium.until(lambda: "1,000,000 prompts" in chromium.text(".pp-figures"), 60)
    assert chromium.texts(".pp-progress") == []
    assert chromium.log() == []


def test_a_bar_lists_its_prompts(serve: Callable[..., str], chromium: Browser) -> None:
    chromium.open(serve("plain.json", "--data", "few.parquet"))
    chromium.click_text(".q-tab", "Lengths")
    chromium.until(lambda: chromium.texts(".pp-chart svg"))
    bars = chromium.web.find_elements("css selector", ".pp-chart svg path[fill='#5b8def']")
    bars[-1].click()
    chromium.until(lambda: [line.split()[0] for line in chromium.lines()] == ["2"])
    chromium.click(".pp-all")
    chromium.until(lambda: len(chromium.lines()) == 3)
    chromium.click(".ag-header-cell[col-id='size']")
    chromium.until(lambda: [line.split()[0] for line in chromium.lines()] == ["2", "0", "1"])
    assert chromium.log() == []


def test_what_a_row_gives(files: Path, serve: Callable[..., str], chromium: Browser) -> None:
    chromium.open(serve("plain.json", "--data", "few.parquet"))
    allowed = {
        "origin": chromium.run("return location.origin"),
        "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"],
    }
    chromium.web.execute_cdp_cmd("Browser.grantPermissions", allowed)
    folder = {"behavior": "allow", "downloadPath": str(files / "saved")}
    chromium.web.execute_cdp_cmd("Browser.setDownloadBehavior", folder)
    chromium.leave()
    chromium.keys("j")
    chromium.until(lambda: "row 1 " in chromium.prompt())
    chromium.keys("c")
    read = "const done = arguments[0]; navigator.clipboard.readText().then(done, done)"
    chromium.until(lambda: chromium.web.execute_async_script(read) == "Q: Two?")
    chromium.click(".pp-save")
    saved = files / "saved" / "row-1.html"
    chromium.until(saved.exists)
    assert "Two?" in saved.read_text(encoding="utf-8")


def test_lengths_and_duplicates(serve: Callable[..., str], chromium: Browser) -> None:
    chromium.open(serve(*SHOTS))
    chromium.click_text(".q-tab", "Lengths")
    chromium.until(lambda: len(chromium.texts(".pp-chart svg")) == 2)
    assert "3 prompts" in chromium.text(".pp-figures")
    assert "column question, in examples" in chromium.text(".pp-figures")
    chromium.click_text(".pp-row", chromium.texts(".pp-row")[0])  # the longest
    chromium.until(lambda: chromium.web.find_element("css selector", "#pp-place").is_displayed())
    chromium.until(lambda: "row 2 " in chromium.prompt())
    chromium.click_text(".q-tab", "Duplicates")
    chromium.until(lambda: "All 3 prompts differ from each other." in chromium.text(".pp-figures"))
    chromium.choose(".pp-output", "messages")
    chromium.until(lambda: "All 3 prompts differ" in chromium.text(".pp-figures"))


def test_equal_prompts_are_counted(files: Path, serve: Callable[..., str], chromium: Browser) -> None:
    (files / "same.jsonl").write_text('{"question": "One?", "answer": ""}\n' * 3 + '{"question": "x", "answer": ""}\n')
    chromium.open(serve("harm.json", "--data", "same.jsonl"))
    chromium.click_text(".q-tab", "Duplicates")
    chromium.until(lambda: "2 of 4 prompts repeat an earlier one, in one group" in chromium.text(".pp-figures"))
    assert chromium.texts(".pp-row") == ["row 0", "row 1", "row 2"]


def test_what_was_found_is_marked_where_it_stands(files: Path, serve: Callable[..., str], chromium: Browser) -> None:
    # The dotted capital I is two characters in lower case.
    pq.write_table(pa.table({"question": ["\u0130" * 60 + " needle", "a row of words"]}), files / "dotted.parquet")
    chromium.open(serve("plain.json", "--data", "dotted.parquet"))
    for wanted, marked in (("NEEDLE", ["needle"]), ("row", ["row"])):  # not the one of the heading, which counts rows
        chromium.type(".pp-search input", wanted)
        chromium.until(lambda: chromium.text(".pp-says") == "1 found in 2 rows")
        chromium.until(
            lambda marked=marked: chromium.run("return [...CSS.highlights.get('pp-found')].map(String)") == marked
        )
        chromium.until(lambda wanted=wanted: wanted.lower() in chromium.lines()[0])
    assert chromium.log() == []


def test_nothing_found_is_no_error(serve: Callable[..., str], chromium: Browser) -> None:
    chromium.open(serve("plain.json", "--data", "few.parquet"))
    chromium.type(".pp-search input", "nowhere")
    chromium.until(lambda: chromium.text(".pp-says") == "0 found in 3 rows")
    chromium.until(lambda: not chromium.prompt())
    chromium.leave()
    chromium.keys("\ue00c")
    chromium.until(lambda: "row 0 " in chromium.prompt())
    chromium.click_text(".q-tab", "Compare")  # with itself
    chromium.until(lambda: chromium.text(".pp-says") == "0 differ in 3 rows")
    chromium.until(lambda: not chromium.prompt())
    assert chromium.texts(".pp-wrong") == []


def test_names_have_nothing_hidden_in_them(files: Path, serve: Callable[..., str], chromium: Browser) -> None:
    turned = "turned \u202e.parquet"
    pq.write_table(pa.table({"q": ["x"]}), files / turned)
    labels = {"A\u202e": "{q} A", "B": "{q} B"}
    (files / "turned\u202e.json").write_text(json.dumps({"prompt_template": labels, "mode": "ppl"}), encoding="utf-8")
    (files / "other.json").write_text(json.dumps({"prompt_template": "{no\u202e such}"}), encoding="utf-8")
    chromium.open(serve("turned\u202e.json", "other.json", "--data", turned))
    assert chromium.text(".pp-file") == r"turned \u202e.parquet"
    assert chromium.web.title.startswith(r"turned \u202e.parquet")
    assert r"turned\u202e.json" in chromium.text(".pp-prompts")
    chromium.until(lambda: chromium.text(".pp-label"))
    chromium.choose(".pp-label", r"A\u202e")
    chromium.until(lambda: r"A\u202e" in chromium.text(".pp-label"))
    chromium.choose(".pp-prompts", "other.json")
    chromium.until(lambda: chromium.text(".pp-error") or r"\u202e" in chromium.prompt())
    assert "\u202e" not in chromium.text("body")
    heights = {
        element.rect["height"] for element in chromium.web.find_elements("css selector", ".pp-controls .pp-select")
    }
    assert len(heights - {0}) == 1  # all fields look the same


def test_a_row_that_cannot_be_rendered_is_one_line(files: Path, serve: Callable[..., str], chromium: Browser) -> None:
    when = pa.array([1, 1 << 62, 3], pa.int64()).cast(pa.timestamp("s"))
    with pa.OSFile(str(files / "times.arrow"), "wb") as sink:
        table = pa.table({"when": when})
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    chromium.open(serve("--template", "At {when}", "--data", "times.arrow"))
    chromium.until(lambda: len(chromium.lines()) == 3)
    assert "outside the years 1 to 9999" in chromium.lines()[1]
    assert chromium.lines()[2].startswith("2\n")
    assert len(chromium.texts(".pp-grid .ag-row.pp-wrong")) == 1


def test_dark_stays_dark_on_every_tab(serve: Callable[..., str], chromium: Browser) -> None:
    chromium.open(serve(*SHOTS))
    chromium.leave()
    for turn, dark in ((lambda: chromium.keys("d"), True), (lambda: chromium.click(".pp-theme"), False)):
        turn()
        chromium.until(lambda dark=dark: chromium.run("return Quasar.Dark.isActive") is dark)
        for tab in ("Lengths", "Duplicates", "Compare", "Prompts"):
            chromium.click_text(".q-tab", tab)
            plots = tab in ("Lengths", "Duplicates")
            chromium.until(lambda plots=plots: ("3 prompts" in chromium.text(".pp-figures")) is plots)
            assert chromium.run("return Quasar.Dark.isActive") is dark, tab


def test_a_phone_has_room_for_the_prompts_of_the_list(serve: Callable[..., str], chromium: Browser) -> None:
    chromium.open(serve(*SEVERAL), 360, 740)
    chromium.until(lambda: chromium.web.find_element("css selector", ".pp-grid .pp-line").rect["width"] > 200)
    chromium.click_text(".q-tab", "Compare")
    chromium.until(lambda: len(chromium.texts(".pp-side")) == 4)
    assert chromium.web.find_element("css selector", ".pp-grid").rect["height"] >= 80
    assert chromium.run("return document.documentElement.scrollWidth") <= 360


@pytest.mark.skipif(not os.environ.get("PROMPTPRESS_SCREENSHOTS"), reason="make test-view SCREENSHOTS=docs")
@pytest.mark.parametrize(("name", "width", "height"), [("view-desktop", 1280, 760), ("view-phone", 390, 844)])
def test_screenshots(serve: Callable[..., str], chromium: Browser, name: str, width: int, height: int) -> None:
    folder = Path(os.environ["PROMPTPRESS_SCREENSHOTS"])
    quiz = (
        "quiz.json",
        "--data",
        "million.parquet",
        "--examples",
        "train.parquet",
        "--model",
        "models.json",
        "--model-abbr",
        "tags",
    )
    chromium.open(serve(*quiz), width, height, dark=name.endswith("phone"))
    chromium.type(".pp-search input", "town 9000")
    chromium.until(lambda: chromium.text(".pp-says").endswith(" rows"))
    if name.endswith("phone"):
        chromium.click(".pp-grid .ag-row[row-index='0']")
    chromium.until(lambda: "row 9000 " in chromium.prompt())
    chromium.leave()
    chromium.hover("#pp-place .pp-example_column")
    path = folder / f"{name}.png"
    chromium.web.save_screenshot(str(path))
    assert path.stat().st_size < 200_000
