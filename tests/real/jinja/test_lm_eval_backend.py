"""lm-evaluation-harness with the backend on: what it asks, gives and raises without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("lm_eval.evaluator")

from real.jinja.lm_eval_runs import datasets, equal, evaluated, reasons_of, task_of

pytestmark = pytest.mark.filterwarnings("ignore")

ROWS = [
    {
        "q": f" Which {n} of {n * 7 % 5}?{' ' * (n % 2)}",
        "a": ["red", "", "7", "two words", "['a', 'b']", "水", "x\n", " lead"][n % 8],
        "ch": [f"c{n}", " spaced", "it's", "水"][: 2 + n % 3],
        "g": n % 2,
        "n": n,
        "f": float("nan") if n % 5 == 0 else n / 4,
        "targets": [f"t{n}", "other"],
        "nested": {"x": [n, None], "y": str(n)},
        "prefix": "" if n % 3 else "So",
    }
    for n in range(25)
]
BASE = {
    "task": "own",
    "test_split": "test",
    "fewshot_split": "train",
    "output_type": "multiple_choice",
    "doc_to_text": "Q: {{q.strip()}}\nA:",
    "doc_to_target": "g",
    "doc_to_choice": "ch",
}
GENERATE = {**BASE, "output_type": "generate_until", "doc_to_target": "a", "doc_to_choice": None}
SETTINGS = {"until": ["\n\n", "Q:"], "do_sample": False, "temperature": 0}

KINDS: dict[str, dict[str, Any]] = {
    "choices of a column": BASE,
    "choices of a list": {**BASE, "doc_to_choice": ["A", "B", "C"]},
    "choices of a dict": {**BASE, "doc_to_choice": {"x": "one", "y": "two"}},
    "choices of a template": {**BASE, "doc_to_choice": "{{[q, a, 'c']}}"},
    "a target of a template": {**BASE, "doc_to_target": "{{ch.index(ch[g])}}"},
    "mutual information": {**BASE, "metric_list": [{"metric": "acc"}, {"metric": "acc_mutual_info"}]},
    "several inputs": {**BASE, "doc_to_text": "{{g}}", "doc_to_choice": "{{[q, 'or ' + a]}}", "doc_to_target": "a"},
    "description": {**BASE, "description": "Number {{n}}: think.\n", "fewshot_delimiter": "##"},
    "description of a column": {**BASE, "description": "q"},
    "prefix": {**BASE, "gen_prefix": "The answer is"},
    "prefix of a column": {**GENERATE, "gen_prefix": "prefix"},
    "prefix of a template": {**GENERATE, "gen_prefix": "{{prefix}} then"},
    "delimiters": {**BASE, "target_delimiter": "\n", "fewshot_delimiter": "\n***\n"},
    "generate": {**GENERATE, "generation_kwargs": SETTINGS},
    "generate by default": GENERATE,
    "several targets": {**GENERATE, "doc_to_target": "targets"},
    "targets of a template": {**GENERATE, "doc_to_target": "{{targets}}"},
    "target of a number": {**GENERATE, "doc_to_target": "n", "fewshot_config": {"doc_to_target": "a"}},
    "loglikelihood": {**BASE, "output_type": "loglikelihood", "doc_to_target": " {{a}}", "doc_to_choice": None},
    "rolling": {
        **BASE,
        "output_type": "loglikelihood_rolling",
        "doc_to_text": "",
        "doc_to_target": "{{q}} {{a}}",
        "doc_to_choice": None,
    },
    "first_n": {**BASE, "fewshot_config": {"sampler": "first_n", "split": "train"}},
    "the same split": {**BASE, "fewshot_split": "test"},
    "samples of the configuration": {**BASE, "fewshot_split": None, "fewshot_config": {"samples": ROWS[:9]}},
    "samples of a function": {**BASE, "fewshot_split": None, "fewshot_config": {"samples": lambda: ROWS[:9]}},
    "other shots": {
        **BASE,
        "fewshot_config": {"doc_to_text": "{{n}}) {{q}}", "doc_to_target": "{{a}}!", "gen_prefix": "Well,"},
    },
    "validation": {**BASE, "test_split": None, "validation_split": "test"},
    "repeats": {**GENERATE, "repeats": 3, "generation_kwargs": SETTINGS},
    "process_docs": {**BASE, "process_docs": lambda rows: rows.map(lambda row: {"q": row["q"].upper()})},
    "filtered": {**BASE, "process_docs": lambda rows: rows.filter(lambda row: row["n"] % 3)},
    "shuffled": {**BASE, "process_docs": lambda rows: rows.shuffle(seed=3)},
    "process_results": {**GENERATE, "process_results": lambda doc, results: {"acc": float(results[0] in doc["a"])}},
    "decontamination": {**BASE, "should_decontaminate": True, "doc_to_decontamination_query": "q"},
    "odd values": {**GENERATE, "doc_to_text": "{{f}} {{nested}} {{nested.x[1]}} {{ch|join(', ')}} {{q|upper}}"},
    "loops": {**GENERATE, "doc_to_text": "{% for c in ch %}{{loop.index}}. {{c}}\n{% endfor %}{% if g %}!{% endif %}"},
}
LEFT: dict[str, tuple[dict[str, Any], str]] = {
    "a text of a function": ({**BASE, "doc_to_text": lambda doc: doc["q"]}, "doc_to_text is a function"),
    "a target of a function": ({**BASE, "doc_to_target": lambda doc: doc["g"]}, "doc_to_target is a function"),
    "choices of a function": ({**BASE, "doc_to_choice": lambda doc: doc["ch"]}, "doc_to_choice is a function"),
    "shots of a function": (
        {**BASE, "fewshot_config": {"doc_to_text": lambda doc: doc["q"]}},
        "fewshot_config's doc_to_text is a function",
    ),
    "chance": ({**GENERATE, "doc_to_text": "{{q}} {{ [1, 2]|random }}"}, "doc_to_text draws random numbers"),
}
RUNS: list[dict[str, Any]] = [
    {},
    {"num_fewshot": 3},
    {"num_fewshot": 2, "system_instruction": "Be brief."},
    {"num_fewshot": 2, "apply_chat_template": True, "fewshot_as_multiturn": False},
    {"num_fewshot": 2, "apply_chat_template": True, "fewshot_as_multiturn": True, "system_instruction": "Hm. "},
    {"num_fewshot": 1, "limit": 5},
    {"num_fewshot": 1, "samples": {"own": [2, 3, 7]}},
]


def splits() -> dict[str, Any]:
    test, train = ROWS[:12], ROWS[8:]
    return {"test": datasets.Dataset.from_list(test), "train": datasets.Dataset.from_list(train)}


SPLITS = splits()


def both(make: Callable[[], Any], **options: Any) -> dict[str, Any]:
    """An evaluation without the backend and with it, which are the same."""
    off, on = (evaluated(make, on=on, **options) for on in (False, True))
    for name in off:
        assert equal(off[name], on.get(name)), name
    assert list(off) == list(on)
    return off


@pytest.mark.parametrize("kind", KINDS)
def test_an_evaluation_is_the_same(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reasons = reasons_of(monkeypatch)
    for options in RUNS:
        results = both(lambda: task_of(KINDS[kind], SPLITS), log_samples=True, **options)
        assert results["asked"]
        assert "error" not in results
    assert reasons == []


@pytest.mark.parametrize("kind", LEFT)
def test_what_stays_with_the_harness_is_the_same_and_logged(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    config, reason = LEFT[kind]
    logged = reasons_of(monkeypatch)
    results = both(lambda: task_of(config, SPLITS), num_fewshot=2)
    assert "error" not in results
    assert logged == [reason]
