"""Comparisons of tokens: of two masks, two templates, and a prepared data set with what its conversations give."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from amounts import part_of
from parts.small_tokenizers import small_tokenizer
from promptpress_workbench.cli import main
from promptpress_workbench.diff.token_changes import token_changes
from promptpress_workbench.prompts.token_cells import TokenTexts, cells_of_ids

TURN = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
TEMPLATES = {
    "a": TURN,
    "no_newline": TURN.replace("<|im_end|>\n", "<|im_end|>"),
    "bos": f"<s>{TURN}",
    "think": TURN.replace(
        "{{ m.content", "{% if m.role == 'assistant' %}<think>\n\n</think>\n\n{% endif %}{{ m.content"
    ),
    "header": TURN.replace("{{ m.role }}", "{{ 'human' if m.role == 'user' else m.role }}"),
    "prompt": f"{TURN}<|im_start|>assistant\n",
    "system": f"<|im_start|>system\nBe kind to all.<|im_end|>\n{TURN}",
    "long_system": f"<|im_start|>system\n{'Be kind to all. ' * 9}Yes.<|im_end|>\n{TURN}",
}
TALKS = [[{"role": "user", "content": "1+1?"}, {"role": "assistant", "content": "2."}] * turns for turns in (1, 2, 3)]
OPTIONS = ("--data", "chats.jsonl", "--tokenizer", "tokenizer.json", "--mask", "assistant+end", "--json")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, template in TEMPLATES.items():
        Path(f"{name}.jinja").write_text(template)
    Path("chats.jsonl").write_text("".join(json.dumps({"messages": talk}) + "\n" for talk in TALKS))
    small_tokenizer().save("tokenizer.json")


def compared(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[dict[str, Any], list[tuple[str, int]]]:
    capsys.readouterr()
    code = main(["diff", *words])
    result = json.loads(capsys.readouterr().out)
    assert code == (1 if result["different"] or result["only_a"] else 0)
    causes = [f"{group['cause']}: " * (group["cause"] is not None) + group["description"] for group in result["groups"]]
    return result, [(cause, group["rows"]) for cause, group in zip(causes, result["groups"], strict=True)]


@pytest.mark.parametrize(
    ("template", "causes"),
    [
        ("a", []),
        (
            "no_newline",
            [
                ("blanks after a turn: only in A: ↵, at the end, after <|im_end|>", 3),
                ("blanks after a turn: only in A: ↵, after <|im_end|>", 3),
            ],
        ),
        ("bos", [("beginning of the text: only in B: <s>, at the start", 3)]),
        ("think", [("think block: only in B: <think>↵↵</think>↵↵, after <|im_start|>assistant↵", 3)]),
        ("header", [("header: user in A, human in B, after <|im_start|>", 3)]),
        ("prompt", [("header: only in B: <|im_start|>assistant, at the end, after <|im_end|>↵", 3)]),
        ("system", [("messages: only in B: <|im_start|>system↵…<|im_end|>↵, at the start", 3)]),
        ("long_system", [("messages: only in B: <|im_start|>system↵…<|im_end|>↵, at the start", 3)]),
    ],
)
def test_two_templates(template: str, causes: list[tuple[str, int]], capsys: pytest.CaptureFixture[str]) -> None:
    result, groups = compared(capsys, "--chat-template", "a.jinja", "--chat-template-b", f"{template}.jinja", *OPTIONS)
    assert sorted(groups) == sorted(causes)
    assert (result["compared"], result["other_ids"], result["other_masks"]) == (3, 3 * bool(causes), 0)


def test_two_masks(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--chat-template", "a.jinja", *OPTIONS)
    result, groups = compared(capsys, *words, "--mask-b", "assistant+turn")
    assert groups == [("blanks after a turn: trained only in B: ↵, after <|im_end|>", 3)]
    assert (result["equal"], result["other_ids"], result["other_masks"]) == (0, 0, 3)
    result, groups = compared(capsys, *words, "--last-turn-b")
    assert groups == [("text and its end: trained only in A: …<|im_end|>, after <|im_start|>assistant↵", 2)]
    assert result["equal"] == 1
    assert main(["diff", *words[:-3], "--mask-b", "assistant"]) == 2
    assert "--mask-b: the other side has no mask" in capsys.readouterr().err


def prepare(**changes: Any) -> None:
    words = ("--chat-template", "a.jinja", *OPTIONS[:-1])
    assert main(["tokenize", *words, "--token-labels", "--out", "set.parquet", "--quiet"]) == 0
    rows = pq.read_table("set.parquet").select(["input_ids", "labels"]).to_pylist()
    for row in rows:
        for name, change in changes.items():
            row[name] = change(row[name])
    pq.write_table(pa.Table.from_pylist(rows), "set.parquet")


PADS = {"input_ids": 7, "labels": -100, "attention_mask": 0}


@pytest.mark.parametrize("pads_after", [True, False])
def test_padding_is_no_difference(pads_after: bool, capsys: pytest.CaptureFixture[str]) -> None:
    prepare()
    rows = [{**row, "attention_mask": [1] * len(row["labels"])} for row in pq.read_table("set.parquet").to_pylist()]
    for row, count in zip(rows, (0, 3, 5), strict=True):
        for name, pad in PADS.items():
            row[name] = row[name] + [pad] * count if pads_after else [pad] * count + row[name]
    pq.write_table(pa.Table.from_pylist(rows), "set.parquet")
    assert compared(capsys, "set.parquet", "--chat-template", "a.jinja", *OPTIONS)[1] == []
    words = ("set.parquet", "--chat-template", "no_newline.jinja", *OPTIONS)
    assert [rows for _, rows in compared(capsys, *words)[1]] == [3, 3]


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({}, []),
        (
            {"labels": lambda labels: [-100] * len(labels)},
            ["text and its end: trained only in B: …<|im_end|>, after <|im_start|>assistant↵"],
        ),
        (
            {"labels": lambda labels: [label if label == -100 else 7 for label in labels]},
            ["label: another label in A: …<|im_end|>, after <|im_start|>assistant↵"],
        ),
        (
            dict.fromkeys(("input_ids", "labels"), lambda values: values[:12]),
            ["truncation: A ends earlier: its text is cut off"],
        ),
        (
            dict.fromkeys(("input_ids", "labels"), lambda values: values[4:]),
            ["truncation: A begins later: its beginning is cut off"],
        ),
    ],
)
def test_a_prepared_data_set(changes: dict[str, Any], causes: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    prepare(**changes)
    _, groups = compared(capsys, "set.parquet", "--chat-template", "a.jinja", *OPTIONS)
    assert [cause for cause, _ in groups] == causes
    words = ("set.parquet", "--chat-template", "a.jinja", *OPTIONS[:-1])
    assert main(["diff", *words]) == bool(causes)
    out = capsys.readouterr().out
    assert all(f"{text} ({name})" in out for name, _, text in (cause.partition(": ") for cause in causes))
    assert "first row 0" in out or not causes


def test_masks_that_are_not_compared(capsys: pytest.CaptureFixture[str]) -> None:
    prepare(labels=lambda labels: [-100] * len(labels))
    words = ["set.parquet", "--chat-template", "a.jinja", *OPTIONS[:4]]
    assert main(["diff", *words]) == 0
    assert "none differs in ids; masks aren't compared (--mask)" in capsys.readouterr().out


def test_rows_that_have_no_mask(capsys: pytest.CaptureFixture[str]) -> None:
    """They are errors, which a prepared row without ids agrees with."""
    Path("chats.jsonl").write_text(json.dumps({"messages": TALKS[0]}) + '\n{"messages": null}\n')
    Path("upper.jinja").write_text(TURN.replace("m.content", "m.content | upper"))
    words = ("--chat-template", "a.jinja", *OPTIONS[:-1])
    assert main(["tokenize", *words, "--errors", "column", "--out", "set.parquet", "--quiet"]) == 0
    result, _ = compared(capsys, "set.parquet", *words, "--json")
    assert (result["equal"], result["errors_equal"]) == (2, 1)
    Path("chats.jsonl").write_text(json.dumps({"messages": [{"role": "assistant", "content": "two"}]}))
    result, groups = compared(capsys, *words, "--json", "--chat-template-b", "upper.jinja")
    assert (result["errors_b"], result["other_ids"], result["other_masks"]) == (1, 0, 0)
    assert groups == [("B can't be rendered", 1)]


def test_rows_that_one_side_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    prepare()
    pq.write_table(pq.read_table("set.parquet").slice(0, 2), "less.parquet")
    result, _ = compared(capsys, "set.parquet", "less.parquet", "--tokenizer", "tokenizer.json", "--json")
    assert (result["compared"], result["different"], result["only_a"]) == (2, 0, 1)


def test_changes_lead_from_one_side_to_the_other() -> None:
    """Outside of the changes both sides have the same ids and masks, and equal sequences have no changes."""
    draw, texts = random.Random(5), TokenTexts(small_tokenizer())
    for _ in range(part_of(400)):
        a = [draw.randint(0, 9) for _ in range(draw.randint(0, 30))]
        b = [number for number in a if draw.random() > 0.1]
        for _ in range(draw.randint(0, 3)):
            b.insert(draw.randint(0, len(b)), draw.randint(0, 9))
        sides = [cells_of_ids(texts, ids, [draw.random() < 0.5 for _ in ids]) for ids in (a, b)]
        changes = list(token_changes(*sides))
        kept = [list(range(len(ids))) for ids in (a, b)]
        for change in changes:
            if change.change == "ids":
                kept = [
                    [n for n in numbers if not start <= n < stop]
                    for numbers, (start, stop) in zip(kept, (change.a, change.b), strict=True)
                ]
        assert [a[n] for n in kept[0]] == [b[n] for n in kept[1]]
        of_masks = {n for change in changes if change.change == "mask" for n in range(*change.a)}
        pairs = zip(*kept, strict=True)
        assert of_masks == {n for n, m in pairs if sides[0][n].trained != sides[1][m].trained}
        assert not list(token_changes(sides[0], sides[0]))


TAGS = [("<think>", "</think>"), ("[THINK]", "[/THINK]")]
"""Tags that are added tokens of the small tokenizer, and tags that it spells."""


def groups_of(*sides: str, cut: int | None = None) -> set[str]:
    """Return the groups of one pair of texts, of which the first is truncated; answers are trained."""
    texts = TokenTexts(small_tokenizer())
    cells = []
    for text, most in zip(sides, (cut, None), strict=True):
        encoding = texts.tokenizer.encode(text, add_special_tokens=False)
        answers = [match.span(1) for match in re.finditer(r"assistant\n(.*?<\|im_end\|>)", text, re.DOTALL)]
        trained = [any(start <= first < stop for start, stop in answers) for first, _ in encoding.offsets]
        cells.append(cells_of_ids(texts, encoding.ids[:most], trained[:most]))
    return {f"{change.cause}: {change.description}" for change in token_changes(*cells)}


def turn(question: str, answer: str) -> str:
    return f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n{answer}<|im_end|>\n"


CUT = "truncation: A ends earlier: its text is cut off"


def test_every_prefix_is_truncation_and_every_suffix() -> None:
    texts = TokenTexts(small_tokenizer())
    ids = texts.tokenizer.encode(turn("1+1?", "2.") * 3, add_special_tokens=False).ids
    whole = cells_of_ids(texts, ids, [number % 2 == 0 for number in range(len(ids))])
    for count in range(1, len(ids)):
        (change,) = token_changes(whole[:count], whole)
        assert change.cause == "truncation" or count >= len(ids) - 2
        assert (change.a, change.b) == ((count, count), (count, len(ids)))
        (change,) = token_changes(whole[count:], whole)
        at_turn = whole[count].text == "<|im_start|>"
        assert change.cause == "truncation" or at_turn or count < 4 + len("assistant")


@pytest.mark.parametrize("tags", TAGS)
@pytest.mark.parametrize("words", [0, 2, 14, 16, 900])
def test_the_cause_of_a_dropped_think_block_does_not_depend_on_its_length(tags: tuple[str, str], words: int) -> None:
    start, end = tags
    think = f"{start}\n{'look up ' * words}\n{end}\n\n"
    inner = "…" if words else "↵↵"
    group = f"think block: only in A: {start}{inner}{end}↵↵, after <|im_start|>assistant↵"
    sides = (turn("1+1?", f"{think}2.") + turn("2+2?", "4."), turn("1+1?", "2.") + turn("2+2?", "4."))
    assert groups_of(*sides) == {group}
    assert groups_of(*sides[::-1]) == {group.replace("A", "B", 1)}
    count = len(small_tokenizer().encode(sides[0][: sides[0].index(start)], add_special_tokens=False).ids)
    if words:
        after_tag = count + 2 + 7 * (start == "[THINK]")
        cut = f"think block: only in A: {start}…, cut off, after <|im_start|>assistant↵"
        assert groups_of(*sides, cut=after_tag) == {cut, CUT}


@pytest.mark.parametrize("is_dropped_in_a", [True, False])
@pytest.mark.parametrize("most", [100, 300])
def test_few_causes_make_few_groups(is_dropped_in_a: bool, most: int) -> None:
    """Truncated rows, reasoning of earlier turns dropped, and no newline after the end of a turn, in any mixture."""
    draw = random.Random(most)
    words = ["the", "answer", "is", "42", "hello", "because", "price", "of\n", "stock", "1+1"]
    side = "A" if not is_dropped_in_a else "B"
    think = f"think block: only in {side}: <think>…"
    blanks = f"blanks after a turn: only in {side}: ↵,"
    expected = {
        CUT,
        f"{think}</think>↵↵, after <|im_start|>assistant↵",
        f"{think}, cut off, after <|im_start|>assistant↵",
    }
    expected |= {f"{blanks} after <|im_end|>", f"{blanks} at the end, after <|im_end|>"}
    # A text that is cut directly before its end lacks that alone.
    expected |= {
        f"end of a turn: only in B: <|im_end|>{end}, at the end, in the text after </think>↵↵" for end in ("", "↵")
    }
    for _ in range(part_of(60)):
        full = dropped = ""
        for is_last in [False] * draw.randint(0, 3) + [True]:
            question, reason, answer = (" ".join(draw.choices(words, k=draw.randint(1, n))) for n in (6, 90, 8))
            reason = f"{answer} {reason}" if draw.random() < 0.3 else reason
            text = turn(question.strip(), f"<think>\n{reason.strip()}\n</think>\n\n{answer.strip()}")
            full += text
            text = text.replace("<|im_end|>\n", "<|im_end|>")
            dropped += text if is_last else turn(question.strip(), answer.strip()).replace("<|im_end|>\n", "<|im_end|>")
        sides = (dropped, full) if is_dropped_in_a else (full, dropped)
        groups = groups_of(*sides, cut=most)
        assert groups <= expected
        length = len(small_tokenizer().encode(sides[0], add_special_tokens=False).ids)
        assert CUT in groups or length < most + 4


def test_headers_of_groups_are_short() -> None:
    for count in (3, 30):
        groups = groups_of("<|im_start|>system\nBe kind.<|im_end|>\n", "One " + turn("1+1?", "2.") * count)
        assert max(map(len, groups)) < 200


def test_ids_of_another_vocabulary(capsys: pytest.CaptureFixture[str]) -> None:
    prepare(input_ids=lambda ids: [number + 1000 for number in ids])
    _, groups = compared(capsys, "set.parquet", "--chat-template", "a.jinja", *OPTIONS)
    assert groups == [("vocabulary: A holds ids that this vocabulary lacks: another tokenizer?", 3)]
    assert main(["diff", "set.parquet", "--chat-template", "a.jinja", *OPTIONS[:-1]]) == 1
    assert "(no token" not in capsys.readouterr().out
