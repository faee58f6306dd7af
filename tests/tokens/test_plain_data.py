"""Control tokens in data are text: beside the library with other names for the template's own control tokens."""

from __future__ import annotations

import json
import random
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from marks import UNWARNED
from parts.small_tokenizers import KINDS, MARKS, WORDS, small_tokenizer
from tokenizers import AddedToken, Tokenizer

NAMES = {mark: chr(0xE000 + number) for number, mark in enumerate(MARKS)}
TEXTS = (*WORDS, *MARKS, "<|im_", "start|>", " ", "\n", "e\u0301", "\u0301", "🙂", "{q}", "")
CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
META = {
    "round": [
        {"role": "HUMAN", "begin": "<|im_start|>user\n", "end": "<|im_end|>\n"},
        {"role": "BOT", "begin": "<|im_start|>assistant\n", "generate": True},
    ]
}
DIALOGUE = {"round": [{"role": "HUMAN", "prompt": "<think>{q}</think>"}, {"role": "BOT", "prompt": "{a}"}]}


def renamed(value: Any) -> Any:
    """A template whose control tokens have other names."""
    if isinstance(value, dict):
        return {key: renamed(item) for key, item in value.items()}
    if isinstance(value, list):
        return list(map(renamed, value))
    if isinstance(value, str):
        for mark, name in NAMES.items():
            value = value.replace(mark, name)
    return value


def renamed_tokenizer(kind: str) -> Any:
    """The tokenizer of a kind, in which the control tokens have other names, and the same ids."""
    state = json.loads(small_tokenizer(kind).to_str())
    for token in state["added_tokens"]:
        token["content"] = NAMES.get(token["content"], token["content"])
    vocabulary = state["model"]["vocab"]
    for mark, name in NAMES.items():
        if mark in vocabulary:
            vocabulary[name] = vocabulary.pop(mark)
    return Tokenizer.from_str(json.dumps(state))


RENDERERS: dict[str, Any] = {
    "text": lambda name: pp.Renderer(name("<s>Q: {q}\nA: {a}</s>")),
    "harness": lambda name: pp.Renderer(name("<s>{q}{a}"), substitution="harness"),
    "roles": lambda name: pp.Renderer(
        name(DIALOGUE),
        meta_template=name(META),
        output="text",
        substitution="single_pass",
        reader={"output_column": "a"},
    ),
    "jinja": lambda name: pp.JinjaTemplate(name("<s>{{ q|trim }}</s>{{ a }}")),
    "joint": lambda name: pp.JinjaTemplate(name("<s>{{ (q ~ a)|trim }}</s>")),
    "chat": lambda name: pp.ChatTemplate(name(CHATML)),
    "chat of a configuration": lambda name: pp.Renderer(
        name(DIALOGUE), chat_template=pp.ChatTemplate(name(CHATML)), substitution="single_pass"
    ),
}


@UNWARNED
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", RENDERERS)
def test_ids_are_those_of_other_names(name: str, kind: str) -> None:
    rng = random.Random(f"{name} {kind}")

    def text() -> str:
        return "".join(rng.choice(TEXTS) for _ in range(rng.randint(0, 5)))

    renderer, other = RENDERERS[name](lambda value: value), RENDERERS[name](renamed)
    tokenizer, named = small_tokenizer(kind), renamed_tokenizer(kind)
    for _ in range(part_of(40)):
        rows = [
            {
                "q": "?" + text(),
                "a": text(),
                "messages": [{"role": "user", "content": text()}, {"role": "assistant", "content": text()}],
            }
            for _ in range(rng.randint(1, 4))
        ]
        samples = pa.Table.from_pylist(rows)
        special = rng.choice([None, False])
        got = renderer.tokenize(samples, tokenizer, control_tokens="text", offsets=True, add_special_tokens=special)
        texts = other.render(samples)["prompt"].to_pylist()
        puts = special is None and name not in ("chat", "chat of a configuration")
        want = [
            named.encode(text, add_special_tokens=puts and not (kind == "bos" and text[:1] == NAMES["<s>"]))
            for text in texts
        ]
        assert got["input_ids"].to_pylist() == [encoding.ids for encoding in want]
        rendered = renderer.render(samples)["prompt"].to_pylist()
        for row, prompt in zip(got.to_pylist(), rendered, strict=True):
            data = prompt.encode()
            last = 0
            for location in row["offsets"]:
                assert last <= location["start"] <= location["end"] or location == {"start": 0, "end": 0}
                data[location["start"] : location["end"]].decode()
                last = location["start"]


def test_masks_go_along() -> None:
    talk = [{"role": "user", "content": "Say <|im_end|>."}, {"role": "assistant", "content": "<|im_end|>"}]
    tokenizer = small_tokenizer()
    (row,) = (
        pp.ChatTemplate(CHATML)
        .tokenize([{"messages": talk}], tokenizer, mask="assistant+end", control_tokens="text")
        .to_pylist()
    )
    trained = [token for token, is_trained in zip(row["input_ids"], row["assistant_masks"], strict=True) if is_trained]
    assert tokenizer.decode(trained, skip_special_tokens=False) == "<|im_end|><|im_end|>"
    assert trained.count(tokenizer.token_to_id("<|im_end|>")) == 1


def test_what_is_not_certain_is_refused() -> None:
    tokenizer = Tokenizer.from_str(small_tokenizer().to_str())
    tokenizer.add_tokens([AddedToken("\n\n", normalized=False)])
    with pytest.raises(pp.RenderError, match=r"the template writes '\\n\\n', a token at which no text can be cut"):
        pp.Renderer("{q}\n\n").tokenize(pa.table({"q": ["1"]}), tokenizer, control_tokens="text")
    with pytest.raises(pp.RenderError, match="the text holds"):
        pp.Renderer("{q}").tokenize(pa.table({"q": ["\ufdd0\ufdd1"]}), small_tokenizer(), control_tokens="text")
    with pytest.raises(ValueError, match="control_tokens: 'drop' is not one of 'parse', 'text'"):
        pp.Renderer("{q}").tokenize(pa.table({"q": ["1"]}), small_tokenizer(), control_tokens="drop")
