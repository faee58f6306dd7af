"""OpenICL's rules in plain Python, a row at a time: the oracle of tests/rendering/test_openicl.py.

`render(config, samples, train)` takes the arguments of `promptpress.Renderer` and rows as dicts, and gives one prompt
an output row. What the contract refuses raises `RefusedError`. Its own dialect
is modelled, not the early design on top of it.
"""

from __future__ import annotations

from typing import Any

DIALECTS = ("openicl",)


class RefusedError(ValueError):
    """The contract refuses this configuration or this data."""


def need(condition: object, what: str) -> None:
    if not condition:
        raise RefusedError(what)


class Template:
    """A template with the tokens of its columns."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.body = config["template"]
        self.tokens: dict[str, str] = config["column_token_map"]
        self.name, self.map = config.get("selected_column_name"), config.get("selected_column_map")
        self.ice_token = config.get("ice_token")
        need((self.name is None) == (self.map is None), "one of the two without the other")
        need(isinstance(self.body, (str, dict)), "neither a string nor a label map")
        for text in self.body.values() if isinstance(self.body, dict) else [self.body]:
            need(isinstance(text, str), "a label's template is no string")
            need(self.ice_token is None or self.ice_token in text, "no ICE token in it")
        need(len(set(self.tokens.values())) == len(self.tokens), "a token twice")
        need(self.ice_token not in self.tokens.values(), "the ICE token is a column's")

    def of(self, label: object) -> str:
        if isinstance(self.body, str):
            return self.body
        need(label in self.body, "no such label")
        return self.body[label]

    def fill(self, text: str, row: dict[str, Any], fixed: dict[str, str]) -> str:
        for column, token in self.tokens.items():
            if column not in fixed:
                need(column in row, "no such column")
            text = text.replace(token, fixed.get(column) if column in fixed else str(row[column]))
        return text

    def by_label(self, label: object) -> dict[str, str]:
        """The column whose text the label decides."""
        if self.map is None or self.name not in self.tokens:
            return {}
        need(label in self.map, "the label has no text")
        return {self.name: str(self.map[label])}

    def example(self, row: dict[str, Any], label: object) -> str:
        text = self.of(label)
        if self.ice_token is not None:
            text = text.replace(self.ice_token, "")
        return self.fill(text, row, self.by_label(label))

    def scored(self, row: dict[str, Any], examples: str, label: object) -> str:
        need(self.ice_token is not None, "ppl without an ICE token")
        return self.fill(self.of(label).replace(self.ice_token, examples), row, self.by_label(label))

    def generated(self, row: dict[str, Any], examples: str, output: str | None, mask: str) -> str:
        if isinstance(self.body, str):
            text = self.body
        else:
            label = next(iter(self.body))
            if self.name is not None:
                need(self.name in row, "no such column to choose by")
                need(not isinstance(row[self.name], (list, dict)), "a list can't choose")
                label = row[self.name] if row[self.name] in self.body else label
            text = self.body[label]
        if self.ice_token is not None:
            text = text.replace(self.ice_token, examples)
        return self.fill(text, row, {} if output is None else {output: mask})


def render(config: dict[str, Any], samples: list[dict[str, Any]], train: list[dict[str, Any]]) -> list[str]:
    prompt, ice = (
        Template(config[key]) if config.get(key) is not None else None for key in ("prompt_template", "ice_template")
    )
    retriever = config["retriever"]
    zero = retriever["type"] == "ZeroRetriever"
    separator = retriever.get("ice_separator", "" if zero else "\n")
    end = retriever.get("ice_eos_token", "" if zero else "\n")
    inputs, output = config["reader"]["input_columns"], config["reader"]["output_column"]
    shots = []
    for number in retriever.get("fix_id_list", []):
        row = train[number]
        if ice is not None:
            shots.append(ice.example(row, row[output]))
        else:
            shots.append(" ".join(str(row[name]) for name in [*inputs, output]))
    examples = separator.join(shots) + end
    main = prompt if prompt is not None else ice if ice is not None and ice.ice_token is not None else None
    last = retriever.get("prompt_eos_token", "")
    mask = (config.get("inferencer") or {}).get("gen_field_replace_token", "")
    out = []
    for row in samples:
        plain = " ".join(str(row[name]) for name in inputs)
        if config["mode"] == "gen":
            text = main.generated(row, examples, output, mask) if main else examples + plain + mask
            out.append(text + last)
            continue
        for label in labels_of(config, prompt, ice, samples, output):
            text = main.scored(row, examples, label) if main else f"{examples}{plain} {label}"
            out.append(text + last)
    return out


def labels_of(config: dict[str, Any], prompt: Any, ice: Any, samples: list[dict[str, Any]], output: str) -> list[Any]:
    if config.get("labels") is not None:
        return config["labels"]
    if prompt is not None and isinstance(prompt.body, dict):
        return list(prompt.body)
    if ice is not None and ice.ice_token is not None and isinstance(ice.body, dict):
        return list(ice.body)
    return sorted({row[output] for row in samples})
