"""`python tools/advisories`: the crates of Cargo.lock against known advisories, licences, and versions that come twice.

Nothing is fetched: `known.json` is a copy of what RustSec's database says of these crates. `--update FOLDER` makes it
anew from a checkout of https://github.com/rustsec/advisory-db. The exit code is 1 where something is wrong.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from licences import is_allowed
from versions import matches

PROJECT = Path(__file__).resolve().parents[2]
KNOWN = Path(__file__).with_name("known.json")
TWICE = {"getrandom", "syn"}
"""Crates of which two versions are built: of what others build with, and in no wheel."""
IGNORED: dict[str, str] = {}
"""Advisories that don't concern this project, each with the reason."""


def packages() -> list[dict[str, Any]]:
    """The crates that are built or tested with, as cargo tells them; the project itself isn't one."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--features", "python"]
    said = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    return [one for one in json.loads(said)["packages"] if one["source"] is not None]


def faults(crates: Iterable[dict[str, Any]], known: dict[str, Any]) -> list[str]:
    """What is wrong with crates, a line each."""
    found, versions = [], {}
    for crate in crates:
        name, version = crate["name"], crate["version"]
        versions.setdefault(name, set()).add(version)
        if name not in known["looked_up"]:
            found.append(f"{name} {version}: not looked up yet: python tools/advisories --update FOLDER")
        for one in known["advisories"]:
            if one["package"] == name and one["id"] not in IGNORED and not spared(one, version):
                found.append(
                    f"{name} {version}: {one['id']}: {one['title']}; patched: {', '.join(one['patched']) or 'no'}"
                )
        if not is_allowed(crate["license"] or ""):
            found.append(f"{name} {version}: licence {crate['license']!r}")
    for name, all_of in sorted(versions.items()):
        if len(all_of) > 1 and name not in TWICE:
            found.append(f"{name}: {len(all_of)} versions: {', '.join(sorted(all_of))}")
    return found


def spared(advisory: dict[str, Any], version: str) -> bool:
    """Whether a version isn't affected."""
    return any(matches(requirement, version) for requirement in [*advisory["patched"], *advisory["unaffected"]])


def updated(folder: Path, names: set[str]) -> dict[str, Any]:
    """What a database says of crates."""
    import tomllib  # noqa: PLC0415 - Python 3.10 has none, and only an update needs it

    def git(*arguments: str) -> str:
        return subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True).stdout

    advisories = []
    for path in git("ls-tree", "-r", "HEAD", "--name-only", "crates").splitlines():
        if path.split("/")[1] not in names:
            continue
        text = git("show", f"HEAD:{path}")
        head, _, body = text.removeprefix("```toml\n").partition("\n```")
        read = tomllib.loads(head)
        if "withdrawn" in read["advisory"]:
            continue
        title = next((line.strip("# ").strip() for line in body.splitlines() if line.startswith("#")), "")
        versions = read.get("versions", {})
        advisories.append(
            {
                "id": read["advisory"]["id"],
                "package": read["advisory"]["package"],
                "title": title,
                "patched": versions.get("patched", []),
                "unaffected": versions.get("unaffected", []),
            }
        )
    commit, date = git("log", "-1", "--format=%H %cs").split()
    advisories.sort(key=lambda one: (one["package"], one["id"]))
    return {"commit": commit, "date": date, "looked_up": sorted(names), "advisories": advisories}


def main(argv: list[str] | None = None) -> int:
    """Say what is wrong; 1 where something is."""
    parser = argparse.ArgumentParser(prog="python tools/advisories", description=__doc__)
    parser.add_argument("--update", type=Path, metavar="FOLDER", help="a checkout of the database")
    parser.add_argument("--json", type=Path, help="write what was looked at, for docs/reliability.md")
    options = parser.parse_args(argv)
    crates = packages()
    if options.update is not None:
        known = updated(options.update, {crate["name"] for crate in crates})
        KNOWN.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    known = json.loads(KNOWN.read_text(encoding="utf-8"))
    found = faults(crates, known)
    for line in found:
        print(line, file=sys.stderr)
    print(
        f"{len(crates)} crates, {len(known['advisories'])} advisories about them (RustSec of {known['date']}), "
        f"{len(found)} faults"
    )
    if options.json is not None:
        shown = {"crates": len(crates), "advisories": len(known["advisories"]), "date": known["date"], "faults": found}
        options.json.write_text(json.dumps(shown, indent=1) + "\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
