"""Checks that a harness's methods and functions are those that its files define.

Bulk rendering does the work of some of them. If one was wrapped, replaced or added, on the class, on an object or in a
module, nobody knows what it does to the next row. The first row, which is made both ways, wouldn't show it. So each is
looked at when bulk rendering takes over its work: it has to come from its module's file, under its own name.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import sys
from collections.abc import Iterator
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

_NAMES_OF_EMPTY = frozenset(
    ["__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__firstlineno__", "__static_attributes__"]
)
"""The names that Python gives a class whose body has only a docstring."""
_GENERATED_NAMES = ("__annotate__", "__annotate_func__", "__conditional_annotations__")
_CALLED_CLASSES = ("PromptList",)
"""Classes that methods call; other classes are only compared with."""


class NotCoveredError(Exception):
    """Raised for a part of a call that bulk rendering doesn't cover; the message names it."""


class _Names(NamedTuple):
    """Names that a module's file binds."""

    functions: frozenset[str]
    """The functions, and the methods as `Class.method`."""
    imports: dict[str, tuple[str, str | None]]
    """The sources of imported names: a module, and a name in it or None for the module itself."""


def check_unpatched(module: str, path: str, *, deeply: bool = True) -> None:
    """Raise NotCoveredError unless a loaded function or method is that of its file.

    `path` is "function" or "Class.method". With `deeply`, the functions that it calls by global names are checked too.
    """
    if module not in sys.modules:
        return
    class_name, _, name = path.rpartition(".")
    owner: Any = sys.modules[module]
    if class_name:
        owner = getattr(owner, class_name, None)
    function = vars(owner).get(name) if owner is not None else None
    _check_function(function, sys.modules[module], path, set() if deeply else None)


def check_unpatched_class(kind: type) -> None:
    """Raise NotCoveredError unless a class, and its bases of the same package, have exactly their files' methods."""
    _check_class(kind, set())


def class_with_code(kind: type) -> type:
    """Return a class; if it adds nothing to its only base, such as a method or a value, its base's class with code."""
    while len(kind.__bases__) == 1 and type(kind) is type(kind.__base__) and vars(kind).keys() <= _NAMES_OF_EMPTY:
        kind = kind.__bases__[0]
    return kind


def check_no_shadows(thing: Any) -> None:
    """Raise NotCoveredError if an attribute of an object hides a method of its class."""
    kind = type(thing)
    for name in getattr(thing, "__dict__", ()):
        if callable(getattr(kind, name, None)):
            raise NotCoveredError(f"the {kind.__name__} has a {name} of its own")


def check_as_constructed(thing: Any, *arguments: Any, **settings: Any) -> None:
    """Raise NotCoveredError unless an object has its class's methods and the attributes from these arguments."""
    kind = class_with_code(type(thing))
    check_unpatched_class(kind)
    check_no_shadows(thing)
    fresh = vars(kind(*arguments, **settings))
    for name, value in vars(thing).items():
        # Data can be compared; of loggers and the like, only the classes are.
        is_data = value is None or isinstance(value, (str, int, float, list, tuple, dict))
        is_same = name in fresh and type(value) is type(fresh[name]) and (not is_data or same(value, fresh[name]))
        if not is_same:
            raise NotCoveredError(f"the {kind.__name__}'s {name} was changed by hand")


def _check_function(function: Any, module: ModuleType, path: str, seen: set[Any] | None) -> None:
    if seen is not None:
        if (module.__name__, path) in seen:
            return
        seen.add((module.__name__, path))
    if isinstance(function, (staticmethod, classmethod)):
        function = function.__func__
    function = originals.get(function, function) if isinstance(function, FunctionType) else function
    function = _undecorated(function, module)
    if not _is_of_file(function, module) or function.__qualname__ != path:
        raise NotCoveredError(f"{path} isn't that of {module.__name__}")
    if seen is not None:
        _check_names(function.__code__, module, seen)


def _is_of_file(function: Any, module: ModuleType) -> bool:
    """Return true if an object is a function that a module's file defines."""
    is_of_module = isinstance(function, FunctionType) and function.__globals__ is vars(module)
    return is_of_module and function.__code__.co_filename == getattr(module, "__file__", None)


def _undecorated(function: Any, module: ModuleType) -> Any:
    """Return the function that a decorator of the same package wraps."""
    wrapped = getattr(function, "__wrapped__", None)
    if not isinstance(function, FunctionType) or not isinstance(wrapped, FunctionType):
        return function
    home = sys.modules.get(function.__globals__.get("__name__", ""), module)
    is_of_package = _package(home.__name__) == _package(module.__name__) and _is_of_file(function, home)
    keeps = any(cell.cell_contents is wrapped for cell in function.__closure__ or ())
    return _undecorated(wrapped, module) if is_of_package and keeps else function


def _check_names(code: CodeType, module: ModuleType, seen: set[Any]) -> None:
    """Check the functions and classes that code uses by global names."""
    file = _names_of(module.__name__)
    for name in code_names(code):
        if name not in vars(module):
            continue
        value = vars(module)[name]
        if name in file.imports:
            home, inner = file.imports[name]
            if home not in sys.modules:
                continue
            if value is not (sys.modules[home] if inner is None else getattr(sys.modules[home], inner, value)):
                raise NotCoveredError(f"{name} in {module.__name__} isn't that of {home}")
        elif name in file.functions:
            _check_function(value, module, name, seen)
            continue
        elif hasattr(builtins, name) and callable(value) and not name.startswith("__"):
            raise NotCoveredError(f"{module.__name__} has a {name} of its own")
        owner = sys.modules.get(getattr(value, "__module__", None) or "")
        if owner is None or _package(owner.__name__) != _package(module.__name__):
            continue
        if isinstance(value, FunctionType):
            _check_function(value, owner, value.__qualname__, seen)
        elif isinstance(value, type) and value.__name__ in _CALLED_CLASSES:
            _check_class(value, seen)


def _check_class(kind: type, seen: set[Any]) -> None:
    if kind in seen:
        return
    seen.add(kind)
    module = sys.modules[kind.__module__]
    prefix = kind.__qualname__ + "."
    functions = _names_of(module.__name__).functions
    methods = {path.removeprefix(prefix) for path in functions if path.startswith(prefix)} - {*_GENERATED_NAMES}
    for name, value in vars(kind).items():
        if name in methods:
            _check_function(value, module, prefix + name, seen)
        elif name not in _GENERATED_NAMES and (
            callable(value) or isinstance(value, (staticmethod, classmethod, property))
        ):
            raise NotCoveredError(f"{prefix}{name} isn't that of {module.__name__}")
    for name in methods - vars(kind).keys():
        raise NotCoveredError(f"{prefix}{name} isn't that of {module.__name__}")
    for base in kind.__bases__:
        if _package(base.__module__) == _package(kind.__module__):
            _check_class(base, seen)


def _package(module: str) -> str:
    return module.partition(".")[0]


def code_names(code: CodeType) -> Iterator[str]:
    """Yield the names that code and its inner functions look up outside of their own."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from code_names(inner)


@cache
def _names_of(module: str) -> _Names:
    spec = sys.modules[module].__spec__
    try:
        tree = ast.parse(spec.loader.get_source(module))  # type: ignore[union-attr]  # an error is caught
    except (AttributeError, ImportError, OSError, SyntaxError, TypeError):
        return _Names(frozenset(), {})
    is_package = spec is not None and spec.submodule_search_locations is not None
    package = module if is_package else module.rpartition(".")[0]
    imports: dict[str, tuple[str, str | None]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            home = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            imports.update({alias.asname or alias.name: (home, alias.name) for alias in node.names})
        elif isinstance(node, ast.Import):
            for alias in node.names:
                root = alias.name if alias.asname else alias.name.partition(".")[0]
                imports[alias.asname or root] = (root, None)
    return _Names(frozenset(_defined(tree, "")), imports)


def _defined(node: ast.AST, prefix: str) -> Iterator[str]:
    """Yield the qualified names of the functions below a node."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + inner.name
        elif isinstance(inner, ast.ClassDef):
            yield from _defined(inner, f"{prefix}{inner.name}.")
        else:
            yield from _defined(inner, prefix)


originals: dict[Any, Any] = {}
"""The harness's functions that `Patches` has replaced, keyed by their replacements."""


def same(left: Any, right: Any) -> bool:
    """Return true if two requests can't be told apart: types, values, and the order of keys."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)
