"""OpenCompass's objects, looked at: what of them bulk rendering covers, and what it needs of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from promptpress._backend.course import Course
from promptpress._backend.dataset import NotCoveredError
from promptpress._backend.log import fall_back
from promptpress._backend.source import Source

PROMPTS = "opencompass.openicl.icl_prompt_template"
RAW_PROMPTS = "opencompass.openicl.icl_raw_prompt_template"
RETRIEVER = "opencompass.openicl.icl_retriever.icl_base_retriever"
MODEL = "opencompass.models.base"
API_MODEL = "opencompass.models.base_api"

_RETRIEVING = ("generate_ice", "generate_label_prompt", "generate_prompt_for_generate_task")
_PARSING = (
    "parse_template",
    "generate_from_template",
    "get_ppl_from_template",
    "get_token_len_from_template",
)


def own(module: str, name: str) -> Any:
    """A class of the harness, or None where it isn't loaded."""
    return getattr(sys.modules.get(module), name, None)


class Run:
    """One call of an inferencer.

    Args:
        retriever: The harness's retriever.
        shots: What it chose.
        ice_template: The harness's template of examples, or None.
        prompt_template: The harness's template of prompts, or None.

    Raises:
        NotCoveredError: If the harness's own code is needed for some of these.
    """

    def __init__(self, retriever: Any, shots: list[Sequence[int]], ice_template: Any, prompt_template: Any) -> None:
        _check_retriever(retriever)
        self.retriever = retriever
        self.ice_template = ice_template
        self.prompt_template = prompt_template
        reader = retriever.dataset_reader
        settings = {
            "prompt_template": _template(prompt_template),
            "ice_template": _template(ice_template),
            "reader": {"input_columns": list(reader.input_columns), "output_column": reader.output_column},
        }
        joints = {"ice_separator": retriever.ice_separator, "ice_eos_token": retriever.ice_eos_token}
        if any(shots):
            self._check_examples(shots)
        self.course = Course(retriever.test_ds, retriever.index_ds, shots, settings, joints)

    def _check_examples(self, shots: list[Sequence[int]]) -> None:
        """Leave to the harness what it will raise somewhere between the first sample and the last."""
        column = self.retriever.dataset_reader.output_column
        if self.ice_template is None or column not in self.retriever.index_ds.column_names:
            raise NotCoveredError("examples without a template, or without an output column")
        template = getattr(self.ice_template, "template", None)
        if isinstance(template, dict) and self.ice_template.prompt_type == "origin":
            kinds = {type(one) for one in template.values()}
            lists = {id(rows): rows for rows in shots}.values()
            labels = {self.retriever.index_ds[row][column] for rows in lists for row in set(rows)}
            if len(kinds) > 1 or not labels <= template.keys():
                raise NotCoveredError("templates of examples differ in kind, or a label has none")

    def ice(self, rows: Sequence[int]) -> Any:
        """The harness's own examples."""
        return self.retriever.generate_ice(rows, ice_template=self.ice_template)

    def generation(self, token: str, row: int = 0) -> Source:
        """Prompts of a generation task.

        Args:
            token: What stands for the output column.
            row: The sample to look at first.
        """

        def build(row: int, rows: Sequence[int]) -> Any:
            return self.retriever.generate_prompt_for_generate_task(
                row,
                self.ice(rows),
                gen_field_replace_token=token,
                ice_template=self.ice_template,
                prompt_template=self.prompt_template,
            )

        settings = {"mode": "gen", "inferencer": {"type": "GenInferencer", "gen_field_replace_token": token}}
        return Source(self.course, settings, build, parser_settings, row, self.course.shots[row])

    def label(self, label: Any, row: int, shots: Sequence[int]) -> Source:
        """Prompts of one label.

        Args:
            label: The label.
            row: The sample to look at first.
            shots: Its examples.
        """

        def build(row: int, rows: Sequence[int]) -> Any:
            return self.retriever.generate_label_prompt(
                row,
                self.ice(rows),
                label,
                ice_template=self.ice_template,
                prompt_template=self.prompt_template,
                remain_sep=False,
            )

        settings = {"mode": "ppl", "labels": [label]}
        return Source(self.course, settings, build, parser_settings, row, shots)


def run_of(model: Any, retriever: Any, shots: Any, ice_template: Any, prompt_template: Any) -> Run | None:
    """What bulk rendering needs for a call; None, and a word in the log, if it isn't covered."""
    try:
        _check_model(model)
        return Run(retriever, shots, ice_template, prompt_template)
    except NotCoveredError as reason:
        fall_back(str(reason))
    except Exception as error:  # noqa: BLE001 - whatever is odd about the harness's objects is the harness's to say
        fall_back(f"its objects are not as expected ({error!r})")
    return None


def _check_retriever(retriever: Any) -> None:
    base = own(RETRIEVER, "BaseRetriever")
    if base is None or not isinstance(retriever, base):
        raise NotCoveredError("the retriever isn't one of the harness's")
    for name in _RETRIEVING:
        if getattr(type(retriever), name) is not getattr(base, name) or name in vars(retriever):
            raise NotCoveredError(f"{type(retriever).__name__} has a {name} of its own")


def _check_model(model: Any) -> None:
    base = own(MODEL, "BaseModel")
    for name in _PARSING:
        found = getattr(type(model), name, None)
        if (found is not None and found is not getattr(base, name)) or name in getattr(model, "__dict__", ()):
            raise NotCoveredError(f"{type(model).__name__} has a {name} of its own")
    parser = getattr(model, "template_parser", None)
    if parser is not None and type(parser) not in parsers():
        raise NotCoveredError(f"the parser {type(parser).__name__} isn't one of the harness's")


def parsers() -> tuple[type, ...]:
    """The harness's parsers, as far as they are loaded."""
    found = own(MODEL, "LMTemplateParser"), own(API_MODEL, "APITemplateParser")
    return tuple(one for one in found if one is not None)


def parser_settings(parser: Any, shape: type) -> dict[str, Any] | None:
    """Arguments of `Renderer` for a parser.

    Args:
        parser: The harness's parser.
        shape: The class of the prompts that it gets.
    """
    if type(parser) not in parsers() or "parse_template" in vars(parser):
        return None
    meta = parser.meta_template
    to_messages = type(parser) is own(API_MODEL, "APITemplateParser")
    if shape is list:
        return {"output": "messages", "meta_template": meta if isinstance(meta, list) else None} if to_messages else None
    if not meta:
        return {"output": "text"}
    return {"output": "messages" if to_messages else "text", "meta_template": meta}


def _template(template: Any) -> dict[str, Any] | None:
    if template is None:
        return None
    if type(template) is own(PROMPTS, "PromptTemplate"):
        names = ("template", "ice_token", "sep_token")
    elif type(template) is own(RAW_PROMPTS, "RawPromptTemplate"):
        names = ("messages", "format_variables", "ice_token")
        if any(isinstance(one, dict) and "expand_column" in one for one in template.messages):
            raise NotCoveredError("messages are expanded from a column")
    else:
        raise NotCoveredError(f"the template {type(template).__name__} isn't one of the harness's")
    methods = [name for name, value in vars(template).items() if callable(value)]
    if methods:
        raise NotCoveredError(f"the template has a {methods[0]} of its own")
    return {"type": type(template).__name__, **{name: getattr(template, name) for name in names}}
