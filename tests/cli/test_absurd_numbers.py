"""Every option that takes a number, with numbers that count nothing: an error of the command line, and no other."""

from __future__ import annotations

import argparse

import promptpress as pp
import pytest
from marks import UNWARNED
from parts.small_tokenizers import small_tokenizer
from promptpress._errors.file_errors import UsageError
from promptpress_workbench.cli import option_values
from promptpress_workbench.cli.arguments import parse
from promptpress_workbench.cli.commands import COMMANDS

pytestmark = UNWARNED

KINDS = {
    option_values.natural: "{}",
    option_values.positive: "{}",
    option_values.row_numbers: "0-{}",
    option_values.size: "{}",
    option_values.limits: "prompt_bytes={}",
}
"""The parsers of numbers, each with a value that has one."""

ABSURD = ("9223372036854775808", "99999999999999999999", "1" + "0" * 400, "9" * 6000)
OPERANDS = {"export": ["openai-batch"], "join": ["r.jsonl"]}


def numbers() -> list[tuple[str, str, str]]:
    """Return the commands with their options that take numbers, and the form of the value."""
    options = []
    for name, command in COMMANDS.items():
        parser = argparse.ArgumentParser()
        command.add_options(parser)
        for action in parser._actions:
            if action.type in KINDS and action.option_strings:
                options.append((name, action.option_strings[-1], KINDS[action.type]))  # type: ignore[index]
    return options


def test_there_are_such_options() -> None:
    assert len(numbers()) > 80
    assert {command for command, _, _ in numbers()} >= {
        "render",
        "show",
        "stats",
        "audit",
        "export",
        "tokenize",
        "view",
    }


@pytest.mark.parametrize("number", ABSURD, ids=lambda number: f"{len(number)} digits")
def test_numbers_that_count_nothing(number: str) -> None:
    for command, option, form in numbers():
        words = [command, *OPERANDS.get(command, []), option, form.format(number)]
        with pytest.raises(UsageError) as caught:
            parse(words)
        message = str(caught.value)
        assert option in message, words
        assert "is too large: at most 9,223,372,036,854,775,807" in message or "NAME=NUMBER" in message, words
        assert len(message) < 400, words


def test_the_largest_number_is_accepted() -> None:
    for kind, form in KINDS.items():
        if kind is not option_values.row_numbers:
            kind(form.format(2**63 - 1))
    with pytest.raises(argparse.ArgumentTypeError, match="is more than 10,000,000 rows; name fewer"):
        option_values.row_numbers("0-99999999999")


def test_python_refuses_them_too() -> None:
    samples = {"q": ["1"], "a": ["1"]}
    renderer = pp.Renderer("{q}")
    with pytest.raises(ValueError, match="limits: 'bytes' is a number below 2"):
        renderer.audit(samples, limits={"bytes": 10**20})
    with pytest.raises(pp.TemplateError, match="shots: a prompt has at most 1,000,000 examples"):
        pp.Renderer("{q} {a}", shots=10**18, output_column="a", examples=samples)
    with pytest.raises(pp.TemplateError, match="expected a number up to 9223372036854775807, which nothing reaches"):
        pp.Renderer("{q}", limits={"prompt_bytes": 10**20})


@pytest.mark.parametrize("output", ["text", "openai", "messages_json"])
def test_a_budget_without_examples_is_of_messages_too(output: str) -> None:
    renderer = pp.Renderer("{q}", output=output, tokenizer=small_tokenizer(), max_seq_len=10)  # type: ignore[arg-type]
    (row,) = renderer.render({"q": ["1"]}).to_pylist()
    assert (row["n_shots"], row["truncated"]) == (0, row["truncated"])
