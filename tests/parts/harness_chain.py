"""The steps of a harness around its single-sample classes, in its order: examples, prompts, parsing, turns.

`run(case, classes, table)` takes a recorded case through the classes of one harness and gives an `Outcome`: what was
made, or what was raised at which stage. It knows nothing of how the classes work.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any


@dataclass
class Outcome:
    """The results of a case, as far as it got."""

    intermediate: list[Any] = field(default_factory=list)
    expect: list[Any] = field(default_factory=list)
    requests: list[list[Any]] = field(default_factory=list)
    stage: str = ""
    raised: Exception | None = None


class HarnessError(Exception):
    """A refusal by the harness itself, outside the classes under test; `kind` is the type that it raises."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


def name_of(raised: Exception) -> str:
    return raised.kind if isinstance(raised, HarnessError) else type(raised).__name__


def run(case: dict[str, Any], classes: Any, data: SimpleNamespace, **options: Any) -> Outcome:
    """A case of OpenCompass or AISBench. `data` has the rows of `train` and `test`, revived; so is `case`."""
    out = Outcome()
    try:
        _run(case, classes, data, options, out)
    except Exception as raised:
        out.raised = raised
    return out


def _run(case: dict[str, Any], classes: Any, data: SimpleNamespace, options: dict[str, Any], out: Outcome) -> None:
    aisbench = hasattr(classes, "MMPromptTemplate")
    out.stage = "template"
    # AISBench's retriever makes the ICE template before the other.
    ice_template, template = (built(case[name], classes, options) for name in ("ice_template", "prompt_template"))
    out.stage = "parser"
    kind = {"lm": classes.LMTemplateParser, "api": classes.APITemplateParser, "none": None}[case["parser"]]
    parser = None if kind is None else kind(case["meta_template"], **options)
    out.stage = "retrieve"
    retriever = dict(case["retriever"])
    indices = retriever.pop("given_indices", None)
    if indices is None:
        indices = retrieved(retriever, len(data.test), len(data.train), aisbench)
    ppl = case["mode"] == "ppl"

    def examples(row: int) -> Any:
        out.stage = "ice"
        rows = [data.train[index] for index in indices[row]]
        return joined(rows, ice_template, retriever, case["reader"]["output_column"], classes)

    def prompt(row: int, shots: Any, label: Any = None) -> Any:
        out.stage = "prompt"
        main = template or ice_template
        missing = main is None or (ice_template is not None and main.ice_token is None)
        if missing:
            raise HarnessError("AISBenchImplementationError" if aisbench else "NotImplementedError")
        if ppl:
            keeps = case["inferencer"].get("normalizing_str") is not None
            return main.generate_label_prompt_item(data.test[row], shots, label, keeps)
        hidden = case["inferencer"].get("gen_field_replace_token", "")
        return main.generate_item(
            data.test[row],
            output_field=case["reader"]["output_column"] or None,  # the harness's reader takes no name for no column
            output_field_replace_token=hidden,
            ice_field_replace_token=shots,
        )

    if ppl:
        shots = [examples(row) for row in range(len(data.test))]
        out.stage = "labels"
        labels = labels_of(case, ice_template, template, data)
        columns = [[prompt(row, shots[row], label) for row in range(len(data.test))] for label in labels]
        prompts = [[column[row] for column in columns] for row in range(len(data.test))]
    else:
        prompts = [prompt(row, examples(row)) for row in range(len(data.test))]
    out.intermediate = copy.deepcopy(prompts)  # parsers may change what they are given
    if case["inferencer"]["type"] == "MultiTurnGenInferencer":
        out.stage = "infer"
        for row, whole in enumerate(prompts):
            talk = Talk(row, case["inferencer"]["infer_mode"], parser, classes, options)
            out.requests.append(list(talk.requests(whole)))
        return
    out.stage = "parse"
    if parser is not None:
        out.expect = [parser.parse_template(prompt_of_row, mode=case["mode"]) for prompt_of_row in prompts]


def built(config: dict[str, Any] | None, classes: Any, options: dict[str, Any]) -> Any:
    if config is None:
        return None
    arguments = dict(config)
    return getattr(classes, arguments.pop("type"))(**arguments, **options)


def retrieved(retriever: dict[str, Any], samples: int, train: int, aisbench: bool) -> list[list[int]]:
    kind = retriever["type"]
    if kind == "ZeroRetriever":
        return [[]] * samples
    if kind == "FixKRetriever":
        chosen = retriever["fix_id_list"]
        if any(index >= train or (aisbench and index < 0) for index in chosen):
            raise HarnessError("AISBenchValueError" if aisbench else "AssertionError")
        return [chosen] * samples
    if kind == "RandomRetriever":
        import numpy as np

        draw = np.random.RandomState(retriever.get("seed", 43))
        return [draw.choice(train, retriever.get("ice_num", 1), replace=False).tolist() for _ in range(samples)]
    width, windows = retriever["k"], []
    for position in range(samples):
        missing = max(0, width - position)
        windows.append([*range(train - missing, train), *range(max(0, position - width), position)])
    return windows


def labels_of(case: dict[str, Any], ice_template: Any, template: Any, data: SimpleNamespace) -> list[Any]:
    given = case["inferencer"].get("labels")
    if given is not None:
        return list(given)
    if template is not None and isinstance(template.template, dict):
        return list(template.template)
    if ice_template is not None and ice_template.ice_token is not None and isinstance(ice_template.template, dict):
        return list(ice_template.template)
    column = case["reader"]["output_column"]
    if not isinstance(column, str):
        raise HarnessError("TypeError")
    values = {row[column] for row in data.test}
    return case["labels"] if case["labels"] is not None else list(values)


def joined(rows: list[Any], template: Any, retriever: dict[str, Any], output_column: str, classes: Any) -> Any:
    """All examples of one sample; the harness's `generate_ice`."""
    default = "" if retriever["type"] == "ZeroRetriever" else "\n"
    between, end = (retriever.get(key, default) for key in ("ice_separator", "ice_eos_token"))
    if template is None:
        if rows:
            raise HarnessError("AISBenchValueError" if hasattr(classes, "MMPromptTemplate") else "AssertionError")
    elif template.prompt_type == "raw_messages":
        return [message for row in rows for message in template.generate_ice_item(row, row[output_column])]
    elif template.prompt_type == "meta":
        between = end = ""
    examples = [template.generate_ice_item(row, row[output_column]) for row in rows]
    if examples and isinstance(examples[0], classes.PromptList):
        shots: Any = []
        for example in examples:
            shots += example + between
        shots.append(end)
        return shots
    return between.join(examples) + end


@dataclass
class Talk:
    """One conversation; the harness's `infer_last`, `infer_every` and `infer_every_with_gt`."""

    row: int
    mode: str
    parser: Any
    classes: Any
    options: dict[str, Any]

    def parsed(self, items: Any) -> Any:
        prompt = self.classes.PromptList(items, **self.options)
        return copy.deepcopy(prompt) if self.parser is None else self.parser.parse_template(prompt, mode="gen")

    def requests(self, whole: Any) -> Iterator[Any]:
        if self.mode not in ("last", "every", "every_with_gt"):
            raise HarnessError("ParameterValueError")
        whole = copy.deepcopy(whole)
        start, end = self.classes.get_round_index(whole)
        before, chat, after = whole[:start], whole[start:end], whole[end:]
        answers = [n for n, item in enumerate(chat) if item["role"] == "BOT"]
        if self.mode == "last":
            if answers or not self.options.get("documented"):  # as documented nobody is asked where nobody answers
                history = self.classes.PromptList(chat[: answers[-1]], **self.options)
                yield self.parsed(before + history + after)
            return
        for turn, index in enumerate(answers):
            yield self.parsed(before + chat[:index] + after)
            if self.mode == "every":
                chat[index]["prompt"] = f"<reply r{self.row} t{turn}>"


def run_openicl(case: dict[str, Any], template_class: Any, data: SimpleNamespace) -> Outcome:
    """A case of OpenICL: one of the three methods, or its retriever around them."""
    out = Outcome(stage="template")
    try:
        made = []
        for name in ("ice_template", "prompt_template"):
            config = case[name]
            arguments = {key: value for key, value in (config or {}).items() if key != "type"}
            made.append(None if config is None else template_class(**arguments))
        _run_openicl(case, made[0], made[1], data, out)
    except Exception as raised:
        out.raised = raised
    return out


def _run_openicl(case: dict[str, Any], ice: Any, template: Any, data: SimpleNamespace, out: Outcome) -> None:
    if case["call"] != "retriever":
        out.stage = "prompt"
        method = getattr(template, case["call"])
        for row in data.test:
            arguments = dict(case["args"])
            if "label" in arguments:
                label = arguments["label"]
                arguments["label"] = row[label["column"]] if "column" in label else label["value"]
            out.intermediate.append(method(row, **arguments))
        return
    retriever, reader = case["retriever"], case["reader"]

    def words(row: dict[str, Any], columns: list[str]) -> str:
        return " ".join(str(row[column]) for column in columns)

    out.stage = "ice"
    examples = []
    for index in retriever["ids"]:
        row = data.train[index]
        label = row[reader["output_column"]]
        columns = [*reader["input_columns"], reader["output_column"]]
        examples.append(words(row, columns) if ice is None else ice.generate_ice_item(row, label))
    shots = retriever.get("ice_separator", "\n").join(examples) + retriever.get("ice_eos_token", "\n")
    out.stage = "prompt"
    main = template or (ice if ice is not None and ice.ice_token is not None else None)
    hidden = (case["inferencer"] or {}).get("gen_field_replace_token", "")
    for row in data.test:
        plain = shots + words(row, reader["input_columns"])
        if case["mode"] == "ppl":
            keeps = (case["inferencer"] or {}).get("normalizing_str") is not None
            out.intermediate.append(
                [
                    f"{plain} {label}" if main is None else main.generate_label_prompt_item(row, shots, label, keeps)
                    for label in case["labels"]
                ]
            )
        elif main is None:
            out.intermediate.append(plain + hidden)
        else:
            out.intermediate.append(main.generate_item(row, reader["output_column"], hidden, shots))
