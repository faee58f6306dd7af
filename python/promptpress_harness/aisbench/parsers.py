"""AISBench's parsers for language models and for APIs, and the messages that its chat models send."""

from __future__ import annotations

import logging
from typing import Any

from promptpress_harness.aisbench.exceptions import fault
from promptpress_harness.aisbench.prompt_list import PromptList
from promptpress_harness.single import parsers
from promptpress_harness.single.parser import ASSERTIONS, Tokens


class LMTemplateParser(parsers.LMTemplateParser):
    __doc__ = parsers.LMTemplateParser.__doc__

    _faults = {**ASSERTIONS, "pos": fault("AISBenchValueError", "MODEL-UNK-001")}  # noqa: RUF012
    _list = PromptList


class APITemplateParser(parsers.APITemplateParser):
    """Lays prompts over a meta template as messages.

    Args:
        meta_template: The model's meta template; without one prompts become lines, or a list of their media.
        documented: Follow the documents where the harness's code fails: `end` of a dialogue; `begin` and `end` of a
            role as lists of strings and token ids.
        tokens: The texts of token ids, `{id: text}` or a callable; for `documented`.

    Raises:
        AISBenchTypeError: For a meta template without `round`, or with a role twice.
        KeyError: For a role without `role`.
        TemplateError: For a token id without text, if `documented`.

    Example:
        >>> parser = APITemplateParser()
        >>> parser.parse_template(PromptList([{"role": "HUMAN", "prompt_mm": [{"type": "text", "text": "Hi"}]}]), "gen")
        [{'type': 'text', 'text': 'Hi'}]
    """

    _faults = {  # noqa: RUF012
        "no round": fault("AISBenchTypeError", "MODEL-PARAM-004"),
        "meta type": fault("AISBenchTypeError", "MODEL-TYPE-004"),
        "twice": fault("AISBenchTypeError", "MODEL-PARAM-005"),
        "section": fault("AISBenchValueError", "MODEL-UNK-001"),
        "prompt": fault("AISBenchTypeError", "MODEL-TYPE-002"),
        "mode": fault("AISBenchTypeError", "MODEL-TYPE-003"),
        "pos": fault("AISBenchValueError", "MODEL-UNK-001"),
        "no role": fault("AISBenchTypeError", "MODEL-TYPE-001"),
        "role": fault("AISBenchKeyError", "MODEL-PARAM-002"),
        "no prompt": fault("AISBenchValueError", "MODEL-DATA-002"),
    }
    _list = PromptList
    _takes_media = True

    def __init__(self, meta_template: Any = None, *, documented: bool = False, tokens: Tokens | None = None) -> None:
        self.logger = logging.getLogger("ais_bench")
        super().__init__(meta_template, documented=documented, tokens=tokens)

    def _warn(self, message: str) -> None:
        self.logger.warning(message)


def request_messages(prompt: Any) -> list[dict[str, Any]]:
    """Return the messages that AISBench's chat models send for a parsed prompt.

    Args:
        prompt: A string, which becomes the user's message; or messages, as `APITemplateParser` returns them.

    Returns:
        OpenAI-style messages; SYSTEM, HUMAN, BOT and TOOL get OpenAI's names, other roles and keys stay.

    Raises:
        KeyError: For a message without `prompt`.
        TypeError: For a string among the messages.

    Example:
        >>> request_messages([{"role": "HUMAN", "prompt": "Hi"}])
        [{'content': 'Hi', 'role': 'user'}]
    """
    if isinstance(prompt, str):
        return [{"role": "user", "content": prompt}]
    names = {"SYSTEM": "system", "HUMAN": "user", "BOT": "assistant", "TOOL": "tool"}
    out = []
    for item in prompt:
        content, role = item["prompt"], item.get("role", "")
        others = {key: value for key, value in item.items() if key not in ("role", "prompt")}
        out.append({"content": content, "role": names.get(role, role), **others})
    return out
