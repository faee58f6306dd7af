"""Modules that are imported by their names as texts, which import-linter doesn't see: none of a room above."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import promptpress
import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGE = Path(promptpress.__file__).parent
PROJECT = Path(__file__).resolve().parents[2]
_NAME = re.compile(r"promptpress((?:\.\w+)+)(?::\w+)?")
_BEGINNING = re.compile(r"promptpress\.(\w+\.)*")
_IMPORTERS = ("import_module", "__import__", "find_spec")

MAY_NAME_ANY = {
    "__init__.py": "the face of the package: public names are imported when they are first used",
    "_config/model_classes.py": "names of classes in users' configurations; nothing is imported",
    "_harnesses/registry.py": "what the start-up file, outside of the package, switches on",
}
"""Files that may name modules of rooms above, with the reasons."""


def levels() -> dict[str, int]:
    """Return the number of each room's layer, from the top."""
    contracts = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = next(contract["layers"] for contract in contracts["contracts"] if contract["id"] == "rooms")
    return {room: number for number, layer in enumerate(layers) for room in layer.split(" | ")}


def named_modules(source: str) -> list[str]:
    """Return the texts of a file that name a module of the package, or begin the name of one that is imported."""
    tree = ast.parse(source)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    loggers = {id(call.args[0]) for call in calls if ast.unparse(call.func) == "logging.getLogger" and call.args}
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in loggers)
    texts = [node.value for node in constants if isinstance(node.value, str)]
    names = [text for text in texts if (match := _NAME.fullmatch(text)) is not None and is_module(match[1])]
    for call in calls:
        name = ast.unparse(call.func).rpartition(".")[2]
        if name in _IMPORTERS and call.args and isinstance(call.args[0], ast.JoinedStr):
            names += [str(part.value) for part in call.args[0].values[:1] if isinstance(part, ast.Constant)]
    return names


def is_module(dotted: str) -> bool:
    path = PACKAGE.joinpath(*dotted.strip(".").split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def test_no_module_names_one_of_a_room_above() -> None:
    of_rooms = levels()
    for path in sorted(PACKAGE.rglob("*.py")):
        relative = path.relative_to(PACKAGE).as_posix()
        room = relative.partition("/")[0].removesuffix(".py")
        if relative in MAY_NAME_ANY or room not in of_rooms:
            continue
        for text in named_modules(path.read_text(encoding="utf-8")):
            begins = _BEGINNING.match(text)
            target = text.split(".")[1].partition(":")[0] if begins is not None else ""
            if target in of_rooms:
                assert of_rooms[target] >= of_rooms[room], f"{relative} names {text!r}, which is above {room}"
            else:
                assert text.startswith("promptpress.") is False, f"{relative} imports {text!r}..., a name that is made"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ('HOME = {"a": "promptpress._renderers.renderer"}', ["promptpress._renderers.renderer"]),
        ('run="promptpress._cli.verify.verify:verify"', ["promptpress._cli.verify.verify:verify"]),
        ('importlib.import_module(f"promptpress._export.{name}")', ["promptpress._export."]),
        ('import_module(f"promptpress.{name}")', ["promptpress."]),
        ('"promptpress.hash", "promptpress.Renderer", "pyarrow.compute"', []),
    ],
)
def test_what_counts_as_a_name(source: str, names: list[str]) -> None:
    assert named_modules(source) == names
