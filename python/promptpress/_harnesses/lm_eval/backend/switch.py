"""The switch of lm-evaluation-harness's backend."""

from __future__ import annotations

from promptpress._harnesses.bulk.switch import Switch
from promptpress._harnesses.lm_eval.backend.versions import patches
from promptpress._harnesses.registry import HARNESSES

_switch = Switch(HARNESSES["lm_eval"], patches)

enable = _switch.enable
disable = _switch.disable
backend = _switch.backend
