"""Imports of a configuration: from its base files, which are read as data too, and from other code."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from promptpress._config.python_subset.harness_dict import HarnessDict, as_base
from promptpress._config.python_subset.limits import Budget, TooMuchError
from promptpress._config.python_subset.text_files import TextFiles
from promptpress._config.python_subset.values import Opaque, RefusedError
from promptpress._errors.file_errors import ConfigError


class Modules(TextFiles):
    """The imports of one file.

    mmengine reads the files of the first `with read_base():` before it runs the file, so their names are bound before
    the first statement.

    Args:
        path: The file, as the user named it.
        budget: The limit on the cost of reading it.
        read: A function that reads another file and returns its names.
        tree: The file's syntax.

    """

    def __init__(self, path: str, budget: Budget, read: Callable[[str], dict[str, object]], tree: ast.Module) -> None:
        super().__init__(path, budget)
        self.tree = tree
        self._read = read
        self._bases: dict[str, HarnessDict] = {}
        self.base_block = next((s for s in tree.body if isinstance(s, ast.With) and is_read_base(s)), None)
        self.hoisted: list[ast.AST] = []
        if self.base_block is not None:
            modules = {_module_of(s) for s in self.base_block.body}
            imports = [n for n in _in_order(tree) if isinstance(n, ast.ImportFrom) and _module_of(n) in modules]
            self.hoisted = [*imports, *(s for s in reversed(tree.body) if _is_lazy_import(s))]

    def is_annotated(self) -> bool:
        """Return true if the file annotates a name, because `locals()` then has more names."""
        return any(isinstance(node, ast.AnnAssign) for node in ast.walk(self.tree))

    def bind_hoisted(self) -> None:
        """Bind the names that the harness binds before the file's first statement."""
        if self.base_block is not None:
            for statement in self.base_block.body:
                if not isinstance(statement, ast.ImportFrom):
                    raise self.refuse(statement, "a statement other than `from ... import` in read_base()", broken=True)
        for node in self.hoisted:
            if isinstance(node, ast.ImportFrom):
                self._import_names(node, _module_of(node))
            elif isinstance(node, ast.Import):
                self._bind_modules(node)

    def import_modules(self, node: ast.Import) -> None:
        """Bind the names of an `import`."""
        if node not in self.hoisted:
            self._bind_modules(node)

    def _bind_modules(self, node: ast.Import) -> None:
        for alias in node.names:
            bound = alias.name if alias.asname else alias.name.partition(".")[0]
            self.scope.names[alias.asname or bound] = self.symbol(node, bound)

    def import_from(self, node: ast.ImportFrom, *, in_base: bool) -> None:
        """Bind the names of a `from ... import`; `in_base` is true inside a `with read_base()`."""
        if node in self.hoisted:
            return
        module = _module_of(node)
        if in_base:
            refusal = self.refuse(node, f"import from {module!r}: only the first `with read_base()` of a file is read")
            if node.names[0].name == "*":
                raise self.as_final(refusal)
            for alias in node.names:
                self.scope.names[alias.asname or alias.name] = Opaque(refusal, shared=False)
        elif node.level or node.names[0].name == "*":
            if node.names[0].name == "*" and self._find(node, module) is not None:
                raise self.refuse(node, f"`from {module} import *` outside `with read_base()`", broken=True)
            self._import_names(node, module)
        else:
            for alias in node.names:
                self.scope.names[alias.asname or alias.name] = self.symbol(node, f"{module}.{alias.name}")

    def _import_names(self, node: ast.ImportFrom, module: str) -> None:
        names, failed = self._module(node, module)
        for alias in node.names:
            if alias.name == "*":
                if failed is not None:  # it could bind any name
                    raise self.as_final(failed)
                self.scope.names.update(names)
            elif alias.name in names:
                self.scope.names[alias.asname or alias.name] = names[alias.name]
            else:
                sub, sub_failed = self._submodule(node, module, alias.name)
                missing = failed or sub_failed or self.refuse(node, f"{module} has no {alias.name!r}", broken=True)
                missing.final = False
                value = sub if sub is not None else Opaque(missing, shared=False)
                self.scope.names[alias.asname or alias.name] = value

    def _submodule(self, node: ast.ImportFrom, module: str, name: str) -> tuple[object, RefusedError | None]:
        if self._find(node, dotted := f"{module.rstrip('.') and module + '.'}{name}" if node.module else module + name):
            names, failed = self._module(node, dotted)
            return (names, None) if failed is None else (None, failed)
        return None, None

    def _module(self, node: ast.ImportFrom, module: str) -> tuple[HarnessDict, RefusedError | None]:
        """Read a module's file; return its names, and an error to raise if one of them is needed."""
        path = self._find(node, module)
        if path is None:
            return HarnessDict(), self.refuse(node, f"import from {module!r}, for which no configuration file is found")
        try:
            if module not in self._bases:
                names = self._read(path)
                held = self.refuse(node, f"an iterator of {module!r}")
                self._bases[module] = self.call(node, as_base, (self.budget, names, held))
            return self._bases[module], None
        except TooMuchError:
            raise
        except ConfigError as error:
            return HarnessDict(), self.refuse(node, f"import from {module!r}: {error}", broken=True)

    def _find(self, node: ast.ImportFrom, module: str) -> str | None:
        parts = module.lstrip(".").split(".") if module.strip(".") else []
        here = Path(os.path.abspath(self.path)).parent
        if node.level:
            roots = [Path(here, *[".."] * (node.level - 1))]
        else:
            roots = [folder.parent for folder in (here, *here.parents) if folder.name == parts[0]]
            roots += _installed(parts[0])
        for root in roots:
            base = root.joinpath(*parts)
            for candidate in (base.parent / f"{base.name}.py" if parts else base, base / "__init__.py"):
                if candidate.is_file():
                    return os.path.relpath(candidate) if not os.path.isabs(self.path) else os.path.normpath(candidate)
        return None


def is_read_base(node: ast.With) -> bool:
    r"""Return true for `with read_base():`."""
    call = node.items[0].context_expr
    is_name = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "read_base"
    return len(node.items) == 1 and is_name and node.items[0].optional_vars is None


def is_lazy(tree: ast.Module) -> bool:
    """Return true if mmengine parses a file, instead of replacing variables in its text and running it.

    It parses files with `read_base()` or an import from outside the standard library.

    >>> is_lazy(ast.parse("import json")), is_lazy(ast.parse("import torch"))
    (False, True)

    """
    for node in ast.walk(tree):
        if isinstance(node, ast.With) and is_read_base(node):
            return True
        if isinstance(node, ast.ImportFrom) and (node.level or not _is_standard(node.module or "")):
            return True
        if isinstance(node, ast.Import) and not all(_is_standard(alias.name) for alias in node.names):
            return True
    return False


def _is_standard(module: str) -> bool:
    return module.startswith("mmengine.config") or module.partition(".")[0] in sys.stdlib_module_names


def _is_lazy_import(node: ast.stmt) -> bool:
    """Return true for an import like `import torch`, which mmengine moves to the beginning of the file."""
    return isinstance(node, ast.Import) and all(not a.asname and not _is_standard(a.name) for a in node.names)


def _module_of(node: ast.AST) -> str:
    return "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else ""


def _in_order(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree in the order of the text."""
    todo = [tree]
    while todo:
        node = todo.pop()
        yield node
        todo.extend(reversed([*ast.iter_child_nodes(node)]))


def _installed(package: str) -> list[Path]:
    """Return the folders that contain an installed package; `find_spec` of a top-level name imports nothing."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return []
    return [Path(folder).parent for folder in (spec.submodule_search_locations or [])] if spec else []
