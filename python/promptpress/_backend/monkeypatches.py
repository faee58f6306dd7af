"""Whether what a harness runs is what its files say.

Bulk rendering does the work of some of a harness's methods and functions. Where one of them was wrapped, replaced or
added to, on the class, on an object or in a module, nothing shows what it does to the next row. So each is compared
with the code that its module's file has, when its work is taken over, whenever it may have been changed.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

_GENERATED_NAMES = ("__annotate__", "__annotate_func__", "__conditional_annotations__")


class NotCoveredError(Exception):
    """What bulk rendering doesn't cover; the message says what."""


@dataclass(frozen=True)
class _GlobalNames:
    """What a module's file makes of its global names."""

    functions: frozenset[str]
    """Its functions and methods, by qualified names."""
    imports: dict[str, tuple[str, str | None]]
    """What its global names are imported from: a module, and a name in it or None for the module itself."""
    bound: frozenset[str]
    """All its global names."""


def check_unpatched(module: str, path: str, *, deeply: bool = True) -> None:
    """Check that a function or method is that of its file.

    Args:
        module: The module.
        path: "function" or "Class.method".
        deeply: Whether those that it calls by global names have to be those of their files, too.

    Raises:
        NotCoveredError: If it isn't.
    """
    if module in sys.modules:
        _check_function(module, path, set() if deeply else None)


def check_unpatched_class(kind: type) -> None:
    """Check that a class has the methods of its file, and no others; so for its bases of the same package.

    Raises:
        NotCoveredError: If it hasn't.
    """
    _check_class(kind, set())


def check_no_shadows(thing: Any) -> None:
    """Check that no method of a class is hidden by an attribute of an object.

    Raises:
        NotCoveredError: If one is.
    """
    kind = type(thing)
    for name in getattr(thing, "__dict__", ()):
        if callable(getattr(kind, name, None)):
            raise NotCoveredError(f"the {kind.__name__} has a {name} of its own")


def check_attributes(thing: Any, fresh: Callable[[], Any], same: Callable[[Any, Any], bool]) -> None:
    """Check that an object has the attributes that its constructor gives it.

    Args:
        thing: The object.
        fresh: Makes another one of the same configuration.
        same: Whether two values can't be told apart.

    Raises:
        NotCoveredError: If it hasn't.
    """
    other = vars(fresh())
    for name, value in vars(thing).items():
        if (
            name not in other
            or type(value) is not type(other[name])
            or (_is_data(value) and not same(value, other[name]))
        ):
            raise NotCoveredError(f"the {type(thing).__name__}'s {name} was changed by hand")


def _is_data(value: Any) -> bool:
    """Whether two such values can be compared; loggers and the like are only of one class."""
    return value is None or isinstance(value, (str, int, float, list, tuple, dict))


def _check_function(module: str, path: str, seen: set[Any] | None) -> None:
    owner: Any = sys.modules[module]
    class_name, _, name = path.rpartition(".")
    if class_name:
        owner = getattr(owner, class_name, None)
    found = vars(owner).get(name) if owner is not None else None
    _check_value(found, sys.modules[module], path, seen)


def _check_value(found: Any, module: ModuleType, path: str, seen: set[Any] | None) -> None:
    if seen is not None:
        if (module.__name__, path) in seen:
            return
        seen.add((module.__name__, path))
    if isinstance(found, (staticmethod, classmethod)):
        found = found.__func__
    found = originals.get(found, found) if isinstance(found, FunctionType) else found
    found = _undecorated(found, module)
    codes = _codes(module.__name__).get(path, ())
    if not isinstance(found, FunctionType) or found.__code__ not in codes or found.__globals__ is not vars(module):
        raise NotCoveredError(f"{path} isn't that of {module.__name__}")
    if seen is not None:
        _check_names(found.__code__, module, seen)


def _undecorated(found: Any, module: ModuleType) -> Any:
    """The function that a decorator of the same package wraps."""
    wrapped = getattr(found, "__wrapped__", None)
    if not isinstance(found, FunctionType) or not isinstance(wrapped, FunctionType):
        return found
    home = found.__globals__.get("__name__", "")
    is_own = home in sys.modules and _package(home) == _package(module.__name__)
    is_as_written = is_own and any(found.__code__ in codes for codes in _codes(home).values())
    keeps = any(cell.cell_contents is wrapped for cell in found.__closure__ or ())
    return _undecorated(wrapped, module) if is_as_written and keeps else found


def _check_names(code: CodeType, module: ModuleType, seen: set[Any]) -> None:
    """Check what a function calls by global names."""
    file = _bindings(module.__name__)
    for name in _names(code):
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


# Classes that methods name and whose own methods do a part of the work; others are named to be compared with.
_CALLED_CLASSES = ("PromptList",)


def _check_class(kind: type, seen: set[Any]) -> None:
    if kind in seen:
        return
    seen.add(kind)
    module = sys.modules[kind.__module__]
    prefix = kind.__qualname__ + "."
    here = _bindings(module.__name__).functions
    wanted = {path.removeprefix(prefix) for path in here if path.startswith(prefix)}
    wanted = {name for name in wanted if "." not in name and "<" not in name and name not in _GENERATED_NAMES}
    for name, value in vars(kind).items():
        if name in wanted:
            _check_value(value, module, prefix + name, seen)
        elif name not in _GENERATED_NAMES and _is_method(value):
            raise NotCoveredError(f"{prefix}{name} isn't that of {module.__name__}")
    for name in wanted - vars(kind).keys():
        raise NotCoveredError(f"{prefix}{name} isn't that of {module.__name__}")
    for base in kind.__bases__:
        if _package(base.__module__) == _package(kind.__module__):
            _check_class(base, seen)


def _is_method(value: Any) -> bool:
    return callable(value) or isinstance(value, (staticmethod, classmethod, property))


def _package(module: str) -> str:
    return module.partition(".")[0]


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


@cache
def _codes(module: str) -> dict[str, list[CodeType]]:
    """The code of a module's functions, methods and classes, by qualified names."""
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
    imports: dict[str, tuple[str, str | None]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            package = module if spec is not None and spec.submodule_search_locations is not None else _parent(module)
            home = _absolute(package, node.module, node.level)
            imports.update({one.asname or one.name: (home, one.name) for one in node.names})
        elif isinstance(node, ast.Import):
            for one in node.names:
                root = one.name if one.asname else one.name.partition(".")[0]
                imports[one.asname or root] = (root, None)
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    defined = {
        node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    }
    bound = frozenset({*imports, *stored, *defined, *vars(ModuleType(module)), "__file__"})
    # A class's body is code too, so functions are what the source says.
    return _GlobalNames(frozenset(_defined(tree, "")), imports, bound)


def _loader(module: str) -> Any:
    spec = sys.modules[module].__spec__
    return None if spec is None else spec.loader


def _collect(code: CodeType, prefix: str, found: dict[str, list[CodeType]]) -> None:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found.setdefault(prefix + inner.co_name, []).append(inner)
            _collect(inner, f"{prefix}{inner.co_name}.", found)


def _defined(node: ast.AST, prefix: str) -> Iterator[str]:
    """The qualified names of the functions below a node."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + inner.name
        elif isinstance(inner, ast.ClassDef):
            yield from _defined(inner, f"{prefix}{inner.name}.")
        else:
            yield from _defined(inner, prefix)


def _parent(module: str) -> str:
    return module.rpartition(".")[0]


def _absolute(package: str, module: str | None, level: int) -> str:
    for _ in range(level - 1):
        package = _parent(package)
    if not level:
        return module or ""
    return f"{package}.{module}" if module else package


originals: dict[Any, Any] = {}
"""The functions that `Patches` put in the place of a harness's, with the harness's own."""
