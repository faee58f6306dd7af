"""A harness's objects, looked at: what of them bulk rendering covers, and what it needs of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from promptpress._backend.call_renderer import CallRenderer
from promptpress._backend.expansions import expands
from promptpress._backend.monkeypatches import (
    NotCoveredError,
    check_attributes,
    check_no_shadows,
    check_unpatched,
    check_unpatched_class,
)
from promptpress._backend.objects import same
from promptpress._backend.prompt_source import PromptSource
from promptpress._backend.report import fall_back
from promptpress._backend.retrieved_rows import row_lists

_PROMPT_METHODS = ("generate_ice", "generate_label_prompt", "generate_prompt_for_generate_task")


@dataclass(frozen=True)
class Classes:
    """Where a harness has its classes.

    Both harnesses name them alike. A class is given as `(module, name)`.

    Args:
        dialect: The harness's dialect.
        openicl: The package of retrievers, templates and inferencers.
        models: The module of the base of models.
        api_models: The module of the base of API models.
        templates: The classes of templates, below `openicl`, and which attributes say what a template is.
    """

    dialect: str
    openicl: str
    models: str
    api_models: str
    templates: dict[tuple[str, str], tuple[str, ...]]

    @property
    def retriever(self) -> tuple[str, str]:
        """The base of retrievers."""
        return f"{self.openicl}.icl_retriever.icl_base_retriever", "BaseRetriever"

    @property
    def model(self) -> tuple[str, str]:
        """The base of models."""
        return self.models, "BaseModel"

    @property
    def lm_parser(self) -> tuple[str, str]:
        """The parser that makes texts."""
        return self.models, "LMTemplateParser"

    @property
    def api_parser(self) -> tuple[str, str]:
        """The parser that makes messages."""
        return self.api_models, "APITemplateParser"

    def parsers(self) -> tuple[type, ...]:
        """The harness's parsers, as far as they are loaded."""
        found = loaded(*self.lm_parser), loaded(*self.api_parser)
        return tuple(one for one in found if one is not None)


def loaded(module: str, name: str) -> Any:
    """A class of the harness, or None where it isn't loaded."""
    return getattr(sys.modules.get(module), name, None)


class BulkCall:
    """One call of an inferencer, as far as bulk rendering covers it.

    Args:
        retriever: The harness's retriever.
        shots: What it chose.
        ice_template: The harness's template of examples, or None.
        prompt_template: The harness's template of prompts, or None.

    Raises:
        NotCoveredError: If the harness's own code is needed for some of these.
    """

    classes: Classes

    def __init__(self, retriever: Any, shots: list[Sequence[int]], ice_template: Any, prompt_template: Any) -> None:
        check_retriever(self.classes, retriever)
        self.retriever = retriever
        self.ice_template = ice_template
        self.prompt_template = prompt_template
        reader = retriever.dataset_reader
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
        self.renderer = self.call_renderer_of(retriever.test_ds, retriever.index_ds, shots, settings, joints)
        if has_examples:
            self._check_labels()

    def call_renderer_of(self, *parts: Any) -> CallRenderer:
        """What renders the samples of the call; the arguments are `CallRenderer`'s."""
        return CallRenderer(*parts)

    def ice(self, rows: Sequence[int]) -> Any:
        """The harness's own examples."""
        raise NotImplementedError

    def joined(self, stand_in: Any, rows: Sequence[int], items: Any) -> Any:
        """What the harness's own joining makes of examples that a stand-in for its retriever holds."""
        raise NotImplementedError

    def generation_prompt(self, token: str, row: int, rows: Sequence[int]) -> Any:
        """The harness's own prompt of a generation task."""
        raise NotImplementedError

    def label_prompt(self, label: Any, row: int, rows: Sequence[int]) -> Any:
        """The harness's own prompt of a label."""
        raise NotImplementedError

    def generation(self, token: str) -> PromptSource:
        """Prompts of a generation task.

        Args:
            token: What stands for the output column.
        """
        settings = {"mode": "gen", "inferencer": {"type": "GenInferencer", "gen_field_replace_token": token}}
        return self._source(
            settings, lambda row, rows: self.generation_prompt(token, row, rows), 0, self.renderer.shots[0]
        )

    def label(self, label: Any, row: int, shots: Sequence[int]) -> PromptSource:
        """Prompts of one label.

        Args:
            label: The label.
            row: The sample to look at first.
            shots: Its examples.
        """
        settings = {"mode": "ppl", "labels": [label], **self._templates_for(label)}
        return self._source(settings, lambda row, rows: self.label_prompt(label, row, rows), row, shots)

    def _templates_for(self, label: Any) -> dict[str, Any]:
        """The templates with what the prompts of one label show of them.

        Each label has a renderer of its own: were all labels in each, a call's cost would grow with their square.
        """
        found = {}
        for name, template in (("prompt_template", self.prompt_template), ("ice_template", self.ice_template)):
            by_label = getattr(template, "template", None)
            if not isinstance(by_label, dict) or template.prompt_type != "origin" or label not in by_label:
                continue
            shown = {label}
            if name == "ice_template":
                shown |= self._example_labels
            own = {key: value for key, value in by_label.items() if key in shown}
            found[name] = {**self._settings[name], "template": own}
        return found

    @cached_property
    def _example_labels(self) -> set[Any]:
        """The labels of all rows that are examples."""
        return self.renderer.example_values(self._output_column)

    def _source(
        self, settings: dict[str, Any], build: Callable[..., Any], row: int, shots: Sequence[int]
    ) -> PromptSource:
        return PromptSource(self.renderer, settings, build, self._parser_settings, row, shots)

    def _parser_settings(self, parser: Any, shape: type) -> dict[str, Any] | None:
        """Arguments of `Renderer` for a parser and a class of prompts; None if they aren't covered."""
        try:
            check_parser(self.classes, parser)
        except NotCoveredError as reason:
            self.renderer.record.left(str(reason))
            return None
        meta = parser.meta_template
        to_messages = type(parser) is loaded(*self.classes.api_parser)
        if shape is list:
            messages = {"output": "messages", "meta_template": meta if isinstance(meta, list) else None}
            return messages if to_messages else None
        if not meta:
            return {"output": "text"}
        return {"output": "messages" if to_messages else "text", "meta_template": meta}

    @classmethod
    def template(cls, template: Any) -> dict[str, Any] | None:
        """A template as its configuration.

        Raises:
            NotCoveredError: If it isn't one of the harness's that are covered, or has been changed.
        """
        if template is None:
            return None
        known = cls.classes.templates.items()
        openicl = cls.classes.openicl
        names = next((names for (at, name), names in known if type(template) is loaded(f"{openicl}.{at}", name)), None)
        if names is None:
            raise NotCoveredError(f"the template {type(template).__name__} isn't one of those that are covered")
        settings = {name: getattr(template, name) for name in names}
        check_unpatched_class(type(template))
        check_no_shadows(template)
        check_attributes(template, lambda: type(template)(**settings), same)
        return {"type": type(template).__name__, **settings}

    def _check_examples(self) -> None:
        """Leave to the harness what it will raise somewhere between the first sample and the last."""
        if self.ice_template is None or self._output_column not in self.retriever.index_ds.column_names:
            raise NotCoveredError("examples without a template, or without an output column")

    def _check_labels(self) -> None:
        """The same, for examples of which each has the template of its label."""
        template = getattr(self.ice_template, "template", None)
        if isinstance(template, dict) and self.ice_template.prompt_type == "origin":
            kinds = {type(one) for one in template.values()}
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
    """What bulk rendering needs for a call.

    Args:
        kind: The harness.
        model: The harness's model.
        model_methods: The methods of the model that the call hands prompts to. They have to be the harness's own.
        retriever: The harness's retriever.
        shots: What it chose.
        ice_template: The harness's template of examples, or None.
        prompt_template: The harness's template of prompts, or None.
        is_written: Whether the loop puts shorter lists into `shots`.

    Returns:
        None, after a word in the log, if it isn't covered, or if there is nothing to render.
    """
    try:
        chosen = row_lists(shots, is_written=is_written)
        if not chosen:
            return None
        _check_model(kind.classes, model, model_methods)
        return kind(retriever, chosen, ice_template, prompt_template)
    except NotCoveredError as reason:
        fall_back(str(reason))
    except Exception as error:
        fall_back(f"its objects are not as expected ({error!r})")
    return None


def check_retriever(classes: Classes, retriever: Any) -> None:
    """Check that a retriever makes prompts and examples as the harness's base class does.

    Raises:
        NotCoveredError: If it doesn't.
    """
    base = loaded(*classes.retriever)
    if base is None or not isinstance(retriever, base):
        raise NotCoveredError("the retriever isn't one of the harness's")
    for name in _PROMPT_METHODS:
        if getattr(type(retriever), name) is not getattr(base, name) or name in vars(retriever):
            raise NotCoveredError(f"{type(retriever).__name__} has a {name} of its own")
        check_unpatched(base.__module__, f"{base.__name__}.{name}")


def check_parser(classes: Classes, parser: Any) -> None:
    """Check that a parser is one of the harness's, as it comes from its constructor.

    Raises:
        NotCoveredError: If it isn't.
    """
    kind = type(parser)
    if kind not in classes.parsers():
        raise NotCoveredError(f"the parser {kind.__name__} isn't one of the harness's")
    check_unpatched_class(kind)
    check_no_shadows(parser)
    check_attributes(parser, lambda: kind(parser.meta_template), same)


def check_inferencer(inferencer: Any, *methods: str) -> None:
    """Check that an inferencer has methods of its class's file.

    Args:
        inferencer: The harness's inferencer.
        methods: Their names.

    Raises:
        NotCoveredError: If one is another.
    """
    kind = type(inferencer)
    for name in methods:
        owner = next(base for base in kind.__mro__ if name in vars(base))
        if name in vars(inferencer):
            raise NotCoveredError(f"the {kind.__name__} has a {name} of its own")
        check_unpatched(owner.__module__, f"{owner.__name__}.{name}")


def _check_model(classes: Classes, model: Any, model_methods: Sequence[str]) -> None:
    base = loaded(*classes.model)
    for name in ("parse_template", *model_methods):
        found = getattr(type(model), name, None)
        if (found is not None and found is not getattr(base, name)) or name in getattr(model, "__dict__", ()):
            raise NotCoveredError(f"{type(model).__name__} has a {name} of its own")
        if found is not None:
            check_unpatched(base.__module__, f"{base.__name__}.{name}")
    parser = getattr(model, "template_parser", None)
    if parser is not None:
        check_parser(classes, parser)
