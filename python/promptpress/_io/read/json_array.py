"""A JSON array of objects, read item by item as lines, so that memory holds few items; for `jsonl_input`."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import BinaryIO

from promptpress._errors.file_errors import Choice, DataError

_READ_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 24
# The longest end of the text that may be the beginning of a longer word or number.
_CUT_CHARACTERS = 32
_SPACE = " \t\r\n"
_BETWEEN = re.compile(r"[ \t\r\n]*,[ \t\r\n]*(?={)")


def array_chunks(file: BinaryIO, path: str) -> Iterator[tuple[int, bytes]]:
    r"""Read an array's items: yield the number of an item, from 0, and this and following items, a line each.

    Raises:
        DataError: If it is no array, or no JSON; with the line.

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
            batch = [*window.items(), window.item()]
            number, size = number + len(batch), size + sum(map(len, batch))
            # JSON strings have no raw line breaks, so a line break is white space.
            items += [item.replace("\n", " ").replace("\r", " ") for item in batch]
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
    """The part of the file that has been read and not yet been used."""

    def __init__(self, file: BinaryIO, path: str) -> None:
        self._file = file
        self._path = path
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._scanner = json.JSONDecoder()
        self._text = ""
        self._index = 0
        self._line = 1
        self._ended = False

    def character(self) -> str:
        """Go to the next character that isn't white space; return it, or an empty string at the end."""
        while True:
            while self._index < len(self._text) and self._text[self._index] in _SPACE:
                self._index += 1
            if self._index < len(self._text):
                return self._text[self._index]
            if not self._more(_READ_BYTES):
                return ""

    def skip(self) -> None:
        """Go past the character."""
        self._index += 1

    def items(self) -> list[str]:
        """Go past all objects that a comma and another object follow, which is most of a file; return their texts."""
        self.character()
        text, index, items = self._text, self._index, list[str]()
        scan = self._scanner.scan_once  # type: ignore[attr-defined]  # what raw_decode calls
        try:
            while text[index] == "{":
                _, end = scan(text, index)
                separator = _BETWEEN.match(text, end)
                if separator is None:
                    break
                items.append(text[index:end])
                index = separator.end()
        except (IndexError, StopIteration, ValueError, RecursionError):
            pass
        self._index = index
        return items

    def item(self) -> str:
        """Go past the value that begins here; return its text."""
        if not self.character():
            raise self.error("the array isn't closed")
        while True:
            try:
                _, end = self._scanner.raw_decode(self._text, self._index)
            except RecursionError:
                raise self.error("nested too deeply") from None
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated string") or error.pos >= len(self._text) - _CUT_CHARACTERS
                # Twice as much, so that a long item is scanned only a few times.
                if cut and self._more(max(_READ_BYTES, len(self._text) - self._index)):
                    continue
                self._index = error.pos
                raise self.error(f"not valid JSON: {error.msg}") from None
            except ValueError as error:  # a number of more digits than Python reads
                raise self.error(str(error)) from None
            if end == len(self._text) and self._more(_READ_BYTES):
                continue  # a number may go on
            item, self._index = self._text[self._index : end], end
            return item

    def error(self, what: str) -> DataError:
        """Make an error with the current line."""
        line = self._line + self._text.count("\n", 0, self._index)
        return DataError(f"{self._path}:{line}: {what}")

    def _more(self, size: int) -> bool:
        if self._ended:
            return False
        data = self._file.read(size)
        self._ended = not data
        self._line += self._text.count("\n", 0, self._index)
        try:
            self._text = self._text[self._index :] + self._decoder.decode(data, self._ended)
        except UnicodeDecodeError as error:
            line = self._line + self._text.count("\n", self._index) + data.count(b"\n", 0, max(error.start, 0))
            raise DataError(f"{self._path}:{line}: not UTF-8 (byte 0x{error.object[error.start]:02x})") from None
        self._index = 0
        return not self._ended
