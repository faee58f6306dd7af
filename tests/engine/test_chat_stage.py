"""A chat template behind everything that gives messages or texts: the chats of conversations that are built by hand."""

from __future__ import annotations

import random
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED
from parts.small_tokenizers import small_tokenizer
from promptpress.engine import PromptColumn, RenderOptions, TableRenderer, engine_of
from promptpress.engine.templates import StagedRenderer
from promptpress.engine.tokens import TokenRenderer, token_engine

pytestmark = UNWARNED

SOURCE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
CHAT = pp.ChatTemplate(SOURCE)
EXAMPLES = [{"q": "3+3?", "a": "6"}, {"q": "{q}", "a": ""}]
SYSTEM, USER, ASSISTANT = "system", "user", "assistant"
Messages = list[tuple[str, str]]


def chat(messages: Messages, *, asks: bool) -> str:
    """The text that `SOURCE` makes of messages."""
    return "".join(f"<|{role}|>{content}<|end|>" for role, content in messages) + ("<|assistant|>" if asks else "")


def raw(*messages: tuple[str, str]) -> list[dict[str, str]]:
    return [{"role": role, "content": content} for role, content in messages]


RENDERERS: dict[str, TableRenderer[Any]] = {
    "text": pp.Renderer("Q: {q}", chat_template=CHAT),
    "system": pp.Renderer("{q}", system="Be brief.", output="openai", chat_template=CHAT),
    "shots": pp.Renderer(
        "{q}", shots=2, examples=EXAMPLES, output_column="a", output="openai", chat_template=CHAT, system="S"
    ),
    "messages": pp.Renderer(raw((SYSTEM, "S"), (USER, "{q}")), chat_template=CHAT),
    "answered": pp.Renderer(raw((USER, "{q}"), (ASSISTANT, "{a}")), chat_template=CHAT),
    "harness": pp.Renderer(
        {"type": "PromptTemplate", "template": {"round": [{"role": "HUMAN", "prompt": "H{q}"}]}}, chat_template=CHAT
    ),
    "raw of a harness": pp.Renderer({"type": "RawPromptTemplate", "messages": raw((USER, "{q}"))}, chat_template=CHAT),
    "jinja": StagedRenderer(pp.JinjaTemplate("J {{ q }}"), CHAT),
    "column": StagedRenderer(PromptColumn("q"), CHAT),
}
SHOTS: Messages = [(part, shot[key]) for shot in EXAMPLES for part, key in ((USER, "q"), (ASSISTANT, "a"))]
MESSAGES = {
    "text": lambda row: [(USER, "Q: " + row["q"])],
    "system": lambda row: [(SYSTEM, "Be brief."), (USER, row["q"])],
    "shots": lambda row: [(SYSTEM, "S"), *SHOTS, (USER, row["q"])],
    "messages": lambda row: [(SYSTEM, "S"), (USER, row["q"])],
    "answered": lambda row: [(USER, row["q"]), (ASSISTANT, row["a"])],
    "harness": lambda row: [(USER, "H" + row["q"] + "\n")],  # the line feed is the harness's
    "raw of a harness": lambda row: [(USER, row["q"])],
    "jinja": lambda row: [(USER, "J " + row["q"])],
    "column": lambda row: [(USER, row["q"])],
}


def rows(seed: int) -> list[dict[str, str]]:
    rng = random.Random(seed)
    words = ["1+1?", "", " é ", "{", "{{q", "<|end|>", "<|assistant|>", "None", "\n", "a{b}c", "\ud55c"]
    return [{"q": "".join(rng.choices(words, k=rng.randint(0, 3))), "a": rng.choice(words)} for _ in range(20)]


def rendered(name: str, samples: list[dict[str, str]], **options: Any) -> list[dict[str, Any]]:
    table = engine_of(RENDERERS[name]).render(pa.Table.from_pylist(samples), RenderOptions.of((), **options))
    return table.rename_columns(["prompt", *table.column_names[1:]]).to_pylist()


@pytest.mark.parametrize("name", RENDERERS)
def test_chats_are_those_of_the_messages(name: str) -> None:
    samples = rows(1)
    asks = name != "answered"
    assert [row["prompt"] for row in rendered(name, samples)] == [
        chat(MESSAGES[name](row), asks=asks) for row in samples
    ]


@pytest.mark.parametrize("name", RENDERERS)
def test_origins_tell_data_from_templates(name: str) -> None:
    """What a span says to come from a column is a part of that column's text, and all of the question is there."""
    for row, request in zip(rows(2), rendered(name, rows(2), spans="detailed"), strict=True):
        text = request["prompt"].encode()
        pieces = [(span, text[span["start"] : span["end"]].decode()) for span in request["spans"]]
        assert b"".join(piece.encode() for _, piece in pieces) == text
        columns: dict[str, str] = {}
        for span, piece in pieces:
            if span["source"] == "field" and span["example"] is None:
                columns[span["column"]] = columns.get(span["column"], "") + piece
        assert columns == {name: row[name] for name in columns}
        assert columns.get("q", "") == row["q"]


@pytest.mark.parametrize("name", [name for name in RENDERERS if name != "answered"])
def test_conversations_end_with_their_answers(name: str) -> None:
    """The ids are those of the whole conversation, and the answer with its end is what is trained."""
    tokenizer = small_tokenizer("bytes")
    tokenizer.add_special_tokens(["<|end|>", "<|user|>", "<|assistant|>", "<|system|>"])
    settings = {"tokenizer": tokenizer, "mask": "assistant+end", "answer": "a", "last_turn": True, "offsets": True}
    engine = token_engine(engine_of(RENDERERS[name]), settings, RenderOptions())
    samples = rows(3)
    table = TokenRenderer(engine).stream(pa.Table.from_pylist(samples)).read_all()
    for row, request in zip(samples, table.to_pylist(), strict=True):
        text = chat([*MESSAGES[name](row), (ASSISTANT, row["a"])], asks=False)
        assert request["input_ids"] == tokenizer.encode(text, add_special_tokens=False).ids
        trained = [
            span for span, is_trained in zip(request["offsets"], request["assistant_masks"], strict=True) if is_trained
        ]
        begin, end = trained[0]["start"], trained[-1]["end"]
        assert text.encode()[begin:end].decode() == row["a"] + "<|end|>"


def test_a_column_of_conversations_ends_with_answers_too() -> None:
    talk = [{"from": "human", "value": "Hi"}]
    samples = [{"talk": talk, "a": 2}, {"talk": [{"role": "user", "content": "Hi"}], "a": "x"}]
    chats = pp.ChatTemplate(SOURCE, column="talk", add_generation_prompt=True)
    engine = engine_of(chats).answered("a")
    assert engine.render(samples, RenderOptions())["prompt"].to_pylist() == [
        chat([(USER, "Hi"), (ASSISTANT, answer)], asks=False) for answer in ("2", "x")
    ]


@pytest.mark.parametrize("name", [name for name in RENDERERS if name != "answered"])
def test_an_answer_that_is_null_is_an_error(name: str) -> None:
    samples = pa.table({"q": ["x", "y", "z"], "a": ["1", None, "3"]})
    engine = engine_of(RENDERERS[name]).answered("a")
    with pytest.raises(pp.RenderError, match="row 1: the answer is null"):
        engine.render(samples, RenderOptions())
    errors = engine.render(samples, RenderOptions.of((), errors="column"))["error"].to_pylist()
    assert [error is None for error in errors] == [True, False, True]


def test_there_is_no_answer_without_a_chat_template() -> None:
    for renderer in (pp.Renderer("{q}"), pp.JinjaTemplate("{{ q }}")):
        with pytest.raises(pp.TemplateError, match="there is no chat template"):
            renderer.tokenize([{"q": "x", "a": "y"}], small_tokenizer("bytes"), answer="a")


def test_a_missing_column_of_answers_is_named() -> None:
    renderer = pp.Renderer("{q}", chat_template=CHAT)
    with pytest.raises(pp.RenderError, match="did you mean 'answer'") as caught:
        renderer.tokenize([{"q": "x", "answer": "y"}], small_tokenizer("bytes"), answer="anwser")
    assert caught.value.column == "anwser"


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.bool_(), pa.string_view(), pa.list_(pa.int8())], ids=str)
def test_an_answer_is_the_text_of_its_value(kind: pa.DataType) -> None:
    values = {pa.string_view(): ["x", ""], pa.list_(pa.int8()): [[1], []], pa.bool_(): [True, False]}.get(kind, [1, 0])
    samples = pa.table({"q": ["a", "b"], "a": pa.array(values, kind), "talk": [[{"role": "user", "content": "c"}]] * 2})
    texts = list(map(str, samples["a"].to_pylist()))
    for renderer in (pp.Renderer("{q}", chat_template=CHAT), pp.ChatTemplate(SOURCE, column="talk")):
        chats = engine_of(renderer).answered("a").render(samples, RenderOptions())["prompt"].to_pylist()
        assert [chat.rpartition("<|assistant|>")[2] for chat in chats] == [f"{text}<|end|>" for text in texts]


def test_an_error_of_an_answer_is_the_same_in_a_column() -> None:
    joins = pp.ChatTemplate("{% for m in messages %}{{ '<' + m.content }}{% endfor %}")
    samples = pa.table({"q": ["x", "y"], "a": ["1", None]})
    engine = engine_of(pp.Renderer("{q}", chat_template=joins)).answered("a")
    (error,) = engine.render(samples, RenderOptions.of((), errors="column"))["error"].drop_null().to_pylist()
    assert error == "null_value: the answer is null, and an assistant says a text"


def test_the_last_run_counts_rows_with_answers() -> None:
    renderer = pp.Renderer("{q}", chat_template=CHAT)
    samples = [{"q": "x", "a": "y"}, {"q": "x", "a": None}]
    for chats in (renderer, pp.ChatTemplate(SOURCE)):
        rows = [{**row, "messages": [{"role": "user", "content": "Hi"}]} for row in samples]
        chats.tokenize(rows, small_tokenizer("bytes"), mask="assistant", answer="a", errors="skip")
        assert chats.last_run.errors.rows == 1
        assert chats.last_run.tokens.requests == 1


def test_empty_messages_of_the_short_form_stay() -> None:
    few = {"shots": 1, "examples": [{"q": "e", "a": ""}], "output_column": "a", "chat_template": CHAT}
    for system in ("", "S"):
        renderer = pp.Renderer("{q}", system=system, **few)
        messages = [(SYSTEM, system), (USER, "e"), (ASSISTANT, ""), (USER, "")]
        assert renderer.render([{"q": ""}])["prompt"].to_pylist() == [chat(messages, asks=True)]


def test_templates_with_other_constants_are_not_equal() -> None:
    values = [0, 0.0, -0.0, False, "0", [0], (0,), {"a": 1}, {"a": 1.0}, {"a": True}]
    templates = [pp.ChatTemplate("{{ v }}", v=value) for value in values]
    for template in templates:
        assert [template == other for other in templates].count(True) == 1


def test_a_budget_leaves_room_for_answers() -> None:
    tokenizer = small_tokenizer("bytes")
    few = {"shots": 2, "examples": EXAMPLES, "output_column": "a", "chat_template": CHAT}
    samples = [{"q": "x", "a": "y" * 9}]
    tokens = {"mask": "assistant", "answer": "a"}
    (whole,) = pp.Renderer("{q}", **few).tokenize(samples, tokenizer, **tokens)["n_tokens"].to_pylist()
    for most, shots in ((whole, 2), (whole - 1, 1)):
        renderer = pp.Renderer("{q}", tokenizer=tokenizer, max_seq_len=most, fit="last", **few)
        assert renderer.tokenize(samples, **tokens)["n_shots"].to_pylist() == [shots]
    by_harness = pp.Renderer("{q}", tokenizer=tokenizer, max_seq_len=whole, **few)
    assert by_harness.tokenize(samples, **tokens).num_rows == 1
