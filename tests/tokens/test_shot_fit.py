"""Examples that are left out until a prompt fits, beside the rule written plainly, one sample after the other."""

from __future__ import annotations

import pickle
import random
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from marks import UNWARNED
from parts.small_tokenizers import KINDS, WORDS, small_tokenizer
from promptpress_workbench.prompts.prompt_source import TableRows
from promptpress_workbench.prompts.renderer_source import source_of

pytestmark = UNWARNED

TRAIN = pa.table({"q": [*WORDS, "2+2?", ""], "a": ["A", "B", "A", "B", "A", "B", "A", "B", "A"]})
META = {
    "round": [
        {"role": "HUMAN", "begin": "<|im_start|>user\n", "end": "<|im_end|>\n"},
        {"role": "BOT", "begin": "<|im_start|>assistant\n", "end": "<|im_end|>\n", "generate": True},
    ]
}
ROUND = {"round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}]}
READER = {"input_columns": ["q"], "output_column": "a"}
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def text(template: str) -> dict[str, Any]:
    token = {"ice_token": "</E>"} if "</E>" in template else {}
    return {"type": "PromptTemplate", "template": template, **token}


TEMPLATES: dict[str, dict[str, Any]] = {
    "text": {"prompt_template": text("Be brief.\n</E>Q: {q}\nA: {a}"), "ice_template": text("Q: {q}\nA: {a}")},
    "dialogue": {
        "prompt_template": {"type": "PromptTemplate", "template": {"begin": "</E>", **ROUND}, "ice_token": "</E>"},
        "ice_template": {"type": "PromptTemplate", "template": ROUND},
        "meta_template": META,
        "output": "text",
    },
    "chat": {
        "prompt_template": {"type": "PromptTemplate", "template": {"begin": "</E>", **ROUND}, "ice_token": "</E>"},
        "ice_template": {"type": "PromptTemplate", "template": ROUND},
        "chat_template": pp.ChatTemplate(CHATML),
    },
    "labels": {
        "prompt_template": {
            "type": "PromptTemplate",
            "template": {"A": "</E>{q} is A", "B": "</E>{q} is certainly and by all means B", "C": "</E>{q}: C"},
            "ice_token": "</E>",
        },
        "ice_template": {"type": "PromptTemplate", "template": {"A": "{q} is A", "B": "{q} is B"}},
        "mode": "ppl",
    },
}


def samples(rng: random.Random) -> pa.Table:
    rows = rng.randint(1, 7)
    return pa.table(
        {
            "q": [" ".join(rng.choices(WORDS, k=rng.choice([0, 1, 2, 9]))) or "?" for _ in range(rows)],
            "a": [rng.choice("AB") for _ in range(rows)],
            "shots": pa.array(
                [rng.choices(range(len(TRAIN)), k=rng.randint(0, 4)) for _ in range(rows)], pa.list_(pa.int32())
            ),
        }
    )


def retriever(rng: random.Random) -> dict[str, Any]:
    shots = rng.randint(0, 8)
    made: dict[str, Any] = rng.choice(
        [
            {"type": "FixKRetriever", "fix_id_list": rng.choices(range(len(TRAIN)), k=shots)},
            {"type": "RandomRetriever", "ice_num": shots, "seed": rng.randint(0, 9)},
            {"type": "SlidingWindowRetriever", "k": shots},
            {"type": "IndexColumn", "column": "shots"},
            {"type": "ZeroRetriever"},
        ]
    )
    has_separator = made["type"] != "ZeroRetriever" and rng.random() < 0.3
    return {**made, "ice_separator": "\n\n"} if has_separator else made


def choices(renderer: pp.Renderer, table: pa.Table) -> list[list[int]]:
    try:
        return list(renderer.retrieve(len(table)).to_pylist())
    except pp.TemplateError:  # the samples' own column says it
        return list(table["shots"].to_pylist())


class Plain:
    """The prompts of one sample with any examples, and their numbers of tokens."""

    def __init__(self, config: dict[str, Any], tokenizer: Any, *, is_harness: bool) -> None:
        retriever = config["retriever"]
        kept = {name: value for name, value in retriever.items() if name.startswith("ice_s")}
        index = retriever if retriever["type"] == "IndexColumn" else {"type": "IndexColumn", "column": "chosen", **kept}
        self.column = index["column"]
        is_zero = retriever["type"] == "ZeroRetriever"
        self.renderer = pp.Renderer(**{**config, "retriever": retriever if is_zero else index})
        messages = {name: value for name, value in config.items() if name != "chat_template"}
        self.messages = None
        if "chat_template" in config and is_harness:
            meta = "opencompass:HuggingFacewithChatTemplate"
            retriever = retriever if is_zero else index
            self.messages = pp.Renderer(**messages | {"retriever": retriever, "meta_template": meta})
        self.tokenizer = tokenizer
        self.special = "chat_template" not in config

    def prompts(self, row: pa.Table, shots: list[int]) -> list[tuple[str, int]]:
        chosen = pa.array([shots], pa.list_(pa.int64()))
        names = row.column_names
        if self.column in names:
            row = row.set_column(names.index(self.column), self.column, chosen)
        else:
            row = row.append_column(self.column, chosen)
        prompts = self.renderer.render(row)["prompt"].to_pylist()
        counted = prompts
        if self.messages is not None:
            (messages,) = self.messages.render(row)["prompt"].to_pylist()
            whole = "".join(message["prompt"] for message in messages)
            counted = [f"<|im_start|>user\n{whole}<|im_end|>\n<|im_start|>assistant\n"]
        return [
            (prompt, len(self.tokenizer.encode(text, add_special_tokens=self.special).ids))
            for prompt, text in zip(prompts, counted, strict=True)
        ]


def fitted(
    plain: Plain, row: pa.Table, shots: list[int], limit: int, *, fit: str, labels: str
) -> list[tuple[str, int, bool]]:
    """The rule: of each label, its prompt, its number of examples and whether it is too long still."""

    def shorter(shots: list[int]) -> list[int]:
        return shots[1:] if fit == "first" else shots[:-1]

    count = len(plain.prompts(row, shots))
    if labels == "jointly":
        while shots and any(tokens > limit for _, tokens in plain.prompts(row, shots)):
            shots = shorter(shots)
        return [(prompt, len(shots), tokens > limit) for prompt, tokens in plain.prompts(row, shots)]
    out, whole = [], shots
    for label in range(count):
        shots = shots if fit == "harness" else whole
        prompt, tokens = plain.prompts(row, shots)[label]
        while shots and tokens > limit:
            shots = shorter(shots)
            prompt, tokens = plain.prompts(row, shots)[label]
        out.append((prompt, len(shots), tokens > limit))
    return out


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TEMPLATES)
def test_prompts_are_those_of_the_rule(name: str, kind: str) -> None:
    rng, tokenizer = random.Random(f"{name} {kind}"), small_tokenizer(kind)
    for _ in range(part_of(12)):
        table, fit = samples(rng), rng.choice(["harness", "last", "first"])
        config = {**TEMPLATES[name], "retriever": retriever(rng), "examples": TRAIN, "reader": READER}
        labels = "each" if fit == "harness" else rng.choice(["each", "jointly"])
        reserve = 0 if fit == "harness" else rng.choice([0, 7])
        most = rng.randint(10, 250)
        budget = {"fit": fit, "fit_labels": labels, "reserve": reserve, "tokenizer": tokenizer, "max_seq_len": most}
        renderer = pp.Renderer(**config, **budget)
        plain = Plain(config, tokenizer, is_harness=fit == "harness")
        expected = [
            of_request
            for row, shots in enumerate(choices(renderer, table))
            for of_request in fitted(plain, table.slice(row, 1), shots, most - reserve, fit=fit, labels=labels)
        ]
        rendered = renderer.render(table, index="row", keep=["a"])
        rendered_rows = list(zip(*(rendered[c].to_pylist() for c in ("prompt", "n_shots", "truncated")), strict=True))
        assert rendered_rows == expected
        assert rendered.drop_columns(["prompt", "n_shots", "truncated"]) == pp.Renderer(**config).render(
            table, index="row", keep=["a"]
        ).drop_columns(["prompt"])
        assert rendered.schema == renderer.output_schema(table.schema, index="row", keep=["a"])
        streamed = renderer.stream(table.to_batches(max_chunksize=2), index="row", keep=["a"]).read_all()
        assert streamed.combine_chunks() == rendered.combine_chunks()
        again = pickle.loads(pickle.dumps(renderer))
        assert again == renderer
        assert again.fingerprint() == renderer.fingerprint()
        assert again.render(table, index="row", keep=["a"]) == rendered


@pytest.mark.parametrize("name", TEMPLATES)
def test_prompts_are_explained_and_shown_as_they_are_rendered(name: str) -> None:
    rng, tokenizer = random.Random(name), small_tokenizer()
    for _ in range(part_of(12)):
        table = samples(rng)
        config = {**TEMPLATES[name], "retriever": retriever(rng), "examples": TRAIN, "reader": READER}
        fit = rng.choice(["harness", "last", "first"])
        renderer = pp.Renderer(**config, fit=fit, tokenizer=tokenizer, max_seq_len=rng.randint(10, 250))
        labels = renderer.labels or [None]
        rows = renderer.render(table, spans="detailed").to_pylist()
        source = source_of(renderer, TableRows(table))
        prompts = [prompt for row in range(len(table)) for prompt in source.prompts(row)]
        assert ["".join(piece.text for piece in prompt.pieces) for prompt in prompts] == [row["prompt"] for row in rows]
        rendered_rows = [prompt for batch in source.requests() for prompt in batch.prompts.to_pylist()]
        assert rendered_rows == [row["prompt"] for row in rows]
        for number, row in enumerate(rows):
            explained = renderer.explain(table, number // len(labels), labels[number % len(labels)]).to_pylist()
            assert [(span["start"], span["end"]) for span in explained] == [
                (span["start"], span["end"]) for span in row["spans"]
            ]
