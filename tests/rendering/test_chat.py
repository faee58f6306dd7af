"""ChatInferencer: histories made of columns or of messages, against documented examples."""

from __future__ import annotations

import pickle
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED
from parts.chat_parts import MESSAGES, prompts

META = {
    "round": [{"role": "HUMAN", "begin": "<h>", "end": "</h>"}, {"role": "BOT", "begin": "<b>", "end": "</b>"}],
    "reserved_roles": [{"role": "SYSTEM", "begin": "<s>", "end": "</s>"}],
}
API = {"round": [{"role": "HUMAN", "begin": "unread", "api_role": "user"}, {"role": "BOT", "api_role": "assistant"}]}
TALK = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Hi {q}"},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": None},
    {"role": "assistant", "content": "Bye."},
    {"role": "user", "content": "unasked"},
]


def chat(infer_mode: str = "last", template: Any = None, columns: Any = ("q",), answer: str | None = None, **more: Any):
    inferencer = {"type": "ChatInferencer", "infer_mode": infer_mode}
    reader = {"input_columns": list(columns), "output_column": answer}
    return pp.Renderer(template, inferencer=inferencer, reader=reader, **more)


def test_the_template_makes_a_round_of_each_entry() -> None:
    rounds = [
        {"role": "SYSTEM", "prompt": "{q}</E><S>"},
        "bare {q}",
        {"role": "THINK", "prompt": "dropped"},
        {"section": "round", "pos": "begin"},
        {"role": "HUMAN", "prompt": "{q} {a} {other}"},
    ]
    template = {"type": "PromptTemplate", "template": {"round": rounds}, "ice_token": "</E>", "sep_token": "<S>"}
    samples = pa.table({"other": ["o", "o", "o"], "q": ["{a}", "section", ""], "a": ["{q}", "x", "y"]})
    renderer = chat("every_with_gt", template, answer="a", output="prompt_list")
    assert [[m["content"] for m in history] for history in prompts(renderer, samples)] == [
        ["{q}", "bare {q}", "{q} {q} {other}"],
        ["section", "section x {other}"],
        ["", "bare ", " y {other}"],
    ]
    single = chat("last", template, answer="a", output="prompt_list", substitution="single_pass")
    assert [m["content"] for m in prompts(single, samples)[0]] == ["{a}", "bare {a}", "{a} {q} {other}"]


@UNWARNED
def test_other_placeholders_and_missing_columns_stay_as_they_are() -> None:
    samples = pa.table({"z": [1, 2], "a": [None, "x"]})
    assert prompts(chat("last", "{q} {z}"), samples) == ["{q} {z}"] * 2


def test_messages_may_be_any_number() -> None:
    lengths = [0, 1, 300, 2, 77]
    talks = [
        [{"role": ("user", "assistant")[n % 2], "content": f"{length}.{n}"} for n in range(length)]
        for length in lengths
    ]
    samples = pa.table({"q": pa.array(talks, MESSAGES)})
    table = chat("every_with_gt", output="prompt_list").render(samples)
    assert table["prompt"].to_pylist() == [talk[:length] for talk in talks for length in range(1, len(talk), 2)]
    assert table["turn"].to_pylist() == [turn for talk in talks for turn in range(len(talk) // 2)]
    expanded = pp.Renderer([{"role": "system", "content": "S"}, {"expand_column": "q"}])
    system = {"role": "system", "content": "S"}
    assert prompts(expanded, samples) == [[system, *talk] for talk in talks]


def test_a_chat_that_begins_with_the_assistant_is_an_empty_list() -> None:
    samples = pa.table({"q": pa.array([TALK[2:3]], MESSAGES)})
    assert prompts(chat(output="messages"), samples) == [[]]
    assert prompts(chat(output="messages_json"), samples) == ["[]"]
    with pytest.raises(pp.RenderError, match=r"row 0: .*begins with the assistant"):
        chat().render(samples)


def test_begin_and_end_may_be_tokens() -> None:
    meta = {"round": [{"role": "HUMAN", "begin": ["<", 7], "end": None}, {"role": "BOT", "begin": [8]}]}
    assert prompts(chat(meta_template=meta, tokens={7: "|", 8: ">"}), pa.table({"q": ["x"]})) == ["<|x>"]


def test_examples_and_ice_templates_are_ignored() -> None:
    retriever = {"type": "SlidingWindowRetriever", "k": 3}
    renderer = chat(ice_template="{q}", retriever=retriever, examples=pa.table({"q": ["e"]}))
    assert renderer(pa.record_batch({"q": ["x"]}))["prompt"].to_pylist() == ["x"]


def test_required_columns_are_the_readers() -> None:
    assert chat(columns=["q", "x"], template="{y}", answer="a").required_columns == ["q", "x", "a"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"infer_mode": "first"}, "inferencer.infer_mode: 'first'"),
        ({"columns": ["q", "x"]}, "prompt_template: without a template"),
        ({"columns": ["q", "x"], "template": {"round": [{"role": "THINK", "prompt": ""}]}}, "gives no message"),
        ({"columns": ["q", "x"], "template": {"round": [{"role": "HUMAN"}]}}, '"prompt", which is missing'),
        ({"columns": ["q", "x"], "template": {"round": [{"prompt": "x"}]}}, '"role", which is missing'),
        ({"columns": ["q", "x"], "template": {"begin": "x"}}, "needs a round"),
        ({"columns": ["q", "x"], "template": [{"role": "user", "content": "x"}]}, "PromptTemplate"),
        ({"meta_template": {"round": [{"role": "HUMAN"}]}}, "needs the role 'BOT'; it has 'HUMAN'"),
        ({"meta_template": {"round": [*META["round"], "x"]}}, "meta_template.round: a chat has no place"),
        ({"meta_template": {**META, "reserved_roles": ["x"]}}, "meta_template.reserved_roles: a chat"),
        ({"meta_template": [{"role": "system", "content": "x"}]}, "a chat needs a dict with a round"),
        ({"dialect": "aisbench"}, "no ChatInferencer"),
        ({"mode": "ppl", "labels": ["A"]}, "generation only"),
    ],
)
def test_wrong_configurations(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(pp.TemplateError) as caught:
        chat(**arguments)
    assert words in str(caught.value)


@pytest.mark.parametrize("family", ["AgentInferencer", "ChatMLInferencer", "ParallelChatMLInferencer"])
def test_inferencers_of_other_prompts_are_refused_by_name(family: str) -> None:
    with pytest.raises(pp.TemplateError, match=f"inferencer.type: {family} is not supported"):
        pp.Renderer("{q}", inferencer={"type": family}, reader={"input_columns": ["q"]})


def test_no_reader() -> None:
    with pytest.raises(pp.TemplateError, match=r"reader.input_columns: .*name them"):
        pp.Renderer("{q}", inferencer={"type": "ChatInferencer"})


NO_CONTENT = pa.list_(pa.struct([("role", pa.string())]))
PARTS = pa.list_(pa.struct([("role", pa.string()), ("content", pa.list_(pa.string()))]))
NUMBERED = pa.list_(pa.struct([("role", pa.int64()), ("content", pa.string())]))


@UNWARNED
@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"q": ["x", None]}, ['row 1, column "q"', "null"]),
        ({"q": ["x", "y"], "a": ["z", None]}, ['row 1, column "a"', "null"]),
        ({"q": [["x"], None]}, ['row 1, column "q"', "the list is null"]),
        ({"q": [["x"], ["y", None]], "a": [["1"], ["2"]]}, ['row 1, column "q"', "null stands in the list"]),
        ({"q": [1]}, ['"q" is Int64', "lists of messages"]),
        ({"q": ["x"], "a": [["y"]]}, ['"q" is Utf8', '"a" is List']),
        ({"x": ["x"]}, ['column "q"', "no such column"]),
        ({"q": pa.array([TALK, None], MESSAGES)}, ['row 1, column "q"', "the chat is null"]),
        ({"q": pa.array([TALK, [None]], MESSAGES)}, ['row 1, column "q"', "null stands among"]),
        ({"q": pa.array([TALK, TALK[:2]], MESSAGES)}, ["row 1", "no message of the role 'assistant'"]),
        ({"q": pa.array([[{"role": "user"}]], NO_CONTENT)}, ['column "q"', "these have role"]),
        (
            {"q": pa.array([[], [{"role": "user", "content": ["a"]}]], PARTS)},
            ['row 1, column "q"', "Parts of several kinds", "join their"],
        ),
        ({"q": pa.array([[{"role": 1, "content": "a"}]], NUMBERED)}, ['column "q"', "Int64"]),
    ],
)
def test_wrong_samples(columns: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(pp.RenderError) as caught:
        chat(answer="a").render(pa.table(columns))
    assert all(word in str(caught.value) for word in words), caught.value


@UNWARNED
def test_a_wrong_dialogue() -> None:
    renderer = chat(columns=["dialogue", "x"])
    for columns, words in [({"dialogue": ["a"], "x": [1]}, "found Utf8"), ({"x": [1]}, "found no such column")]:
        with pytest.raises(pp.RenderError, match=f'column "dialogue": .*{words}'):
            renderer.render(pa.table(columns))
    with pytest.raises(pp.RenderError, match="one input column asks, and there are 2"):
        renderer.render(pa.table({"dialogue": ["a"], "x": ["b"]}))


def test_a_template_is_wrong_only_where_it_is_used() -> None:
    renderer = chat(template={"round": [{"role": "THINK", "prompt": "x"}]})
    assert prompts(renderer, pa.table({"q": pa.array([TALK], MESSAGES)})) == ["Be kind.\nHi {q}\nHello.\n"]
    with pytest.raises(pp.RenderError, match="gives no message"):
        renderer.render(pa.table({"q": ["x"]}))
    bare = chat(template={"round": ["{q}"]})
    with pytest.raises(pp.RenderError, match="row 1: the template gives no message for this row"):
        bare.render(pa.table({"q": ["x", "a section"]}))


def test_a_role_without_api_role_is_wrong_where_it_speaks() -> None:
    meta = {"round": [{"role": "HUMAN", "api_role": "user"}, {"role": "BOT"}]}
    samples = pa.table({"q": [["a"], ["b", "c"]]})
    assert prompts(chat(meta_template=meta), samples.slice(0, 1)) == [[{"role": "user", "prompt": "a"}]]
    with pytest.raises(pp.RenderError, match=r"row 1: meta_template.round\[1\]: the role needs an api_role"):
        chat(meta_template=meta).render(samples)


def test_what_a_chat_has_not_says_so() -> None:
    samples = pa.table({"q": ["x"]})
    with pytest.raises(pp.TemplateError, match="converse"):
        chat("every").render(samples)
    with pytest.raises(pp.TemplateError, match="every"):
        chat("last").converse(samples)


LISTS = [
    pa.list_(pa.string()),
    pa.large_list(pa.large_string()),
    pa.list_(pa.string_view()),
    pa.list_(pa.dictionary(pa.int8(), pa.string())),
    pa.list_(pa.string(), 2),
    pa.list_view(pa.string()),
]


@pytest.mark.parametrize("kind", LISTS, ids=str)
def test_lists_of_every_layout(kind: pa.DataType) -> None:
    lists = [["w", "v"], ["a", "b"], ["c", "d"]]
    samples = pa.table({"q": pa.array(lists, kind), "a": pa.array(lists, kind)})
    renderer = chat("every_with_gt", answer="a")
    assert prompts(renderer, samples.slice(1)) == ["a", "a\na\nb", "c", "c\nc\nd"]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_strings_of_every_layout(kind: pa.DataType) -> None:
    talk = pa.list_(pa.struct([("content", kind), ("role", kind), ("extra", pa.int64())]))
    samples = pa.table({"q": pa.array([TALK, TALK], talk), "s": pa.array(["x", "y"], kind)}).slice(1)
    assert prompts(chat(), samples) == ["Be kind.\nHi {q}\nHello.\n"]
    assert prompts(chat(columns=["s"]), samples) == ["y"]


@pytest.mark.parametrize("output", ["text", "messages", "prompt_list", "messages_json"])
def test_tables_without_rows_have_the_schema(output: str) -> None:
    for kind in (pa.string(), pa.list_(pa.string()), MESSAGES):
        schema = pa.schema([("q", kind), ("id", pa.int64())])
        renderer = chat("every_with_gt", output=output)
        table = renderer.render(schema.empty_table(), keep=["id"])
        assert table.schema == renderer.output_schema(schema, ["id"])
        assert table.column_names == ["id", "turn", "prompt"]
        assert table.num_rows == 0


def test_kept_columns_and_names() -> None:
    samples = pa.table({"q": [["a", "b"], ["c"]], "turn": ["x", "y"]})
    table = chat("every_with_gt", names={"turn": "n"}).render(samples, keep=["turn"])
    assert table.select(["turn", "n"]).to_pylist() == [{"turn": t, "n": n} for t, n in [("x", 0), ("x", 1), ("y", 0)]]
    with pytest.raises(pp.RenderError, match="names="):
        chat().render(samples, keep=["turn"])


def test_a_pickled_renderer_renders_the_same() -> None:
    renderer = chat("every_with_gt", meta_template=META)
    samples = pa.table({"q": pa.array([TALK], MESSAGES)})
    again = pickle.loads(pickle.dumps(renderer))
    assert again == renderer
    assert again.render(samples).equals(renderer.render(samples))


@UNWARNED
@pytest.mark.parametrize("family", ["ChatInferencer", "opencompass.openicl.icl_inferencer.ParallelChatInferencer"])
def test_from_config_needs_no_template(family: str) -> None:
    dataset = {
        "reader_cfg": {"input_columns": "dialogue other", "output_column": None},
        "infer_cfg": {
            "retriever": {"type": "ZeroRetriever"},
            "inferencer": {"type": family, "infer_mode": "every_with_gt", "max_out_len": 4096},
        },
    }
    samples = pa.table({"dialogue": pa.array([TALK], MESSAGES)})
    table = pp.Renderer.from_config(dataset, {"type": "OpenAI"}).render(samples)
    assert table["turn"].to_pylist() == [0, 1]
    assert table["prompt"][0].as_py() == [
        {"role": "SYSTEM", "prompt": "Be kind."},
        {"role": "HUMAN", "prompt": "Hi {q}"},
    ]
    dataset["infer_cfg"]["inferencer"] = {"type": "GenInferencer"}
    with pytest.raises(pp.TemplateError, match="prompt_template"):
        pp.Renderer.from_config(dataset)
