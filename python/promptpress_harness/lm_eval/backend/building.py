"""The switch of lm-evaluation-harness's backend, which replaces `build_all_requests`: requests are made in bulk.

The harness's own loop runs. Its versions are recognised by their code, because a number says little: a checkout keeps
the number of its installation, and files are edited by hand. So the files that the backend relies on are compared with
those of the known versions, and with other code the backend is off.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

from promptpress_harness.bulk.report import log_once
from promptpress_harness.bulk.switch import Patches, Switch, Wrap
from promptpress_harness.lm_eval.answers import with_answers
from promptpress_harness.lm_eval.backend.contexts import ContextBuilder, Parts
from promptpress_harness.lm_eval.backend.ids_ahead import IDS_AHEAD
from promptpress_harness.lm_eval.backend.tasks import (
    BLOCK,
    TASK,
    Documents,
    TaskRecord,
    check_task,
    difference,
    documents_of,
    replaced_by,
)
from promptpress_harness.lm_eval.backend.texts import (
    MODULE,
    TextCache,
    TextPrerenderer,
    TextRequest,
    cached_templates,
    is_default_environment,
    text_cache,
    text_requests,
    texts_ahead,
    texts_ahead_of_requests,
)
from promptpress_harness.registry import HARNESSES

_CONTEXT_OPTIONS = {
    *("num_fewshot", "system_instruction", "apply_chat_template"),
    *("fewshot_as_multiturn", "chat_template", "gen_prefix"),
}
_REQUEST_OPTIONS = {"ctx", "metadata", "apply_chat_template", "chat_template"}


class InstanceBuilder:
    """Builds the requests of a document from its context, its choices and its target."""

    def __init__(self, task: Any, *, apply_chat_template: bool) -> None:
        module = vars(sys.modules[TASK])
        self._instance = module["Instance"]
        config = task.config
        self._type = task.OUTPUT_TYPE
        self._has_several_inputs = bool(task.multiple_input)
        self._has_mutual_information = "acc_mutual_info" in vars(task)["_metric_fn_list"]
        self._delimiter = config.target_delimiter
        prefix = config.gen_prefix
        if apply_chat_template and not (prefix and not module["ends_with_whitespace"](prefix)):
            self._delimiter = ""
        self._copy_settings = copier(config.generation_kwargs)

    def build(self, doc: dict[str, Any], parts: Parts, metadata: tuple[Any, ...]) -> Any:
        """Return a document's requests: a list if it has choices, else a single request."""
        context, choices, target = parts
        make = self._instance
        if self._type != "multiple_choice":
            arguments = (context, target) if self._type == "loglikelihood" else (target,)
            if self._type == "generate_until":
                arguments = (context, self._copy_settings())
            return make(request_type=self._type, doc=doc, arguments=arguments, idx=0, metadata=metadata)
        delimiter = self._delimiter
        if self._has_several_inputs:
            pairs = [(text, f"{delimiter}{target}") for text in context]
        else:
            pairs = [(context, f"{delimiter}{choice}") for choice in choices]
        if self._has_mutual_information:
            pairs += [("", f"{delimiter}{choice}") for choice in choices]
        return [
            make(request_type="loglikelihood", doc=doc, arguments=pair, idx=index, metadata=metadata)
            for index, pair in enumerate(pairs)
        ]


def copier(value: Any) -> Callable[[], Any]:
    """Return a function that makes deep copies of a setting, fast if its lists and dicts hold plain values."""
    seen: set[int] = set()

    def is_plain(part: Any) -> bool:
        if part is None or type(part) in {str, int, float, bool}:
            return True
        if type(part) not in {dict, list} or id(part) in seen:
            return False
        seen.add(id(part))
        return all(map(is_plain, [*part, *part.values()] if type(part) is dict else part))

    return (lambda: _copied(value)) if is_plain(value) else lambda: deepcopy(value)


def _copied(value: Any) -> Any:
    if type(value) is dict:
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if type(value) is list else value


class Building:
    """One call of `build_all_requests` for a task that is covered.

    The harness's loop asks for the documents, and for the prefix, the context and the requests of each, in that order.
    The harness's own methods build those of the first document, and they are compared. Until then, and whenever
    something isn't as expected, everything is left to the harness, and its generator of random numbers has the state
    that it would have without the backend.
    """

    def __init__(self, task: Any, record: TaskRecord) -> None:
        self._task = task
        self._record = record
        self._documents: Documents | None = None
        self._contexts: ContextBuilder | None = None
        self._instances: InstanceBuilder | None = None
        self._first_parts: Any = None
        self._text_requests: list[TextRequest] = []
        self._cache = TextCache()
        self._prerenderer: TextPrerenderer | None = None
        self._index = self._bulk_count = 0
        self._parts: Parts = (None, None, None)
        self._methods = {
            "doc_iterator": self._doc_iterator,
            "doc_to_prefix": self._doc_to_prefix,
            "fewshot_context": self._fewshot_context,
            "construct_requests": self._construct_requests,
        }

    @contextmanager
    def methods_replaced(self) -> Iterator[None]:
        """Replace the methods that the task's loop calls."""
        vars(self._task).update(self._methods)
        token = text_cache.set(self._cache)
        try:
            yield
        finally:
            if self._contexts is not None:
                self._contexts.close()
            if self._bulk_count:
                self._record.rendered(self._bulk_count)
            text_cache.reset(token)
            self._restore_methods()

    def _restore_methods(self) -> None:
        for name in self._methods:
            vars(self._task).pop(name, None)

    def _leave(self, reason: str) -> None:
        """Leave the rest to the harness."""
        self._record.left(reason)
        self._contexts = None
        self._restore_methods()

    def _by_harness(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Call the harness's own method for the first document, with all methods that it calls restored as well."""
        self._restore_methods()
        token = text_requests.set(self._text_requests)
        try:
            return getattr(self._task, method)(*arguments, **options)
        finally:
            text_requests.reset(token)
            vars(self._task).update(self._methods)

    def _doc_iterator(self, **options: Any) -> list[tuple[int, Any]]:
        pairs, self._documents, reason = documents_of(self._task, options)
        if self._documents is None:
            self._leave(reason)
        return pairs

    def _doc_to_prefix(self, doc: dict[str, Any]) -> Any:
        if self._instances is None:
            return self._by_harness("doc_to_prefix", doc)
        self._index += 1
        if self._prerenderer is not None and self._index % BLOCK == 0:
            self._prerenderer.render_block(self._index)
        return type(self._task).doc_to_prefix(self._task, doc)

    def _fewshot_context(self, doc: dict[str, Any], **options: Any) -> Any:
        if self._contexts is not None:
            self._parts = self._contexts.parts(doc, options["gen_prefix"])
            return self._parts[0]
        if unknown := sorted(options.keys() - _CONTEXT_OPTIONS):
            self._leave(f"the arguments {', '.join(unknown)} of fewshot_context aren't known")
            return self._task.fewshot_context(doc, **options)
        generator = self._task.sampler.rnd if options.get("num_fewshot") else None
        before = generator.getstate() if generator else None
        context = self._by_harness("fewshot_context", doc, **options)
        after = generator.getstate() if generator else None
        if generator:
            generator.setstate(before)
        try:
            assert self._documents is not None
            count = len(self._documents.docs)
            settings = {name: value for name, value in options.items() if name != "gen_prefix"}
            self._contexts = ContextBuilder(self._task, count, **settings)
            self._first_parts = self._contexts.parts(doc, options.get("gen_prefix"))
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
            requests = self._instances.build(doc, self._parts, options["metadata"])
            self._count(requests, in_bulk=id(doc) not in self._cache.by_jinja2)
            return requests
        requests = self._by_harness("construct_requests", doc=doc, ctx=ctx, **options)
        if unknown := sorted(options.keys() - _REQUEST_OPTIONS):
            self._leave(f"the arguments {', '.join(unknown)} of construct_requests aren't known")
            return requests
        try:
            instances = InstanceBuilder(self._task, apply_chat_template=options.get("apply_chat_template", False))
            path = difference(requests, instances.build(doc, self._first_parts, options["metadata"]))
            reason = f"the first document's requests differ{path}" if path else ""
        except Exception as error:
            reason = f"its objects are not as expected ({error!r})"
        if reason:
            self._leave(reason)
            return requests
        self._instances = instances
        assert self._documents is not None
        assert self._contexts is not None
        contexts, templates = self._contexts, vars(sys.modules[MODULE])
        self._prerenderer = TextPrerenderer(
            self._cache,
            self._text_requests,
            self._documents,
            self._record,
            templates["apply_template"],
            has_default_environment=is_default_environment(templates["env"]),
        )
        self._prerenderer.render_pool(
            contexts.pool, contexts.shots, lambda table: contexts.prepare_examples(table, self._record)
        )
        self._prerenderer.render_block(0)
        sources = [source for source, identity in self._text_requests if identity == id(doc)]
        self._count(requests, in_bulk=all(self._cache.text(source, id(doc)) is not None for source in sources))
        return requests

    def _count(self, requests: Any, *, in_bulk: bool) -> None:
        """Count a document's requests."""
        number = len(requests) if isinstance(requests, list) else 1
        if in_bulk:
            self._bulk_count += number
        else:
            self._record.by_jinja2 += number


bulk_requests = replaced_by(check_task, lambda task, record: Building(task, record).methods_replaced())
"""Takes the harness's `build_all_requests` and returns a replacement that leaves the same requests in the task."""


_PACKAGE = "lm_eval"


class Version(NamedTuple):
    """A version that the backend knows."""

    numbers: str
    """The numbers of the releases with this code."""
    files: tuple[str, ...]
    """The files that requests are built by."""
    digest: str
    """The SHA-256 of these files, one after the other, with line feeds at the ends of lines."""
    methods: dict[str, dict[str, Wrap]]
    """The replacements, as `Patches` takes them."""


VERSIONS = (
    Version(
        "0.4.13",
        ("api/task.py", "api/samplers.py", "api/instance.py", "api/utils.py", "config/task.py", "utils.py"),
        "22c5beb416429dd47a0ad72bb1dea08e7969d4f4d1703dcfd58063a8bfdc5f8f",
        {
            "lm_eval.utils": {"apply_template": cached_templates},
            "lm_eval.api.task": {"Task.build_all_requests": bulk_requests},
            **IDS_AHEAD,
        },
    ),
    Version(
        "0.5.0.dev1",
        (
            *("api/task/__init__.py", "api/task/_task.py", "api/task/_ll.py", "api/task/_generation.py"),
            *("api/samplers.py", "api/instance.py", "api/_utils.py"),
            *("config/task.py", "config/templates.py", "utils.py"),
        ),
        "ab5034b83486762b478e5ea7b3bb149fa66e3f6400c82f101b1624ee552b55d7",
        {
            "lm_eval.config.templates": {"apply_template": texts_ahead},
            "lm_eval.api.task._task": {"Task.build_all_requests": texts_ahead_of_requests},
            **IDS_AHEAD,
        },
    ),
)


def patches() -> Patches:
    """Return the replacements for the installed version; if its code isn't known, log that and return none."""
    folders = _folders()
    answers: dict[str, dict[str, Wrap]] = {"lm_eval.api.registry": {"get_model": with_answers}}
    for version in VERSIONS:
        if any(digest_of(folder, version.files) == version.digest for folder in folders):
            return Patches({**version.methods, **answers})
    numbers = " or ".join(version.numbers for version in VERSIONS)
    text = f"promptpress leaves prompts to the harness: its code isn't that of {_PACKAGE} {numbers}"
    log_once("warning", _installed(), text)
    return Patches(answers)


def digest_of(folder: Path, files: tuple[str, ...]) -> str:
    """Return the SHA-256 of some files as hexadecimal digits; an empty text if one of them can't be read."""
    digest = hashlib.sha256()
    try:
        for file in files:
            digest.update((folder / file).read_bytes().replace(b"\r\n", b"\n"))
    except (OSError, ValueError):
        return ""
    return digest.hexdigest()


def _folders() -> list[Path]:
    """Return the folder of the harness's package; none if it isn't a folder."""
    try:
        spec = importlib.util.find_spec(_PACKAGE)
        return [Path(folder) for folder in (spec and spec.submodule_search_locations) or ()][:1]
    except (ImportError, ValueError, TypeError):
        return []


def _installed() -> str:
    """Return the number of the installed version, in brackets."""
    number: str | None = None
    with suppress(Exception):  # metadata may be missing, or broken in ways of its own
        number = importlib.metadata.version(_PACKAGE)
    return f" (installed as {number})" if number else ""


_switch = Switch(HARNESSES["lm_eval"], patches)

enable = _switch.enable
disable = _switch.disable
backend = _switch.backend
