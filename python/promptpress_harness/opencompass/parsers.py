"""OpenCompass's parsers for language models and for APIs."""

from __future__ import annotations

import copy
from typing import Any

from promptpress_harness.opencompass.prompt_template import PromptList
from promptpress_harness.opencompass.raw_prompt_template import ROLES
from promptpress_harness.single import parsers
from promptpress_harness.single.parser import ASSERTIONS
from promptpress_harness.single.text import copied


class LMTemplateParser(parsers.LMTemplateParser):
    __doc__ = parsers.LMTemplateParser.__doc__

    _faults = {**ASSERTIONS, "pos": ValueError}  # noqa: RUF012
    _list = PromptList


class APITemplateParser(parsers.APITemplateParser):
    """Lays prompts over a meta template as messages.

    Args:
        meta_template: The model's meta template, or OpenAI-style messages to go with raw messages; without one prompts
            become lines.
        documented: Follow the documents where the harness's code fails: `end` of a dialogue; `begin` and `end` of a
            role as lists of strings and token ids.
        tokens: The texts of token ids, `{id: text}` or a callable; for `documented`.

    Raises:
        AssertionError: For a meta template without `round`, or with a role twice.
        KeyError: For a role without `role`.
        TemplateError: For a token id without text, if `documented`.

    Example:
        >>> parser = APITemplateParser([{"role": "user", "content": "Be brief. "}])
        >>> parser.parse_template([{"role": "user", "content": "1?"}], mode="gen")
        [{'role': 'user', 'content': 'Be brief. 1?'}]
    """

    _faults = {**ASSERTIONS, "pos": ValueError, "no role": TypeError, "role": KeyError}  # noqa: RUF012
    _list = PromptList

    def _read_meta_template(self, meta: Any) -> None:
        if not isinstance(meta, list):
            super()._read_meta_template(meta)
        elif not all(isinstance(turn, dict) and "role" in turn and turn["role"] in ROLES for turn in meta):
            raise AssertionError(f"a meta template that is a list holds messages of {', '.join(ROLES)}, not {meta}")

    def parse_template(self, prompt_template: Any, mode: str) -> Any:
        """Return a prompt as messages; raw messages are merged with a meta template that is a list.

        Args:
            prompt_template: A string, a prompt list, or raw messages.
            mode: `"gen"` or `"ppl"`; raw messages are the same in both.

        Returns:
            A string for a string, a prompt list of `role` and `prompt`, or raw messages.

        Raises:
            AssertionError: For a prompt of another type, or a mode that is neither.
        """
        self._check_prompt(prompt_template)
        # Strings are searched for the words too.
        is_raw = isinstance(prompt_template, list) and all(
            "role" in item and "content" in item for item in prompt_template
        )
        if is_raw and prompt_template:
            if self.meta_template and isinstance(self.meta_template, list):
                return joined(self.meta_template, prompt_template)
            return copy.deepcopy(prompt_template)
        return super().parse_template(prompt_template, mode)


def joined(meta: list[Any], messages: list[Any]) -> list[Any]:
    """Return copies of raw messages joined with those of a meta template.

    The meta template's messages are taken in their order. If one of the remaining messages has the same role, the two
    become one message, with the meta template's content first. Otherwise the meta template's message stands alone.

    Example:
        >>> joined([{"role": "system", "content": "S"}], [{"role": "user", "content": "?"}])
        [{'role': 'system', 'content': 'S'}, {'role': 'user', 'content': '?'}]
    """
    out: list[Any] = []
    start = 0
    for meta_message in meta:
        rest = messages[start:]
        ahead = next((n for n, message in enumerate(rest) if message["role"] == meta_message["role"]), None)
        if ahead is None:
            out.append(copied(meta_message))
            continue
        out.extend(map(copied, rest[:ahead]))
        same_role = copied(rest[ahead])
        same_role["content"] = meta_message["content"] + same_role["content"]
        out.append(same_role)
        start += ahead + 1
    out.extend(map(copied, messages[start:]))
    return out
