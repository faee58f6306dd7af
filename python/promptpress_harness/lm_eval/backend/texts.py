"""The harness's templates, compiled once, and their texts, rendered for a block of documents ahead.

The harness's `apply_template` has Jinja2 compile its template for every document and field, which takes nine tenths of
the time of building requests. A compiled template is the same for all documents unless the environment changes. The
first document, which the harness builds itself, shows which templates are needed. Jinja2 renders any other text when
the harness asks for it, so that it also raises where it would without the backend.

lm-evaluation-harness 0.5 compiles its templates once and renders them row by row. Its own code builds the contexts and
the requests, and is given texts that are rendered ahead.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from operator import attrgetter
from typing import Any

import pyarrow as pa
from promptpress import RenderError

from promptpress_harness.bulk.monkeypatches import NotCoveredError, check_no_shadows, check_unpatched
from promptpress_harness.lm_eval.backend.tasks import (
    BLOCK,
    SAMPLERS,
    Documents,
    TaskRecord,
    as_table,
    difference,
    documents_of,
    replaced_by,
)
from promptpress_harness.lm_eval.documents import renderer_of

MODULE = "lm_eval.utils"
_FUNCTION = "apply_template"
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
    if not _is_covered():
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


def _is_covered() -> bool:
    """Return true if the harness's function is that of its file, which is known, and it renders with Jinja2."""
    try:
        check_unpatched(MODULE, _FUNCTION, deeply=False)
    except NotCoveredError:
        return False
    return type(vars(sys.modules[MODULE]).get("env")).__module__ == "jinja2.environment"


def is_default_environment(environment: Any, module: str = MODULE, names: Sequence[str] = _HARNESS_FILTERS) -> bool:
    """Return true if a Jinja2 environment has the settings, filters, tests and names that the harness gives it.

    `names` are those of functions in the harness's module that are filters.
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


_MIN_ROWS = 8
"""For fewer documents, Jinja2 is faster than compiling a template."""


class TextPrerenderer:
    """Fills the cache of texts ahead of the harness, for the templates that the first document requested."""

    def __init__(
        self,
        cache: TextCache,
        requests: Sequence[TextRequest],
        documents: Documents,
        record: TaskRecord,
        apply_template: Callable[[str, dict[str, Any]], str],
        *,
        has_default_environment: bool,
    ) -> None:
        self._cache = cache
        self._documents = documents
        self._record = record
        self._apply_template = apply_template
        first = id(documents.docs[0])
        self._sources = list(dict.fromkeys(source for source, doc in requests if doc == first))
        self._pool_sources = list(dict.fromkeys(source for source, doc in requests if doc != first))
        if not has_default_environment:
            record.left("the environment of its templates was changed")
            self._sources = []
        self._has_default_environment = has_default_environment

    def render_pool(
        self, pool: Sequence[dict[str, Any]], shots: int, whole_examples: Callable[[pa.Table], bool] = lambda _: False
    ) -> None:
        """Render the texts of the documents that examples are drawn from, `shots` for each evaluated document.

        `whole_examples` makes whole examples of the pool's table, and returns true if it did; then no texts are needed.
        """
        if not self._has_default_environment or len(pool) > len(self._documents.docs) * shots:
            return
        table = as_table(pool) if len(pool) >= _MIN_ROWS else None
        if table is not None and whole_examples(table):
            return
        for source in self._pool_sources:
            texts = self._texts(source, table, len(pool))
            if texts and self._equals_jinja2(source, pool[0], texts[0]):
                self._cache.pool[source] = dict(zip(map(id, pool), texts, strict=True))

    def render_block(self, start: int) -> None:
        """Render the block of documents from index `start` on."""
        self._cache.block.clear()
        docs = self._documents.docs[start : start + BLOCK]
        table = self._documents.table(start) if any("{" in source for source in self._sources) else None
        for source in list(self._sources):
            texts = self._texts(source, table, len(docs))
            if texts is not None and self._equals_jinja2(source, docs[0], texts[0]):
                self._cache.block[source] = dict(zip(map(id, docs), texts, strict=True))

    def _texts(self, source: str, table: pa.Table | None, count: int) -> list[str] | None:
        """Return a template's texts for some documents; None if they can't be rendered ahead."""
        if "{" not in source:
            return [source.replace("\r\n", "\n").replace("\r", "\n")] * count
        if len(self._documents.docs) < _MIN_ROWS:
            self._record.log_jinja2(f"Jinja2 renders templates: for fewer than {_MIN_ROWS} documents that is faster")
            return None
        if table is None:
            return None
        render, reason = renderer_of(source)
        if reason:
            self._record.log_jinja2(f"Jinja2 renders what isn't compiled of a template: {reason}")
        try:
            return None if render is None else render(table)
        except RenderError:
            return None  # Jinja2 raises, or not, when the harness comes to that row

    def _equals_jinja2(self, source: str, doc: dict[str, Any], text: str) -> bool:
        """Compare the text of a block's first document; if it differs, leave the template to Jinja2 from now on."""
        by_jinja2 = id(doc) in self._cache.by_jinja2
        expected = self._apply_template(source, doc)
        if expected == text:
            # The harness gets the text from the block, so its document counts as one in bulk.
            if not by_jinja2:
                self._cache.by_jinja2.discard(id(doc))
            return True
        self._sources = [other for other in self._sources if other != source]
        self._record.left(f"a template's text is another{difference(expected, text)}")
        return False


_NEW_MODULE = "lm_eval.config.templates"
_TASK = "lm_eval.api.task._task"
_FILTERS = ("regex_replace", "letter_choices", "answer_key_to_index")
_CLASSES = {
    "lm_eval.api.task._generation": ("GenerateTask",),
    "lm_eval.api.task._ll": ("LoglikelihoodRollingTask", "LoglikelihoodTask", "MultipleChoiceTask"),
}
_METHODS = ("doc_iterator", "test_docs", "validation_docs", "_get_split_docs")
_SAMPLERS = ("ContextSampler", "FirstNSampler")
_FIELDS = ("doc_to_text", "doc_to_target", "doc_to_choice", "description", "gen_prefix")

_current: ContextVar[TextsAhead | None] = ContextVar("promptpress_lm_eval_texts_ahead", default=None)
"""The texts of the task whose requests are being built."""


def texts_ahead(harness: Callable[..., str]) -> Callable[..., str]:
    """Return a replacement of the harness's `apply_template` that returns the texts that were rendered ahead."""

    @functools.wraps(harness)
    def apply_template(template: str, doc: dict[str, Any], *arguments: Any) -> str:
        texts = _current.get()
        text = None if texts is None else texts.text(template, doc)
        return harness(template, doc, *arguments) if text is None else text

    return apply_template


class TextsAhead:
    """The texts of templates during one call of `build_all_requests`.

    The first document, which the harness renders, shows which templates are needed. When the harness comes to the
    second, the texts of examples and of the first block are rendered, and those of the other blocks as it comes to
    them. Jinja2 renders what isn't compiled, and what can't be rendered, when the harness asks for it.
    """

    def __init__(self, task: Any, record: TaskRecord) -> None:
        self._task = task
        self._record = record
        self._documents: Documents | None = None
        self._numbers: dict[int, int] = {}
        self._text_requests: list[TextRequest] = []
        self._cache = TextCache()
        self._prerenderer: TextPrerenderer | None = None
        self._block = -1

    @contextmanager
    def methods_replaced(self) -> Iterator[None]:
        """Replace the method that decodes documents, and have templates read from here."""
        before = self._task._instances  # noqa: SLF001 - the harness's
        vars(self._task)["doc_iterator"] = self._doc_iterator
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)
            vars(self._task).pop("doc_iterator", None)
            built = self._task._instances or ()  # noqa: SLF001 - the harness's
            if self._documents is not None and built is not before:
                by_jinja2 = [id(request.doc) in self._cache.by_jinja2 for request in built]
                self._record.by_jinja2 = sum(by_jinja2) if self._prerenderer else len(built)
                if len(built) > self._record.by_jinja2:
                    self._record.rendered(len(built) - self._record.by_jinja2)

    def _doc_iterator(self, **options: Any) -> Any:
        vars(self._task).pop("doc_iterator")
        pairs, documents, reason = documents_of(self._task, options)
        if documents is None:
            self._record.left(reason)
        else:
            self._documents = documents
            # Documents are known by their identities, which are valid as long as they are held here.
            self._numbers = {id(doc): number for number, doc in enumerate(documents.docs)}
        return pairs

    def text(self, template: Any, doc: Any) -> str | None:
        """Return the text of a template for a document; None if the harness has to render it."""
        if self._documents is None or type(template) is not str:
            return None
        number = self._numbers.get(id(doc))
        if self._prerenderer is None and not number:
            self._text_requests.append((template, id(doc)))
            return None
        if number is not None and number // BLOCK != self._block:
            self._block = number // BLOCK
            try:
                self._render_block()
            except Exception as error:
                self._record.left(f"its objects are not as expected ({error!r})")
                self._documents = None
                return None
        text = self._cache.text(template, id(doc))
        if text is None and number is not None:
            self._cache.by_jinja2.add(id(doc))
        return text

    def _render_block(self) -> None:
        assert self._documents is not None
        module = vars(sys.modules[_NEW_MODULE])
        if self._prerenderer is None:
            self._prerenderer = TextPrerenderer(
                self._cache,
                self._text_requests,
                self._documents,
                self._record,
                module["apply_template"].__wrapped__,
                has_default_environment=is_default_environment(module["_jinja_env"](), _NEW_MODULE, _FILTERS),
            )
            shots = self._task.config.num_fewshot or 0
            # The harness's sampler holds the rows that it draws from.
            self._prerenderer.render_pool(self._task.sampler.df if shots > 0 else (), shots)
        self._prerenderer.render_block(self._block * BLOCK)
        # The harness has rendered the first document's texts; they count as they would if it were the second.
        first = id(self._documents.docs[0])
        if not self._block and any(
            self._cache.text(source, doc) is None for source, doc in self._text_requests if doc == first
        ):
            self._cache.by_jinja2.add(first)


def _check_new_task(task: Any) -> None:
    """Raise NotCoveredError unless a task renders its templates for documents that nothing else changes."""
    kinds = [vars(sys.modules[module])[name] for module, names in _CLASSES.items() for name in names]
    if type(task) not in kinds:
        raise NotCoveredError(f"{type(task).__name__} is a class of its own")
    samplers = vars(sys.modules[SAMPLERS])
    if task._sampler_cls not in [samplers[name] for name in _SAMPLERS]:  # noqa: SLF001 - the harness's
        raise NotCoveredError(f"the sampler {task._sampler_cls.__name__} isn't covered")  # noqa: SLF001 - as above
    check_no_shadows(task)
    for name in _METHODS:
        check_unpatched(_TASK, f"Task.{name}")
    for name in ("apply_template", "process_field"):
        check_unpatched(_NEW_MODULE, name, deeply=False)
    for settings, prefix in ((task.config, ""), (task.config.fewshot_config, "fewshot_config's ")):
        for name in _FIELDS:
            if callable(getattr(settings, name, None)):
                raise NotCoveredError(f"{prefix}{name} is a function")
    for name in ("doc_to_image", "doc_to_audio"):
        if getattr(task.config, name):
            raise NotCoveredError(f"{name} isn't covered")


texts_ahead_of_requests = replaced_by(_check_new_task, lambda task, record: TextsAhead(task, record).methods_replaced())
"""Takes the harness's `build_all_requests` and returns a replacement that gives it texts rendered ahead."""
