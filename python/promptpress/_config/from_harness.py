"""Arguments of `promptpress.Renderer` from a harness's dataset and model dicts, and the harnesses' model classes.

A dataset dict contains much more than its prompts: paths, evaluators, token limits. The parts for prompts are passed
to `Renderer` unchanged, which refuses unsupported ones; the rest is ignored. No data is loaded: the caller passes the
examples, as it passes the samples.

Of a model configuration a harness picks two things by the class name. One is the parser: language models get one text,
chat and API models get messages. The other is the meta template for a configuration without one: most classes have
none, the chat-template classes bring their own. The tables are as of OpenCompass 0.5.4 and AISBench 3.1.20260630.
What a model does after parsing (the tokenizer's chat template, role names of a vendor's API, cutting to a token limit)
is not part of promptpress, which ends where the harness's ``parse_template`` ends.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from promptpress._errors.errors import PromptWarning, callers_level, close_names, did_you_mean, template_error
from promptpress.typing import Dialect, Mode


@dataclass(frozen=True)
class ModelClass:
    """The rules by which a model class of a harness turns prompt lists into requests."""

    parser: Literal["text", "messages"]
    """The output form that the class's parser produces."""
    default_meta_template: Mapping[str, Any] | None = None
    """The meta template for a configuration without one; an empty one counts as none."""
    takes_meta_template: bool = True
    """False if the class ignores the meta template of its configuration."""
    counted_as: Literal["text", "chat"] | None = None
    """The text whose tokens the class counts: the prompt with special tokens around it, or one message of the user in
    its chat template; None if it counts something else, or nothing."""

    def meta_template(self, given: Any = None) -> Any:
        """Return the effective meta template for a configuration with the meta template `given`."""
        if given and self.takes_meta_template:
            return given
        return copy.deepcopy(self.default_meta_template)


# OpenCompass's chat-template classes turn system turns into user turns on purpose. AISBench's keep system turns, and
# allow them only outside the rounds. So a class name has a different default in each harness.
_OPENCOMPASS_CHAT = ModelClass(
    "messages",
    {
        "round": [
            {"role": "HUMAN", "api_role": "HUMAN"},
            {"role": "SYSTEM", "api_role": "HUMAN"},
            {"role": "BOT", "api_role": "BOT", "generate": True},
        ]
    },
    counted_as="chat",
)
_AISBENCH_CHAT = ModelClass(
    "messages",
    {
        "round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}],
        "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}],
    },
)
_TEXT = ModelClass("text")
_MESSAGES = ModelClass("messages")
_COUNTED = ModelClass("text", counted_as="text")
_PLAIN = ModelClass("text", takes_meta_template=False, counted_as="text")  # base models always join turns by newlines


def _table(*groups: tuple[ModelClass, str]) -> dict[str, ModelClass]:
    return {name: model for model, names in groups for name in names.split()}


# A class for a network API may have either parser: TurboMindAPIModel, LightllmAPI and AISBench's completion
# endpoints parse to text, and the locally loaded Llama2, Mixtral and ChatGLM3 wrappers parse to messages.
MODEL_CLASSES: Mapping[str, Mapping[str, ModelClass]] = {
    "opencompass": _table(
        (_OPENCOMPASS_CHAT, "HuggingFacewithChatTemplate TurboMindModelwithChatTemplate VLLMwithChatTemplate"),
        (_PLAIN, "HuggingFaceBaseModel"),
        (_COUNTED, "HuggingFace HuggingFaceCausalLM ModelScope ModelScopeCausalLM VLLM"),
        (
            _TEXT,
            "AlayaLM BaseModel GLM130B InternLM InternTrain LightllmAPI TurboMindAPIModel TurboMindModel"
            " LmdeployPytorchModel",  # gone from the package, still named by two of its model configurations
        ),
        (
            _MESSAGES,
            "AI360GPT BaiChuan BailingAPI BaseAPIModel BlueLMAPI ByteDance Claude ClaudeAllesAPIN ClaudeSDK"
            " DeepseekAPI Doubao ERNIEBot Gemini GeminiSDK HuggingFaceChatGLM3 Hunyuan KrGPT LLaMA2AccessoryModel"
            " LightllmChatAPI LiteLLMAPI Llama2 Llama2Chat MiniMax MiniMaxChatCompletionV2 Mistral Mixtral MoonShot"
            " Nanbeige OpenAI OpenAISDK OpenAISDKResponse OpenAISDKRollout OpenAISDKStreaming PanGu Qwen Rendu"
            " SenseTime StepFun TeleChat TeleChatStream UniGPT XunFei XunFeiSpark Yayi YiAPI ZhiPuAI ZhiPuV2AI",
        ),
    ),
    "aisbench": _table(
        (
            _AISBENCH_CHAT,
            "HuggingFaceQwen2VLwithChatTemplate HuggingFacewithChatTemplate QwenImageEditModel VLLMCustomAPIChat"
            " VLLMCustomAPIChatStream VLLMFunctionCallAPIChat VLLMOfflineVLModel VllmMultiturnAPIChatStream",
        ),
        (_PLAIN, "HuggingFaceBaseModel"),
        (
            _TEXT,
            "BaseLMModel BaseModel HuggingFace HuggingFaceCausalLM MindieStreamApi TGICustomAPI TGICustomAPIStream"
            " TritonCustomAPI TritonCustomAPIStream VLLMCustomAPI VLLMCustomAPIStream",
        ),
        (_MESSAGES, "BaseAPIModel HuggingFaceChatGLM3 VITAGenerateAPI"),
    ),
}
"""The rules of each class: harness -> class name -> rules."""

WRAPPERS = frozenset({"CodeAgent", "LagentAgent"})
"""Classes that parse with the model configured under their ``llm`` key."""

_ROOTS = {
    "opencompass": "opencompass",
    "promptpress.opencompass": "opencompass",
    "ais_bench": "aisbench",
    "promptpress.aisbench": "aisbench",
}


def type_paths(value: object) -> list[str]:
    """Return the dotted names for a configuration's ``type``: a name, or a class and its bases; else an empty list."""
    if isinstance(value, str):
        return [value] if value else []
    if isinstance(value, type):
        return [f"{base.__module__}.{base.__qualname__}" for base in value.__mro__]
    dotted = getattr(value, "dotted_path", None)  # mmengine's lazy import
    return [dotted] if isinstance(dotted, str) else []


def last_part(type_: object) -> str:
    """Return the class name of a ``type``, without its module; empty if the ``type`` is no name or class."""
    return next(iter(type_paths(type_)), "").rpartition(".")[2]


def harness_of(path: str) -> str | None:
    """Return the harness of a dotted name, or None if its module is in neither harness."""
    return next((harness for root, harness in _ROOTS.items() if path.startswith(root + ".")), None)


def find_model_class(type_: object, harness: str = "opencompass") -> ModelClass | None:
    """Look up a model class by name, dotted name or class; None if the class is unknown.

    The class name decides. If both harnesses have a class of this name, the module of a dotted name decides, else
    `harness`. For an unknown class, its first known base class is returned.
    """
    for path in type_paths(type_):
        for name in (harness_of(path) or harness, *MODEL_CLASSES):
            model_class = MODEL_CLASSES.get(name, {}).get(path.rpartition(".")[2])
            if model_class is not None:
                return model_class
    return None


def meta_template_of(name: str) -> dict[str, Any] | None:
    """Return the default meta template of a model class named as ``"harness:class"``, or None."""
    harness, colon, type_ = name.partition(":")
    class_name = last_part(type_)
    harnesses = f"(known harnesses: {', '.join(map(repr, MODEL_CLASSES))})"
    if not colon:
        message = f"{name!r} should be '<harness>:<model class>' {harnesses}"
    elif harness not in MODEL_CLASSES:
        message = f"no harness {harness!r} is known {harnesses}"
    elif class_name not in MODEL_CLASSES[harness]:
        hint = did_you_mean(class_name, MODEL_CLASSES[harness])
        message = f"{harness} has no model class {class_name!r}{hint}"
    else:
        meta_template: dict[str, Any] | None = MODEL_CLASSES[harness][class_name].meta_template()
        return meta_template
    raise template_error("unknown_model_class", "meta_template", message)


_MODES: tuple[tuple[Mode, str], ...] = (
    # one prompt a sample and label, the output column filled in
    ("ppl", "PPLInferencer LLInferencer"),
    # one prompt a sample, the output column masked
    ("gen", "GenInferencer ParallelGenInferencer SCInferencer ToTInferencer"),
    ("gen", "CLPInferencer"),  # scores the choices as next tokens of a generation prompt
    # These write down a prompt parsed for generation, but score it parsed for perplexity, where no row stops at the
    # generating role. mode="ppl" with labels=[None] renders the scored prompts.
    ("gen", "PPLOnlyInferencer InferencePPLOnlyInferencer MinKPercentInferencer"),
    ("gen", "SWCELossInferencer"),  # scores the filled prompt as it is, without examples and meta template
    # fills the placeholder adv_key with each candidate instruction; here a column of that name provides it
    ("gen", "AttackInferencer"),
    # whole conversations
    ("gen", "ChatInferencer ParallelChatInferencer AgentInferencer ChatMLInferencer ParallelChatMLInferencer"),
    # AISBench's own
    ("gen", "MultiTurnGenInferencer BFCLV3FunctionCallInferencer LMMGenInferencer"),
)
INFERENCER_MODES: Mapping[str, Mode] = {name: mode for mode, names in _MODES for name in names.split()}
"""The mode of each inferencer of the harnesses. For other inferencers, `Renderer` decides."""

CHAT_INFERENCERS = ("ChatInferencer", "ParallelChatInferencer")
"""Inferencers that need no template because a column contains the chat."""

_COLUMNS = ("input_columns", "output_column")
# Valid keys of the dicts, which are therefore no misspellings of other keys.
_OTHER_KEYS = frozenset({"reader", "eval_cfg", "prompt_template", "ice_template", "input_template", "output_template"})
_TYPED_PARTS = ("prompt_template", "ice_template", "retriever", "inferencer")
# Class names that only AISBench has, so that they identify the harness even without a module.
_ONLY_AISBENCH = frozenset(
    {
        *("BFCLV3FunctionCallInferencer", "LMMGenInferencer", "MMPromptTemplate"),
        *("MultiTurnGenInferencer", "MultiTurnPromptTemplate"),
        *(MODEL_CLASSES["aisbench"].keys() - MODEL_CLASSES["opencompass"].keys()),
    }
)


def renderer_arguments(
    dataset_cfg: Mapping[str, Any],
    model_cfg: Mapping[str, Any] | None = None,
    *,
    warn: Callable[[str], object] | None = None,
    **overrides: Any,
) -> dict[str, Any]:
    """Return the keyword arguments of `promptpress.Renderer` for one dataset dict and one model dict.

    Args:
        dataset_cfg: The dataset dict.
        model_cfg: The model dict.
        warn: A function that gets the text of each warning. Without it, a probable mistake is a
            `promptpress.PromptWarning`, and something that the caller has to do is a `UserWarning`.
        overrides: Arguments of `Renderer` that win over the dicts. `dialect` also decides whose model classes count.

    Raises:
        TemplateError: If a dict lacks a part that prompts need.
    """
    say = _warner(PromptWarning) if warn is None else warn
    inform = _warner(UserWarning) if warn is None else warn
    dataset = _mapping(dataset_cfg, "dataset_cfg", "dataset")
    model = {} if model_cfg is None else _mapping(model_cfg, "model_cfg", "model")
    if "infer_cfg" in model and "infer_cfg" not in dataset:
        raise template_error(
            "wrong_type", "model_cfg", "a dataset dict, and the model's stands first; from_config(dataset, model)"
        )
    infer = _infer_cfg(dataset)
    _refuse_misspelt(dataset, "", ("reader_cfg",))
    _refuse_misspelt(infer, "infer_cfg.", ("prompt_template", "retriever", "inferencer"))
    for key, intended in _misspelt(infer, ("ice_template",)):
        say(f"infer_cfg.{key}: ignored, in the harness and here; did you mean {intended!r}?")
    for key, intended in _misspelt(model, ("meta_template",)):
        say(f"model_cfg.{key}: ignored; did you mean {intended!r}?")
    reader_path, reader = _reader_cfg(dataset, infer)
    if reader is not None:
        _refuse_misspelt(reader, f"{reader_path}.", _COLUMNS)
    arguments: dict[str, Any] = {
        "prompt_template": infer.get("prompt_template"),
        "ice_template": infer.get("ice_template"),
        "retriever": _dict_or_none(infer.get("retriever"), "infer_cfg.retriever", "a dict with a 'type'"),
        "inferencer": _dict_or_none(infer.get("inferencer"), "infer_cfg.inferencer", "a dict with a 'type'"),
        "reader": None if reader is None else {key: reader[key] for key in _COLUMNS if key in reader},
        **overrides,
    }
    chats = last_part(_type(arguments["inferencer"])) in CHAT_INFERENCERS
    if arguments["prompt_template"] is None and arguments["ice_template"] is None and not chats:
        raise template_error(
            "missing_template", "infer_cfg.prompt_template", "missing; a prompt_template or an ice_template is needed"
        )
    if arguments.get("dialect") is None:
        arguments["dialect"] = dialect_of(dataset, model)
    if arguments.get("mode") is None:
        names = (path.rpartition(".")[2] for path in type_paths(_type(arguments["inferencer"])))
        arguments["mode"] = next((INFERENCER_MODES[name] for name in names if name in INFERENCER_MODES), None)
        name = last_part(_type(arguments["inferencer"]))
        if arguments["mode"] is None and name and (close := close_names(name, INFERENCER_MODES, cutoff=0.85)):
            say(f"infer_cfg.inferencer.type: {name!r} is none that promptpress knows; did you mean {close[0]!r}?")
    arguments.update(_model_arguments(model, arguments, say))
    if arguments.get("tokenizer") is not None:
        _add_budget(arguments, model_cfg, say)
    elif any(part.get("max_seq_len") is not None for part in (*_models(model), arguments["inferencer"] or {})):
        inform_of_max_seq_len(inform)
    shots = last_part(_type(arguments["retriever"])) not in ("", "ZeroRetriever")
    if shots and reader is not None and reader.get("train_range"):
        inform(f"{reader_path}.train_range isn't applied: examples= has to hold the rows that it leaves")
    return arguments


def inform_of_max_seq_len(inform: Callable[[str], object] | None = None) -> None:
    """Say that the number of tokens of a configuration isn't applied."""
    message = (
        "max_seq_len isn't applied: no example is dropped and no prompt cut to fit the model; tokenizer= applies it"
    )
    (_warner(UserWarning) if inform is None else inform)(message)


def dialect_of(dataset_cfg: Mapping[str, Any], model_cfg: Mapping[str, Any] | None = None) -> Dialect:
    """Return the harness that the dicts are written for: ``"aisbench"``, else ``"opencompass"``.

    Dotted type names and classes decide, those of the dataset before those of the model. Without dotted names, class
    names that only AISBench has decide.
    """
    infer = dataset_cfg.get("infer_cfg")
    parts = [infer.get(part) for part in _TYPED_PARTS] if isinstance(infer, Mapping) else []
    dataset_types = [_type(part) for part in (dataset_cfg, *parts)]
    model_types = [_type(model) for model in _models(model_cfg)]
    for types in (dataset_types, model_types):
        harnesses = {harness_of(path) for type_ in types for path in type_paths(type_)} - {None}
        if harnesses:
            return "aisbench" if "aisbench" in harnesses else "opencompass"
    is_aisbench = any(last_part(type_) in _ONLY_AISBENCH for type_ in dataset_types + model_types)
    return "aisbench" if is_aisbench else "opencompass"


def _model_arguments(
    model: Mapping[str, Any], arguments: Mapping[str, Any], say: Callable[[str], object]
) -> dict[str, Any]:
    """Return the meta template and the output form: the overridden ones, else those of the model's class."""
    *_, model = _models(model)
    output = arguments.get("output")
    overridden = "meta_template" in arguments
    meta_template = arguments["meta_template"] if overridden else model.get("meta_template") or None
    if "type" not in model:
        return {"meta_template": meta_template, "output": output}
    name = last_part(model["type"])
    if not name:
        raise template_error(
            "wrong_type", "model_cfg.type", f"{model['type']!r} is neither the name of a model class nor a class"
        )
    model_class = find_model_class(model["type"], arguments["dialect"])
    if model_class is None:
        if output is None or (meta_template is None and not overridden):
            say(
                f"model_cfg.type: {name!r} is no model class that promptpress knows"
                f"{did_you_mean(name, chain(*MODEL_CLASSES.values()))}. The meta template's form decides between text"
                " and messages, and no default meta template is assumed; output= and meta_template= say otherwise"
            )
        return {"meta_template": meta_template, "output": output}
    if not overridden:
        if meta_template is not None and not model_class.takes_meta_template:
            say(f"model_cfg.meta_template: {name} ignores it, in the harness and here")
        meta_template = model_class.meta_template(meta_template)
    return {"meta_template": meta_template, "output": model_class.parser if output is None else output}


def _add_budget(arguments: dict[str, Any], model: Mapping[str, Any] | None, say: Callable[[str], object]) -> None:
    """Add the number of tokens to which the harness fits prompts, if there is one."""
    is_harness = arguments.get("fit", "harness") == "harness"
    if model is not None:
        # The harness's task puts the model's number in the place of the inferencer's.
        inferencer = arguments["inferencer"] or {}
        arguments["inferencer"] = {key: value for key, value in inferencer.items() if key != "max_seq_len"} or None
        if arguments.get("max_seq_len") is None:
            arguments["max_seq_len"] = model.get("max_seq_len")
    has_limit = arguments.get("max_seq_len") is not None or "max_seq_len" in (arguments["inferencer"] or {})
    if not has_limit and is_harness:
        return
    *_, model = _models(model)
    if not is_harness or arguments["dialect"] != "opencompass" or "type" not in model:
        return
    model_class, name = find_model_class(model["type"], "opencompass"), last_part(model["type"])
    counted_as = None if model_class is None else model_class.counted_as
    if counted_as == "chat" and arguments.get("chat_template") is None:
        message = (
            f"{name} counts a prompt's tokens as one message of the user in its chat template, and none is given; "
            'ChatTemplate.from_tokenizer makes it; fit="last" counts the prompts themselves'
        )
        raise template_error("missing_key", "chat_template", message)
    if counted_as is None:
        say(
            f"model_cfg.type: {name} counts tokens in its own way, by words or by another library; they are counted "
            "by tokenizer=, so the examples that the harness leaves out may be others"
        )


def _models(model_cfg: Mapping[str, Any] | None) -> Iterator[Mapping[str, Any]]:
    """Yield the model dict and, if its class wraps another model, the dicts inside it."""
    model = {} if model_cfg is None else model_cfg
    yield model
    while last_part(_type(model)) in WRAPPERS and isinstance(model.get("llm"), Mapping):
        model = model["llm"]
        yield model


def _infer_cfg(dataset: Mapping[str, Any]) -> Mapping[str, Any]:
    infer = _dict_or_none(dataset.get("infer_cfg"), "infer_cfg")
    if infer is not None:
        return infer
    _refuse_misspelt(dataset, "", ("infer_cfg",))
    hint = "; put it one level down" if "prompt_template" in dataset or "ice_template" in dataset else ""
    several = next((key for key in dataset if str(key).endswith("datasets")), None)
    if several is not None:
        hint = f"; from_config takes one of a job's datasets, such as cfg[{several!r}][0]"
    keys = ", ".join(map(repr, dataset)) or "no keys"
    message = f"missing; a dataset dict with 'reader_cfg' and 'infer_cfg' is needed, this has {keys}{hint}"
    raise template_error("missing_key", "infer_cfg", message)


def _reader_cfg(dataset: Mapping[str, Any], infer: Mapping[str, Any]) -> tuple[str, Mapping[str, Any] | None]:
    """Return the path and the value of the reader's configuration, which may be in one of four places."""
    values = {
        "reader_cfg": dataset.get("reader_cfg"),
        "infer_cfg.reader_cfg": infer.get("reader_cfg"),
        "infer_cfg.reader": infer.get("reader"),
        "reader": dataset.get("reader"),
    }
    path, reader = next(((path, reader) for path, reader in values.items() if reader is not None), ("reader_cfg", None))
    return path, _dict_or_none(reader, path)


def _misspelt(mapping: Mapping[str, Any], keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each unknown key that resembles a missing one, and the missing key."""
    for key in keys:
        if key not in mapping:
            # The cutoff is above the similarity of `reader_cfg` and `eval_cfg`, and of two kinds of templates.
            for close in close_names(key, [name for name in mapping if isinstance(name, str)], cutoff=0.8):
                if close not in _OTHER_KEYS:
                    yield close, key


def _refuse_misspelt(mapping: Mapping[str, Any], path: str, keys: Iterable[str]) -> None:
    """Raise a TemplateError for a misspelling of a key without which the harness fails too."""
    for close, key in _misspelt(mapping, keys):
        raise template_error("unknown_key", f"{path}{close}", f"unknown; did you mean {key!r}?")


def _dict_or_none(value: Any, path: str, expected: str = "a dict") -> Mapping[str, Any] | None:
    if value is None or isinstance(value, Mapping):
        return value
    raise template_error("wrong_type", path, f"a {type(value).__name__}, not {expected}")


def _mapping(value: object, path: str, what: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    several = isinstance(value, (list, tuple)) and all(isinstance(item, Mapping) for item in value)
    kind = f"a list of {len(value)} {what} dicts" if several else f"a {type(value).__name__}"  # type: ignore[arg-type]
    raise template_error("wrong_type", path, f"{kind}, not one {what} dict")


def _type(part: object) -> object:
    return part.get("type") if isinstance(part, Mapping) else None


def _warner(category: type[Warning]) -> Callable[[str], object]:
    return lambda message: warnings.warn(message, category, stacklevel=callers_level())
