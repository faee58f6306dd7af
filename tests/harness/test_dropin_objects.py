"""The single-sample classes as Python's objects: subclasses, copies, other mappings, names."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import promptpress as pp
import promptpress.aisbench as ais
import promptpress.opencompass as oc
import pytest
from parts.dropin_parts import ASKS, DIALOGUE, HARNESSES, META, SAMPLE
from promptpress import openicl


class Config(dict):
    """As mmengine has them: attributes are keys, and copies are configurations, too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __missing__(self, name: str) -> Any:
        raise KeyError(name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Config:
        return Config((key, copy.deepcopy(value, memo)) for key, value in self.items())


def configured(value: Any) -> Any:
    if isinstance(value, dict):
        return Config((key, configured(item)) for key, item in value.items())
    return [configured(item) for item in value] if isinstance(value, list) else value


@HARNESSES
def test_configurations_of_other_dicts(harness: Any) -> None:
    template = harness.PromptTemplate(configured(DIALOGUE), ice_token="</E>")
    prompt = template.generate_item(configured(SAMPLE))
    assert isinstance(next(item for item in prompt if "role" in item), Config)
    for parser in (harness.LMTemplateParser, harness.APITemplateParser):
        parsed = parser(configured(META)).parse_template(prompt, mode="gen")
        plain = harness.PromptTemplate(DIALOGUE, ice_token="</E>").generate_item(SAMPLE)
        assert parsed == parser(META).parse_template(plain, mode="gen")


class Shouted(oc.PromptTemplate):
    """As a data set of the harness has one: the sample is changed on its way."""

    def __init__(self) -> None:
        super().__init__({"round": [ASKS]})

    def generate_item(self, entry: Any, *args: Any, **kwargs: Any) -> Any:
        return super().generate_item({"q": entry["q"].upper()}, *args, **kwargs)


class Marked(ais.PromptTemplate):
    """Another way of making a prompt list of a template."""

    def _encode_template(self, prompt_template: Any, ice: bool) -> Any:
        return super()._encode_template(prompt_template, ice) + "{q}!"


class MyList(oc.PromptList):
    """A list of one's own."""


def test_subclasses() -> None:
    assert Shouted().generate_item(SAMPLE, "a", "")[1]["prompt"] == "ONE?"
    assert Marked(DIALOGUE).generate_item(SAMPLE)[-1] == "one?!"
    assert oc.PromptTemplate._check_prompt_template(Shouted()).prompt_type == "meta"
    assert repr(Shouted()).startswith("PromptTemplate(")  # as a subclass of the harness's
    mine = MyList(["{q}"])
    assert type(mine) is MyList
    assert type(mine.format(q=1)) is type(mine + "") is oc.PromptList
    mine += "more"
    assert type(mine) is MyList
    assert type(pickle.loads(pickle.dumps(mine))) is MyList


OBJECTS = [
    oc.PromptTemplate(DIALOGUE, "</E>", documented=True),
    oc.RawPromptTemplate([{"role": "user", "content": "{q}"}]),
    oc.LMTemplateParser(META),
    oc.APITemplateParser(META),
    oc.ChatLMTemplateParser(META),
    ais.PromptTemplate(DIALOGUE),
    ais.MultiTurnPromptTemplate({"round": [ASKS]}),
    ais.MMPromptTemplate({"round": [{"role": "HUMAN", "prompt_mm": {}}]}),
    ais.APITemplateParser(META),
    openicl.PromptTemplate("</Q>", {"q": "</Q>"}),
]


@pytest.mark.parametrize("made", OBJECTS, ids=lambda made: f"{type(made).__module__}.{type(made).__name__}")
def test_templates_and_parsers_are_copied_and_pickled(made: Any) -> None:
    for other in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert type(other) is type(made)
        assert vars(other) == vars(made)


@HARNESSES
def test_prompt_lists_are_copied_and_pickled(harness: Any) -> None:
    for documented in (False, True):
        made = harness.PromptList(["a", dict(ASKS)], documented=documented)
        made.note = "kept"
        copies = [pickle.loads(pickle.dumps(made, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
        for other in (*copies, copy.copy(made), copy.deepcopy(made)):
            assert (type(other), list(other), vars(other)) == (type(made), list(made), vars(made))
        assert copy.copy(made)[1] is made[1]
        assert copy.deepcopy(made)[1] is not made[1]
        assert type(made.copy()) is type(made[:]) is type(made * 2) is list  # as of every subclass of list


def test_samples_of_any_mapping_and_values_of_any_kind() -> None:
    class Printable:
        def __str__(self) -> str:
            return "{b} told"

    class Failing:
        def __str__(self) -> str:
            raise ZeroDivisionError

    template = oc.PromptTemplate("{a}{b}{missing}\ud800")
    assert (
        template.generate_item(types.MappingProxyType({"a": Printable(), "b": b"x"})) == "b'x' toldb'x'{missing}\ud800"
    )
    with pytest.raises(ZeroDivisionError):  # whether its placeholder is there or not
        oc.PromptTemplate("no braces").generate_item({"a": Failing()})
    with pytest.raises(TypeError):
        oc.PromptTemplate("{a}").generate_item({"input_str": 1})
    with pytest.raises(TypeError):
        oc.PromptTemplate({"round": []}).generate_item({"self": 1})


def test_nothing_of_a_harness_is_imported() -> None:
    program = """
import sys
import promptpress.aisbench, promptpress.opencompass, promptpress.openicl
promptpress.opencompass.PromptTemplate({"round": ["{q}"]}).generate_item({"q": 1})
promptpress.aisbench.PromptTemplate({"round": ["{q}"]}).generate_item({"q": 1})
found = [name for name in sys.modules if name.split(".")[0] in ("opencompass", "ais_bench", "openicl", "mmengine")]
assert not found, found
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("package", ["opencompass", "aisbench", "openicl"])
def test_every_name_is_there_and_typed(package: str) -> None:
    module = sys.modules[f"promptpress.{package}"]
    assert all(hasattr(module, name) for name in module.__all__)
    assert (Path(pp.__file__).parent / "py.typed").exists()
    with pytest.raises(AttributeError):
        module.Nothing  # noqa: B018
