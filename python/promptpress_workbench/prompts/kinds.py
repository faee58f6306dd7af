"""Kinds of pieces, by which prompts are coloured: their origins, and in chats speakers and control tokens.

A chat that was rendered to one text shows who speaks only by the control tokens of its model. So texts are cut at these
tokens, and each stretch gets the role that speaks there. Tokens in a column's value are marked too, because a model
obeys them, but they change no speaker: the template has its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal, TypeAlias, get_args

from promptpress_workbench.prompts.prompt import Piece, Prompt, Speaker

Kind: TypeAlias = Literal[
    "template", "column", "example", "example_column", "meta", "separator", "masked", "filled", "unknown"
]
"""The kind of the origin of a piece."""

_KIND_OF_SOURCE: dict[str | None, Kind] = {
    None: "unknown",
    "field": "column",
    "ice_template": "example",
    "separator": "separator",
    "masked": "masked",
    "chat_template": "meta",
    "filled_field": "filled",
    "filled_masked": "filled",
    "computed": "column",
    "argument": "column",
    "jinja2": "unknown",
}

_NAMES: dict[Kind, str] = {
    "template": "template",
    "column": "column",
    "example": "example",
    "example_column": "example's column",
    "meta": "meta template",
    "separator": "separator",
    "masked": "masked answer",
    "filled": "filled in from within a value",
    "unknown": "not known",
}

_SOURCE_NAMES = {
    "chat_template": "chat template",
    "prompt_template": "prompt template",
    "ice_template": "example template",
    "separator": "separator",
}
_WHOLE_DESCRIPTIONS = {"computed": "computed from columns", "jinja2": "not known"}

ShownKind: TypeAlias = Kind | Literal["control"] | Speaker
"""The kind of a piece as it is coloured: of its origin, or a control token, or a speaker."""

_BAR = "\uff5c"
"""DeepSeek's tokens are written with a full-width bar."""

_TOKENS_BY_FAMILY = {
    "ChatML": "<|im_start|> <|im_end|>",
    "Qwen": (
        "<|im_start|> <|im_end|> <|endoftext|> <|object_ref_start|> <|object_ref_end|> <|box_start|> <|box_end|> "
        "<|quad_start|> <|quad_end|> <|vision_start|> <|vision_end|> <|vision_pad|> <|vision_bos|> <|vision_eos|> "
        "<|image_pad|> <|video_pad|> <|audio_start|> <|audio_end|> <|audio_pad|> <|audio_bos|> <|audio_eos|> "
        "<|AUDIO|> <|IMAGE|> <|VIDEO|> <|fim_prefix|> <|fim_middle|> <|fim_suffix|> <|fim_pad|> <|repo_name|> "
        "<|file_sep|> <tool_call> </tool_call> <tool_response> </tool_response> <think> </think> "
        "<|think_on|> <|think_off|> <|think_forget|> <|think_remember|>"
    ),
    "Llama 2": "<s> </s> <unk> [INST] [/INST] <<SYS>> <</SYS>>",
    "Llama 3": (
        "<|begin_of_text|> <|end_of_text|> <|start_header_id|> <|end_header_id|> <|eot_id|> <|eom_id|> "
        "<|python_tag|> <|image|> <|finetune_right_pad_id|> <|stop_header_id|>"
    ),
    "Llama 4": (
        "<|begin_of_text|> <|end_of_text|> <|header_start|> <|header_end|> <|eot|> <|eom|> <|python_start|> "
        "<|python_end|> <|image_start|> <|image_end|> <|image|> <|patch|> <|finetune_right_pad|>"
    ),
    "Mistral": (
        "<s> </s> <unk> <pad> [INST] [/INST] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_CALLS] [TOOL_RESULTS] "
        "[/TOOL_RESULTS] [TOOL_CONTENT] [CALL_ID] [ARGS] [SYSTEM_PROMPT] [/SYSTEM_PROMPT] [MODEL_SETTINGS] "
        "[/MODEL_SETTINGS] [THINK] [/THINK] [IMG] [IMG_BREAK] [IMG_END] [AUDIO] [BEGIN_AUDIO] [PREFIX] "
        "[MIDDLE] [SUFFIX]"
    ),
    "Gemma": (
        "<bos> <eos> <pad> <unk> <mask> <start_of_turn> <end_of_turn> <start_of_image> <end_of_image> "
        "<image_soft_token> <start_function_call> <end_function_call> <start_function_response> "
        "<end_function_response> <start_function_declaration> <end_function_declaration> <escape>"
    ),
    "DeepSeek": (
        f"<{_BAR}begin▁of▁sentence{_BAR}> <{_BAR}end▁of▁sentence{_BAR}> <{_BAR}▁pad▁{_BAR}> <{_BAR}User{_BAR}> "
        f"<{_BAR}Assistant{_BAR}> <{_BAR}tool▁calls▁begin{_BAR}> <{_BAR}tool▁calls▁end{_BAR}> "
        f"<{_BAR}tool▁call▁begin{_BAR}> <{_BAR}tool▁call▁end{_BAR}> <{_BAR}tool▁outputs▁begin{_BAR}> "
        f"<{_BAR}tool▁outputs▁end{_BAR}> <{_BAR}tool▁output▁begin{_BAR}> <{_BAR}tool▁output▁end{_BAR}> "
        f"<{_BAR}tool▁sep{_BAR}> <{_BAR}search▁begin{_BAR}> <{_BAR}search▁end{_BAR}> <{_BAR}fim▁hole{_BAR}> "
        f"<{_BAR}fim▁begin{_BAR}> <{_BAR}fim▁end{_BAR}> <{_BAR}latest_reminder{_BAR}> <{_BAR}action{_BAR}> "
        f"<{_BAR}authority{_BAR}> <{_BAR}domain{_BAR}> <{_BAR}query{_BAR}> <{_BAR}read_url{_BAR}> <{_BAR}title{_BAR}> "
        "<|EOT|> <|User|> <|Assistant|> <think> </think> <tool_result> </tool_result>"
    ),
    "Phi": (
        "<|system|> <|user|> <|assistant|> <|end|> <|endoftext|> <|im_start|> <|im_sep|> <|im_end|> <|tool|> <|/tool|> "
        "<|tool_call|> <|/tool_call|> <|tool_response|> <|fim_prefix|> <|fim_middle|> <|fim_suffix|> <|endofprompt|> "
        "<think> </think>"
    ),
    "gpt-oss": (
        "<|start|> <|channel|> <|message|> <|constrain|> <|end|> <|return|> <|call|> <|startoftext|> <|endoftext|> "
        "<|endofprompt|>"
    ),
    "GPT": "<|endoftext|> <|endofprompt|> <|fim_prefix|> <|fim_middle|> <|fim_suffix|>",
    "Command": (
        "<BOS_TOKEN> <EOS_TOKEN> <|START_OF_TURN_TOKEN|> <|END_OF_TURN_TOKEN|> <|SYSTEM_TOKEN|> <|USER_TOKEN|> "
        "<|CHATBOT_TOKEN|> <|START_THINKING|> <|END_THINKING|> <|START_ACTION|> <|END_ACTION|> <|START_RESPONSE|> "
        "<|END_RESPONSE|> <|START_TOOL_RESULT|> <|END_TOOL_RESULT|> <|START_TEXT|> <|END_TEXT|> <|IMG_PATCH|> "
        "<co> </co>"
    ),
    "GLM": (
        "[gMASK] [sMASK] [MASK] <sop> <eop> <|system|> <|user|> <|assistant|> <|observation|> <|endoftext|> "
        "<|begin_of_image|> <|end_of_image|> <tool_call> </tool_call> <tool_response> </tool_response> "
        "<arg_key> </arg_key> <arg_value> </arg_value> <think> </think>"
    ),
    "InternLM": (
        "<|im_start|> <|im_end|> <|action_start|> <|action_end|> <|interpreter|> <|plugin|> <|reward|> <IMG_CONTEXT> "
        "<TS_CONTEXT> <|ts|> <|/ts|> <image> <video> <think> </think>"
    ),
    "Yi": "<|startoftext|> <|endoftext|> <|im_start|> <|im_end|>",
    "MiniCPM": (
        "<|im_start|> <|im_end|> <|thought_start|> <|thought_end|> <|tool_call_start|> <|tool_call_end|> "
        "<|execute_start|> <|execute_end|> <tool_sep> <tool_def_sep>"
    ),
    "Kimi": (
        "<|im_user|> <|im_assistant|> <|im_system|> <|im_middle|> <|im_end|> <|im_msg_end|> "
        "<|im_kimia_user_msg_start|> <|im_kimia_assistant_msg_start|> <|im_kimia_text_eos|> [BOS] [EOS]"
    ),
    "Granite": "<|start_of_role|> <|end_of_role|> <|end_of_text|> <|tool_call|> <|function_call_library|>",
    "Falcon": "<|begin_of_text|> <|end_of_text|> <|endoftext|> <|im_start|> <|im_end|> <|startoftext|>",
    "LFM": (
        "<|startoftext|> <|im_start|> <|im_end|> <|tool_list_start|> <|tool_list_end|> <|tool_call_start|> "
        "<|tool_call_end|> <|tool_response_start|> <|tool_response_end|>"
    ),
    "EXAONE": "[BOS] [|system|] [|user|] [|assistant|] [|endofturn|] [|tool|]",
    "Seed": "<seed:bos> <seed:eos> <seed:think> </seed:think> <seed:tool_call> </seed:tool_call>",
    "Ling": "<|startoftext|> <|endoftext|> <|role_end|> <role> </role>",
    "HyperCLOVA X": (
        "<|im_start|> <|im_end|> <|endofturn|> <|stop|> <|dummy3|> <|_unuse_missing_100270|> <|AUDIO_PAD|> "
        "<|IMAGE_PAD|> <|VIDEO_PAD|> <|DISCRETE_AUDIO_PAD|> <|DISCRETE_IMAGE_PAD|> <|audio_aux_start|> "
        "<|audio_aux_end|> <|audio_meta_duration|> <|video_aux_start|> <|video_aux_end|> <|video_meta_duration|> "
        "<|video_start|> <|video_end|> <|discrete_audio_start|> <|discrete_audio_end|> <|discrete_image_start|> "
        "<|discrete_image_end|> <|mime_start|> <|mime_end|>"
    ),
    "Step": (
        f"<|BOT|> <|EOT|> <im_patch> <{_BAR}tool_calls_begin{_BAR}> <{_BAR}tool_calls_end{_BAR}> "
        f"<{_BAR}tool_call_begin{_BAR}> <{_BAR}tool_call_end{_BAR}> <{_BAR}tool_outputs_begin{_BAR}> "
        f"<{_BAR}tool_outputs_end{_BAR}> <{_BAR}tool_output_begin{_BAR}> <{_BAR}tool_output_end{_BAR}> "
        f"<{_BAR}tool_sep{_BAR}> <steptml:toolcall> </steptml:toolcall>"
    ),
    "Spark": f"<|System|> <|User|> <|Bot|> <|Tool|> <{_BAR}start▁of▁sentence{_BAR}> <{_BAR}end▁of▁sentence{_BAR}>",
    "Apriel": "<|content|> <|tool_result|> <|end|> <|assistant|> <tool_calls> </tool_calls>",
    "MiMo": "<|mimo_audio_start|> <|mimo_audio_end|>",
    "VibeVoice": "<|AUDIO_DURATION|>",
    "VAETKI": "<|role_start|> <|role_end|> <|END|> <tool_start> <tool_end>",
    "A.X": "<|extra_id_13|> <tool_output> </tool_output>",
    "Bielik": "<|function_list|> <|function_output|>",
    "Kanana": "<|NONE|>",
    "OpenBuddy": "<|role|> <|says|> <|end|>",
    "Huginn": "<|begin_header|> <|end_header|> <|begin_of_text|> <|end_text|> <|end_turn|>",
    "H2OVL": "<|prompt|> <|answer|> <|endoftext|>",
    "Grug": (
        "<|start_think|> <|end_think|> <|tool_call|> <|tool_call_end|> <|tool_result|> <|tool_result_end|> "
        "<|start_tool_call|> <|end_tool_call|>"
    ),
    "RWKV": "<|rwkv_tokenizer_end_of_text|>",
    "Yuan": "<sep> <n>",
    "Reka": "<sep>",
    "HiPO": "<think_on> <think_off>",
    "Audio Flamingo": "<sound>",
    "LLaVA": "<image> <video>",
    "BERT": "[CLS] [SEP] [MASK] [PAD] [UNK]",
    "RoBERTa": "<s> </s> <pad> <unk> <mask>",
    "T5": "</s> <pad> <unk>",
    "function calls": "[TOOL_CALL_START]",
}

FAMILIES: dict[str, tuple[str, ...]] = {}
"""The families that have a token, keyed by the token, in the order of the table above."""

for _family, _tokens in _TOKENS_BY_FAMILY.items():
    for _token in _tokens.split():
        FAMILIES[_token] = (*FAMILIES.get(_token, ()), _family)

_LONGEST = max(map(len, FAMILIES))
_CANDIDATE = re.compile(rf"<</?SYS>>|<[^<>\[\]\s]{{1,{_LONGEST}}}>|\[[^<>\[\]\s]{{1,{_LONGEST}}}\]")
"""Texts that look like a control token. An alternation of all tokens takes seconds for a megabyte of angle brackets."""

_ROLE_NAMES: dict[Speaker, str] = {
    "system": "system developer",
    "user": "user human prompt",
    "assistant": "assistant bot chatbot gpt model answer",
    "tool": "tool function observation ipython",
}
ROLES = {name: speaker for speaker, names in _ROLE_NAMES.items() for name in names.split()}
"""Speakers by the names of roles, in lower case."""

_HEADERS = (
    "<|im_start|> <|start_header_id|> <|header_start|> <start_of_turn> <|start|> <|start_of_role|> <|begin_header|> "
    "<role> <|role_start|> <|role|>"
)
"""Tokens before the name of a role."""

_ENDS = (
    "<|im_end|> <|eot_id|> <|eom_id|> <|eot|> <|eom|> <end_of_turn> <|end|> <|return|> <|call|> </s> <eos> "
    "<|endoftext|> <|end_of_text|> <|END_OF_TURN_TOKEN|> <|end_turn|> <|im_msg_end|> <|role_end|> <|endofturn|> "
    "[|endofturn|] [EOS] <\uff5cend▁of▁sentence\uff5c> [/SYSTEM_PROMPT] [/AVAILABLE_TOOLS]"
)
"""Tokens at the end of a turn."""

_SPEAKER_AFTER: dict[str, Speaker | None] = {
    **dict.fromkeys([*_HEADERS.split(), *_ENDS.split()]),
    "[INST]": "user",
    "[/INST]": "assistant",
    "<<SYS>>": "system",
    "<</SYS>>": "user",
    "[SYSTEM_PROMPT]": "system",
    "[AVAILABLE_TOOLS]": "system",
    "[TOOL_RESULTS]": "tool",
    "[/TOOL_RESULTS]": "assistant",
}
"""The speaker after a token. None after the end of a turn."""

for _name in FAMILIES:  # tokens that name a role: <|user|>, <|im_user|>, <|USER_TOKEN|>, [|user|]
    _role = re.fullmatch(r"\W*(?:im_)?(\w+?)(?:_token)?\W*", _name.lower())
    if _role and _role[1] in ROLES and not _name.startswith(("</", "[/", "<|/")):
        _SPEAKER_AFTER.setdefault(_name, ROLES[_role[1]])

_CUT = ("unknown", "template", "column")
"""Kinds of origins that are cut at control tokens. Those of examples and meta templates keep their colours."""

NAMED_NEXT = frozenset(_HEADERS.split())
"""The control tokens after which the name of a role stands."""

_NAME = re.compile(r"\s*(\w+)")


def begins_turn(token: str) -> bool:
    """Return true for a control token of the header of a turn."""
    is_first = token in NAMED_NEXT or _SPEAKER_AFTER.get(token) is not None
    return is_first or re.search("header|message|middle|of_role", token) is not None


def families_of(token: str) -> str:
    """Return the names of up to three families that have a token of `FAMILIES`."""
    families = FAMILIES[token]
    return ", ".join(families[:3]) + (", ..." if len(families) > 3 else "")


def with_speakers(prompt: Prompt) -> Prompt:
    """Cut the pieces of a prompt at control tokens, and give each the role that speaks."""
    if prompt.messages is None:
        pieces = list(_marked(prompt.pieces, None))
        first = next((index for index, piece in enumerate(pieces) if piece.speaker is not None), 0)
        # DeepSeek and others put the system message before the first token of a role.
        pieces[:first] = [piece if piece.is_control else replace(piece, speaker="system") for piece in pieces[:first]]
        return replace(prompt, pieces=tuple(pieces))
    messages = []
    for message in prompt.messages:
        speaker = ROLES.get((message.role or "").lower())
        parts = tuple(replace(part, pieces=tuple(_marked(part.pieces, speaker))) for part in message.parts)
        messages.append(replace(message, pieces=tuple(_marked(message.pieces, speaker)), parts=parts))
    return replace(prompt, messages=tuple(messages))


def _marked(pieces: Iterable[Piece], speaker: Speaker | None) -> Iterator[Piece]:
    waits_for_name = False
    for piece in pieces:
        kind = kind_of(piece)
        if kind not in _CUT:
            yield piece
            continue
        stated = ROLES.get((piece.role or "").lower()) if piece.path is not None else None
        for text, is_control in cut(piece.text):
            if not is_control and waits_for_name and (name := _NAME.match(text)):
                speaker, waits_for_name = ROLES.get(name[1].lower()), False
            yield replace(piece, text=text, is_control=is_control, speaker=stated or speaker)
            if is_control and kind != "column":
                speaker = _SPEAKER_AFTER.get(text, speaker)
                waits_for_name = text in NAMED_NEXT


def cut(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the stretches of a text, each with true if it is a control token; an empty text is one stretch."""
    done = 0
    for match in _CANDIDATE.finditer(text):
        if match.group() not in FAMILIES:
            continue
        if done < match.start():
            yield text[done : match.start()], False
        yield match.group(), True
        done = match.end()
    if done < len(text) or not text:
        yield text[done:], False


def kind_of(piece: Piece) -> Kind:
    """Return the kind of a piece: within an example that of the example, but what was masked or filled in is told."""
    source = piece.source
    if source is not None and source.startswith(("meta_template", "role.")):
        return "meta"
    kind = _KIND_OF_SOURCE.get(source, "template")
    if piece.example is not None and kind not in ("masked", "filled"):
        return "example_column" if kind == "column" else "example"
    return kind


def described(piece: Piece) -> str:
    """Describe the origin of a piece in a few words."""
    kind = kind_of(piece)
    origin = _NAMES[kind]
    if piece.source == "field":
        origin = f"column {piece.column}{piece.path or ''}"
    elif piece.source == "argument":
        origin = f"argument {piece.path or ''}"
    elif piece.source in _WHOLE_DESCRIPTIONS:
        origin = _WHOLE_DESCRIPTIONS[piece.source]
    elif piece.masked:
        masked = f"masked answer, column {piece.column}"
        origin = f"{origin}: {masked}" if kind == "filled" else masked
    elif kind == "filled":
        origin = f"{origin}: column {piece.column}"
    elif piece.source is not None and piece.source != kind:
        origin = _SOURCE_NAMES.get(piece.source) or f"{origin} ({piece.source})"
    example = "" if piece.example is None else f", example {piece.example}"
    return origin + example + ("" if piece.role is None else f", role {piece.role}")


def legend(pieces: Iterable[Piece]) -> list[tuple[Kind, str]]:
    """Return the kinds of pieces with their names and columns; nothing if no origin is known."""
    columns: dict[Kind, dict[str, None]] = {}
    for piece in pieces:
        names = columns.setdefault(kind_of(piece), {})
        if piece.column is not None:
            names[piece.column] = None
    if set(columns) <= {"unknown"}:
        return []
    return [
        (kind, _NAMES[kind] + (f": {', '.join(columns[kind])}" if columns[kind] else ""))
        for kind in get_args(Kind)
        if kind in columns
    ]


def shown_kind(piece: Piece) -> ShownKind:
    """Return the kind of a piece as it is coloured: by speaker if the origin isn't known, or in a conversation."""
    kind = kind_of(piece)
    if piece.is_control:
        return "control"
    is_spoken = kind == "unknown" or (kind == "column" and (piece.path is not None or piece.source == "computed"))
    return piece.speaker if piece.speaker is not None and is_spoken else kind


def caption(piece: Piece) -> str | None:
    """Describe the origin of a piece, and what it is in a chat; None if nothing is known."""
    out = [] if piece.source is None else [described(piece)]
    if piece.is_control:
        out.append(f"control token of {families_of(piece.text)}")
    elif piece.speaker is not None and kind_of(piece) == "unknown":
        out.append(f"role {piece.speaker}")
    return ", ".join(out) or None


def shown_legend(prompts: Iterable[Prompt]) -> list[tuple[ShownKind, str]]:
    """Return the kinds of pieces in some prompts, with their names; nothing if nothing is known."""
    prompts = map(with_speakers, prompts)
    pieces = [piece for prompt in prompts for piece in prompt.all_pieces()]
    kinds = dict.fromkeys(map(shown_kind, pieces))
    of_origins = [piece for piece in pieces if shown_kind(piece) == kind_of(piece)]
    out: list[tuple[ShownKind, str]] = [*legend(of_origins)]
    out += [("control", "control token")] if "control" in kinds else []
    return out + [(speaker, speaker) for speaker in get_args(Speaker) if speaker in kinds]
