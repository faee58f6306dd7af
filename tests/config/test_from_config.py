"""From dataset and model dicts to the arguments of Renderer; the configurations are made up."""

import copy
import subprocess
import sys
import warnings
from types import MappingProxyType

import pytest
from promptpress._config.from_harness import (
    INFERENCER_MODES,
    MODEL_CLASSES,
    dialect_of,
    meta_template_of,
    renderer_arguments,
)

TEMPLATE = {
    "type": "PromptTemplate",
    "template": {"round": [{"role": "HUMAN", "prompt": "{dish}?"}, {"role": "BOT", "prompt": "{spice}"}]},
}
META = {"round": [{"role": "HUMAN", "begin": "<u>"}, {"role": "BOT", "begin": "<b>", "generate": True}]}
API_META = {"round": [{"role": "HUMAN", "api_role": "USER"}, {"role": "BOT", "api_role": "MODEL", "generate": True}]}
CHAT_META = meta_template_of("opencompass:VLLMwithChatTemplate")


def dataset(**infer):
    return {
        "type": "KitchenDataset",
        "abbr": "kitchen",
        "path": "./kitchen",
        "reader_cfg": {"input_columns": ["dish"], "output_column": "spice", "train_split": "dev", "test_range": "[:9]"},
        "infer_cfg": {
            "prompt_template": TEMPLATE,
            "retriever": {"type": "ZeroRetriever"},
            "inferencer": {"type": "GenInferencer", "max_out_len": 5},
            **infer,
        },
        "eval_cfg": {"evaluator": {"type": "AccEvaluator"}, "pred_role": "BOT"},
    }


def test_a_dataset_alone():
    given = dataset()
    untouched = copy.deepcopy(given)
    assert renderer_arguments(given) == {
        "prompt_template": TEMPLATE,
        "ice_template": None,
        "retriever": {"type": "ZeroRetriever"},
        "inferencer": {"type": "GenInferencer", "max_out_len": 5},
        "reader": {"input_columns": ["dish"], "output_column": "spice"},
        "dialect": "opencompass",
        "mode": "gen",
        "meta_template": None,
        "output": None,
    }
    assert given == untouched


@pytest.mark.parametrize("type_", ["TopkRetriever", "BM25Retriever", "VotekRetriever", "DPPRetriever", "MDLRetriever"])
def test_parts_pass_as_they_are(type_):
    retriever = {"type": type_, "ice_num": 4, "ice_separator": "--", "ice_eos_token": "==", "index_split": "train"}
    inferencer = {"type": "GenInferencer", "gen_field_replace_token": "?"}
    ice = {"type": "PromptTemplate", "template": "{dish}: {spice}"}
    arguments = renderer_arguments(dataset(retriever=retriever, inferencer=inferencer, ice_template=ice))
    assert arguments["retriever"] is retriever
    assert arguments["inferencer"] is inferencer
    assert arguments["ice_template"] is ice


def test_an_ice_template_alone_will_do():
    given = dataset(ice_template={"type": "PromptTemplate", "template": "</E>{dish}", "ice_token": "</E>"})
    del given["infer_cfg"]["prompt_template"]
    assert renderer_arguments(given)["prompt_template"] is None


class Attributes(dict):
    """A dict whose keys are attributes too, as mmengine's."""

    __getattr__ = dict.__getitem__


@pytest.mark.parametrize("wrap", [Attributes, MappingProxyType, dict])
def test_any_mapping(wrap):
    given = dataset()
    wrapped = wrap({**given, "infer_cfg": wrap(given["infer_cfg"]), "reader_cfg": wrap(given["reader_cfg"])})
    assert renderer_arguments(wrapped, wrap({"type": "VLLM"})) == renderer_arguments(given, {"type": "VLLM"})


@pytest.mark.parametrize("path", ["reader_cfg", "infer_cfg.reader_cfg", "infer_cfg.reader", "reader", None])
def test_places_of_the_reader(path):
    given = dataset()
    reader = given.pop("reader_cfg")
    if path:
        owner = given["infer_cfg"] if "." in path else given
        owner[path.split(".")[-1]] = reader
    expected = {"input_columns": ["dish"], "output_column": "spice"} if path else None
    assert renderer_arguments(given)["reader"] == expected


class PPLInferencer:
    """Stands for the harness's."""


class MyInferencer(PPLInferencer):
    """A user's own."""


@pytest.mark.parametrize(
    ("type_", "mode"),
    [
        ("PPLInferencer", "ppl"),
        ("opencompass.openicl.icl_inferencer.LLInferencer", "ppl"),
        (PPLInferencer, "ppl"),
        (MyInferencer, "ppl"),
        ("CLPInferencer", "gen"),
        ("ais_bench.benchmark.openicl.icl_inferencer.MultiTurnGenInferencer", "gen"),
        ("SomeoneElsesInferencer", None),
    ],
)
def test_the_inferencer_decides_the_mode(type_, mode):
    assert renderer_arguments(dataset(inferencer={"type": type_}))["mode"] == mode
    assert renderer_arguments(dataset(inferencer={"type": type_}), mode="gen")["mode"] == "gen"


def test_only_two_inferencers_render_labels():
    assert {name for name, mode in INFERENCER_MODES.items() if mode == "ppl"} == {"PPLInferencer", "LLInferencer"}


@pytest.mark.parametrize("part", ["retriever", "inferencer"])
def test_parts_may_be_missing(part):
    given = dataset()
    del given["infer_cfg"][part]
    assert renderer_arguments(given)[part] is None


@pytest.mark.parametrize(
    ("model", "meta_template", "output"),
    [
        ({"type": "VLLM"}, None, "text"),
        ({"type": "VLLM", "meta_template": META}, META, "text"),
        ({"type": "VLLM", "meta_template": API_META}, API_META, "text"),
        ({"type": "OpenAI"}, None, "messages"),
        ({"type": "OpenAI", "meta_template": API_META}, API_META, "messages"),
        ({"type": "opencompass.models.Llama2Chat", "meta_template": META}, META, "messages"),
        ({"type": "VLLMwithChatTemplate"}, CHAT_META, "messages"),
        ({"type": "VLLMwithChatTemplate", "meta_template": {}}, CHAT_META, "messages"),
        ({"type": "VLLMwithChatTemplate", "meta_template": API_META}, API_META, "messages"),
        ({"type": "HuggingFaceBaseModel"}, None, "text"),
        ({"type": "LagentAgent", "llm": {"type": "VLLM", "meta_template": META}}, META, "text"),
        ({"type": "CodeAgent", "llm": {"type": "OpenAI"}}, None, "messages"),
        ({"meta_template": META}, META, None),
        ({}, None, None),
    ],
)
def test_models(model, meta_template, output):
    arguments = renderer_arguments(dataset(), model)
    assert (arguments["meta_template"], arguments["output"]) == (meta_template, output)


@pytest.mark.parametrize("harness", MODEL_CLASSES)
def test_every_known_model_class(harness):
    root = {"opencompass": "opencompass", "aisbench": "ais_bench"}[harness]
    for name, model_class in MODEL_CLASSES[harness].items():
        for model, dialect in (({"type": f"{root}.models.{name}"}, None), ({"type": name}, harness)):
            arguments = renderer_arguments(dataset(), model, dialect=dialect)
            assert arguments["dialect"] == harness
            assert arguments["output"] == model_class.parser
            assert arguments["meta_template"] == model_class.default_meta_template


def test_overrides_win():
    examples = object()
    model = {"type": "VLLMwithChatTemplate", "meta_template": API_META}
    arguments = renderer_arguments(
        dataset(), model, examples=examples, output="prompt_list", meta_template=None, labels=["a"], dialect="aisbench"
    )
    assert arguments["examples"] is examples
    assert (arguments["output"], arguments["meta_template"], arguments["labels"]) == ("prompt_list", None, ["a"])
    assert arguments["dialect"] == "aisbench"
    assert renderer_arguments(dataset(), {"type": "HuggingFaceBaseModel"}, meta_template=META)["meta_template"] == META
    assert renderer_arguments(dataset(), reader={"input_columns": ["x"]})["reader"] == {"input_columns": ["x"]}


def test_the_dialect_chooses_between_classes_of_one_name():
    model = {"type": "HuggingFacewithChatTemplate"}
    assert "reserved_roles" not in renderer_arguments(dataset(), model)["meta_template"]
    assert "reserved_roles" in renderer_arguments(dataset(), model, dialect="aisbench")["meta_template"]


@pytest.mark.parametrize(
    ("given", "model", "dialect"),
    [
        (dataset(), None, "opencompass"),
        (dataset(retriever={"type": "ais_bench.benchmark.openicl.ZeroRetriever"}), None, "aisbench"),
        (dataset(ice_template={"type": "ais_bench.benchmark.openicl.PromptTemplate"}), None, "aisbench"),
        (dataset(), {"type": "ais_bench.benchmark.models.VLLMCustomAPI"}, "aisbench"),
        (dataset(), {"type": "opencompass.models.VLLM"}, "opencompass"),
        (dataset(inferencer={"type": "opencompass.openicl.GenInferencer"}), {"type": "ais_bench.X"}, "opencompass"),
        (dataset(), {"type": "VLLMCustomAPIChat"}, "aisbench"),
        (dataset(prompt_template={"type": "MMPromptTemplate", "template": {}}), None, "aisbench"),
        (dataset(prompt_template={"type": "opencompass.MMPromptTemplate", "template": {}}), None, "opencompass"),
        (dataset(inferencer={"type": "MultiTurnGenInferencer"}), {"type": "VLLM"}, "aisbench"),
        (dataset(prompt_template="{dish}"), None, "opencompass"),
        (dataset(), {"type": "LagentAgent", "llm": {"type": "ais_bench.benchmark.models.VLLMCustomAPI"}}, "aisbench"),
    ],
)
def test_dialects(given, model, dialect):
    assert dialect_of(given, model) == dialect
    assert renderer_arguments(given, model, warn=lambda _: None)["dialect"] == dialect


def test_the_dialect_of_classes():
    template = type("PromptTemplate", (), {"__module__": "ais_bench.benchmark.openicl.icl_prompt_template"})
    subclass = type("Mine", (template,), {"__module__": "mine"})
    assert dialect_of(dataset(prompt_template={"type": subclass, "template": "{dish}"})) == "aisbench"


@pytest.mark.parametrize(
    ("given", "model", "message"),
    [
        ([dataset()] * 3, None, "dataset_cfg: a list of 3 dataset dicts, not one dataset dict"),
        (None, None, "dataset_cfg: a NoneType, not one dataset dict"),
        (dataset(), [{}], "model_cfg: a list of 1 model dicts, not one model dict"),
        (dataset(), {"type": 7}, "model_cfg.type: 7 is neither the name of a model class nor a class"),
        ({}, None, "infer_cfg: missing; .* this has no keys$"),
        ({"abbr": "x"}, None, "infer_cfg: missing; .* this has 'abbr'$"),
        ({"prompt_template": TEMPLATE}, None, "infer_cfg: missing; .*'prompt_template'; put it one level down"),
        ({"infer_cfg": [1]}, None, "infer_cfg: a list, not a dict"),
        ({"infer_cfg": {}}, None, "infer_cfg.prompt_template: missing; a prompt_template or an ice_template is needed"),
        (dataset(retriever="ZeroRetriever"), None, "infer_cfg.retriever: a str, not a dict with a 'type'"),
        (dataset(inferencer=["GenInferencer"]), None, "infer_cfg.inferencer: a list, not a dict with a 'type'"),
        ({**dataset(), "reader_cfg": ["dish"]}, None, "reader_cfg: a list, not a dict"),
    ],
)
def test_refusals(given, model, message):
    from promptpress._core import TemplateError

    with pytest.raises(TemplateError, match=f"^{message}"):
        renderer_arguments(given, model)


def warnings_of(*args, **kwargs):
    messages = []
    renderer_arguments(*args, warn=messages.append, **kwargs)
    return messages


def test_max_seq_len_is_noted():
    with pytest.warns(UserWarning, match=r"^max_seq_len isn't applied"):
        renderer_arguments(dataset(), {"type": "VLLM", "max_seq_len": 2048})
    assert len(warnings_of(dataset(inferencer={"type": "GenInferencer", "max_seq_len": 9}), {"type": "VLLM"})) == 1
    assert len(warnings_of(dataset(), {"type": "LagentAgent", "llm": {"type": "VLLM", "max_seq_len": 9}})) == 1
    assert warnings_of(dataset(), {"type": "VLLM", "max_seq_len": None}) == []


def test_unknown_model_classes_are_noted():
    with pytest.warns(UserWarning, match="'VLLMwithChatTemplates' is no model class.*mean 'VLLMwithChatTemplate'"):
        arguments = renderer_arguments(dataset(), {"type": "mine.VLLMwithChatTemplates", "meta_template": API_META})
    assert (arguments["meta_template"], arguments["output"]) == (API_META, None)
    assert len(warnings_of(dataset(), {"type": "Zebra"}, output="text")) == 1  # its meta template isn't known
    assert warnings_of(dataset(), {"type": "Zebra"}, output="text", meta_template=None) == []
    assert warnings_of(dataset(), {"type": "Zebra", "meta_template": META}, output="text") == []


def test_an_ignored_meta_template_is_noted():
    (message,) = warnings_of(dataset(), {"type": "HuggingFaceBaseModel", "meta_template": META})
    assert message.startswith("model_cfg.meta_template: HuggingFaceBaseModel ignores it")


def test_train_range_is_noted_if_there_are_examples():
    given = dataset(retriever={"type": "FixKRetriever", "fix_id_list": [0]})
    given["reader_cfg"]["train_range"] = "[5:]"
    (message,) = warnings_of(given)
    assert message.startswith("reader_cfg.train_range isn't applied")
    assert warnings_of(given, retriever={"type": "ZeroRetriever"}) == []


def test_warnings_can_be_errors_and_never_are_without_cause():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        renderer_arguments(dataset(), {"type": "VLLM"})
        with pytest.raises(UserWarning, match="max_seq_len"):
            renderer_arguments(dataset(), {"type": "VLLM", "max_seq_len": 1})


SLIPS = {
    "inferencer": (dataset(inferencer={"type": "PPLInferencr"}), {"type": "VLLM"}),
    "ice_template": ({"infer_cfg": {"prompt_template": "{dish}", "ice_templat": "{dish}"}}, {"type": "VLLM"}),
    "meta_template": (dataset(), {"type": "VLLM", "meta_templat": META}),
    "model class": (dataset(), {"type": "VLLMwithChatTemplat"}),
    "ignored meta_template": (dataset(), {"type": "HuggingFaceBaseModel", "meta_template": META}),
}


@pytest.mark.parametrize("name", SLIPS)
def test_slips_are_prompt_warnings_of_the_line_that_called(name):
    import promptpress as pp

    for call in (renderer_arguments, pp.Renderer.from_config):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(*SLIPS[name])
        assert [(warning.category, warning.filename) for warning in caught] == [(pp.PromptWarning, __file__)]


def test_what_is_left_to_the_caller_is_no_slip():
    import promptpress as pp

    with pytest.warns(UserWarning, match="max_seq_len") as caught:
        pp.Renderer.from_config(dataset(), {"type": "VLLM", "max_seq_len": 1})
    assert [(warning.category, warning.filename) for warning in caught] == [(UserWarning, __file__)]


def test_forty_configurations_say_it_once():
    script = (
        "from promptpress._config.from_harness import renderer_arguments\n"
        "for i in range(40):\n"
        "    renderer_arguments({'infer_cfg': {'prompt_template': str(i)}}, {'type': 'VLLM', 'max_seq_len': i})\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stderr.count("max_seq_len isn't applied") == 1
