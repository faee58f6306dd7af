"""`build_all_requests`: the harness's own loop, over documents decoded and requests made in bulk."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from promptpress._backend.monkeypatches import NotCoveredError
from promptpress._lm_eval.backend.alike import difference
from promptpress._lm_eval.backend.collector import without_full_collections
from promptpress._lm_eval.backend.contexts import Contexts, Parts
from promptpress._lm_eval.backend.covered import check_task
from promptpress._lm_eval.backend.documents import BLOCK, Documents, documents_of
from promptpress._lm_eval.backend.instances import Instances
from promptpress._lm_eval.backend.record import TaskRecord, record_task
from promptpress._lm_eval.backend.templates import Asked, Known, asked_texts, known_texts
from promptpress._lm_eval.backend.texts import TextsAhead

_CONTEXT_OPTIONS = {
    "num_fewshot",
    "system_instruction",
    "apply_chat_template",
    "fewshot_as_multiturn",
    "chat_template",
    "gen_prefix",
}
_REQUEST_OPTIONS = {"ctx", "metadata", "apply_chat_template", "chat_template"}


def bulk_requests(harness: Callable[..., None]) -> Callable[..., None]:
    """What stands for the harness's method.

    Args:
        harness: The harness's own.

    Returns:
        What leaves the same requests in the task.
    """

    @functools.wraps(harness)
    def build_all_requests(self: Any, *arguments: Any, **options: Any) -> None:
        with record_task(self) as record:
            try:
                check_task(self)
            except NotCoveredError as reason:
                record.left(str(reason))
                return harness(self, *arguments, **options)
            building = Building(self, record)
            with building.in_place_of_methods():
                return harness(self, *arguments, **options)

    return build_all_requests


class Building:
    """One call of the method for a task that is covered.

    The harness's loop asks for the documents, and for each of them for its prefix, its context and its requests, in
    that order. The first document's are the harness's own, and are compared. Until then, and whenever something isn't
    as expected, all is left to the harness, whose generator of random numbers stands where it would.

    Args:
        task: The harness's task.
        record: What is said of it.
    """

    def __init__(self, task: Any, record: TaskRecord) -> None:
        self._task = task
        self._record = record
        self._documents: Documents | None = None
        self._contexts: Contexts | None = None
        self._instances: Instances | None = None
        self._first: Any = None
        self._asked: list[Asked] = []
        self._known = Known()
        self._ahead: TextsAhead | None = None
        self._at = self._count = 0
        self._parts: Parts = (None, None, None)
        self._methods = {
            "doc_iterator": self._doc_iterator,
            "doc_to_prefix": self._doc_to_prefix,
            "fewshot_context": self._fewshot_context,
            "construct_requests": self._construct_requests,
        }

    @contextmanager
    def in_place_of_methods(self) -> Iterator[None]:
        """Have the task's loop ask here."""
        vars(self._task).update(self._methods)
        token = known_texts.set(self._known)
        try:
            with without_full_collections():
                yield
        finally:
            if self._contexts is not None:
                self._contexts.close()
            if self._count:
                self._record.rendered(self._count)
            known_texts.reset(token)
            self._take_back()

    def _take_back(self) -> None:
        for name in self._methods:
            vars(self._task).pop(name, None)

    def _leave(self, reason: str) -> None:
        """Have the harness do the rest."""
        self._record.left(reason)
        self._contexts = None
        self._take_back()

    def _by_harness(self, method: str, *arguments: Any, **options: Any) -> Any:
        """What the harness's own method gives for the first document, with all it calls its own as well."""
        self._take_back()
        token = asked_texts.set(self._asked)
        try:
            return getattr(self._task, method)(*arguments, **options)
        finally:
            asked_texts.reset(token)
            vars(self._task).update(self._methods)

    def _doc_iterator(self, **options: Any) -> list[tuple[int, Any]]:
        pairs, self._documents, reason = documents_of(self._task, options)
        if self._documents is None:
            self._leave(reason)
        elif pairs and (place := difference(pairs[0][1], self._documents.by_harness(0))):
            self._leave(f"the first document is another{place}")
            rows = self._documents
            return [(doc_id, rows.by_harness(at)) for at, (doc_id, _) in enumerate(pairs)]
        return pairs

    def _doc_to_prefix(self, doc: dict[str, Any]) -> Any:
        if self._instances is None:
            return self._by_harness("doc_to_prefix", doc)
        self._at += 1
        if self._ahead is not None and self._at % BLOCK == 0:
            self._ahead.block(self._at)
        return type(self._task).doc_to_prefix(self._task, doc)

    def _fewshot_context(self, doc: dict[str, Any], **options: Any) -> Any:
        if self._contexts is not None:
            self._parts = self._contexts.parts(doc, options["gen_prefix"])
            return self._parts[0]
        if unknown := sorted(options.keys() - _CONTEXT_OPTIONS):
            self._leave(f"the arguments {', '.join(unknown)} of fewshot_context aren't known")
            return self._task.fewshot_context(doc, **options)
        generator = _generator(self._task, options.get("num_fewshot"))
        before = generator.getstate() if generator else None
        context = self._by_harness("fewshot_context", doc, **options)
        after = generator.getstate() if generator else None
        if generator:
            generator.setstate(before)
        try:
            assert self._documents is not None
            count = len(self._documents.docs)
            self._contexts = Contexts(self._task, count, **{k: v for k, v in options.items() if k != "gen_prefix"})
            self._first = self._contexts.parts(doc, options.get("gen_prefix"))
            self._contexts.close()
            reason = "" if not generator or generator.getstate() == after else "other examples are drawn"
        except Exception as error:
            reason = f"its objects are not as expected ({error!r})"
        if reason:
            self._leave(reason)
        if generator:
            generator.setstate(after)
        return context

    def _construct_requests(self, doc: dict[str, Any], ctx: Any, **options: Any) -> Any:
        if self._instances is not None:
            made = self._instances.made(doc, self._parts, options["metadata"])
            self._note(made, is_bulk=id(doc) not in self._known.by_jinja2)
            return made
        made = self._by_harness("construct_requests", doc=doc, ctx=ctx, **options)
        if unknown := sorted(options.keys() - _REQUEST_OPTIONS):
            self._leave(f"the arguments {', '.join(unknown)} of construct_requests aren't known")
            return made
        try:
            instances = Instances(self._task, apply_chat_template=options.get("apply_chat_template", False))
            place = difference(made, instances.made(doc, self._first, options["metadata"]))
            reason = f"the first document's requests differ{place}" if place else ""
        except Exception as error:
            reason = f"its objects are not as expected ({error!r})"
        if reason:
            self._leave(reason)
        else:
            self._instances = instances
            self._know_ahead()
            own = [source for source, asked in self._asked if asked == id(doc)]
            self._note(made, is_bulk=all(self._known.text(source, id(doc)) is not None for source in own))
        return made

    def _note(self, made: Any, *, is_bulk: bool) -> None:
        """Count a document's requests."""
        number = len(made) if isinstance(made, list) else 1
        if is_bulk:
            self._count += number
        else:
            self._record.by_jinja2 += number

    def _know_ahead(self) -> None:
        assert self._documents is not None
        assert self._contexts is not None
        self._ahead = TextsAhead(self._known, self._asked, self._documents, self._contexts, self._record)
        self._ahead.block(0)


def _generator(task: Any, num_fewshot: Any) -> Any:
    """What examples are drawn by, if any are."""
    return task.sampler.rnd if num_fewshot else None
