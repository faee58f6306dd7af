"""The wheel and the source distribution, installed as users install them: `make test-wheel`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from wheels.interpreters import at_hand, suits, supported

PROJECT = Path(__file__).resolve().parents[2]
SMOKE = Path(__file__).with_name("smoke.py")
INTERPRETERS = at_hand() if os.environ.get("PROMPTPRESS_WHEELS") else {}

pytestmark = pytest.mark.skipif(not INTERPRETERS, reason="`make test-wheel` runs these")


def pip(python: Path | str, *arguments: str, folder: Path, **environment: str) -> None:
    """Run pip; what it printed is shown where it fails."""
    command = [str(python), "-m", "pip", "--disable-pip-version-check", *arguments]
    inherited = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        command, cwd=folder, env={**inherited, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def wheel_of_sdist(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel that pip builds from the source distribution; it is for all versions of Python."""
    folder = tmp_path_factory.mktemp("from-sdist")
    target = os.environ.get("PROMPTPRESS_SDIST_TARGET") or str(folder / "target")
    # The crates may have been compiled before; promptpress is compiled from what the archive holds.
    pip(sys.executable, "wheel", "--no-deps", str(sdist), "-w", ".", folder=folder, CARGO_TARGET_DIR=target)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.mark.parametrize("origin", ["wheel", "wheel_of_sdist"])
@pytest.mark.parametrize("version", INTERPRETERS)
def test_installs_and_works(version: str, origin: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    package = request.getfixturevalue(origin)
    if not suits(version, package.name):
        pytest.skip(f"{package.name} isn't for {version}")
    environment = tmp_path / "venv"
    subprocess.run([INTERPRETERS[version], "-m", "venv", str(environment)], check=True)
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip(python, "install", "--quiet", f"{package}[cli]", folder=tmp_path)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PROMPTPRESS"))}
    work = tmp_path / "work"
    work.mkdir()
    done = subprocess.run(
        [str(python), "-W", "error", str(SMOKE)], cwd=work, env=inherited, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    assert done.stdout.startswith(f"{version}: ")


def test_which_versions_were_at_hand() -> None:
    print("tried:", ", ".join(INTERPRETERS), "- absent:", ", ".join(sorted({*supported()} - {*INTERPRETERS})) or "none")
    assert INTERPRETERS


def test_what_the_wheel_is_for(wheel: Path) -> None:
    python, abi, platform = wheel.stem.split("-")[-3:]
    # One wheel for all versions with the lock; without it, one for 3.14 and one for all from 3.15 on.
    assert (python, abi) in {("cp310", "abi3"), ("cp314", "cp314t"), ("cp315", "abi3.abi3t")}
    if os.environ.get("PROMPTPRESS_PLATFORM"):
        assert os.environ["PROMPTPRESS_PLATFORM"] in platform.split(".")


def test_what_the_wheel_holds(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    packages = [
        path for path in (PROJECT / "python").iterdir() if path.is_dir() and path.name.startswith("promptpress")
    ]
    sources = [path for package in packages for path in package.rglob("*") if path.is_file()]
    sources = [path for path in sources if "__pycache__" not in path.parts and path.suffix not in (".so", ".pyd")]
    modules = {path.relative_to(PROJECT / "python").as_posix() for path in sources}
    there = {name for name in names if name.partition("/")[0] in {package.name for package in packages}}
    assert modules <= there
    assert [name for name in there - modules if not re.search(r"/_core\.[\w.-]*(so|pyd)$", name)] == []
    assert not [name for name in names if "__pycache__" in name]
    around = {name.split("/", 1)[1] for name in names if name not in there}
    assert {"METADATA", "entry_points.txt", "licenses/LICENSE"} <= around
    # A file that runs code whenever Python starts is what scanners of packages look for.
    assert not [name for name in names if name.endswith(".pth")]


def test_the_wheel_lists_what_it_is_made_of(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if "/sboms/" in name)
    listed = json.loads(archive.read(name))
    assert (listed["bomFormat"], listed["metadata"]["component"]["name"]) == ("CycloneDX", "promptpress")
    crates = {component["name"]: component["version"] for component in listed["components"]}
    manifest = (PROJECT / "Cargo.toml").read_text(encoding="utf-8")
    section = manifest.split("[dependencies]")[1].split("\n[")[0]
    direct = re.findall(r"^([\w-]+) = ", section, re.MULTILINE)
    assert set(direct) <= crates.keys(), set(direct) - crates.keys()
    locked = (PROJECT / "Cargo.lock").read_text(encoding="utf-8")
    for crate, version in crates.items():
        assert f'name = "{crate}"\nversion = "{version}"' in locked, crate
    assert all(component.get("purl", "").startswith("pkg:cargo/") for component in listed["components"])


def test_what_the_wheel_says_of_itself(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = Parser().parsestr(archive.read(name).decode())
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["License-Expression"] == "Apache-2.0"
    links = dict(link.split(", ") for link in metadata.get_all("Project-URL", []))
    assert {"Repository", "Documentation", "Issues", "Changelog"} <= links.keys()
    assert metadata["Description-Content-Type"].startswith("text/markdown")
    assert metadata.get_payload().strip() == (PROJECT / "README.md").read_text(encoding="utf-8").strip()


def test_the_source_distribution_needs_nothing_else(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    sources = [*(PROJECT / "src").rglob("*.rs"), *(PROJECT / "python").rglob("*.py")]
    wanted = {path.relative_to(PROJECT).as_posix() for path in sources if "__pycache__" not in path.parts}
    assert wanted <= names
    assert {"Cargo.lock", "Cargo.toml", "pyproject.toml", "LICENSE", "README.md", "PKG-INFO"} <= names
    assert not [name for name in names if name.endswith(".so") or "__pycache__" in name]
