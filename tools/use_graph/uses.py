"""Which file uses what of which other file.

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
    found = {use for source in crate.sources.values() for use in Walk(crate, source, methods).uses()}
    return sorted(use for use in found if use.user != use.used)


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

    def places(self) -> Iterator[tuple[int, Module, list[Scope]]]:
        """Every token but those of imports, with the module and the blocks that it stands in."""
        modules, blocks, opened = [self.source.module], list[Scope](), list[int]()
        at = 0
        while at < len(self.tokens):
            if at in self.source.skipped:
                at = self.source.skipped[at] + 1
                continue
            text = self.tokens[at].text
            if text == "{":
                opened.append(at)
                modules += [self.source.modules[at]] if at in self.source.modules else []
                blocks += [self.source.blocks[at]] if at in self.source.blocks else []
            elif text == "}":
                start = opened.pop()
                if start in self.source.modules:
                    modules.pop()
                if start in self.source.blocks:
                    blocks.pop()
            yield at, modules[-1], blocks
            at += 1

    def impls(self, *, inherent: bool = True) -> Iterator[Impl]:
        """The `impl` blocks of the crate's own types: those without a trait, or all."""
        for at, module, blocks in self.places():
            if self.tokens[at].text != "impl" or self.tokens[at - 1].text not in ("}", ";", "]", "{", "unsafe"):
                continue
            head, start = self.head(at)
            is_inherent = "for" not in head
            if inherent and not is_inherent:
                continue
            name = path_at(head if is_inherent else head[head.index("for") + 1 :])
            item, _ = self.resolve(name, module, blocks, 0) if name else (None, ())
            if isinstance(item, Item):
                end = closing(self.tokens, start)
                yield Impl(item, start, end, frozenset(self.functions(start, end)))

    def head(self, at: int) -> tuple[list[str], int]:
        """What stands between `impl` and its brace, without generics and `where`."""
        head, depth, at = list[str](), 0, at + 1
        while self.tokens[at].text != "{":
            text = self.tokens[at].text
            depth -= text == ">"
            if depth == 0 and text not in (">", "&", "mut"):
                head.append(text)
            depth += text == "<"
            at += 1
        head = [text for text in head if text != "<"]
        return head[: head.index("where")] if "where" in head else head, at

    def functions(self, start: int, end: int) -> Iterator[str]:
        """The names of an `impl` block's own functions."""
        depth = 0
        for at in range(start, end):
            text = self.tokens[at].text
            depth += (text == "{") - (text == "}")
            if text == "fn" and depth == 1:
                yield self.tokens[at + 1].text

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
        for at, module, blocks in self.places():
            token, before = self.tokens[at], self.tokens[at - 1].text if at else ""
            if not token.is_name:
                continue
            around = [impl.item for impl in impls if impl.start < at < impl.end][-1:]
            if before == ".":
                owners = around if self.tokens[at - 2].text == "self" else receivers.get(self.tokens[at - 2].text, [])
                if self.tokens[at + 1].text in ("(", "::"):
                    yield from (use for owner in owners for use in self.method(owner, token))
            elif before != "::":
                yield from self.named(at, module, blocks, around)

    def imported(self) -> Iterator[Use]:
        """What imports name; a re-export is no use by itself."""
        inner = self.source.modules.values()
        scopes: list[tuple[Scope, Module]] = [(module, module) for module in (self.source.module, *inner)]
        for at, module, _ in self.places():
            if at in self.source.blocks:
                scopes.append((self.source.blocks[at], module))
        for scope, module in scopes:
            for one in scope.imports:
                if one.is_public or one.name == "*":
                    continue
                blocks = [] if scope is module else [scope]
                target, _ = self.crate.resolve_import(one, module, blocks)
                if target is None and one.path[0] in CRATE_PREFIXES:
                    raise UnreadableError(f"{self.source.file}:{one.line}: {'::'.join(one.path)} leads nowhere")
                if isinstance(target, Item):
                    yield Use(self.source.file, target.file, one.line, target.name)

    def named(self, at: int, module: Module, blocks: list[Scope], around: list[Item]) -> Iterator[Use]:
        """The use that a path makes where it stands."""
        path = path_at([token.text for token in self.tokens[at : at + 24]])
        token = self.tokens[at]
        if path[0] == "Self" and len(path) > 1:
            yield from (use for owner in around for use in self.method(owner, self.tokens[at + 2]))
        elif len(path) > 1 or self.is_taken_along(token.text, at, [module, *blocks]):
            target, rest = self.resolve(path, module, blocks, token.line)
            if isinstance(target, Item):
                yield Use(self.source.file, target.file, token.line, target.name)
                if rest:
                    yield from self.method(target, Token(rest[0], token.line))

    def is_taken_along(self, name: str, at: int, scopes: list[Scope]) -> bool:
        """Whether a single name comes from a re-export or a glob: other imports have been counted by themselves."""
        if self.tokens[at - 1].text in KEYWORDS_BEFORE_NAME or self.tokens[at + 1].text == ":":
            return False
        return any(one.name == "*" or (one.name == name and one.is_public) for s in scopes for one in s.imports)

    def method(self, owner: Item, name: Token) -> Iterator[Use]:
        """The use of a method that stands in another file than its type."""
        for file in self.methods.away(owner, name.text):
            yield Use(self.source.file, file, name.line, f"{owner.name}::{name.text}")

    def receivers(self) -> Iterator[tuple[str, list[Item]]]:
        """Fields and arguments whose written type is one with methods in other files."""
        found = defaultdict[str, list[Item]](list)
        for at, module, blocks in self.places():
            if not self.tokens[at].is_name or self.tokens[at + 1 : at + 2] == [] or self.tokens[at + 1].text != ":":
                continue
            place = at + 2
            while self.tokens[place].text in SIGNS_OF_TYPE or re.match(r"'\w", self.tokens[place].text):
                place += 1
            path = path_at([token.text for token in self.tokens[place : place + 12]])
            item = self.crate.resolve(path, module, blocks)[0] if path and path[0] != "Self" else None
            if isinstance(item, Item) and item in self.methods.files and item not in found[self.tokens[at].text]:
                found[self.tokens[at].text].append(item)
        yield from found.items()


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
