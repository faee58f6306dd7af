"""lm-evaluation-harness's requests, without a model, and without the harness."""

from promptpress._lm_eval.requests import requests
from promptpress._public_names import name_publicly as _name_publicly

__all__ = ["requests"]

_name_publicly(__name__, {name: globals()[name] for name in __all__})
