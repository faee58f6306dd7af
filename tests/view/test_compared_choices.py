"""Which choice `promptpress view` compares with which, and what else it takes from the files of a choice."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promptpress import ChatTemplate, JinjaTemplate
from promptpress_workbench.cli import view
from promptpress_workbench.cli.arguments import parse
from promptpress_workbench.cli.settings import Settings
from promptpress_workbench.viewer.sources import Catalogue, Choice, SampleStore, Sources

SAMPLES = pa.table({"q": ["1+1?", "2+2?"]})


def dataset(name: str, **more: Any) -> dict[str, Any]:
    template = {"type": "PromptTemplate", "template": f"{name}: {{q}}"}
    return {"abbr": name, "reader_cfg": {"input_columns": ["q"]}, "infer_cfg": {"prompt_template": template}, **more}


def model(name: str) -> dict[str, Any]:
    turn = {"role": "HUMAN", "begin": f"<{name}>"}
    return {"abbr": name, "type": "HuggingFaceCausalLM", "meta_template": {"round": [turn]}}


FILES: dict[str, Any] = {
    "a.json": {"datasets": [dataset("gsm"), dataset("mmlu", audit={"allow": ["empty_prompt"]})]},
    "b.json": {"datasets": [dataset("mmlu"), dataset("gsm")], "audit": {"allow": ["control_character"]}},
    "c.json": {"datasets": [dataset("arc")]},
    "plain.json": {"prompt_template": "{q}", "audit": {"allow": ["empty_prompt"]}},
    "two.json": {"models": [model("x"), model("y")]},
    "three.json": {"models": [model("x"), model("y"), model("z")]},
    "one.json": {"models": [model("y")]},
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        Path(name).write_text(json.dumps(content), encoding="utf-8")
    pq.write_table(SAMPLES, "data.parquet")


def opened(*words: str) -> tuple[Namespace, Catalogue, Choice]:
    arguments = parse(["view", *words, "--data", "data.parquet"])
    catalogue, choice = view._catalogue(Settings.of(arguments), arguments.config, arguments.model or [])
    assert catalogue is not None
    return arguments, catalogue, choice


@pytest.mark.parametrize(
    ("words", "first", "second"),
    [
        (["a.json"], "gsm", "mmlu"),
        (["a.json", "--dataset", "mmlu"], "mmlu", "gsm"),
        (["c.json"], "arc", None),
        (["a.json", "b.json"], "gsm", "b.json gsm"),
        (["a.json", "b.json", "--dataset", "gsm"], "gsm", "b.json gsm"),
        (["a.json", "b.json", "--dataset", "mmlu"], "mmlu", "b.json mmlu"),
        (["b.json", "a.json", "--dataset", "mmlu"], "mmlu", "a.json mmlu"),
        (["a.json", "b.json", "--dataset", "b.json gsm"], "b.json gsm", "gsm"),
        (["a.json", "c.json"], "gsm", "arc"),
        (["a.json", "c.json", "--dataset", "mmlu"], "mmlu", "arc"),
        (["a.json", "c.json", "--dataset", "arc"], "arc", "gsm"),
        (["plain.json", "c.json"], "plain.json", "arc"),
        (["plain.json", "a.json", "--dataset", "mmlu"], "mmlu", "plain.json"),
        (["c.json", "plain.json", "a.json"], "arc", "plain.json"),
        (["a.json", "a.json", "--dataset", "mmlu"], "mmlu", "gsm"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_prompts_are_compared_with_those_of_the_other_file(words: list[str], first: str, second: str | None) -> None:
    arguments, catalogue, choice = opened(*words)
    other, has_two_models = view._compared(Settings.of(arguments), arguments.model or [], catalogue, choice)
    assert choice.prompts == first
    assert (other and other.prompts) == second
    assert not has_two_models
    if other is not None:
        texts = [catalogue.renderer(item).render(SAMPLES)["prompt"].to_pylist() for item in (choice, other)]
        assert texts[0] != texts[1] or first.rsplit(maxsplit=1)[-1] == str(second).split()[-1]


@pytest.mark.parametrize(
    ("words", "models"),
    [
        (["two.json"], ("x", "y")),
        (["two.json", "--model-abbr", "y"], None),
        (["three.json"], None),
        (["two.json", "one.json"], ("x", "one.json y")),
        (["two.json", "one.json", "--model-abbr", "y"], ("y", "one.json y")),
        (["one.json", "two.json", "--model-abbr", "x"], ("x", "y")),
        (["two.json", "three.json", "--model-abbr", "y"], ("y", "three.json y")),
        (["one.json", "two.json"], ("y", "two.json y")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_model_is_compared_with_that_of_the_other_file(words: list[str], models: tuple[str, str] | None) -> None:
    arguments, catalogue, choice = opened("c.json", "--model", *words)
    other, has_two_models = view._compared(Settings.of(arguments), arguments.model or [], catalogue, choice)
    assert has_two_models == (models is not None)
    if models is not None:
        assert (choice.model, other and other.model) == models
        assert other is not None
        assert other.prompts == choice.prompts


def test_a_template_alone_has_nothing_to_compare() -> None:
    for template in (JinjaTemplate("{{ q }}"), ChatTemplate("{{ messages }}")):
        catalogue = Catalogue([], [], template=("t", template))
        assert not catalogue.compares
        assert catalogue.other_prompts(Choice("t")) is None
    assert opened("c.json")[1].compares
    assert opened("a.json", "b.json")[1].compares


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        (["a.json"], []),
        (["a.json", "--dataset", "mmlu"], ["empty_prompt"]),
        (["b.json"], ["control_character"]),
        (["plain.json"], ["empty_prompt"]),
        (["plain.json", "b.json", "--dataset", "gsm"], ["control_character"]),
        (["--template", "{q}"], []),
        (["--jinja", "{{ q }}"], []),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_findings_that_a_file_allows_are_allowed_in_the_page(words: list[str], allowed: list[str]) -> None:
    arguments, catalogue, choice = opened(*words)
    store = SampleStore(view.open_samples(Settings.of(arguments), arguments.data, None, 10))
    assert Sources(store, catalogue).allowed(choice) == allowed
    store.close()
