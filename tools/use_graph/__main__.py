"""Shows who uses whom in a crate and checks the rules of the house.

python tools/use_graph [SRC] [--draw mermaid|dot] [--files] [--list FOLDER] [--write PAGE] [--check PAGE]

Without an option the rules are checked: what breaks them is printed, or the circles that are allowed, and the exit code
is 1 or 0 (2: there is source that it can't follow). The rules stand in rules.py, what counts as a use in uses.py.
--draw prints a picture instead; --list every use in a folder. --write puts the picture of the folders into a page,
between `<!-- use-graph -->` and `<!-- /use-graph -->`; --check, besides the rules, that the page has the picture of
today.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from crate import Crate, UnreadableError
from picture import DRAWINGS, has_block, placed
from rules import House
from uses import uses


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="use_graph", description="Who uses whom in a crate's source.")
    parser.add_argument("source", nargs="?", type=Path, default=Path("src"), help="folder of lib.rs")
    parser.add_argument("--draw", choices=sorted(DRAWINGS), help="print a picture")
    parser.add_argument("--files", action="store_true", help="the picture shows files, not folders")
    parser.add_argument("--list", metavar="FOLDER", help="print the uses by the files in this folder")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the picture into this page")
    parser.add_argument("--check", type=Path, metavar="PAGE", help="check the picture in this page, and the rules")
    arguments = parser.parse_args()
    try:
        crate = Crate(arguments.source.resolve())
        house = House(crate.folder, crate.sources, uses(crate))
        return run(house, arguments)
    except UnreadableError as error:
        print(str(error).replace(f"{Path.cwd()}/", ""), file=sys.stderr)
        return 2


def run(house: House, arguments: argparse.Namespace) -> int:
    """Do what was asked for, and give the exit code."""
    if arguments.draw:
        print(DRAWINGS[arguments.draw](house, files=arguments.files))
        return 0
    if arguments.list:
        folder = Path(arguments.list).resolve()
        print("\n".join(house.described(use) for use in house.uses if use.user.is_relative_to(folder)))
        return 0
    page = arguments.write or arguments.check
    text = "" if page is None else page.read_text(encoding="utf-8")
    if page is not None and not has_block(text):
        raise UnreadableError(f"{page} has no place for the picture: <!-- use-graph --> and <!-- /use-graph -->")
    if arguments.write:
        page.write_text(placed(text, house), encoding="utf-8")
        return 0
    broken = list(house.broken())
    if page is not None and placed(text, house) != text:
        broken.append(f"{page} shows the folders as they were: python tools/use_graph --write {page}")
    if broken:
        print("\n".join(broken), file=sys.stderr)
        return 1
    rooms = set(house.rooms.values())
    print(f"{len(house.files)} files in {len(rooms)} folders: no circle, and nothing uses what is above it")
    for circles in house.file_circles().values():
        for circle in circles:
            print(f"  honest recursion: {', '.join(house.relative(file) for file in circle)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
