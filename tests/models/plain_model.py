"""The rules of rendering in plain Python, a row at a time: the oracle of the tests and the plain peer of the benches.

`render(config, samples, train)` gives one request per output row. `config` holds the keyword arguments of
`promptpress.Renderer` (without `examples`, which are `train`); rows are dicts as `pyarrow.Table.to_pylist()` gives
them. What the contract refuses raises `ModelError`. The dialects in `DIALECTS` are modelled: OpenCompass's, and that of
AISBench where templates are `PromptTemplate`s; `media_model` and `turns_model` have its others.

A request is built in four steps, and the file is in their order: texts and how they are filled, templates, examples,
and the meta template.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

DIALECTS = ("opencompass", "aisbench")


class ModelError(ValueError):
    """The contract refuses this configuration or this data."""


def need(condition: object, what: str) -> None:
    if not condition:
        raise ModelError(what)


# ---------------------------------------------------------------------------------------------------------------------
# Texts. In the harness's way of substituting, a text is a str and nothing tells what came out of the data. In a single
# pass it is a `Pieces`, which keeps values apart from what was written in the configuration.


class Value(str):
    """Text that came out of the data: nothing is ever looked for in it."""

    __slots__ = ()


class Pieces:
    """A text in which values are kept apart; it has those methods of str that the rules use."""

    def __init__(self, parts: list[str]) -> None:
        self.parts = parts

    def __str__(self) -> str:
        return "".join(self.parts)

    def __contains__(self, wanted: str) -> bool:
        return any(wanted in part for part in self.parts if not isinstance(part, Value))

    def __add__(self, other: Pieces) -> Pieces:
        return Pieces(self.parts + other.parts)

    def split(self, token: str) -> list[Pieces]:
        done, current = [], []
        for part in self.parts:
            first, *others = [part] if isinstance(part, Value) else part.split(token)
            current.append(first)
            for other in others:
                done.append(Pieces(current))
                current = [other]
        return [*done, Pieces(current)]

    def replace(self, token: str, new: str | Pieces) -> Pieces:
        if isinstance(new, str):
            return Pieces([part if isinstance(part, Value) else part.replace(token, new) for part in self.parts])
        first, *others = self.split(token)
        for other in others:
            first = first + new + other
        return first

    def fill(self, fields: dict[str, str]) -> Pieces:
        placeholder = re.compile("|".join(map(re.escape, fields)) or r"(?!)")
        parts: list[str] = []
        for part in self.parts:
            if isinstance(part, Value):
                parts.append(part)
                continue
            end = 0
            while match := placeholder.search(part, end):
                start, stop = match.span()
                pairs = 1
                while start > end and part[start - 1] + part[stop : stop + 1] == "{}":
                    start, stop, pairs = start - 1, stop + 1, pairs + 1
                # Each two pairs of braces around a name stand for one; a pair that is left over is filled.
                field = Value(fields[match.group()]) if pairs % 2 else match.group()[1:-1]
                parts += [part[end:start] + "{" * (pairs // 2), field, "}" * (pairs // 2)]
                end = stop
            parts.append(part[end:])
        return Pieces(parts)


Text = Any  # str, or Pieces in a single pass


def fields_of(row: dict[str, Any]) -> dict[str, str]:
    """The row as {placeholder: text}."""
    return {"{" + name + "}": str(value) for name, value in row.items()}


def masked(row: dict[str, Any], output_column: str | None, token: object) -> dict[str, Any]:
    """In gen mode the answer is hidden, at its own place among the columns or else after them."""
    return row if output_column is None else {**row, output_column: token}


def fill(text: Text, fields: dict[str, str]) -> Text:
    """Put the fields into a text: column after column over the whole of it, or in a single pass."""
    if isinstance(text, Pieces):
        return text.fill(fields)
    if "{" in text:
        for placeholder, value in fields.items():
            text = text.replace(placeholder, value)
    return text


# ---------------------------------------------------------------------------------------------------------------------
# Templates. A dialogue is {section: items}; an item is a text, a turn (a dict), or a whole `Shot`.

SECTIONS = ("begin", "round", "end")
Dialogue = dict[str, list[Any]]


class Shot(list):
    """The items of one example of a dialogue template."""


@dataclass
class Template:
    """A prompt or ICE template as configured; `texts` says what a text is (str, or Pieces in a single pass)."""

    template: Any
    ice_token: str | None
    sep_token: str | None
    texts: Any
    is_raw: bool = False
    fills: bool = True  # raw messages: whether `content` takes part in substitution

    @property
    def is_dialogue(self) -> bool:
        return isinstance(self.template, dict) and set(self.template) <= set(SECTIONS)

    @property
    def is_label_map(self) -> bool:
        return isinstance(self.template, dict) and not self.is_dialogue

    def of_label(self, label: object) -> Any:
        if not self.is_label_map:
            return self.template
        try:
            return self.template[label]
        except (KeyError, TypeError):
            raise ModelError(f"no template for the label {label!r}") from None


def read_template(config: Any, texts: Any) -> Template | None:
    if config is None:
        return None
    if isinstance(config, list):
        config = {"type": "RawPromptTemplate", "messages": config}
    elif not (isinstance(config, dict) and "type" in config):
        config = {"type": "PromptTemplate", "template": config}
    options = dict(config)
    kind = options.pop("type")
    kind = (kind if isinstance(kind, str) else kind.__name__).rsplit(".", 1)[-1]
    if kind == "RawPromptTemplate":
        return read_raw_template(options, texts)
    need(kind == "PromptTemplate", f"unknown template {kind}")
    need("template" in options and set(options) <= {"template", "ice_token", "sep_token"}, "wrong arguments")
    template, ice_token, sep_token = (options.get(name) for name in ("template", "ice_token", "sep_token"))
    need(isinstance(template, (str, dict)), "a template is a string or a dict")
    for token in (ice_token, sep_token):
        need(token is None or isinstance(token, str), "a token is a string")
    for text in [template] if isinstance(template, str) else template.values():
        need(isinstance(text, (str, list, dict)), f"{text!r} can't be a template")
        if isinstance(text, str) and ice_token:
            need(ice_token in text, f"no ice_token in {text!r}")
    return Template(template, ice_token, sep_token, texts)


def read_raw_template(options: dict[str, Any], texts: Any) -> Template:
    need("messages" in options and set(options) <= {"messages", "format_variables", "ice_token"}, "wrong arguments")
    messages = options["messages"]
    need(isinstance(messages, list), "messages must be a list")
    for message in messages:
        need(isinstance(message, (str, dict)), "a message is a dict, or a string for the examples")
        if isinstance(message, dict) and "expand_column" not in message:
            need(message.get("role") in ("system", "user", "assistant"), "no such role in raw messages")
            need("content" in message, "a message needs its content")
    fills = bool(options.get("format_variables", True))
    return Template(messages, options.get("ice_token", "</E>"), None, texts, is_raw=True, fills=fills)


def listed(section: Any, texts: Any) -> list[Any]:
    """A section's items; texts become what the way of substituting calls a text."""
    items = []
    for item in section:
        if isinstance(item, dict):
            if "prompt" in item:
                need(isinstance(item["prompt"], str), "the prompt of a turn is a string")
                item = {**item, "prompt": texts(item["prompt"])}  # noqa: PLW2901
        else:
            need(isinstance(item, str), f"{item!r} is neither a turn nor a string")
            item = texts(item)  # noqa: PLW2901
        items.append(item)
    return items


def opened(template: Any, texts: Any) -> Text | Dialogue:
    """A string template as a text, a dialogue template as its sections."""
    if isinstance(template, str):
        return texts(template)
    need(isinstance(template, dict) and "round" in template, "a dialogue needs a round")
    dialogue = {}
    for name in SECTIONS:
        if name in template:
            section = template[name]
            if name == "round":
                section = section or []  # whatever is empty adds no item; the items of a dict are its keys
            if isinstance(section, str) or (isinstance(section, dict) and name != "round"):
                section = [section]
            need(isinstance(section, (list, dict)), f"{name} is a list, a turn or a string")
            dialogue[name] = listed(section, texts)
    return dialogue


def map_items(items: list[Any], change: Any) -> list[Any]:
    """`items` with every text in them changed, those of turns and examples too."""
    changed: list[Any] = []
    for item in items:
        if isinstance(item, Shot):
            changed.append(Shot(map_items(item, change)))
        elif isinstance(item, dict):
            changed.append({**item, "prompt": change(item["prompt"])} if "prompt" in item else item)
        else:
            changed.append(change(item))
    return changed


def map_texts(prompt: Text | Dialogue, change: Any) -> Text | Dialogue:
    if isinstance(prompt, dict):
        return {name: map_items(items, change) for name, items in prompt.items()}
    return change(prompt)


# ---------------------------------------------------------------------------------------------------------------------
# Examples.


@dataclass
class Shots:
    """The examples of one sample: `text` for string examples, `items` for dialogues, `messages` for raw messages."""

    text: Text | None = None
    items: list[Any] | None = None
    messages: list[Any] | None = None


def retrieve(retriever: dict[str, Any], samples: int, train: int) -> list[list[int]]:
    """The indices of the examples for every sample."""
    kind = retriever["type"]
    if kind == "ZeroRetriever":
        return [[]] * samples
    if kind == "FixKRetriever":
        chosen = retriever["fix_id_list"]
        need(all(index < train for index in chosen), "fix_id_list is out of range")
        return [chosen] * samples
    if kind == "RandomRetriever":
        import numpy as np

        count = retriever.get("ice_num", 1)
        need(0 <= count <= train, "more examples asked for than there are")
        generator = np.random.RandomState(retriever.get("seed", 43))
        return [generator.choice(train, count, replace=False).tolist() for _ in range(samples)]
    need(kind == "SlidingWindowRetriever", f"unknown retriever {kind}")
    width, windows = retriever["k"], []
    for position in range(samples):
        missing = max(0, width - position)
        windows.append([*range(train - missing, train), *range(max(0, position - width), position)])
    return windows


def example(ice: Template, row: dict[str, Any], label: object) -> Text | Shot | list[Any]:
    """One row of the train split in the ICE template: a text, a dialogue's items, or raw messages."""
    if ice.is_raw:
        return raw_messages(ice, row)
    prompt = opened(ice.of_label(label), ice.texts)
    prompt = Shot(prompt["round"]) if isinstance(prompt, dict) else prompt
    fields = fields_of(row)

    def change(text: Text) -> Text:
        return fill(text if ice.ice_token is None else text.replace(ice.ice_token, ""), fields)

    return Shot(map_items(prompt, change)) if isinstance(prompt, Shot) else change(prompt)


def joined(examples: list[Any], ice: Template | None, separator: Any, end: Any, texts: Any) -> Shots:
    """All examples of one sample, with what stands between and after them."""
    if ice is not None and ice.is_raw:
        return Shots(messages=[message for example in examples for message in example])
    if ice is not None and ice.is_dialogue:
        separator = end = ""
    if examples and isinstance(examples[0], Shot):
        items: list[Any] = []
        for example in examples:
            if isinstance(example, Shot):
                items += [example, texts(separator)] if separator else [example]
            elif str(example + texts(separator)):
                items.append(example + texts(separator))
        need(isinstance(end, str), "ice_eos_token is a string")
        return Shots(items=[*items, texts(end)])
    need(isinstance(separator, str) and isinstance(end, str), "ice_separator and ice_eos_token are strings")
    need(not any(isinstance(example, Shot) for example in examples), "examples are texts and dialogues mixed")
    text = texts("")
    for position, example in enumerate(examples):
        text = text + texts(separator) + example if position else text + example
    return Shots(text=text + texts(end))


def with_examples(prompt: Text | Dialogue, token: str, shots: Shots) -> Text | Dialogue:
    """The ice token replaced by the examples."""
    if not isinstance(prompt, dict):
        need(shots.text is not None, "dialogue examples can't go into a string")
        return prompt.replace(token, shots.text)
    return {name: spliced(items, token, shots) for name, items in prompt.items()}


def spliced(items: list[Any], token: str, shots: Shots) -> list[Any]:
    """A section with the examples in place: texts inside its texts, dialogues item by item instead of the token."""
    if shots.text is not None:
        return map_items(items, lambda text: text.replace(token, shots.text))
    result: list[Any] = []
    for item in items:
        if isinstance(item, dict):
            need(token not in item.get("prompt", ""), "dialogue examples can't go into a turn")
            result.append(item)
        elif shots.items is not None:  # raw messages, on the other hand, delete every string of a dialogue
            need(token, "an empty ice_token splits nothing")
            for position, part in enumerate(item.split(token)):
                result += shots.items if position else []
                result += [part] if str(part) else []
    return result


def raw_messages(raw: Template, row: dict[str, Any], shots: Shots | None = None) -> list[Any]:
    """A raw template filled; `shots` go where the ice token stands alone."""
    messages: list[Any] = []
    fields = fields_of(row) if raw.fills else {}
    for message in raw.template:
        if isinstance(message, str):
            if message == raw.ice_token and shots is not None and shots.text is None:
                messages += shots.messages or map_items(shots.items or [], str)
        elif "expand_column" in message:
            value = row.get(message["expand_column"])
            messages += value if isinstance(value, list) else []
        elif raw.fills and isinstance(message["content"], str):
            messages.append({**message, "content": str(fill(raw.texts(message["content"]), fields))})
        else:
            messages.append(message)
    return messages


# ---------------------------------------------------------------------------------------------------------------------
# The meta template.


@dataclass
class Meta:
    """A model's side: `roles` are its roles by name, `positions` the order of those in its round."""

    config: dict[str, Any]
    api: bool
    roles: dict[str, dict[str, Any]] = field(default_factory=dict)
    positions: dict[str, int] = field(default_factory=dict)
    empty_messages: bool = True  # whether a role without a prompt says an empty message

    def role_of(self, turn: dict[str, Any]) -> str:
        need("role" in turn and "section" not in turn, "a turn needs a role and is no section marker")
        name = turn["role"] if turn["role"] in self.roles else turn.get("fallback_role")
        need(name in self.roles, f"nobody speaks for the role {turn['role']!r}")
        return name

    def place_of(self, turn: dict[str, Any]) -> int | None:
        """Return the position of a turn in a round; None for a reserved role, which text lets speak in passing."""
        name = self.role_of(turn)
        if name not in self.positions and not (name == turn["role"] and self.api):
            need(name == turn["role"], f"the fallback {name!r} has no place in the round")
            return None
        name = name if name in self.positions else turn.get("fallback_role")
        need(name in self.positions, f"no place in the round for the role {turn['role']!r}")
        return self.positions[name]


def read_meta(config: Any, api: bool, tokens: Any) -> Meta | list[Any] | None:
    if not config:
        return None
    if isinstance(config, list) and api:
        for message in config:
            need(isinstance(message, dict) and message.get("role") in ("system", "user", "assistant"), "no raw message")
        return config
    need(isinstance(config, dict) and isinstance(config.get("round"), list), "a meta template needs a round")
    reserved = config.get("reserved_roles", [])
    need(isinstance(reserved, list), "reserved_roles is a list")
    meta = Meta(config, api)
    for position, item in enumerate([*config["round"], *reserved]):
        need(isinstance(item, (str, dict)), "a meta template is made of strings and roles")
        if isinstance(item, dict):
            need("role" in item and item["role"] not in meta.roles, "roles have different names")
            meta.roles[item["role"]] = {**item, **encoded(item, tokens)}
            if position < len(config["round"]):
                meta.positions[item["role"]] = position
    return meta


def encoded(role: dict[str, Any], tokens: Any) -> dict[str, str]:
    """The `begin` and `end` of a role that are given as lists, as text."""
    result = {}
    for key in ("begin", "end"):
        if isinstance(role.get(key), list):
            look_up = tokens if callable(tokens) else (tokens or {}).get
            texts = [item if isinstance(item, str) else look_up(item) for item in role[key]]
            need(all(isinstance(text, str) for text in texts), f"a token has no text: {role[key]}")
            result[key] = "".join(texts)
    return result


def rounds_of(meta: Meta, items: list[Any]) -> list[list[dict[str, Any]]]:
    """The turns among `items`, cut wherever one stands at the same place as the last or before it."""
    rounds: list[list[dict[str, Any]]] = [[]]
    last = -1
    for turn in items:
        if isinstance(turn, dict):
            position = meta.place_of(turn)
            if position is not None:
                if position <= last:
                    rounds.append([])
                last = position
            rounds[-1].append(turn)
    return rounds


def render_role(meta: Meta, role: dict[str, Any], generating: bool) -> tuple[list[Any], bool]:
    """Return what one role says, as a list of texts or of messages, and whether the model's answer starts there."""
    stop = generating and bool(role.get("generate", False))
    if stop and meta.api:
        return [], True
    words = [role.get(key, "") for key in (("begin",) if stop else ("begin", "prompt", "end"))]
    need(all(isinstance(word, str) for word in words), "begin, prompt and end of a role are strings")
    need(not meta.api or "api_role" in role, f"the role {role['role']!r} has no api_role")
    need(not meta.api or meta.empty_messages or "prompt" in role, "a message without a prompt")
    text = "".join(words)
    return [{"role": role["api_role"], "prompt": text} if meta.api else text], stop


def render_round(meta: Meta, turns: list[dict[str, Any]], generating: bool) -> tuple[list[Any], bool]:
    """The meta template's round, with what the turns say instead of its defaults."""
    roles = dict(meta.roles)
    asides: dict[int, list[dict[str, Any]]] = {}  # the reserved roles that speak, by the place after which they do
    last = -1
    for turn in turns:
        name, position = meta.role_of(turn), meta.place_of(turn)
        if position is None:
            asides.setdefault(last, []).append({**meta.roles[name], **turn})
        else:
            roles[name] = {**roles[name], **turn}
            last = position
    speakers = list(asides.get(-1, []))
    for position, item in enumerate(meta.config["round"]):
        speakers += [roles[item["role"]] if isinstance(item, dict) else item, *asides.get(position, [])]
    result: list[Any] = []
    for speaker in speakers:
        need(isinstance(speaker, dict) or not meta.api, "a string in the round has no role to speak it")
        more, stopped = render_role(meta, speaker, generating) if isinstance(speaker, dict) else ([speaker], False)
        result += more
        if stopped:
            return result, True
    return result, False


def render_rounds(meta: Meta, items: list[Any], generating: bool) -> tuple[list[Any], bool]:
    """A round or an example: for text the strings among its items first, then its rounds."""
    need(not any(isinstance(item, Shot) for item in items), "dialogue examples can't stand inside a round")
    result, stopped = [item for item in items if isinstance(item, str) and not meta.api], False
    rounds = rounds_of(meta, items)
    for position, turns in enumerate(rounds):
        more, stopped = render_round(meta, turns, generating and position == len(rounds) - 1)
        result += more
    return result, stopped


def render_dialogue(meta: Meta, dialogue: Dialogue, mode: str) -> tuple[list[Any], bool]:
    result: list[Any] = []
    for name, items in dialogue.items():
        if name == "round":
            more, stopped = render_rounds(meta, items, mode == "gen")
            result += more
            if stopped:
                return result, True
            continue
        for item in items:
            if isinstance(item, Shot):
                result += render_rounds(meta, item, generating=False)[0]
            elif isinstance(item, dict):
                role = {**meta.roles[meta.role_of(item)], **item}
                more, stopped = render_role(meta, role, meta.api and mode == "gen")
                need(not stopped, "the generating role speaks outside the rounds")
                result += more
            elif not meta.api:
                result.append(item)
    return result, False


def in_text(meta: Meta, dialogue: Dialogue, mode: str) -> str:
    """A dialogue in the words of a language model."""
    texts, stopped = render_dialogue(meta, dialogue, mode)
    begin, end = meta.config.get("begin", ""), "" if stopped else meta.config.get("end", "")
    need(isinstance(begin, str) and isinstance(end, str), "for text, begin and end of a meta template are strings")
    return begin + "".join(texts) + end


def in_messages(meta: Meta, dialogue: Dialogue, mode: str) -> list[Any]:
    """A dialogue as messages; its strings have no role and are left out."""
    messages, _ = render_dialogue(meta, dialogue, mode)
    need(messages, "no message is left")
    begin = meta.config.get("begin")
    return ([begin] if begin else []) + merged(messages)


def merged(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """Consecutive messages of one role become one."""
    result: list[dict[str, str]] = []
    for message in messages:
        if result and result[-1]["role"] == message["role"]:
            result[-1] = {**message, "prompt": result[-1]["prompt"] + "\n" + message["prompt"]}
        else:
            result.append(message)
    return result


def raw_merged(meta: list[dict[str, Any]], messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Raw messages under a list-form meta template: equal roles are joined, missing ones inserted, in its order."""
    result: list[dict[str, Any]] = []
    rest = list(messages)
    for from_meta in meta:
        if any(message["role"] == from_meta["role"] for message in rest):
            while rest[0]["role"] != from_meta["role"]:
                result.append(rest.pop(0))
            same = rest.pop(0)
            need(
                isinstance(from_meta.get("content"), str) and isinstance(same["content"], str),
                "contents can't be joined",
            )
            result.append({**same, "content": from_meta["content"] + same["content"]})
        else:
            result.append(from_meta)
    return result + rest


def without_meta(items: list[Any]) -> str:
    """All that is said, a line each; an empty item still ends the line before it if anything follows."""
    text = separator = ""
    for item in items:
        words = item.get("prompt", "") if isinstance(item, dict) else item
        text += separator + words if words else ""
        separator = "\n"
    return text


def flat(items: list[Any]) -> list[Any]:
    """All items, those of the examples too, without what the harness would take for its own section markers."""
    every = [part for item in items for part in (item if isinstance(item, Shot) else [item])]
    return [item for item in every if not (isinstance(item, dict) and set(item) == {"section", "pos"})]


# ---------------------------------------------------------------------------------------------------------------------
# All together.


@dataclass
class Model:
    """A configuration, read and checked."""

    prompt: Template | None
    ice: Template | None
    retriever: dict[str, Any]
    output_column: str | None
    inferencer: dict[str, Any]
    meta: Meta | list[Any] | None
    mode: str
    output: str
    labels: list[Any] | None
    dialect: str

    @property
    def main(self) -> Template:
        """The template of the prompt: without one of its own, the ICE template serves as both."""
        return self.prompt or self.ice

    def labels_of(self, samples: list[dict[str, Any]]) -> list[Any]:
        if self.labels is not None:
            return self.labels
        if self.inferencer.get("labels") is not None:
            return self.inferencer["labels"]
        need(not (self.prompt and self.prompt.is_raw), "raw messages name no labels")
        if self.prompt and isinstance(self.prompt.template, dict):
            return list(self.prompt.template)
        if self.ice and self.ice.ice_token is not None:
            need(not self.ice.is_raw, "raw messages name no labels")
            if isinstance(self.ice.template, dict):
                return list(self.ice.template)
        need(all(self.output_column in row for row in samples), "no output column to take labels from")
        try:
            return sorted({row[self.output_column] for row in samples})
        except TypeError:
            raise ModelError("the values of the output column can't be labels") from None

    def prompt_of(self, row: dict[str, Any], shots: Shots, label: object) -> Text | Dialogue | list[Any]:
        """The template with the examples and the sample in it, before the meta template."""
        main = self.main
        if main.is_raw:
            return raw_messages(main, row, shots if self.mode == "gen" else None)
        if self.mode == "gen":
            first = next(iter(main.template)) if main.is_label_map else None
            prompt = opened(main.of_label(first), main.texts)
            prompt = prompt if main.ice_token is None else with_examples(prompt, main.ice_token, shots)
            prompt = self.without_separator(prompt)
            row = masked(row, self.output_column, self.inferencer.get("gen_field_replace_token", ""))
        else:
            prompt = opened(main.of_label(label), main.texts)
            if self.inferencer.get("normalizing_str") is None:
                prompt = self.without_separator(prompt)
            prompt = prompt if main.ice_token is None else with_examples(prompt, main.ice_token, shots)
        fields = fields_of(row)
        return map_texts(prompt, lambda text: fill(text, fields))

    def without_separator(self, prompt: Text | Dialogue) -> Text | Dialogue:
        token = self.main.sep_token
        return prompt if token is None else map_texts(prompt, lambda text: text.replace(token, ""))

    def request_of(self, prompt: Text | Dialogue | list[Any]) -> Any:
        """Return what the model receives."""
        if isinstance(prompt, list):
            return self.raw_request_of(prompt)
        prompt = map_texts(prompt, str)
        if isinstance(prompt, str):
            return prompt
        if self.output == "prompt_list":
            return flat([item for items in prompt.values() for item in items])
        if self.meta is None:
            return without_meta(flat([item for items in prompt.values() for item in items]))
        need(isinstance(self.meta, Meta), "a list-form meta template is for raw messages")
        return (
            in_text(self.meta, prompt, self.mode)
            if self.output == "text"
            else in_messages(self.meta, prompt, self.mode)
        )

    def raw_request_of(self, messages: list[Any]) -> list[Any]:
        if self.output == "prompt_list":
            return flat(messages)
        need(self.output == "messages" or not messages, "raw messages are no text")
        need(all(isinstance(message, dict) and {"role", "content"} <= set(message) for message in messages), "not raw")
        return raw_merged(self.meta, messages) if isinstance(self.meta, list) and messages else messages


RETRIEVERS = {
    "ZeroRetriever": {"ice_eos_token"},
    "FixKRetriever": {"fix_id_list", "ice_separator", "ice_eos_token", "ice_num"},
    "RandomRetriever": {"ice_separator", "ice_eos_token", "ice_num", "seed"},
    "SlidingWindowRetriever": {"k", "ice_separator", "ice_eos_token", "ice_num"},
    "IndexColumn": {"column", "ice_separator", "ice_eos_token"},
}


WORDS = ("ice_template", "retriever", "reader", "inferencer", "meta_template", "dialect")


def substitution_of(config: dict[str, Any]) -> str:
    """The way of substituting: values are looked into where anything of a harness is given."""
    prompt = config.get("prompt_template")
    has_type = isinstance(prompt, dict) and "type" in prompt
    is_harness = has_type or any(config.get(word) is not None for word in WORDS)
    return config.get("substitution") or ("harness" if is_harness else "single_pass")


def read_model(config: dict[str, Any]) -> Model:
    dialect = config.get("dialect") or "opencompass"
    assert dialect in DIALECTS, f"the dialect {dialect} is not modelled here"
    texts = (lambda text: Pieces([text])) if substitution_of(config) == "single_pass" else str
    prompt, ice = (read_template(config.get(name), texts) for name in ("prompt_template", "ice_template"))
    need(prompt or ice, "a template is needed")
    need(
        dialect == "opencompass" or not any(template and template.is_raw for template in (prompt, ice)),
        "AISBench has no raw messages",
    )
    retriever = dict(config.get("retriever") or {"type": "ZeroRetriever"})
    kind = retriever["type"] if isinstance(retriever["type"], str) else retriever["type"].__name__
    retriever["type"] = kind.rsplit(".", 1)[-1]
    arguments = RETRIEVERS.get(retriever["type"], set())
    if dialect == "aisbench" and retriever["type"] == "ZeroRetriever":
        arguments = {*arguments, "ice_separator"}
    need(set(retriever) - {"type"} <= arguments, "wrong arguments of the retriever")
    if ice and (prompt or retriever["type"] != "ZeroRetriever" or dialect == "aisbench"):
        need((prompt or ice).ice_token is not None, "examples need an ice_token to stand for")
    inferencer = dict(config.get("inferencer") or {})
    by_default = "ppl" if str(inferencer.get("type")).rsplit(".", 1)[-1] in ("PPLInferencer", "LLInferencer") else "gen"
    output = config.get("output") or default_output(prompt or ice, config.get("meta_template"))
    meta = (
        None
        if output == "prompt_list"
        else read_meta(config.get("meta_template"), output == "messages", config.get("tokens"))
    )
    if dialect == "aisbench" and meta is not None:
        need(isinstance(meta, Meta), "AISBench has no meta templates that are lists")
        meta.empty_messages = False
    reader = config.get("reader") or {}
    return Model(
        prompt,
        ice,
        retriever,
        reader.get("output_column") or None,  # an empty name is none
        inferencer,
        meta,
        config.get("mode") or by_default,
        output,
        config.get("labels"),
        dialect,
    )


def default_output(main: Template, meta: Any) -> str:
    roles = [*meta.get("round", []), *meta.get("reserved_roles", [])] if isinstance(meta, dict) else []
    api = main.is_raw or isinstance(meta, list) or any(isinstance(role, dict) and "api_role" in role for role in roles)
    return "messages" if api else "text"


def render(config: dict[str, Any], samples: list[dict[str, Any]], train: list[dict[str, Any]]) -> list[Any]:
    """One request per output row: per sample in gen, per sample and label in ppl."""
    model = read_model(config)
    column = model.retriever.get("column")
    if column is None:
        indices = retrieve(model.retriever, len(samples), len(train))
        chosen = model.retriever.get("fix_id_list", [])
        need(model.dialect == "opencompass" or min(chosen, default=0) >= 0, "AISBench counts no rows from the end")
    else:
        need(all(column in row for row in samples), f"no column {column!r}")
        indices = [row[column] for row in samples]
        samples = [{name: value for name, value in row.items() if name != column} for row in samples]
    labels = model.labels_of(samples) if model.mode == "ppl" else [None]
    default = "" if model.retriever["type"] == "ZeroRetriever" else "\n"
    separator, end = (model.retriever.get(name, default) for name in ("ice_separator", "ice_eos_token"))
    rendered: dict[int, Any] = {}
    requests = []
    for row, chosen in zip(samples, indices, strict=True):
        need(chosen is not None and (model.ice or not chosen), "no indices, or no template for the examples")
        for index in chosen:
            first = -len(train) if model.dialect == "opencompass" else 0
            need(index is not None and first <= index < len(train), f"there is no example {index}")
            if index not in rendered:
                need(model.output_column in train[index], "examples need the output column")
                rendered[index] = example(model.ice, train[index], train[index][model.output_column])
        shots = joined([rendered[index] for index in chosen], model.ice, separator, end, model.main.texts)
        requests += [model.request_of(model.prompt_of(row, shots, label)) for label in labels]
    return requests
