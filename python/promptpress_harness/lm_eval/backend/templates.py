"""The harness's templates, compiled once.

The harness's `apply_template` has Jinja2 compile its template for every document and field, which takes nine tenths of
the time of building requests. A compiled template is the same for all documents unless the environment changes.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from operator import attrgetter
from typing import Any

from promptpress_harness.bulk.monkeypatches import NotCoveredError, check_unpatched

MODULE = "lm_eval.utils"
_FUNCTION = "apply_template"
_FUNCTION_NAMES = ("env", "from_string", "render")
"""Names that the function looks up: it compiles in the module's environment, and renders with the document's fields."""
_HARNESS_FILTERS = ("regex_replace",)
_MAX_TEMPLATES = 4096
_settings_of = attrgetter(
    *("block_start_string", "block_end_string", "variable_start_string", "variable_end_string"),
    *("comment_start_string", "comment_end_string", "line_statement_prefix", "line_comment_prefix"),
    *("trim_blocks", "lstrip_blocks", "newline_sequence", "keep_trailing_newline"),
    *("undefined", "finalize", "autoescape", "optimized", "extensions"),
)
"""Settings that a template's code depends on, besides filters, tests and global names."""

TextRequest = tuple[str, int]
"""A template, and the identity of a document."""


class TextCache:
    """Texts that are rendered before the harness asks for them, by template and by the document's identity."""

    __slots__ = ("block", "by_jinja2", "pool")

    def __init__(self) -> None:
        self.block: dict[str, dict[int, str]] = {}
        self.pool: dict[str, dict[int, str]] = {}
        self.by_jinja2: set[int] = set()
        """Identities of documents for which Jinja2 rendered a template, because the cache lacked the text."""

    def text(self, template: str, doc: int) -> str | None:
        """Return a text, or None if the cache lacks it."""
        for texts_by_template in (self.block, self.pool):
            texts = texts_by_template.get(template)
            text = None if texts is None else texts.get(doc)
            if text is not None:
                return text
        return None


text_cache: ContextVar[TextCache | None] = ContextVar("promptpress_lm_eval_texts", default=None)
"""The texts of the task whose requests are being built. Its documents live as long as the cache."""

text_requests: ContextVar[list[TextRequest] | None] = ContextVar("promptpress_lm_eval_text_requests", default=None)
"""Receives the templates that the harness renders, with the documents."""


class CompiledTemplates:
    """The templates of a Jinja2 environment, compiled at their first use.

    If a setting, a filter, a test or a global name of the environment changes, templates are compiled again.
    """

    def __init__(self, environment: Any) -> None:
        self.environment = environment
        self._templates: dict[str, Any] = {}
        self._state: tuple[Any, ...] = ()

    def __getitem__(self, source: str) -> Any:
        environment = self.environment
        state = (_settings_of(environment), environment.filters, environment.tests, environment.globals)
        if state != self._state:
            self._templates.clear()
            self._state = (state[0], *map(dict, state[1:]))
        template = self._templates.get(source)
        if template is None:
            template = environment.from_string(source)
            # By default this is a chain of dicts, which is searched for each document.
            template.globals = self._state[-1]
            if len(self._templates) >= _MAX_TEMPLATES:
                self._templates.clear()
            self._templates[source] = template
        return template


def cached_templates(harness: Callable[..., str]) -> Callable[..., str]:
    """Return a replacement of the harness's `apply_template` that uses the cached texts and compiled templates.

    It returns and raises the same as the harness's function. If that isn't the expected function, it is returned.
    """
    if not _is_covered(harness):
        return harness
    compiled: CompiledTemplates | None = None

    @functools.wraps(harness)
    def apply_template(template: str, doc: dict[str, Any]) -> str:
        nonlocal compiled
        if type(template) is not str:
            return harness(template, doc)
        requests = text_requests.get()
        if requests is not None:
            requests.append((template, id(doc)))
        cache = text_cache.get()
        if cache is not None:
            text = cache.text(template, id(doc))
            if text is not None:
                return text
            cache.by_jinja2.add(id(doc))
        environment = harness.__globals__["env"]
        if compiled is None or compiled.environment is not environment:
            compiled = CompiledTemplates(environment)
        rendered: str = compiled[template].render(**doc)
        return rendered

    return apply_template


def _is_covered(harness: Any) -> bool:
    """Return true if the harness's function compiles a template and renders it, and does nothing else."""
    try:
        check_unpatched(MODULE, _FUNCTION, deeply=False)
    except NotCoveredError:
        return False
    code = harness.__code__
    is_jinja = type(vars(sys.modules[MODULE]).get("env")).__module__ == "jinja2.environment"
    return is_jinja and code.co_names == _FUNCTION_NAMES and code.co_argcount == 2 and not code.co_kwonlyargcount


def is_default_environment(environment: Any, module: str = MODULE, names: Sequence[str] = _HARNESS_FILTERS) -> bool:
    """Return true if a Jinja2 environment has the settings, filters, tests and names that the harness gives it.

    Args:
        environment: The environment.
        module: The harness's module with the functions that are filters.
        names: The names of these filters.
    """
    jinja2 = sys.modules["jinja2"]
    if type(environment) is not jinja2.Environment:
        return False
    default = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    try:
        for name in names:
            check_unpatched(module, name)
    except NotCoveredError:
        return False
    filters = {name: getattr(sys.modules[module], name, None) for name in names}
    return bool(
        environment.filters == {**default.filters, **filters}
        and environment.tests == default.tests
        and environment.globals == default.globals
        and environment.policies == default.policies
        and _settings_of(environment) == _settings_of(default)
    )
