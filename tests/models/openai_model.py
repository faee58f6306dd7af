"""OpenAI's form in plain Python: what the harnesses' OpenAI models send for a request that their API parser gave.

`messages(config, request)` is one request's messages, and `in_one_type` what a table has of several: where a content is
a list of parts, texts are lists of one, which is promptpress's own. What the contract refuses raises `ModelError`.
"""

from __future__ import annotations

from typing import Any

from models.plain_model import need

ROLES = ("system", "user", "assistant", "tool", "developer")
OTHERS = {"human": "user", "bot": "assistant", "gpt": "assistant", "model": "assistant"}
Message = dict[str, Any]


def messages(config: dict[str, Any], request: Any) -> list[Message]:
    if isinstance(request, str):
        return [{"role": "user", "content": request}]
    need(all(isinstance(message, dict) for message in request), "a bare string has no role")
    if request and not any("role" in message for message in request):
        return [{"role": "user", "content": request}]  # what a turn shows, and nobody speaks
    return [message_of(config, message) for message in request]


def message_of(config: dict[str, Any], message: Message) -> Message:
    rest = dict(message)
    need("role" in rest, "a message needs a role")
    role = called(config, rest.pop("role"))
    is_raw = "content" in rest
    key = next((key for key in ("content", "prompt", "parts") if key in rest), None)
    need(key is not None, "a message says something")
    content = rest.pop(key)
    is_aisbench = config.get("dialect") == "aisbench"
    if isinstance(content, list) and not is_aisbench:
        content = [sent_part(part) for part in content]
    return {"role": role, "content": content, **(rest if is_raw or is_aisbench else {})}


def called(config: dict[str, Any], role: Any) -> str:
    """Return what OpenAI calls a role: by the given names, then by the usual names; an api_role also by its roles."""
    need(isinstance(role, str), "a role is a name")
    meta = config.get("meta_template")
    roles = [*meta["round"], *meta.get("reserved_roles", [])] if isinstance(meta, dict) else []
    names = [item["role"] for item in roles if isinstance(item, dict) and item.get("api_role") == role]
    given = config.get("roles") or {}
    if role in given:
        return given[role]
    if usual(role) and not any(name in given for name in names):
        return usual(role)
    answers = {given.get(name) or usual(name) or usual(role) for name in names} - {None}
    need(len(answers) < 2, "two roles with one api_role are called differently")
    need(answers, f"nobody says what OpenAI calls {role!r}")
    return answers.pop()


def usual(role: str) -> str | None:
    return role.lower() if role.lower() in ROLES else OTHERS.get(role.lower())


def sent_part(part: Any) -> Any:
    """A part of a raw message as OpenCompass's models send it, but for images on the machine, which they read."""
    kind = part.get("type")
    if kind == "text":
        return {"type": "text", "text": part["text"]}
    part = {key: value for key, value in part.items() if value is not None}  # a struct has all keys
    if kind in ("image", "image_url"):
        url = part["image_url"]
        return {"type": "image_url", "image_url": dict(url) if isinstance(url, dict) else {"url": url}}
    return part


def in_one_type(requests: list[list[Message]]) -> list[list[Message]]:
    if not any(isinstance(message["content"], list) for request in requests for message in request):
        return requests

    def parts(content: Any) -> Any:
        return [{"type": "text", "text": content}] if isinstance(content, str) else content

    return [[{**message, "content": parts(message["content"])} for message in request] for request in requests]
