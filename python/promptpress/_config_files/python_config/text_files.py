"""Text files beside a configuration, which it opens to read its prompts from them."""

from __future__ import annotations

import ast
import io
import os
from pathlib import Path
from typing import Any

from promptpress._file_errors import reason

from .targets import Targets
from .values import Opaque

_MAX_FILE_BYTES = 1 << 24


class TextFiles(Targets):
    """Opens text files of the configuration's own folder."""

    def open_text(self, node: ast.Call) -> Any:
        """Open a text file for reading, as `open` does.

        Args:
            node: the call of `open`.

        Returns:
            A text file of Python's own class over the bytes of the file; an opaque value if the file isn't read.

        """
        args, kwargs, hidden = self._arguments(node)
        hidden = next((a for a in (hidden, *args, *kwargs.values()) if isinstance(a, Opaque)), None)
        if hidden is not None:
            return Opaque(hidden.refusal, shared=False)
        names = ("file", "mode", "buffering", "encoding", "errors", "newline")
        values = {**dict(zip(names, args, strict=False)), **kwargs}
        path, mode = values.pop("file", None), values.pop("mode", "r")
        reads = mode in ("r", "rt") and values.pop("buffering", -1) == -1 and not self.has_written
        if len(args) > len(names) or not isinstance(path, str) or not reads:
            return self._unopened(node, f"open({path!r}, {mode!r}), no text file of this folder, read")
        data = self._bytes_of(node, path)
        if isinstance(data, Opaque):
            return data
        self.call(node, self.budget.text, (len(data),))
        encoding = values.pop("encoding", None)
        if encoding is None:
            encoding = "utf-8"
            if not data.isascii() and os.name == "nt":
                return self._unopened(node, f"open({path!r}) without an encoding, which differs from system to system")
        return self.call(node, io.TextIOWrapper, (io.BytesIO(data), encoding), values)

    def _bytes_of(self, node: ast.Call, path: str) -> bytes | Opaque:
        folder = os.path.realpath(os.path.dirname(os.path.abspath(self.path)))
        try:
            place = os.path.realpath(path)
            # Of a path elsewhere nothing is told, not even whether it is there.
            if not os.path.isabs(path) and ".." not in Path(path).parts and not os.path.exists(path):
                beside = f"os.path.join(os.path.dirname(__file__), {path!r}) is the one beside this file"
                found = f"open({path!r}): no such file in the working folder; {beside}"
                return self._unopened(node, found, broken=True)
            if not os.path.isabs(path) or os.path.commonpath([folder, place]) != folder:
                return self._unopened(node, f"open({path!r}, 'r'), no text file of this folder, read")
            with open(place, "rb") as file:
                return file.read(_MAX_FILE_BYTES + 1)
        except (OSError, ValueError) as error:  # a ValueError for a NUL, or half a character
            return self._unopened(node, f"open({path!r}): {reason(error)}", broken=True)

    def _unopened(self, node: ast.Call, found: str, *, broken: bool = False) -> Opaque:
        refusal = self.refuse(node, found, broken=broken)
        refusal.final = False  # in another working folder it may be there, and no prompt need depend on it
        return Opaque(refusal, shared=False)
