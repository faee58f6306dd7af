"""OpenCompass's parser for APIs."""

from __future__ import annotations

import copy
from typing import Any

from promptpress._single import api_parser
from promptpress._single.text import copied
from promptpress.opencompass._prompt_list import PromptList
from promptpress.opencompass._raw_prompt_template import ROLES


class APITemplateParser(api_parser.APITemplateParser):
    """Lays prompts over a meta template as messages.

    Args:
        meta_template: The model's meta template, or OpenAI-style messages to go with raw messages; without one prompts
            become lines.
        documented: Follow the documents where the harness's code fails.
        tokens: The texts of token ids, `{id: text}` or a callable; for `documented`.

    Raises:
        AssertionError: For a meta template without `round`, or with a role twice.
        KeyError: For a role without `role`.

    Example:
        >>> parser = APITemplateParser([{"role": "user", "content": "Be brief. "}])
        >>> parser.parse_template([{"role": "user", "content": "1?"}], mode="gen")
        [{'role': 'user', 'content': 'Be brief. 1?'}]
    """

    _faults = {  # noqa: RUF012
        "no round": AssertionError,
        "meta type": AssertionError,
        "twice": AssertionError,
        "section": AssertionError,
        "prompt": AssertionError,
        "mode": AssertionError,
        "pos": ValueError,
        "no role": TypeError,
        "role": KeyError,
    }
    _list = PromptList

    def _read_meta_template(self, meta: Any) -> None:
        if not isinstance(meta, list):
            super()._read_meta_template(meta)
        elif not all(isinstance(one, dict) and "role" in one and one["role"] in ROLES for one in meta):
            raise AssertionError(f"a meta template that is a list holds messages of {', '.join(ROLES)}, not {meta}")

    def parse_template(self, prompt_template: Any, mode: str) -> Any:
        """A prompt as messages, as described above; raw messages are merged with a meta template that is a list.

        Args:
            prompt_template: A string, a prompt list, or raw messages.
            mode: `"gen"` or `"ppl"`; raw messages are the same in both.

        Returns:
            A string for a string, a prompt list of `role` and `prompt`, or raw messages.

        Raises:
            AssertionError: For a prompt of another type, or a mode that is neither.
        """
        self._check_prompt(prompt_template)
        # Strings are asked too, and hold the words or not.
        is_raw = isinstance(prompt_template, list) and all(
            "role" in one and "content" in one for one in prompt_template
        )
        if is_raw and prompt_template:
            if self.meta_template and isinstance(self.meta_template, list):
                return joined(self.meta_template, prompt_template)
            return copy.deepcopy(prompt_template)
        return super().parse_template(prompt_template, mode)


def joined(meta: list[Any], messages: list[Any]) -> list[Any]:
    """Raw messages with those of a meta template.

    Args:
        meta: The meta template's messages, in their order. One whose role is among the messages that are left goes in
            front of the next of them, in one message; another goes in where it stands.
        messages: The messages of the sample.

    Returns:
        One list of both; each message in it is a copy.

    Example:
        >>> joined([{"role": "system", "content": "S"}], [{"role": "user", "content": "?"}])
        [{'role': 'system', 'content': 'S'}, {'role': 'user', 'content': '?'}]
    """
    out: list[Any] = []
    at = 0
    for own in meta:
        rest = messages[at:]
        ahead = next((n for n, one in enumerate(rest) if one["role"] == own["role"]), None)
        if ahead is None:
            out.append(copied(own))
            continue
        out.extend(map(copied, rest[:ahead]))
        same = copied(rest[ahead])
        same["content"] = own["content"] + same["content"]
        out.append(same)
        at += ahead + 1
    out.extend(map(copied, messages[at:]))
    return out
