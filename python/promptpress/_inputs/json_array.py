"""A JSON array of objects, item by item, as lines: nothing but the item that is read is held."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import BinaryIO

from promptpress._file_errors import Choice, DataError

_READ_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 24
# What may be the beginning of a longer word or number, at the end of what has been read.
_CUT_CHARACTERS = 32
_SPACE = " \t\r\n"
_BETWEEN = re.compile(r"[ \t\r\n]*,[ \t\r\n]*(?={)")


def array_chunks(file: BinaryIO, path: str) -> Iterator[tuple[int, bytes]]:
    r"""Read an array's items.

    Args:
        file: the array.
        path: its name, for errors.

    Yields:
        The number of an item, from 0, and that one and some that follow it, a line each.

    Raises:
        DataError: when it is no array, or no JSON; with the line.

    Example:
        >>> import io
        >>> list(array_chunks(io.BytesIO(b'[{"q":\n 1}, {"q": 2}]'), "a.json"))
        [(0, b'{"q":  1}\n{"q": 2}\n')]

    """
    window = _Window(file, path)
    if (first := window.character()) != "[":
        what = "an object" if first == "{" else "nothing" if not first else f"what begins with {first!r}"
        choice = Choice("data_format", "jsonl reads one object a line") if first == "{" else None
        raise DataError(f"{path}: holds {what}, where an array of objects is wanted", choice)
    window.skip()
    number, start, items, size = 0, 0, [], 0
    if window.character() == "]":
        window.skip()
    else:
        while True:
            found = [*window.items(), window.item()]
            number, size = number + len(found), size + sum(map(len, found))
            # A text holds no bare line break, so that one is white space.
            items += [item.replace("\n", " ").replace("\r", " ") for item in found]
            after = window.character()
            if after not in (",", "]"):
                raise window.error("',' or ']' is wanted after an item")
            window.skip()
            if after == "]":
                break
            if size >= _CHUNK_BYTES:
                yield start, ("\n".join(items) + "\n").encode("utf-8", "surrogatepass")
                start, items, size = number, [], 0
    if window.character():
        raise window.error("something follows the array")
    if items:
        yield start, ("\n".join(items) + "\n").encode("utf-8", "surrogatepass")


class _Window:
    """What has been read of the file and not yet been used."""

    def __init__(self, file: BinaryIO, path: str) -> None:
        self._file = file
        self._path = path
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._scanner = json.JSONDecoder()
        self._text = ""
        self._at = 0
        self._line = 1
        self._ended = False

    def character(self) -> str:
        """Go to the next character that is no white space; give it, or nothing at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more(_READ_BYTES):
                return ""

    def skip(self) -> None:
        """Go behind the character."""
        self._at += 1

    def items(self) -> list[str]:
        """Go behind all objects that are there to their end, with a comma and the beginning of another object behind.

        That is what most of a file is, and all that is done fast. What else there is `item` finds.
        """
        self.character()
        text, at, items = self._text, self._at, list[str]()
        scan = self._scanner.scan_once  # type: ignore[attr-defined]  # what raw_decode calls
        try:
            while text[at] == "{":
                _, end = scan(text, at)
                found = _BETWEEN.match(text, end)
                if found is None:
                    break
                items.append(text[at:end])
                at = found.end()
        except (IndexError, StopIteration, ValueError, RecursionError):
            pass
        self._at = at
        return items

    def item(self) -> str:
        """Go behind the value that begins here; give its text."""
        if not self.character():
            raise self.error("the array isn't closed")
        while True:
            try:
                _, end = self._scanner.raw_decode(self._text, self._at)
            except RecursionError:
                raise self.error("nested too deeply") from None
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated string") or error.pos >= len(self._text) - _CUT_CHARACTERS
                # As much again as there is: a long item is scanned a few times only.
                if cut and self._more(max(_READ_BYTES, len(self._text) - self._at)):
                    continue
                self._at = error.pos
                raise self.error(f"not valid JSON: {error.msg}") from None
            except ValueError as error:  # a number of more digits than Python reads
                raise self.error(str(error)) from None
            if end == len(self._text) and self._more(_READ_BYTES):
                continue  # a number may go on
            item, self._at = self._text[self._at : end], end
            return item

    def error(self, what: str) -> DataError:
        """Make an error about this place."""
        line = self._line + self._text.count("\n", 0, self._at)
        return DataError(f"{self._path}:{line}: {what}")

    def _more(self, size: int) -> bool:
        if self._ended:
            return False
        data = self._file.read(size)
        self._ended = not data
        self._line += self._text.count("\n", 0, self._at)
        try:
            self._text = self._text[self._at :] + self._decoder.decode(data, self._ended)
        except UnicodeDecodeError as error:
            line = self._line + self._text.count("\n", self._at) + data.count(b"\n", 0, max(error.start, 0))
            raise DataError(f"{self._path}:{line}: not UTF-8 (byte 0x{error.object[error.start]:02x})") from None
        self._at = 0
        return not self._ended
