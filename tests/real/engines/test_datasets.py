"""Prompts added to Hugging Face datasets, next to what the renderers give by themselves."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import promptpress as pp
import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
hub = pytest.importorskip("datasets")
pytest.importorskip("jinja2")

import promptpress.datasets  # noqa: E402 - skipped without datasets

SOURCE = "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
ROWS = {
    "question": ["1+1", "2+2", None],
    "messages": [
        [{"role": "user", "content": "One?"}],
        [{"role": "user", "content": "Two?"}, {"role": "assistant", "content": "é\n"}],
        [{"role": "user", "content": ""}],
    ],
}
RENDERERS = {
    "renderer": pp.Renderer("Q: {question}"),
    "jinja": pp.JinjaTemplate("Q: {{ question }}"),
    "chat": pp.ChatTemplate(SOURCE, bos_token="^"),
}

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def dataset() -> Any:
    return hub.Dataset.from_dict(ROWS)


@pytest.mark.parametrize("renderer", RENDERERS.values(), ids=RENDERERS)
def test_all_kinds_of_datasets(renderer: Any, dataset: Any) -> None:
    wanted = renderer.render(dataset)["prompt"].to_pylist()
    for batch_size in (1, 2, 1000):
        made = promptpress.datasets.render(dataset, renderer, batch_size=batch_size)
        assert made.column_names == ["question", "messages", "prompt"]
        assert made[:] == {**dataset[:], "prompt": wanted}
    assert [row["prompt"] for row in promptpress.datasets.render(dataset.to_iterable_dataset(), renderer)] == wanted
    made = promptpress.datasets.render(hub.DatasetDict(test=dataset), renderer, remove_columns=["messages"])
    assert made["test"].column_names == ["question", "prompt"]
    assert made["test"]["prompt"][:] == wanted


@pytest.mark.parametrize("renderer", RENDERERS.values(), ids=RENDERERS)
def test_map_takes_a_renderer_as_it_is(renderer: Any, dataset: Any) -> None:
    wanted = renderer.render(dataset)["prompt"].to_pylist()
    assert dataset.map(renderer, batched=True)["prompt"][:] == wanted


@pytest.mark.parametrize("batch_size", [1, 2, 1000])
@pytest.mark.parametrize("renderer", RENDERERS.values(), ids=RENDERERS)
def test_map_of_a_stream_takes_a_renderer_as_it_is(renderer: Any, batch_size: int) -> None:
    """Release 5.2 hands on dicts of lists, and takes nothing else back; columns stay what they are."""

    def rows() -> Any:
        for question, messages in zip(ROWS["question"], ROWS["messages"], strict=True):
            yield {"question": question, "messages": messages, "odd": {"only": question} if question else {}}

    wanted = renderer.render(ROWS)["prompt"].to_pylist()
    mapped = list(hub.IterableDataset.from_generator(rows).map(renderer, batched=True, batch_size=batch_size))
    assert [row["prompt"] for row in mapped] == wanted
    assert [{**row, "prompt": None} for row in mapped] == [{**row, "prompt": None} for row in rows()]


def test_a_template_alone(dataset: Any) -> None:
    assert promptpress.datasets.render(dataset, "Q: {question}")["prompt"][:] == ["Q: 1+1", "Q: 2+2", "Q: None"]


def test_the_tools_of_each_row() -> None:
    tools = [[{"name": "f", "parameters": {"a": 1}}], None, [{"name": "g", "parameters": {"b": 2}}]]
    dataset = hub.Dataset.from_dict({**ROWS, "tools": tools})
    chat = pp.ChatTemplate("{{ messages[0].content }}{{ tools | tojson }}")
    wanted = ['One?[{"name": "f", "parameters": {"a": 1}}]', "Two?null", '[{"name": "g", "parameters": {"b": 2}}]']
    assert promptpress.datasets.render(dataset, chat, batch_size=2)["prompt"][:] == wanted


def test_the_cache_knows_a_renderer_by_what_it_is_made_of(dataset: Any, tmp_path: Path) -> None:
    dataset.to_parquet(tmp_path / "samples.parquet")
    kept = hub.Dataset.from_parquet(str(tmp_path / "samples.parquet"), cache_dir=str(tmp_path / "cache"))

    def fingerprint(renderer: Any) -> str:
        return promptpress.datasets.render(kept, renderer)._fingerprint

    first = pp.ChatTemplate(SOURCE, bos_token="^")
    assert fingerprint(first) == fingerprint(first) == fingerprint(pp.ChatTemplate(SOURCE, bos_token="^"))
    assert fingerprint(first) != fingerprint(pp.ChatTemplate(SOURCE, bos_token="$"))


def test_errors(dataset: Any) -> None:
    with pytest.raises(TypeError, match="expected a Hugging Face dataset, found a dict"):
        promptpress.datasets.render(ROWS, "{question}")
    with pytest.raises(TypeError, match="found a int"):
        promptpress.datasets.render(dataset, 3)
    with pytest.raises(pp.RenderError, match="no JSON"):
        promptpress.datasets.render(dataset, pp.ChatTemplate(SOURCE, column="question"))
