"""Random tasks with formats: the table of requests beside those of the lm-evaluation-harness that Python finds first.

A process of its own, because a process has one version: `python -m real.jinja.lm_eval_formats 500` prints how many
of so many tasks are equal, and how many both sides refuse.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import logging
import random
import re
import sys
import warnings
from collections import Counter
from typing import Any

import lm_eval
import pyarrow as pa
from promptpress import RenderError, TemplateError
from real.jinja.test_lm_eval_requests import (
    DELIMITERS,
    DESCRIPTIONS,
    PREFIXES,
    datasets,
    documents,
    lm_eval_task,
    of_table,
    options,
)

TEXTS = ["q", "{{q}}", "Q: {{q.strip()}}", "{{info.name}}", "{{n}} {{q}}"]
CHOICES = ["lists", "{{lists}}", "{{[q, 'x']}}", ["yes", "no"], ["a", " b", "c"], "{{ [info.name, 'z', q] }}"]
TARGETS = ["n", "{{n}}", "q", "{{q}}", 0, 1, "{{lists[0]}}", "flag", "{{ n + 0 }}"]
RARE = ["nothing", "real", "maybe", 5, -1, "{{lists}}", None, ""]
LABELS = ["letters", "letters", "numbers", None, ["I", "II", "III"], ["one"], "roman"]
PROMPTS = ["Answer:", "Answer: ", "One of {{ _choice_list_or }}:", "", "({{ _num_choices }}/{{ _choice_labels }})"]
NAMES = ("mcqa", "cloze", "generate", "cot")


def overrides(draw: random.Random) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, values in (
        ("instruction", [None, "Pick {{ _num_choices }}: {{ _choice_list_and }}\n", "Think.\n"]),
        ("question_prefix", [None, "", "Problem: "]),
        ("choice_labels", LABELS),
        ("choice_delimiter", [" ", "\n", "; "]),
        ("section_separator", ["\n", "\n\n", " "]),
        ("answer_instruction", [None, "Step by step.\n"]),
        ("answer_prompt", PROMPTS),
        ("gen_prefix", [None, "", "The answer is", "So: "]),
        ("target_delimiter", DELIMITERS),
        ("fewshot_delimiter", DELIMITERS),
    ):
        if draw.random() < 0.25:
            out[key] = draw.choice(values)
    return out


def task_config(draw: random.Random) -> dict[str, Any]:
    config: dict[str, Any] = {"task": "t", "output_type": draw.choice(["multiple_choice", "generate_until"])}
    name = draw.choice(NAMES)
    config["formats"] = draw.choice(
        [
            name,
            {"type": name, **overrides(draw)},
            {"type": name, **overrides(draw)},
            {name: overrides(draw), "cot": None},
            {"cloze": "mcqa", name: overrides(draw) or None},
            None,
        ]
    )
    if config["formats"] is None or draw.random() < 0.3:
        config["task"] = f"t@{draw.choice([name, name, draw.choice(NAMES)])}"
    often = draw.random() < 0.85
    for key, usual in (("doc_to_text", TEXTS), ("doc_to_choice", CHOICES), ("doc_to_target", TARGETS)):
        config[key] = draw.choice(usual if often else [*usual, *RARE])
    splits = draw.choice([("test_split",), ("test_split", "training_split"), ("validation_split",)])
    config |= {split: split for split in splits}
    few = draw.choice([None, "dev", "test_split", "validation_split"])
    if few == "dev" or few in config:
        config["fewshot_split"] = few
    for key, values in (
        ("target_delimiter", DELIMITERS),
        ("fewshot_delimiter", DELIMITERS),
        ("description", [text for text in DESCRIPTIONS if text is not None]),
        ("gen_prefix", PREFIXES),
        ("repeats", [1, 3]),
        ("multiple_targets", [True]),
        ("generation_kwargs", [{}, {"temperature": "0.5"}, {"until": ["\n"]}]),
        ("metric_list", [[{"metric": "acc_mutual_info"}]]),
    ):
        if draw.random() < 0.2:
            config[key] = draw.choice(values)
    shots: dict[str, Any] = {}
    for key, shot_values in (
        ("sampler", ["first_n", "default"]),
        ("doc_to_text", ["q", "{{n}}) {{q}}"]),
        ("doc_to_target", ["n", "q", "{{q}}", 0]),
        ("doc_to_choice", ["lists", "{{lists}}"]),
        ("target_delimiter", DELIMITERS),
        ("gen_prefix", ["", "Well,"]),
        ("split", ["dev"]),
    ):
        if draw.random() < 0.1:
            shots[key] = draw.choice(shot_values)
    if shots:
        config["fewshot_config"] = shots
    if {"generate", "cot"} & {*re.findall(r"\w+", f"{config['formats']} {config['task']}")}:
        config.pop("metric_list", None)  # the harness has no such metric for texts
    return config


def of_harness(config: dict[str, Any], docs: pa.Table, few: pa.Table, given: dict[str, Any]) -> Any:
    """Return the requests, or the exception."""
    given = dict(given)
    names = ("training_split", "validation_split", "test_split", "fewshot_split")
    splits = {config[name]: datasets.Dataset(few) for name in names if config.get(name)}
    splits[config.get("test_split") or config.get("validation_split")] = datasets.Dataset(docs)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            settings = {**copy.deepcopy(config), "num_fewshot": given.pop("num_fewshot")}
            task = lm_eval_task.Task.from_config({**settings, "custom_dataset": lambda **_: splits})
            task.set_fewshot_seed(given.pop("seed"))
            task.build_all_requests(**given, apply_chat_template=given["chat_template"] is not None)
    except Exception as error:
        return error
    return [
        (made.request_type, made.arguments, made.idx, made.doc_id, (made.task_name, made.doc_id, made.repeats))
        for made in task.instances
    ]


def run(seed: int) -> str:
    """Compare one task; a difference is an AssertionError."""
    draw = random.Random(seed)
    docs, few = documents(draw, draw.choice([1, 4, 8, 30])), documents(draw, draw.choice([3, 9, 25]))
    config, given = task_config(draw), options(draw)
    wanted = of_harness(config, docs, few, given)
    made: Any
    try:
        made = of_table(config, docs, few, given)
    except (RenderError, TemplateError) as error:
        made = error
    if isinstance(made, Exception) and isinstance(wanted, Exception):
        return "both raise"
    if isinstance(made, TemplateError) and made.code == "unsupported_class":
        return "refused with its reason"
    assert not isinstance(wanted, Exception), (seed, config, given, wanted)
    assert repr(made) == repr(wanted), (seed, config, given, made, wanted)
    return "equal"


def compared(count: int) -> dict[str, Any]:
    """Compare so many tasks and return the counts."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    counts = Counter(run(seed) for seed in range(count))
    return {"tasks": count, **counts, "version": lm_eval.__version__, "file": lm_eval.__file__}


if __name__ == "__main__":
    print(json.dumps(compared(int(sys.argv[1]))))
