"""A harness's Python configuration, read as data: its statements, and the files that it builds on."""

from __future__ import annotations

import ast
import importlib.util
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from promptpress._config_files.bounded_file import read_bytes
from promptpress._file_errors import ConfigError, reason

from .calls import deepcopy_call
from .expressions import Expressions
from .limits import SLOT_CHARS, Budget, TooMuchError
from .values import Opaque, RefusedError, Symbol, TextFile

_MAX_FILE_BYTES = 1 << 24
_READ_BASE = {"mmengine.config.read_base", "mmengine.read_base", "mmengine.config.config.read_base"}


def read_python(path: str) -> dict[str, object]:
    """Read the names that a Python configuration binds, without executing it.

    Args:
        path: the file.

    Returns:
        Its names. Values that can't be read without executing are `Opaque`, classes and functions are `Symbol`s.

    Raises:
        ConfigError: when the file can't be read, isn't Python, or would have to be executed as a whole.

    """
    return _Files(Budget()).read(path)


class _BreakError(Exception):
    """`break` inside a loop."""


class _ContinueError(Exception):
    """`continue` inside a loop."""


class _Files:
    """The files of one configuration; each is read once."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._read: dict[str, dict[str, object]] = {}
        self._open: list[str] = []

    def read(self, path: str) -> dict[str, object]:
        key = os.path.realpath(path)
        if key in self._read:
            return self._read[key]
        if key in self._open:
            raise ConfigError(f"{path}: imports itself")
        self._open.append(key)
        try:
            tree = _parse(path)
            names = _File(path, self).run(tree)
        except TooMuchError as error:
            raise ConfigError(f"{path}: {error}: more than a configuration may ask for") from None
        except RecursionError:
            raise ConfigError(f"{path}: nested too deeply to be read as data") from None
        finally:
            self._open.pop()
        self._read[key] = names
        return names


def _parse(path: str) -> ast.Module:
    source = read_bytes(path, _MAX_FILE_BYTES)
    try:
        return ast.parse(source, filename=path)
    except SyntaxError as error:
        raise ConfigError(f"{path}:{error.lineno or 1}: not valid Python: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ConfigError(f"{path}: not readable as Python: {reason(error)}") from None


class _File(Expressions):
    """The statements of one file."""

    def __init__(self, path: str, files: _Files) -> None:
        super().__init__(path, files.budget)
        self._files = files
        self._in_base = False
        self._bases: dict[str, dict[str, object]] = {}
        self.names.update(__file__=os.path.abspath(path), __name__=Path(path).stem)

    def run(self, tree: ast.Module) -> dict[str, object]:
        self._statements(tree.body)
        return {name: value for name, value in self.names.items() if not name.startswith("__")}

    def _statements(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self.budget.step()
            handler = _STATEMENTS.get(type(statement))
            if handler is None:
                kind = type(statement).__name__.lower()
                raise self.refuse(statement, f"a {kind!r} statement", final=True)
            try:
                handler(self, statement)
            except RefusedError as refusal:
                raise self.finally_(refusal) from None

    # Binding

    def _assign(self, node: ast.Assign) -> None:
        result = self.value(node.value)
        for target in node.targets:
            self.assign(target, result, self.names)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.value(node.value), self.names)

    def _augmented(self, node: ast.AugAssign) -> None:
        load: Any = ast.copy_location(ast.parse(ast.unparse(node.target), mode="eval").body, node.target)
        ast.fix_missing_locations(load)
        current, added = self.data(load), self.data(node.value)
        if isinstance(current, list) and isinstance(node.op, ast.Add):
            added = self.guarded(node, list, added)
            self.budget.items(SLOT_CHARS * len(added))
            current.extend(added)
        elif isinstance(current, dict) and isinstance(node.op, ast.BitOr):
            self.guarded(node, current.update, added)
        else:
            self.assign(node.target, self.operate(node, type(node.op), current, added), self.names)

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.guarded(target, self.names.pop, target.id)
            elif isinstance(target, ast.Subscript):
                owner = self.data(target.value)
                self.guarded(target, owner.__delitem__, self.data(target.slice))
            else:
                raise self.refuse(target, f"del {ast.unparse(target)}", final=True)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self.names[node.name] = self.symbol(node, node.name, local=True)

    # Control

    def _expression(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.eval(node.value)

    def _for(self, node: ast.For) -> None:
        for item in self._iterated(node.iter):
            self.budget.step()
            self.assign(node.target, item, self.names)
            try:
                self._statements(node.body)
            except _BreakError:
                return
            except _ContinueError:
                continue
        self._statements(node.orelse)

    def _if(self, node: ast.If) -> None:
        self._statements(node.body if self._truth(node.test) else node.orelse)

    def _assert(self, node: ast.Assert) -> None:
        if not self._truth(node.test):
            raise self.refuse(node, f"the file's own assertion fails: {ast.unparse(node.test)}", broken=True)

    def _raise(self, node: ast.Raise) -> None:
        raise self.refuse(node, f"the file refuses itself: {ast.unparse(node)}", broken=True)

    def _break(self, _: ast.Break) -> None:
        raise _BreakError

    def _continue(self, _: ast.Continue) -> None:
        raise _ContinueError

    def _with(self, node: ast.With) -> None:
        base = self._in_base
        for item in node.items:
            call = item.context_expr
            name = self.eval(call.func) if isinstance(call, ast.Call) else None
            dotted = name.dotted if isinstance(name, Symbol) else ""
            if dotted in _READ_BASE and item.optional_vars is None:
                self._in_base = True
            elif dotted in ("builtins.open", "io.open") and isinstance(call, ast.Call) and item.optional_vars:
                self.assign(item.optional_vars, self._open(call), self.names)
            else:
                raise self.refuse(node, f"'with {ast.unparse(item)}'", final=True)
        try:
            self._statements(node.body)
        finally:
            self._in_base = base

    def _open(self, node: ast.Call) -> object:
        """Read a text file that lies in the configuration's own folder; prompts are kept so in some harnesses."""
        try:
            arguments = [self.data(a) for a in node.args]
            named = {k.arg: self.data(k.value) for k in node.keywords}
        except RefusedError as refusal:
            return Opaque(refusal)
        path, mode = str(arguments[0] if arguments else named.get("file")), [*arguments[1:], named.get("mode", "r")][0]
        folder = os.path.realpath(os.path.dirname(os.path.abspath(self.path)))
        try:
            place = os.path.realpath(path)
        except ValueError as error:  # a NUL, or half a character
            return Opaque(self.refuse(node, f"open({path!r}): {reason(error)}", broken=True))
        # Of a path elsewhere nothing is told, not even whether it is there.
        if (
            mode in ("r", "rt")
            and not os.path.isabs(path)
            and ".." not in Path(path).parts
            and not os.path.exists(path)
        ):
            beside = f"os.path.join(os.path.dirname(__file__), {path!r}) is the one beside this file"
            missed = self.refuse(node, f"open({path!r}): no such file in the working folder; {beside}", broken=True)
            missed.final = False  # in another working folder it may be there, and no prompt need depend on it
            return Opaque(missed)
        if mode not in ("r", "rt") or not os.path.isabs(path) or os.path.commonpath([folder, place]) != folder:
            return Opaque(self.refuse(node, f"open({path!r}, {mode!r}), no text file of this folder, read"))
        try:
            with open(place, encoding=str(named.get("encoding") or "utf-8")) as file:
                text = file.read(_MAX_FILE_BYTES)
        except (OSError, ValueError, LookupError) as error:
            return Opaque(self.refuse(node, f"{path}: {reason(error)}", broken=True))
        self.budget.text(len(text))
        return TextFile(text)

    # Imports

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            bound = alias.name if alias.asname else alias.name.partition(".")[0]
            self.names[alias.asname or bound] = self.symbol(node, bound)

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        if node.level or self._in_base or (node.names[0].name == "*"):
            self._import_names(node, module)
        else:
            for alias in node.names:
                self.names[alias.asname or alias.name] = self.symbol(node, f"{module}.{alias.name}")

    def _import_names(self, node: ast.ImportFrom, module: str) -> None:
        names, failed = self._module(node, module)
        for alias in node.names:
            if alias.name == "*":
                if failed is not None:  # it could bind, or bind again, any name at all
                    raise failed
                self.names.update({name: value for name, value in names.items() if not name.startswith("_")})
            elif alias.name in names:
                self.names[alias.asname or alias.name] = names[alias.name]
            else:
                sub, sub_failed = self._submodule(node, module, alias.name)
                missing = failed or sub_failed or self.refuse(node, f"{module} has no {alias.name!r}", broken=True)
                missing.final = False
                self.names[alias.asname or alias.name] = sub if sub is not None else Opaque(missing)

    def _submodule(self, node: ast.ImportFrom, module: str, name: str) -> tuple[object, RefusedError | None]:
        if self._find(node, dotted := f"{module.rstrip('.') and module + '.'}{name}" if node.module else module + name):
            names, failed = self._module(node, dotted)
            return (names, None) if failed is None else (None, failed)
        return None, None

    def _module(self, node: ast.ImportFrom, module: str) -> tuple[dict[str, object], RefusedError | None]:
        """Read the file behind a module; what is wrong with it counts when one of its names is needed."""
        path = self._find(node, module)
        if path is None:
            return {}, self.refuse(node, f"import from {module!r}, for which no configuration file is found")
        try:
            if path not in self._bases:
                # Each file that builds on another has it to itself: what it changes there changes nowhere else.
                names = self._files.read(path)
                self._bases[path] = self.guarded(node, deepcopy_call, self.budget, names)
            return self._bases[path], None
        except TooMuchError:
            raise
        except ConfigError as error:
            return {}, self.refuse(node, f"import from {module!r}: {error}", broken=True)

    def _find(self, node: ast.ImportFrom, module: str) -> str | None:
        parts = module.lstrip(".").split(".") if module.strip(".") else []
        here = Path(os.path.abspath(self.path)).parent
        if node.level:
            roots = [Path(here, *[".."] * (node.level - 1))]
        else:
            roots = [folder.parent for folder in (here, *here.parents) if folder.name == parts[0]]
            roots += _installed(parts[0])
        for root in roots:
            place = root.joinpath(*parts)
            for candidate in (place.parent / f"{place.name}.py" if parts else place, place / "__init__.py"):
                if candidate.is_file():
                    return os.path.relpath(candidate) if not os.path.isabs(self.path) else os.path.normpath(candidate)
        return None


def _installed(package: str) -> list[Path]:
    """Say where an installed package lies; finding one by its top name imports nothing."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return []
    return [Path(place).parent for place in (spec.submodule_search_locations or [])] if spec else []


_STATEMENTS: dict[type[ast.stmt], Callable[[_File, Any], None]] = {
    ast.Assign: _File._assign,
    ast.AnnAssign: _File._annotated,
    ast.AugAssign: _File._augmented,
    ast.Delete: _File._delete,
    ast.FunctionDef: _File._definition,
    ast.AsyncFunctionDef: _File._definition,
    ast.ClassDef: _File._definition,
    ast.Expr: _File._expression,
    ast.For: _File._for,
    ast.If: _File._if,
    ast.Assert: _File._assert,
    ast.Raise: _File._raise,
    ast.Break: _File._break,
    ast.Continue: _File._continue,
    ast.Pass: lambda _, __: None,
    ast.With: _File._with,
    ast.Import: _File._import,
    ast.ImportFrom: _File._import_from,
}
