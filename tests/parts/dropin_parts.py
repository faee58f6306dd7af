"""Common parts of the tests of the single-sample classes."""

from __future__ import annotations

import types
from typing import Any

import promptpress.aisbench as ais
import promptpress.opencompass as oc
import pytest

HUMAN = {"role": "HUMAN", "begin": "<H>", "end": "</H>", "api_role": "HUMAN"}
BOT = {"role": "BOT", "begin": "<B>", "end": "</B>", "api_role": "BOT", "generate": True}
SYSTEM = {"role": "SYSTEM", "begin": "<S>", "end": "</S>", "api_role": "SYSTEM"}
META = {"begin": "[", "round": [HUMAN, BOT], "reserved_roles": [SYSTEM], "end": "]"}
ASKS, ANSWERS = {"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}
SAMPLE = {"q": "one?", "a": 1}
DIALOGUE = {"begin": ["</E>"], "round": [ASKS, ANSWERS]}
HARNESSES = pytest.mark.parametrize("harness", [oc, ais], ids=["opencompass", "aisbench"])


def module(name: str, **names: Any) -> types.ModuleType:
    made = types.ModuleType(name)
    vars(made).update(names)
    return made
