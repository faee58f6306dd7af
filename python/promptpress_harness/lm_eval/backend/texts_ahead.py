"""The replacements for lm-evaluation-harness 0.5, which compiles its templates once and renders them row by row.

The harness's own code builds the contexts and the requests. It is given the texts of its templates, which are rendered
for a block of documents ahead, and its documents are decoded in blocks.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from promptpress_harness.bulk.monkeypatches import NotCoveredError, check_no_shadows, check_unpatched
from promptpress_harness.lm_eval.backend.building import replaced_by
from promptpress_harness.lm_eval.backend.coverage import SAMPLERS
from promptpress_harness.lm_eval.backend.documents import BLOCK, Documents, documents_of
from promptpress_harness.lm_eval.backend.record import TaskRecord
from promptpress_harness.lm_eval.backend.templates import TextCache, TextRequest, is_default_environment
from promptpress_harness.lm_eval.backend.texts import TextPrerenderer

_MODULE = "lm_eval.config.templates"
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
        module = vars(sys.modules[_MODULE])
        if self._prerenderer is None:
            self._prerenderer = TextPrerenderer(
                self._cache,
                self._text_requests,
                self._documents,
                self._record,
                module["apply_template"].__wrapped__,
                has_default_environment=is_default_environment(module["_jinja_env"](), _MODULE, _FILTERS),
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


def check_task(task: Any) -> None:
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
        check_unpatched(_MODULE, name, deeply=False)
    for settings, prefix in ((task.config, ""), (task.config.fewshot_config, "fewshot_config's ")):
        for name in _FIELDS:
            if callable(getattr(settings, name, None)):
                raise NotCoveredError(f"{prefix}{name} is a function")
    for name in ("doc_to_image", "doc_to_audio"):
        if getattr(task.config, name):
            raise NotCoveredError(f"{name} isn't covered")


texts_ahead_of_requests = replaced_by(check_task, lambda task, record: TextsAhead(task, record).methods_replaced())
"""Takes the harness's `build_all_requests` and returns a replacement that gives it texts rendered ahead."""
