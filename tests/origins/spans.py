"""Oracle for spans and audits: data has the origin of its value, and a control token in it is found.

In `render(spans="detailed")`, each word lies in a span of its column, message and path. The template's own texts and
control tokens lie in spans of the template. If a value with a control token is in the prompt, `audit` finds
`special_token`.
"""

from __future__ import annotations

import json
import random
import re
from typing import Any

import jinja2

from .chat_templates import Source, byte_tokenizer
from .control_tokens import pair_of, tokens_of
from .conversations import WORD, Case, Finder, Owner, draw_cases, groups, owners
from .findings import Failure, Report
from .reference import compiled

STEPS = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
OWN_SOURCES = ("template",)
UNKNOWN_SOURCES = ("jinja2",)


def texts_of_template(source: Source) -> list[bytes]:
    """Return texts that only the template itself writes: its longer sentences, and its control tokens."""
    texts = {mark for mark in source.marks if mark not in ("<think>", "</think>")}
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    for _, kind, text in environment.lex(source.template.replace("generation %}", "if true %}")):
        if kind in ("data", "string") and "\\" not in text:
            texts |= {line for line in text.strip("'\"").split("\n") if len(line) > 12 and " " in line.strip()}
    return [text.encode() for text in texts if text in source.template or text in source.special_tokens.values()]


def failures_of_row(source: Source, case: Case, prompt: bytes, spans: list[dict[str, Any]]) -> list[Failure]:
    """Return all that is wrong with the spans of a row."""
    failures = []
    finder = Finder(case, source.template)
    for occurrence in finder.occurrences(prompt):
        owner = finder.owners[occurrence.word]
        for span in spans:
            if span["start"] < occurrence.end and occurrence.start < span["end"]:
                wrong = wrong_span(span, owner)
                if wrong:
                    origin = {key: span[key] for key in ("source", "column", "message", "role", "path")}
                    failures.append(Failure(f"{wrong}: {owner.label}", f"{occurrence.word} {owner.paths} {origin}"))
    for text in texts_of_template(source):
        index = prompt.find(text)
        while index >= 0:
            failures += [
                Failure(f"the template's own text is {span['source']}", f"{text!r} {span}")
                for span in spans
                if span["start"] < index + len(text) and index < span["end"] and span["source"] not in OWN_SOURCES
                if not (span["path"] or "").endswith("role")
            ]
            index = prompt.find(text, index + 1)
    if spans and (spans[0]["start"], spans[-1]["end"]) != (0, len(prompt)):
        failures.append(Failure("spans don't cover the prompt", f"{spans[0]} {spans[-1]}"))
    return failures


def wrong_span(span: dict[str, Any], owner: Owner) -> str | None:
    """Return what is wrong with the span of a word."""
    if span["source"] in OWN_SOURCES:
        return "data is the template's"
    messages = [(number, path) for number, path in owner.paths if number is not None]
    if span["source"] == "computed" or 0 < len(messages) < len(owner.paths):  # of several values, or also an argument's
        return None
    if not messages:
        return None if span["message"] is None else "an argument is a message's"
    if span["column"] != "messages":
        return "wrong column"
    if span["message"] is not None and all(span["message"] != number for number, _ in messages):
        return "wrong message"
    steps = tuple(int(number) if number else key for number, key in STEPS.findall(span["path"] or ""))
    paths = [("messages", number, *path) for number, path in messages]
    right = any(steps == whole[first : first + len(steps)] for whole in paths for first in range(3))
    return None if steps and right else "wrong path"


def failures_of_case(source: Source, case: Case) -> list[Failure]:
    """Return what is wrong with a single case, and what an audit misses of the tokens that it has already."""
    report = Report()
    check_spans(report, source, [case])
    text = json.dumps([case.messages, case.arguments], ensure_ascii=False)
    for match in WORD.finditer(text):
        token = next((mark for mark in source.marks if text.startswith(mark, match.end())), None)
        if token and audit_misses(source, case, match[0] + token):
            label = owners(case)[match[0]].label
            report.fail(source, case, [Failure(f"audit misses a token: {label}", match[0] + token)])
    return [Failure(kind, detail) for kind, (_, _, detail) in report.first.items()]


def audit_misses(source: Source, case: Case, text: str) -> bool | None:
    """Return whether an audit misses a token; None if the prompt doesn't have the text with it."""
    template = compiled(source, case.arguments)
    rows = template.render([case.row], errors="column").to_pylist() if template else []
    if template is None or not rows or rows[0]["error"] or text not in rows[0]["prompt"]:
        return None
    findings = template.audit([case.row], tokenizer=byte_tokenizer(source.marks), only=["special_token"])
    return "special_token" not in findings["code"].to_pylist()


def check_spans(report: Report, source: Source, cases: list[Case]) -> None:
    """Check the spans of cases that have the same arguments."""
    template = compiled(source, cases[0].arguments)
    if template is None:
        report.count("raised", len(cases))
        return
    rows = template.render([case.row for case in cases], spans="detailed", errors="column").to_pylist()
    for case, row in zip(cases, rows, strict=True):
        if row["error"]:
            report.count("raised")
            continue
        report.count("rendered")
        if any(span["source"] in UNKNOWN_SOURCES for span in row["spans"]):
            report.refuse(source.id, "the origins aren't known")
        else:
            report.fail(source, case, failures_of_row(source, case, row["prompt"].encode(), row["spans"]))


def check_audit(report: Report, source: Source, cases: list[Case], tokens: list[str]) -> None:
    """Check that an audit finds a control token in each sort of value that is in a prompt, one at a time."""
    done: set[str] = set()
    for case in cases:
        template = compiled(source, case.arguments)
        rows = template.render([case.row], errors="column").to_pylist() if template else []
        if not rows or rows[0]["error"]:
            continue
        finder = Finder(case, source.template)
        for occurrence in finder.occurrences(rows[0]["prompt"].encode()):
            label = finder.owners[occurrence.word].label
            if label in done or occurrence.end - occurrence.start < 9:
                continue
            token = tokens[len(done) % len(tokens)]
            hostile, _ = pair_of(case, {occurrence.word: (token, 9)})
            misses = audit_misses(source, hostile, occurrence.word + token)
            if misses is None:
                continue
            done.add(label)
            report.count("audited values")
            if misses:
                report.fail(source, hostile, [Failure(f"audit misses a token: {label}", occurrence.word + token)])


def check(report: Report, source: Source, seed: int, count: int) -> None:
    """Check some conversations with a template."""
    tokens = tokens_of(source)
    for group, size in enumerate(groups(count)):
        rng = random.Random(f"{seed} {source.id} {group}")
        cases = draw_cases(rng, size, source.variables)
        check_spans(report, source, cases)
        if tokens:
            check_audit(report, source, cases, tokens)
