"""What stands before a continuation: description, shots and question put together, as plain text or by a chat template."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from promptpress._lm_eval.columns import Constant, values
from promptpress._lm_eval.documents import Documents
from promptpress._lm_eval.task import Task
from promptpress._lm_eval.turns import Turn, conversation, joined, question_and_answer

__all__ = ["ChatTemplate", "contexts"]

ChatTemplate = Callable[..., str]
"""Called with a list of messages and `add_generation_prompt`."""


def contexts(
    task: Task,
    documents: Documents,
    random: Random,
    system_instruction: str | None,
    chat_template: ChatTemplate | None,
    as_turns: bool,
) -> list[Any]:
    """Put together the contexts of documents.

    Args:
        task: The task.
        documents: Those of its documents that are evaluated.
        random: Draws the shots.
        system_instruction: Stands before the description.
        chat_template: Makes a text of messages; None: plain text.
        as_turns: Whether shots are messages of their own in a chat.

    Returns:
        A text for each document; a list of texts, one a choice, where the task has several inputs.

    Raises:
        RenderError: Where the harness raises at a document.
        TemplateError: If there are too few shots to draw from.

    """
    config, count = task.config, len(documents)
    prefixes = values(task.fields.prefix(config.gen_prefix, documents))
    descriptions = values(documents.resolved(config.description))
    drawn: Sequence[Sequence[int]] = [()] * count
    shots: dict[int, list[Turn]] = {}
    if config.num_fewshot:
        drawn = task.drawn(random, documents)
        used = sorted({row for rows in drawn for row in rows})
        shots = dict(zip(used, task.shots(used), strict=True))
    texts = values(task.text(documents))
    choices = values(task.choices(documents) if config.doc_to_choice else Constant(None, count))
    task.target(documents)  # for what it raises
    out: list[Any] = []
    for row in range(count):
        prefix = prefixes[row]
        try:
            system = joined(system_instruction, descriptions[row], config.fewshot_delimiter)
            before = [turn for number in drawn[row] for turn in shots[number]]
            if task.several_inputs:
                if not isinstance(choices[row], list):
                    raise AssertionError("several inputs have to be a list of choices")
                own = [question_and_answer(text, None, None, prefix, "", "") for text in choices[row]]
            else:
                own = [question_and_answer(texts[row], None, None, prefix, config.target_delimiter, "")]
            made = []
            for turns in own:
                if chat_template is None:
                    made.append("".join([system, *[text + behind for _, text, behind in before + turns]]))
                else:
                    messages = conversation(system, before, turns, as_turns)
                    made.append(chat_template(messages, add_generation_prompt=not prefix))
        except Exception as error:
            raise documents.raised(error, row) from error
        out.append(made if task.several_inputs else made[0])
    return out
