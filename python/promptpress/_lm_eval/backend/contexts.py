"""Contexts: the description, the examples and the question, put together as the harness does."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from promptpress._lm_eval.backend.alike import difference
from promptpress._lm_eval.backend.covered import TASK
from promptpress._lm_eval.backend.drawing import Draws
from promptpress._lm_eval.backend.fields import Fields, is_same_description
from promptpress._lm_eval.backend.pool import example_texts
from promptpress._lm_eval.backend.record import TaskRecord

_CHECKED_ONE_IN = 1024
"""Of so many examples one is made by the harness's steps as well."""

Parts = tuple[Any, Any, Any]
"""A context, the choices and the target of a document."""


class Contexts:
    """What makes the contexts of a task's documents, one after the other.

    Nothing is taken over but the order of the steps: fields and turns are the harness's own. What an example says is
    kept, since it is the same for every document that shows it.

    Args:
        task: The harness's task.
        documents: How many documents.
        num_fewshot: How many examples.
        system_instruction: What goes before the description.
        apply_chat_template: Whether the context is a chat's text.
        fewshot_as_multiturn: Whether examples are turns of the chat.
        chat_template: What makes a text of messages.
    """

    def __init__(
        self,
        task: Any,
        documents: int,
        *,
        num_fewshot: int,
        system_instruction: str | None = None,
        apply_chat_template: bool = False,
        fewshot_as_multiturn: bool = False,
        chat_template: Callable[..., str] | None = None,
    ) -> None:
        module = vars(sys.modules[TASK])
        self._message = module["Message"]
        self._delimited = module["maybe_delimit"]
        self._single_turn = module["multiturn_to_singleturn"]
        self._task = task
        self._fields = Fields(task, task.config)
        self._shot_fields = Fields(task, task.fewshot_cfg) if num_fewshot > 0 else None
        self.shots = num_fewshot
        self.pool: Sequence[dict[str, Any]] = task.sampler.df if num_fewshot else []
        self._system_instruction = system_instruction
        self._as_chat = bool(apply_chat_template and chat_template)
        self._as_turns = fewshot_as_multiturn
        self._chat_template: Any = chat_template
        self._keeps_out = task.fewshot_cfg.split == task.config.test_split
        self._draws = Draws(task.sampler, num_fewshot, documents) if num_fewshot > 0 else None
        self._system: str | None = None
        self._fixed: Any = None
        # A row's identity is its own as long as the sampler holds it, and so long is it kept here.
        self._rows = set(map(id, self.pool))
        self._made: dict[int, Any] = {}
        self._texts: list[str] = []

    def know(self, table: pa.Table, record: TaskRecord) -> bool:
        """Make all examples in bulk, if they are texts; some of them are made by the harness's steps too.

        Args:
            table: The pool.
            record: What is said of the task.

        Returns:
            Whether they are known now.
        """
        texts = None if self._as_chat else example_texts(self._task, table)
        if texts is None:
            return False
        checked = {at for at, row in enumerate(self.pool) if id(row) in self._made}
        for at in checked.union(range(0, len(texts), _CHECKED_ONE_IN)):
            if place := difference(self._text(self._example(self.pool[at])), texts[at]):
                record.left(f"an example's text is another{place}")
                return False
        self._texts = texts
        return True

    def parts(self, doc: dict[str, Any], prefix: str | None) -> Parts:
        """The context of the next document, its choices and its target.

        Args:
            doc: The document.
            prefix: What the answer begins with.
        """
        system = self._system
        if system is None:
            system = self._system_of(doc)
        shots = self._fixed if self._fixed is not None else self._drawn(doc)
        fields = self._fields
        text, choices, target = fields.text(doc), fields.choices(doc), fields.target(doc)
        if self._as_chat:
            messages = [self._message("system", system)] if system else []
            messages += [message for shot in shots for message in shot]
            return self._chat(messages, text, choices, prefix), choices, target
        head = system + shots
        if self._task.multiple_input:
            assert isinstance(choices, list), "multiple inputs require choices to be a list"
            earlier = [self._message("user", head)] if head else []
            return self._task.multiple_input_context(earlier, prefix, choices), choices, target
        if not prefix and isinstance(text, str):
            return head + text, choices, target
        return head + self._text(self._question(text, choices, prefix)), choices, target

    def close(self) -> None:
        """Leave the generator of random numbers where the harness would."""
        if self._draws is not None:
            self._draws.close()

    def _system_of(self, doc: dict[str, Any]) -> str:
        config = self._task.config
        description = self._task.resolve_field(doc, config.description) or ""
        system: str = self._delimited(self._system_instruction, description, config.fewshot_delimiter)
        if is_same_description(config.description, doc):
            self._system = system
        return system

    def _chat(self, messages: list[Any], text: Any, choices: Any, prefix: str | None) -> Any:
        template = partial(self._chat_template, add_generation_prompt=not prefix)
        task = self._task
        if task.multiple_input:
            assert isinstance(choices, list), "multiple inputs require choices to be a list"
            return task.multiple_input_context(
                messages, prefix, choices, chat_template=template, fewshot_as_multiturn=self._as_turns
            )
        messages += self._question(text, choices, prefix)
        return template([one.to_dict() for one in messages] if self._as_turns else self._single_turn(messages))

    def _question(self, text: Any, choices: Any, prefix: str | None) -> list[Any]:
        turn: list[Any] = self._task.build_qa_turn(
            q=text, c=choices, gen_prefix=prefix, tgt_delim=self._task.config.target_delimiter, few_delim=""
        )
        return turn

    def _drawn(self, doc: dict[str, Any]) -> Any:
        """The next draw: the examples' text, or in a chat lists of messages."""
        if self._draws is None:
            return [] if self._as_chat else ""
        own = doc if self._keeps_out else None
        numbers = self._draws.next(own)
        if numbers is not None and self._texts:
            return "".join([self._texts[at] for at in numbers])
        rows = self._draws.asked(own) if numbers is None else [self.pool[at] for at in numbers]
        shots: list[Any] = []
        for row in rows:
            shot: Any = self._made.get(id(row))
            if shot is None:
                turn = self._example(row)
                shot = turn if self._as_chat else self._text(turn)
                if id(row) in self._rows:
                    self._made[id(row)] = shot
            shots.append(shot)
        drawn = shots if self._as_chat else "".join(shots)
        if self._draws.is_fixed and not self._keeps_out:
            self._fixed = drawn
        return drawn

    def _example(self, row: dict[str, Any]) -> list[Any]:
        task, settings, fields = self._task, self._task.fewshot_cfg, self._shot_fields
        assert fields is not None
        text, choices, target = fields.text(row), fields.choices(row), fields.target(row)
        prefix = task.resolve_field(row, settings.gen_prefix)
        if task.multiple_input:
            text, choices = choices[text], None
        turn: list[Any] = task.build_qa_turn(
            q=text,
            c=choices,
            a=target,
            gen_prefix=prefix,
            tgt_delim=settings.target_delimiter,
            few_delim=settings.fewshot_delimiter,
        )
        return turn

    @staticmethod
    def _text(messages: list[Any]) -> str:
        return "".join([message.to_text() for message in messages])
