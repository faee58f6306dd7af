"""The single-sample classes: what the documents show."""

from __future__ import annotations

import copy
import operator
from typing import Any

import promptpress as pp
import promptpress.aisbench as ais
import promptpress.opencompass as oc
import pytest
from parts.dropin_parts import ASKS, BOT, DIALOGUE, HARNESSES, HUMAN, META, SAMPLE, SYSTEM
from promptpress import openicl


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
            parsed = parser(meta, documented=True).parse_template(prompt, mode="ppl")
            parsed = parsed if isinstance(parsed, str) else [item if item == "[" else item["prompt"] for item in parsed]
            assert parsed == wanted
        prompt = harness.PromptTemplate(config, documented=True).generate_item(SAMPLE)
        assert parser(meta).parse_template(prompt, mode="ppl")


@HARNESSES
def test_roles_inside_round_need_documented(harness: Any) -> None:
    spoken = [{"role": "SYSTEM", "prompt": "S"}, ASKS, {"role": "X", "fallback_role": "BOT", "prompt": "{a}"}, ASKS]
    prompt = harness.PromptTemplate({"round": spoken}).generate_item(SAMPLE)
    with pytest.raises(KeyError):
        harness.LMTemplateParser(META).parse_template(prompt, mode="gen")
    parsed = harness.LMTemplateParser(META, documented=True).parse_template(prompt, mode="gen")
    assert parsed == "[<S>S</S><H>one?</H><B>1</B><H>one?</H><B>"


@HARNESSES
def test_token_lists_need_documented(harness: Any) -> None:
    meta = {"round": [{**HUMAN, "begin": ["<", 7, ">"]}]}
    prompt = harness.PromptTemplate({"round": [ASKS]}).generate_item(SAMPLE)
    with pytest.raises(NotImplementedError):
        harness.LMTemplateParser(meta)
    for tokens in ({7: "seven"}, {7: "seven"}.get):
        parsed = harness.LMTemplateParser(meta, documented=True, tokens=tokens).parse_template(prompt, mode="gen")
        assert parsed == "<seven>one?</H>"
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
    tagged = "<AIS_TEXT_START>{hint}?<AIS_CONTENT_TAG><AIS_IMAGE_START>https://host/a.png<AIS_CONTENT_TAG>lost"
    with pytest.raises(KeyError, match="content"):
        ais.MMPromptTemplate(config).generate_item({"hint": "Look.", "tale": tagged})
    template = ais.MMPromptTemplate(config, documented=True)
    parts = template.generate_item({"hint": "Look.", "tale": tagged})[1]["prompt_mm"]
    assert parts == [
        {"type": "text", "text": "Look. {hint}?"},
        {"type": "image_url", "image_url": {"url": "https://host/a.png"}},
    ]
    assert template.generate_item({"hint": "Look.", "content": tagged})[1]["prompt_mm"][1]["image_url"] == {
        "url": "file://https://host/a.png"
    }
    with pytest.raises(pp.RenderError, match="two columns hold tagged text"):
        template.generate_item({"a": tagged, "b": tagged})
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


def test_unknown_roles_are_reported(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
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
