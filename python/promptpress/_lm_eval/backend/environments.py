"""Whether the harness's environment of templates is the one that its file makes."""

from __future__ import annotations

import sys
from typing import Any

from promptpress._backend.monkeypatches import NotCoveredError, check_unpatched
from promptpress._lm_eval.backend.templates import MODULE, settings_of

_OWN_FILTER = "regex_replace"


def is_as_it_comes(environment: Any) -> bool:
    """Whether an environment has the settings, filters, tests and names that the harness gives it.

    Args:
        environment: Jinja2's environment.
    """
    jinja2 = sys.modules["jinja2"]
    if type(environment) is not jinja2.Environment:
        return False
    plain = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    filters = dict(environment.filters)
    try:
        check_unpatched(MODULE, _OWN_FILTER)
    except NotCoveredError:
        return False
    return bool(
        filters.pop(_OWN_FILTER, None) is getattr(sys.modules[MODULE], _OWN_FILTER, None)
        and filters == plain.filters
        and environment.tests == plain.tests
        and environment.globals == plain.globals
        and environment.policies == plain.policies
        and settings_of(environment) == settings_of(plain)
    )
