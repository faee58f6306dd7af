"""Seeds for the core's fuzz targets, made of the recorded cases: a case a file, as the targets read them."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

CASES = Path(__file__).resolve().parents[1] / "cases"
LIST_OF_TEXTS = {"list": "string"}


def column(name: str, kind: Any, values: list[Any]) -> list[Any]:
    """A column with a type that the targets know."""
    if isinstance(kind, dict):
        kind = "list" if kind == LIST_OF_TEXTS else "messages" if "list" in kind else "string"
    return [name, kind, values]


def seeds() -> dict[str, dict[str, bytes]]:
    """Inputs by target and by name."""
    inputs: dict[str, dict[str, bytes]] = {"configurations": {}, "render": {}, "conversations": {}}

    def add(target: str, data: bytes) -> None:
        inputs[target][hashlib.sha1(data, usedforsecurity=False).hexdigest()[:16]] = data

    for path in sorted(CASES.rglob("*.json")):
        file = json.loads(path.read_text(encoding="utf-8"))
        for case in file["cases"].values():
            settings = {**file.get("settings", {}), **case.get("settings", {})}
            tables = {
                key: [column(*description) for description in table]
                for key in ("samples", "examples")
                if (table := case.get(key) or file.get(key))
            }
            add("configurations", json.dumps(settings, ensure_ascii=False).encode())
            add("render", json.dumps({"settings": settings, **tables}, ensure_ascii=False).encode())
            for table in tables.values():
                for _, kind, values in table:
                    if kind == "messages":
                        lines = "\n".join(json.dumps(value, ensure_ascii=False) for value in values)
                        add("conversations", b"1" + lines.encode())
    return inputs


def main(folder: str) -> None:
    """Write them below a folder, a folder a target."""
    for target, inputs in seeds().items():
        (Path(folder) / target).mkdir(parents=True, exist_ok=True)
        for name, data in inputs.items():
            (Path(folder) / target / name).write_bytes(data)


if __name__ == "__main__":
    main(sys.argv[1])
