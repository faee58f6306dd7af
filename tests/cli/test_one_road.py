"""Every source of prompts into every output, with a chat template behind it or without.

A cell works, and what comes out is what a model in plain Python says; or it is refused for one of the reasons that
docs/sources.md lists, which is what the error says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from marks import UNWARNED
from parts.small_tokenizers import small_tokenizer
from promptpress_workbench.cli import main
from promptpress_workbench.export.forms import EXPORTS
from tokenizers import Tokenizer

pytestmark = UNWARNED

PAGE = Path(__file__).parents[2] / "docs" / "sources.md"
CHAT_TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
ROWS = [{"id": n, "question": f"What is {n}+1?", "answer": f"It's {n + 1}."} for n in range(4)]
SHOTS = [{"question": f"What is {n}+{n}?", "answer": f"{2 * n}"} for n in range(2)]
TASK = {"task": "t", "test_split": "test", "output_type": "generate_until", "doc_to_text": "Q: {{question}}\nA:"}
TASK["doc_to_target"] = "{{answer}}"
BENCHMARK = {
    "meta": {"category": "llm", "prompt_template": "Solve: {question}", "system_prompt": "Be brief."},
    "sample_example": {"data": {"input": [{"content": "Be brief."}, {"content": "Solve: 1+1?"}]}},
}
HARNESS = """
turns = [dict(role="HUMAN", prompt="{question}"), dict(role="BOT", prompt="{answer}")]
datasets = [dict(
    abbr="sums",
    reader_cfg=dict(input_columns=["question"], output_column="answer"),
    infer_cfg=dict(
        prompt_template=dict(type="PromptTemplate", template=dict(round=turns)),
        retriever=dict(type="ZeroRetriever"),
        inferencer=dict(type="GenInferencer"),
    ),
)]
"""
API = """
type: OpenAI
meta_template: {round: [{role: HUMAN, api_role: HUMAN}, {role: BOT, api_role: BOT, generate: true}]}
"""

Prompt = str | list[tuple[str, str]]
"""A text, or messages with their roles."""


class Source(NamedTuple):
    """A source on the command line, with another one like it for `diff`, and the prompt of each row."""

    words: tuple[str, ...]
    other: tuple[str, ...]
    prompt: Callable[[dict[str, Any]], Prompt]
    prompts_are_there: bool = False

    @property
    def config(self) -> tuple[str, ...]:
        return () if self.words[0].startswith("--") else self.words[:1]


DATA = ("--data", "rows.jsonl")
SHOT_MESSAGES = [part for shot in SHOTS for part in (("user", shot["question"]), ("assistant", shot["answer"]))]
SOURCES = {
    "text template": Source(
        ("--template", "Q: {question}\nA:", *DATA), ("--template-b", "{question}"), lambda r: f"Q: {r['question']}\nA:"
    ),
    "template with --system": Source(
        ("--template", "{question}", "--system", "Be brief.", *DATA),
        ("--template-b", "Q {question}"),
        lambda r: [("system", "Be brief."), ("user", r["question"])],
    ),
    "template with --shots": Source(
        (
            *("--template", "{question}", "--system", "S", "--shots", "2"),
            *("--examples", "shots.jsonl", "--answer", "answer", *DATA),
        ),
        ("--template-b", "Q {question}"),
        lambda r: [("system", "S"), *SHOT_MESSAGES, ("user", r["question"])],
    ),
    "list of messages": Source(
        ("list.json", *DATA),
        ("list_b.json",),
        lambda r: [("system", "S"), ("user", r["question"])],
    ),
    "harness's configuration": Source(("sums.py", *DATA), ("list.json",), lambda r: r["question"]),
    "harness's messages": Source(
        ("sums.py", "--model", "api.yaml", *DATA), ("list.json",), lambda r: [("user", r["question"])]
    ),
    "Jinja template": Source(
        ("--jinja", "J {{ question }}", *DATA), ("--jinja-b", "{{ question }}"), lambda r: f"J {r['question']}"
    ),
    "conversations": Source(
        ("--data", "talks.jsonl"),
        ("talks.jsonl", "talks.jsonl"),
        lambda r: [("system", "S"), ("user", r["question"])],
        prompts_are_there=True,
    ),
    "lm-eval task": Source(("task.yaml", *DATA), ("task_b.yaml",), lambda r: f"Q: {r['question']}\nA:"),
    "EvalScope's file": Source(
        ("scope.json", *DATA),
        ("scope_b.json",),
        lambda r: [("system", "Be brief."), ("user", f"Solve: {r['question']}")],
    ),
    "file of texts": Source(("texts.parquet",), ("texts_b.parquet",), lambda r: r["question"], prompts_are_there=True),
    "file of messages": Source(
        ("messages.parquet",), ("talks.jsonl",), lambda r: [("user", r["question"])], prompts_are_there=True
    ),
}
TOKENS = ("--tokenizer", "model")
TRAINED = (*TOKENS, "--mask", "assistant+end", "--last-turn", "--answer", "answer")
PAIRS = ("--chosen", "answer", "--rejected", "answer")
SINKS: dict[str, tuple[str, ...]] = {
    "render": ("render", "--out", "out.jsonl"),
    "tokenize": ("tokenize", "--out", "out.jsonl", *TOKENS),
    "completions": ("export", "openai-batch", "--model-name", "m", "--url", "/v1/completions", "--out", "out.jsonl"),
    **{
        name: ("export", name, "--model-name", "m", "--out", "out.jsonl")
        for name in ("openai-batch", "vllm-batch", "litellm-batch")
    },
    **{
        name: ("export", name, "--answer", "answer", "--out", "out.jsonl")
        for name in ("sharegpt", "messages-json", "prompt-completion", "alpaca")
    },
    "preference": ("export", "preference", *PAIRS, "--out", "out.jsonl"),
    "datasets": ("export", "datasets", "--answer", "answer", "--out", "out.folder"),
    "ray": ("export", "ray", "--out", "out.parquet"),
    **{
        name: ("export", name, "--out", "out.jsonl", *TOKENS) for name in ("vllm-tokens", "sglang-tokens", "ray-tokens")
    },
    **{name: ("export", name, "--out", "out.jsonl", *TRAINED) for name in ("trl-tokens", "axolotl-tokens")},
    "trl-preference-tokens": ("export", "trl-preference-tokens", "--out", "out.jsonl", *TOKENS, *PAIRS),
    "show": ("show", "--row", "2"),
    "view": ("view", "--html", "out.html", "--row", "0-3"),
    "stats": ("stats", "--json"),
    "audit": ("audit", "--fail-on", "never", "--out-format", "json"),
    "diff": ("diff", "--json"),
    "fingerprint": ("fingerprint", "--json"),
}
OF_TOKENS = {name for name, export in EXPORTS.items() if export.writes == "tokens"} | {"tokenize"}
OF_TEXTS = OF_TOKENS | {"completions"}
OF_TRAINING = {"trl-tokens", "axolotl-tokens"}
OF_ANSWERS = "trl-preference-tokens"
OF_MESSAGES = set(EXPORTS) - OF_TOKENS - {OF_ANSWERS}


def reasons() -> dict[str, str]:
    """The reasons of the page, by their names."""
    return dict(re.findall(r"^\| `([\w-]+)` \| [^|]* \| `([^`]+)` \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))


def refused(name: str, sink: str, *, has_chat: bool) -> str | None:  # noqa: PLR0911 - a rule for each reason
    """The reason for which a cell is refused; None if it works."""
    source = SOURCES[name]
    is_text = isinstance(source.prompt(ROWS[0]), str)
    if sink == "fingerprint":
        if source.prompts_are_there and not (has_chat and name == "conversations"):
            return "no-configuration" if name == "conversations" else "no-fingerprint"
        return "no-fingerprint" if name == "lm-eval task" else None
    if sink == "audit" and not has_chat and source.prompts_are_there:
        return "no-audit"
    if sink == OF_ANSWERS:
        return "no-chat" if not has_chat else None if source.prompts_are_there else "takes-answers"
    if name == "lm-eval task":
        # It puts the chat template behind its contexts itself.
        return "no-audit" if sink == "audit" else "no-chat" if sink in OF_TRAINING else None
    if has_chat:
        return "takes-messages" if sink in OF_MESSAGES else None
    if sink in OF_TEXTS and not is_text:
        return "takes-texts-url" if sink == "completions" else "takes-texts"
    return "no-chat" if sink in OF_TRAINING else None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("road")

    def write(name: str, rows: list[dict[str, Any]]) -> None:
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    def chat(row: dict[str, Any], system: str) -> list[dict[str, str]]:
        return [{"role": "system", "content": system}, {"role": "user", "content": row["question"]}]

    write("rows.jsonl", ROWS)
    write("shots.jsonl", SHOTS)
    write("talks.jsonl", [{**row, "messages": chat(row, "S")} for row in ROWS])
    for name, question in (("list.json", "{question}"), ("list_b.json", "{question}?")):
        (folder / name).write_text(json.dumps({"prompt_template": chat({"question": question}, "S")}))
    (folder / "sums.py").write_text(HARNESS)
    (folder / "api.yaml").write_text(API)
    for name, task in (("task.yaml", TASK), ("task_b.yaml", {**TASK, "doc_to_text": "{{question}}"})):
        (folder / name).write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in task.items()))
    (folder / "scope.json").write_text(json.dumps(BENCHMARK))
    (folder / "scope_b.json").write_text(json.dumps(BENCHMARK).replace("Solve:", "Do:"))
    texts = pa.Table.from_pylist([{"prompt": row["question"], "answer": row["answer"]} for row in ROWS])
    pq.write_table(texts, folder / "texts.parquet")
    pq.write_table(texts.slice(1), folder / "texts_b.parquet")
    messages = [[{"role": "user", "content": row["question"]}] for row in ROWS]
    pq.write_table(texts.set_column(0, "prompt", pa.array(messages)), folder / "messages.parquet")
    model = folder / "model"
    model.mkdir()
    (model / "chat_template.jinja").write_text(CHAT_TEMPLATE)
    tokenizer = small_tokenizer("bytes")
    tokenizer.add_special_tokens(["<|end|>", "<|user|>", "<|assistant|>", "<|system|>"])
    tokenizer.save(str(model / "tokenizer.json"))
    return folder


def without(option: str, words: list[str]) -> list[str]:
    """The words without an option and its value."""
    if option not in words:
        return words
    index = words.index(option)
    return words[:index] + words[index + 2 :]


def command(name: str, sink: str, *, has_chat: bool) -> list[str]:
    source = SOURCES[name]
    first, *words = SINKS[sink]
    kind = [words.pop(0)] if first == "export" else []
    given = list(source.words[len(source.config) :])
    if sink == "fingerprint":
        given = without("--data", given)
    if "--answer" in words:
        given = without("--answer", given)
    operands = [*source.config]
    if sink == "diff" and source.other[0].startswith("--"):
        words += source.other
    elif sink == "diff":
        operands += source.other
        if name == "conversations":
            given = []
    return [first, *kind, *operands, *words, *given, *(("--chat-template", "model") if has_chat else ())]


def chat_text(messages: list[tuple[str, str]], *, asks: bool) -> str:
    return "".join(f"<|{role}|>{content}<|end|>" for role, content in messages) + ("<|assistant|>" if asks else "")


def as_messages(prompt: Prompt) -> list[tuple[str, str]]:
    return [("user", prompt)] if isinstance(prompt, str) else prompt


def asks(name: str) -> bool:
    """A column of conversations says itself whether the assistant is asked."""
    return not (SOURCES[name].prompts_are_there and "text" not in name)


def wanted(name: str, *, has_chat: bool, answered: bool = False) -> list[Prompt]:
    """The prompts: as they are, or as the texts of chats, maybe with the answers."""
    out: list[Prompt] = []
    for row in ROWS:
        prompt = SOURCES[name].prompt(row)
        if has_chat:
            messages = [*as_messages(prompt), *([("assistant", row["answer"])] if answered else [])]
            if name == "harness's configuration":  # whose meta template of chats ends a message with a line feed
                messages[0] = (messages[0][0], messages[0][1] + "\n")
            out.append(chat_text(messages, asks=asks(name) and not answered))
        else:
            out.append(prompt)
    return out


def pairs(messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Messages of any of the forms, by the roles of chat APIs."""
    roles = {"HUMAN": "user", "BOT": "assistant", "human": "user", "gpt": "assistant"}
    return [
        (
            roles.get(role := message.get("role", message.get("from")), role),
            message.get("content", message.get("prompt", message.get("value"))),
        )
        for message in messages
    ]


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


def check_rendered(folder: Path, name: str, prompts: list[Prompt]) -> None:
    rows = lines(folder)
    if name == "lm-eval task":
        assert [row["arguments"]["context"] for row in rows] == prompts
        return
    (column,) = {"prompt", "messages"} & rows[0].keys()
    values = [row[column] for row in rows]
    if name == "conversations" and column == "messages":
        values = list(map(json.loads, values))  # a column of JSON stays one
    assert [value if isinstance(value, str) else pairs(value) for value in values] == prompts


def check_tokens(folder: Path, texts: list[Prompt], *, trained: bool) -> None:
    tokenizer = Tokenizer.from_file(str(folder / "model" / "tokenizer.json"))
    names = ("input_ids", "prompt_token_ids", "tokenized_prompt")
    for text, row, line in zip(texts, ROWS, lines(folder), strict=True):
        ids = next(line[name] for name in names if name in line)
        assert tokenizer.decode(ids, skip_special_tokens=False) == text
        if trained:
            labels = [label for label in line["labels"] if label >= 0]
            assert tokenizer.decode(labels, skip_special_tokens=False) == row["answer"] + "<|end|>"


def check_preferences(folder: Path, prompts: list[Prompt]) -> None:
    tokenizer = Tokenizer.from_file(str(folder / "model" / "tokenizer.json"))
    for prompt, row, line in zip(prompts, ROWS, lines(folder), strict=True):
        texts = [tokenizer.decode(ids, skip_special_tokens=False) for ids in line.values()]
        answer = row["answer"] + "<|end|>"
        assert texts == [str(prompt).removesuffix("<|assistant|>") + "<|assistant|>", answer, answer]


def check_messages(folder: Path, sink: str, prompts: list[Prompt]) -> None:
    """All of each prompt's messages stand in its row of an export, and the answer where it is trained."""
    if sink == "datasets":
        from datasets import load_from_disk

        rows = load_from_disk(folder / "out.folder").to_list()
    else:
        rows = pq.read_table(folder / "out.parquet").to_pylist() if sink == "ray" else lines(folder)
    for prompt, line, row in zip(prompts, rows, ROWS, strict=True):
        messages = as_messages(prompt)
        if sink.endswith("-batch"):
            assert pairs(line["body"]["messages"]) == messages
        elif sink == "ray":
            assert pairs(line["messages"]) == messages
        elif sink in ("sharegpt", "messages-json", "datasets"):
            talk = line["conversations"] if sink == "sharegpt" else line["messages"]
            assert pairs(talk) == [*messages, ("assistant", row["answer"])]
        else:
            texts = [text for _, text in messages] + [row["answer"]]
            assert all(json.dumps(text)[1:-1] in json.dumps(line) for text in texts)


@pytest.mark.parametrize("has_chat", [False, True], ids=["alone", "chat template after"])
@pytest.mark.parametrize("sink", SINKS)
@pytest.mark.parametrize("name", SOURCES)
def test_each_cell_works_or_has_its_reason(  # noqa: PLR0917 - the cell, and fixtures
    name: str,
    sink: str,
    has_chat: bool,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    if sink == "datasets":
        pytest.importorskip("datasets")
    words = command(name, sink, has_chat=has_chat)
    code = main([str(tmp_path / word) if word == "out.folder" else word for word in words])
    out, err = capsys.readouterr()
    reason = refused(name, sink, has_chat=has_chat)
    if reason is not None:
        assert code in (2, 3), err
        assert reasons()[reason] in err
        return
    differs = sink == "diff" and SOURCES[name].other != ("talks.jsonl", "talks.jsonl")
    assert code == int(differs), err
    prompts = wanted(name, has_chat=has_chat)
    if sink == "render":
        check_rendered(folder, name, prompts)
    elif sink in OF_TOKENS:
        answered = sink in OF_TRAINING
        texts = wanted(name, has_chat=has_chat, answered=answered)
        check_tokens(folder, texts, trained=answered)
    elif sink == OF_ANSWERS:
        check_preferences(folder, prompts)
    elif sink == "completions":
        assert [line["body"]["prompt"] for line in lines(folder)] == prompts
    elif sink in OF_MESSAGES:
        check_messages(tmp_path if sink == "datasets" else folder, sink, prompts)
    elif sink == "stats":
        counts = json.loads(out)
        assert counts["requests"] == len(ROWS)
        sizes = [sum(len(text) for _, text in as_messages(prompt)) for prompt in prompts]
        assert counts["bytes"]["sum"] == sum(sizes)
    elif sink in ("show", "view"):
        page = out if sink == "show" else (folder / "out.html").read_text()
        assert ROWS[2]["question"] in page
    elif sink == "diff":
        assert json.loads(out)["compared"] + json.loads(out)["only_a"] == len(ROWS)


def test_the_page_lists_no_other_reason() -> None:
    """Each reason of the page is that of a cell."""
    cells = (refused(name, sink, has_chat=has_chat) for name in SOURCES for sink in SINKS for has_chat in (False, True))
    assert {reason for reason in cells if reason is not None} == set(reasons())
