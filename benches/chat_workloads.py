"""Chat templates and conversations. The templates are our own, in the formats that models of these names know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from texts import SHOTS, word_problems

CHATML = """\
{%- for message in messages -%}
<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% endif -%}
"""

LLAMA3 = """\
{{- bos_token -}}
{%- if messages[0].role == 'system' -%}
    {%- set system = messages[0].content.strip() -%}
    {%- set rest = messages[1:] -%}
{%- else -%}
    {%- set system = '' -%}
    {%- set rest = messages -%}
{%- endif -%}
{{- '<|start_header_id|>system<|end_header_id|>\\n\\nToday Date: ' ~ (date_string or '1 Jan 2026') ~ '\\n\\n' -}}
{{- system ~ '<|eot_id|>' -}}
{%- for message in rest -%}
    {{- '<|start_header_id|>' ~ message.role ~ '<|end_header_id|>\\n\\n' ~ (message.content | trim) ~ '<|eot_id|>' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}
{%- endif -%}
"""

# An answer's thoughts are kept only behind the last question that a user, and not a tool, has asked.
QWEN3 = """\
{%- if messages[0].role == 'system' -%}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' -}}
{%- endif -%}
{%- set asked = namespace(at=messages | length - 1, open=true) -%}
{%- for message in messages | reverse -%}
    {%- set at = messages | length - loop.index -%}
    {%- set is_tool = message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>') -%}
    {%- if asked.open and message.role == 'user' and message.content is string and not is_tool -%}
        {%- set asked.open = false -%}
        {%- set asked.at = at -%}
    {%- endif -%}
{%- endfor -%}
{%- for message in messages -%}
    {%- set said = message.content if message.content is string else '' -%}
    {%- if message.role == 'user' or (message.role == 'system' and loop.index0) -%}
        {{- '<|im_start|>' + message.role + '\\n' + said + '<|im_end|>\\n' -}}
    {%- elif message.role == 'assistant' -%}
        {%- set thoughts = '' -%}
        {%- if message.reasoning_content is string -%}
            {%- set thoughts = message.reasoning_content -%}
        {%- elif '</think>' in said -%}
            {%- set thoughts = said.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') -%}
            {%- set said = said.split('</think>')[-1].lstrip('\\n') -%}
        {%- endif -%}
        {%- if loop.index0 > asked.at and (loop.last or thoughts) -%}
            {%- set said = '<think>\\n' + thoughts.strip('\\n') + '\\n</think>\\n\\n' + said.lstrip('\\n') -%}
        {%- endif -%}
        {{- '<|im_start|>assistant\\n' + said + '<|im_end|>\\n' -}}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- '<|im_start|>assistant\\n' -}}
    {%- if enable_thinking is defined and enable_thinking is false -%}
        {{- '<think>\\n\\n</think>\\n\\n' -}}
    {%- endif -%}
{%- endif -%}
"""

SYSTEM = "You are a careful teacher. Solve the problem step by step, then give the answer."


@dataclass(frozen=True)
class ChatWorkload:
    """A template, what it is given, and a million of such conversations."""

    id: str
    source: str
    shots: int
    variables: dict[str, Any]


CHAT_WORKLOADS = [
    ChatWorkload("chatml", CHATML, 0, {}),
    ChatWorkload("llama3", LLAMA3, 0, {"bos_token": "<|begin_of_text|>"}),
    ChatWorkload("qwen3", QWEN3, 0, {}),
    ChatWorkload("chatml-5", CHATML, SHOTS, {}),
    ChatWorkload("llama3-5", LLAMA3, SHOTS, {"bos_token": "<|begin_of_text|>"}),
    ChatWorkload("qwen3-5", QWEN3, SHOTS, {}),
]
CHATS_BY_ID = {workload.id: workload for workload in CHAT_WORKLOADS}

ROWS = {0: 300_000, SHOTS: 60_000}
"""Rows of a round of promptpress, by the number of shots."""


def conversations(shots: int, count: int) -> pa.Table:
    """A system message, so many questions with answers, and a question: `messages`."""
    problems = word_problems("train")
    question, answer = (problems[name].combine_chunks() for name in ("question", "answer"))
    system = pa.array([SYSTEM])
    pool = pa.concat_arrays([system, question, answer])
    total, each, contents = problems.num_rows, 2 * shots + 2, []
    for row in range(count):
        contents.append(0)
        for shot in range(shots):
            position = (row * 7 + shot * 13) % total
            contents += [1 + position, 1 + total + position]
        contents.append(1 + row % total)
    roles = pa.DictionaryArray.from_arrays(
        pa.array([0, *[1, 2] * shots, 1] * count, pa.int32()), pa.array(["system", "user", "assistant"])
    ).dictionary_decode()
    messages = pa.StructArray.from_arrays([roles, pool.take(pa.array(contents, pa.int32()))], ["role", "content"])
    return pa.table(
        {"messages": pa.ListArray.from_arrays(pa.array(range(0, each * count + 1, each), pa.int32()), messages)}
    )
