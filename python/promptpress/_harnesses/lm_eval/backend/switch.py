"""The switch of lm-evaluation-harness's backend."""

from __future__ import annotations

from promptpress._harnesses.bulk.patches import Patches
from promptpress._harnesses.bulk.switch import Switch
from promptpress._harnesses.lm_eval.backend.building import bulk_requests
from promptpress._harnesses.lm_eval.backend.ids_ahead import IDS_AHEAD
from promptpress._harnesses.lm_eval.backend.templates import cached_templates
from promptpress._harnesses.registry import HARNESSES

_switch = Switch(
    HARNESSES["lm_eval"],
    Patches(
        {
            "lm_eval.utils": {"apply_template": cached_templates},
            "lm_eval.api.task": {"Task.build_all_requests": bulk_requests},
            **IDS_AHEAD,
        }
    ),
)

enable = _switch.enable
disable = _switch.disable
backend = _switch.backend
