"""Contexts before continuations: description, shots and question, put together plainly or by a chat template."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from random import Random
from typing import Any

import pyarrow as pa

from promptpress_harness.lm_eval.chat_contexts import ChatFunction, ManyChats, chat_contexts, chat_function
from promptpress_harness.lm_eval.columns import Column, Constant, values
from promptpress_harness.lm_eval.documents import Documents
from promptpress_harness.lm_eval.plain_contexts import ContextColumns, plain_contexts
from promptpress_harness.lm_eval.row_numbers import as_sequence
from promptpress_harness.lm_eval.shots import (
    conversation,
    drawn_shots,
    join,
    plain_text,
    question_and_answer,
    shot_turns,
)
from promptpress_harness.lm_eval.task import Task


@dataclass(frozen=True)
class Contexts:
    """The contexts of the first document, then those of the second, and so on.

    Args:
        texts: The contexts.
        counts: Number of contexts of each document; None if each has one.
    """

    texts: pa.ChunkedArray
    counts: list[int] | None = None


def build_contexts(
    task: Task,
    documents: Documents,
    random: Random,
    *,
    system_instruction: str | None = None,
    chat_template: ChatFunction | None = None,
    as_turns: bool = False,
) -> Contexts:
    """Return a context for each document, or one for each choice if the task has several inputs.

    The options are those of `requests`; with `as_turns`, shots are messages of their own in a chat.

    Raises:
        TemplateError: If there are too few shots to draw from.
    """
    config = task.config
    chat = chat_function(chat_template)
    prefix = task.fields.prefix(config.gen_prefix, documents)
    system = _system(task, documents, system_instruction)
    shots = drawn_shots(task, task.draw_shots(random, documents)) if config.num_fewshot and len(documents) else None
    text = task.text(documents)
    task.target(documents)  # raises if the harness raises
    bulk_texts = None
    columns = ContextColumns(system, shots, text, prefix)
    if chat is None and not task.several_inputs:
        bulk_texts = plain_contexts(task, columns, len(documents))
    elif isinstance(chat, ManyChats) and not task.several_inputs:
        bulk_texts = chat_contexts(task, columns, len(documents), chat, as_turns)
    if bulk_texts is not None:
        if config.doc_to_choice and config.output_type != "multiple_choice":
            task.choices(documents)  # raises if the harness raises
        return Contexts(bulk_texts)
    choices = task.choices(documents) if config.doc_to_choice else Constant(None, len(documents))
    drawn = () if shots is None else as_sequence(shots.drawn)
    turns = [] if shots is None else shot_turns(task, shots.columns)

    def contexts_of(row: int, system: Any, text: Any, choices: Any, prefix: Any) -> list[str]:
        rows = drawn[row * config.num_fewshot : (row + 1) * config.num_fewshot]
        before = [turn for shot in rows for turn in turns[shot]]
        if not task.several_inputs:
            questions = [question_and_answer(text, None, None, prefix, (config.target_delimiter, ""))]
        elif isinstance(choices, list):
            questions = [question_and_answer(choice, None, None, prefix, ("", "")) for choice in choices]
        else:
            raise AssertionError("several inputs have to be a list of choices")
        if chat is None:
            contexts = ["".join([system or "", plain_text(before + question)]) for question in questions]
        else:
            conversations = [conversation(system, before, question, as_turns) for question in questions]
            contexts = [chat(messages, add_generation_prompt=not prefix) for messages in conversations]
        for context in contexts:
            context.encode()
        return contexts

    lists = documents.each(contexts_of, range(len(documents)), *map(values, (system, text, choices, prefix)))
    texts = pa.chunked_array([pa.array(chain.from_iterable(lists), pa.large_string())])
    return Contexts(texts, list(map(len, lists)) if task.several_inputs else None)


def _system(task: Task, documents: Documents, instruction: str | None) -> Column:
    """Return the texts before everything else: the instruction and the description."""
    description = documents.resolve(task.config.description)
    if not instruction and not isinstance(description, list):
        return description
    is_constant = isinstance(description, Constant)
    descriptions = [description.value] if isinstance(description, Constant) else values(description)
    texts = documents.each(lambda text: join(instruction, text, task.config.fewshot_delimiter), descriptions)
    return Constant(texts[0], len(documents)) if is_constant else texts
