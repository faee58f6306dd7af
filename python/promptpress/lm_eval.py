"""lm-evaluation-harness: requests of a task without the harness or a model, in bulk in a running one, and answers."""

from promptpress_harness.lm_eval.answers import answers
from promptpress_harness.lm_eval.backend.building import backend, disable, enable
from promptpress_harness.lm_eval.requests import requests
from promptpress_harness.lm_eval.tokens import tokenize

from promptpress._importing import name_publicly as _name_publicly

__all__ = ["answers", "backend", "disable", "enable", "requests", "tokenize"]

_name_publicly(__name__, {name: globals()[name] for name in __all__})
