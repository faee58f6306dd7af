"""Rows for each turn of an assistant next to transformers' `apply_chat_template`, over the recorded templates.

The templates are no part of the project: see tests/rendering/test_recorded_cases.py.
"""

from __future__ import annotations

import gzip
import json
import os
import random
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import promptpress as pp
import pytest
from marks import UNWARNED
from parts.small_tokenizers import small_tokenizer

transformers = pytest.importorskip("transformers")

# Some templates leave out what is said.
pytestmark = UNWARNED

SHARED = Path(os.environ.get("PROMPTPRESS_SHARED") or Path(__file__).resolve().parents[4] / "shared")
TEMPLATES = SHARED / "chat_templates" / "templates.jsonl.gz"
ONE_IN = 40
NOW = datetime(2026, 3, 5)
MOST_REFUSED = 0.1
"""So many of the rows may be refused, because it isn't known what an assistant says in them."""

Talk = list[dict[str, Any]]
Part = dict[str, Any]
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "It.", "parameters": PARAMETERS}}]


def talk(rng: random.Random, turns: int, kind: str) -> Talk:
    """A conversation in which each text is another one, so that it is known where each stands."""
    numbers = iter(range(10**6))

    def word(what: str) -> str:
        return f"{what}x{next(numbers):04}é."

    messages: Talk = [{"role": "system", "content": word("sys")}] if rng.random() < 0.3 else []
    while turns > 0:
        messages.append({"role": "user", "content": word("ask")})
        answer: Part = {"role": "assistant", "content": word("say")}
        if kind == "reasoning" and rng.random() < 0.7:
            answer["reasoning_content"] = word("why")
        turns -= 1
        if kind == "tools" and turns and rng.random() < 0.5:
            call = {"name": "weather", "arguments": {"city": word("arg")}}
            calls = [{"id": "call00001", "type": "function", "function": call}]
            messages.append({"role": "assistant", "content": "", "tool_calls": calls})
            messages.append({"role": "tool", "content": word("out"), "name": "weather", "tool_call_id": "call00001"})
            turns -= 1
        messages.append(answer)
    return messages


def answer_texts(message: Part) -> list[str]:
    """The texts of an answer, in the order in which templates write them."""
    calls = message.get("tool_calls")
    return [
        *([message["reasoning_content"]] if "reasoning_content" in message else []),
        *([calls[0]["function"]["arguments"]["city"]] if calls else [message["content"]]),
    ]


class Model:
    """The rows of a conversation, written with nothing but transformers."""

    def __init__(self, source: str, tokens: dict[str, str], tools: Any) -> None:
        self.tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=small_tokenizer("bytes"))
        self.arguments = {"chat_template": source, "tools": tools, **tokens}

    def text(self, messages: Talk, *, asks: bool) -> str:
        return str(
            self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=asks, **self.arguments)
        )

    def ids(self, messages: Talk) -> list[int]:
        return list(self.tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False, **self.arguments))

    def row(self, messages: Talk, number: int) -> tuple[str, str]:
        """The text of a turn's row, and what has to stand between what asks and the first text of the answer."""
        text = self.text(messages[: number + 1], asks=False)
        prompt = self.text(messages[:number], asks=True) if number else ""
        if text.startswith(prompt):
            return text, ""
        first = min((text.rindex(part) for part in answer_texts(messages[number]) if part in text), default=-1)
        return prompt + text[first:], prompt


def check(lines: list[Any], talks_of: Any) -> Counter[str]:
    counts: Counter[str] = Counter()
    tokenizer = small_tokenizer("bytes")
    for line in lines:
        for kind in ("plain", "reasoning", "tools"):
            tools = TOOLS if kind == "tools" else None
            model = Model(line["template"], line["special_tokens"], tools)
            chat = pp.ChatTemplate(line["template"], now=NOW, tools=tools, **line["special_tokens"])
            talks = talks_of(line["id"], kind)
            rows = [{"messages": messages} for messages in talks]
            got = chat.tokenize(
                rows, tokenizer, mask="assistant", reasoning=True, turns="each", errors="column", offsets=True
            )
            texts = chat.render(rows, turns="each", errors="column")
            check_talks(model, chat, talks, got.to_pylist(), texts.to_pylist(), counts, f"{line['id']} {kind}")
    return counts


def check_talks(  # noqa: PLR0912, PLR0917 - a branch for each kind of row, and what is compared comes first
    model: Model,
    chat: pp.ChatTemplate,
    talks: list[Talk],
    got: list[Part],
    texts: list[Part],
    counts: Counter[str],
    name: str,
) -> None:
    rendered = {(row["sample"], row["turn"]): row for row in texts}
    for sample, messages in enumerate(talks):
        spoken = [number for number, message in enumerate(messages) if message["role"] == "assistant"]
        of_sample = {row["turn"]: row for row in got if row["sample"] == sample}
        pending: list[int] = []
        before: str | None = None
        expected: list[tuple[int, str, list[int]]] = []
        for turn, number in enumerate(spoken):
            try:
                text, prompt = model.row(messages, number)
                if prompt:
                    text = checked(chat, messages[: number + 1], text, prompt, name)
                    counts["other header"] += 1
            except AssertionError:
                raise
            except Exception as error:
                why = f"{name}: {error}"
                counts["refused" if isinstance(error, RefusedError) else "raised"] += 1
            else:
                why = ""
            if why:
                assert rendered[sample, turn]["error"], why
                continue
            if before is not None and text.startswith(before):
                expected.pop()
            else:
                pending = []
            pending = [*pending, turn]
            before = text
            expected.append((turn, text, pending))
        for turn, text, turns in expected:
            counts["rows"] += 1
            row = rendered.get((sample, turn))
            assert row is not None, (name, sample, turn)
            assert row["prompt"] == text, name
            token_row = of_sample[turn]
            # A turn without a mask has a row of its own.
            refused = {turn for turn in turns if turn in of_sample and of_sample[turn]["error"]}
            counts["refused mask"] += len(refused)
            for other in refused:
                assert of_sample[other]["error"].startswith("unknown_origin"), (name, of_sample[other]["error"])
            if turn in refused:
                continue
            data = row["prompt"].encode()
            assert token_row["input_ids"] == model.tokenizer.encode(row["prompt"], add_special_tokens=False), name
            if model.row(messages, spoken[turn])[1] == "":
                assert token_row["input_ids"] == model.ids(messages[: spoken[turn] + 1]), name
            check_mask(
                data, token_row, [messages[spoken[n]] for n in turns if n not in refused], messages, counts, name
            )


class RefusedError(Exception):
    """It isn't known where an answer begins."""


def checked(chat: pp.ChatTemplate, messages: Talk, text: str, prompt: str, name: str) -> str:
    """Return the row of the last message as it is, which is what asks for it and the answer with its tags."""
    row = chat.render([{"messages": messages}], turns="each", errors="column").to_pylist()[-1]
    if row["error"]:
        assert row["error"].startswith("unknown_origin"), (name, row["error"])
        raise RefusedError
    rest = text[len(prompt) :]
    assert row["prompt"].startswith(prompt), name
    assert row["prompt"].endswith(rest), name
    assert "é." not in row["prompt"][len(prompt) : len(row["prompt"]) - len(rest)], name
    return str(row["prompt"])


def check_mask(  # noqa: PLR0917 - what is compared comes first
    data: bytes, row: Part, answers: list[Part], messages: Talk, counts: Counter[str], name: str
) -> None:
    stretches: list[list[int]] = []
    for offset, is_trained in zip(row["offsets"], row["assistant_masks"], strict=True):
        if is_trained and stretches and offset["start"] <= stretches[-1][1]:
            stretches[-1][1] = offset["end"]
        elif is_trained:
            stretches.append([offset["start"], offset["end"]])
    trained = "\n".join(data[start:end].decode(errors="replace") for start, end in stretches)
    wanted = [part for answer in answers for part in answer_texts(answer)]
    written = [part for part in wanted if part in data.decode()]
    for part in written:
        assert part in trained, (name, part, trained)
    others = [part for message in messages if message not in answers for part in of_any(message)]
    for part in others:
        assert part not in trained, (name, part, trained)
    counts["masks"] += 1


def of_any(message: Part) -> list[str]:
    if message["role"] == "assistant":
        return answer_texts(message)
    return [message["content"]]


def lines_of(one_in: int) -> list[Any]:
    if not TEMPLATES.exists():
        pytest.skip("recorded templates are not at hand")
    with gzip.open(TEMPLATES, "rt", encoding="utf-8", newline="\n") as file:
        return [json.loads(line) for line in file][::one_in]


def few(name: str, kind: str) -> list[Talk]:
    rng = random.Random(f"{name} {kind}")
    return [talk(rng, turns, kind) for turns in (1, 2, 4)]


def many(name: str, kind: str) -> list[Talk]:
    rng = random.Random(f"{name} {kind}")
    return [talk(rng, turns, kind) for turns in (1, 2, 3, 5, 9, 30)]


def check_counts(counts: Counter[str]) -> None:
    assert counts["masks"]
    assert counts["refused"] + counts["refused mask"] <= MOST_REFUSED * counts["rows"], counts


def test_rows_and_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_clock(monkeypatch)
    check_counts(check(lines_of(ONE_IN), few))


@pytest.mark.full
@pytest.mark.parametrize("part", range(8))
def test_rows_and_masks_of_all_templates(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    stop_clock(monkeypatch)
    counts = check(lines_of(1)[part::8], many)
    print(dict(counts))
    check_counts(counts)


def stop_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    utils = pytest.importorskip("transformers.utils.chat_template_utils")
    monkeypatch.setattr(utils, "datetime", type("Clock", (datetime,), {"now": classmethod(lambda *_: NOW)}))
