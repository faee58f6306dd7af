"""What stands before continuations: description, shots and question put together, plainly or by a chat template."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa

from promptpress._lm_eval.chat_contexts import chat_contexts
from promptpress._lm_eval.chat_templates import ChatFunction, ManyChats, chat_function
from promptpress._lm_eval.columns import Column, Constant, values
from promptpress._lm_eval.documents import Documents
from promptpress._lm_eval.plain_contexts import plain_contexts
from promptpress._lm_eval.row_numbers import as_sequence
from promptpress._lm_eval.shots import drawn_shots, shot_turns
from promptpress._lm_eval.task import Task
from promptpress._lm_eval.turns import Turn, conversation, joined, question_and_answer

__all__ = ["Contexts", "contexts"]


@dataclass(frozen=True)
class Contexts:
    """The contexts of documents: one for each, or several for each in a row.

    Args:
        texts: All of them.
        counts: How many each document has; None: one.

    """

    texts: pa.ChunkedArray
    counts: list[int] | None = None


def contexts(
    task: Task,
    documents: Documents,
    random: Random,
    *,
    system_instruction: str | None = None,
    chat_template: ChatFunction | None = None,
    as_turns: bool = False,
) -> Contexts:
    """Put together the contexts of documents.

    Args:
        task: The task.
        documents: Those of its documents that are evaluated.
        random: Draws the shots.
        system_instruction: Stands before the description.
        chat_template: Makes a text of messages; None: plain text.
        as_turns: Whether shots are messages of their own in a chat.

    Returns:
        A text for each document; one for each choice, where the task has several inputs.

    Raises:
        RenderError: Where the harness raises at a document.
        TemplateError: If there are too few shots to draw from.

    """
    config = task.config
    chat = chat_function(chat_template)
    prefix = task.fields.prefix(config.gen_prefix, documents)
    system = _system(task, documents, system_instruction)
    shots = drawn_shots(task, task.drawn(random, documents)) if config.num_fewshot and len(documents) else None
    text = task.text(documents)
    task.target(documents)  # for what it raises
    if not task.several_inputs and (chat is None or isinstance(chat, ManyChats)):
        if chat is None:
            made = plain_contexts(task, documents, shots, system=system, text=text, prefix=prefix)
        else:
            said = {"system": system, "text": text, "prefix": prefix}
            made = chat_contexts(task, documents, shots, **said, template=chat, as_turns=as_turns)
        if made is not None:
            if config.doc_to_choice and config.output_type != "multiple_choice":
                task.choices(documents)  # likewise
            return Contexts(made)
    choices = task.choices(documents) if config.doc_to_choice else Constant(None, len(documents))
    drawn = () if shots is None else as_sequence(shots.drawn)
    turns = [] if shots is None else shot_turns(task, shots.columns)
    maker = _Maker(task, chat, as_turns)
    rows = zip(values(system), values(text), values(choices), values(prefix), strict=True)
    texts: list[str] = []
    counts = []
    shots_each = config.num_fewshot
    for row, (own_system, own_text, own_choices, own_prefix) in enumerate(rows):
        try:
            before = [turn for at in drawn[row * shots_each : (row + 1) * shots_each] for turn in turns[at]]
            own = maker.questions(own_text, own_choices, own_prefix)
            made = [maker.context(own_system, before, question, own_prefix) for question in own]
            for context in made:
                context.encode()
            texts += made
        except Exception as error:
            raise documents.raised(error, row) from error
        counts.append(len(made))
    array_of = pa.chunked_array([pa.array(texts, pa.large_string())])
    return Contexts(array_of, counts if task.several_inputs else None)


def _system(task: Task, documents: Documents, instruction: str | None) -> Column:
    """Return what stands before everything else: instruction and description."""
    description = documents.resolved(task.config.description)
    delimiter = task.config.fewshot_delimiter
    if not instruction and not isinstance(description, list):
        return description
    rows = [description.value] if isinstance(description, Constant) else values(description)
    out = []
    for row, own in enumerate(rows):
        try:
            out.append(joined(instruction, own, delimiter))
        except Exception as error:
            raise documents.raised(error, row) from error
    return Constant(out[0], description.length) if isinstance(description, Constant) else out


@dataclass(frozen=True)
class _Maker:
    """Contexts, one by one."""

    task: Task
    chat: Callable[..., str] | None
    as_turns: bool

    def questions(self, text: Any, choices: Any, prefix: Any) -> list[list[Turn]]:
        """Return the messages of a document itself; several times, if it has several inputs."""
        if not self.task.several_inputs:
            return [question_and_answer(text, None, None, prefix, (self.task.config.target_delimiter, ""))]
        if not isinstance(choices, list):
            raise AssertionError("several inputs have to be a list of choices")
        return [question_and_answer(choice, None, None, prefix, ("", "")) for choice in choices]

    def context(self, system: Any, before: list[Turn], own: list[Turn], prefix: Any) -> str:
        """Return one context."""
        if self.chat is None:
            return "".join([system or "", *[text + behind for _, text, behind in before + own]])
        messages = conversation(system, before, own, self.as_turns)
        return self.chat(messages, add_generation_prompt=not prefix)
