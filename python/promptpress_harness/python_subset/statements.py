"""The reader for a harness's Python configuration as data: its statements and its base files."""

from __future__ import annotations

import ast
import io
import os
import re
import tokenize
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from promptpress import ConfigError
from promptpress.engine.errors import reason

from promptpress_harness.bounded_file import read_bytes
from promptpress_harness.python_subset.modules import Modules, is_lazy, is_read_base
from promptpress_harness.python_subset.source import END, Scope
from promptpress_harness.python_subset.values import (
    VIEWS,
    Budget,
    Opaque,
    RefusedError,
    Symbol,
    TooMuchError,
    is_stream,
)

_MAX_FILE_BYTES = 1 << 24
_READ_BASE = {"mmengine.config.read_base", "mmengine.read_base", "mmengine.config.config.read_base"}
# Texts that mmengine replaces before it runs a file without read_base().
_FILLED_IN = re.compile(
    r"\{\{\s*(?:fileDirname|fileBasename|fileBasenameNoExtension|fileExtname|_base_\.[\w.]+)\s*\}\}"
    r"|\{\{['\"]?\s*\$\w+\s*:\s*\S*?\s*['\"]?\}\}"
)
# Methods that Python calls when a class or a subclass is defined.
_HOOKS = {"__init_subclass__", "__set_name__", "__prepare__", "__class_getitem__"}


def read_python(path: str) -> dict[str, object]:
    """Return the names that a Python configuration defines, without executing it.

    Values that can't be computed without executing the file are `Opaque`; classes and functions are `Symbol`s.
    """
    return _Files(Budget()).read(path)


class _BreakError(Exception):
    """Raised for `break` in a loop."""


class _ContinueError(Exception):
    """Raised for `continue` in a loop."""


class _Files:
    """The files of one configuration, each of which is read once."""

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
            names = _File(path, self.budget, self.read, tree).run(tree)
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
        encoding = tokenize.detect_encoding(io.BytesIO(source).readline)[0]
        tree = ast.parse(source, filename=path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(tree, path, "exec", dont_inherit=True)  # finds errors such as `return` outside a function
    except SyntaxError as error:
        raise ConfigError(f"{path}:{error.lineno or 1}: not valid Python: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ConfigError(f"{path}: not readable as Python: {reason(error)}") from None
    if not encoding.startswith("utf-8") and not source.isascii():
        raise ConfigError(f"{path}:1: declares the encoding {encoding}, and the harness reads every file as UTF-8")
    text = source.decode("utf-8", "replace")
    if (filled_in := _FILLED_IN.search(text)) and not is_lazy(tree):
        line = text.count("\n", 0, filled_in.start()) + 1
        problem = f"{filled_in[0]} is filled in by mmengine, which isn't done here: write the text"
        raise ConfigError(f"{path}:{line}: {problem}")
    return tree


class _File(Modules):
    """The execution of the statements of one file."""

    def __init__(self, path: str, budget: Budget, read: Callable[[str], dict[str, object]], tree: ast.Module) -> None:
        super().__init__(path, budget, read, tree)
        self._in_base = False
        self._has_future_annotations = any(
            isinstance(n, ast.ImportFrom) and n.module == "__future__" and any(a.name == "annotations" for a in n.names)
            for n in tree.body
        )
        if self.base_block is not None:
            self.names["LazyObject"] = self.symbol(tree, "mmengine.config.lazy.LazyObject")
        self.names["__file__"] = os.path.abspath(path)

    def run(self, tree: ast.Module) -> dict[str, object]:
        self.bind_hoisted()
        self.names["__builtins__"] = self.symbol(tree, "builtins")
        if (docstring := ast.get_docstring(tree, clean=False)) is not None:
            self.names["__doc__"] = docstring
        self._statements(tree.body)
        kept = {
            name: self._kept(tree, name, value)
            for name, value in self.names.items()
            if not name.startswith("__") and (name != "LazyObject" or self.base_block is None)
        }
        self.budget.whole(kept)
        return kept

    def _kept(self, tree: ast.Module, name: str, value: object) -> object:
        """Return the final value of a name, or an opaque value for an iterator or a view."""
        if is_stream(value) or isinstance(value, VIEWS):
            return Opaque(self.refuse(tree, f"{name}, which is a {type(value).__name__}"))
        return value

    def _statements(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self.budget.step()
            handler = self._handlers_of_statements.get(type(statement))
            if handler is None:
                kind = type(statement).__name__.lower()
                raise self.refuse(statement, f"a {kind!r} statement", final=True)
            try:
                handler(self, statement)
            except RefusedError as refusal:
                raise self.as_final(refusal) from None

    # Binding

    def _assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id == "_base_" and self.scope.kind == "module":
                problem = "_base_, which mmengine merges into the file: use `with read_base()`"
                raise self.refuse(node, problem, broken=True)
        result = self.eval(node.value)
        for target in node.targets:
            self.assign(target, result)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.eval(node.value))
        elif isinstance(node.target, ast.Subscript):
            self.data(node.target.value), self.data(node.target.slice)
        elif isinstance(node.target, ast.Attribute):
            self.data(node.target.value)
        self._annotation(node.annotation)

    def _annotation(self, node: ast.expr | None) -> None:
        if node is not None and not self._has_future_annotations:
            self.eval(node)

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            self.delete(target)

    # Definitions

    def _define_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if node.name in _HOOKS or getattr(node, "type_params", None):
            raise self.refuse(node, f"the function {node.name}", final=True)
        decorators = [(d, self.eval(d)) for d in node.decorator_list]
        arguments = node.args
        for default in (*arguments.defaults, *filter(None, arguments.kw_defaults)):
            self.eval(default)
        named = [*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg]
        for argument in named:
            self._annotation(None if argument is None else argument.annotation)
        self._annotation(node.returns)
        self._define(node, decorators)

    def _define_class(self, node: ast.ClassDef) -> None:
        if node.keywords or getattr(node, "type_params", None):
            raise self.refuse(node, f"the class {node.name} with arguments", final=True)
        decorators = [(d, self.eval(d)) for d in node.decorator_list]
        for base in node.bases:
            if not isinstance(self.eval(base), Symbol):
                raise self.refuse(base, f"the base class {ast.unparse(base)}", final=True)
        outer, self.scope = self.scope, Scope({}, self.scope, kind="class")
        try:
            self._statements(node.body)
        finally:
            self.scope = outer
        self._define(node, decorators)

    def _define(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, decorators: list[tuple[ast.expr, Any]]
    ) -> None:
        value: Any = self.symbol(node, node.name, local=node)
        for decorator, function in reversed(decorators):
            value = self.apply(decorator, function, [value], {})
        self.scope.names[node.name] = value

    # Control

    def _expression(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            value = self.eval(node.value)
            if isinstance(value, Opaque) and not value.inert:
                raise self.as_final(value.refusal)

    def _for(self, node: ast.For) -> None:
        iterator = self.iterator(node.iter, self.data(node.iter))
        while (item := self.next_item(node.iter, iterator)) is not END:
            self.assign(node.target, item)
            try:
                self._statements(node.body)
            except _BreakError:
                return
            except _ContinueError:
                continue
        self._statements(node.orelse)

    def _if(self, node: ast.If) -> None:
        self._statements(node.body if self.truth(node.test, self.data(node.test)) else node.orelse)

    def _assert(self, node: ast.Assert) -> None:
        if not self.truth(node.test, self.data(node.test)):
            raise self.refuse(node, f"the file's own assertion fails: {ast.unparse(node.test)}", broken=True)

    def _raise(self, node: ast.Raise) -> None:
        raise self.refuse(node, f"the file refuses itself: {ast.unparse(node)}", broken=True)

    def _break(self, _: ast.Break) -> None:
        raise _BreakError

    def _continue(self, _: ast.Continue) -> None:
        raise _ContinueError

    def _with(self, node: ast.With) -> None:
        if node is self.base_block:
            return
        base, files = self._in_base, deque[Any]()
        try:
            for item in node.items:
                call = item.context_expr
                name = self.eval(call.func) if isinstance(call, ast.Call) else None
                dotted = name.dotted if isinstance(name, Symbol) and name.local is None else ""
                if dotted in _READ_BASE and is_read_base(node):
                    self._in_base = True
                elif dotted in ("builtins.open", "io.open") and isinstance(call, ast.Call) and item.optional_vars:
                    file = self.open_text(call)
                    files.appendleft(file)
                    self.assign(item.optional_vars, file)
                else:
                    raise self.refuse(node, f"'with {ast.unparse(item)}'", final=True)
            self._statements(node.body)
        finally:
            self._in_base = base
            for file in files:
                if not isinstance(file, Opaque):
                    file.close()

    def _import_from(self, node: ast.ImportFrom) -> None:
        self.import_from(node, in_base=self._in_base)

    _handlers_of_statements: ClassVar[dict[type[ast.stmt], Callable[[Any, Any], None]]] = {
        ast.Assign: _assign,
        ast.AnnAssign: _annotated,
        ast.AugAssign: Modules.augment,
        ast.Delete: _delete,
        ast.FunctionDef: _define_function,
        ast.AsyncFunctionDef: _define_function,
        ast.ClassDef: _define_class,
        ast.Expr: _expression,
        ast.For: _for,
        ast.If: _if,
        ast.Assert: _assert,
        ast.Raise: _raise,
        ast.Break: _break,
        ast.Continue: _continue,
        ast.Pass: lambda _, __: None,
        ast.With: _with,
        ast.Import: Modules.import_modules,
        ast.ImportFrom: _import_from,
    }
    """The method that executes each kind of statement."""
