"""The harnesses' model classes: what each makes of a prompt before its model sees it.

A harness picks two things by the class named in a model configuration. One is the parser: language models get one
text, chat and API models get messages. The other is the meta template that holds when the configuration gives none:
most classes have none, the chat-template classes bring their own. Both are recorded here by class name, as of
OpenCompass 0.5.4 and AISBench 3.1.20260630.

What a model does after parsing (its tokenizer's chat template, role names of a vendor's API, cutting to a token
limit) is outside: promptpress ends where the harness's ``parse_template`` ends.
"""

from __future__ import annotations

import copy
import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = [
    "MODEL_CLASSES",
    "WRAPPERS",
    "ModelClass",
    "find_model_class",
    "harness_of",
    "last_part",
    "meta_template_of",
    "type_paths",
]


@dataclass(frozen=True)
class ModelClass:
    """How one model class of a harness turns prompt lists into requests."""

    parser: Literal["text", "messages"]
    """The parser, by the name of the output that it gives."""
    default_meta_template: Mapping[str, Any] | None = None
    """What holds where the configuration gives no meta template (an empty one counts as none)."""
    takes_meta_template: bool = True
    """Whether a given meta template has any effect."""

    def meta_template(self, given: Any = None) -> Any:
        """Return the meta template in effect where the configuration says `given`.

        >>> MODEL_CLASSES["opencompass"]["VLLM"].meta_template({"round": []})
        {'round': []}
        >>> MODEL_CLASSES["opencompass"]["HuggingFaceBaseModel"].meta_template({"round": []}) is None
        True
        """
        if given and self.takes_meta_template:
            return given
        return copy.deepcopy(self.default_meta_template)


# OpenCompass's chat-template classes turn system turns into the user's on purpose; AISBench's keep them apart and
# only outside the rounds. Hence the same class name has a different default in each harness.
_OPENCOMPASS_CHAT = ModelClass(
    "messages",
    {
        "round": [
            {"role": "HUMAN", "api_role": "HUMAN"},
            {"role": "SYSTEM", "api_role": "HUMAN"},
            {"role": "BOT", "api_role": "BOT", "generate": True},
        ]
    },
)
_AISBENCH_CHAT = ModelClass(
    "messages",
    {
        "round": [
            {"role": "HUMAN", "api_role": "HUMAN"},
            {"role": "BOT", "api_role": "BOT", "generate": True},
        ],
        "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}],
    },
)
_TEXT = ModelClass("text")
_MESSAGES = ModelClass("messages")
_PLAIN = ModelClass("text", takes_meta_template=False)  # base models: turns are joined by newlines, come what may


def _table(*groups: tuple[ModelClass, str]) -> dict[str, ModelClass]:
    return {name: model for model, names in groups for name in names.split()}


# Being served over a network says nothing about the parser: TurboMindAPIModel, LightllmAPI and AISBench's completion
# endpoints parse to text, and the locally loaded Llama2, Mixtral and ChatGLM3 wrappers parse to messages.
MODEL_CLASSES: Mapping[str, Mapping[str, ModelClass]] = {
    "opencompass": _table(
        (_OPENCOMPASS_CHAT, "HuggingFacewithChatTemplate TurboMindModelwithChatTemplate VLLMwithChatTemplate"),
        (_PLAIN, "HuggingFaceBaseModel"),
        (
            _TEXT,
            "AlayaLM BaseModel GLM130B HuggingFace HuggingFaceCausalLM InternLM InternTrain LightllmAPI ModelScope"
            " ModelScopeCausalLM TurboMindAPIModel TurboMindModel VLLM"
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
"""Harness -> class name -> what is known of the class."""

WRAPPERS = frozenset({"CodeAgent", "LagentAgent"})
"""Classes that parse with the model configured under their ``llm`` key."""


_ROOTS = {
    "opencompass": "opencompass",
    "promptpress.opencompass": "opencompass",
    "ais_bench": "aisbench",
    "promptpress.aisbench": "aisbench",
}


def type_paths(value: object) -> list[str]:
    """Return the dotted names that a configuration's ``type`` stands for: a class's own, then those of its bases.

    Empty for what is neither a name nor a class.

    >>> type_paths("VLLM"), type_paths(bool), type_paths(3)
    (['VLLM'], ['builtins.bool', 'builtins.int', 'builtins.object'], [])
    """
    if isinstance(value, str):
        return [value] if value else []
    if isinstance(value, type):
        return [f"{base.__module__}.{base.__qualname__}" for base in value.__mro__]
    dotted = getattr(value, "dotted_path", None)  # an import that mmengine put off
    return [dotted] if isinstance(dotted, str) else []


def last_part(type_: object) -> str:
    """Return the part of a ``type`` that decides, what follows the last dot; empty if it is no name or class.

    >>> last_part("opencompass.models.VLLM"), last_part(dict), last_part(None)
    ('VLLM', 'dict', '')
    """
    return next(iter(type_paths(type_)), "").rpartition(".")[2]


def harness_of(path: str) -> str | None:
    """Return the harness that a dotted name is from, None where it doesn't show.

    >>> harness_of("ais_bench.benchmark.models.VLLMCustomAPI"), harness_of("VLLMCustomAPI")
    ('aisbench', None)
    """
    return next((harness for root, harness in _ROOTS.items() if path.startswith(root + ".")), None)


def find_model_class(type_: object, harness: str = "opencompass") -> ModelClass | None:
    """Look up a model class by name, dotted name or class; None if it isn't known.

    The last part of a name decides. Between two classes of one name it is the harness that the dotted name begins
    with, else `harness`. A class that isn't known itself is taken for the nearest of its base classes that is.

    >>> find_model_class("my_fork.models.VLLM").parser
    'text'
    >>> find_model_class("VLLMCustomAPIChat", "aisbench").parser
    'messages'
    >>> find_model_class("HuggingFacewithChatTemplate", "aisbench") == find_model_class("HuggingFacewithChatTemplate")
    False
    """
    for path in type_paths(type_):
        own = harness_of(path) or harness
        for other in (own, *MODEL_CLASSES):
            found = MODEL_CLASSES.get(other, {}).get(path.rpartition(".")[2])
            if found is not None:
                return found
    return None


def meta_template_of(name: str) -> dict[str, Any] | None:
    """Return the default meta template of a model class given as ``"harness:class"``; None if it has none.

    >>> meta_template_of("aisbench:VLLMCustomAPIChat")["reserved_roles"]
    [{'role': 'SYSTEM', 'api_role': 'SYSTEM'}]
    >>> meta_template_of("aisbench:VLLMCustomAPI") is None
    True
    """
    harness, colon, type_ = name.partition(":")
    if not colon:
        raise template_error(
            "unknown_model_class",
            "meta_template",
            f"{name!r} should be '<harness>:<model class>'{_known(MODEL_CLASSES)}",
        )
    if harness not in MODEL_CLASSES:
        raise template_error(
            "unknown_model_class", "meta_template", f"no harness {harness!r} is known{_known(MODEL_CLASSES)}"
        )
    table = MODEL_CLASSES[harness]
    class_name = last_part(type_)
    if class_name not in table:
        hint = did_you_mean(class_name, table)
        raise template_error(
            "unknown_model_class", "meta_template", f"{harness} has no model class {class_name!r}{hint}"
        )
    found: dict[str, Any] | None = table[class_name].meta_template()
    return found


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message: the known name closest to `name`, or nothing.

    >>> did_you_mean("VLLMwithChattemplate", MODEL_CLASSES["opencompass"])
    "; did you mean 'VLLMwithChatTemplate'?"
    """
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.75)
    return f"; did you mean {close[0]!r}?" if close else ""


def template_error(code: str, path: str, message: str) -> ValueError:
    """Return the error for a fault of the configuration at `path`, to be raised."""
    from promptpress import _errors  # noqa: PLC0415  (the tables are of use without the compiled core)

    return _errors.template_error(code, path, message)


def _known(names: Iterable[str]) -> str:
    return f" (known harnesses: {', '.join(map(repr, names))})"
