"""Token ids of all renderers beside the library `tokenizers` over the rendered texts."""

from __future__ import annotations

import random
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from marks import UNWARNED
from parts.small_tokenizers import KINDS, MARKS, WORDS, small_tokenizer

TEXTS = (*WORDS, *MARKS, "", " ", "\n", "é", "e\u0301", "🙂", "<|im_", "start|>", "x" * 50, "\u2028", "ﬁ")
CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
META = {
    "round": [
        {"role": "HUMAN", "begin": "<|im_start|>user\n", "end": "<|im_end|>\n", "api_role": "HUMAN"},
        {"role": "BOT", "begin": "<|im_start|>assistant\n", "end": "<|im_end|>\n", "api_role": "BOT", "generate": True},
    ]
}
DIALOGUE = {"round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}]}
RENDERERS: dict[str, Any] = {
    "text": lambda: pp.Renderer("Q: {q}\nA: {a}"),
    "roles": lambda: pp.Renderer(DIALOGUE, meta_template=META, substitution="single_pass", output="text"),
    "labels": lambda: pp.Renderer("{q} {a}", mode="ppl", labels=["A", "B"]),
    "views": lambda: pp.Renderer("{q}", strings="string_view"),
    "bos": lambda: pp.Renderer("<s>{q}"),
    "jinja": lambda: pp.JinjaTemplate("{{ q }} {{ a|upper }}"),
    "chat": lambda: pp.ChatTemplate(CHATML),
    "chat of a configuration": lambda: pp.Renderer(
        DIALOGUE, chat_template=pp.ChatTemplate(CHATML), substitution="single_pass"
    ),
}
CHATS = ("chat", "chat of a configuration")


def rows(rng: random.Random, count: int) -> pa.Table:
    def text() -> str:
        return "".join(rng.choice(TEXTS) for _ in range(rng.randint(0, 5)))

    # An empty text of a message is left out by the harness, and a chat needs one.
    table = pa.table(
        {"id": list(range(count)), "q": ["?" + text() for _ in range(count)], "a": [text() for _ in range(count)]}
    )
    messages = [
        [{"role": rng.choice(["user", "assistant", "system"]), "content": text()} for _ in range(rng.randint(1, 4))]
        for _ in range(count)
    ]
    return table.append_column("messages", pa.array(messages))


def wanted(name: str, texts: list[str], tokenizer: Any, special: bool | None = None) -> list[Any]:
    out = []
    for text in texts:
        puts = name not in CHATS and not (text.startswith("<s>") and tokenizer is small_tokenizer("bos"))
        out.append(tokenizer.encode(text, add_special_tokens=puts if special is None else special))
    return out


@UNWARNED
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", RENDERERS)
def test_ids_are_those_of_the_library_over_the_texts(name: str, kind: str) -> None:
    rng, renderer, tokenizer = random.Random(f"{name} {kind}"), RENDERERS[name](), small_tokenizer(kind)
    for _ in range(part_of(20)):
        table = rows(rng, rng.randint(1, 6))
        rendered = renderer.render(table, keep=["id"])
        special = rng.choice([None, True, False])
        tokens = renderer.tokenize(table, tokenizer, keep=["id"], offsets=True, add_special_tokens=special)
        texts = rendered["prompt"].to_pylist()
        encodings = wanted(name, texts, tokenizer, special)
        assert tokens["input_ids"].to_pylist() == [encoding.ids for encoding in encodings]
        assert tokens["n_tokens"].to_pylist() == [len(encoding.ids) for encoding in encodings]
        assert tokens.drop_columns(["input_ids", "n_tokens", "offsets"]) == rendered.drop_columns(["prompt"])
        for text, encoding, offsets in zip(texts, encodings, tokens["offsets"].to_pylist(), strict=True):
            locations = [(len(text[:start].encode()), len(text[:end].encode())) for start, end in encoding.offsets]
            assert [(location["start"], location["end"]) for location in offsets] == locations
        streamed = renderer.stream(
            table.to_batches(max_chunksize=2),
            keep=["id"],
            tokenize={"tokenizer": tokenizer, "offsets": True, "add_special_tokens": special},
        )
        assert streamed.read_all().combine_chunks() == tokens.combine_chunks()


def test_turns_have_tokens() -> None:
    config = {
        "prompt_template": {"type": "MultiTurnPromptTemplate", "template": {"round": DIALOGUE["round"]}},
        "inferencer": {"type": "MultiTurnGenInferencer", "infer_mode": "every_with_gt"},
        "dialect": "aisbench",
    }
    config["prompt_template"]["template"] = {
        "round": [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]
    }
    renderer, tokenizer = pp.Renderer(**config), small_tokenizer()
    samples = pa.table({"question": [["1+1?", "2+2?"], ["3?"]], "answer": [["2", "4"], ["3"]]})
    texts, tokens = renderer.render(samples, index="row"), renderer.tokenize(samples, tokenizer, index="row")
    assert tokens.column_names == ["row", "turn", "input_ids", "n_tokens"]
    assert [tokenizer.decode(ids) for ids in tokens["input_ids"].to_pylist()] == texts["prompt"].to_pylist()
    assert tokens["row"] == texts["row"]


def test_many_rows_come_in_order() -> None:
    samples = pa.table({"q": [f"{n}" for n in range(10_000)]})
    renderer, tokenizer = pp.Renderer("{q}"), small_tokenizer()
    ids = renderer.tokenize(samples, tokenizer)["input_ids"]
    assert [tokenizer.decode(row) for row in ids.to_pylist()] == samples["q"].to_pylist()
    labelled = pp.Renderer("{q}:", mode="ppl", labels=["A", "B"]).tokenize(samples, tokenizer, index="row")
    assert labelled["row"].to_pylist() == [n // 2 for n in range(20_000)]
    assert tokenizer.decode(labelled["input_ids"][19_999].as_py()) == "9999:"


def test_no_rows() -> None:
    table = pp.Renderer("{q}").tokenize(pa.table({"q": pa.array([], pa.string())}), small_tokenizer(), offsets=True)
    assert table.num_rows == 0
    assert table.column_names == ["input_ids", "n_tokens", "offsets"]


@pytest.mark.parametrize("truncation", ["left", "right", "middle"])
@pytest.mark.parametrize("most", [0, 1, 2, 5])
def test_what_is_too_long_is_cut(truncation: Any, most: int) -> None:
    samples = pa.table({"q": ["", "1", "Hello there. 1+1", "the answer is 42 é 你好"]})
    renderer, tokenizer = pp.Renderer("{q}"), small_tokenizer()
    whole = renderer.tokenize(samples, tokenizer, offsets=True).to_pylist()
    cut = renderer.tokenize(samples, tokenizer, offsets=True, max_tokens=most, truncation=truncation)
    for row, before in zip(cut.to_pylist(), whole, strict=True):
        count = before["n_tokens"]
        first = {"left": 0, "right": most, "middle": most // 2}[truncation]
        kept = [*range(first), *range(count - (most - first), count)] if count > most else range(count)
        assert row["input_ids"] == [before["input_ids"][n] for n in kept]
        assert row["offsets"] == [before["offsets"][n] for n in kept]
        assert (row["n_tokens"], row["truncated"]) == (len(kept), count > most)


def test_what_is_too_long_is_an_error_of_its_row() -> None:
    samples = pa.table({"q": ["1", "Hello there.", "2", "Hello! Hello!"]})
    renderer, tokenizer = pp.Renderer("{q}", mode="ppl", labels=["A", "B"]), small_tokenizer()
    with pytest.raises(pp.RenderError, match=r"row 1: the prompt has \d tokens, and max_tokens= allows 1") as caught:
        renderer.tokenize(samples, tokenizer, max_tokens=1)
    assert (caught.value.code, caught.value.row) == ("limit_exceeded", 1)
    table = renderer.tokenize(samples, tokenizer, max_tokens=1, errors="column", index="row")
    assert [error is None for error in table["error"].to_pylist()] == [
        True,
        True,
        False,
        False,
        True,
        True,
        False,
        False,
    ]
    assert table.filter(table["error"].is_valid())["input_ids"].null_count == 4
    assert renderer.tokenize(samples, tokenizer, max_tokens=1, errors="skip", index="row")["row"].to_pylist() == [
        0,
        0,
        2,
        2,
    ]
    assert renderer.last_run is None or renderer.last_run.errors.rows in (0, 2)


@UNWARNED
def test_rows_that_cannot_be_rendered_have_no_tokens() -> None:
    template = pp.JinjaTemplate("{{ 1 // n }}")
    samples = pa.table({"n": [1, 0, 2]})
    with pytest.raises(pp.RenderError, match="row 1"):
        template.tokenize(samples, small_tokenizer())
    table = template.tokenize(samples, small_tokenizer(), errors="column")
    assert table["n_tokens"].to_pylist() == [1, None, 1]
    assert table["error"][1].as_py().startswith("template_raised: ")
    assert template.last_run is not None
    assert template.last_run.errors.rows == 1


def test_columns_have_other_names() -> None:
    table = pp.Renderer("{q}", names={"prompt": "text"}).tokenize(
        pa.table({"q": ["1"]}), small_tokenizer(), names={"input_ids": "prompt_token_ids", "n_tokens": "n"}
    )
    assert table.column_names == ["prompt_token_ids", "n"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"mask": "user"}, ValueError, "mask: 'user' is not one of 'generation'"),
        ({"truncation": "top"}, ValueError, "truncation: 'top' is not one of"),
        ({"truncation": "left"}, ValueError, 'truncation="left" needs max_tokens='),
        ({"max_tokens": -1}, ValueError, "max_tokens: expected a number from 0 on, found -1"),
        ({"max_tokens": True}, TypeError, "max_tokens: expected a number or None, found True"),
        ({"offsets": 1}, TypeError, "offsets: expected True or False, found 1"),
        ({"add_special_tokens": "no"}, TypeError, "add_special_tokens: expected"),
        ({"labels": True}, ValueError, "labels=True needs mask="),
        ({"reasoning": True}, ValueError, "reasoning=True needs a mask of what assistants say"),
        ({"last_turn": True, "mask": "generation"}, ValueError, "last_turn=True needs a mask"),
        ({"names": {"input_idz": "x"}}, ValueError, "did you mean 'input_ids'"),
        ({"names": {"offsets": "x"}}, ValueError, "no column 'offsets'"),
        ({"names": {"input_ids": ""}}, ValueError, "'' is no name for a column"),
        ({"names": {"input_ids": "n_tokens"}}, pp.RenderError, "n_tokens"),
        ({"names": {"input_ids": "q"}, "keep": ["q"]}, pp.RenderError, "q"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        pp.Renderer("{q}").tokenize(pa.table({"q": ["1"]}), small_tokenizer(), **arguments)


def test_what_streams_take_is_checked() -> None:
    samples, renderer = pa.table({"q": ["1"]}), pp.Renderer("{q}")
    with pytest.raises(TypeError, match="no argument 'max_token'; did you mean 'max_tokens'"):
        renderer.stream(samples, tokenize={"tokenizer": small_tokenizer(), "max_token": 1})
    with pytest.raises(TypeError, match='"tokenizer" is missing'):
        renderer.stream(samples, tokenize={"max_tokens": 1})
    with pytest.raises(TypeError, match="hashes: are of prompts"):
        renderer.stream(samples, tokenize=small_tokenizer(), hashes=True)
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        renderer.tokenize(samples, "no/such/folder")


@pytest.mark.parametrize("output", ["messages", "messages_json", "prompt_list", "openai"])
def test_messages_are_no_texts(output: Any) -> None:
    renderer = pp.Renderer(DIALOGUE, meta_template=META, output=output)
    with pytest.raises(pp.TemplateError, match="tokens are those of texts"):
        renderer.tokenize(pa.table({"q": ["1"], "a": ["2"]}), small_tokenizer())
