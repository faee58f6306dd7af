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

PACKAGES = Path(promptpress.__file__).parent.parent
PROJECT = Path(__file__).resolve().parents[2]
_NAME = re.compile(r"(promptpress(?:_workbench|_harness)?(?:\.\w+)+)(?::\w+)?")
_IMPORTERS = ("import_module", "__import__", "find_spec")

MAY_NAME_ANY = {
    "promptpress/__init__.py": "the face of the package: public names are imported when they are first used",
    "promptpress/_config/from_harness.py": "names of classes in users' configurations; nothing is imported",
    "promptpress_harness/registry.py": "what the start-up file, outside of the package, switches on",
}
"""Files that may name modules of rooms above, with the reasons."""

LAYERS = {
    "promptpress": "rooms",
    "promptpress_harness": "rooms-of-harnesses",
    "promptpress_workbench": "rooms-of-tools",
}
"""The packages from the ground up, each with the contract that says the layers of its rooms."""


def floors() -> dict[str, tuple[int, int]]:
    """Return the floor of each room, a higher one later: that of its package, and that of its layer there."""
    contracts = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = {contract["id"]: contract["layers"][::-1] for contract in contracts["contracts"] if "layers" in contract}
    return {
        f"{package}.{room}": (number, floor)
        for number, (package, contract) in enumerate(LAYERS.items())
        for floor, layer in enumerate(layers[contract])
        for room in layer.split(" | ")
    }


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
    path = PACKAGES.joinpath(*dotted.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def room_of(module: str) -> str:
    return ".".join(module.split(".")[:2])


def test_no_module_names_one_of_a_room_above() -> None:
    floor_of = floors()
    for path in (path for package in LAYERS for path in sorted((PACKAGES / package).rglob("*.py"))):
        relative = path.relative_to(PACKAGES).as_posix()
        room = room_of(relative.removesuffix(".py").replace("/", "."))
        if relative in MAY_NAME_ANY or room not in floor_of:
            continue
        for text in named_modules(path.read_text(encoding="utf-8")):
            target = room_of(text.partition(":")[0])
            if target in floor_of:
                assert floor_of[target] <= floor_of[room], f"{relative} names {text!r}, which is above {room}"
            else:
                assert not text.endswith("."), f"{relative} imports {text!r}..., a name that is made"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ('HOME = {"a": "promptpress._renderers.renderer"}', ["promptpress._renderers.renderer"]),
        ('run="promptpress_workbench.cli.verify:verify"', ["promptpress_workbench.cli.verify:verify"]),
        ('importlib.import_module(f"promptpress_workbench.export.{name}")', ["promptpress_workbench.export."]),
        ('import_module(f"promptpress.{name}")', ["promptpress."]),
        ('"promptpress.hash", "promptpress.Renderer", "pyarrow.compute"', []),
    ],
)
def test_what_counts_as_a_name(source: str, names: list[str]) -> None:
    assert named_modules(source) == names
