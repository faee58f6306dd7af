"""Values of options as the command parses them, and messages and lines in the words of the command."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from promptpress import DataError
from promptpress_workbench.cli import option_values as values
from promptpress_workbench.cli.arguments import alternative
from promptpress_workbench.cli.audit import _quoted
from promptpress_workbench.cli.errors import ExitCode, code_and_text, in_options
from promptpress_workbench.cli.lm_eval_tasks import task_and_date
from promptpress_workbench.cli.options import option_name
from promptpress_workbench.cli.run_counts import Done
from promptpress_workbench.cli.terminal import Terminal
from promptpress_workbench.cli.verify_outcomes import plain
from promptpress_workbench.prompts.layout import Fragment


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (values.labels, "A,B", ["A", "B"]),
        (values.labels, "[1, true]", [1, True]),
        (values.limits, "prompt_bytes=4_000_000,labels=10", {"prompt_bytes": 4_000_000, "labels": 10}),
        (values.roles, "HUMAN=user,CRITIC=developer", {"HUMAN": "user", "CRITIC": "developer"}),
        (values.json_object, '{"temperature": 0}', {"temperature": 0}),
        (values.pairs, "max_tokens=length,seed=id", {"max_tokens": "length", "seed": "id"}),
        (values.named_value, "enable_thinking=false", ("enable_thinking", "false")),
        (values.url, "", None),
        (values.time, "2026-01-31", datetime(2026, 1, 31)),
        (values.delimiter, ";", ";"),
        (values.delimiter, "tab", "\t"),
        (values.encoding, "Windows-1252", "cp1252"),
        (values.size, "40000000", 40_000_000),
        (values.size, "1GiB", 1 << 30),
        (values.size, "1G", 1 << 30),
        (values.size, "1GB", 1_000_000_000),
        (values.size, "1.5 MB", 1_500_000),
        (values.row_numbers, "3,17,100-102", [3, 17, 100, 101, 102]),
    ],
)
def test_values(parse: Callable[[str], Any], text: str, value: object) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    ("message", "of_command"),
    [
        ("the table has no such column; name it by column=", "the table has no such column; --column names it"),
        (
            'the list holds something else; use output="messages_json"',
            "the list holds something else; use --output messages_json",
        ),
        ("rename that by names=", "rename that by names: in the configuration"),
        (
            "say which it is by roles={'critic': 'user'}",
            "say which it is by --roles 'critic=user', or roles: in the configuration",
        ),
    ],
)
def test_messages_in_options(message: str, of_command: str) -> None:
    assert in_options(message) == of_command


def test_codes_and_names() -> None:
    assert code_and_text(DataError("a.parquet: no such file")) == (ExitCode.DATA, "a.parquet: no such file")
    assert option_name("batch_size") == "--batch-size"
    name = "samples_arc_easy_2026-01-31T09-00-00.000001.jsonl"
    assert task_and_date(name) == ("arc_easy", "2026-01-31T09-00-00.000001")


def test_hints_for_options_of_other_commands() -> None:
    hint = "parameters of all requests go into --params '{\"temperature\": ...}'"
    assert alternative("export", "--temperature") == hint
    assert alternative("show", "--html") == "promptpress view --html FILE writes a page"


def test_summaries() -> None:
    summary = "1,000,000 rows, 250.0 MB of prompts in 0.500 s: 2,000,000 rows/s, 0.500 GB/s"
    assert Done(rows=1_000_000, prompt_bytes=250_000_000).summary(0.5) == summary
    assert Done(rows=1, prompt_bytes=25).summary(0.01) == "1 row, 25 B of prompts in 0.010 s"


def test_colours() -> None:
    stream = io.StringIO()
    Terminal(stream, "always", {}).write([[Fragment("x", "column")]])
    assert stream.getvalue() == "\x1b[38;5;29mx\x1b[0m\n"


def test_words_are_quoted_for_a_shell() -> None:
    assert [_quoted("Q: {q}"), _quoted("Q: {q}\nA:")] == ["'Q: {q}'", r"$'Q: {q}\nA:'"]


def test_requests_without_none() -> None:
    request = [{"role": "user", "prompt": "1+1?", "name": None}]
    assert plain(request) == [{"role": "user", "prompt": "1+1?"}]
