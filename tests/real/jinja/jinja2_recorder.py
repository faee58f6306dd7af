"""A plugin of pytest that records what Jinja2's own tests render: `pytest -p jinja2_recorder`.

It writes a line of JSON to the file that `JINJA2_RECORDS` names for each call of `Template.render`: the template's
source, the options of its environment, the variables, and the text or the exception; or why it can't be compared.
"""

from __future__ import annotations

import json
import os
from typing import Any

import jinja2
from jinja2 import defaults
from jinja2.ext import ExprStmtExtension, LoopControlExtension
from jinja2.nativetypes import NativeEnvironment
from jinja2.sandbox import SandboxedEnvironment

OPTIONS = (
    *("block_start_string", "block_end_string", "variable_start_string", "variable_end_string"),
    *("comment_start_string", "comment_end_string", "line_statement_prefix", "line_comment_prefix"),
    *("trim_blocks", "lstrip_blocks", "newline_sequence", "keep_trailing_newline", "autoescape"),
)
UNDEFINED = {
    jinja2.Undefined: "default",
    jinja2.StrictUndefined: "strict",
    jinja2.ChainableUndefined: "chainable",
    jinja2.DebugUndefined: "debug",
}
EXTENSIONS: dict[type, str] = {ExprStmtExtension: "do", LoopControlExtension: "loopcontrols"}
DEFAULTS = {
    "filters": defaults.DEFAULT_FILTERS,
    "tests": defaults.DEFAULT_TESTS,
    "globals": defaults.DEFAULT_NAMESPACE,
    "policies": defaults.DEFAULT_POLICIES,
}

_from_string, _render = jinja2.Environment.from_string, jinja2.Template.render


def incomparable(environment: jinja2.Environment) -> str | None:
    """Say why an environment isn't one that options make; None if it is."""
    reasons = {
        "a sandbox of its own": isinstance(environment, SandboxedEnvironment),
        "native types": isinstance(environment, NativeEnvironment),
        "a class of environments of its own": type(environment) is not jinja2.Environment,
        "async": environment.is_async,
        "a loader": environment.loader is not None,
        "finalize": environment.finalize is not None,
        "an extension that runs code of its own": not {*map(type, environment.extensions.values())} <= {*EXTENSIONS},
        "a class of undefined values of its own": environment.undefined not in UNDEFINED,
        "autoescape by a function": not isinstance(environment.autoescape, bool),
        **{f"{name} of its own": getattr(environment, name) != default for name, default in DEFAULTS.items()},
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def plain(value: Any) -> bool:
    """Say whether a value is one that JSON keeps as it is."""
    if type(value) is list:
        return all(map(plain, value))
    if type(value) is dict:
        return all(type(key) is str and plain(item) for key, item in value.items())
    return value is None or type(value) in (str, int, float, bool)


def recorded(template: jinja2.Template, variables: dict[str, Any]) -> dict[str, Any]:
    """Return a template and its variables as a record, or why they can't be compared."""
    source = getattr(template, "recorded_source", None)
    if source is None:
        return {"incomparable": "a template of a loader"}
    environment = template.environment
    reason = incomparable(environment)
    if reason is None and dict(template.globals) != dict(environment.globals):
        reason = "globals of the template"
    if reason is None and not plain(variables):
        reason = "variables that are no plain data"
    if reason is None and "|random" in source:
        reason = "the filter random"
    if reason is not None:
        return {"incomparable": reason}
    options = {name: getattr(environment, name) for name in OPTIONS}
    options["undefined"] = UNDEFINED[environment.undefined]
    options["extensions"] = [EXTENSIONS[type(extension)] for extension in environment.extensions.values()]
    return {"source": source, "options": options, "variables": variables}


def from_string(
    self: jinja2.Environment,
    source: Any,
    globals: Any = None,  # noqa: A002 - its name in Jinja2
    template_class: Any = None,
) -> Any:
    template: Any = _from_string(self, source, globals, template_class)
    if isinstance(source, str):
        template.recorded_source = source
    return template


def render(self: jinja2.Template, *arguments: Any, **named: Any) -> str:
    record = None
    try:
        record = recorded(self, dict(*arguments, **named))
        text = json.dumps(record)
    except Exception as error:
        text = json.dumps({"incomparable": f"the variables can't be written: {type(error).__name__}"})
    record = json.loads(text)
    try:
        record["text"] = _render(self, *arguments, **named)
        return str(record["text"])
    except Exception as error:
        record["error"] = type(error).__name__
        raise
    finally:
        with open(os.environ["JINJA2_RECORDS"], "a", encoding="utf-8") as file:
            file.write(json.dumps(record, default=str) + "\n")


def pytest_configure() -> None:
    """Record from now on."""
    jinja2.Environment.from_string = from_string  # type: ignore[method-assign]
    jinja2.Template.render = render  # type: ignore[method-assign]
