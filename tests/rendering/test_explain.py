"""The origin of each byte of a prompt, and the rows where the two ways of substituting differ."""

from __future__ import annotations

from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from fuzz import oracle
from generators.strategies import Case, cases
from hypothesis import given, note, settings
from marks import UNWARNED
from test_against_model import QUICK, rendered_by

# Notes on odd configurations are no part of this.
pytestmark = UNWARNED

SOURCES = {
    "prompt_template", "ice_template", "separator", "meta_template", "meta_template.begin", "meta_template.end",
    "role.begin", "role.prompt", "role.end", "field", "masked", "filled_field", "filled_masked",
}  # fmt: skip
SAMPLES = pa.table({"q": ["see {a}", "é😀"], "a": ["gold", "2"]})
EXAMPLES = pa.table({"q": ["x", "y"], "a": ["1", "2"]})
READER = {"input_columns": ["q"], "output_column": "a"}
META = {
    "begin": "<s>",
    "round": [
        {"role": "HUMAN", "begin": "<H>", "end": "</H>", "api_role": "HUMAN"},
        {"role": "BOT", "begin": "<B>", "end": "</B>", "api_role": "BOT", "generate": True},
    ],
    "end": "</s>",
}
TURNS = [{"role": "HUMAN", "prompt": "{q}?"}, {"role": "BOT", "prompt": "{a}"}]
FEW_SHOT: dict[str, Any] = {
    "prompt_template": {
        "type": "PromptTemplate",
        "template": {"begin": [{"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": "Sys"}, "</E>"], "round": TURNS},
        "ice_token": "</E>",
    },
    "ice_template": {"type": "PromptTemplate", "template": {"round": TURNS}},
    "retriever": {"type": "FixKRetriever", "fix_id_list": [1, 0]},
    "reader": READER,
    "examples": EXAMPLES,
    "meta_template": META,
}


def messages_of(request: Any) -> list[str]:
    """The text of each message of a request."""
    if isinstance(request, str):
        return [request]
    request = [message if isinstance(message, dict) else {"prompt": message} for message in request]
    return [str(next((m[key] for key in ("prompt", "content") if isinstance(m.get(key), str)), "")) for m in request]


def spans_of(renderer: pp.Renderer, samples: pa.Table, row: int, label: Any = None) -> list[dict[str, Any]]:
    table = renderer.explain(samples, row, label=label)
    assert table.column_names == ["message", "part", "start", "end", "source", "column", "example", "role"]
    return list(table.to_pylist())


def check_spans(spans: list[dict[str, Any]], request: Any) -> None:
    """Spans follow each other without gaps over the bytes of every message, in order."""
    lengths = [len(text.encode()) for text in messages_of(request)]
    ends = [0] * len(lengths)
    last = 0
    for span in spans:
        message = span["message"]
        assert message >= last
        last = message
        assert span["start"] == ends[message]
        assert span["end"] > span["start"]
        ends[message] = span["end"]
        assert span["source"] in SOURCES
        assert (span["column"] is not None) == (span["source"].endswith(("field", "masked")))
    assert ends == lengths


def traced(spans: list[dict[str, Any]], request: Any) -> list[tuple[Any, ...]]:
    """(text, source, column, example, role) of every span; messages are told apart by their number in front."""
    texts = [text.encode() for text in messages_of(request)]
    result = []
    for span in spans:
        number = [] if isinstance(request, str) else [span["message"]]
        text = texts[span["message"]][span["start"] : span["end"]].decode()
        result.append((*number, text, *(span[key] for key in ("source", "column", "example", "role"))))
    return result


def explained(renderer: pp.Renderer, samples: pa.Table = SAMPLES, row: int = 0, label: Any = None) -> list[Any]:
    """Return the trace of one row's request after a check that the spans cover it."""
    labels = renderer.labels or [None]
    index = row * len(labels) + (labels.index(label) if label is not None else 0)
    request = renderer.render(samples)["prompt"][index].as_py()
    spans = spans_of(renderer, samples, row, label)
    check_spans(spans, request)
    return traced(spans, request)


# ---------------------------------------------------------------------------------------------------------------------
# By hand.


def test_literals_and_fields() -> None:
    assert explained(pp.Renderer("Q: {q}!", substitution="harness"), row=1) == [
        ("Q: ", "prompt_template", None, None, None),
        ("é😀", "field", "q", None, None),
        ("!", "prompt_template", None, None, None),
    ]


def test_what_a_value_brings_in_belongs_to_the_column_of_the_value() -> None:
    assert explained(pp.Renderer("Q: {q}!", substitution="harness")) == [
        ("Q: ", "prompt_template", None, None, None),
        ("see ", "field", "q", None, None),
        ("gold", "filled_field", "a", None, None),
        ("!", "prompt_template", None, None, None),
    ]
    assert explained(pp.Renderer("Q: {q}!", substitution="single_pass")) == [
        ("Q: ", "prompt_template", None, None, None),
        ("see {a}", "field", "q", None, None),
        ("!", "prompt_template", None, None, None),
    ]


def test_the_mask() -> None:
    renderer = pp.Renderer("{q}={a}", reader=READER, inferencer={"gen_field_replace_token": "[hidden]"})
    assert explained(renderer, row=1) == [
        ("é😀", "field", "q", None, None),
        ("=", "prompt_template", None, None, None),
        ("[hidden]", "masked", "a", None, None),
    ]
    # A value's placeholder of the masked column is filled with the mask, too.
    assert explained(renderer)[1] == ("[hidden]", "filled_masked", "a", None, None)
    assert explained(pp.Renderer("{q}={a}", reader=READER), row=1)[-1][0] == "="


def test_examples_in_a_string() -> None:
    renderer = pp.Renderer(
        {"type": "PromptTemplate", "template": "</E>{q}", "ice_token": "</E>"},
        {"type": "PromptTemplate", "template": "{q}={a}"},
        {"type": "FixKRetriever", "fix_id_list": [1, 0], "ice_separator": "--"},
        EXAMPLES,
        READER,
    )
    assert explained(renderer, row=1) == [
        ("y", "field", "q", 0, None),
        ("=", "ice_template", None, 0, None),
        ("2", "field", "a", 0, None),
        ("--", "separator", None, None, None),
        ("x", "field", "q", 1, None),
        ("=", "ice_template", None, 1, None),
        ("1", "field", "a", 1, None),
        ("\n", "separator", None, None, None),
        ("é😀", "field", "q", None, None),
    ]


def shot(number: int, q: str, a: str) -> list[tuple[Any, ...]]:
    return [
        ("<H>", "role.begin", None, None, "HUMAN"),
        (q, "field", "q", number, "HUMAN"),
        ("?", "ice_template", None, number, "HUMAN"),
        ("</H>", "role.end", None, None, "HUMAN"),
        ("<B>", "role.begin", None, None, "BOT"),
        (a, "field", "a", number, "BOT"),
        ("</B>", "role.end", None, None, "BOT"),
    ]


def test_a_meta_template_as_text() -> None:
    assert explained(pp.Renderer(**FEW_SHOT, output="text"), row=1) == [
        ("<s>", "meta_template.begin", None, None, None),
        ("<H>", "role.begin", None, None, "SYSTEM"),
        ("Sys", "prompt_template", None, None, "SYSTEM"),
        ("</H>", "role.end", None, None, "SYSTEM"),
        *shot(0, "y", "2"),
        *shot(1, "x", "1"),
        ("<H>", "role.begin", None, None, "HUMAN"),
        ("é😀", "field", "q", None, "HUMAN"),
        ("?", "prompt_template", None, None, "HUMAN"),
        ("</H>", "role.end", None, None, "HUMAN"),
        ("<B>", "role.begin", None, None, "BOT"),
    ]


def test_a_meta_template_as_messages() -> None:
    rows = explained(pp.Renderer(**FEW_SHOT), row=1)
    assert [row[0] for row in rows] == [0, *[1] * 8, *[2] * 3, *[3] * 4, *[4] * 3, *[5] * 4]
    assert rows[0] == (0, "<s>", "meta_template.begin", None, None, None)
    assert rows[4][1:4] == ("\n", "separator", None)  # two messages of one role
    assert [row[1:] for row in rows[5:12]] == shot(0, "y", "2")
    assert [row[1:] for row in rows[12:19]] == shot(1, "x", "1")


def test_the_end_of_a_meta_template_and_default_prompts() -> None:
    meta = {
        "round": [
            {"role": "HUMAN", "begin": "<H>"},
            {"role": "THINK", "begin": "<T>", "prompt": "hm"},
            "<sep>",
            {"role": "BOT", "begin": "<B>"},
        ],
        "end": "</s>",
    }
    renderer = pp.Renderer({"round": TURNS}, meta_template=meta, mode="ppl", labels=["A"])
    assert explained(renderer, row=1, label="A") == [
        ("<H>", "role.begin", None, None, "HUMAN"),
        ("é😀", "field", "q", None, "HUMAN"),
        ("?", "prompt_template", None, None, "HUMAN"),
        ("<T>", "role.begin", None, None, "THINK"),
        ("hm", "role.prompt", None, None, "THINK"),
        ("<sep>", "meta_template", None, None, None),
        ("<B>", "role.begin", None, None, "BOT"),
        ("2", "field", "a", None, "BOT"),
        ("</s>", "meta_template.end", None, None, None),
    ]


def test_lines_between_items_without_meta_template() -> None:
    assert explained(pp.Renderer({"round": TURNS}), row=1) == [
        ("é😀", "field", "q", None, "HUMAN"),
        ("?", "prompt_template", None, None, "HUMAN"),
        ("\n", "separator", None, None, None),
        ("2", "field", "a", None, "BOT"),
    ]


def test_raw_messages_with_a_column_of_messages() -> None:
    talk = [[{"role": "user", "content": "u{q}"}, {"role": "assistant", "content": "v"}], None]
    samples = SAMPLES.append_column("talk", pa.array(talk))
    template = [{"role": "system", "content": "S{a}"}, {"expand_column": "talk"}, {"role": "user", "content": "{q}"}]
    for meta in (None, [{"role": "system", "content": "M"}]):
        rows = explained(pp.Renderer(template, meta_template=meta, substitution="harness"), samples)
        if meta is not None:
            assert rows.pop(0)[:3] == (0, "M", "meta_template")
        assert rows[0] == (0, "S", "prompt_template", None, None, "system")
        assert rows[1] == (0, "gold", "field", "a", None, "system")
        assert [row[:4] for row in rows[2:4]] == [(1, "u{q}", "field", "talk"), (2, "v", "field", "talk")]
        assert [row[:4] for row in rows[4:]] == [(3, "see ", "field", "q"), (3, "gold", "filled_field", "a")]
        assert {
            row[0] for row in explained(pp.Renderer(template, meta_template=meta, substitution="harness"), samples, 1)
        } == {0, 1}


def test_each_label_has_a_separate_request() -> None:
    renderer = pp.Renderer({"A": "yes {q}", 1: "no {q}"}, mode="ppl")
    assert explained(renderer, row=1, label="A")[0][0] == "yes "
    assert explained(renderer, row=1, label=1)[0][0] == "no "
    assert spans_of(renderer, SAMPLES, 1) == spans_of(renderer, SAMPLES, 1, "A")
    with pytest.raises(pp.RenderError, match="label"):
        renderer.explain(SAMPLES, 0, label="B")


@pytest.mark.parametrize(
    "retriever", [{"type": "RandomRetriever", "ice_num": 1}, {"type": "SlidingWindowRetriever", "k": 2}]
)
def test_a_position_counts(retriever: dict[str, Any]) -> None:
    renderer = pp.Renderer(**{**FEW_SHOT, "retriever": retriever, "output": "text"})
    for row, prompt in enumerate(renderer.render(SAMPLES)["prompt"].to_pylist()):
        assert "".join(part[0] for part in explained(renderer, row=row)) == prompt


@pytest.mark.parametrize("row", [2, -1, 10**30])
def test_there_is_no_such_row(row: int) -> None:
    with pytest.raises(pp.RenderError, match=str(row)):
        pp.Renderer("{q}").explain(SAMPLES, row)


def test_invalid_text_is_refused_in_messages_too() -> None:
    bad = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")])
    message = pa.StructArray.from_arrays([pa.array(["user"]), bad], ["role", "content"])
    samples = pa.table({"talk": pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), message)})
    renderer = pp.Renderer([{"expand_column": "talk"}])
    for call in (renderer.render, lambda given: renderer.explain(given, 0)):
        with pytest.raises(pp.RenderError, match=r"(?i)utf-?8"):
            call(samples)


# ---------------------------------------------------------------------------------------------------------------------
# At random.


@settings(QUICK, max_examples=part_of(400))
@given(cases())
def test_spans_cover_every_request(case: Case) -> None:
    renderer, table = rendered_by(case)
    requests = oracle.requests_of(case, table)
    each = len(requests) // case.samples.num_rows
    labels = table["label"].to_pylist()[:each] if "label" in table.column_names else [None]
    if renderer.labels is not None:
        labels = renderer.labels
    for row in range(case.samples.num_rows):
        for index, label in enumerate(labels[:each]):
            if labels.index(label) < index or (label is None and index):
                continue  # None asks for the first, and so does a label that is there twice
            spans = spans_of(renderer, case.samples, row, label)
            note(spans)
            check_spans(spans, requests[row * each + index])


DIVERGENCES: list[tuple[str, dict[str, list[str]], dict[str, Any], list[dict[str, Any]]]] = [
    ("{q} {a}", {"q": ["fine", "see {a}", "{ a }"], "a": ["x", "y", "z"]}, {}, [{"row": 1, "columns": ["q"]}]),
    # a value that is put in after its placeholder's column has had its turn changes nothing
    ("{q} {a}", {"q": ["1"], "a": ["{q}"]}, {}, []),
    # two values and a literal complete a placeholder together
    ("{q}{a}", {"q": ["{"], "a": ["z}"], "z": ["!"]}, {}, [{"row": 0, "columns": ["q", "a"]}]),
    ("{{q}}", {"q": ["a"], "a": ["x"]}, {}, [{"row": 0, "columns": ["q"]}]),
    # what a placeholder becomes is the placeholder itself
    ("{q}", {"q": ["{a}"], "a": ["{a}"]}, {}, []),
    ("{q}", {"q": ["{a}"], "a": ["gold"]}, {"reader": READER}, [{"row": 0, "columns": ["q"]}]),
    ("plain", {"q": ["{a}"], "a": ["x"]}, {}, []),
    ("{q}", {}, {}, []),
]


@pytest.mark.parametrize(("template", "columns", "arguments", "want"), DIVERGENCES, ids=range(len(DIVERGENCES)))
def test_divergence_by_hand(
    template: str, columns: dict[str, list[str]], arguments: dict[str, Any], want: list[dict[str, Any]]
) -> None:
    table = pp.Renderer(template, **arguments).divergence(pa.table(columns))
    assert table.schema.names == ["row", "columns"]
    assert table.schema.field("row").type == pa.int64()
    assert table.schema.field("columns").type == pa.list_(pa.string())
    assert table.to_pylist() == want


def test_a_turn_is_refused_for_what_it_is() -> None:
    with pytest.raises(pp.RenderError, match="this configuration has no turns"):
        pp.Renderer("{q}").explain(pa.table({"q": ["x"]}), 0, turn=0)
    chat = pp.Renderer(
        reader={"input_columns": ["q"], "output_column": "a"},
        inferencer={"type": "ChatInferencer", "infer_mode": "every"},
    )
    with pytest.raises(pp.RenderError, match="the model's own replies"):
        chat.explain(pa.table({"q": ["x"], "a": ["y"]}), 0, turn=1)
