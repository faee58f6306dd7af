"""lm-evaluation-harness: its requests built in bulk while it runs.

Example:
    >>> import promptpress.lm_eval
    >>> promptpress.lm_eval.disable()
"""

from promptpress._lm_eval.backend.switch import backend, disable, enable
from promptpress._public_names import name_publicly as _name_publicly

__all__ = ["backend", "disable", "enable"]

_name_publicly(__name__, {name: globals()[name] for name in __all__})
