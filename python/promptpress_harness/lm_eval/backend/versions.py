"""The switch of lm-evaluation-harness's backend, and the versions that it knows, recognised by their code.

A version's number says little: a checkout keeps the number of its installation, and files are edited by hand. So the
files that the backend relies on are compared with those of the known versions, and with other code the backend is off.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from promptpress_harness.bulk.report import log_once
from promptpress_harness.bulk.switch import Patches, Switch, Wrap
from promptpress_harness.lm_eval.backend.building import bulk_requests
from promptpress_harness.lm_eval.backend.ids_ahead import IDS_AHEAD
from promptpress_harness.lm_eval.backend.texts import cached_templates, texts_ahead, texts_ahead_of_requests
from promptpress_harness.registry import HARNESSES

_PACKAGE = "lm_eval"


class Version(NamedTuple):
    """A version that the backend knows."""

    numbers: str
    """The numbers of the releases with this code."""
    files: tuple[str, ...]
    """The files that requests are built by."""
    digest: str
    """The SHA-256 of these files, one after the other, with line feeds at the ends of lines."""
    methods: dict[str, dict[str, Wrap]]
    """The replacements, as `Patches` takes them."""


VERSIONS = (
    Version(
        "0.4.13",
        ("api/task.py", "api/samplers.py", "api/instance.py", "api/utils.py", "config/task.py", "utils.py"),
        "22c5beb416429dd47a0ad72bb1dea08e7969d4f4d1703dcfd58063a8bfdc5f8f",
        {
            "lm_eval.utils": {"apply_template": cached_templates},
            "lm_eval.api.task": {"Task.build_all_requests": bulk_requests},
            **IDS_AHEAD,
        },
    ),
    Version(
        "0.5.0.dev1",
        (
            *("api/task/__init__.py", "api/task/_task.py", "api/task/_ll.py", "api/task/_generation.py"),
            *("api/samplers.py", "api/instance.py", "api/_utils.py"),
            *("config/task.py", "config/templates.py", "utils.py"),
        ),
        "ab5034b83486762b478e5ea7b3bb149fa66e3f6400c82f101b1624ee552b55d7",
        {
            "lm_eval.config.templates": {"apply_template": texts_ahead},
            "lm_eval.api.task._task": {"Task.build_all_requests": texts_ahead_of_requests},
            **IDS_AHEAD,
        },
    ),
)


def patches() -> Patches:
    """Return the replacements for the installed version; if its code isn't known, log that and return none."""
    folders = _folders()
    for version in VERSIONS:
        if any(digest_of(folder, version.files) == version.digest for folder in folders):
            return Patches(version.methods)
    numbers = " or ".join(version.numbers for version in VERSIONS)
    text = f"promptpress leaves prompts to the harness: its code isn't that of {_PACKAGE} {numbers}"
    log_once("warning", _installed(), text)
    return Patches({})


def digest_of(folder: Path, files: tuple[str, ...]) -> str:
    """Return the SHA-256 of some files as hexadecimal digits; an empty text if one of them can't be read."""
    digest = hashlib.sha256()
    try:
        for file in files:
            digest.update((folder / file).read_bytes().replace(b"\r\n", b"\n"))
    except (OSError, ValueError):
        return ""
    return digest.hexdigest()


def _folders() -> list[Path]:
    """Return the folder of the harness's package; none if it isn't a folder."""
    try:
        spec = importlib.util.find_spec(_PACKAGE)
        return [Path(folder) for folder in (spec and spec.submodule_search_locations) or ()][:1]
    except (ImportError, ValueError, TypeError):
        return []


def _installed() -> str:
    """Return the number of the installed version, in brackets."""
    number: str | None = None
    with suppress(Exception):  # metadata may be missing, or broken in ways of its own
        number = importlib.metadata.version(_PACKAGE)
    return f" (installed as {number})" if number else ""


_switch = Switch(HARNESSES["lm_eval"], patches)

enable = _switch.enable
disable = _switch.disable
backend = _switch.backend
