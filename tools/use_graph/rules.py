"""The rules of the house: who may use whom.

1. Modules have an order, which the docs of `src/lib.rs` name (`a · b · c`): none uses what stands to its right.
2. A folder is a room. A file directly in `src/` is a room of its own, and the head of a folder (`mod.rs`, or the file
   beside it that has its name) belongs to it. Rooms of the same folder don't use each other in a circle, whatever is
   inside of them.
3. A folder's own files may use its rooms; no file in a room uses a file that stands directly in a folder around it.
   What both need is a room itself.
4. Files of a room don't use each other in a circle, but for honest recursion, which the docs of the room's head name:

   `//! Honest recursion: `cell.rs` and `nested.rs`: a list prints cells, and a cell may be a list.`

   All files of the circle between backticks with `,` or `and` between them, a colon, and why. It may go on over lines.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, pairwise
from pathlib import Path
from typing import TypeVar

from crate import ROOT_FILES, UnreadableError
from uses import Use

Room = tuple[str, ...]
Node = TypeVar("Node", Path, Room, str)
ORDER = re.compile(r"`(\w+(?: · \w+)+)`")
HONEST = re.compile(r"^Honest recursion: (`[^`]+`(?:(?:, and|,| and) `[^`]+`)*): \S", re.MULTILINE)


class House:
    """A crate's files and uses, and what is wrong with them.

    Args:
        folder: Where the crate's root stands.
        files: All files.
        uses: All uses between them.
    """

    def __init__(self, folder: Path, files: Iterable[Path], uses: list[Use]) -> None:
        self.folder = folder
        self.files = sorted(files)
        self.uses = uses
        self.rooms: dict[Path, Room] = {file: self._room(file) for file in self.files}

    def _room(self, file: Path) -> Room:
        inside = file.relative_to(self.folder)
        if inside.name == "mod.rs":
            return inside.parent.parts
        module = inside.with_suffix("")
        if len(module.parts) == 1:
            return () if inside.name in ROOT_FILES else module.parts
        has_rooms = any(other.is_relative_to(self.folder / module) for other in self.files)
        return module.parts if has_rooms else inside.parent.parts

    def name(self, room: Room) -> str:
        """A room as it is called in messages and pictures."""
        return "/".join(room) or self.folder.name

    def described(self, use: Use) -> str:
        """One use, with its place."""
        user, used = (self.relative(file) for file in (use.user, use.used))
        return f"{user}:{use.line} uses {use.name} of {used}"

    def relative(self, file: Path) -> str:
        """A file, from the folder that the crate's lies in."""
        return file.relative_to(self.folder.parent).as_posix()

    def broken(self) -> Iterator[str]:
        """Return a message for each use that breaks the rules."""
        yield from self.upward()
        yield from self.out_of_rooms()
        yield from self.circles_of_rooms()
        yield from self.circles_of_files()

    def order(self) -> list[str]:
        """The modules from left to right.

        Raises:
            UnreadableError: The root's docs have no such line.
        """
        root = next(self.folder / name for name in ROOT_FILES if (self.folder / name).exists())
        line = ORDER.search(docs(root))
        if line is None:
            raise UnreadableError(f"{root}: its docs don't name the order of the modules: `a · b · c`")
        return line[1].split(" · ")

    def pairs(self) -> Iterator[tuple[Use, str]]:
        """The first use of each file by each other, and how many more there are."""
        for _, group in groupby(self.uses, key=lambda use: (use.user, use.used)):
            uses = list(group)
            yield uses[0], and_more(uses)

    def upward(self) -> Iterator[str]:
        """Rule 1."""
        order = self.order()
        modules = {room[0] for room in self.rooms.values() if room}
        for name in sorted(modules - set(order)):
            yield f"{self.folder.name}/{name} has no place in the order of modules that the crate's docs name"
        for name in sorted(set(order) - modules):
            yield f"the crate's docs give the module {name} a place in the order of modules, and there is none"
        for use, more in self.pairs():
            user, used = self.rooms[use.user][:1], self.rooms[use.used][:1]
            if user and used and {*user, *used} <= set(order) and order.index(user[0]) < order.index(used[0]):
                what = self.described(use) + more
                yield f"{what}: `{used[0]}` stands to the right of `{user[0]}` in the order of modules"

    def out_of_rooms(self) -> Iterator[str]:
        """Rule 3."""
        for use, more in self.pairs():
            user, used = self.rooms[use.user], self.rooms[use.used]
            if len(used) < len(user) and user[: len(used)] == used:
                yield f"{self.described(use)}{more}: a room doesn't use what stands directly in the folder around it"

    def circles_of_rooms(self) -> Iterator[str]:
        """Rule 2."""
        for uses in self.levels().values():
            for circle in circles(uses):
                names = " and ".join(self.name(room) for room in circle)
                yield "\n".join([f"folders use each other in a circle: {names}", *self.way_round(uses, circle)])

    def circles_of_files(self) -> Iterator[str]:
        """Rule 4."""
        honest = {head: list(self.honest(head)) for head in self.heads().values()}
        for room, circles in self.file_circles().items():
            head = self.heads().get(room)
            named = honest[head] if head is not None else []
            for circle in circles:
                if frozenset(circle) in named:
                    named.remove(frozenset(circle))
                    continue
                names = " and ".join(self.relative(file) for file in circle)
                lines = [f"files use each other in a circle: {names}"]
                lines += self.way_round(self.between_files(room), circle)
                if head is not None:
                    line = f"//! Honest recursion: {listed(circle)}: ..."
                    lines.append(f"  if that is honest, {self.relative(head)} has to say why: {line}")
                yield "\n".join(lines)
        for head, left in honest.items():
            for gone in left:
                yield f"{self.relative(head)} names as honest recursion what is no such circle: {listed(sorted(gone))}"

    def heads(self) -> dict[Room, Path]:
        """The file of each folder that declares the others."""
        modules = {file: file.relative_to(self.folder).with_suffix("").parts for file in self.files}
        return {
            room: file
            for file, room in self.rooms.items()
            if file.name in ("mod.rs", *ROOT_FILES) or modules[file] == room
        }

    def honest(self, head: Path) -> Iterator[frozenset[Path]]:
        """The circles that a room's head names."""
        folder = self.folder.joinpath(*self.rooms[head])
        for match in HONEST.finditer(docs(head)):
            files = re.findall(r"`([^`]+)`", match[1])
            yield frozenset(head if name == head.name else folder / name for name in files)

    def levels(self) -> dict[Room, dict[tuple[Room, Room], list[Use]]]:
        """Return, for each folder, the uses between its entries, including all that is inside of them."""
        levels: dict[Room, dict[tuple[Room, Room], list[Use]]] = defaultdict(lambda: defaultdict(list))
        for use in self.uses:
            user, used = self.rooms[use.user], self.rooms[use.used]
            depth = next((n for n, (a, b) in enumerate(zip(user, used, strict=False)) if a != b), None)
            if depth is not None:
                levels[user[:depth]][user[: depth + 1], used[: depth + 1]].append(use)
        return levels

    def between_files(self, room: Room) -> dict[tuple[Path, Path], list[Use]]:
        """The uses between the files of a room."""
        uses: dict[tuple[Path, Path], list[Use]] = defaultdict(list)
        for use in self.uses:
            if self.rooms[use.user] == self.rooms[use.used] == room:
                uses[use.user, use.used].append(use)
        return uses

    def file_circles(self) -> dict[Room, list[list[Path]]]:
        """Return, for each room, the files that use each other in a circle, honest recursion included."""
        rooms = sorted(set(self.rooms.values()))
        return {room: circles_of_room for room in rooms if (circles_of_room := list(circles(self.between_files(room))))}

    def way_round(self, uses: Mapping[tuple[Node, Node], list[Use]], circle: list[Node]) -> Iterator[str]:
        """A shortest way round a circle, a use for each step."""
        inside = {pair for pair in uses if set(pair) <= set(circle)}
        way = min((shortest(inside, node) for node in circle), key=len)
        for pair in pairwise(way):
            yield f"  {self.described(uses[pair][0])}{and_more(uses[pair])}"


def and_more(uses: list[Use]) -> str:
    """Return a phrase with the number of uses besides the first."""
    return f", and {len(uses) - 1} more" if len(uses) > 1 else ""


def listed(files: list[Path]) -> str:
    """Names of files, as a room's head names them."""
    names = [f"`{file.name}`" for file in files]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def docs(file: Path) -> str:
    """A file's own docs, a line a paragraph."""
    lines = [line[3:].strip() for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("//!")]
    return re.sub(r"(?<=[^\n])\n(?=[^\n])", " ", "\n".join(lines))


def reached(pairs: Iterable[tuple[Node, Node]], start: Node) -> dict[Node, Node]:
    """Return each node that a node leads to, closest first, with the node before it."""
    after = defaultdict[Node, list[Node]](list)
    for user, used in sorted(pairs):
        after[user].append(used)
    before: dict[Node, Node] = {}
    queue = [start]
    for node in queue:
        for neighbour in after[node]:
            if neighbour not in before:
                before[neighbour] = node
                queue.append(neighbour)
    return before


def shortest(pairs: Iterable[tuple[Node, Node]], start: Node) -> list[Node]:
    """The shortest way from a node of a circle back to itself."""
    before = reached(pairs, start)
    way = [start]
    while len(way) == 1 or way[0] != start:
        way.insert(0, before[way[0]])
    return way


def circles(pairs: Iterable[tuple[Node, Node]]) -> Iterator[list[Node]]:
    """The groups in which each leads to each, of two or more."""
    pairs = list(pairs)
    leads = {node: set(reached(pairs, node)) for pair in pairs for node in pair}
    done = set[Node]()
    for node in sorted(leads):
        group = [other for other in sorted(leads) if other in leads[node] and node in leads[other]]
        if node not in done and len(group) > 1:
            done.update(group)
            yield group
