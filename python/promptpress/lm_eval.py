"""lm-evaluation-harness: a task's requests without it or a model, and requests in bulk where it runs itself."""

from promptpress._lm_eval.backend.switch import backend, disable, enable
from promptpress._lm_eval.requests import requests
from promptpress._public_names import name_publicly as _name_publicly

__all__ = ["backend", "disable", "enable", "requests"]

_name_publicly(__name__, {name: globals()[name] for name in __all__})
