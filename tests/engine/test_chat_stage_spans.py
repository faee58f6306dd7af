"""Spans of texts that a chat template makes of a configuration's messages: each source writes letters of its own."""

from __future__ import annotations

import random
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED

pytestmark = UNWARNED

ALPHABETS = {
    ("prompt_template", None): "abcé",
    ("field", "question"): "ΑΒΓ",
    ("field", "level"): "123",
    ("masked", "answer"): "?",
    ("chat_template", None): "<|>XYZ",
}
TEMPLATES = {
    "plain": "{% for m in messages %}<{{ m.content }}|{% endfor %}Z",
    "stripped": "{% for m in messages %}<X{{ m['content'] | trim }}>{% endfor %}{{ 'Y' if add_generation_prompt }}",
    "split": "{% for m in messages %}<{{ m.content.split('ΓΓ')[-1].lstrip() }}>{% endfor %}",
}
ROLES = ("HUMAN", "BOT")


def word(rng: random.Random, alphabet: str) -> str:
    return "".join(rng.choice(alphabet + " \n") for _ in range(rng.randint(0, 6)))


def drawn(rng: random.Random) -> tuple[pp.Renderer, pa.Table]:
    letters = ALPHABETS["prompt_template", None]
    turns = [
        {
            "role": rng.choice(ROLES),
            "prompt": word(rng, letters) + rng.choice(("{question}", "{level}", "", "{answer}")) + word(rng, letters),
        }
        for _ in range(rng.randint(1, 5))
    ]
    renderer = pp.Renderer(
        {"round": turns},
        reader={"input_columns": ["question", "level"], "output_column": "answer"},
        inferencer={"gen_field_replace_token": "?"},
        chat_template=pp.ChatTemplate(TEMPLATES[rng.choice(sorted(TEMPLATES))]),
        meta_template={
            "round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}],
        },
    )
    rows = [
        {"question": word(rng, "ΑΒΓ"), "level": rng.choice((1, 22, 321)), "answer": "none"}
        for _ in range(rng.randint(1, 6))
    ]
    return renderer, pa.Table.from_pylist(rows)


def check(text: str, spans: list[dict[str, Any]], *, counts_computed: list[int]) -> None:
    data, position = text.encode(), 0
    for span in spans:
        assert span["start"] == position < span["end"]
        position = span["end"]
        letters = data[span["start"] : span["end"]].decode().replace(" ", "").replace("\n", "")
        source = span["source"], span["column"]
        if source == ("computed", None):
            counts_computed.append(len(letters))
        else:
            assert set(letters) <= set(ALPHABETS.get(source, "")), span
    assert position == len(data)


@pytest.mark.parametrize("seed", range(16))
def test_each_byte_has_the_origin_of_its_letter(seed: int) -> None:
    renderer, samples = drawn(random.Random(seed))
    computed: list[int] = []
    table = renderer.render(samples, spans="detailed")
    for row, (text, spans) in enumerate(zip(table["prompt"].to_pylist(), table["spans"].to_pylist(), strict=True)):
        check(text, spans, counts_computed=computed)
        assert renderer.explain(samples, row).to_pylist() == spans
        (prompt,) = renderer.preview(samples, rows=[row])._prompts
        assert "".join(piece.text for piece in prompt.pieces) == text
        assert [piece.source for piece in prompt.pieces] == [span["source"] for span in spans]
    # Only a part that could stand in two places of a content is given up.
    assert not computed or "split" in repr(renderer)
    plain = renderer.render(samples, spans=True)["spans"].to_pylist()
    assert [[span["end"] for span in spans][-1:] for spans in plain] == [
        [len(text.encode())] if text else [] for text in table["prompt"].to_pylist()
    ]


def test_rows_with_errors_have_no_spans() -> None:
    renderer = pp.Renderer(
        {"round": [{"role": "HUMAN", "prompt": "{question}"}]},
        chat_template=pp.ChatTemplate(
            "{{ messages[0].content }}{{ raise_exception('no') if 'x' in messages[0].content }}"
        ),
    )
    table = renderer.render(pa.table({"question": ["a", "x", "b"]}), spans=True, errors="column")
    assert [spans is None for spans in table["spans"].to_pylist()] == [False, True, False]
    assert table["error"].null_count == 2


@pytest.mark.parametrize("strings", ["string", "large_string", "string_view"])
def test_bad_rows_have_the_error_that_they_have_alone(strings: Any) -> None:
    template = (
        "{% for m in messages %}<<<<<<<<{{ m.content }}{{ raise_exception('x') if 'x' in m.content }}{% endfor %}"
    )
    renderer = pp.Renderer(
        {"round": [{"role": "HUMAN", "prompt": "{question}"}]},
        meta_template={"round": [{"role": "HUMAN", "api_role": "HUMAN"}]},
        chat_template=pp.ChatTemplate(template),
        strings=strings,
        limits={"prompt_bytes": 20},
    )
    # Of the last two, the messages of one are too long, and the text of the other.
    values = ["a", "x", None, "", "c", "b" * 30, "b" * 15] * 3
    samples = pa.table({"question": pa.array(values, pa.string())})
    whole = renderer.render(samples, errors="column", spans=True)
    alone = [renderer.render(samples.slice(row, 1), errors="column", spans=True) for row in range(len(samples))]
    assert whole.to_pylist() == pa.concat_tables(alone).to_pylist()
    assert whole.column("error").combine_chunks().is_null().to_pylist() == [
        value in ("a", None, "c") for value in values
    ]
    for row, table in enumerate(alone):
        if table["error"][0].is_valid:
            with pytest.raises(pp.RenderError) as caught:
                renderer.render(samples.slice(row, 1))
            assert table["error"][0].as_py().endswith(caught.value.message)
