"""One call of a harness's inferencer: checks that bulk rendering covers its objects, and renders its prompts."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from promptpress import Renderer
from pyarrow import types

from promptpress_harness.bulk.call_renderer import CallRenderer, RowFilling, filled_base
from promptpress_harness.bulk.dataset import Rows, row_lists
from promptpress_harness.bulk.monkeypatches import (
    NotCoveredError,
    check_as_constructed,
    check_unpatched,
    class_with_code,
)
from promptpress_harness.bulk.rendering import PromptSource
from promptpress_harness.bulk.report import current_record, fall_back
from promptpress_harness.registry import loaded

_RAW_PROMPT_TYPE = "raw_messages"
_MESSAGE_KEYS = {"role", "content"}


def expands(template: Any) -> bool:
    """Return true if messages of a template come from a column."""
    return any(_is_expanded(message) for message in getattr(template, "messages", ()))


def _is_expanded(message: Any) -> bool:
    return isinstance(message, dict) and "expand_column" in message


class ExpandingCallRenderer(CallRenderer):
    """Renders messages, some of which are expanded from columns.

    A message has the class and the keys of the configuration's message, or those of the column's value, and no Arrow
    type holds both. So texts are rendered in bulk, a column for each message, and a prompt is put together from them.
    """

    def __init__(self, prompt_template: Any, ice_template: Any, *parts: Any) -> None:
        super().__init__(*parts)
        templates = [template for template in (prompt_template, ice_template) if template is not None]
        if any(template.prompt_type != _RAW_PROMPT_TYPE for template in templates):
            raise NotCoveredError("messages that are expanded from a column, beside a template of another kind")
        self._prompts = _Messages(templates[0], self.samples)
        self._ice_token = templates[0].ice_token
        self._example_messages: dict[int, list[Any]] = {}
        if self._examples is not None:
            filled = _Messages(ice_template, self.example_rows).filled(self._examples)
            # In examples a bare string is no message.
            self._example_messages = {
                row: [message for message in filled(index) if not isinstance(message, str)]
                for row, index in self._example_indexes.items()
            }

    def render(self, arguments: dict[str, Any], key: Any, start: int, shots: list[Sequence[int]]) -> Any:  # noqa: ARG002
        # The harness's prompts of labels leave examples out.
        examples = [()] * len(shots) if arguments["mode"] == "ppl" else shots
        return self._prompts.filled(self.samples.slice(start, start + len(shots))), examples

    def kind_of(self, arguments: dict[str, Any], request: Any) -> Callable[[Any], Any]:  # noqa: ARG002
        return list

    def requests_of(self, arguments: dict[str, Any], prompts: Any, kind: Callable[[Any], Any]) -> Callable[[int], Any]:  # noqa: ARG002
        filled, shots = prompts
        is_merged = arguments["meta_template"] is not None

        def request(index: int) -> Any:
            messages: list[Any] = []
            for message in filled(index):
                if not isinstance(message, str):
                    messages.append(message)
                elif message == self._ice_token:
                    examples = [self._example_messages[row] for row in shots[index]]
                    messages += copy.deepcopy(list(chain.from_iterable(examples)))
            return arguments["finish"](messages) if is_merged else messages

        return request


class _Messages:
    """The messages of one template, filled from one dataset."""

    def __init__(self, template: Any, rows: Rows) -> None:
        self._messages = template.messages
        self._renderers: dict[int, Renderer] = {}
        for n, message in enumerate(self._messages):
            if not isinstance(message, dict):
                continue
            if _is_expanded(message):
                if message["expand_column"] in rows.schema.names:
                    _check_column(message["expand_column"], rows.column(message["expand_column"]))
            elif not message.keys() >= _MESSAGE_KEYS:
                raise NotCoveredError("a message of the configuration has no role or no content")
            elif template.format_variables and isinstance(message["content"], str):
                filling = {"type": "PromptTemplate", "template": message["content"]}
                self._renderers[n] = Renderer(filling, output="text", mode="gen")

    def filled(self, table: pa.Table) -> Callable[[int], Iterator[Any]]:
        """Return a function that yields a row's messages, each a new object, and the bare strings among them."""
        texts = {n: renderer.render(table)["prompt"].to_pylist() for n, renderer in self._renderers.items()}
        names = {message["expand_column"] for message in self._messages if _is_expanded(message)}
        columns = {name: table[name] for name in names if name in table.column_names}

        def messages(index: int) -> Iterator[Any]:
            for n, message in enumerate(self._messages):
                if not isinstance(message, dict):
                    yield message
                elif not _is_expanded(message):
                    filled = copy.deepcopy(message)
                    if n in texts:
                        filled["content"] = texts[n][index]
                    yield filled
                elif message["expand_column"] in columns:
                    yield from columns[message["expand_column"]][index].as_py() or ()

        return messages


def _check_column(name: str, column: pa.ChunkedArray) -> None:
    """Raise NotCoveredError if a parser can fail at a row of a column."""
    kind = column.type
    if not (types.is_list(kind) or types.is_large_list(kind)) or not types.is_struct(kind.value_type):
        raise NotCoveredError(f"the column {name!r}, from which messages are expanded, isn't one of lists of them")
    fields = {kind.value_type.field(n).name for n in range(kind.value_type.num_fields)}
    if not fields >= _MESSAGE_KEYS or any(pc.list_flatten(chunk).null_count for chunk in column.chunks):
        raise NotCoveredError(f"messages in the column {name!r} are missing, or their role or content")


T = TypeVar("T")

_PROMPT_METHODS = ("generate_ice", "generate_label_prompt", "generate_prompt_for_generate_task")


@dataclass(frozen=True)
class Classes:
    """The modules and classes of a harness; other names are the same in both harnesses."""

    dialect: str
    openicl: str
    """The package of retrievers, templates and inferencers."""
    models: str
    """The module of the base class of models."""
    api_models: str
    """The module of the base class of API models."""
    templates: dict[tuple[str, str], tuple[str, ...]]
    """The attributes that define a template, keyed by its module below `openicl` and its class."""
    passes_templates: bool
    """True if inferencers pass the templates to the retriever's methods; otherwise the retriever has them."""

    def retriever(self) -> Any:
        """Return the base class of retrievers, or None if it isn't loaded."""
        return loaded(f"{self.openicl}.icl_retriever.icl_base_retriever", "BaseRetriever")

    def api_parser(self) -> Any:
        """Return the class of parsers that make messages, or None if it isn't loaded."""
        return loaded(self.api_models, "APITemplateParser")

    def parsers(self) -> set[Any]:
        """Return the classes of the harness's parsers that are loaded."""
        return {loaded(self.models, "LMTemplateParser"), self.api_parser()} - {None}


class BulkCall:
    """One call of an inferencer that bulk rendering covers; NotCoveredError if a part needs the harness's code."""

    classes: Classes

    def __init__(self, retriever: Any, shots: list[Sequence[int]], ice_template: Any, prompt_template: Any) -> None:
        check_retriever(self.classes, retriever)
        self.retriever = retriever
        self.ice_template = ice_template
        self.prompt_template = prompt_template
        reader = retriever.dataset_reader
        self._filling = self._filling_of(prompt_template, reader.output_column)
        settings: dict[str, Any] = {
            "prompt_template": self.template(prompt_template),
            "ice_template": self.template(ice_template),
            "reader": {"input_columns": list(reader.input_columns), "output_column": reader.output_column},
            "dialect": self.classes.dialect,
        }
        self._settings = settings
        self.expands = expands(prompt_template) or expands(ice_template)
        joints = {"ice_separator": retriever.ice_separator, "ice_eos_token": retriever.ice_eos_token}
        has_examples = any(shots)
        if has_examples:
            self._check_examples()
            if self._filling is not None:
                raise NotCoveredError(f"examples next to the template {type(prompt_template).__name__}")
        self.renderer = self.call_renderer_of(retriever.test_ds, retriever.index_ds, shots, settings, joints)
        if has_examples:
            self._check_labels()

    def call_renderer_of(self, *parts: Any) -> CallRenderer:
        """Return the renderer of the call's samples; the arguments are `CallRenderer`'s."""
        return CallRenderer(*parts)

    def ice(self, rows: Sequence[int]) -> Any:
        """Return the examples as the harness makes them."""
        return self.retriever.generate_ice(rows, **self._passed("ice_template"))

    def joined(self, stand_in: Any, rows: Sequence[int]) -> Any:
        """Return examples joined by the harness's own method, with a stand-in for its retriever and its template."""
        passed = {"ice_template": stand_in.ice_template} if self.classes.passes_templates else {}
        return self.classes.retriever().generate_ice(stand_in, rows, **passed)

    def generation_prompt(self, token: str, row: int, rows: Sequence[int]) -> Any:
        """Return a prompt of a generation task as the harness makes it."""
        templates = self._passed("ice_template", "prompt_template")
        return self.retriever.generate_prompt_for_generate_task(
            row, self.ice(rows), gen_field_replace_token=token, **templates
        )

    def label_prompt(self, label: Any, row: int, rows: Sequence[int]) -> Any:
        """Return the prompt of a label as the harness makes it."""
        templates = self._passed("ice_template", "prompt_template")
        return self.retriever.generate_label_prompt(row, self.ice(rows), label, **templates)

    def _passed(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names} if self.classes.passes_templates else {}

    def generation(self, token: str) -> PromptSource:
        """Return the prompts of a generation task, in which `token` stands for the output column."""
        build = partial(self.generation_prompt, token)
        settings = {"mode": "gen", "inferencer": {"type": "GenInferencer", "gen_field_replace_token": token}}
        if self._filling is not None:
            self.renderer.filling = self._filling
            names = self._filling.table(self.renderer.samples.slice(0, 1)).column_names[:-1]
            settings["reader"] = {"input_columns": names, "output_column": self._output_column}
        return PromptSource(self.renderer, settings, build, self._parser_settings, 0, self.renderer.shots[0])

    def label(self, label: Any, row: int, shots: Sequence[int]) -> PromptSource:
        """Return the prompts of one label; the harness's code makes that of `row` too, with its examples."""
        build = partial(self.label_prompt, label)
        settings = {"mode": "ppl", "labels": [label], **self._templates_for(label)}
        return PromptSource(self.renderer, settings, build, self._parser_settings, row, shots)

    def _templates_for(self, label: Any) -> dict[str, Any]:
        """Return the templates, reduced to the labels that the prompts of one label show.

        Each label has a renderer of its own: were all labels in each, a call's cost would grow with their square.
        """
        templates = {}
        for name, template in (("prompt_template", self.prompt_template), ("ice_template", self.ice_template)):
            by_label = getattr(template, "template", None)
            if not isinstance(by_label, dict) or template.prompt_type != "origin" or label not in by_label:
                continue
            labels = {label}
            if name == "ice_template":
                labels |= self._example_labels
            reduced = {key: value for key, value in by_label.items() if key in labels}
            templates[name] = {**self._settings[name], "template": reduced}
        return templates

    @cached_property
    def _example_labels(self) -> set[Any]:
        """The labels of all examples."""
        return self.renderer.example_values(self._output_column)

    def _parser_settings(self, parser: Any, shape: type) -> dict[str, Any] | None:
        """Return arguments of `Renderer` for a parser and a class of prompts; None if they aren't covered."""
        try:
            check_parser(self.classes, parser)
        except NotCoveredError as reason:
            self.renderer.record.left(str(reason))
            return None
        meta = parser.meta_template
        to_messages = type(parser) is self.classes.api_parser()
        if shape is list:
            messages = {"output": "messages", "meta_template": meta if isinstance(meta, list) else None}
            return messages if to_messages else None
        if not meta:
            return {"output": "text"}
        return {"output": "messages" if to_messages else "text", "meta_template": meta}

    @classmethod
    def template(cls, template: Any) -> dict[str, Any] | None:
        """Return a template as its configuration; raise NotCoveredError for another class, or a changed template."""
        if template is None:
            return None
        openicl = cls.classes.openicl
        covered = {loaded(f"{openicl}.{path}", name): names for (path, name), names in cls.classes.templates.items()}
        kind = class_with_code(type(template))
        base = filled_base(kind, covered)
        kind = base or kind
        names = covered.get(kind)
        if names is None:
            raise NotCoveredError(f"the template {type(template).__name__} isn't one of those that are covered")
        settings = {name: getattr(template, name) for name in names}
        if base is None:  # `RowFilling` checks the others
            check_as_constructed(template, **settings)
        return {"type": kind.__name__, **settings}

    def _filling_of(self, template: Any, output_column: Any) -> RowFilling | None:
        """Return what makes rows for a template, if its class does; None if the rows are the samples."""
        templates = {loaded(f"{self.classes.openicl}.{path}", name) for path, name in self.classes.templates} - {None}
        base = filled_base(class_with_code(type(template)), templates)
        return None if base is None else RowFilling(template, base, output_column)

    def _check_examples(self) -> None:
        """Refuse examples for which the harness raises an error at some sample."""
        if self.ice_template is None or self._output_column not in self.retriever.index_ds.column_names:
            raise NotCoveredError("examples without a template, or without an output column")

    def _check_labels(self) -> None:
        """Refuse examples whose label has no template, or one of another class than the others."""
        template = getattr(self.ice_template, "template", None)
        if isinstance(template, dict) and self.ice_template.prompt_type == "origin":
            kinds = {type(text) for text in template.values()}
            if len(kinds) > 1 or not self._example_labels <= template.keys():
                raise NotCoveredError("templates of examples differ in kind, or a label has none")

    @property
    def _output_column(self) -> Any:
        return self.retriever.dataset_reader.output_column


def bulk_call_of(  # noqa: PLR0917 - a call, as the harness makes it
    kind: type[BulkCall],
    model: Any,
    model_methods: Sequence[str],
    retriever: Any,
    shots: Any,
    ice_template: Any,
    prompt_template: Any,
    *,
    is_written: bool = False,
) -> BulkCall | None:
    """Return the call in bulk; None, with the reason in the log, if it isn't covered, and None if it has no samples.

    `model_methods` are the model's methods that get prompts, besides `parse_template`; they must be the harness's own.
    `is_written` is true if the harness's loop puts shorter lists into `shots`.
    """
    try:
        rows = row_lists(shots, is_written=is_written)
        if not rows:
            return None
        _check_model(kind.classes, model, model_methods)
        return kind(retriever, rows, ice_template, prompt_template)
    except NotCoveredError as reason:
        fall_back(str(reason))
    except Exception as error:
        fall_back(f"its objects are not as expected ({error!r})")
    return None


def try_bulk(make: Callable[[], T], count: int) -> T | None:
    """Return what `make` returns for `count` prompts in bulk; None, with the reason in the log, if it raises."""
    try:
        result = make()
    except NotCoveredError as reason:
        fall_back(str(reason))
    except Exception as error:
        fall_back(f"rendering failed ({error})")
    else:
        current_record().rendered(count)
        return result
    return None


def check_retriever(classes: Classes, retriever: Any) -> None:
    """Raise NotCoveredError unless a retriever makes prompts and examples as the harness's base class does."""
    base = classes.retriever()
    if base is None or not isinstance(retriever, base):
        raise NotCoveredError("the retriever isn't one of the harness's")
    for name in _PROMPT_METHODS:
        if getattr(type(retriever), name) is not getattr(base, name) or name in vars(retriever):
            raise NotCoveredError(f"{type(retriever).__name__} has a {name} of its own")
        check_unpatched(base.__module__, f"{base.__name__}.{name}")


def check_parser(classes: Classes, parser: Any) -> None:
    """Raise NotCoveredError unless a parser is of a harness's class and as its constructor made it."""
    kind = type(parser)
    if kind not in classes.parsers():
        raise NotCoveredError(f"the parser {kind.__name__} isn't one of the harness's")
    check_as_constructed(parser, parser.meta_template)


def check_inferencer(inferencer: Any, *methods: str) -> None:
    """Raise NotCoveredError unless some methods of an inferencer are those in the file of its class."""
    kind = type(inferencer)
    for name in methods:
        owner = next(base for base in kind.__mro__ if name in vars(base))
        if name in vars(inferencer):
            raise NotCoveredError(f"the {kind.__name__} has a {name} of its own")
        check_unpatched(owner.__module__, f"{owner.__name__}.{name}")


def _check_model(classes: Classes, model: Any, model_methods: Sequence[str]) -> None:
    base = loaded(classes.models, "BaseModel")
    for name in ("parse_template", *model_methods):
        method = getattr(type(model), name, None)
        if (method is not None and method is not getattr(base, name)) or name in getattr(model, "__dict__", ()):
            raise NotCoveredError(f"{type(model).__name__} has a {name} of its own")
        if method is not None:
            check_unpatched(base.__module__, f"{base.__name__}.{name}")
    parser = getattr(model, "template_parser", None)
    if parser is not None:
        check_parser(classes, parser)
