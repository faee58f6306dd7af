"""Contexts put together as the harness does: the description, examples, which are drawn in bulk, and the question."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from operator import itemgetter
from random import Random
from typing import Any

import pyarrow as pa
from promptpress import RenderError, TemplateError

from promptpress_harness.lm_eval.backend.tasks import BLOCK, SAMPLERS, TASK, TaskRecord, difference
from promptpress_harness.lm_eval.backend.texts import MODULE, is_default_environment
from promptpress_harness.lm_eval.documents import TableDocuments, as_sequence, constant_text, renderer_of
from promptpress_harness.lm_eval.fields import Fields, list_or_text, literal, number_list_or_text, number_or_text
from promptpress_harness.lm_eval.shots import plain_texts, shot_columns
from promptpress_harness.lm_eval.task import draw


def example_texts(task: Any, table: pa.Table) -> list[str] | None:
    """Return the examples of a pool as plain texts, or None if only the harness's own steps show what they are."""
    config, fewshot = task.config, task.fewshot_cfg
    settings = (
        *(config.doc_to_text, config.doc_to_target),
        *(fewshot.doc_to_text, fewshot.doc_to_target, fewshot.doc_to_choice),
    )
    if fewshot.gen_prefix or task.multiple_input or any(_needs_jinja2(setting, task.features) for setting in settings):
        return None
    try:
        fields = Fields(task.features, config.doc_to_choice is not None)
        columns = shot_columns(fields, config, fewshot, TableDocuments(table, "few-shot document"))
        texts = None if columns.plain is None else plain_texts(columns.plain, fewshot)
    except (RenderError, TemplateError):
        return None  # the harness raises, or not, when it comes to that row
    return None if texts is None else texts.to_pylist()


def _needs_jinja2(setting: Any, names: Sequence[str]) -> bool:
    if type(setting) is not str or setting in names or constant_text(setting) is not None:
        return False
    render, reason = renderer_of(setting)
    return render is None or bool(reason)


class BulkSampler:
    """Draws `count` examples for each document, in order, as one of the harness's two samplers does."""

    def __init__(self, sampler: Any, count: int, documents: int) -> None:
        self._sampler = sampler
        self._count = count
        self._remaining = documents
        self.is_first_n = type(sampler) is vars(sys.modules[SAMPLERS])["FirstNSampler"]
        is_covered = type(sampler.rnd) is Random and bool(sampler.df) and not sampler.fewshot_indices
        self._needs_sampler = not is_covered or count <= 0
        self._size = 0
        self._rows: list[int] = []
        self._used = 0
        self._state: Any = None

    def next(self, doc: dict[str, Any] | None) -> list[int] | None:
        """Return the examples of the next document, as numbers of the sampler's rows; None if `sample` has to draw.

        The document is passed only if it must not be its own example.
        """
        self._remaining -= 1
        pool, count = self._sampler.df, self._count
        size = count + 1 if doc else count
        if self._needs_sampler or size > len(pool):
            return None
        if self.is_first_n:
            if doc is None:
                return None
            rows = list(islice((number for number, row in enumerate(pool) if row != doc), count))
            return rows if len(rows) == count else None
        if size != self._size or self._used * size == len(self._rows):
            self._draw_block(size)
        start = self._used * size
        self._used += 1
        rows = self._rows[start : start + size]
        if doc:
            rows = [number for number in rows if pool[number] != doc][:count]
            if len(rows) < count:
                # More than one row that equals the document was drawn.
                self.close()
                rows = self._sampler.rnd.sample([number for number, row in enumerate(pool) if row != doc], count)
        return rows

    def sample(self, doc: dict[str, Any] | None) -> Sequence[dict[str, Any]]:
        """Return the rows that the harness's sampler draws; `doc` is as for `next`."""
        self.close()
        rows: Sequence[dict[str, Any]] = self._sampler.sample(n=self._count, eval_doc=doc)
        return rows

    def close(self) -> None:
        """Leave the sampler's generator in the state after drawing for each document by itself."""
        if self._state is not None and self._used * self._size < len(self._rows):
            self._sampler.rnd.setstate(self._state)
            if self._used:
                draw(self._sampler.rnd, len(self._sampler.df), self._size, None, self._used)
        self._rows, self._used, self._state = [], 0, None

    def _draw_block(self, size: int) -> None:
        self.close()
        self._size = size
        self._state = self._sampler.rnd.getstate()
        count = max(1, min(BLOCK, self._remaining + 1))
        self._rows = list(as_sequence(draw(self._sampler.rnd, len(self._sampler.df), size, None, count)))


_CHECK_INTERVAL = 1024
"""One of so many examples is also made by the harness's steps."""

Parts = tuple[Any, Any, Any]
"""A context, the choices and the target of a document."""


class FieldReaders:
    """Functions that read a document's fields, equal to the harness's methods.

    The configuration, which is the task's or that of its examples, is looked at only once.
    """

    def __init__(self, task: Any, settings: Any) -> None:
        names, config = task.features, task.config
        has_choices = config.doc_to_choice is not None
        text = config.doc_to_text if settings.doc_to_text is None else settings.doc_to_text
        target = config.doc_to_target if settings.doc_to_target is None else settings.doc_to_target
        choices = settings.doc_to_choice or None
        if isinstance(choices, dict):
            choices = list(choices.values())
        self.text = _reader(text, names, int, number_or_text if has_choices else None)
        self.target = _reader(target, names, (int, list), number_list_or_text if has_choices else list_or_text)
        self.choices = _reader(choices, names, (type(None), list), literal)
        """Reads all answers; returns None if there are no choices."""


def _reader(setting: Any, names: list[str], constant: Any, parse: Callable[[str], Any] | None) -> Callable[[Any], Any]:
    """Return the reader of a field: of a constant, a column, or a value parsed from a template's text."""
    if isinstance(setting, constant):
        return lambda _: setting
    if setting in names:
        return itemgetter(setting)
    templates: Any = sys.modules[MODULE]
    if parse is None:
        return lambda doc: templates.apply_template(setting, doc)
    return lambda doc: parse(templates.apply_template(setting, doc))


class ContextBuilder:
    """Builds the contexts of a task's documents, one after the other.

    Only the order of the steps is written again here; fields and turns are the harness's own. The text or turns of an
    example are kept, because they are the same for every document that shows it. The options are those of the harness's
    `fewshot_context`.
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
        self._fields = FieldReaders(task, task.config)
        self._shot_fields = FieldReaders(task, task.fewshot_cfg) if num_fewshot > 0 else None
        self.shots = num_fewshot
        self.pool: Sequence[dict[str, Any]] = task.sampler.df if num_fewshot else []
        self._system_instruction = system_instruction
        self._as_chat = bool(apply_chat_template and chat_template)
        self._as_turns = fewshot_as_multiturn
        self._chat_template: Any = chat_template
        self._excludes_document = task.fewshot_cfg.split == task.config.test_split
        self._sampler = BulkSampler(task.sampler, num_fewshot, documents) if num_fewshot > 0 else None
        self._constant_system: str | None = None
        self._constant_shots: Any = None
        # Examples are kept by the identities of rows, which are valid as long as the sampler holds the rows.
        self._row_ids = set(map(id, self.pool))
        self._examples: dict[int, Any] = {}
        self._example_texts: list[str] = []

    def prepare_examples(self, table: pa.Table, record: TaskRecord) -> bool:
        """Make all examples in bulk if they are texts, and return true unless some differ from the harness's steps."""
        texts = None if self._as_chat else example_texts(self._task, table)
        if texts is None:
            return False
        checked = {number for number, row in enumerate(self.pool) if id(row) in self._examples}
        for number in checked.union(range(0, len(texts), _CHECK_INTERVAL)):
            if path := difference(_text(self._example(self.pool[number])), texts[number]):
                record.left(f"an example's text is another{path}")
                return False
        self._example_texts = texts
        return True

    def parts(self, doc: dict[str, Any], prefix: str | None) -> Parts:
        """Return the context of the next document, its choices and its target; `prefix` begins the answer."""
        system = self._constant_system
        if system is None:
            system = self._system(doc)
        shots = self._constant_shots if self._constant_shots is not None else self._draw_shots(doc)
        fields = self._fields
        text, choices, target = fields.text(doc), fields.choices(doc), fields.target(doc)
        if self._as_chat:
            messages = [self._message("system", system)] if system else []
            messages += [message for shot in shots for message in shot]
            return self._chat(messages, text, choices, prefix), choices, target
        before = system + shots
        if self._task.multiple_input:
            assert isinstance(choices, list), "multiple inputs require choices to be a list"
            messages = [self._message("user", before)] if before else []
            return self._task.multiple_input_context(messages, prefix, choices), choices, target
        if not prefix and isinstance(text, str):
            return before + text, choices, target
        return before + _text(self._question(text, choices, prefix)), choices, target

    def close(self) -> None:
        """Leave the generator of random numbers in the state in which the harness would leave it."""
        if self._sampler is not None:
            self._sampler.close()

    def _system(self, doc: dict[str, Any]) -> str:
        config = self._task.config
        source = config.description
        description = self._task.resolve_field(doc, source) or ""
        system: str = self._delimited(self._system_instruction, description, config.fewshot_delimiter)
        is_text = not source or ("{" not in source and source not in doc)
        if is_text and (not source or is_default_environment(vars(sys.modules[MODULE])["env"])):
            self._constant_system = system
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
        return template([item.to_dict() for item in messages] if self._as_turns else self._single_turn(messages))

    def _question(self, text: Any, choices: Any, prefix: str | None) -> list[Any]:
        turn: list[Any] = self._task.build_qa_turn(
            q=text, c=choices, gen_prefix=prefix, tgt_delim=self._task.config.target_delimiter, few_delim=""
        )
        return turn

    def _draw_shots(self, doc: dict[str, Any]) -> Any:
        """Return the examples of the next draw: their text, or in a chat a list of messages for each."""
        if self._sampler is None:
            return [] if self._as_chat else ""
        excluded = doc if self._excludes_document else None
        numbers = self._sampler.next(excluded)
        if numbers is not None and self._example_texts:
            return "".join([self._example_texts[number] for number in numbers])
        rows = self._sampler.sample(excluded) if numbers is None else [self.pool[number] for number in numbers]
        shots: list[Any] = []
        for row in rows:
            shot: Any = self._examples.get(id(row))
            if shot is None:
                turn = self._example(row)
                shot = turn if self._as_chat else _text(turn)
                if id(row) in self._row_ids:
                    self._examples[id(row)] = shot
            shots.append(shot)
        drawn = shots if self._as_chat else "".join(shots)
        if self._sampler.is_first_n and not self._excludes_document:
            self._constant_shots = drawn
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


def _text(messages: list[Any]) -> str:
    return "".join([message.to_text() for message in messages])
