"""Cases of chat templates from the test suites of other projects, read from checkouts that lie in one folder.

`PROMPTPRESS_SUITES` names the folder, which holds a checkout for each name: `huggingface.js`, `minja`, `trl`,
`mistral-common`. None of their files is a part of this project.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

DUMMY = [{"role": "user", "content": "x"}]
"""The conversation of templates that don't read one."""

JAVASCRIPT = r"""
const fs = require("fs"), vm = require("vm");
const cases = [];
const of_call = (template, data, options) => ({ template, data, options });
class Template {
  constructor(template) { this.template = template; }
  render(data) { return of_call(this.template, data, { trim_blocks: true, lstrip_blocks: true }); }
  format() { return ""; }
}
class Environment { constructor() { this.data = {}; } set(name, value) { this.data[name] = value; } }
class Interpreter {
  constructor(env) { this.env = env; }
  run(parsed) { return { value: of_call(parsed.template, { ...this.env.data }, parsed.options) }; }
}
const nothing = () => {};
const record = (call, target) => {
  if (call && call.template !== undefined && typeof target === "string") cases.push({ ...call, target });
};
const expect = (value) => ({
  toEqual: (target) => record(value, target), toBe: (target) => record(value, target), toMatchObject: nothing,
  toThrowError: () => { const call = value(); if (call) cases.push({ ...(call.value || call), target: null }); },
});
const run = (_, body) => {
  try { if (body.constructor.name === "Function") body(); } catch (error) { cases.push({ unread: String(error) }); }
};
const names = {
  Template, Environment, Interpreter, expect, it: run, describe: run, beforeEach: nothing, afterEach: nothing,
  setupGlobals: nothing, vi: {}, console: { log: nothing, warn: nothing, error: nothing }, JSON, Object,
  tokenize: (template, options) => ({ template, options: options || {} }), parse: (parsed) => parsed,
};
const source = fs.readFileSync(process.argv[1], "utf8").replace(/^import .* from "[^"]*";$/gm, "");
const strings = "\nif (typeof TEST_STRINGS !== 'undefined') for (const name of Object.keys(EXPECTED_OUTPUTS)) " +
  "record({ template: TEST_STRINGS[name], data: TEST_CONTEXT[name], options: {} }, EXPECTED_OUTPUTS[name]);";
vm.runInNewContext(source + strings, { ...names, record });
const odd = (_, value) => typeof value === "function" || value === undefined ? { $odd: String(value) } : value;
process.stdout.write(JSON.stringify(cases, odd));
"""
"""Runs a file of tests with stand-ins for the engine, which record what is rendered, and what is expected."""

LITERAL = r'(?:R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*")'
TEXT = rf"(?:{LITERAL}\s*)+"
CPP_CASE = re.compile(
    rf"(?:EXPECT_EQ\(\s*(?P<target>{TEXT}),\s*|(?P<raises>EXPECT_THAT\(\[\]\(\) \{{ ))"
    rf"render\(\s*(?P<template>{TEXT}),\s*(?P<data>\{{\}}|[^;]*?),\s*(?P<options>\w+|\{{\}})\)"
)


class Case(NamedTuple):
    """A template with what it is given, and what the suite expects.

    Args:
        template: The template.
        data: What it may read.
        target: The expected text; None: an error.
        is_transformers: True in the environment of transformers, False in that of Jinja2; None in another one.

    """

    template: str
    data: dict[str, Any]
    target: str | None
    is_transformers: bool | None


def checkout(name: str) -> Path:
    """Return a suite's checkout; skip the test if there is none."""
    folder = Path(os.environ.get("PROMPTPRESS_SUITES", "/nowhere"), name)
    if not folder.is_dir():
        pytest.skip(f"PROMPTPRESS_SUITES names no folder with {name}")
    return folder


def javascript_cases(file: str) -> Iterator[Case]:
    """Read a file of huggingface.js's tests of its Jinja engine."""
    path = checkout("huggingface.js") / "packages" / "jinja" / "test" / file
    node = shutil.which("node")
    if node is None:
        pytest.skip("node isn't installed")
    recorded = subprocess.run([node, "-e", JAVASCRIPT, str(path)], check=True, capture_output=True, timeout=60)
    for case in json.loads(recorded.stdout):
        if "unread" not in case and isinstance(case["template"], str):
            yield Case(case["template"], case.get("data") or {}, case["target"], environment_of(case["options"]))


def environment_of(options: dict[str, Any]) -> bool | None:
    kinds = {bool(options.get(name)) for name in ("trim_blocks", "lstrip_blocks")}
    return kinds.pop() if len(kinds) == 1 else None


def cpp_cases() -> Iterator[Case]:
    """Read minja's tests of syntax; the data of some is C++, and isn't read."""
    source = (checkout("minja") / "tests" / "test-syntax.cpp").read_text(encoding="utf-8")
    for case in CPP_CASE.finditer(source):
        data = {} if case["data"] in ("{}", "json()", "json::object()") else {"$odd": case["data"]}
        target = None if case["raises"] else cpp_text(case["target"])
        kind = {"{}": False, "lstrip_trim_blocks": True}.get(case["options"])
        yield Case(cpp_text(case["template"]), data, target, kind)


def cpp_text(literals: str) -> str:
    """Return the text of C++'s string literals."""
    parts = re.findall(LITERAL, literals)
    return "".join(part[3:-2] if part.startswith("R") else json.loads(part.replace(r"\'", "'")) for part in parts)


def template_files(suite: str) -> Iterator[Case]:
    """Put each template of a suite over the conversations of the suites; the suites expect no texts for them."""
    folder = {"trl": "trl/chat_templates", "mistral-common": "tests/data/chat_templates"}[suite]
    files = sorted((checkout(suite) / folder).glob("*.jinja"))
    for file, data in product(files, conversations()):
        yield Case(file.read_text(encoding="utf-8"), data, "", True)


def conversations() -> Iterator[dict[str, Any]]:
    """Read the conversations that minja and mistral-common test with, and the first two messages of each."""
    minja, mistral = checkout("minja") / "tests/contexts", checkout("mistral-common") / "tests/data/samples"
    for file in [*sorted(minja.glob("*.json")), *sorted(mistral.glob("*/sample.json"))]:
        data = {"bos_token": "<s>", "eos_token": "</s>", **json.loads(file.read_text(encoding="utf-8"))}
        messages = data.pop("messages")
        for end in sorted({2, len(messages)}):
            yield {**data, "messages": messages[:end]}
