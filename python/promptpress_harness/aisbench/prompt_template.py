"""AISBench's templates, for text and for prompts with media, and the hash of a prompt configuration."""

# ruff: noqa: ARG002 - the arguments are the harness's

from __future__ import annotations

import ast
import copy
import logging
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeVar

from promptpress.engine.errors import render_error
from promptpress.typing import ConfigLike

from promptpress_harness.aisbench.exceptions import fault
from promptpress_harness.aisbench.prompt_list import (
    END_TAG,
    FIELDS,
    HOLDERS,
    TAGS,
    PromptList,
    copied_entry,
    get_round_index,
    tagged_payloads,
)
from promptpress_harness.single.prompt_list import safe_format
from promptpress_harness.single.prompt_template import BaseTemplate, FilledTemplate, hash_of

T = TypeVar("T")


class BasePromptTemplate(BaseTemplate):
    """The base of AISBench's templates.

    Args:
        template: A string; a dialogue, whose keys are among `begin`, `round` and `end`; or a label map.
        ice_token: The text that stands for the examples.
        sep_token: The text that is removed from prompts.
        documented: Follow the documents where the harness's code fails: `end` of a dialogue has a marker of its own.

    Raises:
        AISBenchValueError: For a value that can't be a template, and for a string without the ice_token.
        AISBenchInvalidTypeException: For tokens that are no str.

    Example:
        >>> isinstance(PromptTemplate("Q: {q}"), BasePromptTemplate)
        True
    """

    _faults = {  # noqa: RUF012
        "template": fault("AISBenchValueError", "ICLR-TYPE-001"),
        "token": fault("AISBenchInvalidTypeException", "UTILS-TYPE-001"),
        "value": fault("AISBenchValueError", "ICLR-TYPE-002"),
        "no ice token": fault("AISBenchValueError", "ICLR-PARAM-001"),
        "not here": fault("AISBenchImplementationError", "ICLR-UNK-001"),
        "entries": fault("AISBenchValueError", "ICLR-PARAM-003"),
    }
    _list = PromptList

    def __init__(
        self, template: Any, ice_token: str | None = None, sep_token: str | None = None, *, documented: bool = False
    ) -> None:
        self.logger = logging.getLogger("ais_bench")
        super().__init__(template, ice_token, sep_token, documented=documented)

    def generate_ice_item(self, entry: Any, label: Hashable) -> Any:
        """Return one example.

        Args:
            entry: The row of the train split.
            label: The value of its output column.

        Returns:
            A string or a prompt list.

        Raises:
            AISBenchImplementationError: By templates that don't override it.
        """
        raise self._faults["not here"](f"{self._name()} makes no examples")

    def generate_label_prompt_item(self, entry: Any, ice: Any, label: Hashable, remain_sep: bool | None = False) -> Any:
        """Return the prompt of a sample for one label.

        Args:
            entry: The sample.
            ice: Its examples.
            label: The label.
            remain_sep: True if `sep_token` stays.

        Returns:
            A string or a prompt list.

        Raises:
            AISBenchImplementationError: By templates that don't override it.
        """
        raise self._faults["not here"](f"{self._name()} makes no prompts for labels")

    def generate_item(
        self,
        entry: Any,
        output_field: Hashable | None = None,
        output_field_replace_token: Any = "",
        ice_field_replace_token: Any = "",
    ) -> Any:
        """Return the prompt of a sample, for generation.

        Args:
            entry: The sample.
            output_field: The field of the answer. Only templates of strings and labels use it and what follows.
            output_field_replace_token: The text in place of the answer.
            ice_field_replace_token: The examples.

        Returns:
            A string or a prompt list.

        Raises:
            AISBenchImplementationError: By templates that don't override it.
        """
        raise self._faults["not here"](f"{self._name()} makes no prompts")

    def _check_prompt_template(self: T) -> T:
        """Return the object if it is a template; the harness calls this on the class."""
        if not isinstance(self, BasePromptTemplate):
            raise BasePromptTemplate._faults["template"](f"a template is needed, not {type(self).__name__}")
        return self


class PromptTemplate(FilledTemplate, BasePromptTemplate):
    """A template of strings, dialogues or labels; its arguments are `BasePromptTemplate`'s.

    Example:
        >>> template = PromptTemplate({"A": "{q} yes", "B": "{q} no"})
        >>> template.generate_label_prompt_item({"q": 1}, "", "B")
        '1 no'
    """


class MultiTurnPromptTemplate(BasePromptTemplate):
    """A dialogue template whose round is spoken once for each turn; its arguments are `BasePromptTemplate`'s.

    A sample's `question` and `answer` are lists, and the shorter one counts. They are filled into the round alone, and
    nothing else is. A template with strings among its items is an AttributeError.

    Example:
        >>> turn = [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]
        >>> template = MultiTurnPromptTemplate({"round": turn})
        >>> prompt = template.generate_item({"question": ["1?", "2?"], "answer": ["1", "2"]})
        >>> [item["prompt"] for item in prompt if "prompt" in item]
        ['1?', '1', '2?', '2']
    """

    def generate_item(
        self,
        entry: Any,
        output_field: Hashable | None = None,
        output_field_replace_token: Any = "",
        ice_field_replace_token: Any = "",
    ) -> PromptList:
        prompt = self._encode_template(self.template, ice=False)
        start, end = get_round_index(prompt)
        turn = PromptList(prompt[start:end], documented=self.documented)
        turns = PromptList(documented=self.documented)
        for question, answer in zip(entry["question"], entry["answer"], strict=False):
            turns += turn.format(question=question, answer=answer)
        return PromptList([*prompt[:start], *turns, *prompt[end:]], documented=self.documented)


_SCHEMES = ("file://", "http://", "https://", "data:")


class MMPromptTemplate(BasePromptTemplate):
    """A dialogue template whose turns show texts, images, videos and sounds; its arguments are `BasePromptTemplate`'s.

    A sample's `content` is a tagged text, which becomes the parts in `prompt_mm`. Without it, or without an entry in
    `prompt_mm` for a modality, there is a KeyError. With `documented`, a sample without `content` is rendered as the
    documents say, with a RenderError for a sample with no tagged text or with two: see docs/fidelity.md.

    Example:
        >>> entries = {"text": {"type": "text", "text": "{question}"}}
        >>> template = MMPromptTemplate({"round": [{"role": "HUMAN", "prompt_mm": entries}]})
        >>> template.generate_item({"content": "<AIS_TEXT_START>Hi<AIS_CONTENT_TAG>"})[1]
        {'role': 'HUMAN', 'prompt_mm': [{'type': 'text', 'text': 'Hi'}]}
    """

    def check_mm_template(self) -> bool:
        """Return true if every turn of the round has a `prompt_mm`.

        Returns:
            False too if the template is no dialogue with a `round`.

        Example:
            >>> MMPromptTemplate({"round": [{"role": "HUMAN", "prompt": "Hi"}]}).check_mm_template()
            False
        """
        if not isinstance(self.template, dict) or "round" not in self.template:
            return False
        return all("prompt_mm" in turn.keys() for turn in self.template["round"])  # noqa: SIM118 - of turns alone

    def format_mm_url(self, template: Any, entry: Any) -> Any:
        """Return a copy of a template; if `documented`, the key `mm_url` gets a name by the sample's `type`.

        The harness intends that in all cases, but never does it. It isn't done for a sample with `content`.

        Args:
            template: A dialogue template.
            entry: The sample.

        Returns:
            The copy.

        Example:
            >>> template = {"round": [{"role": "HUMAN", "prompt_mm": {"mm_url": "{url}"}}]}
            >>> MMPromptTemplate(template, documented=True).format_mm_url(template, {"type": "image"})
            {'round': [{'role': 'HUMAN', 'prompt_mm': {'image_url': '{url}'}}]}
        """
        out = copy.deepcopy(template)
        for turn in out["round"]:
            if "prompt_mm" in turn.keys() and self.documented and "content" not in entry:  # noqa: SIM118 - of turns alone
                entries = turn["prompt_mm"]
                if isinstance(entries, dict) and "mm_url" in entries:
                    entries[entry["type"] + "_url"] = entries.pop("mm_url")
        return out

    def get_mm_template(self, item: Any) -> list[Any]:
        """Return the parts of a turn's `prompt_mm`: a list as it is, and a dict of texts and URLs one by one.

        Args:
            item: The turn.

        Returns:
            The parts; a value that is written as a list becomes a part for each of its URLs.

        Raises:
            AISBenchValueError: For a key that names no part.

        Example:
            >>> MMPromptTemplate({"round": []}).get_mm_template({"prompt_mm": {"image_url": "['a', 'b']"}})
            [{'type': 'image_url', 'image_url': 'a'}, {'type': 'image_url', 'image_url': 'b'}]
        """
        entries = item["prompt_mm"]
        if isinstance(entries, list):
            return entries
        out = []
        for key in entries.keys():  # noqa: SIM118 - of dicts alone
            if key not in HOLDERS.values():
                raise self._faults["entries"](f"prompt_mm has {', '.join(HOLDERS.values())}, and not {key}")
            value = entries[key]
            is_list = value.startswith("[") and value.endswith("]")
            out += [{"type": key, key: text} for text in (ast.literal_eval(value) if is_list else [value])]
        return out

    def generate_item(
        self,
        entry: Any,
        output_field: Hashable | None = None,
        output_field_replace_token: Any = "",
        ice_field_replace_token: Any = "",
    ) -> Any:
        if not self.check_mm_template():
            self.logger.warning("Not every turn of the round has a prompt_mm: %s", self.template)
        if self.documented and "content" not in entry:
            prompt = self._encode_template(copy.deepcopy(self.template), ice=False)
            return _filled_as_documented(prompt, entry)
        prompt = self._encode_template(self.format_mm_url(self.template, entry), ice=False).format_mm(**entry)
        for n, item in enumerate(prompt):
            if "prompt_mm" in item:
                prompt[n]["prompt_mm"] = self.get_mm_template(item)
        return prompt


def _filled_as_documented(prompt: PromptList, sample: Mapping[str, Any]) -> PromptList:
    """Fill a prompt list in place, as AISBench's documents describe it for a sample without a column `content`.

    Media go into the turns, and fields into the bare strings. RenderError is raised for a sample with no tagged text or
    with two, for a modality without an entry, and for an `mm_url` whose sample has no known `type`.
    """
    for n, item in enumerate(prompt):
        if isinstance(item, dict):
            if "prompt_mm" in item:
                item["prompt_mm"] = _documented_parts(item["prompt_mm"], sample)
        else:
            prompt[n] = safe_format(item, **sample)
    return prompt


def _documented_parts(entries: Any, sample: Mapping[str, Any]) -> list[Any]:
    if all(isinstance(entry, str) for entry in entries.values()):
        return _listed(entries, sample)
    column = _tagged_column(sample)
    others = {name: str(value) for name, value in sample.items() if name != column}
    parts = []
    for modality, payload in tagged_payloads(sample[column]):
        if modality not in entries:
            message = f"prompt_mm has no entry for {modality!r}, which the column {column!r} holds"
            raise render_error("missing_modality", message)
        part, holder, key = copied_entry(entries[modality], modality)
        holder[key] = _with_payload(holder[key], FIELDS[modality], payload, others)
        parts.append(part)
    return parts


def _tagged_column(sample: Mapping[str, Any]) -> str:
    """Return the one column whose value has tags."""
    tagged = [n for n, value in sample.items() if isinstance(value, str) and any(t in value for t in TAGS.values())]
    if len(tagged) != 1:
        subject = "two columns hold" if tagged else "no column holds"
        code = "ambiguous_tagged_text" if tagged else "no_tagged_text"
        raise render_error(code, f"{subject} tagged text, such as {TAGS['text']}...{END_TAG}: {tagged}")
    return tagged[0]


def _with_payload(text: str, name: str, payload: str, others: Mapping[str, str]) -> str:
    """Return a part's text with its payload and the other fields; braces in values stay as they are."""
    token = f"{{{name}}}"
    before, match, after = text.partition(token)
    if name != "question" and match and payload.startswith(_SCHEMES) and before.startswith(_SCHEMES):
        text = token + after  # the payload has its own scheme
    return _fill(text, {**others, name: payload})


def _fill(text: str, values: Mapping[str, str]) -> str:
    placeholder = re.compile("|".join(re.escape(f"{{{name}}}") for name in values) or r"(?!)")
    return placeholder.sub(lambda match: values[match[0][1:-1]], text)


def _listed(entries: Mapping[str, str], sample: Mapping[str, Any]) -> list[Any]:
    """Return the parts of texts and URLs in columns; a list is several parts."""
    order = [(key, text) for key, text in entries.items() if key != "mm_url"]
    if "mm_url" in entries:
        modality = sample.get("type")
        if modality not in HOLDERS or modality == "text":
            message = f"the column 'type' says what mm_url shows: image, video or audio, not {modality!r}"
            raise render_error("unknown_modality", message)
        order.append((HOLDERS[modality], entries["mm_url"]))
    parts: list[Any] = []
    texts = {column: str(value) for column, value in sample.items()}
    for key, text in order:
        if key not in HOLDERS.values():
            message = f"prompt_mm has {', '.join(HOLDERS.values())} and mm_url, not {key!r}"
            raise render_error("unknown_key", message)
        name = text.partition("{")[2].partition("}")[0]
        if key == "text" or name not in sample:
            parts.append({"type": key, key: _fill(text, texts)})
            continue
        value = sample[name]
        if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
            value = ast.literal_eval(value)
        for payload in value if isinstance(value, list) else [value]:
            parts.append({"type": key, key: _with_payload(text, name, str(payload), texts)})
    return parts


def get_prompt_hash(dataset_cfg: ConfigLike | Sequence[ConfigLike]) -> str:
    """Return the hash of a dataset's prompt configuration as AISBench computes it; summaries show six digits of it.

    Except for a dataset without an `infer_cfg`, it is that of `promptpress.opencompass.get_prompt_hash`.

    Args:
        dataset_cfg: A dataset's dict, a list of such dicts, or a file of them, as for OpenCompass's function.

    Returns:
        64 hexadecimal digits; `/` for a dataset without an `infer_cfg`.

    Raises:
        TemplateError: If there is no retriever, or the file has code there.
        TypeError: If it holds a value that JSON doesn't have, or a dict's keys can't be sorted.

    Example:
        >>> get_prompt_hash({"abbr": "gsm8k"})
        '/'
    """
    return hash_of(dataset_cfg, empty="/")
