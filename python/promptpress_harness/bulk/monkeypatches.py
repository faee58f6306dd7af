"""Checks that a harness's methods and functions are those in its files.

Bulk rendering does the work of some of them. If one was wrapped, replaced or added, on the class, on an object or in a
module, nobody knows what it does to the next row. So each is compared with the code in its module's file when bulk
rendering takes over its work.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

from promptpress_harness.bulk.objects import same

_NAMES_OF_EMPTY = frozenset(
    ["__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__firstlineno__", "__static_attributes__"]
)
"""The names that Python gives a class whose body has only a docstring."""
_GENERATED_NAMES = ("__annotate__", "__annotate_func__", "__conditional_annotations__")


class NotCoveredError(Exception):
    """Raised for a part of a call that bulk rendering doesn't cover; the message names it."""


@dataclass(frozen=True)
class _GlobalNames:
    """The global names of a module, as its file binds them."""

    functions: frozenset[str]
    """The qualified names of its functions and methods."""
    imports: dict[str, tuple[str, str | None]]
    """The sources of imported names: a module, and a name in it or None for the module itself."""
    bound: frozenset[str]
    """All global names."""


def check_unpatched(module: str, path: str, *, deeply: bool = True) -> None:
    """Raise NotCoveredError unless a loaded function or method is that of its file.

    Args:
        module: The module.
        path: "function" or "Class.method".
        deeply: Check the functions that it calls by global names too.
    """
    if module not in sys.modules:
        return
    class_name, _, name = path.rpartition(".")
    owner: Any = sys.modules[module]
    if class_name:
        owner = getattr(owner, class_name, None)
    function = vars(owner).get(name) if owner is not None else None
    _check_value(function, sys.modules[module], path, set() if deeply else None)


def check_unpatched_class(kind: type) -> None:
    """Raise NotCoveredError unless a class, and its bases of the same package, have exactly their files' methods."""
    _check_class(kind, set())


def class_with_code(kind: type) -> type:
    """Return a class, or if it adds nothing to its only base, such as a method or a value, that one's class with code.

    >>> Whole = type("Whole", (int,), {})
    >>> Half = type("Half", (int,), {"__add__": int.__sub__})
    >>> class_with_code(Whole).__name__, class_with_code(Half).__name__, class_with_code(int).__name__
    ('int', 'Half', 'int')
    """
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


def _check_value(function: Any, module: ModuleType, path: str, seen: set[Any] | None) -> None:
    if seen is not None:
        if (module.__name__, path) in seen:
            return
        seen.add((module.__name__, path))
    if isinstance(function, (staticmethod, classmethod)):
        function = function.__func__
    function = originals.get(function, function) if isinstance(function, FunctionType) else function
    function = _undecorated(function, module)
    codes = _codes(module.__name__).get(path, ())
    is_function = isinstance(function, FunctionType)
    if not is_function or function.__code__ not in codes or function.__globals__ is not vars(module):
        raise NotCoveredError(f"{path} isn't that of {module.__name__}")
    if seen is not None:
        _check_names(function.__code__, module, seen)


def _undecorated(function: Any, module: ModuleType) -> Any:
    """Return the function that a decorator of the same package wraps."""
    wrapped = getattr(function, "__wrapped__", None)
    if not isinstance(function, FunctionType) or not isinstance(wrapped, FunctionType):
        return function
    home = function.__globals__.get("__name__", "")
    is_of_package = home in sys.modules and _package(home) == _package(module.__name__)
    is_as_written = is_of_package and any(function.__code__ in codes for codes in _codes(home).values())
    keeps = any(cell.cell_contents is wrapped for cell in function.__closure__ or ())
    return _undecorated(wrapped, module) if is_as_written and keeps else function


def _check_names(code: CodeType, module: ModuleType, seen: set[Any]) -> None:
    """Check the functions and classes that code uses by global names."""
    file = _bindings(module.__name__)
    for name in code_names(code):
        if name not in vars(module):
            continue
        value = vars(module)[name]
        if name not in file.bound and "*" not in file.imports:
            raise NotCoveredError(f"{module.__name__} has a {name} of its own")
        if name in file.imports:
            home, inner = file.imports[name]
            if home not in sys.modules:
                continue
            if value is not (sys.modules[home] if inner is None else getattr(sys.modules[home], inner, value)):
                raise NotCoveredError(f"{name} in {module.__name__} isn't that of {home}")
        elif name in file.functions:
            _check_value(value, module, name, seen)
            continue
        owner = sys.modules.get(getattr(value, "__module__", None) or "")
        if owner is None or _package(owner.__name__) != _package(module.__name__):
            continue
        if isinstance(value, FunctionType):
            _check_value(value, owner, value.__qualname__, seen)
        elif isinstance(value, type) and value.__name__ in _CALLED_CLASSES:
            _check_class(value, seen)


# Classes that methods call; other classes are only compared with.
_CALLED_CLASSES = ("PromptList",)


def _check_class(kind: type, seen: set[Any]) -> None:
    if kind in seen:
        return
    seen.add(kind)
    module = sys.modules[kind.__module__]
    prefix = kind.__qualname__ + "."
    paths = _bindings(module.__name__).functions
    methods = {path.removeprefix(prefix) for path in paths if path.startswith(prefix)}
    methods = {name for name in methods if "." not in name and "<" not in name and name not in _GENERATED_NAMES}
    for name, value in vars(kind).items():
        if name in methods:
            _check_value(value, module, prefix + name, seen)
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
def _codes(module: str) -> dict[str, list[CodeType]]:
    """Return the code of a module's functions, methods and classes, by qualified names."""
    codes: dict[str, list[CodeType]] = {}
    try:
        _collect(_loader(module).get_code(module), "", codes)
    except (AttributeError, ImportError, OSError, SyntaxError):
        codes.clear()
    return codes


@cache
def _bindings(module: str) -> _GlobalNames:
    spec = sys.modules[module].__spec__
    try:
        tree = ast.parse(_loader(module).get_source(module))
    except (AttributeError, ImportError, OSError, SyntaxError, TypeError):
        return _GlobalNames(frozenset(), {}, frozenset())
    is_package = spec is not None and spec.submodule_search_locations is not None
    package = module if is_package else module.rpartition(".")[0]
    imports: dict[str, tuple[str, str | None]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            name = "." * node.level + (node.module or "")
            home = importlib.util.resolve_name(name, package)
            imports.update({alias.asname or alias.name: (home, alias.name) for alias in node.names})
        elif isinstance(node, ast.Import):
            for alias in node.names:
                root = alias.name if alias.asname else alias.name.partition(".")[0]
                imports[alias.asname or root] = (root, None)
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    defined = {
        node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    }
    bound = frozenset({*imports, *stored, *defined, *vars(ModuleType(module)), "__file__"})
    # A class's body is code too, so functions are read from the source.
    return _GlobalNames(frozenset(_defined(tree, "")), imports, bound)


def _loader(module: str) -> Any:
    spec = sys.modules[module].__spec__
    return None if spec is None else spec.loader


def _collect(code: CodeType, prefix: str, codes: dict[str, list[CodeType]]) -> None:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            codes.setdefault(prefix + inner.co_name, []).append(inner)
            _collect(inner, f"{prefix}{inner.co_name}.", codes)


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
