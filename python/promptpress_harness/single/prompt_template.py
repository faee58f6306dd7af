"""The bases of the harnesses' templates of strings, dialogues and label maps; the hash of a prompt configuration."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar

from promptpress.engine.errors import template_error
from promptpress.typing import ConfigFile, ConfigLike

from promptpress_harness.registry import Faults
from promptpress_harness.single.prompt_list import PromptList, safe_format

SECTIONS = ("begin", "round", "end")


class BaseTemplate:
    """A template that checks its configuration and lays a dialogue out as a prompt list."""

    _faults: ClassVar[Faults]
    _list: ClassVar[type[PromptList]]

    template: Any
    """The template, as it was given."""
    ice_token: str | None
    """The text that stands for the examples."""
    sep_token: str | None
    """The text that is removed from prompts."""
    prompt_type: str
    """`meta` for a dialogue, `origin` for strings and label maps."""

    def __init__(
        self, template: Any, ice_token: str | None = None, sep_token: str | None = None, *, documented: bool = False
    ) -> None:
        self.documented = documented
        self.template = template
        if not isinstance(template, (str, dict)):
            raise self._faults["template"](f"a template is a str or a dict, not {type(template).__name__}")
        for name, token in (("ice_token", ice_token), ("sep_token", sep_token)):
            if token is not None and not isinstance(token, str):
                raise self._faults["token"](f"{name} is a str or None, not {type(token).__name__}: {token!r}")
        self.ice_token = ice_token
        self.sep_token = sep_token
        self.prompt_type = "origin"
        self._check_template_legacy()

    def _check_template_legacy(self) -> None:
        """Set `prompt_type`, and refuse a value that can't be a template."""
        texts: list[Any] = [self.template]
        if isinstance(self.template, dict):
            sections = sum(name in self.template for name in SECTIONS)
            self.prompt_type = "meta" if sections == len(self.template) else "origin"
            texts = list(self.template.values())
        for text in texts:
            if not isinstance(text, (str, list, dict)):
                raise self._faults["value"](f"a template holds str, list or dict, not {type(text).__name__}: {text!r}")
            if isinstance(text, str) and self.ice_token and self.ice_token not in text:
                raise self._faults["no ice token"](f"the ice_token {self.ice_token!r} isn't in {text!r}")

    def _encode_template(self, prompt_template: Any, ice: bool) -> Any:
        """Return a string as it is, or a dialogue as a prompt list with markers; an example has no begin and end."""
        if isinstance(prompt_template, str):
            return prompt_template
        prompt = self._list(documented=self.documented)
        if "begin" in prompt_template and not ice:
            self._add_section(prompt, "begin", prompt_template["begin"], "begin")
        name = "ice" if ice else "round"
        prompt.append({"section": name, "pos": "begin"})
        prompt += prompt_template["round"]
        prompt.append({"section": name, "pos": "end"})
        if "end" in prompt_template and not ice:
            # Both harnesses write two closing markers here; the parsers know.
            self._add_section(prompt, "end", prompt_template["end"], "begin" if self.documented else "end")
        return prompt

    def _add_section(self, prompt: PromptList, name: str, items: Any, opening: str) -> None:
        prompt.append({"section": name, "pos": opening})
        if isinstance(items, list):
            prompt += items
        else:
            prompt.append(items)
        prompt.append({"section": name, "pos": "end"})

    def __repr__(self) -> str:
        return f"{self._name()}({{\n\ttemplate: {self.template},\n\tice_token: {self.ice_token}\n}})"

    def _name(self) -> str:
        """Return the name of the harness's class, which its subclasses show too."""
        return next(base.__name__ for base in type(self).__mro__ if base.__module__.startswith("promptpress."))


class FilledTemplate(BaseTemplate):
    """A template that is filled with samples and examples: the harnesses' `PromptTemplate`."""

    def generate_ice_item(self, entry: Any, label: Hashable) -> Any:
        """Return one example.

        Args:
            entry: The row of the train split.
            label: The value of its output column, which selects the template in a label map.

        Returns:
            A string, or a prompt list for a dialogue.

        Raises:
            KeyError: If a label map lacks the label, or a dialogue has no `round`.

        Example:
            >>> from promptpress.opencompass import PromptTemplate
            >>> PromptTemplate("</E>{q}={a}", ice_token="</E>").generate_ice_item({"q": 1, "a": 2}, 2)
            '1=2'
        """
        example = self._encode_template(self._of_label(label), ice=True)
        if self.sep_token is not None:
            example.replace(self.sep_token, "")  # The token stays, but the harnesses raise what this raises.
        if self.ice_token is not None:
            example = example.replace(self.ice_token, "")
        return self._filled(example, entry)

    def generate_label_prompt_item(self, entry: Any, ice: Any, label: Hashable, remain_sep: bool | None = False) -> Any:
        """Return the prompt of a sample for one label.

        Args:
            entry: The sample.
            ice: Its examples, a string or a prompt list.
            label: The label.
            remain_sep: True if `sep_token` stays.

        Returns:
            A string, or a prompt list for a dialogue.

        Raises:
            KeyError: If a label map lacks the label.
            TypeError: If examples of dialogues go into a string or a turn (AISBenchTypeError in AISBench's turns).

        Example:
            >>> from promptpress.opencompass import PromptTemplate
            >>> PromptTemplate({"A": "{q} yes", "B": "{q} no"}).generate_label_prompt_item({"q": 1}, "", "B")
            '1 no'
        """
        prompt = self._encode_template(self._of_label(label), ice=False)
        if not remain_sep and self.sep_token is not None:
            prompt = prompt.replace(self.sep_token, "")
        if self.ice_token is not None:
            prompt = prompt.replace(self.ice_token, ice)
        return self._filled(prompt, entry)

    def generate_item(
        self,
        entry: Any,
        output_field: Hashable | None = None,
        output_field_replace_token: Any = "",
        ice_field_replace_token: Any = "",
    ) -> Any:
        """Return the prompt of a sample, for generation.

        Args:
            entry: The sample. It isn't changed.
            output_field: The field of the answer, which is hidden; None hides nothing.
            output_field_replace_token: The text in place of the answer.
            ice_field_replace_token: The examples, a string or a prompt list.

        Returns:
            A string, or a prompt list for a dialogue. A label map is filled as its first template.

        Raises:
            TypeError: If examples of dialogues go into a string or a turn (AISBenchTypeError in AISBench's turns).

        Example:
            >>> from promptpress.opencompass import PromptTemplate
            >>> PromptTemplate("{q}={a}").generate_item({"q": 1, "a": 2}, output_field="a")
            '1='
        """
        if isinstance(self.template, str):
            prompt: Any = self.template
        else:
            template = self.template
            if self.prompt_type == "origin":
                template = template[list(template.keys())[0]]  # noqa: RUF015 - an IndexError without any
            prompt = self._encode_template(template, ice=False)
        if self.ice_token is not None:
            prompt = prompt.replace(self.ice_token, ice_field_replace_token)
        if self.sep_token is not None:
            prompt = prompt.replace(self.sep_token, "")
        if output_field is not None:
            # The harnesses deep-copy the sample to change one field of it.
            entry = {**entry, output_field: output_field_replace_token}
        return self._filled(prompt, entry)

    def _of_label(self, label: Hashable) -> Any:
        if isinstance(self.template, str) or self.prompt_type == "meta":
            return self.template
        return self.template[label]

    @staticmethod
    def _filled(prompt: Any, entry: Any) -> Any:
        return safe_format(prompt, **entry) if isinstance(prompt, str) else prompt.format(**entry)


_READER = "DatasetReader"


def get_prompt_hash(dataset_cfg: ConfigLike | Sequence[ConfigLike]) -> str:
    """Return the hash of a dataset's prompt configuration as OpenCompass computes it; summaries show six digits of it.

    It is SHA-256 of `infer_cfg` as JSON, after the harness's own changes. It covers neither the content of examples and
    samples nor the model: `Renderer.fingerprint` covers the examples and the meta template.

    Args:
        dataset_cfg: A dataset's dict, as a configuration has it or as OpenCompass has loaded it; a list of such dicts,
            which have one hash together; or a file of them, as `load_config` reads it. It isn't changed. A class stands
            for its dotted name, as in the file that the harness dumps.

    Returns:
        64 hexadecimal digits.

    Raises:
        TemplateError: If there is no `infer_cfg` with a retriever, or the file has code there.
        TypeError: If it holds a value that JSON doesn't have, or a dict's keys can't be sorted.

    Example:
        >>> dataset = {
        ...     "infer_cfg": {
        ...         "prompt_template": {"type": "PromptTemplate", "template": "Q: {q}"},
        ...         "retriever": {"type": "ZeroRetriever"},
        ...         "inferencer": {"type": "GenInferencer"},
        ...     },
        ... }
        >>> get_prompt_hash(dataset)[:6]
        '8de0b9'
    """
    return hash_of(dataset_cfg)


def hash_of(dataset_cfg: ConfigLike | Sequence[ConfigLike], empty: str | None = None) -> str:
    """Return the hash; `empty` is that of a dataset without an `infer_cfg`, which is refused if it is None."""
    import hashlib  # noqa: PLC0415 - seldom needed

    if not isinstance(dataset_cfg, (list, Mapping)) and isinstance(dataset_cfg, (str, os.PathLike, ConfigFile)):
        dataset_cfg = _of_file(dataset_cfg)
    if isinstance(dataset_cfg, list):
        if len(dataset_cfg) != 1:
            hashes = ",".join(hash_of(dataset, empty) for dataset in dataset_cfg)
            return hashlib.sha256(hashes.encode()).hexdigest()
        return hash_of(dataset_cfg[0], empty)
    if not isinstance(dataset_cfg, Mapping):
        message = f"expected a dataset's dict or a list of them, found a {type(dataset_cfg).__name__}"
        raise template_error("wrong_type", "dataset_cfg", message)
    dataset = _plain(dataset_cfg)
    if empty is not None and not dataset.get("infer_cfg"):
        return empty
    infer = _part(dataset, "infer_cfg")
    retriever = _part(infer, "retriever", "infer_cfg.")
    if "reader_cfg" in infer:
        _move_reader(infer, _part(dataset, "reader_cfg"), retriever)
    if "fix_id_list" in retriever:
        _part(infer, "inferencer", "infer_cfg.")["fix_id_list"] = retriever.pop("fix_id_list")
    return hashlib.sha256(json.dumps(infer, sort_keys=True).encode()).hexdigest()


def _move_reader(infer: dict[str, Any], reader: dict[str, Any], retriever: dict[str, Any]) -> None:
    """Change `infer_cfg` as the harness does if it has a reader."""
    columns = ("input_columns", "output_column")
    missing = next((key for key in columns if key not in reader), None)
    if missing is not None:
        raise template_error("missing_key", f"reader_cfg.{missing}", "missing; the prompt hash is made of it, too")
    infer["reader"] = {"type": _READER, **{key: reader[key] for key in columns}}
    infer_reader = _part(infer, "reader_cfg", "infer_cfg.")
    for split, name in (("train_split", "index_split"), ("test_split", "test_split")):
        if split in infer_reader:
            retriever[name] = infer_reader[split]
    for key in infer:
        part = _part(infer, key, "infer_cfg.")
        if not isinstance(part.get("type"), str):
            raise template_error("missing_key", f"infer_cfg.{key}.type", "the name of a class is needed here")
        part["type"] = part["type"].rpartition(".")[2]


def _part(parent: dict[str, Any], key: str, path: str = "") -> dict[str, Any]:
    part = parent.get(key)
    if part is None:
        raise template_error("missing_key", f"{path}{key}", "missing; the prompt hash is made of it")
    if not isinstance(part, dict):
        raise template_error("wrong_type", f"{path}{key}", f"expected a dict, found a {type(part).__name__}")
    return part


def _plain(value: Any) -> Any:
    """Return a copy with names for classes; the imports of mmengine's lazy objects aren't run."""
    if isinstance(value, Mapping):
        # The items() of mmengine's own dict imports lazy objects.
        items = dict.items(value) if isinstance(value, dict) else value.items()
        return {key: _plain(item) for key, item in items}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    kind = type(value)
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if kind.__module__.startswith("mmengine.config") and kind.__name__ in {"LazyObject", "LazyAttr"}:
        return f"{value.module}.{value}"
    return value


def _of_file(file: Any) -> list[Any]:
    from promptpress import load_config  # noqa: PLC0415

    from promptpress_harness.configs.selection import datasets_as_read  # noqa: PLC0415 - files are read by few

    loaded = file if isinstance(file, ConfigFile) else load_config(file)
    return datasets_as_read(loaded)
