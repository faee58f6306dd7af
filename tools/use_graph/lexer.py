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
    position, line = 0, 1
    while position < len(source):
        raw = RAW.match(source, position)
        match = TOKEN.match(source, position)
        assert match is not None  # `sign` takes any character
        if raw is not None:
            end = source.index('"' + raw[1], raw.end()) + 1 + len(raw[1])
            yield Token('""', line)
        elif match["text"] is not None:
            end = end_of_text(source, match.end())
            yield Token('""', line)
        elif match["block"] is not None:
            end = end_of_comment(source, position)
        else:
            end = match.end()
            if match["name"] is not None:
                yield Token(match["name"].removeprefix("r#"), line, is_name=True)
            elif match["space"] is None:
                yield Token(match[0], line)
        line += source.count("\n", position, end)
        position = end


def end_of_text(source: str, position: int) -> int:
    """Return the position after a string that began before `position`."""
    while source[position] != '"':
        position += 2 if source[position] == "\\" else 1
    return position + 1


def end_of_comment(source: str, position: int) -> int:
    """Return the position after a block comment, which may hold other comments."""
    depth = 0
    for sign in re.compile(r"/\*|\*/").finditer(source, position):
        depth += 1 if sign[0] == "/*" else -1
        if depth == 0:
            return sign.end()
    raise ValueError("a comment has no end")


def closing(of_file: list[Token], position: int) -> int:
    """Return the position of the bracket that closes the bracket at `position`."""
    depth = 0
    for index in range(position, len(of_file)):
        text = of_file[index].text
        if text in BRACKETS:
            depth += 1
        elif text in BRACKETS.values():
            depth -= 1
            if depth == 0:
                return index
    raise ValueError(f"the bracket of line {of_file[position].line} is never closed")


def without_tests(of_file: list[Token]) -> list[Token]:
    """The tokens that are compiled without `cfg(test)` too."""
    out: list[Token] = []
    position = 0
    while position < len(of_file):
        if not is_attribute(of_file, position):
            out.append(of_file[position])
            position += 1
            continue
        end = closing(of_file, position + 1) + 1
        attribute = [token.text for token in of_file[position + 2 : end - 1]]
        is_test = attribute == ["test"] or attribute[:3] == ["cfg", "(", "test"]
        if is_test or attribute[:5] == ["cfg", "(", "all", "(", "test"]:
            position = end_of_item(of_file, end)
        else:
            out.extend(of_file[position:end])
            position = end
    return out


def is_attribute(of_file: list[Token], position: int) -> bool:
    """Return true if an outer attribute begins here."""
    return [token.text for token in of_file[position : position + 2]] == ["#", "["]


def end_of_item(of_file: list[Token], position: int) -> int:
    """Return the position after an item, a statement, a field, a variant or an arm."""
    while is_attribute(of_file, position):
        position = closing(of_file, position + 1) + 1
    if of_file[position].text == "pub":
        position += 1
        if of_file[position].text == "(":
            position = closing(of_file, position) + 1
    first = of_file[position].text
    until_semicolon = first in STATEMENT_KEYWORDS and of_file[position + 1].text not in ITEM_KEYWORDS
    is_item = first in ITEM_KEYWORDS | STATEMENT_KEYWORDS
    while position < len(of_file):
        text = of_file[position].text
        if text in BRACKETS:
            position = closing(of_file, position) + 1
            if text == "{" and not until_semicolon:
                return position
        elif text in BRACKETS.values():
            return position
        elif text == ";" or (text == "," and not is_item):
            return position + 1
        else:
            position += 1
    return position
