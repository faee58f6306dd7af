"""AISBench's prompt list and parsers, and its questions about prompts: have they media, where is their round."""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Iterator
from typing import Any

from promptpress_harness.aisbench.exceptions import fault
from promptpress_harness.single import parsers, prompt_list
from promptpress_harness.single.parsers import ASSERTIONS, Tokens

END_TAG = "<AIS_CONTENT_TAG>"
TAGS = {
    "text": "<AIS_TEXT_START>",
    "image": "<AIS_IMAGE_START>",
    "video": "<AIS_VIDEO_START>",
    "audio": "<AIS_AUDIO_START>",
}
HOLDERS = {"text": "text", "image": "image_url", "video": "video_url", "audio": "audio_url"}
"""The key of a content part that holds its text or URL, by modality."""
FIELDS = {"text": "question", "image": "image", "video": "video", "audio": "audio"}
"""The name of the field that the payload fills, by modality."""


class PromptList(prompt_list.PromptList):
    r"""The items of a prompt: strings, turns and section markers.

    Args:
        items: The items, as for `list`.
        documented: True if `list + PromptList` is their sum. In the harness it doesn't end.

    Example:
        >>> prompt = PromptList([{"role": "HUMAN", "prompt": "{q}"}]).format(q="你")
        >>> str(prompt)  # turns are shown as JSON
        '"\\u4f60"'
    """

    _faults = {  # noqa: RUF012
        "list in turn": fault("AISBenchTypeError", "UTILS-TYPE-001"),
        "item": fault("AISBenchTypeError", "UTILS-TYPE-001"),
    }
    _harness = ("ais_bench.benchmark.utils.prompt.prompt", "PromptList")

    def format_mm(self, **kwargs: Any) -> PromptList:
        """Fill a sample's media into the turns that have a `prompt_mm`, and fields into strings.

        Args:
            kwargs: The fields. `content` holds the tagged text, whose sections become content parts by the entries of
                `prompt_mm`.

        Returns:
            A new list; turns are copied. The `prompt` of a turn stays as it is.

        Raises:
            KeyError: If there is no `content`, or no entry for a modality in it.

        Example:
            >>> entries = {"image": {"type": "image_url", "image_url": {"url": "file://{image}"}}}
            >>> prompt = PromptList([{"role": "HUMAN", "prompt_mm": entries}])
            >>> prompt.format_mm(content="<AIS_IMAGE_START>a.png<AIS_CONTENT_TAG>")[0]["prompt_mm"]
            [{'type': 'image_url', 'image_url': {'url': 'file://a.png'}}]
        """
        return self._filled("prompt_mm", lambda entries: _parts(entries, kwargs["content"]), kwargs)  # type: ignore[return-value]

    def _item_str(self, prompt: Any) -> str:
        return json.dumps(prompt)


def _parts(entries: Any, content: Any) -> list[Any]:
    parts = []
    for modality, payload in tagged_payloads(content):
        part, holder, key = copied_entry(entries[modality], modality)
        # One field in a short text: Python copies a payload of megabytes once.
        holder[key] = holder[key].replace(f"{{{FIELDS[modality]}}}", payload)
        parts.append(part)
    return parts


def tagged_payloads(content: Any) -> Iterator[tuple[str, str]]:
    """Yield the modality and the payload of each section of a tagged text."""
    for section in content.split(END_TAG):
        for modality, tag in TAGS.items():
            if section.startswith(tag):
                yield modality, section.replace(tag, "")
                break


def copied_entry(entry: Any, modality: str) -> tuple[Any, Any, str]:
    """Return a copy of a content part, and the dict and the key in it that hold its text or URL."""
    part = holder = copy.deepcopy(entry)
    key = HOLDERS[modality]
    if modality != "text" and isinstance(holder[key], dict):
        holder, key = holder[key], "url"
    return part, holder, key


def is_mm_prompt(prompt: Any) -> bool:
    """Return true if a prompt is OpenAI-style messages with media.

    Args:
        prompt: A prompt of any kind.

    Returns:
        True for a list of messages whose `content` is a list of parts, up to the first part with a known type.

    Example:
        >>> is_mm_prompt([{"content": [{"type": "image_url", "image_url": {"url": "file://a.png"}}]}])
        True
        >>> is_mm_prompt("text")
        False
    """
    if not isinstance(prompt, list):
        return False
    for message in prompt:
        content = message.get("content")
        if not isinstance(content, list):
            return False
        if any(part.get("type") in tuple(HOLDERS.values()) for part in content):
            return True
    return False


def get_round_index(template: Any) -> tuple[int, int]:
    """Return the start and the end of the round of a prompt list.

    Args:
        template: The items; a string among them is an AttributeError, as in the harness.

    Returns:
        The index of the round's first item, and that of the marker that ends it; (1, -1) without a round.

    Example:
        >>> get_round_index([{"section": "round", "pos": "begin"}, {}, {"section": "round", "pos": "end"}])
        (1, 2)
    """
    start, end = 1, -1
    for n, item in enumerate(template):
        if item.get("section", None) == "round":
            pos = item.get("pos", None)
            start, end = (n + 1 if pos == "begin" else start), (n if pos == "end" else end)
    return start, end


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
