"""transformers: `apply_chat_template` of tokenizers and processors, with compiled templates."""

from promptpress_harness.transformers import apply_chat_template, backend, disable, enable

from promptpress._importing import name_publicly as _name_publicly

__all__ = ["apply_chat_template", "backend", "disable", "enable"]

_name_publicly(__name__, {name: globals()[name] for name in __all__})
