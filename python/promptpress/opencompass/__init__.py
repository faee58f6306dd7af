"""OpenCompass's templates and parsers, one sample at a time.

The same names, arguments, results and exception types as in the harness, which needn't be installed. With
`documented=True` a class follows the harness's documents where its code fails; see docs/fidelity.md.

A configuration may name the classes, `type="promptpress.opencompass.PromptTemplate"`. Where the harness is loaded the
prompt lists made here are also its own: `isinstance` says so in both directions.

Example:
    >>> template = PromptTemplate("Q: {q}")
    >>> template.generate_item({"q": "1+1?"})
    'Q: 1+1?'
"""

from promptpress._public_names import name_publicly as _name_publicly
from promptpress._single import harness as _harness
from promptpress._single.text import safe_format
from promptpress.opencompass._api_parser import APITemplateParser
from promptpress.opencompass._bulk import backend, disable, enable
from promptpress.opencompass._chat_parsers import APITemplateParser as ChatAPITemplateParser
from promptpress.opencompass._chat_parsers import LMTemplateParser as ChatLMTemplateParser
from promptpress.opencompass._chat_parsers import promptlist_to_openai
from promptpress.opencompass._coverage import Coverage, coverage
from promptpress.opencompass._lm_parser import LMTemplateParser
from promptpress.opencompass._prompt_hash import get_prompt_hash
from promptpress.opencompass._prompt_list import PromptList
from promptpress.opencompass._prompt_template import PromptTemplate
from promptpress.opencompass._raw_prompt_template import RawPromptTemplate

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

    This happens by itself where the registry is loaded before this module, as it is when a configuration names a class.

    Raises:
        ImportError: If OpenCompass can't be imported.
    """
    from opencompass.registry import ICL_PROMPT_TEMPLATES  # noqa: PLC0415 - the harness is imported when asked for

    _harness.register(ICL_PROMPT_TEMPLATES, (PromptTemplate, RawPromptTemplate))


_name_publicly(__name__, {name: globals()[name] for name in __all__})
if _harness.loaded("opencompass.registry", "ICL_PROMPT_TEMPLATES") is not None:
    register()
