"""The model classes of the harnesses, with the parser and the default meta template of each.

A harness picks two things by the class name in a model configuration. One is the parser: language models get one text,
chat and API models get messages. The other is the meta template for a configuration without one: most classes have
none, the chat-template classes bring their own. The tables are as of OpenCompass 0.5.4 and AISBench 3.1.20260630.

What a model does after parsing (the tokenizer's chat template, role names of a vendor's API, cutting to a token limit)
is not part of promptpress, which ends where the harness's ``parse_template`` ends.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from promptpress._errors.errors import template_error
from promptpress._errors.suggestions import did_you_mean


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
