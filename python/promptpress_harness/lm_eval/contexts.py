"""Contexts before continuations: description, shots and question, put together plainly or by a chat template.

Plain contexts are made in bulk: the text of each shot is made once, and the core copies all pieces into the contexts.
So are chats, whose conversations are laid out in Arrow and rendered by a compiled chat template.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias, Union, cast

import pyarrow as pa
from promptpress import Renderer, RenderError
from promptpress.engine.tables import lazy_compute as pc

from promptpress_harness.lm_eval.documents import Column, Constant, Documents, Texts, as_array, as_sequence, values
from promptpress_harness.lm_eval.shots import (
    DrawnShots,
    conversation,
    drawn_shots,
    join,
    plain_text,
    question_and_answer,
    shot_texts,
    shot_turns,
)
from promptpress_harness.lm_eval.task import Task

if TYPE_CHECKING:
    from promptpress import ChatTemplate
    from promptpress.engine.templates import ChatRenderer

# A mark that no text of a configuration holds by accident. If one holds it, contexts are made one by one.
_MARK = "\uf8ff"
_SHOTS = f"{_MARK}shots{_MARK}"


@dataclass(frozen=True)
class ContextColumns:
    """The parts of documents' contexts."""

    system: Column
    shots: DrawnShots | None
    text: Column
    prefix: Column


def plain_contexts(task: Task, columns: ContextColumns, count: int) -> pa.ChunkedArray | None:
    """Return the plain contexts of documents; None if they have to be made one by one, to see what is raised."""
    question = _question_pieces(columns.text, columns.prefix, task.config.target_delimiter, count)
    before = _piece(columns.system)
    if question is None or before is None:
        return None
    pieces: list[str | pa.ChunkedArray] = [before]
    examples = None
    if columns.shots is not None:
        texts = shot_texts(task, columns.shots.columns)
        if texts is None:
            return None
        if task.config.fewshot.sampler == "first_n" and len(texts) == task.config.num_fewshot:
            pieces.append("".join(texts.to_pylist()))
        else:
            examples = (texts, columns.shots.drawn)
            pieces.append(_SHOTS)
    return _rendered([*pieces, *question], examples, count)


def _piece(column: Column) -> str | pa.ChunkedArray | None:
    """Return a column's texts, with empty texts for empty values of any type; None if a value isn't a text."""
    if isinstance(column, Texts):
        return column.array
    if isinstance(column, Constant):
        value = column.value or ""
        return value if isinstance(value, str) else None
    if isinstance(column, list) and all(value is None or isinstance(value, str) for value in column):
        return pa.chunked_array([pa.array([value or "" for value in column], pa.large_string())])
    return None


def _question_pieces(
    text: Column, prefix: Column, delimiter: str | None, count: int
) -> list[str | pa.ChunkedArray] | None:
    """Return the pieces of the documents' questions, with the beginnings of their answers."""
    question, answer = _piece(text), _piece(prefix)
    if question is None or answer is None or (isinstance(text, list) and None in text):
        return None
    if isinstance(text, Constant) and not isinstance(text.value, str):
        return None
    if answer == "" or not count:
        return [question]
    if delimiter is None:
        return None
    no_delimiter = pc.or_(is_blank_at(question, count, -1), is_blank_at(answer, count, 0))
    return [question, pa.chunked_array(pc.if_else(no_delimiter, "", delimiter), pa.string()), answer]


def is_blank_at(piece: str | pa.ChunkedArray, count: int, index: int) -> pa.ChunkedArray:
    """Return true for each text that is empty or has white space at its start (0) or end (-1)."""
    if isinstance(piece, str):
        return pa.chunked_array([pa.repeat(not piece or piece[index].isspace(), count)])
    start, stop = (0, 1) if index == 0 else (-1, 2**31 - 1)
    character = pc.utf8_slice_codeunits(piece, start, stop).combine_chunks().dictionary_encode()
    blank = pa.array([not value or value.isspace() for value in character.dictionary.to_pylist()], pa.bool_())
    return pa.chunked_array([blank.take(character.indices)])


def _rendered(
    pieces: list[str | pa.ChunkedArray], examples: tuple[pa.Array | pa.ChunkedArray, pa.Array] | None, count: int
) -> pa.ChunkedArray | None:
    """Return the contexts made of literals, columns and the shots of each document, or None if a text holds the mark.

    `_SHOTS` stands for a document's shots; `examples` are the text of each shot, and the shots' rows for all documents.
    """
    columns: dict[str, Any] = {}
    template = ""
    for number, piece in enumerate(pieces):
        if isinstance(piece, str):
            template += piece
            continue
        name = f"{_MARK}{len(columns)}"
        columns[name] = piece
        # Pairs of braces around a placeholder count half.
        after = "".join(itertools.takewhile(lambda piece: isinstance(piece, str), pieces[number + 1 :]))
        pairs = 1 + min(len(template) - len(template.rstrip("{")), len(after) - len(after.lstrip("}")))
        template += "{" * pairs + name + "}" * pairs
    if template.count(_MARK) != len(columns) + 2 * (examples is not None):
        return None
    prompt_template = {"type": "PromptTemplate", "template": template, "ice_token": None}
    options: dict[str, Any] = {}
    if examples is None:
        if list(columns) == [template[1:-1]]:
            return next(iter(columns.values()))
        if not columns:
            return pa.chunked_array([pa.array([template] * count, pa.large_string())])
    else:
        texts, drawn = examples
        offsets = as_array(range(0, len(drawn) + 1, len(drawn) // count)).cast(pa.int32())
        columns[_MARK] = pa.ListArray.from_arrays(offsets, drawn)
        prompt_template["ice_token"] = _SHOTS
        options = {
            "ice_template": {"type": "PromptTemplate", "template": f"{{{_MARK}s}}"},
            "retriever": {"type": "IndexColumn", "column": _MARK, "ice_separator": "", "ice_eos_token": ""},
            "examples": pa.table({f"{_MARK}s": texts, _MARK: pa.nulls(len(texts))}),
            "reader": {"input_columns": [], "output_column": _MARK},
        }
    renderer = Renderer(prompt_template, **options, substitution="single_pass", strings="large_string")
    return renderer.render(pa.table(columns))["prompt"]


ChatFunction: TypeAlias = Union[Callable[..., str], "ChatTemplate"]
"""Makes a text of a list of messages; it is also called with `add_generation_prompt`."""
_ROLES = ("system", "user", "assistant")


class ManyChats:
    """Applies a `ChatTemplate` as the harness's Hugging Face model applies its tokenizer's template.

    Without a generation prompt, the last message is left open. If the template refuses a conversation, it is applied
    once more without the system message.
    """

    def __init__(self, template: ChatTemplate) -> None:
        from promptpress.engine.templates import ChatRenderer, ChatSettings  # noqa: PLC0415 - needs Jinja2

        settings = template.__getstate__()["settings"]
        self._renderers: dict[bool, ChatRenderer] = {}
        for prompted in (False, True):
            end = {"add_generation_prompt": prompted, "continued": None if prompted else "content"}
            self._renderers[prompted] = ChatRenderer(ChatSettings(**{**settings, **end}))

    def __call__(self, messages: list[dict[str, Any]], add_generation_prompt: bool = True) -> str:
        """Render one conversation."""
        from jinja2 import TemplateError  # noqa: PLC0415 - needs Jinja2

        renderer = self._renderers[add_generation_prompt]
        try:
            return renderer.text(messages)
        except TemplateError:
            return renderer.text([message for message in messages if message["role"] != "system"])

    def texts(self, conversations: pa.Array, add_generation_prompt: bool) -> pa.ChunkedArray:
        """Render many conversations; raise RenderError if the template refuses one."""
        from promptpress.engine.templates import JinjaRun  # noqa: PLC0415 - needs Jinja2

        table = pa.table({"messages": conversations})
        parts = self._renderers[add_generation_prompt].texts(table, "messages", 0, "large_string", JinjaRun())
        return pa.chunked_array([texts for texts, _ in parts], pa.large_string())


def chat_function(template: ChatFunction | None) -> Callable[..., str] | None:
    """Return the function that is called with a conversation; None if there is no template."""
    # Without importing the class, which needs Jinja2: whoever gives an object of it has it.
    classes = [(kind.__module__, kind.__qualname__) for kind in type(template).__mro__]
    return ManyChats(cast("ChatTemplate", template)) if ("promptpress", "ChatTemplate") in classes else template


def chat_contexts(
    task: Task, columns: ContextColumns, count: int, template: ManyChats, as_turns: bool
) -> pa.ChunkedArray | None:
    """Return the chats of documents; None if they have to be made one by one, to see what the harness raises."""
    systems, prefixes = _single_or_all(columns.system), _single_or_all(columns.prefix)
    if systems is None or prefixes is None or not count:
        return None
    if as_turns:
        questions = columns.text.array if isinstance(columns.text, Texts) else None
    else:
        empty = Constant(None, count)
        questions = plain_contexts(task, replace(columns, system=empty, prefix=empty), count)
    if questions is None:
        return None
    shots = columns.shots if as_turns else None
    turns = [] if shots is None else shot_turns(task, shots.columns)
    drawn = () if shots is None else as_sequence(shots.drawn)
    # All contents are laid out one after the other: systems, the messages of shots, questions, prefixes.
    shot_ends = list(accumulate(map(len, turns), initial=len(systems)))
    first_prefix = shot_ends[-1] + count
    conversations = []
    shots_each = len(drawn) // count
    for row in range(count):
        conversation = [row % len(systems)] if systems[row % len(systems)] else []
        for shot in drawn[row * shots_each : (row + 1) * shots_each]:
            conversation += range(shot_ends[shot], shot_ends[shot + 1])
        conversation.append(shot_ends[-1] + row)
        if prefixes[row % len(prefixes)]:
            conversation.append(first_prefix + row % len(prefixes))
        conversations.append(conversation)
    shot_messages = [message for shot in turns for message in shot]
    shot_roles = [_ROLES.index(role) for role, _, _ in shot_messages]
    roles = array("b", [0] * len(systems) + shot_roles + [1] * count + [2] * len(prefixes))
    try:
        before = pa.array([*systems, *(content for _, content, _ in shot_messages)], pa.large_string())
        contents = [before, *questions.chunks, pa.array(prefixes, pa.large_string())]
        return _rendered_chats(template, _as_lists(conversations, contents, roles), prefixes)
    except (RenderError, UnicodeEncodeError):
        return None


def _single_or_all(column: Column) -> list[str] | None:
    """Return a column's texts, a single one if all are the same; None if a value isn't a text."""
    texts = [column.value] if isinstance(column, Constant) else values(column)
    return [text or "" for text in texts] if all(text is None or isinstance(text, str) for text in texts) else None


def _as_lists(conversations: list[list[int]], contents: list[pa.Array], roles: array[int]) -> pa.Array:
    """Return conversations, given as the numbers of their contents, as lists of messages."""
    lists = pa.array(conversations, pa.large_list(pa.int64()))
    numbers = lists.flatten()
    columns = [
        pa.array(_ROLES).take(as_array(roles).take(numbers)),
        pa.chunked_array(contents, pa.large_string()).take(numbers).combine_chunks(),
    ]
    return pa.LargeListArray.from_arrays(lists.offsets, pa.StructArray.from_arrays(columns, ["role", "content"]))


def _rendered_chats(template: ManyChats, conversations: pa.Array, prefixes: list[str]) -> pa.ChunkedArray:
    """Render conversations; a conversation that ends with a prefix gets no generation prompt."""
    prompted = [not prefix for prefix in prefixes]
    if len(set(prompted)) == 1:
        return template.texts(conversations, prompted[0])
    chunks: list[pa.Array] = []
    rows = []
    for is_prompted in (True, False):
        rows.append(pa.array([row for row, flag in enumerate(prompted) if flag is is_prompted], pa.int64()))
        chunks += template.texts(conversations.take(rows[-1]), is_prompted).chunks
    return pa.chunked_array(chunks, pa.large_string()).take(pc.array_sort_indices(pa.concat_arrays(rows)))


@dataclass(frozen=True)
class Contexts:
    """The contexts of the first document, then of the second, and so on; `counts` is None if each document has one."""

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
