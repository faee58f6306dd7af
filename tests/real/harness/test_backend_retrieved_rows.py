"""A retriever may return other rows, and is called equally often with the backend and without."""

# ruff: noqa: ARG001 - hooks are given the inferencer, the retriever and the model

from __future__ import annotations

import numpy as np
import pytest
from real.harness.both import MODELS, answers
from real.harness.test_backend_opencompass import LABELLED, TEMPLATES, case, samples

pytestmark = pytest.mark.usefixtures("opencompass")

COUNT = 45
LISTS = [[n % 6, (n + 2) % 6] for n in range(COUNT)]


def once(rows):
    yield from rows


KINDS = {
    "lists": lambda: [list(rows) for rows in LISTS],
    "an array": lambda: np.array(LISTS),
    "an array of small numbers": lambda: np.array(LISTS, np.uint8),
    "arrays": lambda: [np.array(rows) for rows in LISTS],
    "an array of objects": lambda: np.array(LISTS, object),
    "arrays of objects": lambda: tuple(np.array(rows, object) for rows in LISTS),
    "lists of numpy's numbers": lambda: [[np.int64(row) for row in rows] for rows in LISTS],
    "tuples": lambda: [tuple(rows) for rows in LISTS],
    "a tuple": lambda: tuple(LISTS),
    "ranges": lambda: [range(n % 3) for n in range(COUNT)],
    "values of a dict": lambda: dict(enumerate(LISTS)).values(),
    "keys of a dict": {tuple(rows): None for rows in LISTS}.keys,
    "an iterator": lambda: iter(LISTS),
    "a generator": lambda: once(LISTS),
    "a map": lambda: map(list, LISTS),
    "nothing": lambda: [[] for _ in range(COUNT)],
    "no array": lambda: np.zeros((COUNT, 0), int),
    "an empty array": lambda: np.zeros((0, 2), int),
    "no samples": list,
    "too few": lambda: LISTS[:-1],
    "too many": lambda: [*LISTS, [0]],
    "numbers below zero": lambda: [[-1, 0] for _ in range(COUNT)],
    "rows that aren't there": lambda: [[0, 99] for _ in range(COUNT)],
    "truths": lambda: [[True, False] for _ in range(COUNT)],
    "fractions": lambda: np.array(LISTS) / 1,
    "iterators": lambda: [iter(rows) for rows in LISTS],
    "sets": lambda: [set(rows) for rows in LISTS],
    "None": lambda: None,
    "values of dicts": lambda: [dict(enumerate(rows)).values() for rows in LISTS],
}
IN_BULK = ("lists", "an array of objects", "arrays of objects", "tuples", "a tuple", "ranges", "nothing", "no array")
READ_ONCE = (*IN_BULK, "values of a dict", "an iterator", "a generator", "a map")


def choosing(kind, calls):
    def before(inferencer, retriever, model):
        def retrieve():
            calls.append(kind)
            return KINDS[kind]()

        retriever.retrieve = retrieve

    return before


@pytest.mark.parametrize("max_seq_len", [None, 40])
@pytest.mark.parametrize("inferencer", ["GenInferencer", "PPLInferencer", "LLInferencer", "CLPInferencer"])
@pytest.mark.parametrize("kind", KINDS)
def test_choices_of_all_kinds(kind, inferencer, max_seq_len, logged, rendered):
    if kind == "an array of objects" and max_seq_len is not None and inferencer != "GenInferencer":
        pytest.skip("the harness puts one number in the place of two, again and again")
    calls = []
    labelled = inferencer in {"PPLInferencer", "LLInferencer"}
    job = case(
        LABELLED["dialogues"] if labelled else TEMPLATES["string"],
        **MODELS["text"],
        inferencer={"type": inferencer, "max_seq_len": max_seq_len},
        before=choosing(kind, calls),
    )
    table = job["samples"].append_column("cont", job["samples"]["input"])
    table = table.append_column("choices", [[["A", "B"]] * len(table)])
    off, on = answers({**job, "samples": table})
    assert on == off
    assert calls == [kind, kind]
    if kind in (READ_ONCE if inferencer == "GenInferencer" else IN_BULK) and max_seq_len is None:
        assert logged == []
        assert sum(rendered) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_choices_that_a_chat_counts(kind, logged):
    calls = []
    reader = {"input_columns": ["input"], "output_column": "target"}
    inferencer = {"type": "ChatInferencer"}
    job = case({}, **MODELS["text"], reader=reader, inferencer=inferencer, before=choosing(kind, calls))
    off, on = answers(job)
    assert on == off
    assert calls == [kind, kind]
    if kind not in {"too few", "too many", "keys of a dict", "None"}:
        assert logged == []


def test_lists_that_are_shortened_stay_the_retriever_s():
    kept = [list(rows) for rows in LISTS]

    def before(inferencer, retriever, model):
        retriever.retrieve = lambda: kept

    job = case(
        LABELLED["dialogues"],
        **MODELS["text"],
        inferencer={"type": "PPLInferencer", "max_seq_len": 40},
        before=before,
        samples=samples(),
    )
    results = []
    for _ in range(2):
        kept[:] = [list(rows) for rows in LISTS]
        results.append((answers(job), [list(rows) for rows in kept]))
    assert results[0] == results[1]
