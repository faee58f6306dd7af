"""The single-sample classes where a harness is loaded: its lists, its registries, its exceptions."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import promptpress.aisbench as ais
import promptpress.opencompass as oc
import pytest
from parts.dropin_parts import ASKS, DIALOGUE, HARNESSES, META, SAMPLE, module
from promptpress_harness.aisbench import exceptions
from promptpress_harness.single import prompt_list


class TheirList(list):
    """A harness's prompt list."""


class Registry:
    def __init__(self) -> None:
        self.entered: dict[str, Any] = {}

    def register_module(self, name: str, module: Any, force: bool) -> None:
        assert force
        self.entered[name] = module


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("opencompass.utils.prompt", "ais_bench.benchmark.utils.prompt.prompt"):
        monkeypatch.setitem(sys.modules, name, module(name, PromptList=TheirList))
    yield
    for kind in (oc.PromptList, ais.PromptList):
        kind._joint = None


@HARNESSES
@pytest.mark.usefixtures("loaded")
def test_prompt_lists_are_the_harness_s_too(harness: Any) -> None:
    prompt = harness.PromptTemplate(DIALOGUE, ice_token="</E>").generate_item(SAMPLE)
    for made in (prompt, prompt.format(), prompt + "x", "x" + prompt, copy.deepcopy(prompt), harness.PromptList()):
        assert isinstance(made, TheirList)
        assert isinstance(made, harness.PromptList)
        assert type(made).__name__ == "PromptList"
    other = pickle.loads(pickle.dumps(prompt))
    assert (type(other), other) == (type(prompt), prompt)


@HARNESSES
@pytest.mark.usefixtures("loaded")
def test_prompt_lists_of_the_harness_are_accepted(harness: Any) -> None:
    theirs = TheirList([{"section": "ice", "pos": "begin"}, dict(ASKS, prompt="1?"), {"section": "ice", "pos": "end"}])
    template = harness.PromptTemplate(DIALOGUE, ice_token="</E>")
    prompt = template.generate_item(SAMPLE, ice_field_replace_token=theirs)
    assert harness.LMTemplateParser(META).parse_template(prompt, "gen") == "[<H>1?</H><B></B><H>one?</H><B>"
    mixed = TheirList(prompt)
    assert harness.LMTemplateParser(META).parse_template(mixed, "gen") == "[<H>1?</H><B></B><H>one?</H><B>"
    both = theirs + harness.PromptList(["x"])
    assert isinstance(both, harness.PromptList)
    assert both[-1] == "x"


def test_prompt_lists_open_without_the_harness(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "opencompass.utils.prompt"
    monkeypatch.setitem(sys.modules, name, module(name, PromptList=TheirList))
    pickled = pickle.dumps(oc.PromptList(["a"]))
    monkeypatch.delitem(sys.modules, name)
    opened = pickle.loads(pickled)
    assert (type(opened), opened) == (oc.PromptList, ["a"])


def test_lists_from_before_the_harness_stay_useful(monkeypatch: pytest.MonkeyPatch) -> None:
    early = oc.PromptTemplate(DIALOGUE).generate_item(SAMPLE)
    name = "opencompass.utils.prompt"
    monkeypatch.setitem(sys.modules, name, module(name, PromptList=TheirList))
    assert type(early) is oc.PromptList
    assert oc.LMTemplateParser(META).parse_template(early + oc.PromptList(["</E>"]), "ppl").startswith("[</E><H>")


@pytest.mark.parametrize(
    ("harness", "registry", "names"),
    [
        (oc, "opencompass.registry", ["PromptTemplate", "RawPromptTemplate"]),
        (
            ais,
            "ais_bench.benchmark.registry",
            ["BasePromptTemplate", "PromptTemplate", "MultiTurnPromptTemplate", "MMPromptTemplate"],
        ),
    ],
    ids=["opencompass", "aisbench"],
)
def test_registering(harness: Any, registry: str, names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    registered = Registry()
    parents = registry.split(".")
    for end in range(1, len(parents)):
        name = ".".join(parents[:end])
        monkeypatch.setitem(sys.modules, name, module(name, __path__=[]))
    monkeypatch.setitem(sys.modules, registry, module(registry, ICL_PROMPT_TEMPLATES=registered))
    harness.register()
    assert registered.entered == {f"{harness.__name__}.{name}": getattr(harness, name) for name in names}
    program = f"""
import sys, types
class Registry:
    def register_module(self, name, module, force): print(name)
for end in range(1, {len(parents) + 1}):
    made = types.ModuleType(".".join({parents}[:end]))
    made.__path__, made.ICL_PROMPT_TEMPLATES = [], Registry()
    sys.modules[made.__name__] = made
import {harness.__name__}
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.split() == [f"{harness.__name__}.{name}" for name in names]


def test_exceptions_of_promptpress() -> None:
    with pytest.raises(ais.AISBenchValueError, match=r"^\[ICLR-TYPE-001\] a template is a str or a dict") as caught:
        ais.PromptTemplate(3)
    assert not isinstance(caught.value, ValueError)  # the harness's isn't either
    assert caught.value.error_code_str == "ICLR-TYPE-001"
    other = pickle.loads(pickle.dumps(caught.value))
    assert (type(other), str(other)) == (type(caught.value), str(caught.value))
    assert all(issubclass(getattr(ais, name), exceptions.AISBenchBaseException) for name in exceptions.NAMES)


def test_exceptions_of_the_harness(monkeypatch: pytest.MonkeyPatch) -> None:
    class AISBenchValueError(Exception):
        def __init__(self, code: str, message: str) -> None:
            super().__init__(f"{code}: {message}")

    theirs = module("exceptions", AISBenchValueError=AISBenchValueError, error_manager={"ICLR-TYPE-001": "the code"})
    package = "ais_bench.benchmark.utils.logging"
    parents = package.split(".")
    for end in range(1, len(parents) + 1):
        name = ".".join(parents[:end])
        monkeypatch.setitem(sys.modules, name, module(name, __path__=[], exceptions=theirs))
    exceptions.harness_exceptions.cache_clear()
    try:
        with pytest.raises(AISBenchValueError, match=r"^the code: a template is a str"):
            ais.PromptTemplate(3)
        assert ais.AISBenchValueError is AISBenchValueError
    finally:
        exceptions.harness_exceptions.cache_clear()


def test_each_class_says_what_it_refuses_with() -> None:
    """Whatever can be refused has a type in both harnesses."""
    for harness in (oc, ais):
        assert set(harness.PromptList._faults) == {"list in turn", "item"}
        assert {"template", "token", "value", "no ice token"} <= set(harness.PromptTemplate._faults)
        assert {"no round", "meta type", "twice", "section", "pos"} <= set(harness.LMTemplateParser._faults)
        wanted = {"no round", "meta type", "twice", "section", "pos", "prompt", "mode", "no role", "role"}
        assert wanted <= set(harness.APITemplateParser._faults)
        assert issubclass(harness.PromptList, prompt_list.PromptList)
