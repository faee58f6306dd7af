"""Targets of assignments, and files that a configuration reads: its base files, as data, and texts with its prompts."""

from __future__ import annotations

import ast
import importlib.util
import io
import operator
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from promptpress import ConfigError
from promptpress.engine.errors import reason

from promptpress_harness.python_subset.expressions import Expressions
from promptpress_harness.python_subset.source import MISSING, source_text
from promptpress_harness.python_subset.values import (
    METHOD_NAMES,
    SLOT_CHARS,
    Budget,
    HarnessDict,
    Opaque,
    RefusedError,
    TooMuchError,
    as_base,
    first_opaque,
    settled_order,
)


class Targets(Expressions):
    """The binding of names and parts of data, in Python's order; each method refuses targets that aren't data."""

    def assign(self, target: ast.expr, value: Any) -> None:
        """Bind a value, which may be opaque, to a name, to several names, or to a part of data."""
        if isinstance(target, ast.Name):
            self.scope.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, self.require_data(value))
        elif isinstance(target, ast.Subscript):
            owner = self.data(target.value)
            self._set_item(target, owner, self.data(target.slice), value)
        elif isinstance(target, ast.Attribute):
            self._set_attribute(target, self.data(target.value), value)
        else:
            raise self.refuse(target, f"assignment to {source_text(target)}", final=True)

    def _set_item(self, target: ast.Subscript, owner: Any, key: Any, value: Any) -> None:
        self.call(target, self.budget.keys, (key,))
        if isinstance(key, slice):
            self.call(target, settled_order, (value,), changes=True)
        if hasattr(value, "__len__") and not isinstance(value, Opaque):
            self.call(target, self.budget.items, (SLOT_CHARS * (1 + len(value)),))
        if isinstance(owner, HarnessDict):
            self.call(target, self.budget.deep, (value,))
        self.call(target, operator.setitem, (owner, key, value), changes=True)

    def _set_attribute(self, target: ast.Attribute, owner: Any, value: Any) -> None:
        if not isinstance(owner, HarnessDict) or target.attr in METHOD_NAMES or target.attr.startswith("_"):
            raise self.refuse(target, f"assignment to {source_text(target)}", final=True)
        self.call(target, operator.setitem, (owner, target.attr, value), changes=True)

    def _unpack(self, target: ast.Tuple | ast.List, value: Any) -> None:
        values = [*self._all_of(target, value)]
        star = next((i for i, t in enumerate(target.elts) if isinstance(t, ast.Starred)), None)
        count = len(target.elts)
        if len(values) != count if star is None else len(values) < count - 1:
            raise self.refuse(target, f"{len(values)} values for {count} names", broken=True)
        if star is not None:
            end = len(values) - (count - star - 1)
            values = [*values[:star], values[star:end], *values[end:]]
        for part, item in zip(target.elts, values, strict=True):
            self.assign(part.value if isinstance(part, ast.Starred) else part, item)

    def augment(self, node: ast.AugAssign) -> None:
        """Change a name or a part of data in place; its owner and key are evaluated once."""
        target = node.target
        if isinstance(target, ast.Name):
            current = self.data(ast.copy_location(ast.Name(target.id, ast.Load()), target))
            self.scope.names[target.id] = self._changed(node, current)
        elif isinstance(target, ast.Subscript):
            owner, key = self.data(target.value), self.data(target.slice)
            self.call(target, self.budget.keys, (key,))
            current = self.require_data(self.call(target, operator.getitem, (owner, key)))
            self._set_item(target, owner, key, self._changed(node, current))
        else:
            owner = self.data(target.value)
            current = self.require_data(self.attribute_of(target, owner))
            self._set_attribute(target, owner, self._changed(node, current))

    def _changed(self, node: ast.AugAssign, current: Any) -> Any:
        added = self.data(node.value)
        return self.require_data(self.operate(node, type(node.op), current, added, in_place=True))

    def delete(self, target: ast.expr) -> None:
        """Delete a name, a part of data, or several of them."""
        if isinstance(target, ast.Name):
            if self.scope.names.pop(target.id, MISSING) is MISSING:
                raise self.refuse(target, f"the name {target.id!r} is not defined", broken=True)
        elif isinstance(target, ast.Subscript):
            owner, key = self.data(target.value), self.data(target.slice)
            self.call(target, self.budget.keys, (key,))
            self.call(target, operator.delitem, (owner, key), changes=True)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                self.delete(part)
        else:
            raise self.refuse(target, f"del {ast.unparse(target)}", final=True)


_MAX_FILE_BYTES = 1 << 24


class Modules(Targets):
    """The imports of one file, and the opening of text files in its own folder.

    mmengine reads the files of the first `with read_base():` before it runs the file, so their names are bound before
    the first statement. `read` reads another file and returns its names.
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

    def open_text(self, node: ast.Call) -> Any:
        """Open a text file as `open` does; the result is opaque if the file can't be read here."""
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


def is_read_base(node: ast.With) -> bool:
    r"""Return true for `with read_base():`."""
    call = node.items[0].context_expr
    is_name = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "read_base"
    return len(node.items) == 1 and is_name and node.items[0].optional_vars is None


def is_lazy(tree: ast.Module) -> bool:
    """Return true if mmengine parses a file, instead of replacing variables in its text and running it.

    It parses files with `read_base()` or an import from outside the standard library.
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
