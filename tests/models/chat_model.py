"""The rules of chats in plain Python, a sample at a time: the oracle for `ChatInferencer`.

`requests(config, samples)` gives one `(sample, turn, request)` for each history that a model gets; `replies` holds what
the model said in earlier turns, a list for each sample, where it is asked turn by turn. Rows are dicts as
`pyarrow.Table.to_pylist()` gives them. What the contract refuses raises `ModelError`. Only
OpenCompass's dialect has chats.
"""

from __future__ import annotations

from typing import Any

from models.plain_model import (
    Meta,
    ModelError,
    Pieces,
    fields_of,
    fill,
    map_texts,
    need,
    opened,
    read_meta,
    read_template,
)

DIALECTS = ("opencompass",)
NAMES = {"SYSTEM": "system", "HUMAN": "user", "BOT": "assistant"}
Message = dict[str, Any]


def requests(
    config: dict[str, Any], samples: list[dict[str, Any]], replies: list[list[str]] | None = None
) -> list[tuple[int, int, Any]]:
    mode = config["inferencer"].get("infer_mode", "last")
    parse = parser(config)
    check_template(config)
    result = []
    for number, sample in enumerate(samples):
        chat = chat_of(config, sample)
        turns = [index for index, message in enumerate(chat) if message["role"] == "assistant"]
        need(turns or mode != "last", "nobody is to be asked")
        answers = replies[number] if replies is not None else []
        for index, reply in zip(turns, answers, strict=False):
            chat[index] = {**chat[index], "content": reply}
        chosen = range(len(turns)) if replies is None else range(len(answers), min(len(answers) + 1, len(turns)))
        if mode == "last":
            chosen = chosen[-1:]
        result += [(number, turn, parse(chat[: turns[turn]])) for turn in chosen]
    return result


# ---------------------------------------------------------------------------------------------------------------------
# What a chat is made of.


def all_are(values: Any, kind: type) -> bool:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)


def chat_of(config: dict[str, Any], sample: dict[str, Any]) -> list[Message]:
    reader = config["reader"]
    columns, answer = reader["input_columns"], reader.get("output_column") or None  # an empty name is none
    row = {name: value for name, value in sample.items() if name in columns or name == answer}
    if all(isinstance(value, str) for value in row.values()):
        return round_messages(config, row)
    if all(all_are(value, str) for value in row.values()):
        entries = [dict(zip(row, values, strict=True)) for values in zip(*row.values(), strict=False)]
        return [message for entry in entries for message in round_messages(config, entry)]
    if len(columns) == 1 and all_are(row.get(columns[0]), dict):
        return row[columns[0]]
    need("dialogue" in columns and all_are(row.get("dialogue"), dict), "no chat can be made of these columns")
    return row["dialogue"]


def check_template(config: dict[str, Any]) -> None:
    """A template that every row needs is looked at before the first; one that a chat may make needless isn't."""
    columns = config["reader"]["input_columns"]
    if len(columns) == 1 or "dialogue" in columns:
        return
    prompt = template_of(config)
    need(prompt is not None, "without a template one column asks")
    if isinstance(prompt, dict):
        items = [item for section in prompt.values() for item in section]
        speaks = [bool(isinstance(item, (str, Pieces)) or item_messages(item)) for item in items]
        need(any(speaks), "the template says nothing")


def template_of(config: dict[str, Any]) -> Any:
    """The opened prompt template, None where there is none."""
    texts = (lambda text: Pieces([text])) if config.get("substitution") == "single_pass" else str
    template = read_template(config.get("prompt_template"), texts)
    if template is None:
        return None
    need(not template.is_raw, "all messages of a raw template are dropped")
    prompt = opened(template.of_label(next(iter(template.template)) if template.is_label_map else None), texts)
    for token in (template.ice_token, template.sep_token):
        if token is not None:
            prompt = map_texts(prompt, lambda text, token=token: text.replace(token, ""))
    return prompt


def round_messages(config: dict[str, Any], row: dict[str, str]) -> list[Message]:
    """A round of the chat: what the template says of the row, or its question and its answer."""
    reader = config["reader"]
    columns, answer = reader["input_columns"], row.get(reader.get("output_column") or None, "")
    prompt = template_of(config)
    if prompt is None:
        need(len(columns) == 1 and columns[0] in row, "one column asks")
        return [{"role": "user", "content": row[columns[0]]}, {"role": "assistant", "content": answer}]
    prompt = map_texts(map_texts(prompt, lambda text: fill(text, fields_of(row))), str)
    if isinstance(prompt, str):
        messages = [{"role": "user", "content": prompt}]
    else:
        messages = [message for items in prompt.values() for item in items for message in item_messages(item)]
    need(messages, "the template says nothing")
    return messages if messages[-1]["role"] == "assistant" else [*messages, {"role": "assistant", "content": answer}]


def item_messages(item: Any) -> list[Message]:
    if isinstance(item, str):
        return [{"role": "user", "content": item}] if item and "section" not in item else []
    if "section" in item:
        return []
    need("role" in item, "a turn without a role")
    if item["role"] not in NAMES:
        return []
    need("prompt" in item, "a turn without a prompt")
    return [{"role": NAMES[item["role"]], "content": item["prompt"]}]


# ---------------------------------------------------------------------------------------------------------------------
# How a model gets it.


def parser(config: dict[str, Any]) -> Any:
    output, given = config.get("output") or "text", config.get("meta_template")
    if output == "prompt_list":
        return lambda history: history
    api = output != "text"
    meta = read_meta(given, api, config.get("tokens"))
    need(meta is None or isinstance(meta, Meta), "a list-form meta template is for raw messages")
    if meta is None:
        roles = {chat: {"api_role": role} for role, chat in NAMES.items()} if api else {}
    else:
        for section in ("round", "reserved_roles"):
            need(all(isinstance(role, dict) for role in meta.config.get(section, [])), "a string has no role")
        roles = {NAMES.get(name, name): role for name, role in meta.roles.items()}
        need(api or not roles or "assistant" in roles, "nobody speaks as the assistant")
    return (lambda history: in_messages(history, roles)) if api else (lambda history: in_text(history, roles))


def in_text(history: list[Message], roles: dict[str, Any]) -> str:
    need(history, "no text is made of nothing")
    contents = [message["content"] or "" for message in history]
    if not roles:
        return "\n".join(contents)
    speakers = [roles.get(message["role"], {}) for message in history]
    words = [
        (role.get("begin") or "") + content + (role.get("end") or "")
        for role, content in zip(speakers, contents, strict=True)
    ]
    return "".join([*words, roles["assistant"].get("begin") or ""])


def in_messages(history: list[Message], roles: dict[str, Any]) -> list[dict[str, Any]]:
    for message in history:
        need(message["role"] not in roles or "api_role" in roles[message["role"]], "a role has no api_role")
    names = [roles.get(message["role"], {}).get("api_role", message["role"]) for message in history]
    return [{"role": name, "prompt": message["content"] or ""} for name, message in zip(names, history, strict=True)]


__all__ = ["DIALECTS", "ModelError", "requests"]
