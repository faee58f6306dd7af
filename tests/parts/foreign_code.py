"""Functions and classes of installed packages, without importing what stands around them.

The trainers and engines that read token ids want torch and a GPU at import. What reads the ids needs neither, so its
source is run alone, in a namespace that the test gives.
"""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path
from typing import Any

import pytest

__all__ = ["definitions"]


def definitions(package: str, file: str, names: list[str], namespace: dict[str, Any]) -> list[Any]:
    """Run definitions of a package's file, and return them; skip the test where the package is absent.

    Args:
        package: The package.
        file: The file in it.
        names: Functions and classes, or methods as `Class.method`.
        namespace: What they use of their file; they are put into it, too.

    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"{package} isn't installed")
    path = Path(spec.submodule_search_locations[0], file)
    module = ast.parse(path.read_text(encoding="utf-8"))
    out = []
    for name in names:
        body: list[Any] = module.body
        for part in name.split("."):
            node = next(node for node in body if getattr(node, "name", None) == part)
            body = getattr(node, "body", [])
        # Annotations of functions name types of packages that aren't here; dataclasses and pydantic read classes'.
        for function in ast.walk(node):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                function.returns = None
                arguments = function.args
                for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
                    argument.annotation = None
        future = [other for other in module.body if isinstance(other, ast.ImportFrom) and other.module == "__future__"]
        code = ast.fix_missing_locations(ast.Module([*future, node], []))
        exec(compile(code, str(path), "exec", dont_inherit=True), namespace)
        out.append(namespace[name.rpartition(".")[2]])
    return out
