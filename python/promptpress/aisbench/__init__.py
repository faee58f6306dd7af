"""AISBench's templates and parsers, one sample at a time.

The same names, arguments, results and exception types as in the harness, which needn't be installed. With
`documented=True` a class follows the harness's documents where its code fails; see docs/fidelity.md.

A configuration may name the classes, `type="promptpress.aisbench.PromptTemplate"`. Where the harness is loaded the
prompt lists made here are also its own: `isinstance` says so in both directions. Exceptions are the harness's own
classes where it can be imported; the names here stand for those that are raised.

Example:
    >>> template = PromptTemplate("Q: {q}")
    >>> template.generate_item({"q": "1+1?"})
    'Q: 1+1?'
"""

from typing import Any as _Any

from promptpress._public_names import name_publicly as _name_publicly
from promptpress._single import harness as _harness
from promptpress._single.text import safe_format
from promptpress.aisbench import _exceptions
from promptpress.aisbench._api_parser import APITemplateParser, request_messages
from promptpress.aisbench._bulk import backend, disable, enable
from promptpress.aisbench._lm_parser import LMTemplateParser
from promptpress.aisbench._mm_prompt_template import MMPromptTemplate
from promptpress.aisbench._multi_turn_prompt_template import MultiTurnPromptTemplate
from promptpress.aisbench._prompt_list import PromptList, get_round_index, is_mm_prompt
from promptpress.aisbench._prompt_template import BasePromptTemplate, PromptTemplate

__all__ = [
    "APITemplateParser",
    "BasePromptTemplate",
    "LMTemplateParser",
    "MMPromptTemplate",
    "MultiTurnPromptTemplate",
    "PromptList",
    "PromptTemplate",
    "backend",
    "disable",
    "enable",
    "get_round_index",
    "is_mm_prompt",
    "register",
    "request_messages",
    "safe_format",
]


def __getattr__(name: str) -> _Any:
    # Which class is raised is known only once the harness was looked for.
    if name in _exceptions.NAMES:
        return _exceptions.exception_class(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def register() -> None:
    """Enter the templates into AISBench's registry, under their dotted names.

    This happens by itself where the registry is loaded before this module, as it is when a configuration names a class.

    Raises:
        ImportError: If AISBench can't be imported.
    """
    from ais_bench.benchmark.registry import ICL_PROMPT_TEMPLATES  # noqa: PLC0415 - imported when asked for

    classes = (BasePromptTemplate, PromptTemplate, MultiTurnPromptTemplate, MMPromptTemplate)
    _harness.register(ICL_PROMPT_TEMPLATES, classes)


_name_publicly(__name__, {name: globals()[name] for name in __all__} | _exceptions.OWN_CLASSES)
if _harness.loaded("ais_bench.benchmark.registry", "ICL_PROMPT_TEMPLATES") is not None:
    register()
