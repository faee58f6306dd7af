"""AISBench's template for prompts with media."""

from __future__ import annotations

import ast
import copy
from collections.abc import Hashable
from typing import Any

from promptpress._harnesses.aisbench import documented_media as _documented_media
from promptpress._harnesses.aisbench.prompt_list import HOLDERS
from promptpress._harnesses.aisbench.prompt_template import BasePromptTemplate


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
        output_field: Hashable | None = None,  # noqa: ARG002 - nothing is hidden
        output_field_replace_token: Any = "",  # noqa: ARG002
        ice_field_replace_token: Any = "",  # noqa: ARG002 - and there are no examples
    ) -> Any:
        if not self.check_mm_template():
            self.logger.warning("Not every turn of the round has a prompt_mm: %s", self.template)
        if self.documented and "content" not in entry:
            prompt = self._encode_template(copy.deepcopy(self.template), ice=False)
            return _documented_media.filled(prompt, entry)
        prompt = self._encode_template(self.format_mm_url(self.template, entry), ice=False).format_mm(**entry)
        for n, item in enumerate(prompt):
            if "prompt_mm" in item:
                prompt[n]["prompt_mm"] = self.get_mm_template(item)
        return prompt
