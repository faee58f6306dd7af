"""Parsers for the values of options; all raise `argparse.ArgumentTypeError` for a wrong value."""

from __future__ import annotations

import codecs
import json
import re
from argparse import ArgumentTypeError
from datetime import datetime
from decimal import Decimal
from encodings.aliases import aliases
from typing import Any

from promptpress.engine.errors import FileError, close_names
from promptpress_harness.bounded_file import read_text

_MAX_NUMBER = 2**63 - 1  # the largest number that counts rows and bytes everywhere: in Arrow, the core and the system
_MAX_DIGITS = 64
_MAX_ROWS = 10_000_000  # the most rows that one range may name
_MAX_FILE_BYTES = 1 << 24
_SIZE = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?) ?(?P<letter>[kKmMgGtT]?)(?P<ending>(?:i?[bB])?)")


def text(given: str) -> str:
    """Return a text, or that of a file for `@FILE`, without its last line break; `@@` begins a text with `@`."""
    if not given.startswith("@"):
        return given
    if given.startswith("@@"):
        return given[1:]
    try:
        read = read_text(given[1:], _MAX_FILE_BYTES)
    except FileError as error:
        raise ArgumentTypeError(f"{error}; a text that begins with @ is written with @@") from None
    return read.removesuffix("\n").removesuffix("\r")


def names(text: str) -> list[str]:
    """Parse names separated by commas."""
    return text.split(",")


def count_or_name(text: str) -> int | str:
    """Parse a whole number, or take the text as a name."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else text


def labels(text: str) -> list[Any]:
    """Parse labels: texts separated by commas, or a JSON list."""
    if not text.lstrip().startswith("["):
        return list(text.split(","))
    try:
        return list(json.loads(text))
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is no JSON list: {error}") from None


def limits(text: str) -> dict[str, int]:
    """Parse limits: pairs separated by commas, or a JSON object."""
    try:
        if text.lstrip().startswith("{"):
            entries = json.loads(text, object_pairs_hook=list)
        else:
            entries = [(name.strip(), int(number)) for name, number in (pair.split("=", 1) for pair in text.split(","))]
        if len(dict(entries)) == len(entries) and all(type(number) is int for _, number in entries):
            return {name: _bounded(number, str(number)) for name, number in entries}
    except (TypeError, ValueError):
        pass
    raise ArgumentTypeError(
        f"{_short(text)}: expected NAME=NUMBER,NAME=NUMBER, each name once, or a JSON object of them"
    )


def roles(text: str) -> dict[str, str]:
    """Parse names of roles: pairs separated by commas, or a JSON object."""
    if text.lstrip().startswith("{"):
        try:
            entries = json.loads(text, object_pairs_hook=list)
        except ValueError as error:
            raise ArgumentTypeError(f"{text!r} is no JSON object: {error}") from None
    else:
        entries = [tuple(map(str.strip, pair.split("=", 1))) for pair in text.split(",")]
    named: dict[str, str] = {}
    for entry in entries:
        if len(entry) != 2 or not all(isinstance(name, str) and name for name in entry):
            raise ArgumentTypeError(f"{text!r}: expected ROLE=NAME,ROLE=NAME or a JSON object of them")
        if named.setdefault(entry[0], entry[1]) != entry[1]:
            raise ArgumentTypeError(f"{text!r}: says twice what {entry[0]!r} is called")
    return named


def json_object(text: str) -> dict[str, Any]:
    """Parse a JSON object without repeated names."""
    from promptpress_workbench.files.write.json_lines import unique  # noqa: PLC0415 - which imports pyarrow

    try:
        value = json.loads(text, object_pairs_hook=unique)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is no JSON object: {error}") from None
    if not isinstance(value, dict):
        raise ArgumentTypeError(f"{text!r} is no JSON object, such as '{{\"temperature\": 0}}'")
    return value


def pairs(text: str) -> dict[str, str]:
    """Parse parameter names, each with the column of its values."""
    columns: dict[str, str] = {}
    for pair in text.split(","):
        name, equals, column = pair.partition("=")
        if not (name and equals and column):
            raise ArgumentTypeError(f"{pair!r} is no pair, such as max_tokens=answer_length")
        if name in columns:
            raise ArgumentTypeError(f"{text!r}: {name!r} is there twice")
        columns[name] = column
    return columns


def named_value(text: str) -> tuple[str, str]:
    """Parse a name and its value, which stays a text."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise ArgumentTypeError(f"{text!r}: expected NAME=VALUE, such as enable_thinking=false")
    return name, value


def argument_column(text: str) -> dict[str, str]:
    """Parse an argument and its column; the word "none" says that there are no such columns."""
    name, equals, column = text.partition("=")
    if text != "none" and not (name and equals and column):
        raise ArgumentTypeError(f"{text!r}: expected NAME=COL, such as tools=functions, or none")
    return {name: column} if column else {}


def url(text: str) -> str | None:
    """Parse a URL; an empty text is none."""
    return text or None


def time(text: str) -> datetime:
    """Parse a date and time of ISO 8601."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no time as in 2026-01-31T09:00:00") from None


def pattern(text: str) -> re.Pattern[str]:
    """Parse a regular expression."""
    try:
        return re.compile(text)
    except re.error as error:
        raise ArgumentTypeError(f"{text!r} is no regular expression: {error}") from None


def delimiter(text: str) -> str:
    """Parse the character between fields; a tab may be written as `tab` or as an escape."""
    character = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(character) != 1 or not character.isascii() or character in '"\r\n\0':
        raise ArgumentTypeError(f"{text!r} is no delimiter: one character of ASCII, such as ';', or tab")
    return character


def encoding(text: str) -> str:
    """Parse the name of an encoding of text."""
    try:
        "".encode(text)  # refuses encodings of something else, such as zip
        return codecs.lookup(text).name
    except (LookupError, ValueError):
        close = close_names(text.lower(), list(aliases))
        hint = f"; did you mean {close[0]!r}?" if close else "; utf-8, utf-16, gbk and cp1252 are some"
        raise ArgumentTypeError(f"{text!r} is no encoding of text that Python knows{hint}") from None


def positive(text: str) -> int:
    """Parse a whole number from 1 on."""
    if (number := _number(text)) is None or number < 1:
        raise ArgumentTypeError(f"{_short(text)} is no whole number from 1 on")
    return number


def natural(text: str) -> int:
    """Parse a whole number from 0 on."""
    if (number := _number(text)) is None:
        raise ArgumentTypeError(f"{_short(text)} is no whole number from 0 on")
    return number


def size(text: str) -> int:
    """Parse a number of bytes from 1 on, with or without a unit: K, KiB, M, MiB ... are binary, kB, MB decimal."""
    match = _SIZE.fullmatch(text.strip())
    number = 0
    if match is not None and len(text) <= _MAX_DIGITS:
        letter, ending = match["letter"].upper(), match["ending"].lower()
        base = 1000 if ending == "b" and letter else 1024
        number = int(Decimal(match["number"]) * base ** " KMGT".index(letter or " "))
    if number < 1 and (match is None or len(text) <= _MAX_DIGITS):
        raise ArgumentTypeError(f"{_short(text)} is no number of bytes from 1 on, such as 40000000, 64M, 1GiB or 1GB")
    return _bounded(number or _MAX_NUMBER + 1, text)


def row_numbers(text: str) -> list[int]:
    """Parse row numbers and ranges of them, separated by commas."""
    rows: list[int] = []
    for part in text.split(","):
        begin, dash, end = part.strip().partition("-")
        first = _number(begin)
        last = _number(end) if dash else first
        if first is None or last is None or last < first:
            raise ArgumentTypeError(f"{_short(part)} is no row: rows are numbers from 0, or ranges such as 100-105")
        if last - first >= _MAX_ROWS:
            raise ArgumentTypeError(f"{_short(part)} is more than {_MAX_ROWS:,} rows; name fewer")
        rows += range(first, last + 1)
    return rows


def _number(text: str) -> int | None:
    """Return a whole number; None for another text. A number larger than what counts rows or bytes is refused."""
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0") or "0"
    return _bounded(int(digits) if len(digits) <= _MAX_DIGITS else _MAX_NUMBER + 1, text)


def _bounded(number: int, text: str) -> int:
    """Return a number, or refuse one that no count of rows, tokens or bytes reaches."""
    if number > _MAX_NUMBER:
        raise ArgumentTypeError(f"{_short(text)} is too large: at most {_MAX_NUMBER:,}")
    return number


def _short(text: str) -> str:
    """Return a text in quotes, or its beginning."""
    return repr(text) if len(text) <= 40 else f"{text[:40]!r}..."
