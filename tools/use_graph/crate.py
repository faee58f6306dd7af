"""A crate's modules: what each defines, what it imports, and to which file a path leads.

Names are resolved as rustc does it, as far as files need: `crate`, `self` and `super`, modules, imports with `as`,
nested braces and globs, and re-exports, which are followed to the file that defines the name. A path into another
crate leads nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lexer import BRACKETS, Token, closing, tokens

NAMED_ITEMS = {"fn", "struct", "enum", "union", "trait", "type", "const", "static"}
CRATE_PREFIXES = ("crate", "self", "super")
ROOT_FILES = ("lib.rs", "main.rs")


class UnreadableError(Exception):
    """Source that this program can't follow."""


@dataclass(frozen=True)
class Item:
    """A name and the file that defines it."""

    name: str
    file: Path


@dataclass(frozen=True)
class Import:
    """One name of a `use`: `use a::{b as c}` has the path `a::b` and the name `c`; a glob has the name `*`."""

    path: tuple[str, ...]
    name: str
    line: int
    is_public: bool


@dataclass(eq=False)
class Scope:
    """A module, or a block with imports of its own."""

    imports: list[Import] = field(default_factory=list)


@dataclass(eq=False)
class Module(Scope):
    """A module, in a file of its own or inline in its parent's."""

    path: tuple[str, ...] = ()
    file: Path = Path()
    parent: Module | None = None
    children: dict[str, Module] = field(default_factory=dict)
    items: dict[str, Item] = field(default_factory=dict)
    # What macros that are called between items may define: every name in the call.
    made: dict[str, Item] = field(default_factory=dict)


@dataclass(eq=False)
class Source:
    """A file: its tokens, and which of its brackets open what."""

    file: Path
    module: Module
    tokens: list[Token]
    # By the place of the opening brace.
    modules: dict[int, Module] = field(default_factory=dict)
    blocks: dict[int, Scope] = field(default_factory=dict)
    # From `use` to `;`, and from `pub(` to `)`.
    skipped: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Outside:
    """What another crate defines, under a name of this one."""


Target = Item | Module | Outside | None


class Crate:
    """All modules that `lib.rs` or `main.rs` reaches.

    Args:
        folder: Where the crate's root file stands.

    Raises:
        UnreadableError: A module without a file, or a `#[path]`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sources: dict[Path, Source] = {}
        root = next((folder / name for name in ROOT_FILES if (folder / name).exists()), None)
        if root is None:
            raise UnreadableError(f"{folder} has none of {', '.join(ROOT_FILES)}")
        self.root = Module(file=root)
        self._read(self.root, folder)

    def resolve(self, path: tuple[str, ...], module: Module, blocks: list[Scope]) -> tuple[Target, tuple[str, ...]]:
        """Follow a path.

        Args:
            path: Its names.
            module: The module that it stands in.
            blocks: The blocks with imports around it, innermost last.

        Returns:
            What it leads to, None if the crate knows no such name; and the names that are left behind an item.
        """
        return self._follow(path, module, blocks, wants_module=False, seen=set())

    def resolve_import(self, one: Import, module: Module, blocks: list[Scope]) -> tuple[Target, tuple[str, ...]]:
        """Follow an import, which can't mean itself; the arguments are as for `resolve`."""
        scope = blocks[-1] if blocks else module
        return self._follow(one.path, module, blocks, wants_module=False, seen={(scope, one.name, False)})

    def _follow(
        self,
        path: tuple[str, ...],
        module: Module,
        blocks: list[Scope],
        *,
        wants_module: bool,
        seen: set[tuple[Scope, str, bool]],
    ) -> tuple[Target, tuple[str, ...]]:
        at: Target
        if path[0] in CRATE_PREFIXES:
            at, rest = (self.root if path[0] == "crate" else module), path[1:]
            steps = [*path[: len(path) - len(rest)], *rest]
            while steps and steps[0] in CRATE_PREFIXES:
                if steps.pop(0) == "super":
                    if at.parent is None:
                        raise UnreadableError(f"{module.file}: {'::'.join(path)} leads out of the crate")
                    at = at.parent
            rest = tuple(steps)
        else:
            first_is_module = len(path) > 1 or wants_module
            at = None
            for scope in [*reversed(blocks), module]:
                at = self._lookup(scope, module, path[0], first_is_module, seen)
                if at is not None:
                    break
            rest = path[1:]
        while rest and isinstance(at, Module):
            found = self._lookup(at, at, rest[0], len(rest) > 1 or wants_module, seen)
            # Nobody here knows what a glob of another crate brings.
            brings = any(one.name == "*" and one.path[0] not in CRATE_PREFIXES for one in at.imports)
            at, rest = found or (Outside() if brings else None), rest[1:]
        return at, rest

    def _lookup(
        self, scope: Scope, module: Module, name: str, wants_module: bool, seen: set[tuple[Scope, str, bool]]
    ) -> Target:
        """A name may be a module and a function at once: which one is meant shows in what follows it."""
        if (scope, name, wants_module) in seen:
            return None
        seen = seen | {(scope, name, wants_module)}
        found: list[Target] = []
        if isinstance(scope, Module):
            found += [scope.children.get(name), scope.items.get(name)]
        for one in scope.imports:
            if one.name == name:
                target = self._import(one, scope, module, wants_module, seen)
                found.append(Outside() if target is None and one.path[0] not in CRATE_PREFIXES else target)
        if not any(isinstance(one, Module if wants_module else Item) for one in found):
            for one in scope.imports:
                if one.name == "*":
                    target = self._import(one, scope, module, True, seen)
                    if isinstance(target, Module) and target is not scope:
                        found.append(self._lookup(target, target, name, wants_module, seen))
        if not any(found) and isinstance(scope, Module):
            found.append(scope.made.get(name))
        found.sort(key=lambda one: (isinstance(one, Outside), isinstance(one, Module) != wants_module))
        return next((one for one in found if one is not None), None)

    def _import(
        self, one: Import, scope: Scope, module: Module, wants_module: bool, seen: set[tuple[Scope, str, bool]]
    ) -> Target:
        blocks = [] if scope is module else [scope]
        # `use DataType as T` in a block means what is outside of it, which `seen` sees to.
        return self._follow(one.path, module, blocks, wants_module=wants_module, seen=seen)[0]

    def _read(self, module: Module, folder: Path) -> None:
        source = Source(module.file, module, tokens(module.file.read_text(encoding="utf-8")))
        self.sources[module.file] = source
        self._items(source, module, folder, 0, len(source.tokens))

    def _items(self, source: Source, module: Module, folder: Path, start: int, end: int) -> None:
        found = source.tokens
        at = start
        while at < end:
            text, after = found[at].text, found[at + 1] if at + 1 < end else found[at]
            if text == "use" and after.text != "<":
                at = self._use(source, module, at)
            elif text == "pub" and is_restricted(found, at):
                at = source.skipped.setdefault(at, closing(found, at + 1))
            elif text == "mod" and after.is_name:
                at = self._module(source, module, folder, at)
            elif text == "macro_rules" and after.text == "!":
                name = found[at + 2].text
                module.items[name] = Item(name, source.file)
                at = closing(found, at + 3)
            elif text == "!" and after.text in BRACKETS:
                end_of_call = closing(found, at + 1)
                names = (token.text for token in found[at + 2 : end_of_call] if token.is_name)
                module.made.update((name, Item(name, source.file)) for name in names)
                at = end_of_call
            elif text in NAMED_ITEMS and found[at - 1].text not in ("<", ",", "*"):
                name = found[at + 2].text if after.text == "mut" else after.text
                if after.is_name and name not in NAMED_ITEMS and name != "unsafe":
                    module.items[name] = Item(name, source.file)
            elif text == "{":
                close = closing(found, at)
                self._block(source, at, close)
                at = close
            at += 1

    def _block(self, source: Source, start: int, end: int) -> None:
        """What stands in a function or an impl is no module's item, but its imports count."""
        open_braces = [start]
        at = start + 1
        while at < end:
            text = source.tokens[at].text
            if text == "{":
                open_braces.append(at)
            elif text == "}":
                open_braces.pop()
            elif text == "pub" and is_restricted(source.tokens, at):
                at = source.skipped.setdefault(at, closing(source.tokens, at + 1))
            elif text == "use" and source.tokens[at + 1].text != "<":
                at = self._use(source, source.blocks.setdefault(open_braces[-1], Scope()), at)
            at += 1

    def _use(self, source: Source, scope: Scope, at: int) -> int:
        found = source.tokens
        end = at
        while found[end].text != ";":
            end = closing(found, end) + 1 if found[end].text == "{" else end + 1
        is_public = found[at - 1].text in ("pub", ")")
        scope.imports.extend(imports(found[at + 1 : end], (), is_public))
        source.skipped[at] = end
        return end

    def _module(self, source: Source, parent: Module, folder: Path, at: int) -> int:
        name, line = source.tokens[at + 1].text, source.tokens[at].line
        child = Module(path=(*parent.path, name), file=source.file, parent=parent)
        parent.children[name] = child
        if source.tokens[at + 2].text == "{":
            end = closing(source.tokens, at + 2)
            source.modules[at + 2] = child
            self._items(source, child, folder / name, at + 3, end)
            return end
        files = [folder / f"{name}.rs", folder / name / "mod.rs"]
        file = next((file for file in files if file.exists()), None)
        if file is None:
            raise UnreadableError(f"{source.file}:{line}: mod {name} has no file; looked for {files[0]} and {files[1]}")
        child.file = file
        self._read(child, folder / name)
        return at + 2


def is_restricted(found: list[Token], at: int) -> bool:
    """Whether a `pub` is a `pub(crate)` or the like, and not one before a tuple."""
    return found[at + 1].text == "(" and found[at + 2].text in ("crate", "self", "super", "in")


def imports(found: list[Token], prefix: tuple[str, ...], is_public: bool) -> Iterator[Import]:
    """The names of a use tree, each with its whole path."""
    path, at = prefix, 0
    while at < len(found):
        text, line = found[at].text, found[at].line
        if text == "{":
            for part in parts(found[at + 1 : closing(found, at)]):
                yield from imports(part, path, is_public)
            return
        if text == "*":
            yield Import(path, "*", line, is_public)
            return
        if text == "as":
            yield Import(path, found[at + 1].text, line, is_public)
            return
        if text == "self" and path:
            pass  # `a::{self}` is `a`
        elif text == "::" and at == 0 and not prefix:
            return  # another crate, by force
        elif found[at].is_name:
            path = (*path, text)
        at += 1
    if path:
        yield Import(path, path[-1], found[-1].line, is_public)


def parts(found: list[Token]) -> Iterator[list[Token]]:
    """What stands between a use tree's commas."""
    depth, part = 0, list[Token]()
    for token in found:
        depth += (token.text == "{") - (token.text == "}")
        if token.text == "," and depth == 0:
            yield part
            part = []
        else:
            part.append(token)
    if part:
        yield part
