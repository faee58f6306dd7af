"""README's first minute from an empty folder with its table: what its commands make, and not only that they run."""

from __future__ import annotations

import csv
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
import test_docs
from promptpress_workbench.cli import main

README = (test_docs.PROJECT / "README.md").read_text(encoding="utf-8")
SECTION = README.partition("## The first minute")[2].partition("\n## ")[0]
COMMANDS = re.findall(r"^promptpress .*$|(?<=`)promptpress [^`]* .*?(?=`)", SECTION.replace("\\\n", " "), re.MULTILINE)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("questions.csv", "solved.csv"):
        shutil.copy(test_docs.START / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def words(start: str, *more: str) -> list[str]:
    """The one command that begins so and has these words."""
    (command,) = [line for line in COMMANDS if line.startswith(start) and all(word in line for word in more)]
    return shlex.split(command)[1:]


def rows(path: str) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_prompts_of_all_rows() -> None:
    assert main(words("promptpress render ")) == 0
    lines = Path("prompts.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["prompt"] for line in lines][3] == f"Q: {rows('questions.csv')[3]['question']} A:"
    assert len(lines) == len(rows("questions.csv"))


@pytest.mark.parametrize(
    ("command", "code", "excerpt"),
    [
        (words("promptpress show ", "--row 17"), 0, r"\boxed{answer}"),
        (words("promptpress diff ", "--template-b"), 1, "24 requests compared, 24 differ"),
        (words("promptpress stats "), 0, "length of a request"),
        (words("promptpress show ", "--longest"), 0, "bytes"),
        (words("promptpress show ", "--grep"), 0, "1 of 24 requests match"),
        (words("promptpress diff ", "--substitution-b"), 1, "24 requests compared, 1 differs\n\n── row 17\n"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_is_looked_at(command: list[str], code: int, excerpt: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == code
    assert excerpt in capsys.readouterr().out


def test_show_notes_a_leak_in_its_row(capsys: pytest.CaptureFixture[str]) -> None:
    plain = words("promptpress show ", "--row 17")
    assert main(plain) == 0
    assert capsys.readouterr().err == ""
    command = [*plain, "--substitution", "harness"]
    assert main(command) == 0
    note = "row 17: braces in the text of 'question' were filled in, as harnesses do; --substitution single_pass"
    assert note in capsys.readouterr().err
    for quiet in (["--quiet"], ["--substitution", "single_pass"], ["--row", "16"]):
        assert main([*command, *quiet]) == 0
        assert capsys.readouterr().err == ""


def test_a_batch_with_three_examples_there_and_back() -> None:
    assert main(words("promptpress export ", "--shots")) == 0
    requests = [json.loads(line) for line in Path("requests.jsonl").read_text(encoding="utf-8").splitlines()]
    questions, solved = rows("questions.csv"), rows("solved.csv")[:3]
    for question, request in zip(questions, requests, strict=True):
        turns = [(message["role"], message["content"]) for message in request["body"]["messages"]]
        shots = [
            turn for example in solved for turn in (("user", example["question"]), ("assistant", example["answer"]))
        ]
        assert turns[:-1] == [("system", "Answer with the number only."), *shots]
        # Braces in a question stay as they are.
        assert turns[-1] == ("user", question["question"])
        assert (request["body"]["model"], request["body"]["temperature"]) == ("gpt-4o-mini", 0)
    with Path("results.jsonl").open("w", encoding="utf-8") as file:
        for request in reversed(requests):
            body = {"choices": [{"message": {"role": "assistant", "content": f"of {request['custom_id']}"}}]}
            result = {"custom_id": request["custom_id"], "response": {"status_code": 200, "body": body}}
            file.write(json.dumps(result) + "\n")
    assert main(words("promptpress join ")) == 0
    joined = rows("answers.csv")
    assert [row["question"] for row in joined] == [row["question"] for row in questions]
    assert [row["response"] for row in joined] == [f"of {n}" for n in range(len(questions))]
