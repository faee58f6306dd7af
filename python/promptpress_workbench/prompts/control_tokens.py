"""Control tokens of well-known model families, from their tokenizers and chat templates."""

from __future__ import annotations

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

_MAX_NAMES = 3


def families_of(token: str) -> str:
    """Return the names of up to three families that have a token of `FAMILIES`."""
    families = FAMILIES[token]
    return ", ".join(families[:_MAX_NAMES]) + (", ..." if len(families) > _MAX_NAMES else "")
