"""Rust source as tokens, without comments and without what only tests compile."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
    |(?P<block>/\*)
    |(?P<text>(?:b|c|br|cr|r)?(?P<raw>(?<=r)\#*)?")
    |(?P<char>b?'(?:\\(?:u\{[^}]*\}|x[0-9a-fA-F]{2}|.)|[^'\\\n])')
    |(?P<lifetime>'\w+)
    |(?P<name>(?:r\#)?[^\W\d]\w*)
    |(?P<number>\d\w*(?:\.\d\w*)?)
    |(?P<sign>::|->|=>|.)""",
    re.VERBOSE | re.DOTALL,
)
RAW = re.compile(r'(?:b|c)?r(#*)"')
BRACKETS = {"(": ")", "[": "]", "{": "}"}
# What begins an item or a statement, as against a field, a variant or an arm.
ITEM_KEYWORDS = {
    "mod",
    "fn",
    "struct",
    "enum",
    "impl",
    "trait",
    "union",
    "unsafe",
    "async",
    "extern",
    "type",
    "macro_rules",
}
STATEMENT_KEYWORDS = {"use", "let", "const", "static"}


@dataclass(frozen=True)
class Token:
    """A name, a sign, or a literal, whose text is left out."""

    text: str
    line: int
    is_name: bool = False


def tokens(source: str) -> list[Token]:
    """The tokens of a file, without those that stand under `#[cfg(test)]` or `#[test]`."""
    return without_tests(list(read(source)))


def read(source: str) -> Iterator[Token]:
    """All tokens of a file."""
    at, line = 0, 1
    while at < len(source):
        raw = RAW.match(source, at)
        found = TOKEN.match(source, at)
        assert found is not None  # `sign` takes any character
        if raw is not None:
            end = source.index('"' + raw[1], raw.end()) + 1 + len(raw[1])
            yield Token('""', line)
        elif found["text"] is not None:
            end = end_of_text(source, found.end())
            yield Token('""', line)
        elif found["block"] is not None:
            end = end_of_comment(source, at)
        else:
            end = found.end()
            if found["name"] is not None:
                yield Token(found["name"].removeprefix("r#"), line, is_name=True)
            elif found["space"] is None:
                yield Token(found[0], line)
        line += source.count("\n", at, end)
        at = end


def end_of_text(source: str, at: int) -> int:
    """The place behind a string that has begun before `at`."""
    while source[at] != '"':
        at += 2 if source[at] == "\\" else 1
    return at + 1


def end_of_comment(source: str, at: int) -> int:
    """The place behind a block comment, in which others may lie."""
    depth = 0
    for sign in re.compile(r"/\*|\*/").finditer(source, at):
        depth += 1 if sign[0] == "/*" else -1
        if depth == 0:
            return sign.end()
    raise ValueError("a comment has no end")


def closing(found: list[Token], at: int) -> int:
    """The place of the bracket that closes the one at `at`."""
    depth = 0
    for place in range(at, len(found)):
        text = found[place].text
        if text in BRACKETS:
            depth += 1
        elif text in BRACKETS.values():
            depth -= 1
            if depth == 0:
                return place
    raise ValueError(f"the bracket of line {found[at].line} is never closed")


def without_tests(found: list[Token]) -> list[Token]:
    """The tokens that are compiled without `cfg(test)` too."""
    out: list[Token] = []
    at = 0
    while at < len(found):
        if not is_attribute(found, at):
            out.append(found[at])
            at += 1
            continue
        end = closing(found, at + 1) + 1
        attribute = [token.text for token in found[at + 2 : end - 1]]
        is_test = attribute == ["test"] or attribute[:3] == ["cfg", "(", "test"]
        if is_test or attribute[:5] == ["cfg", "(", "all", "(", "test"]:
            at = end_of_item(found, end)
        else:
            out.extend(found[at:end])
            at = end
    return out


def is_attribute(found: list[Token], at: int) -> bool:
    """Whether an outer attribute begins here."""
    return [token.text for token in found[at : at + 2]] == ["#", "["]


def end_of_item(found: list[Token], at: int) -> int:
    """The place behind an item, a statement, a field, a variant or an arm."""
    while is_attribute(found, at):
        at = closing(found, at + 1) + 1
    if found[at].text == "pub":
        at += 1
        if found[at].text == "(":
            at = closing(found, at) + 1
    first = found[at].text
    until_semicolon = first in STATEMENT_KEYWORDS and found[at + 1].text not in ITEM_KEYWORDS
    is_item = first in ITEM_KEYWORDS | STATEMENT_KEYWORDS
    while at < len(found):
        text = found[at].text
        if text in BRACKETS:
            at = closing(found, at) + 1
            if text == "{" and not until_semicolon:
                return at
        elif text in BRACKETS.values():
            return at
        elif text == ";" or (text == "," and not is_item):
            return at + 1
        else:
            at += 1
    return at
