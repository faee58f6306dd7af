"""Uses between the files of a crate.

A file uses another if it names something that the other defines: in an import, or in a path where it stands. A module
that re-exports a name isn't used by who takes the name from there. Methods that stand in another file than their type
count where it is written down whose they are: `Type::method`, `self.method()` inside of the type's own `impl`, and
`name.method()` where the file has a field or an argument `name: Type`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from crate import CRATE_PREFIXES, Crate, Item, Module, Scope, Source, Target, UnreadableError
from lexer import Token, closing

SIGNS_OF_TYPE = {"&", "mut", "dyn", "impl", "Arc", "Box", "Option", "Rc", "<"}
KEYWORDS_BEFORE_NAME = {"fn", "let", "mod", "struct", "enum", "trait", "type", "const", "static", ".", "::", "for"}


@dataclass(frozen=True, order=True)
class Use:
    """One place where a file uses another.

    Attributes:
        user: The file that uses.
        used: The file that defines what is used.
        line: Where in the user.
        name: What is used.
    """

    user: Path
    used: Path
    line: int
    name: str


@dataclass
class Methods:
    """Methods of the crate's types, by the file of their `impl`."""

    files: dict[Item, dict[str, set[Path]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))

    def away(self, item: Item, name: str) -> set[Path]:
        """The files with this method, if it doesn't stand with the type; `name` may be a variant or a constant."""
        files = self.files[item][name] if item in self.files and name in self.files[item] else set()
        return set() if item.file in files else files


def uses(crate: Crate) -> list[Use]:
    """All uses between files of a crate, in order.

    Raises:
        UnreadableError: A path that starts at the crate, `self` or `super` and leads nowhere.
    """
    methods = Methods()
    for source in crate.sources.values():
        for impl in Walk(crate, source, methods).impls():
            for name in impl.methods:
                methods.files[impl.item][name].add(source.file)
    every_use = {use for source in crate.sources.values() for use in Walk(crate, source, methods).uses()}
    return sorted(use for use in every_use if use.user != use.used)


@dataclass(frozen=True)
class Impl:
    """An `impl` block of one of the crate's types, by the places of its braces."""

    item: Item
    start: int
    end: int
    methods: frozenset[str]


class Walk:
    """One file's tokens, with the scopes around each."""

    def __init__(self, crate: Crate, source: Source, methods: Methods) -> None:
        self.crate = crate
        self.source = source
        self.tokens = source.tokens
        self.methods = methods

    def positions(self) -> Iterator[tuple[int, Module, list[Scope]]]:
        """Every token but those of imports, with the module and the blocks that it stands in."""
        modules, blocks, opened = [self.source.module], list[Scope](), list[int]()
        index = 0
        while index < len(self.tokens):
            if index in self.source.skipped:
                index = self.source.skipped[index] + 1
                continue
            text = self.tokens[index].text
            if text == "{":
                opened.append(index)
                modules += [self.source.modules[index]] if index in self.source.modules else []
                blocks += [self.source.blocks[index]] if index in self.source.blocks else []
            elif text == "}":
                start = opened.pop()
                if start in self.source.modules:
                    modules.pop()
                if start in self.source.blocks:
                    blocks.pop()
            yield index, modules[-1], blocks
            index += 1

    def impls(self, *, inherent: bool = True) -> Iterator[Impl]:
        """The `impl` blocks of the crate's own types: those without a trait, or all."""
        for index, module, blocks in self.positions():
            if self.tokens[index].text != "impl" or self.tokens[index - 1].text not in ("}", ";", "]", "{", "unsafe"):
                continue
            head, start = self.head(index)
            is_inherent = "for" not in head
            if inherent and not is_inherent:
                continue
            name = path_at(head if is_inherent else head[head.index("for") + 1 :])
            item, _ = self.resolve(name, module, blocks, 0) if name else (None, ())
            if isinstance(item, Item):
                end = closing(self.tokens, start)
                yield Impl(item, start, end, frozenset(self.functions(start, end)))

    def head(self, index: int) -> tuple[list[str], int]:
        """Return the words between `impl` and its brace, without generics and `where`."""
        head, depth, index = list[str](), 0, index + 1
        while self.tokens[index].text != "{":
            text = self.tokens[index].text
            depth -= text == ">"
            if depth == 0 and text not in (">", "&", "mut"):
                head.append(text)
            depth += text == "<"
            index += 1
        head = [text for text in head if text != "<"]
        return head[: head.index("where")] if "where" in head else head, index

    def functions(self, start: int, end: int) -> Iterator[str]:
        """The names of an `impl` block's own functions."""
        depth = 0
        for index in range(start, end):
            text = self.tokens[index].text
            depth += (text == "{") - (text == "}")
            if text == "fn" and depth == 1:
                yield self.tokens[index + 1].text

    def resolve(
        self, path: tuple[str, ...], module: Module, blocks: list[Scope], line: int
    ) -> tuple[Target, tuple[str, ...]]:
        """Follow a path, which has to lead somewhere if it stays in the crate."""
        target, rest = self.crate.resolve(path, module, blocks)
        if target is None and path[0] in CRATE_PREFIXES:
            raise UnreadableError(f"{self.source.file}:{line}: {'::'.join(path)} leads nowhere")
        return target, rest

    def uses(self) -> Iterator[Use]:
        """All uses of this file, itself included."""
        yield from self.imported()
        impls = list(self.impls(inherent=False))
        receivers = dict(self.receivers())
        for index, module, blocks in self.positions():
            token, before = self.tokens[index], self.tokens[index - 1].text if index else ""
            if not token.is_name:
                continue
            around = [impl.item for impl in impls if impl.start < index < impl.end][-1:]
            if before == ".":
                owners = (
                    around if self.tokens[index - 2].text == "self" else receivers.get(self.tokens[index - 2].text, [])
                )
                if self.tokens[index + 1].text in ("(", "::"):
                    yield from (use for owner in owners for use in self.method(owner, token))
            elif before != "::":
                yield from self.named(index, module, blocks, around)

    def imported(self) -> Iterator[Use]:
        """Yield the uses that imports make; a re-export is no use by itself."""
        inner = self.source.modules.values()
        scopes: list[tuple[Scope, Module]] = [(module, module) for module in (self.source.module, *inner)]
        for index, module, _ in self.positions():
            if index in self.source.blocks:
                scopes.append((self.source.blocks[index], module))
        for scope, module in scopes:
            for imported in scope.imports:
                if imported.is_public or imported.name == "*":
                    continue
                blocks = [] if scope is module else [scope]
                target, _ = self.crate.resolve_import(imported, module, blocks)
                if target is None and imported.path[0] in CRATE_PREFIXES:
                    raise UnreadableError(
                        f"{self.source.file}:{imported.line}: {'::'.join(imported.path)} leads nowhere"
                    )
                if isinstance(target, Item):
                    yield Use(self.source.file, target.file, imported.line, target.name)

    def named(self, index: int, module: Module, blocks: list[Scope], around: list[Item]) -> Iterator[Use]:
        """The use that a path makes where it stands."""
        path = path_at([token.text for token in self.tokens[index : index + 24]])
        token = self.tokens[index]
        if path[0] == "Self" and len(path) > 1:
            yield from (use for owner in around for use in self.method(owner, self.tokens[index + 2]))
        elif len(path) > 1 or self.is_reexported(token.text, index, [module, *blocks]):
            target, rest = self.resolve(path, module, blocks, token.line)
            if isinstance(target, Item):
                yield Use(self.source.file, target.file, token.line, target.name)
                if rest:
                    yield from self.method(target, Token(rest[0], token.line))

    def is_reexported(self, name: str, index: int, scopes: list[Scope]) -> bool:
        """Return true if a single name comes from a re-export or a glob; other imports are counted separately."""
        if self.tokens[index - 1].text in KEYWORDS_BEFORE_NAME or self.tokens[index + 1].text == ":":
            return False
        return any(
            imported.name == "*" or (imported.name == name and imported.is_public)
            for s in scopes
            for imported in s.imports
        )

    def method(self, owner: Item, name: Token) -> Iterator[Use]:
        """The use of a method that stands in another file than its type."""
        for file in self.methods.away(owner, name.text):
            yield Use(self.source.file, file, name.line, f"{owner.name}::{name.text}")

    def receivers(self) -> Iterator[tuple[str, list[Item]]]:
        """Fields and arguments whose written type is one with methods in other files."""
        items = defaultdict[str, list[Item]](list)
        for index, module, blocks in self.positions():
            if (
                not self.tokens[index].is_name
                or self.tokens[index + 1 : index + 2] == []
                or self.tokens[index + 1].text != ":"
            ):
                continue
            start = index + 2
            while self.tokens[start].text in SIGNS_OF_TYPE or re.match(r"'\w", self.tokens[start].text):
                start += 1
            path = path_at([token.text for token in self.tokens[start : start + 12]])
            item = self.crate.resolve(path, module, blocks)[0] if path and path[0] != "Self" else None
            if isinstance(item, Item) and item in self.methods.files and item not in items[self.tokens[index].text]:
                items[self.tokens[index].text].append(item)
        yield from items.items()


def path_at(texts: list[str]) -> tuple[str, ...]:
    """The path that these tokens begin with."""
    if texts[:2] == ["$", "crate"]:
        texts = texts[1:]
    path = texts[:1] if re.match(r"[^\W\d]", texts[0] if texts else "") else []
    for sign, name in zip(texts[1::2], texts[2::2], strict=False):
        if sign != "::" or not re.match(r"[^\W\d]", name):
            break
        path.append(name)
    return tuple(path)
