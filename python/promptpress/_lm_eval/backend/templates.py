"""The harness's templates, compiled once.

`apply_template` has Jinja2 compile its template for every document and field, which is nine tenths of the time in which
the harness builds requests. A template compiled is the same for all documents, unless the environment has changed.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextvars import ContextVar
from operator import attrgetter
from typing import Any

from promptpress._backend.monkeypatches import NotCoveredError, check_unpatched

MODULE = "lm_eval.utils"
FUNCTION = "apply_template"
_NAMES = ("env", "from_string", "render")
"""What the function looks up: it compiles in the module's environment, and renders with the document's fields."""
_MAX_TEMPLATES = 4096
settings_of = attrgetter(
    "block_start_string",
    "block_end_string",
    "variable_start_string",
    "variable_end_string",
    "comment_start_string",
    "comment_end_string",
    "line_statement_prefix",
    "line_comment_prefix",
    "trim_blocks",
    "lstrip_blocks",
    "newline_sequence",
    "keep_trailing_newline",
    "undefined",
    "finalize",
    "autoescape",
    "optimized",
    "extensions",
)
"""What a template's code depends on, but for filters and tests."""

Asked = tuple[str, int]
"""A template, and the identity of a document."""


class Known:
    """Texts that are known before they are asked for: by template, and by the document's identity."""

    __slots__ = ("block", "by_jinja2", "pool")

    def __init__(self) -> None:
        self.block: dict[str, dict[int, str]] = {}
        self.pool: dict[str, dict[int, str]] = {}
        self.by_jinja2: set[int] = set()
        """The identities of documents for which Jinja2 rendered a template, because its text wasn't known."""

    def text(self, template: str, doc: int) -> str | None:
        """A text; None where it isn't known."""
        texts = self.block.get(template)
        text = None if texts is None else texts.get(doc)
        if text is None:
            texts = self.pool.get(template)
            text = None if texts is None else texts.get(doc)
        return text


known_texts: ContextVar[Known | None] = ContextVar("promptpress_lm_eval_texts", default=None)
"""The texts of the task whose requests are being built. Its documents live as long as it does."""

asked_texts: ContextVar[list[Asked] | None] = ContextVar("promptpress_lm_eval_asked", default=None)
"""Where it is noted which templates are asked for, with which documents."""


class Compiled:
    """The templates of an environment, compiled when they are first asked for.

    Args:
        environment: Jinja2's environment. Once a setting, a filter, a test or a global name of it changes, all is
            compiled anew.

    Example:
        >>> import jinja2
        >>> compiled = Compiled(jinja2.Environment())
        >>> compiled["{{ a }}"].render(a=1), compiled["{{ a }}"] is compiled["{{ a }}"]
        ('1', True)
    """

    def __init__(self, environment: Any) -> None:
        self.environment = environment
        self._templates: dict[str, Any] = {}
        self._remember()

    def __getitem__(self, source: str) -> Any:
        """The template.

        Raises:
            jinja2.TemplateSyntaxError: If it isn't one.
        """
        environment = self.environment
        if (
            settings_of(environment) != self._settings
            or environment.filters != self._filters
            or environment.tests != self._tests
            or environment.globals != self._globals
        ):
            self._remember()
        template = self._templates.get(source)
        if template is None:
            template = environment.from_string(source)
            # A chain of dicts, as it comes, is gone through for each document.
            template.globals = self._globals
            if len(self._templates) >= _MAX_TEMPLATES:
                self._templates.clear()
            self._templates[source] = template
        return template

    def _remember(self) -> None:
        self._templates.clear()
        self._settings = settings_of(self.environment)
        self._filters = dict(self.environment.filters)
        self._tests = dict(self.environment.tests)
        self._globals = dict(self.environment.globals)


def cached_templates(harness: Callable[..., str]) -> Callable[..., str]:
    """What stands for the harness's function: texts that are known, else those of a template that is kept.

    Args:
        harness: The harness's own.

    Returns:
        What gives and raises the same; the harness's own where it isn't what is known of it.
    """
    if not _is_known(harness):
        return harness
    compiled: Compiled | None = None

    @functools.wraps(harness)
    def apply_template(template: str, doc: dict[str, Any]) -> str:
        nonlocal compiled
        if type(template) is not str:
            return harness(template, doc)
        asked = asked_texts.get()
        if asked is not None:
            asked.append((template, id(doc)))
        known = known_texts.get()
        if known is not None:
            text = known.text(template, id(doc))
            if text is not None:
                return text
            known.by_jinja2.add(id(doc))
        environment = harness.__globals__["env"]
        if compiled is None or compiled.environment is not environment:
            compiled = Compiled(environment)
        rendered: str = compiled[template].render(**doc)
        return rendered

    return apply_template


def _is_known(harness: Any) -> bool:
    """Whether the harness's function compiles a template and renders it, and does nothing else."""
    try:
        check_unpatched(MODULE, FUNCTION, deeply=False)
    except NotCoveredError:
        return False
    code = harness.__code__
    is_jinja = type(vars(sys.modules[MODULE]).get("env")).__module__ == "jinja2.environment"
    return is_jinja and code.co_names == _NAMES and code.co_argcount == 2 and not code.co_kwonlyargcount
