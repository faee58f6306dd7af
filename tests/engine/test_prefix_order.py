"""`order="prefix"`: the same requests in another order, in which equal beginnings stand together."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from itertools import groupby, pairwise, takewhile
from typing import Any

import promptpress as pp
import promptpress._core as _core
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from amounts import part_of
from marks import UNWARNED
from promptpress import export
from promptpress._errors.errors import PromptWarning

pytestmark = UNWARNED

EXAMPLES = pa.table({"subject": ["x", "y"] * 30, "q": [f"e{n}" for n in range(60)], "a": list("abcdef" * 10)})
SHOTS = {"type": "PromptTemplate", "template": "</E>{q} -> {a}", "ice_token": "</E>"}
META = {
    "round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}],
    "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}],
}
DIALOGUE = {
    "begin": [{"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": "About {subject}."}],
    "round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}],
}
TEXT_KEYS = ("prompt", "content", "parts", "text")
"""The keys of messages and their parts that have texts here."""
TALK = {"round": [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]}


def few_shot(retriever: dict[str, Any], **more: Any) -> pp.Renderer:
    return pp.Renderer(
        {"type": "PromptTemplate", "template": "{subject}: </E>Q: {q}", "ice_token": "</E>"},
        ice_template=SHOTS,
        retriever=retriever,
        examples=EXAMPLES,
        reader={"input_columns": ["q", "subject"], "output_column": "a"},
        **more,
    )


def media(substitution: Any) -> pp.Renderer:
    shows = {"text": {"type": "text", "text": "{question}"}}
    return pp.Renderer(
        {"type": "MMPromptTemplate", "template": {"round": [{"role": "HUMAN", "prompt_mm": shows}]}},
        meta_template=META,
        dialect="aisbench",
        substitution=substitution,
    )


CHAT = "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}"
RENDERERS: dict[str, Callable[[], Any]] = {
    "plain": lambda: pp.Renderer("About {subject}.\nQ: {q}"),
    "question first": lambda: pp.Renderer("Q: {q} ({subject})", strings="string_view"),
    "constant": lambda: pp.Renderer("No column at all"),
    "number first": lambda: pp.Renderer("{level} {q}", strings="large_string"),
    "masked": lambda: pp.Renderer(
        "Q: {q} A: {a} ({subject})",
        reader={"input_columns": ["q"], "output_column": "a"},
        substitution="single_pass",
        inferencer={"type": "GenInferencer", "gen_field_replace_token": "___"},
    ),
    "labels": lambda: pp.Renderer({"A": "{subject} {q} A", "B": "{subject} {q} B"}, mode="ppl"),
    "mixed labels": lambda: pp.Renderer("{q}", mode="ppl", labels=[None, 1, "x"]),
    "column labels": lambda: pp.Renderer("{q}", mode="ppl", reader={"input_columns": ["q"], "output_column": "a"}),
    "messages": lambda: pp.Renderer(DIALOGUE, meta_template=META),
    "json": lambda: pp.Renderer(DIALOGUE, meta_template=META, output="messages_json"),
    "openai": lambda: pp.Renderer("Q: {q}", system="You know {subject}.", output="openai"),
    "fixed": lambda: few_shot({"type": "FixKRetriever", "fix_id_list": [1, 4]}),
    "random": lambda: few_shot({"type": "RandomRetriever", "ice_num": 2, "seed": 3, "ice_separator": "|"}),
    "window": lambda: few_shot({"type": "SlidingWindowRetriever", "k": 3, "ice_eos_token": "."}),
    "chosen": lambda: few_shot({"type": "IndexColumn", "column": "shots"}),
    "harness": lambda: few_shot({"type": "RandomRetriever", "ice_num": 1}, substitution="harness"),
    "seeded shots": lambda: pp.Renderer(
        "{subject}: {q}", shots=2, seed=5, examples=EXAMPLES, output_column="a", output="openai"
    ),
    "chat stage": lambda: pp.Renderer(DIALOGUE, chat_template=pp.ChatTemplate(CHAT)),
    "media": lambda: media("harness"),
    "media left alone": lambda: media("single_pass"),
    "conversations": lambda: pp.Renderer(
        {"type": "MultiTurnPromptTemplate", "template": TALK},
        inferencer={"type": "MultiTurnGenInferencer", "infer_mode": "every_with_gt"},
        dialect="aisbench",
    ),
    "jinja": lambda: pp.JinjaTemplate("{% if level > 2 %}{{ subject }}{% endif %} {{ q | upper }}{{ a }}"),
    "computed": lambda: pp.JinjaTemplate("{{ subject ~ a }}\n{{ q }}"),
    "chat": lambda: pp.ChatTemplate(CHAT),
    "json chat": lambda: pp.ChatTemplate(CHAT, column="json"),
}


def samples(draw: random.Random, rows: int) -> pa.Table:
    """Samples with few subjects, some equal questions, and chats with few system prompts, in chunks of any type."""
    subjects = ["physics", "", "käse 🧀", "a long name of a subject, " * 4]
    chats = []
    for _ in range(rows):
        chat = [{"role": "system", "content": f"You are number {draw.randrange(3)}."}]
        chat += [{"role": "user", "content": f"u{draw.randrange(4)}"} for _ in range(draw.randrange(1, 4))]
        chats.append(chat[draw.randrange(2) :])
    texts = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int16(), pa.string())]
    columns = {
        "id": pa.array(range(rows)),
        "subject": pa.array([draw.choice(subjects) for _ in range(rows)]).cast(draw.choice(texts)),
        "q": pa.array([f"question {draw.randrange(rows)}?" for _ in range(rows)]).cast(draw.choice(texts)),
        "a": pa.array([draw.choice("AB") for _ in range(rows)]),
        "level": pa.array([draw.randrange(5) for _ in range(rows)]),
        "shots": pa.array([[draw.randrange(3), draw.randrange(12)] for _ in range(rows)], pa.list_(pa.int64())),
        "messages": pa.array(chats),
        "json": pa.array([str(chat).replace("'", '"') for chat in chats]),
        "question": pa.array([[f"t{draw.randrange(3)}", "more"][: draw.randrange(1, 3)] for _ in range(rows)]),
        "unused": pa.array([None, 2.5] * rows)[:rows],
    }
    columns["answer"] = columns["question"]
    columns["content"] = pa.array([f"<AIS_TEXT_START>{draw.randrange(4)}<AIS_CONTENT_TAG>" for _ in range(rows)])
    table = pa.table(columns)
    cuts = sorted(draw.randrange(rows + 1) for _ in range(draw.randrange(3)))
    return pa.concat_tables([table.slice(a, b - a) for a, b in pairwise([0, *cuts, rows])])


def in_order_of(index: str, table: pa.Table) -> pa.Table:
    """Put a table back into the order of its samples."""
    rows = pc.sort_indices(table[index]).to_pylist()
    return pa.Table.from_pylist([table.slice(row, 1).to_pylist()[0] for row in rows], table.schema)


def options_of(draw: random.Random) -> dict[str, Any]:
    return {
        "keep": draw.choice([(), ["id"], ["q", "messages"], ["subject"]]),
        "hashes": draw.random() < 0.3,
        "errors": draw.choice(["raise", "column", "skip"]),
        "spans": draw.choice([False, False, True, "detailed"]),
    }


@pytest.mark.parametrize("name", RENDERERS)
@pytest.mark.parametrize("seed", range(part_of(12)))
def test_requests_are_those_of_rendering_without_an_order(
    name: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(f"{name} {seed}")
    monkeypatch.setattr("promptpress._engine.ordered_rendering._BATCH_ROWS", draw.choice([1, 3, 1000]))
    renderer, table, options = RENDERERS[name](), samples(draw, draw.randrange(1, 40)), options_of(draw)
    if name == "computed":
        options["spans"] = False
    expected = renderer.render(table, index="row", **options)
    ordered = renderer.render(table, index="row", order="prefix", **options)
    assert ordered.schema.equals(expected.schema)
    assert in_order_of("row", ordered).to_pylist() == expected.to_pylist()
    shared = renderer.render(table, index="row", order="prefix", shared=True, **options)
    assert shared.schema.equals(
        renderer.output_schema(table.schema, index="row", order="prefix", shared=True, **options)
    )
    assert shared.drop_columns(["prefix_group", "shared_bytes"]).to_pylist() == ordered.to_pylist()
    prompts = shared["prompt"].to_pylist()
    requests = [text and json.loads(text) for text in prompts] if name == "json" else prompts
    assert shared["shared_bytes"].to_pylist() == brute_force(requests)
    groups = shared["prefix_group"].to_pylist()
    assert groups == sorted(groups)


def flat(request: Any) -> list[tuple[object, int]]:
    """Requests are compared by this, and it counts or not: bytes of texts do, but ends of texts and roles don't."""
    if request is None:
        return []
    if isinstance(request, str):
        return [*((byte, 1) for byte in request.encode()), ("end", 0)]
    if isinstance(request, dict):
        asides = [((name, value), 0) for name, value in request.items() if name not in TEXT_KEYS]
        return asides + [pair for name in TEXT_KEYS if name in request for pair in flat(request[name])]
    return [pair for item in request for pair in flat(item)]


def brute_force(requests: list[Any]) -> list[int]:
    out, last = [], []
    for request in requests:
        items = flat(request)
        equal = takewhile(lambda pair: pair[0] == pair[1], zip(last, items, strict=False))
        out.append(sum(counts for _, (_, counts) in equal))
        last = last if request is None else items
    return out


def shared_bytes(prompts: pa.ChunkedArray) -> int:
    shared = _core.SharedBytes()
    return sum(pc.sum(shared.add(chunk, False)).as_py() for chunk in prompts.chunks)


@pytest.mark.parametrize("name", ["plain", "labels", "messages", "random", "chosen", "chat", "json chat"])
def test_neighbours_share_no_less_than_in_the_order_of_the_samples(name: str) -> None:
    renderer, table = RENDERERS[name](), samples(random.Random(7), 400)
    subjects = pa.array([f"subject {n * 7 % 40}, " * 5 for n in range(400)])
    table = table.set_column(table.schema.get_field_index("subject"), "subject", subjects)
    before, after = (shared_bytes(renderer.render(table, order=order)["prompt"]) for order in (None, "prefix"))
    assert after >= before
    if name in {"plain", "messages"}:
        assert after > 4 * before


def test_equal_requests_share_what_statistics_count() -> None:
    table = samples(random.Random(5), 60)
    for name in ("messages", "json", "openai"):
        prompts = RENDERERS[name]().render(table)["prompt"].combine_chunks()
        sizes, _ = _core.request_sizes(prompts, name == "json")
        shared = _core.SharedBytes()
        shared.add(prompts.slice(0, 1), name == "json")
        twice = pa.array([row for row in range(60) for _ in range(2)])
        assert shared.add(prompts.take(twice), name == "json").to_pylist()[1::2] == sizes.to_pylist(), name


def test_a_column_that_a_mask_stands_for_is_no_part_of_the_order() -> None:
    table = pa.table({"q": ["1", "2", "1"], "a": ["x", "y", "z"]})
    rendered = RENDERERS["masked"]().render(table.append_column("subject", pa.array(["s"] * 3)), "all", order="prefix")
    assert rendered["sample"].to_pylist() == [0, 2, 1]


def test_equal_beginnings_stand_together_in_the_order_of_their_first_samples() -> None:
    table = pa.table({"s": ["b", "a", "b", "a", "c"], "q": ["1", "2", "3", "2", "1"]})
    rendered = pp.Renderer("{s}: {q}").render(table, order="prefix", shared=True)
    assert rendered.to_pydict() == {
        "sample": [0, 2, 1, 3, 4],
        "prompt": ["b: 1", "b: 3", "a: 2", "a: 2", "c: 1"],
        "prefix_group": [0, 0, 1, 1, 2],
        "shared_bytes": [0, 3, 0, 4, 0],
    }
    assert pp.Renderer("{q} {s}").render(table, order="prefix")["sample"].to_pylist() == [0, 4, 1, 3, 2]


def test_examples_come_before_columns_where_requests_show_them_so() -> None:
    shots = [[0, 1], [2, 1], [0, 1], [2, 3], [0, 2]]
    table = pa.table({"subject": list("xyxyx"), "q": list("12345"), "a": list("ABABA"), "shots": shots})
    renderer = pp.Renderer(
        {"type": "PromptTemplate", "template": "</E>Q: {q}", "ice_token": "</E>"},
        ice_template=SHOTS,
        retriever={"type": "IndexColumn", "column": "shots"},
        examples=EXAMPLES,
        reader={"input_columns": ["q"], "output_column": "a"},
    )
    rendered = renderer.render(table, order="prefix", shared=True)
    assert rendered["sample"].to_pylist() == [0, 2, 4, 1, 3]
    assert rendered["prefix_group"].to_pylist() == [0, 0, 0, 1, 1]


def test_an_error_names_the_row_of_the_samples() -> None:
    texts = pa.array([b"a", b"b", b"\xff", b"a"], pa.binary()).view(pa.string())
    table = pa.table({"s": ["y", "x", "y", "x"], "q": texts})
    renderer = pp.Renderer("{s} {q}")
    with pytest.raises(pp.RenderError) as caught:
        renderer.render(table, order="prefix")
    assert (caught.value.row, caught.value.column) == (2, "q")
    rendered = renderer.render(table, order="prefix", errors="column")
    assert rendered["sample"].to_pylist() == [0, 2, 1, 3]
    assert [error is None for error in rendered["error"].to_pylist()] == [True, False, True, True]
    assert renderer.last_run is not None
    assert [error.row for error in renderer.last_run.errors.first] == [2]
    assert renderer.render(table, order="prefix", errors="skip")["sample"].to_pylist() == [0, 1, 3]


def test_an_unreadable_column_is_left_to_the_rendering() -> None:
    words = pa.array([b"a", b"\xff"], pa.binary()).view(pa.string())
    table = pa.table({"q": pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), words)})
    with pytest.raises(pp.RenderError) as caught:
        pp.Renderer("{q}").render(table, order="prefix")
    assert caught.value.column == "q"


def test_messages_that_are_no_text_raise_the_same_error() -> None:
    contents = pa.array([b"a", b"c", b"a", b"\xff"], pa.binary()).view(pa.string())
    messages = pa.StructArray.from_arrays([pa.array(["user"] * 4), contents], ["role", "content"])
    table = pa.table({"messages": pa.ListArray.from_arrays(pa.array([0, 1, 2, 3, 4]), messages)})
    errors = []
    for order in (None, "prefix"):
        chat = pp.ChatTemplate(CHAT)
        for _ in range(2):  # by Jinja2, and by a program
            with pytest.raises(pp.RenderError) as caught:
                chat.render(table, order=order)
            errors.append((caught.value.code, caught.value.row, caught.value.column, caught.value.message))
    assert errors == [("invalid_utf8", 3, "messages", "invalid UTF-8 at byte 0 of the value '\ufffd'")] * 4
    rows = chat.render(table, errors="column").to_pylist()
    assert [row["prompt"] is None for row in rows] == [False, False, False, True]


def test_values_of_other_types_come_along() -> None:
    """Types that the core doesn't read, and types that hold others."""
    table = pa.table(
        {
            "s": ["y", "x", "y"],
            "day": pa.array([1, 2, 3], pa.date32()),
            "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2, 3]), pa.array(["a", "b"])),
            "view": pa.array([["a"], ["b"], ["c"]], pa.list_view(pa.string())),
            "month": pa.array([(1, 2, 3), (4, 5, 6), (7, 8, 9)], pa.month_day_nano_interval()),
        }
    )
    renderer = pp.Renderer("{s} {day} {runs} {view} {month}")
    rendered = renderer.render(table, keep="all", order="prefix")
    assert in_order_of("sample", rendered)["prompt"].to_pylist() == renderer.render(table)["prompt"].to_pylist()
    assert rendered["month"].to_pylist() == [table["month"][n].as_py() for n in (0, 2, 1)]


def test_tables_without_rows_have_the_schema() -> None:
    table = pa.table({"q": pa.array([], pa.string())})
    rendered = pp.Renderer("{q}").render(table, order="prefix", shared=True, hashes=True)
    assert rendered.schema.names == ["sample", "prompt", "prefix_group", "shared_bytes", "hash"]
    assert len(rendered) == 0


def test_arguments_that_are_none_are_refused() -> None:
    table, renderer = pa.table({"q": ["a"]}), pp.Renderer("{q}")
    for wrong in ({"order": "suffix"}, {"order": True}, {"order": "prefix", "shared": 1}, {"shared": True}):
        with pytest.raises(TypeError, match=r"order|shared"):
            renderer.render(table, **wrong)  # type: ignore[arg-type]
    with pytest.raises(pp.RenderError, match="sample"):
        renderer.render(table.append_column("sample", pa.array([1])), ["sample"], order="prefix")


def test_threads_make_no_difference() -> None:
    renderer, table = RENDERERS["plain"](), samples(random.Random(3), 3000)
    try:
        tables = []
        for threads in (1, 3):
            pp.set_threads(threads)
            tables.append(renderer.render(table, order="prefix", shared=True))
    finally:
        pp.set_threads(None)
    assert tables[0].equals(tables[1])
    groups = tables[0]["prefix_group"].to_pylist()
    assert len(groups) == 3000
    assert len(list(groupby(groups))) == len(set(groups)) == 4


def test_join_restores_the_order_of_the_samples() -> None:
    table = pa.table({"s": ["y", "x", "y"], "q": ["1", "2", "3"]})
    rendered = pp.Renderer("{s}: {q}").render(table, keep=["q"], order="prefix")
    assert rendered["q"].to_pylist() == ["1", "3", "2"]
    results = []
    for number in (2, 0, 1):
        body = {"choices": [{"message": {"content": f"answer {number}"}, "finish_reason": "stop"}]}
        results.append({"custom_id": str(number), "response": {"status_code": 200, "body": body}, "error": None})
    for exported in (rendered, table):
        joined = export.join(results, exported)
        assert joined["q"].to_pylist() == ["1", "2", "3"]
        assert joined["response"].to_pylist() == ["answer 0", "answer 1", "answer 2"]


def test_filled_values_are_warned_of_once_by_their_sample() -> None:
    table = pa.table({"q": ["1", "2", "1", "{s}"], "s": ["y", "x", "y", "y"]})
    renderer = pp.Renderer("{s} {q}", substitution="harness")
    assert renderer.render(table, order="prefix")["sample"].to_pylist() == [0, 2, 3, 1]
    with pytest.warns(PromptWarning, match="first in row 3"):
        renderer.render(table, order="prefix")
