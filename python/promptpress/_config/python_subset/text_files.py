"""Text files in a configuration's folder, from which it reads its prompts."""

from __future__ import annotations

import ast
import io
import os
from pathlib import Path
from typing import Any

from promptpress._config.python_subset.targets import Targets
from promptpress._config.python_subset.values import Opaque, first_opaque
from promptpress._errors.file_errors import reason

_MAX_FILE_BYTES = 1 << 24


class TextFiles(Targets):
    """The opening of text files in the configuration's own folder."""

    def open_text(self, node: ast.Call) -> Any:
        """Open a text file as `open` does.

        Returns:
            A file object of Python's own class, or an opaque value if the file can't be read here.

        """
        args, kwargs, hidden = self._arguments(node)
        if (hidden := first_opaque((hidden, *args, *kwargs.values()))) is not None:
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
            real_path = os.path.realpath(path)
            # Errors for paths outside the folder don't even tell whether the file exists.
            if not os.path.isabs(path) and ".." not in Path(path).parts and not os.path.exists(path):
                hint = f"os.path.join(os.path.dirname(__file__), {path!r}) is the one beside this file"
                problem = f"open({path!r}): no such file in the working folder; {hint}"
                return self._unopened(node, problem, broken=True)
            if not os.path.isabs(path) or os.path.commonpath([folder, real_path]) != folder:
                return self._unopened(node, f"open({path!r}, 'r'), no text file of this folder, read")
            with open(real_path, "rb") as file:
                return file.read(_MAX_FILE_BYTES + 1)
        except (OSError, ValueError) as error:  # a ValueError for a NUL or a lone surrogate
            return self._unopened(node, f"open({path!r}): {reason(error)}", broken=True)

    def _unopened(self, node: ast.Call, problem: str, *, broken: bool = False) -> Opaque:
        refusal = self.refuse(node, problem, broken=broken)
        refusal.final = False  # the file may exist in another working folder, and prompts may not need it
        return Opaque(refusal, shared=False)
