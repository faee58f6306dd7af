"""Warnings of what is probably a mistake: once for each renderer and schema, by whatever renders first."""

from __future__ import annotations

import pickle
import threading
import warnings

import promptpress as pp
import pyarrow as pa
import pytest

SAMPLES = pa.table({"question": ["1", "2"]})


def warned(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert all(warning.category is pp.PromptWarning for warning in caught)
    return caught


CALLS = {
    "render": lambda renderer, table: renderer.render(table),
    "keep": lambda renderer, table: renderer.render(table, keep=["question"]),
    "stream": lambda renderer, table: renderer.stream(table).read_all(),
    "call": lambda renderer, table: renderer(table),
    "batch": lambda renderer, table: renderer(table.to_batches()[0]),
}


@pytest.mark.parametrize("first", CALLS)
def test_the_warning_comes_once_for_each_renderer_and_schema(first):
    renderer = pp.Renderer("{other}")
    (warning,) = warned(lambda: CALLS[first](renderer, SAMPLES))
    assert warning.filename == __file__
    assert str(warning.message).startswith("prompt_template: '{other}' names no column")
    for call in CALLS.values():
        assert warned(lambda call=call: call(renderer, SAMPLES)) == []
    # Another schema, and then both again.
    other = SAMPLES.append_column("more", [[1, 2]])
    assert len(warned(lambda: CALLS[first](renderer, other))) == 1
    assert warned(lambda: [renderer.render(table) for table in (other, SAMPLES, other)]) == []
    # Another renderer, though it equals the first.
    assert len(warned(lambda: pp.Renderer("{other}").render(SAMPLES))) == 1


def test_conversations_that_take_replies_say_it_too():
    template = {
        "type": "MultiTurnPromptTemplate",
        "template": {"round": [{"role": "HUMAN", "prompt": "{quesiton}"}, {"role": "BOT", "prompt": "{answer}"}]},
    }
    renderer = pp.Renderer(template, inferencer={"type": "MultiTurnGenInferencer", "infer_mode": "every"})
    samples = pa.table({"question": [["a"]], "answer": [["b"]]})
    assert len(warned(lambda: renderer.converse(samples))) == 1
    assert warned(lambda: renderer.converse(samples)) == []


def test_looking_at_a_renderer_warns_of_nothing():
    renderer = pp.Renderer("{other}")
    looks = [
        lambda: renderer.notes(SAMPLES),
        lambda: renderer.output_schema(SAMPLES.schema),
        lambda: renderer.explain(SAMPLES, 0),
        lambda: renderer.divergence(SAMPLES),
        lambda: renderer.required_columns,
    ]
    assert [len(warned(look)) for look in looks] == [0] * len(looks)
    assert len(warned(lambda: renderer.render(SAMPLES))) == 1


def test_infos_are_no_warnings():
    renderer = pp.Renderer({"round": [{"role": "SYSTEM", "prompt": ""}, {"role": "HUMAN", "prompt": "{question}"}]})
    assert len(renderer.notes(SAMPLES)) == 1
    assert warned(lambda: renderer.render(SAMPLES)) == []


def test_several_notes_are_one_warning():
    renderer = pp.Renderer(" ".join(f"{{name{n}}}" for n in range(9)))
    (warning,) = warned(lambda: renderer.render(SAMPLES))
    assert [f"name{n}" in str(warning.message) for n in range(9)] == [True] * 5 + [False] * 4
    assert "and 4 more" in str(warning.message)


def test_pythons_filters_silence_it_or_make_it_an_error():
    renderer = pp.Renderer("{other}")
    with warnings.catch_warnings():
        warnings.simplefilter("error", pp.PromptWarning)
        for call in CALLS.values():
            with pytest.raises(pp.PromptWarning, match=r"'\{other\}' names no column"):
                call(renderer, SAMPLES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=pp.PromptWarning)
        assert renderer.render(SAMPLES)["prompt"].to_pylist() == ["{other}"] * 2
    assert issubclass(pp.PromptWarning, UserWarning)


def test_a_pickled_renderer_says_it_where_it_is_opened():
    renderer = pp.Renderer("{other}")
    assert len(warned(lambda: renderer.render(SAMPLES))) == 1
    again = pickle.loads(pickle.dumps(renderer))
    assert again == renderer
    assert len(warned(lambda: again.render(SAMPLES))) == 1
    assert again.notes(SAMPLES) == renderer.notes(SAMPLES)


def test_threads_that_share_a_renderer():
    renderer = pp.Renderer("{other}")

    def work():
        threads = [threading.Thread(target=renderer.render, args=(SAMPLES,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert 1 <= len(warned(work)) <= 8
    assert warned(work) == []
