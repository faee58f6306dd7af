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
    """A name that another crate defines."""


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

    def resolve_import(self, imported: Import, module: Module, blocks: list[Scope]) -> tuple[Target, tuple[str, ...]]:
        """Follow an import, which can't mean itself; the arguments are as for `resolve`."""
        scope = blocks[-1] if blocks else module
        return self._follow(imported.path, module, blocks, wants_module=False, seen={(scope, imported.name, False)})

    def _follow(
        self,
        path: tuple[str, ...],
        module: Module,
        blocks: list[Scope],
        *,
        wants_module: bool,
        seen: set[tuple[Scope, str, bool]],
    ) -> tuple[Target, tuple[str, ...]]:
        target: Target
        if path[0] in CRATE_PREFIXES:
            target, rest = (self.root if path[0] == "crate" else module), path[1:]
            steps = [*path[: len(path) - len(rest)], *rest]
            while steps and steps[0] in CRATE_PREFIXES:
                if steps.pop(0) == "super":
                    if target.parent is None:
                        raise UnreadableError(f"{module.file}: {'::'.join(path)} leads out of the crate")
                    target = target.parent
            rest = tuple(steps)
        else:
            first_is_module = len(path) > 1 or wants_module
            target = None
            for scope in [*reversed(blocks), module]:
                target = self._lookup(scope, module, path[0], first_is_module, seen)
                if target is not None:
                    break
            rest = path[1:]
        while rest and isinstance(target, Module):
            member = self._lookup(target, target, rest[0], len(rest) > 1 or wants_module, seen)
            # Nobody here knows what a glob of another crate brings.
            brings = any(imported.name == "*" and imported.path[0] not in CRATE_PREFIXES for imported in target.imports)
            target, rest = member or (Outside() if brings else None), rest[1:]
        return target, rest

    def _lookup(
        self, scope: Scope, module: Module, name: str, wants_module: bool, seen: set[tuple[Scope, str, bool]]
    ) -> Target:
        """A name may be a module and a function at once: which one is meant shows in what follows it."""
        if (scope, name, wants_module) in seen:
            return None
        seen = seen | {(scope, name, wants_module)}
        targets: list[Target] = []
        if isinstance(scope, Module):
            targets += [scope.children.get(name), scope.items.get(name)]
        for imported in scope.imports:
            if imported.name == name:
                leads_to = self._import(imported, scope, module, wants_module, seen)
                targets.append(Outside() if leads_to is None and imported.path[0] not in CRATE_PREFIXES else leads_to)
        if not any(isinstance(target, Module if wants_module else Item) for target in targets):
            for imported in scope.imports:
                if imported.name == "*":
                    leads_to = self._import(imported, scope, module, True, seen)
                    if isinstance(leads_to, Module) and leads_to is not scope:
                        targets.append(self._lookup(leads_to, leads_to, name, wants_module, seen))
        if not any(targets) and isinstance(scope, Module):
            targets.append(scope.made.get(name))
        targets.sort(key=lambda target: (isinstance(target, Outside), isinstance(target, Module) != wants_module))
        return next((target for target in targets if target is not None), None)

    def _import(
        self, imported: Import, scope: Scope, module: Module, wants_module: bool, seen: set[tuple[Scope, str, bool]]
    ) -> Target:
        blocks = [] if scope is module else [scope]
        # `use DataType as T` in a block means what is outside of it, which `seen` sees to.
        return self._follow(imported.path, module, blocks, wants_module=wants_module, seen=seen)[0]

    def _read(self, module: Module, folder: Path) -> None:
        source = Source(module.file, module, tokens(module.file.read_text(encoding="utf-8")))
        self.sources[module.file] = source
        self._items(source, module, folder, 0, len(source.tokens))

    def _items(self, source: Source, module: Module, folder: Path, start: int, end: int) -> None:
        all_tokens = source.tokens
        index = start
        while index < end:
            text, after = all_tokens[index].text, all_tokens[index + 1] if index + 1 < end else all_tokens[index]
            if text == "use" and after.text != "<":
                index = self._use(source, module, index)
            elif text == "pub" and is_restricted(all_tokens, index):
                index = source.skipped.setdefault(index, closing(all_tokens, index + 1))
            elif text == "mod" and after.is_name:
                index = self._module(source, module, folder, index)
            elif text == "macro_rules" and after.text == "!":
                name = all_tokens[index + 2].text
                module.items[name] = Item(name, source.file)
                index = closing(all_tokens, index + 3)
            elif text == "!" and after.text in BRACKETS:
                end_of_call = closing(all_tokens, index + 1)
                names = (token.text for token in all_tokens[index + 2 : end_of_call] if token.is_name)
                module.made.update((name, Item(name, source.file)) for name in names)
                index = end_of_call
            elif text in NAMED_ITEMS and all_tokens[index - 1].text not in ("<", ",", "*"):
                name = all_tokens[index + 2].text if after.text == "mut" else after.text
                if after.is_name and name not in NAMED_ITEMS and name != "unsafe":
                    module.items[name] = Item(name, source.file)
            elif text == "{":
                close = closing(all_tokens, index)
                self._block(source, index, close)
                index = close
            index += 1

    def _block(self, source: Source, start: int, end: int) -> None:
        """Read the imports of a function or an impl; its other contents are no items of the module."""
        open_braces = [start]
        index = start + 1
        while index < end:
            text = source.tokens[index].text
            if text == "{":
                open_braces.append(index)
            elif text == "}":
                open_braces.pop()
            elif text == "pub" and is_restricted(source.tokens, index):
                index = source.skipped.setdefault(index, closing(source.tokens, index + 1))
            elif text == "use" and source.tokens[index + 1].text != "<":
                index = self._use(source, source.blocks.setdefault(open_braces[-1], Scope()), index)
            index += 1

    def _use(self, source: Source, scope: Scope, index: int) -> int:
        all_tokens = source.tokens
        end = index
        while all_tokens[end].text != ";":
            end = closing(all_tokens, end) + 1 if all_tokens[end].text == "{" else end + 1
        is_public = all_tokens[index - 1].text in ("pub", ")")
        scope.imports.extend(imports(all_tokens[index + 1 : end], (), is_public))
        source.skipped[index] = end
        return end

    def _module(self, source: Source, parent: Module, folder: Path, index: int) -> int:
        name, line = source.tokens[index + 1].text, source.tokens[index].line
        child = Module(path=(*parent.path, name), file=source.file, parent=parent)
        parent.children[name] = child
        if source.tokens[index + 2].text == "{":
            end = closing(source.tokens, index + 2)
            source.modules[index + 2] = child
            self._items(source, child, folder / name, index + 3, end)
            return end
        files = [folder / f"{name}.rs", folder / name / "mod.rs"]
        file = next((file for file in files if file.exists()), None)
        if file is None:
            raise UnreadableError(f"{source.file}:{line}: mod {name} has no file; looked for {files[0]} and {files[1]}")
        child.file = file
        self._read(child, folder / name)
        return index + 2


def is_restricted(all_tokens: list[Token], index: int) -> bool:
    """Return true if a `pub` is restricted, like `pub(crate)`, and doesn't stand before a tuple."""
    return all_tokens[index + 1].text == "(" and all_tokens[index + 2].text in ("crate", "self", "super", "in")


def imports(tokens_of_use: list[Token], prefix: tuple[str, ...], is_public: bool) -> Iterator[Import]:
    """The names of a use tree, each with its whole path."""
    path, index = prefix, 0
    while index < len(tokens_of_use):
        text, line = tokens_of_use[index].text, tokens_of_use[index].line
        if text == "{":
            for part in parts(tokens_of_use[index + 1 : closing(tokens_of_use, index)]):
                yield from imports(part, path, is_public)
            return
        if text == "*":
            yield Import(path, "*", line, is_public)
            return
        if text == "as":
            yield Import(path, tokens_of_use[index + 1].text, line, is_public)
            return
        if text == "self" and path:
            pass  # `a::{self}` is `a`
        elif text == "::" and index == 0 and not prefix:
            return  # another crate, by force
        elif tokens_of_use[index].is_name:
            path = (*path, text)
        index += 1
    if path:
        yield Import(path, path[-1], tokens_of_use[-1].line, is_public)


def parts(tokens_of_use: list[Token]) -> Iterator[list[Token]]:
    """Yield the parts between the commas of a use tree."""
    depth, part = 0, list[Token]()
    for token in tokens_of_use:
        depth += (token.text == "{") - (token.text == "}")
        if token.text == "," and depth == 0:
            yield part
            part = []
        else:
            part.append(token)
    if part:
        yield part
