"""AISBench's prompt list, and its questions about prompts: have they media, where is their round."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from promptpress_harness.aisbench.exceptions import fault
from promptpress_harness.single import prompt_list

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
