"""Token ids of preferences, under the names that TRL's trainers for DPO give them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
from promptpress import PromptWarning, RenderError
from promptpress.engine import RenderOptions, as_table, engine_of
from promptpress.engine.errors import ABOUT_THE_TABLE, RowErrors, did_you_mean, of_row, render_error, row_error_text
from promptpress.engine.tables import PAIR, is_json
from promptpress.engine.tables import lazy_compute as pc
from promptpress.engine.tokens import TokenRenderer, load_tokenizer, token_engine
from promptpress.typing import KeptColumns, TableLike

from promptpress_workbench.export.streams import converted_reader

if TYPE_CHECKING:
    from promptpress import ChatTemplate  # it needs Jinja2

PROMPT, _COMPLETION = PAIR
_COLUMNS = ("prompt_ids", "chosen_ids", "rejected_ids")
_IDS = pa.list_(pa.int32())
_MESSAGES = pa.list_(pa.struct({"role": pa.string(), "content": pa.string()}))
Part: TypeAlias = tuple[pa.Field, pa.ChunkedArray | pa.Array]  # the prompts or the answers of a table


def trl_preference_tokens(
    table: TableLike,
    chat: ChatTemplate,
    tokenizer: object = None,
    *,
    chosen: str = "chosen",
    rejected: str = "rejected",
    keep: KeptColumns = (),
) -> pa.Table:
    """Make token ids of preferences: kept columns, `prompt_ids`, `chosen_ids` and `rejected_ids`.

    They are the columns that the collator of TRL's `DPOTrainer` reads; the trainer itself would first encode texts, so
    it needs a `_prepare_dataset` that returns the rows as they are. `prompt_ids` is what the model is asked with, as
    far as both conversations begin with it; what follows is `chosen_ids` and `rejected_ids`. If the template writes a
    turn's header otherwise than the generation prompt, the answers follow the generation prompt all the same.

    Args:
        table: A table with `prompt`, which is a text of the user or a list of messages, and two answers, which are
            texts of the assistant or lists of messages. Without `prompt` it is the template's column of conversations,
            or else the messages with which both answers begin.
        chat: The chat template.
        tokenizer: As in `ChatTemplate.tokenize`.
        chosen: The column of the better answers.
        rejected: The column of the worse answers.
        keep: Columns to keep; `"all"` keeps all of them.

    Returns:
        The rows.

    Raises:
        RenderError: As `ChatTemplate.tokenize`; or if a column is missing.

    >>> from promptpress import ChatTemplate, export
    >>> from tokenizers import Tokenizer, models, pre_tokenizers
    >>> words = Tokenizer(models.WordLevel({"user": 0, "1+1": 1, "assistant": 2, "two": 3, "three": 4}, "user"))
    >>> words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    >>> source = "{% for m in messages %}{{ m.role }} {{ m.content }} {% endfor %}"
    >>> chat = ChatTemplate(source + "{% if add_generation_prompt %}assistant {% endif %}")
    >>> rows = [{"prompt": "1+1", "chosen": "two", "rejected": "three"}]
    >>> export.trl_preference_tokens(rows, chat, words).to_pylist()
    [{'prompt_ids': [0, 1, 2], 'chosen_ids': [3], 'rejected_ids': [4]}]
    """
    rows = as_table(table)
    names = rows.column_names if keep == "all" else list(keep)
    return pa.Table.from_batches([_tokens_of(rows, chat, tokenizer, (chosen, rejected), names)])


def preference_batches(
    reader: pa.RecordBatchReader,
    chat: ChatTemplate,
    tokenizer: object,
    sides: tuple[str, str],
    keep: Sequence[str],
    *,
    failed: RowErrors | None = None,
) -> pa.RecordBatchReader:
    """Make the rows of `trl_preference_tokens` batch by batch; errors name the row among all.

    Rows that have none are left out and added to `failed`, unless it is None: then they are errors.
    """
    loaded = load_tokenizer(tokenizer)

    def converted(batch: pa.RecordBatch, first_row: int) -> pa.RecordBatch:
        done, parts = [], [(first_row, batch)]
        while parts:
            first, rows = parts.pop()
            half = rows.num_rows // 2
            try:
                done.append(_tokens_of(pa.Table.from_batches([rows]), chat, loaded, sides, keep))
            except RenderError as error:
                if error.row is None or error.code in ABOUT_THE_TABLE or failed is None:
                    raise (error if error.row is None else of_row(error, first + error.row)) from None
                if half:
                    parts += [(first + half, rows.slice(half)), (first, rows.slice(0, half))]
                else:
                    failed.add([first], [row_error_text(error)])
        done = done or [_tokens_of(pa.Table.from_batches([batch.slice(0, 0)]), chat, loaded, sides, keep)]
        (out,) = pa.Table.from_batches(done).combine_chunks().to_batches() or done[:1]
        return out

    return converted_reader(reader, converted)


def _tokens_of(
    rows: pa.Table, chat: ChatTemplate, tokenizer: object, sides: tuple[str, str], keep: Sequence[str]
) -> pa.RecordBatch:
    for name in (*sides, *keep):
        if name not in rows.column_names:
            hint = did_you_mean(name, rows.column_names)
            raise render_error("missing_column", f"preferences have chosen and rejected answers{hint}", column=name)
    kept = {name: rows.column(name).combine_chunks() for name in keep}
    if not len(rows):
        return pa.RecordBatch.from_pydict(kept | {name: pa.array([], _IDS) for name in _COLUMNS})
    engine = engine_of(chat)
    prompt_name, (prompts, *answers) = _parts_of(rows, engine.column, sides)
    _refuse_nothing(dict(zip((prompt_name, *sides), (prompts, *answers), strict=True)))
    others = rows.drop_columns([name for name in {*sides, *PAIR, engine.column} if name in rows.column_names])

    def talks(completions: Part) -> pa.Table:
        given = others
        for name, (field, column) in zip(PAIR, (prompts, completions), strict=True):
            given = given.append_column(field.with_name(name), column)
        return given

    asking = engine if engine.chat_settings.add_generation_prompt else engine.with_other_end
    prompt_renderer = TokenRenderer(token_engine(asking, tokenizer, RenderOptions()))
    nothing = pa.repeat(pa.scalar([], _MESSAGES), len(rows))
    with _in_column(prompt_name, engine.column):
        prompt_tokens = prompt_renderer.stream(talks((pa.field("", _MESSAGES), nothing))).read_all()
    ids = [prompt_tokens["input_ids"].to_pylist()]
    for side, completions in zip(sides, answers, strict=True):
        with _in_column(side, engine.column), warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".* have no turn of an assistant", PromptWarning)  # they are errors here
            tokens = chat.tokenize(talks(completions), tokenizer, turns="each")
        samples = tokens["sample"].to_pylist()
        if samples != list(range(len(rows))):
            row = next(number for number, sample in enumerate([*samples, None]) if sample != number)
            row = min(row, *samples[row:], len(rows) - 1)
            if row not in samples:
                raise render_error("no_assistant_message", "it has no assistant message that is written", row, side)
            message = (
                "the template writes its turns in several ways, and an answer is one turn, or turns it only appends"
            )
            raise render_error("unconvertible_value", message, row, side)
        ids.append(tokens["input_ids"].to_pylist())
    lengths = [min(_common(prompt, side) for side in sides_of) for prompt, *sides_of in zip(*ids, strict=True)]
    out = [[of_row[:length] for of_row, length in zip(ids[0], lengths, strict=True)]]
    out += [[of_row[length:] for of_row, length in zip(side, lengths, strict=True)] for side in ids[1:]]
    return pa.RecordBatch.from_pydict(kept | {name: pa.array(of, _IDS) for name, of in zip(_COLUMNS, out, strict=True)})


@contextmanager
def _in_column(name: str, conversations: str) -> Iterator[None]:
    """Name the column of the data by an error in what is made of it, a column of conversations."""
    try:
        yield
    except RenderError as error:
        if error.column not in (None, conversations):
            raise
        raise render_error(error.code, error.message, error.row, name) from error.__cause__


def _refuse_nothing(parts: Mapping[str, Part]) -> None:
    """Refuse the first row in which a part is null or an empty list of messages."""
    faults = []
    for name, (field, column) in parts.items():
        faults.append((pc.index(pc.is_null(column), True).as_py(), name, _NULL))
        empty = None
        if is_json(field):
            empty = pa.array([value == [] for value in _values_of(field, column)], pa.bool_())
        elif pa.types.is_list(field.type) or pa.types.is_large_list(field.type):
            empty = pc.equal(pc.list_value_length(column), 0)
        if empty is not None:
            faults.append((pc.index(empty, True).as_py(), name, _EMPTY))
    for row, name, error in sorted(fault for fault in faults if fault[0] >= 0):
        raise render_error(*error, row, name)


_NULL = "null_value", "it is null, and a preference has a prompt and two answers"
_EMPTY = "incomplete_message", "it is empty, and has to have a message"


def _values_of(field: pa.Field, column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """Return the values of a column of lists or of JSON."""
    values: list[Any] = column.to_pylist()
    return [json.loads(text or "null") for text in values] if is_json(field) else values


def _parts_of(rows: pa.Table, column: str, sides: tuple[str, str]) -> tuple[str, list[Part]]:
    """Return the column of prompts, the prompts and both answers.

    Without a column of prompts they are the messages with which both answers begin.
    """
    given = [(rows.schema.field(name), rows.column(name)) for name in sides]
    prompt = next((name for name in (PROMPT, column) if name in rows.column_names), None)
    if prompt is not None:
        return prompt, [(rows.schema.field(prompt), rows.column(prompt)), *given]
    _refuse_nothing(dict(zip(sides, given, strict=True)))
    are_json = [is_json(field) for field, _ in given]
    parts: list[list[Any]] = [[], [], []]
    for row, (better, worse) in enumerate(zip(*(_values_of(*part) for part in given), strict=True)):
        if not isinstance(better, list) or not isinstance(worse, list):
            message = "texts need a column 'prompt'; only lists of messages can have it in both"
            raise render_error("missing_column", message, column=PROMPT)
        count = _common(better, worse)
        if count in (len(better), len(worse)):
            message = "one answer is the beginning of the other, so it isn't known where the prompt ends"
            raise render_error("no_assistant_message", message, row, sides[count == len(worse)])
        if not count:
            message = "both answers differ from their first messages on, so there is no prompt"
            raise render_error("incomplete_message", message, row, sides[0])
        for part, side, value in zip(parts, (0, 0, 1), (better[:count], better[count:], worse[count:]), strict=True):
            part.append(json.dumps(value, ensure_ascii=False) if are_json[side] else value)
    made = [(given[n][0], pa.array(values, given[n][0].type)) for n, values in zip((0, 0, 1), parts, strict=True)]
    return sides[0], made


def _common(items: Sequence[Any], others: Sequence[Any]) -> int:
    """Return how many items two lists begin with together."""
    if items == others[: len(items)]:
        return len(items)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(items, others, strict=False)))
