"""A house as a picture: Mermaid or Graphviz, by folder or by file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rules import House, Room, circles, reached

BLOCK = re.compile(r"(<!-- use-graph -->\n).*?(<!-- /use-graph -->)", re.DOTALL)
Pairs = set[tuple[str, str]]


def mermaid(house: House, *, files: bool = False) -> str:
    """The picture as a Mermaid flowchart."""
    boxes = nested(house, (), ("subgraph {key}[{name}]", "end", '{key}["{name}"]'), files=files)
    lines = [f"    {user} --> {used}" for user, used in arrows(house, files=files)]
    return "\n".join(["flowchart TD", *boxes, *lines])


def dot(house: House, *, files: bool = False) -> str:
    """The picture in Graphviz's language."""
    shapes = ('subgraph "cluster_{key}" {{ label="{name}"', "}", '"{key}" [label="{name}"]')
    boxes = nested(house, (), shapes, files=files)
    lines = [f'    "{user}" -> "{used}"' for user, used in arrows(house, files=files)]
    return "\n".join(["digraph {", "    node [shape=box]", *boxes, *lines, "}"])


DRAWINGS = {"mermaid": mermaid, "dot": dot}


def has_block(page: str) -> bool:
    """Return true if a page has a block for the picture."""
    return BLOCK.search(page) is not None


def placed(page: str, house: House) -> str:
    """The page with the picture of the folders in its place."""
    drawn = f"```mermaid\n{mermaid(house)}\n```\n"
    return BLOCK.sub(lambda match: match[1] + drawn + match[2], page)


def key(*parts: str) -> str:
    """A node's name in the picture's language."""
    return "_".join(parts).replace(".", "_") or "crate"


def nested(house: House, room: Room, shapes: tuple[str, str, str], *, files: bool) -> Iterator[str]:
    """The boxes of what stands in a room; a folder with rooms is a frame around them and its own files."""
    opening, end, box = shapes
    indent = "    " * (len(room) + 1)
    if files:
        for file in house.files:
            if house.rooms[file] == room:
                inside = file.relative_to(house.folder)
                yield indent + box.format(key=key(*inside.parts), name=inside.name)
    elif room:
        yield indent + box.format(key=key(*room), name=room[-1])
    for inner in sorted({path[: len(room) + 1] for path in house.rooms.values() if path[: len(room)] == room} - {room}):
        is_frame = inner in house.heads() if files else any(path[:-1] == inner for path in house.rooms.values())
        if is_frame:
            yield indent + opening.format(key=key("in", *inner), name=inner[-1])
            yield from nested(house, inner, shapes, files=files)
            yield indent + end
        elif files:
            yield from (line[4:] for line in nested(house, inner, shapes, files=files))
        else:
            yield indent + box.format(key=key(*inner), name=inner[-1])


def arrows(house: House, *, files: bool) -> list[tuple[str, str]]:
    """Yield an arrow for each use; arrows that follow from others are left out, unless there are circles."""
    pairs: Pairs = set()
    for use in house.uses:
        if files:
            user, used = (file.relative_to(house.folder).parts for file in (use.user, use.used))
        else:
            user, used = house.rooms[use.user], house.rooms[use.used]
        if user != used:
            pairs.add((key(*user), key(*used)))
    if any(circles(pairs)):
        return sorted(pairs)
    return sorted(pair for pair in pairs if pair[1] not in reached(pairs - {pair}, pair[0]))
