"""The parsers of OpenCompass's ChatInferencer, which take OpenAI-style messages."""

from __future__ import annotations

from typing import Any

from promptpress_harness.opencompass.prompt_template import PromptList

OPENAI_ROLES = {"SYSTEM": "system", "HUMAN": "user", "BOT": "assistant"}


def promptlist_to_openai(prompt: Any, *, documented: bool = False) -> list[dict[str, Any]]:
    """Return a prompt as OpenAI-style messages.

    Args:
        prompt: A string, which becomes the user's message; or a prompt list.
        documented: Leave empty strings out, for which the harness fails.

    Returns:
        The messages. As in the harness, turns of other roles than SYSTEM, HUMAN and BOT are left out silently, so
        OpenAI-style messages (`user`, `assistant`) give an empty list. A string with the word "section" in it is left
        out too, because the harness takes it for a marker.

    Raises:
        TypeError: For an empty string, unless `documented`.
        KeyError: For a turn without `role` or `prompt`.

    Example:
        >>> promptlist_to_openai(PromptList([{"role": "HUMAN", "prompt": "Hi"}, "there"]))
        [{'role': 'user', 'content': 'Hi'}, {'role': 'user', 'content': 'there'}]
    """
    if isinstance(prompt, str):
        return [{"role": "user", "content": prompt}]
    messages = []
    for item in prompt:
        if "section" in item or (documented and item == ""):
            continue
        if isinstance(item, str) and item:
            messages.append({"role": "user", "content": item})
        elif item["role"] in tuple(OPENAI_ROLES):
            messages.append({"role": OPENAI_ROLES[item["role"]], "content": item["prompt"]})
    return messages


class ChatParser:
    """The base of both chat parsers, which reads the roles and parses lists of chats."""

    def __init__(self, meta_template: dict[str, Any] | None = None, *, documented: bool = False) -> None:
        self.meta_template = meta_template
        self.documented = documented
        self.roles: dict[Any, dict[str, Any]] = {}
        if meta_template:
            for key in ("round", "reserved_roles"):
                for item in meta_template.get(key, []):
                    role = OPENAI_ROLES.get(item["role"], item["role"])
                    self.roles[role] = item.copy()

    def parse_template(self, chat: Any, mode: str = "gen") -> Any:  # noqa: ARG002 - ChatInferencer only generates
        """Return a chat as the model's input.

        Args:
            chat: OpenAI-style messages, or a list of such chats.
            mode: Not used.

        Returns:
            The model's input, or a list of inputs.

        Raises:
            AssertionError: For anything else.
            KeyError: For a message without `role`.
        """
        if isinstance(chat, list) and all(isinstance(item, list) for item in chat):
            return [self.parse_template(item) for item in chat]
        if not isinstance(chat, list) or not all(isinstance(message, dict) for message in chat):
            raise AssertionError("a chat is a list of messages, and a message is a dict")
        return self._parsed(chat)

    def _parsed(self, chat: list[dict[str, Any]]) -> Any:
        raise NotImplementedError


class LMTemplateParser(ChatParser):
    """A parser of chats for language models, which returns text.

    Args:
        meta_template: The model's meta template; without one contents become lines.
        documented: Accepted as by the other parsers.

    Example:
        >>> roles = [{"role": "HUMAN", "begin": "<H>"}, {"role": "BOT", "begin": "<B>"}]
        >>> parser = ChatLMTemplateParser({"round": roles})
        >>> parser.parse_template([{"role": "user", "content": "Hi"}])
        '<H>Hi<B>'
    """

    def _parsed(self, chat: list[dict[str, Any]]) -> str:
        if not self.roles:
            return "\n".join(message.get("content") or "" for message in chat)
        text: str = ""
        for message in chat:
            role = self.roles.get(message["role"], {})
            for words in (role.get("begin"), message.get("content"), role.get("end")):
                text += words or ""
        return text + (self.roles["assistant"].get("begin") or "")


class APITemplateParser(ChatParser):
    """A parser of chats for APIs, which returns messages.

    Args:
        meta_template: The model's meta template, whose roles have an `api_role`; without one the roles are SYSTEM,
            HUMAN and BOT.
        documented: Accepted as by the other parsers.

    Example:
        >>> ChatAPITemplateParser().parse_template([{"role": "user", "content": "Hi"}])
        [{'role': 'HUMAN', 'prompt': 'Hi'}]
    """

    def __init__(self, meta_template: dict[str, Any] | None = None, *, documented: bool = False) -> None:
        super().__init__(meta_template, documented=documented)
        if not meta_template:
            self.roles = {openai: {"api_role": role} for role, openai in OPENAI_ROLES.items()}
            self.roles["assistant"]["generate"] = True

    def _parsed(self, chat: list[dict[str, Any]]) -> PromptList:
        out = PromptList()
        for message in chat:
            role = message["role"]
            role = self.roles[role]["api_role"] if role in self.roles else role
            out.append({"role": role, "prompt": message.get("content") or ""})
        return out
