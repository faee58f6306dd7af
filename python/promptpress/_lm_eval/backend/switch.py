"""lm-evaluation-harness's requests in bulk: on and off."""

from __future__ import annotations

from promptpress._backend.patches import Patches
from promptpress._backend.switch import Switch
from promptpress._lm_eval.backend.building import bulk_requests
from promptpress._lm_eval.backend.templates import cached_templates

_switch = Switch(
    "lm-evaluation-harness",
    "lm_eval",
    Patches(
        {
            "lm_eval.utils": {"apply_template": cached_templates},
            "lm_eval.api.task": {"Task.build_all_requests": bulk_requests},
        }
    ),
)

enable = _switch.enable
disable = _switch.disable
backend = _switch.backend
