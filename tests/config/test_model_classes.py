"""The tables of model classes: look-up by name, dotted name and class; the meta templates that stand by default."""

import pytest
from promptpress._config.from_harness import (
    MODEL_CLASSES,
    WRAPPERS,
    find_model_class,
    harness_of,
    last_part,
    meta_template_of,
    type_paths,
)
from promptpress._errors.errors import did_you_mean

CHAT = {
    "opencompass": ["HuggingFacewithChatTemplate", "TurboMindModelwithChatTemplate", "VLLMwithChatTemplate"],
    "aisbench": [
        "HuggingFaceQwen2VLwithChatTemplate",
        "HuggingFacewithChatTemplate",
        "QwenImageEditModel",
        "VLLMCustomAPIChat",
        "VLLMCustomAPIChatStream",
        "VLLMFunctionCallAPIChat",
        "VLLMOfflineVLModel",
        "VllmMultiturnAPIChatStream",
    ],
}


def test_which_classes_bring_a_meta_template():
    with_meta_template = {
        harness: sorted(name for name, model in table.items() if model.default_meta_template is not None)
        for harness, table in MODEL_CLASSES.items()
    }
    assert with_meta_template == CHAT


@pytest.mark.parametrize(("harness", "name"), [(h, n) for h, names in CHAT.items() for n in names])
def test_default_meta_templates_end_in_the_generating_role(harness, name):
    template = meta_template_of(f"{harness}:{name}")
    assert template["round"][-1] == {"role": "BOT", "api_role": "BOT", "generate": True}
    assert MODEL_CLASSES[harness][name].parser == "messages"


def test_the_harnesses_differ_in_the_system_role():
    assert meta_template_of("opencompass:HuggingFacewithChatTemplate") == {
        "round": [
            {"role": "HUMAN", "api_role": "HUMAN"},
            {"role": "SYSTEM", "api_role": "HUMAN"},
            {"role": "BOT", "api_role": "BOT", "generate": True},
        ]
    }
    assert meta_template_of("aisbench:HuggingFacewithChatTemplate") == {
        "round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}],
        "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}],
    }


def test_a_default_is_a_copy_for_the_caller():
    meta_template_of("aisbench:VLLMCustomAPIChat")["round"].clear()
    assert len(meta_template_of("aisbench:VLLMCustomAPIChat")["round"]) == 2


@pytest.mark.parametrize(
    ("harness", "name", "parser"),
    [
        ("opencompass", "VLLM", "text"),
        ("opencompass", "HuggingFaceCausalLM", "text"),
        ("opencompass", "TurboMindAPIModel", "text"),  # served, and yet text
        ("opencompass", "LightllmAPI", "text"),
        ("opencompass", "LightllmChatAPI", "messages"),
        ("opencompass", "Llama2", "messages"),  # local, and yet messages
        ("opencompass", "Mixtral", "messages"),
        ("opencompass", "HuggingFaceChatGLM3", "messages"),
        ("opencompass", "OpenAISDK", "messages"),
        ("opencompass", "Claude", "messages"),
        ("aisbench", "VLLMCustomAPI", "text"),
        ("aisbench", "MindieStreamApi", "text"),
        ("aisbench", "VITAGenerateAPI", "messages"),
    ],
)
def test_parsers(harness, name, parser):
    assert find_model_class(name, harness).parser == parser


@pytest.mark.parametrize("harness", MODEL_CLASSES)
def test_base_models_take_no_meta_template(harness):
    model = find_model_class("HuggingFaceBaseModel", harness)
    assert model.parser == "text"
    assert model.meta_template({"round": [{"role": "HUMAN"}]}) is None


@pytest.mark.parametrize("given", [None, {}, []])
def test_an_empty_meta_template_counts_as_none(given):
    assert find_model_class("VLLM").meta_template(given) is None
    assert find_model_class("VLLMwithChatTemplate").meta_template(given)["round"]


def test_a_given_meta_template_is_kept_as_it_is():
    given = {"round": [{"role": "HUMAN"}]}
    assert find_model_class("VLLMwithChatTemplate").meta_template(given) is given


class VLLM:
    """A user's own, of a known name."""


class Tuned(VLLM):
    """A user's own, of a known base."""


def test_the_last_part_decides():
    assert find_model_class("some.fork.VLLM") is find_model_class("VLLM")
    assert find_model_class(VLLM) is find_model_class("VLLM")
    assert find_model_class(Tuned) is find_model_class("VLLM")
    assert find_model_class("Tuned") is None
    assert find_model_class(None) is None


def test_the_path_decides_between_harnesses():
    name = "HuggingFacewithChatTemplate"
    aisbench, opencompass = (find_model_class(name, harness) for harness in ("aisbench", "opencompass"))
    assert aisbench != opencompass
    assert find_model_class(f"ais_bench.benchmark.models.{name}", "opencompass") == aisbench
    assert find_model_class(f"opencompass.models.{name}", "aisbench") == opencompass
    assert find_model_class(f"fork.{name}", "aisbench") == aisbench
    assert find_model_class(name, "meta_prompt_design") == opencompass
    assert find_model_class("VLLMCustomAPIChat", "opencompass") == aisbench


def test_what_a_type_may_be():
    class PutOff:
        dotted_path = "opencompass.models.VLLM"

    assert type_paths(PutOff()) == ["opencompass.models.VLLM"]
    assert type_paths("") == type_paths(3) == type_paths(None) == type_paths({"a": 1}) == []
    assert last_part(Tuned) == "Tuned"
    assert type_paths(Tuned)[1] == f"{VLLM.__module__}.VLLM"


@pytest.mark.parametrize(
    ("path", "harness"),
    [
        ("opencompass.models.VLLM", "opencompass"),
        ("ais_bench.benchmark.models.VLLMCustomAPI", "aisbench"),
        ("promptpress.aisbench.PromptTemplate", "aisbench"),
        ("promptpress.opencompass.PromptTemplate", "opencompass"),
        ("opencompass_fork.VLLM", None),
        ("opencompass", None),
    ],
)
def test_harness_of(path, harness):
    assert harness_of(path) == harness


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("VLLMCustomAPIChat", "'VLLMCustomAPIChat' should be '<harness>:<model class>'.*'opencompass', 'aisbench'"),
        ("bench:VLLM", "no harness 'bench'.*'opencompass', 'aisbench'"),
        ("aisbench:VLLMCustomAPIChats", "no model class 'VLLMCustomAPIChats'; did you mean 'VLLMCustomAPIChat'"),
        ("aisbench:", "no model class ''$"),
    ],
)
def test_a_name_that_is_none(name, message):
    from promptpress._core import TemplateError

    with pytest.raises(TemplateError, match=f"^meta_template: .*{message}"):
        meta_template_of(name)


def test_a_class_without_default_has_none():
    assert meta_template_of("opencompass:OpenAI") is None
    assert meta_template_of("aisbench:ais_bench.benchmark.models.VLLMCustomAPI") is None


def test_wrappers_are_no_model_classes():
    assert not WRAPPERS & {name for table in MODEL_CLASSES.values() for name in table}


def test_nothing_is_suggested_if_no_name_is_similar():
    assert did_you_mean("Zebra", MODEL_CLASSES["opencompass"]) == ""
