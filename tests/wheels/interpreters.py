"""The CPythons at hand, one for each version that promptpress supports."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
ASK = """
import sys, sysconfig
threads = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
print(sys.implementation.name, "%d.%d%s" % (*sys.version_info[:2], threads), sys.executable)
"""
FREE_THREADED = ("3.14t", "3.15t")
"""Pythons without the lock, for which there are wheels of their own."""


def supported() -> list[str]:
    """The versions that pyproject.toml names, such as `3.10`."""
    text = (PROJECT / "pyproject.toml").read_text(encoding="utf-8")
    return re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text)


def at_hand() -> dict[str, str]:
    """Versions and their interpreters: those that PROMPTPRESS_PYTHONS names, else whatever is found."""
    chosen = os.environ.get("PROMPTPRESS_PYTHONS", "").split()
    by_version: dict[str, str] = {}
    for path in chosen or candidates():
        answer = version_of(path)
        if answer is None and chosen:
            raise ValueError(f"PROMPTPRESS_PYTHONS: {path} is no CPython")
        if answer is not None:
            by_version.setdefault(*answer)
    return {version: by_version[version] for version in [*supported(), *FREE_THREADED] if version in by_version}


def candidates() -> list[str]:
    """Interpreters on PATH, then those that version managers keep in a folder each."""
    names = [f"python{version}" for version in [*supported(), *FREE_THREADED]] + ["python3", "python"]
    # Folder by folder: on Windows all of them have the same name.
    folders = os.environ.get("PATH", "").split(os.pathsep)
    on_path = [path for name in names for folder in folders if (path := shutil.which(name, path=folder))]
    homes = [
        Path(os.environ.get("PYENV_ROOT", "~/.pyenv"), "versions"),
        Path(os.environ.get("UV_PYTHON_INSTALL_DIR", "~/.local/share/uv/python")),
    ]
    return on_path + [str(path) for home in homes for path in sorted(home.expanduser().glob("*/bin/python3"))]


def version_of(path: str) -> tuple[str, str] | None:
    """The version of an interpreter and where it is; None where it is no CPython, or doesn't start."""
    # A shim on PATH may stand for a version that isn't chosen: it says so and fails.
    try:
        done = subprocess.run([path, "-c", ASK], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    name, version, executable = done.stdout.strip().split(" ", 2)
    return (version, executable) if name == "cpython" else None


def suits(version: str, wheel: str) -> bool:
    """Say whether a wheel is for a version of Python, by the wheel's file name.

    >>> name = "promptpress-0.1.0-cp310-abi3-any.whl"
    >>> suits("3.10", name), suits("3.14t", name), suits("3.14t", name.replace("cp310-abi3", "cp314-cp314t"))
    (True, False, True)

    """
    python, abi, _ = wheel.removesuffix(".whl").split("-")[-3:]
    number, is_free = version.removesuffix("t"), version.endswith("t")
    oldest = tuple(map(int, (python[2], python[3:])))
    if abi == f"{python}t":
        return is_free and number.replace(".", "") == python[2:]
    kinds = abi.split(".")
    return ("abi3t" if is_free else "abi3") in kinds and tuple(map(int, number.split("."))) >= oldest
