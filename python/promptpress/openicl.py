"""OpenICL's template, for one sample at a time.

Names, arguments, results and exception types are the harness's, which needn't be installed.

Example:
    >>> PromptTemplate("Q: </Q>", {"q": "</Q>"}).generate_item({"q": "1+1?"})
    'Q: 1+1?'
"""

from promptpress_harness.openicl import PromptTemplate

from promptpress._importing import name_publicly as _name_publicly

__all__ = ["PromptTemplate"]

_name_publicly(__name__, {name: globals()[name] for name in __all__})
