"""The same run with the backend off and on."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from promptpress import opencompass
from real.harness.scripted import plain, run

TEXT = {
    "begin": "<s>",
    "round": [
        {"role": "HUMAN", "begin": "<user>", "end": "</user>\n"},
        {"role": "BOT", "begin": "<bot>", "end": "</bot>\n", "generate": True},
    ],
    "end": "</s>",
    "reserved_roles": [{"role": "SYSTEM", "begin": "<sys>", "end": "</sys>\n"}],
}
MESSAGES = {
    "round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}],
    "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}],
}
LIST = [{"role": "system", "content": "Be brief. "}]
MODELS: dict[str, dict[str, Any]] = {
    "text": {"meta_template": TEXT, "api": False},
    "lines": {"meta_template": None, "api": False},
    "messages": {"meta_template": MESSAGES, "api": True},
    "list": {"meta_template": LIST, "api": True},
}


def answers(case: dict[str, Any]) -> tuple[Any, Any]:
    """Return the results of a run without the backend and with it."""
    return tuple(once(case, on=on) for on in (False, True))


def once(case: dict[str, Any], *, on: bool) -> Any:
    """One run in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        if not on:
            return plain(run(case, Path(folder)))
        with opencompass.backend():
            return plain(run(case, Path(folder)))
