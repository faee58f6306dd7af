"""OpenICL's template, one sample at a time.

The same name, arguments, results and exception types as in the harness, which needn't be installed.

Example:
    >>> PromptTemplate("Q: </Q>", {"q": "</Q>"}).generate_item({"q": "1+1?"})
    'Q: 1+1?'
"""

from promptpress._public_names import name_publicly as _name_publicly
from promptpress.openicl._prompt_template import PromptTemplate

__all__ = ["PromptTemplate"]

_name_publicly(__name__, {name: globals()[name] for name in __all__})
