"""Renderers as objects: they are immutable, pickled, compared, hashed and printed."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from generators.few_shots import FEW_SHOT, READER, SAMPLES, renderer_of, texts
from marks import UNWARNED
from promptpress._engine.table_engine import engine_of
from test_layouts import CONFIGS, one_chunk, samples_for, train


def test_a_renderer_cant_be_changed() -> None:
    renderer = pp.Renderer("{q}")
    for name in ("labels", "_settings", "_examples", "anything"):
        with pytest.raises(AttributeError):
            setattr(renderer, name, 1)
        with pytest.raises(AttributeError):
            delattr(renderer, name)
    assert renderer == pp.Renderer("{q}")


@UNWARNED
def test_what_it_was_made_of_may_change_afterwards() -> None:
    template: dict[str, Any] = {"round": [{"role": "HUMAN", "prompt": "{q}"}]}
    ids, tokens, labels = [0], {1: "<one>"}, ["A"]
    meta = {"round": [{"role": "HUMAN", "begin": [1]}, {"role": "BOT"}]}
    prompt = {"type": "PromptTemplate", "template": {"begin": ["</E>"], **template}, "ice_token": "</E>"}

    def make() -> pp.Renderer:
        return pp.Renderer(
            prompt,
            {"type": "PromptTemplate", "template": template},
            {"type": "FixKRetriever", "fix_id_list": ids},
            SAMPLES,
            READER,
            meta_template=meta,
            tokens=tokens,
            labels=labels,
        )

    renderer, twin = make(), make()
    want = texts(renderer.render(SAMPLES))
    template["round"][0]["prompt"] = "changed"
    ids.append(5)
    labels.append("B")
    tokens[1] = "changed"
    meta["round"].clear()
    assert texts(renderer.render(SAMPLES)) == want
    assert texts(pickle.loads(pickle.dumps(renderer)).render(SAMPLES)) == want
    assert renderer == twin


@UNWARNED
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", CONFIGS)
def test_a_pickle_brings_the_same(name: str, protocol: int) -> None:
    renderer = renderer_of(name)
    again = pickle.loads(pickle.dumps(renderer, protocol))
    assert again == renderer
    assert hash(again) == hash(renderer)
    assert repr(again) == repr(renderer)
    samples = samples_for(name, one_chunk(pa.string()))
    assert again.render(samples).equals(renderer.render(samples))
    assert copy.copy(renderer) == renderer
    assert copy.deepcopy(renderer) == renderer


def test_unpickling_compiles_nothing() -> None:
    again = pickle.loads(pickle.dumps(renderer_of("five-shot text")))
    assert engine_of(again).configuration.compiled is None
    again.render(samples_for("five-shot text", one_chunk(pa.string())))
    assert engine_of(again).configuration.compiled is not None


def test_a_renderer_goes_to_another_process(tmp_path: Path) -> None:
    renderer = renderer_of("five-shot messages")
    samples = samples_for("five-shot messages", one_chunk(pa.string()))
    (tmp_path / "job.pickle").write_bytes(pickle.dumps((renderer, samples, renderer.render(samples))))
    code = "import pickle, sys; r, s, want = pickle.load(open(sys.argv[1], 'rb')); assert r.render(s).equals(want)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "job.pickle")], capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


def test_equal_configurations_make_equal_renderers() -> None:
    for name in CONFIGS:
        assert renderer_of(name) == renderer_of(name)
        assert hash(renderer_of(name)) == hash(renderer_of(name))
    made = [renderer_of(name) for name in CONFIGS]
    assert len(set(made)) == len(made)
    base = renderer_of("five-shot text")
    assert base != "five-shot text"
    assert base != renderer_of("five-shot text", examples=train().take([5, 4, 3, 2, 1, 0]))
    assert base != renderer_of(
        "five-shot text", examples=train().rename_columns(["q", "hint", "b"]).append_column("a", train()["a"])
    )
    assert base != renderer_of("five-shot text", strings="large_string")
    assert base != renderer_of("five-shot text", names={"prompt": "text"})
    assert pp.Renderer("{q}", tokens={1: "a"}) != pp.Renderer("{q}", tokens={1: "b"})


def test_equal_renderers_have_one_hash() -> None:
    first = pp.Renderer({"type": "PromptTemplate", "template": "{q}", "ice_token": None})
    second = pp.Renderer({"ice_token": None, "template": "{q}", "type": "PromptTemplate"})
    assert first != second or hash(first) == hash(second)
    nan = pp.Renderer("{q}", mode="ppl", labels=[float("nan")])
    assert pickle.loads(pickle.dumps(nan)) == nan


def test_examples_are_equal_by_their_texts() -> None:
    def make(number: float) -> pp.Renderer:
        return pp.Renderer(**{**FEW_SHOT, "examples": pa.table({"q": [number], "a": ["x"]})})

    assert pickle.loads(pickle.dumps(make(float("nan")))) == make(float("nan"))
    assert make(0.0) != make(-0.0)


def test_the_order_of_keys_that_say_what_they_mean_is_free() -> None:
    first = pp.Renderer(
        "{q}", reader={"input_columns": ["q"], "output_column": "a"}, names={"prompt": "p", "label": "l"}
    )
    second = pp.Renderer(
        "{q}", reader={"output_column": "a", "input_columns": ["q"]}, names={"label": "l", "prompt": "p"}
    )
    assert first == second
    assert hash(first) == hash(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"prompt_template": {"A": "{q}", "B": "{a}"}}, {"prompt_template": {"B": "{a}", "A": "{q}"}}),
        (
            {"prompt_template": {"round": [{"role": "HUMAN", "prompt": "{q}"}], "begin": ["B"]}, "mode": "ppl"},
            {"prompt_template": {"begin": ["B"], "round": [{"role": "HUMAN", "prompt": "{q}"}]}, "mode": "ppl"},
        ),
        (
            {"prompt_template": {"A": "{q}"}, "mode": "ppl", "labels": [True]},
            {"prompt_template": {"A": "{q}"}, "mode": "ppl", "labels": [1]},
        ),
        (
            {"prompt_template": "{q}", "mode": "ppl", "labels": [1]},
            {"prompt_template": "{q}", "mode": "ppl", "labels": [1.0]},
        ),
    ],
    ids=["order of a label map", "order of sections", "True and 1", "1 and 1.0"],
)
def test_renderers_that_give_different_tables_are_different(first: dict[str, Any], second: dict[str, Any]) -> None:
    try:
        tables = [pp.Renderer(**arguments).render(SAMPLES) for arguments in (first, second)]
    except pp.TemplateError:
        pytest.skip("refused, so never equal")
    assert not tables[0].equals(tables[1])
    assert pp.Renderer(**first) != pp.Renderer(**second)


def test_repr_shows_the_configuration() -> None:
    text = repr(
        pp.Renderer(**FEW_SHOT, retriever={"type": "FixKRetriever", "fix_id_list": [0]}, strings="large_string")
    )
    assert text.startswith("Renderer(prompt_template={'type': 'PromptTemplate', 'template': '</E>{q}={a}'")
    for part in ("fix_id_list", "3 rows", "q, a, id", "strings='large_string'", "'output_column': 'a'"):
        assert part in text
    assert "dialect" not in text
    assert repr(pp.Renderer("{q}")) == "Renderer(prompt_template='{q}')"


def test_a_pickle_holds_the_examples_and_not_the_table_that_they_are_a_slice_of() -> None:
    large = pa.table({"q": [f"{n} " * 20 for n in range(10_000)], "a": list(range(10_000))})
    whole = pp.Renderer(
        {"type": "PromptTemplate", "template": "</E>{q}", "ice_token": "</E>"},
        {"type": "PromptTemplate", "template": "{q}{a}"},
        {"type": "FixKRetriever", "fix_id_list": [0]},
        large.slice(5, 2),
        {"input_columns": ["q"], "output_column": "a"},
    )
    pickled = pickle.dumps(whole)
    assert len(pickled) < 5_000
    assert pickle.loads(pickled) == whole
