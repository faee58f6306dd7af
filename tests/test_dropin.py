"""The single-sample classes: what the documents show, where a harness is loaded, and what Python expects of objects."""

from __future__ import annotations

import copy
import operator
import pickle
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promptpress as pp
import promptpress.aisbench as ais
import promptpress.opencompass as oc
import pytest
from promptpress import openicl
from promptpress._single import prompt_list
from promptpress.aisbench import _exceptions as exceptions

HUMAN = {"role": "HUMAN", "begin": "<H>", "end": "</H>", "api_role": "HUMAN"}
BOT = {"role": "BOT", "begin": "<B>", "end": "</B>", "api_role": "BOT", "generate": True}
SYSTEM = {"role": "SYSTEM", "begin": "<S>", "end": "</S>", "api_role": "SYSTEM"}
META = {"begin": "[", "round": [HUMAN, BOT], "reserved_roles": [SYSTEM], "end": "]"}
ASKS, ANSWERS = {"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}
SAMPLE = {"q": "one?", "a": 1}
DIALOGUE = {"begin": ["</E>"], "round": [ASKS, ANSWERS]}
HARNESSES = pytest.mark.parametrize("harness", [oc, ais], ids=["opencompass", "aisbench"])


@HARNESSES
def test_few_shots_through_both_parsers(harness: Any) -> None:
    template = harness.PromptTemplate(DIALOGUE, ice_token="</E>")
    shots: Any = []
    for row in ({"q": "1+1?", "a": 2}, {"q": "{q}", "a": None}):
        shots += template.generate_ice_item(row, row["a"]) + ""
    shots.append("")
    prompt = template.generate_item(
        SAMPLE, output_field="a", output_field_replace_token="", ice_field_replace_token=shots
    )
    assert type(shots) is type(prompt) is harness.PromptList
    markers = [item["section"] for item in prompt if isinstance(item, dict) and "section" in item]
    assert markers == ["begin", "ice", "ice", "ice", "ice", "begin", "round", "round"]
    text = harness.LMTemplateParser(META).parse_template(prompt, mode="gen")
    assert text == "[<H>1+1?</H><B>2</B><H>one?</H><B>None</B><H>one?</H><B>"
    messages = harness.APITemplateParser(META).parse_template(prompt, mode="ppl")
    assert type(messages) is harness.PromptList
    assert [message if message == "[" else message["prompt"] for message in messages] == [
        "[",
        *("<H>1+1?</H>", "<B>2</B>", "<H>one?</H>", "<B>None</B>", "<H>one?</H>", "<B></B>"),
    ]


@HARNESSES
def test_label_map(harness: Any) -> None:
    template = harness.PromptTemplate({0: "{q} no<SEP>", 1: DIALOGUE}, sep_token="<SEP>")
    assert template.prompt_type == "origin"
    assert template.generate_label_prompt_item(SAMPLE, "", 0) == "one? no"
    assert template.generate_label_prompt_item(SAMPLE, "", 0, remain_sep=True) == "one? no<SEP>"
    assert template.generate_ice_item(SAMPLE, 0) == "one? no<SEP>"
    assert isinstance(template.generate_label_prompt_item(SAMPLE, "", 1), harness.PromptList)
    assert template.generate_item(SAMPLE) == "one? no"
    with pytest.raises(KeyError):
        template.generate_ice_item(SAMPLE, "0")


@HARNESSES
def test_attributes(harness: Any) -> None:
    template = harness.PromptTemplate(DIALOGUE, "</E>", "<SEP>")
    assert template.template is DIALOGUE
    assert (template.ice_token, template.sep_token, template.prompt_type) == ("</E>", "<SEP>", "meta")
    assert repr(template) == f"PromptTemplate({{\n\ttemplate: {DIALOGUE},\n\tice_token: </E>\n}})"
    assert harness.LMTemplateParser(META).roles["SYSTEM"] == SYSTEM
    assert harness.LMTemplateParser(META).meta_template is META
    assert not hasattr(harness.LMTemplateParser(), "roles")


@HARNESSES
def test_the_sample_and_the_template_stay_as_they_are(harness: Any) -> None:
    sample, template = copy.deepcopy(SAMPLE), copy.deepcopy(DIALOGUE)
    made = harness.PromptTemplate(template, ice_token="</E>")
    made.generate_item(sample, output_field="a", output_field_replace_token="?")
    made.generate_label_prompt_item(sample, "shots", None)
    assert (sample, template) == (SAMPLE, DIALOGUE)


@HARNESSES
def test_end_needs_documented(harness: Any) -> None:
    config = {"round": [ASKS], "end": [{"role": "SYSTEM", "prompt": "Bye."}]}
    for parser, wanted in (
        (harness.LMTemplateParser, "[<H>one?</H><B></B><S>Bye.</S>]"),
        (harness.APITemplateParser, ["[", "<H>one?</H>", "<B>said</B>", "<S>Bye.</S>"]),
    ):
        meta = META if parser is harness.LMTemplateParser else {**META, "round": [HUMAN, {**BOT, "prompt": "said"}]}
        with pytest.raises(IndexError):
            parser(meta).parse_template(harness.PromptTemplate(config).generate_item(SAMPLE), mode="ppl")
        # A template of one kind goes with a parser of the other.
        for documented in (True, False):
            prompt = harness.PromptTemplate(config, documented=documented).generate_item(SAMPLE)
            found = parser(meta, documented=True).parse_template(prompt, mode="ppl")
            found = found if isinstance(found, str) else [one if one == "[" else one["prompt"] for one in found]
            assert found == wanted
        prompt = harness.PromptTemplate(config, documented=True).generate_item(SAMPLE)
        assert parser(meta).parse_template(prompt, mode="ppl")


@HARNESSES
def test_roles_inside_round_need_documented(harness: Any) -> None:
    spoken = [{"role": "SYSTEM", "prompt": "S"}, ASKS, {"role": "X", "fallback_role": "BOT", "prompt": "{a}"}, ASKS]
    prompt = harness.PromptTemplate({"round": spoken}).generate_item(SAMPLE)
    with pytest.raises(KeyError):
        harness.LMTemplateParser(META).parse_template(prompt, mode="gen")
    found = harness.LMTemplateParser(META, documented=True).parse_template(prompt, mode="gen")
    assert found == "[<S>S</S><H>one?</H><B>1</B><H>one?</H><B>"


@HARNESSES
def test_token_lists_need_documented(harness: Any) -> None:
    meta = {"round": [{**HUMAN, "begin": ["<", 7, ">"]}]}
    prompt = harness.PromptTemplate({"round": [ASKS]}).generate_item(SAMPLE)
    with pytest.raises(NotImplementedError):
        harness.LMTemplateParser(meta)
    for tokens in ({7: "seven"}, {7: "seven"}.get):
        found = harness.LMTemplateParser(meta, documented=True, tokens=tokens).parse_template(prompt, mode="gen")
        assert found == "<seven>one?</H>"
    with pytest.raises(pp.TemplateError, match="no text for the token id 7"):
        harness.APITemplateParser(meta, documented=True)


@HARNESSES
def test_a_list_in_front_of_a_prompt_list_needs_documented(harness: Any) -> None:
    with pytest.raises(RecursionError):
        operator.add(["a"], harness.PromptList(["b"]))
    both = operator.add(["a"], harness.PromptList(["b"], documented=True))
    assert (both, type(both), both.documented) == (["a", "b"], harness.PromptList, True)
    assert harness.PromptTemplate({"round": []}, documented=True).generate_item(SAMPLE).documented


def test_documented_media() -> None:
    entries = {
        "text": {"type": "text", "text": "{hint} {question}"},
        "image": {"type": "image_url", "image_url": {"url": "file://{image}"}},
    }
    config = {"round": [{"role": "HUMAN", "prompt_mm": entries}]}
    shown = "<AIS_TEXT_START>{hint}?<AIS_CONTENT_TAG><AIS_IMAGE_START>https://host/a.png<AIS_CONTENT_TAG>lost"
    with pytest.raises(KeyError, match="content"):
        ais.MMPromptTemplate(config).generate_item({"hint": "Look.", "tale": shown})
    template = ais.MMPromptTemplate(config, documented=True)
    parts = template.generate_item({"hint": "Look.", "tale": shown})[1]["prompt_mm"]
    assert parts == [
        {"type": "text", "text": "Look. {hint}?"},
        {"type": "image_url", "image_url": {"url": "https://host/a.png"}},
    ]
    assert template.generate_item({"hint": "Look.", "content": shown})[1]["prompt_mm"][1]["image_url"] == {
        "url": "file://https://host/a.png"
    }
    with pytest.raises(pp.RenderError, match="two columns hold tagged text"):
        template.generate_item({"a": shown, "b": shown})
    assert config == {"round": [{"role": "HUMAN", "prompt_mm": entries}]}


def test_documented_lists_of_media() -> None:
    config = {"round": [{"role": "HUMAN", "prompt_mm": {"text": "{q}", "mm_url": "file://{files}"}}]}
    template = ais.MMPromptTemplate(config, documented=True)
    for files in (["a.mp4", "b.mp4"], "['a.mp4', 'b.mp4']"):
        assert template.generate_item({"q": "?", "files": files, "type": "video"})[1]["prompt_mm"] == [
            {"type": "text", "text": "?"},
            {"type": "video_url", "video_url": "file://a.mp4"},
            {"type": "video_url", "video_url": "file://b.mp4"},
        ]
    with pytest.raises(pp.RenderError, match="'type'"):
        template.generate_item({"q": "?", "files": "a"})
    named = template.format_mm_url(config, {"type": "video"})
    assert list(named["round"][0]["prompt_mm"]) == ["text", "video_url"]
    for unchanged in (template, {"content": "", "type": "video"}), (ais.MMPromptTemplate(config), {"type": "video"}):
        assert unchanged[0].format_mm_url(config, unchanged[1]) == config


def test_chat_without_strings() -> None:
    prompt = oc.PromptList(["", ASKS])
    with pytest.raises(TypeError):
        oc.promptlist_to_openai(prompt)
    chat = oc.promptlist_to_openai(prompt, documented=True)
    assert chat == [{"role": "user", "content": "{q}"}]
    assert oc.ChatLMTemplateParser().parse_template([]) == []
    assert oc.ChatAPITemplateParser(META).parse_template([chat]) == [[{"role": "HUMAN", "prompt": "{q}"}]]


def test_strings_without_a_role_are_warned_of() -> None:
    prompt = oc.PromptTemplate({"begin": ["words", " "], "round": [ASKS]}).generate_item(SAMPLE)
    with pytest.warns(UserWarning, match="without a role") as caught:
        oc.APITemplateParser(META).parse_template(prompt, mode="gen")
    assert len(caught) == 1


def test_media_are_handed_on_uncopied() -> None:
    parts = [{"type": "text", "text": "t"}]
    prompt = ais.PromptList([{"section": "round", "pos": "begin"}, {"role": "HUMAN", "prompt_mm": parts}])
    prompt.append({"section": "round", "pos": "end"})
    (message,) = ais.APITemplateParser({"round": [HUMAN, BOT]}).parse_template(prompt, mode="gen")
    assert message["prompt"] is parts


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
        found = parser(configured(META)).parse_template(prompt, mode="gen")
        plain = harness.PromptTemplate(DIALOGUE, ice_token="</E>").generate_item(SAMPLE)
        assert found == parser(META).parse_template(plain, mode="gen")


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
    class Told:
        def __str__(self) -> str:
            return "{b} told"

    class Failing:
        def __str__(self) -> str:
            raise ZeroDivisionError

    template = oc.PromptTemplate("{a}{b}{missing}\ud800")
    assert template.generate_item(types.MappingProxyType({"a": Told(), "b": b"x"})) == "b'x' toldb'x'{missing}\ud800"
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


# With a harness in the process. What stands in for it has the few names that are asked for.


class TheirList(list):
    """A harness's prompt list."""


class Registry:
    def __init__(self) -> None:
        self.entered: dict[str, Any] = {}

    def register_module(self, name: str, module: Any, force: bool) -> None:
        assert force
        self.entered[name] = module


def module(name: str, **names: Any) -> types.ModuleType:
    made = types.ModuleType(name)
    vars(made).update(names)
    return made


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
def test_the_harness_s_prompt_lists_are_taken_in(harness: Any) -> None:
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
    found = Registry()
    parents = registry.split(".")
    for end in range(1, len(parents)):
        name = ".".join(parents[:end])
        monkeypatch.setitem(sys.modules, name, module(name, __path__=[]))
    monkeypatch.setitem(sys.modules, registry, module(registry, ICL_PROMPT_TEMPLATES=found))
    harness.register()
    assert found.entered == {f"{harness.__name__}.{name}": getattr(harness, name) for name in names}
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


def test_exceptions_of_our_own() -> None:
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


def test_openicl_by_label_and_by_sample() -> None:
    tokens = {"q": "</Q>", "l": "</L>"}
    template = openicl.PromptTemplate({"yes": "</E></Q>+</L>", "no": "</E></Q>-</L>"}, tokens, "l", {"yes": 1}, "</E>")
    sample = {"q": "</L>?", "l": "no"}
    assert template.generate_ice_item(sample, "yes") == "1?+1"
    assert template.generate_label_prompt_item(sample, "shots ", "yes") == "shots 1?+1"
    assert template.generate_item(sample, "l", "?", "") == "??-?"
    assert template.generate_item(sample) == "no?-no"
    with pytest.raises(KeyError):
        template.generate_ice_item(sample, "no")
    with pytest.raises(ValueError, match="go together"):
        openicl.PromptTemplate("", {}, "l")
    with pytest.raises(LookupError):
        openicl.PromptTemplate("", {}, ice_token="</E>")


def test_unknown_roles_are_told(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    for parser in (oc.LMTemplateParser(META), oc.APITemplateParser(META), ais.LMTemplateParser(META)):
        prompt = type(parser)._list([{"section": "begin", "pos": "begin"}, {"role": "X", "prompt": ""}])
        with pytest.raises(KeyError):
            parser.parse_template(prompt, "gen")
        assert "fallback_role" in capsys.readouterr().out
    prompt = ais.PromptList([{"section": "begin", "pos": "begin"}, {"role": "X", "prompt": ""}])
    with pytest.raises(KeyError), caplog.at_level("WARNING", "ais_bench"):
        ais.APITemplateParser(META).parse_template(prompt, "gen")
    assert "fallback_role" in caplog.text
    assert not capsys.readouterr().out
