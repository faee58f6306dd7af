"""Templates that would grow without bound while they are compiled: Jinja2's text, or an error that names the limit."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import warnings
from pathlib import Path

import promptpress as pp
import pyarrow as pa
import pytest

pytest.importorskip("jinja2")
from generators.jinja_bombs import BOMBS
from jinja.engines import compiler
from promptpress._jinja.reference import Reference

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_AS counts on Linux alone")

CPU_SECONDS = 10.0
"""They take one or two. What isn't ended by the number of its steps takes far longer."""
SAMPLE = 6
"""One in so many of the templates is tried in each run of the tests, each in another environment."""
MEMORY = 1 << 30
"""Bytes that a template may take beyond what the imports need."""
ENVIRONMENTS = ("jinja2", "transformers", "lm_eval")
ROW = {"s": "ab", "words": ["a", "b c", ""]}
CHAT = [{"role": "user", "content": "ab"}, {"role": "assistant", "content": "cd"}]
CHAT_BEGIN = "{% set s = messages[0].content %}{% set words = [s, messages[1].content, ''] %}"


def rendered(source: str, environment: str) -> str:
    """Render three equal rows; all of them have one text. A warning may say that Jinja2 itself rendered them."""
    warnings.simplefilter("ignore", pp.PromptWarning)
    if environment == "chat":
        made = pp.ChatTemplate(CHAT_BEGIN + source).render(pa.table({"messages": [CHAT] * 3}))
    else:
        made = pp.JinjaTemplate(source, environment=environment).render(pa.Table.from_pylist([ROW] * 3))
    (text,) = set(made["prompt"].to_pylist())
    return str(text)


def jinja2_text(source: str, environment: str) -> str:
    """Return the text that Jinja2 itself renders, within the limits."""
    if environment == "chat":
        return Reference(CHAT_BEGIN + source, "transformers").render({"messages": CHAT})
    return Reference(source, environment).render(ROW)


def unlimited_text(source: str, environment: str) -> str:
    """Return the text that Jinja2 renders without limits."""
    if environment == "chat":
        return str(compiler("transformers")(CHAT_BEGIN + source).render(messages=CHAT))
    return str(compiler(environment)(source).render(**ROW))


def outcome(function, *arguments) -> list:
    """The text that a function gives, or its error: `["text", text]`, `[error's class, message]`."""
    try:
        return ["text", function(*arguments)]
    except BaseException as error:
        return [type(error).__name__, str(error)]


def bounded(function, *arguments) -> tuple[list, float]:
    """The outcome of a function in a process of its own with bounded memory, and the processor's time that it took."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY,) * 2)
            resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
            began = time.process_time()
            result = outcome(function, *arguments)
            seconds = time.process_time() - began
            with os.fdopen(writing, "w") as out:
                json.dump([result, seconds], out)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as answers:
        answer = answers.read()
    _, status = os.waitpid(child, 0)
    if status or not answer:
        return ["process", f"ended with status {status}"], float("inf")
    result, seconds = json.loads(answer)
    return result, seconds


def check(name: str, environment: str) -> None:
    result, seconds = bounded(rendered, BOMBS[name], environment)
    expected, of_one_row = bounded(jinja2_text, BOMBS[name], environment)
    where = f"{name} in {environment}: {str(result)[:300]}"
    if "limit exceeded" in expected[1] and result[0] == "text":
        # A program may need no step where the bounded run counts too many; then Jinja2 without limits has the text.
        expected, _ = bounded(unlimited_text, BOMBS[name], environment)
    if expected[0] == "text":
        assert result == expected, where
    else:
        assert result[0] in ("RenderError", "TemplateError"), where
        if "limit exceeded" in expected[1]:
            assert "limit exceeded" in result[1], where
    # Three rows that Jinja2 itself renders, and compiling, may take as long as five of its rows.
    assert seconds < max(CPU_SECONDS, 5 * of_one_row), f"{seconds:.1f} s, {where}"


@pytest.mark.parametrize(("number", "name"), [*enumerate(list(BOMBS)[::SAMPLE])])
def test_a_template_that_grows_is_bounded(number: int, name: str) -> None:
    check(name, (*ENVIRONMENTS, "chat")[number % 4])


@pytest.mark.full
@pytest.mark.parametrize("environment", [*ENVIRONMENTS, "chat"])
@pytest.mark.parametrize("name", BOMBS)
def test_a_template_that_grows_is_bounded_in_each_environment(name: str, environment: str) -> None:
    check(name, environment)
