"""Requests of lm-evaluation-harness built with the backend on: every field, every draw, every error."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lm_eval.evaluator")

from lm_eval.api import samplers
from lm_eval.api import task as task_module
from lm_eval.api.instance import Instance
from lm_eval.api.task import ConfigurableTask, Task
from promptpress import lm_eval as promptpress_lm_eval
from promptpress_harness.lm_eval.backend import contexts
from promptpress_harness.lm_eval.backend.tasks import as_table, difference
from real.jinja.lm_eval_runs import built, chatml, datasets, equal, quiet, reasons_of, task_of
from real.jinja.test_lm_eval_backend import BASE, GENERATE, KINDS, ROWS, SETTINGS, SPLITS

pytestmark = pytest.mark.filterwarnings("ignore")
SHOTS = {**BASE, "num_fewshot": 3}
CHAT = {"apply_chat_template": True, "chat_template": chatml, "tokenizer_name": "scripted"}


@pytest.fixture
def reasons(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return reasons_of(monkeypatch)


def both(make: Callable[[], Any], **options: Any) -> Any:
    """Requests built without the backend and with it, which are the same."""
    off, on = (built(make(), on=on, **options) for on in (False, True))
    assert equal(off, on)
    return off


def of(config: dict[str, Any], splits: Any = None, seed: int = 7) -> Callable[[], Any]:
    return lambda: task_of(config, splits or SPLITS, seed)


@pytest.mark.parametrize("shots", [0, 2])
@pytest.mark.parametrize("chat", [{}, CHAT, {**CHAT, "fewshot_as_multiturn": True}])
@pytest.mark.parametrize("kind", KINDS)
def test_requests_are_the_same(kind: str, chat: dict[str, Any], shots: int, reasons: list[str]) -> None:
    for part in ({}, {"limit": 4}, {"samples": [1, 5, 6]}, {"rank": 1, "world_size": 3}):
        built = both(of({**KINDS[kind], "num_fewshot": shots}), **chat, **part, system_instruction="Be brief.")
        assert built[0]
    assert reasons == []


def test_a_task_is_built_again_from_where_its_generator_stands(reasons: list[str]) -> None:
    def twice(*, on: bool) -> Any:
        task = task_of(SHOTS, SPLITS, 3)
        return built(task, on=on), built(task, on=on, limit=3)

    assert equal(twice(on=False), twice(on=True))
    assert reasons == []


def test_rows_that_are_the_same_are_drawn_as_they_were(reasons: list[str]) -> None:
    rows = [dict(ROWS[n % 3], f=float(n % 2)) for n in range(14)]
    splits = {"test": datasets.Dataset.from_list(rows), "train": datasets.Dataset.from_list(rows)}
    assert both(of({**SHOTS, "fewshot_split": "test"}, splits))[0]
    config = {**SHOTS, "fewshot_split": "test", "fewshot_config": {"sampler": "first_n"}}
    assert both(of(config, splits))[0]
    assert reasons == []


def test_what_requests_share_is_shared_and_what_not_is_not(reasons: list[str]) -> None:
    for config in ({**GENERATE, "generation_kwargs": SETTINGS}, {**BASE}):
        task = task_of(config, SPLITS, 1)
        assert not isinstance(built(task, on=True), str)
        settings = [instance.arguments[1] for instance in task.instances]
        if task.OUTPUT_TYPE == "generate_until":
            assert (
                len({id(setting["until"]) for setting in settings} | {id(task.config.generation_kwargs["until"])}) == 13
            )
        assert len({id(instance.resps) for instance in task.instances}) == len(task.instances)
        assert all(type(instance) is Instance for instance in task.instances)
    assert reasons == []


def test_settings_that_share_a_list_share_it_in_each_copy() -> None:
    stop = ["a"]
    task = task_of({**GENERATE, "generation_kwargs": {"until": stop, "more": stop}}, SPLITS, 1)
    built(task, on=True)
    assert all(instance.arguments[1]["until"] is instance.arguments[1]["more"] for instance in task.instances)


WRONG = {
    "a field that isn't there": {**BASE, "doc_to_text": "{{q}}{% if n == 5 %}{{gone}}{% endif %}"},
    "a filter's own": {**BASE, "doc_to_text": "{{q}}{% if n == 5 %}{{q // 2}}{% endif %}"},
    "choices that are no literal": {**BASE, "doc_to_choice": "['{{q}}', {% if n == 6 %}'{% endif %}'b']"},
    "a target that is no choice": {
        **BASE,
        "doc_to_target": "{% if n == 12 %}9{% else %}0{% endif %}",
        "num_fewshot": 2,
    },
    "a target that is no text": {**GENERATE, "doc_to_target": "n", "num_fewshot": 2},
    "a shot that raises": {**SHOTS, "fewshot_config": {"doc_to_text": "{{q}}{% if n == 12 %}{{gone}}{% endif %}"}},
    "more shots than rows": {**SHOTS, "num_fewshot": 40},
    "more first shots than rows": {**SHOTS, "num_fewshot": 40, "fewshot_config": {"sampler": "first_n"}},
    "a prefix that raises": {**BASE, "gen_prefix": "{% if n == 3 %}{{gone}}{% endif %}"},
    "a description that raises": {**BASE, "description": "{% if n == 3 %}{{gone}}{% endif %}"},
    "no document": {**BASE, "process_docs": None},
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_raises_raises_what_it_raised(kind: str) -> None:
    options = {"rank": 50, "world_size": 60} if kind == "no document" else {}
    kind_of, text = both(of(WRONG[kind]), **options)
    assert issubclass(kind_of, Exception), text


def test_a_chat_template_that_raises_leaves_the_generator_where_it_was() -> None:
    states = []
    for on in (False, True):
        task = task_of(SHOTS, SPLITS, 5)
        calls = []

        def failing(messages: Any, add_generation_prompt: bool, calls: list[int] = calls) -> str:
            calls.append(1)
            if "Which 4 " in messages[-1]["content"].rpartition("Q:")[2]:
                raise RuntimeError("no more")
            return chatml(messages, add_generation_prompt)

        assert built(task, on=on, apply_chat_template=True, chat_template=failing) == (RuntimeError, "no more")
        states.append((task.sampler.rnd.getstate(), len(calls)))
    # The first document is built both ways.
    assert states[0][0] == states[1][0]
    assert states[0][1] + 1 == states[1][1]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("lm_eval.caching.cache.PATH", str(tmp_path))
    return tmp_path


def test_the_harness_s_cache_of_requests(cache: Path, reasons: list[str]) -> None:
    kept = {"cache_requests": True, "tokenizer_name": "t"}
    whole = built(task_of(SHOTS, SPLITS, 5), on=False)
    # Written by one, read by the other; what is written is all documents.
    for on in (False, True):
        first = built(task_of(SHOTS, SPLITS, 5), on=on, limit=3, rewrite_requests_cache=True, **kept)
        assert len(list(cache.iterdir())) == 1
        again = built(task_of(SHOTS, SPLITS, 99), on=not on, **kept)
        assert equal(first[0], whole[0][: len(first[0])])
        assert equal(again[0], whole[0])
        assert equal(built(task_of(SHOTS, SPLITS, 1), on=on, limit=2, **kept)[0], whole[0][:5])
    assert reasons == []


class Subclass(ConfigurableTask):
    """A task with a method of its own."""

    def doc_to_text(self, doc: Any, doc_to_text: Any = None) -> Any:
        return "!" + super().doc_to_text(doc, doc_to_text)


class Written(Task):
    """A task that is a class."""

    OUTPUT_TYPE = "loglikelihood"

    def __init__(self) -> None:
        self._config = task_module.TaskConfig(task="written", num_fewshot=2)

    def has_training_docs(self) -> bool:
        return True

    has_test_docs = has_validation_docs = has_training_docs

    def test_docs(self) -> Any:
        return ROWS

    def doc_to_text(self, doc: Any) -> str:
        return doc["q"]

    def doc_to_target(self, doc: Any) -> str:
        return doc["a"]

    def process_results(self, doc: Any, results: Any) -> Any:
        return {"acc": results == doc}

    def aggregation(self) -> Any:
        return {}

    higher_is_better = aggregation

    def fewshot_context(self, doc: Any, num_fewshot: int, **_: Any) -> str:
        shots = self.fewshot_rnd.sample(ROWS, num_fewshot)
        return "".join(shot["q"] + shot["a"] for shot in shots) + doc["q"]

    def construct_requests(self, doc: Any, ctx: str, **options: Any) -> Any:
        return Instance("loglikelihood", doc, (ctx, doc["a"]), 0, metadata=options["metadata"])


class OwnSampler(samplers.ContextSampler):
    """Takes the last."""

    def sample(self, n: int, eval_doc: Any = None, df: Any = None, **_: Any) -> Any:  # noqa: ARG002
        return self.df[-n:]


def test_subclasses_stay_with_the_harness(reasons: list[str]) -> None:
    def subclass() -> Any:
        made = task_of(SHOTS, SPLITS, 5)
        made.__class__ = Subclass
        return made

    assert both(subclass)[0][0]["arguments"][0].count("!") == 4
    assert reasons == ["Subclass is a class of its own"]


def test_class_tasks_stay_with_the_harness(reasons: list[str]) -> None:
    made = []
    for on in (False, True):
        task = Written()
        task.set_fewshot_seed(4)
        with quiet(), promptpress_lm_eval.backend() if on else quiet():
            task.build_all_requests()
        made.append([vars(instance) for instance in task.instances])
    assert equal(*made)
    assert reasons == ["Written is a class of its own"]


def test_custom_samplers_stay_with_the_harness(reasons: list[str]) -> None:
    config = {**SHOTS, "fewshot_config": {"sampler": OwnSampler}}
    assert both(of(config))[0]
    assert reasons == ["the sampler OwnSampler isn't covered"]


def test_images_stay_with_the_harness(reasons: list[str]) -> None:
    built = both(of({**GENERATE, "doc_to_image": ["q"]}))
    assert built[0][0]["arguments"][2]["visual"]
    assert reasons == ["doc_to_image isn't covered"]


def test_prompts_of_promptsource_stay_with_the_harness(reasons: list[str]) -> None:
    class Prompt:
        @staticmethod
        def apply(doc: Any) -> list[str]:
            return [doc["q"], doc["a"]]

        @staticmethod
        def get_answer_choices_list(doc: Any) -> Any:
            return doc["ch"]

    def prompted() -> Any:
        made = task_of(SHOTS, SPLITS, 5)
        made.prompt = Prompt
        return made

    assert both(prompted)[0]
    assert reasons == ["use_prompt isn't covered"]


def shadowed(task: Any) -> Any:
    task.doc_to_text = lambda doc, text=None: "shadow"  # noqa: ARG005
    return task


@pytest.mark.parametrize("changed", ["object", "class", "wrapper", "module", "sampler"])
def test_what_was_changed_by_hand_stays_with_the_harness(
    changed: str, reasons: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make = of(SHOTS)
    if changed == "object":
        assert both(lambda: shadowed(make()))[0][0]["arguments"][0].endswith("shadow")
        assert reasons == ["the ConfigurableTask has a doc_to_text of its own"]
    elif changed == "class":
        original = ConfigurableTask.build_qa_turn
        monkeypatch.setattr(ConfigurableTask, "build_qa_turn", lambda self, **rest: original(self, **rest)[:1])
        assert both(make)[0]
        assert reasons == ["ConfigurableTask.build_qa_turn isn't that of lm_eval.api.task"]
    elif changed == "wrapper":
        # It says that it wraps the harness's, as the harness's own decorator does.
        inner = ConfigurableTask.fewshot_context

        @functools.wraps(inner)
        def louder(self: Any, doc: Any, **rest: Any) -> Any:
            return inner(self, doc, **rest) + "!"

        monkeypatch.setattr(ConfigurableTask, "fewshot_context", louder)
        assert both(make)[0][0]["arguments"][0].endswith("A:!")
        assert reasons == ["ConfigurableTask.fewshot_context isn't that of lm_eval.api.task"]
    elif changed == "module":
        monkeypatch.setattr(task_module, "maybe_delimit", lambda *_, **__: "Hm?")
        assert both(make)[0][0]["arguments"][0].startswith("Hm?")
        assert reasons == ["maybe_delimit in lm_eval.api.task isn't that of lm_eval.api.utils"]
    else:
        monkeypatch.setattr(samplers.ContextSampler, "sample", lambda self, n, **_: self.df[:n])
        assert both(make)[0]
        assert reasons == ["ContextSampler.sample isn't that of lm_eval.api.samplers"]


def test_a_first_document_that_differs_leaves_the_task(
    reasons: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    original = contexts.ContextBuilder.parts

    def other(self: Any, doc: Any, prefix: Any) -> Any:
        context, choices, target = original(self, doc, prefix)
        return context + " ", choices, target

    monkeypatch.setattr(contexts.ContextBuilder, "parts", other)
    with caplog.at_level(logging.INFO, "promptpress.backend"):
        assert both(of(SHOTS))[0]
    assert len(reasons) == 1
    assert reasons[0].startswith("the first document's requests differ (at [0].arguments[0]: 'Q: ")
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "promptpress leaves prompts to the harness",
        "promptpress",
    ]
    assert caplog.records[0].getMessage().endswith("(task own)")
    assert caplog.records[1].getMessage() == "promptpress: 0 prompts in bulk, 36 by the harness, in 1 task"


@pytest.mark.parametrize(
    ("size", "shots", "rows"),
    [
        (4, 4, 40),
        *(
            pytest.param(*arguments, marks=pytest.mark.full)
            for arguments in product([1, 4, 100], [1, 4, 7], [9, 40, 200])
        ),
    ],
)
def test_draws_in_blocks(size: int, shots: int, rows: int, reasons: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contexts, "BLOCK", size)
    # Some rows are there twice, and more.
    pool = datasets.Dataset.from_list([{**ROWS[n % 7 if n % 3 else 1], "n": n % 11 // 4} for n in range(rows)])
    for config in ({"fewshot_split": "test"}, {}, {"fewshot_split": "test", "fewshot_config": {"sampler": "first_n"}}):
        for options in ({}, {"samples": [2, 3, 7]}, {"rank": 2, "world_size": 3}):
            both(of({**SHOTS, "num_fewshot": shots, **config}, {"test": pool, "train": pool}), **options)
    assert reasons == []


def test_draws_that_differ_leave_the_task(reasons: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    original = contexts.ContextBuilder._draw_shots

    def twice(self: Any, doc: Any) -> Any:
        self._task.sampler.rnd.random()
        return original(self, doc)

    monkeypatch.setattr(contexts.ContextBuilder, "_draw_shots", twice)
    assert both(of(SHOTS))[0]
    assert reasons == ["other examples are drawn"]


EXAMPLES = {
    "answers of a column": {**GENERATE, "doc_to_target": "a"},
    "numbers of choices": {
        **BASE,
        "doc_to_choice": ["A", "B", "C"],
        "fewshot_config": {"doc_to_choice": ["A", "", "C"]},
    },
    "answers of a template": {**GENERATE, "doc_to_target": "{{'yes' if n > 9 else ''}}"},
    "texts of a column": {**GENERATE, "doc_to_text": "q"},
    "delimiters": {**GENERATE, "target_delimiter": "\n", "fewshot_delimiter": "\n***\n"},
}


@pytest.mark.parametrize("kind", EXAMPLES)
@pytest.mark.parametrize("split", ["train", "test"])
def test_examples_in_bulk(kind: str, split: str, reasons: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = []
    original = contexts.ContextBuilder.prepare_examples

    def know(self: Any, *arguments: Any) -> bool:
        prepared.append(original(self, *arguments))
        return prepared[-1]

    monkeypatch.setattr(contexts.ContextBuilder, "prepare_examples", know)
    assert both(of({**EXAMPLES[kind], "num_fewshot": 3, "fewshot_split": split}))[0]
    assert prepared == [True]
    assert reasons == []


def test_examples_that_differ_are_made_by_the_harness(reasons: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    original = contexts.example_texts
    monkeypatch.setattr(contexts, "example_texts", lambda *given: [text + "!" for text in original(*given) or ()])
    assert both(of({**GENERATE, "num_fewshot": 3}))[0]
    assert len(reasons) == 1
    assert reasons[0].startswith("an example's text is another (")


def test_only_rows_that_come_back_make_a_table() -> None:
    rows = [{"q": "a", "n": 1, "l": ["x"], "d": {"k": None}}, {"q": "b", "n": 2, "l": [], "d": {"k": 1.5}}]
    made = as_table(rows)
    assert made is not None
    assert not difference(made.to_pylist(), rows)
    others: list[dict[str, Any]] = [
        {"n": True},
        {"n": 1.0},
        {"n": 2**70},
        {"n": None, "q": 1},
        {"l": [1]},
        {"l": ("x",)},
        {"q": "\ud800"},
        {"d": {"j": 1}},
        {"more": 1},
    ]
    for other in others:
        made = as_table([*rows, {**rows[0], **other}])
        assert made is None or not difference(made.to_pylist(), [*rows, {**rows[0], **other}])
    assert as_table([rows[0], dict(reversed(rows[1].items()))]) is None
    assert as_table([]) is None


def test_a_first_document_that_only_bulk_raises_for_leaves_the_task(
    reasons: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(self: Any, text: Any, choices: Any, prefix: Any) -> Any:  # noqa: ARG001
        raise RuntimeError("oh")

    monkeypatch.setattr(contexts.ContextBuilder, "_question", failing)
    assert both(of({**SHOTS, "gen_prefix": "So"}))[0]
    assert reasons == ["its objects are not as expected (RuntimeError('oh'))"]


def test_the_log_if_requests_are_built_in_bulk(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "promptpress.backend"):
        built(task_of(BASE, SPLITS, 3), on=True)
    assert [record.getMessage() for record in caplog.records] == [
        "promptpress renders prompts in bulk (task own)",
        "promptpress: 36 prompts in bulk, 0 by the harness, in 1 task",
    ]


def test_requests_with_a_text_by_jinja2_are_not_logged_as_bulk(caplog: pytest.LogCaptureFixture) -> None:
    partly = "{{ q }}{% if n % 2 %}{{ q|striptags }}{% endif %}"
    for source, small in (("{{ q|striptags }}", False), (partly, False), ("{{ q }}?", True)):
        splits = {name: rows.select(range(4)) for name, rows in SPLITS.items()} if small else SPLITS
        caplog.clear()
        with caplog.at_level(logging.INFO, "promptpress.backend"):
            requests = built(task_of({**BASE, "doc_to_text": source}, splits, 3), on=True)[0]
        assert caplog.records[-1].getMessage() == (
            f"promptpress: 0 prompts in bulk, {len(requests)} by the harness, in 1 task"
        )
        assert not any("renders prompts in bulk" in record.getMessage() for record in caplog.records)
        why = [record.getMessage() for record in caplog.records if "for fewer than 8 documents" in record.getMessage()]
        assert len(why) == small, "a task that is too small says so, once"


def test_a_compared_text_counts_as_the_others_do(caplog: pytest.LogCaptureFixture) -> None:
    """The first text of each block is rendered by Jinja2 too, to compare it, and the harness gets that of the block."""
    rows = SPLITS["test"].select([n % len(SPLITS["test"]) for n in range(2100)])
    with caplog.at_level(logging.INFO, "promptpress.backend"):
        requests = built(task_of(BASE, SPLITS | {"test": rows}, 0), on=True)[0]
    assert caplog.records[-1].getMessage() == (
        f"promptpress: {len(requests):,} prompts in bulk, 0 by the harness, in 1 task"
    )


def test_datasets_that_decode_stay_with_the_harness(reasons: list[str]) -> None:
    def formatted() -> Any:
        splits = {
            name: rows.with_format("numpy", columns=["g"], output_all_columns=True) for name, rows in SPLITS.items()
        }
        return task_of(GENERATE, splits, 3)

    for options in ({}, {"limit": 3}, {"samples": [2, 4]}, {"rank": 1, "world_size": 5}):
        off, on = (built(formatted(), on=on, **options) for on in (False, True))
        assert [instance["arguments"] for instance in off[0]] == [instance["arguments"] for instance in on[0]]
        assert [list(instance["doc"].items())[3:5] for instance in off[0]] == [
            list(instance["doc"].items())[3:5] for instance in on[0]
        ]
        assert type(on[0][0]["doc"]["g"]) is type(off[0][0]["doc"]["g"]) is not int
    assert set(reasons) == {"the dataset has a format of its own ('numpy')"}


def test_process_docs_is_called_as_often_as_it_was() -> None:
    for options in ({}, {"samples": [1, 2]}):
        counts = []
        for on in (False, True):
            calls: list[int] = []
            config = {**BASE, "process_docs": lambda rows, calls=calls: calls.append(1) or rows}
            task = task_of(config, SPLITS, 3)
            config["process_docs"] = task.config.process_docs
            seen: list[int] = []
            task.config.process_docs = lambda rows, seen=seen: seen.append(1) or rows
            built(task, on=on, **options)
            counts.append(len(seen))
        assert counts[0] == counts[1] > 0
