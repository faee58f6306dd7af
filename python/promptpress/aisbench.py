"""AISBench's templates and parsers, for one sample at a time, and its bulk backend.

Names, arguments, results and exception types are the harness's, which needn't be installed. With `documented=True` a
class follows the harness's documents where its code fails; see docs/fidelity.md.

A configuration may name the classes, `type="promptpress.aisbench.PromptTemplate"`. If the harness is loaded, prompt
lists that are made here are instances of its class too, and its prompt lists are accepted here. If the harness can be
imported, exceptions are its own classes; the names here stand for the classes that are raised.

Example:
    >>> template = PromptTemplate("Q: {q}")
    >>> template.generate_item({"q": "1+1?"})
    'Q: 1+1?'
"""

from typing import Any as _Any

from promptpress_harness import registry as _registry
from promptpress_harness.aisbench import exceptions as _exceptions
from promptpress_harness.aisbench.bulk import backend, disable, enable
from promptpress_harness.aisbench.prompt_list import (
    APITemplateParser,
    LMTemplateParser,
    PromptList,
    get_round_index,
    is_mm_prompt,
    request_messages,
)
from promptpress_harness.aisbench.prompt_template import (
    BasePromptTemplate,
    MMPromptTemplate,
    MultiTurnPromptTemplate,
    PromptTemplate,
    get_prompt_hash,
)
from promptpress_harness.single.prompt_list import safe_format

from promptpress._importing import name_publicly as _name_publicly

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
    "get_prompt_hash",
    "get_round_index",
    "is_mm_prompt",
    "register",
    "request_messages",
    "safe_format",
]


def __getattr__(name: str) -> _Any:
    # The class that is raised is known only after the harness was looked for.
    if name in _exceptions.NAMES:
        return _exceptions.exception_class(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def register() -> None:
    """Enter the templates into AISBench's registry, under their dotted names.

    It is done on import if the registry is loaded already, as it is when a configuration names a class.

    Raises:
        ImportError: If AISBench can't be imported.
    """
    from ais_bench.benchmark.registry import ICL_PROMPT_TEMPLATES  # noqa: PLC0415 - imported when it is needed

    classes = (BasePromptTemplate, PromptTemplate, MultiTurnPromptTemplate, MMPromptTemplate)
    _registry.register(ICL_PROMPT_TEMPLATES, classes)


_name_publicly(__name__, {name: globals()[name] for name in __all__} | _exceptions.OWN_CLASSES)
if _registry.loaded("ais_bench.benchmark.registry", "ICL_PROMPT_TEMPLATES") is not None:
    register()
