"""OpenCompass's templates and parsers, for one sample at a time, and its bulk backend.

Names, arguments, results and exception types are the harness's, which needn't be installed. With `documented=True` a
class follows the harness's documents where its code fails; see docs/fidelity.md.

A configuration may name the classes, `type="promptpress.opencompass.PromptTemplate"`. If the harness is loaded, prompt
lists that are made here are instances of its class too, and its prompt lists are accepted here.

Example:
    >>> template = PromptTemplate("Q: {q}")
    >>> template.generate_item({"q": "1+1?"})
    'Q: 1+1?'
"""

from promptpress_harness import registry as _registry
from promptpress_harness.opencompass.bulk import Coverage, backend, coverage, disable, enable
from promptpress_harness.opencompass.chat_parsers import APITemplateParser as ChatAPITemplateParser
from promptpress_harness.opencompass.chat_parsers import LMTemplateParser as ChatLMTemplateParser
from promptpress_harness.opencompass.chat_parsers import promptlist_to_openai
from promptpress_harness.opencompass.prompt_template import (
    APITemplateParser,
    LMTemplateParser,
    PromptList,
    PromptTemplate,
    RawPromptTemplate,
)
from promptpress_harness.single.prompt_list import safe_format
from promptpress_harness.single.prompt_template import get_prompt_hash

from promptpress._importing import name_publicly as _name_publicly

__all__ = [
    "APITemplateParser",
    "ChatAPITemplateParser",
    "ChatLMTemplateParser",
    "Coverage",
    "LMTemplateParser",
    "PromptList",
    "PromptTemplate",
    "RawPromptTemplate",
    "backend",
    "coverage",
    "disable",
    "enable",
    "get_prompt_hash",
    "promptlist_to_openai",
    "register",
    "safe_format",
]


def register() -> None:
    """Enter the templates into OpenCompass's registry, under their dotted names.

    It is done on import if the registry is loaded already, as it is when a configuration names a class.

    Raises:
        ImportError: If OpenCompass can't be imported.
    """
    from opencompass.registry import ICL_PROMPT_TEMPLATES  # noqa: PLC0415 - imported when it is needed

    _registry.register(ICL_PROMPT_TEMPLATES, (PromptTemplate, RawPromptTemplate))


_name_publicly(__name__, {name: globals()[name] for name in __all__})
if _registry.loaded("opencompass.registry", "ICL_PROMPT_TEMPLATES") is not None:
    register()
