"""Counts facts about chat templates, and writes the table of docs/check-template.md.

    python tools/template_facts.py FILE|DIR... [--write]

A FILE of JSON lines (.jsonl, .jsonl.gz) has an object a line, with `template` and `special_tokens`; a FILE or DIR of
.jinja files has no special tokens, so `<s>` and `</s>` stand for them. Equal templates count once. Without --write, the
table is printed.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import promptpress
from promptpress_workbench.template_check.facts import Fact, facts_of

PAGE = Path(__file__).resolve().parents[1] / "docs" / "check-template.md"
BLOCK = re.compile(r"(<!-- counted: facts -->\n).*?(<!-- /counted -->)", re.DOTALL)
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
ANSWERS = ("written", "left out", "raises")
GROWTH = ("always", "depends", "never")


def templates(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the templates of a file or folder, each with its special tokens."""
    if path.name.endswith((".jsonl", ".jsonl.gz")):
        lines = (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8")
        for line in lines:
            entry = json.loads(line)
            yield entry["template"], entry["special_tokens"]
        return
    for file in sorted(path.rglob("*.jinja")) if path.is_dir() else [path]:
        with file.open(encoding="utf-8", newline="") as text:
            yield text.read(), TOKENS


def answer_of(fact: Fact) -> str:
    """Return the answer's first word or words, by which facts are counted."""
    return next((word for word in (*ANSWERS, *GROWTH) if fact.answer.startswith(word)), "other")


def main(arguments: list[str]) -> int:
    """Count, and print or write the table."""
    distinct: dict[str, dict[str, str]] = {}
    for path in arguments:
        if path != "--write":
            for source, tokens in templates(Path(path)):
                distinct.setdefault(source, tokens)
    counts: dict[str, Counter[str]] = {}
    failing, begin = 0, time.process_time()
    for source, tokens in distinct.items():
        facts = facts_of(partial(promptpress.ChatTemplate, source, **tokens))
        failing += any(fact.severity == "error" for fact in facts)
        for fact in facts:
            counts.setdefault(fact.fact, Counter())[answer_of(fact)] += 1
    seconds = time.process_time() - begin
    lines = [f"| of {len(distinct)} templates | written | left out | raises |", "|---|---:|---:|---:|"]
    for name, answers in counts.items():
        if answers["written"] + answers["left out"] and not name.endswith("in a text"):
            lines.append(f"| {name} | {' | '.join(str(answers[answer]) for answer in ANSWERS)} |")
    lines += ["", "| | always | depends | never |", "|---|---:|---:|---:|"]
    for name, answers in counts.items():
        if any(answer in answers for answer in GROWTH):
            lines.append(f"| {name} | {' | '.join(str(answers[answer]) for answer in GROWTH)} |")
    spelt = sum((answers for name, answers in counts.items() if name.endswith("in a text")), start=Counter[str]())
    lines += [
        "",
        f"{failing} of them leave out or refuse something that matters (exit code 1). In {spelt['written']} of "
        f"{sum(spelt.values())}, a text that spells the end of a turn is written as it is. All took {seconds:.0f} CPU "
        f"seconds, {1000 * seconds / len(distinct):.0f} ms a template.",
        "",
    ]
    table = "\n".join(lines)
    if "--write" not in arguments:
        print(table)
        return 0
    PAGE.write_text(BLOCK.sub(lambda block: f"{block[1]}{table}{block[2]}", PAGE.read_text(encoding="utf-8")), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
