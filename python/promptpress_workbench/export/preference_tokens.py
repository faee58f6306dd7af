"""Token ids of preferences, under the names that TRL's trainers for DPO give them."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from promptpress.engine import as_table
from promptpress.engine.errors import did_you_mean, render_error
from promptpress.typing import KeptColumns, TableLike

if TYPE_CHECKING:
    from promptpress import ChatTemplate  # it needs Jinja2

_SIDES = ("chosen", "rejected")
_COMPLETION = "completion"
_IDS = pa.list_(pa.int32())


def trl_preference_tokens(
    table: TableLike, chat: ChatTemplate, tokenizer: object = None, *, keep: KeptColumns = ()
) -> pa.Table:
    """Make token ids of preferences: kept columns, `prompt_ids`, `chosen_ids` and `rejected_ids`.

    They are the columns that the collator of TRL's `DPOTrainer` reads. What assistants say, and the end of their turns,
    is `chosen_ids` and `rejected_ids`.

    Args:
        table: A table with `chosen` and `rejected`, which are texts of the assistant or lists of messages, and with
            `prompt`, which is a text of the user or a list of messages. Without `prompt` it is the messages with which
            both begin.
        chat: The chat template.
        tokenizer: As in `ChatTemplate.tokenize`.
        keep: Columns to keep; `"all"` keeps all of them.

    Returns:
        The rows.

    Raises:
        RenderError: As `ChatTemplate.tokenize`; if a column is missing; or if the ids before both answers differ.

    >>> from promptpress import ChatTemplate, export
    >>> from tokenizers import Tokenizer, models, pre_tokenizers
    >>> words = Tokenizer(models.WordLevel({"user": 0, "1+1": 1, "assistant": 2, "two": 3, "three": 4}, "user"))
    >>> words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    >>> chat = ChatTemplate("{% for m in messages %}{{ m.role }} {{ m.content }} {% endfor %}")
    >>> rows = [{"prompt": "1+1", "chosen": "two", "rejected": "three"}]
    >>> export.trl_preference_tokens(rows, chat, words).to_pylist()
    [{'prompt_ids': [0, 1, 2], 'chosen_ids': [3], 'rejected_ids': [4]}]
    """
    rows = as_table(table)
    for name in _SIDES:
        if name not in rows.column_names:
            hint = did_you_mean(name, rows.column_names)
            raise render_error("missing_column", f"preferences have chosen and rejected answers{hint}", column=name)
    sides = [_encoded(rows, side, chat, tokenizer) for side in _SIDES]
    ids: list[list[list[int]]] = []
    for row, ((chosen, of_chosen), (rejected, of_rejected)) in enumerate(zip(*sides, strict=True)):
        length = min(of_chosen, of_rejected)
        if chosen[:length] != rejected[:length]:
            raise render_error("wrong_column_type", "the ids before the chosen and the rejected answer differ", row)
        ids.append([chosen[:length], chosen[length:], rejected[length:]])
    names = rows.column_names if keep == "all" else list(keep)
    columns = {name: rows.column(name) for name in names}
    for index, name in enumerate(("prompt_ids", "chosen_ids", "rejected_ids")):
        columns[name] = pa.chunked_array([pa.array([of_row[index] for of_row in ids], _IDS)])
    return pa.table(columns)


def _encoded(rows: pa.Table, side: str, chat: ChatTemplate, tokenizer: object) -> list[tuple[list[int], int]]:
    """Return the ids of each row with the answers of a side, and how many of them come before the answer."""
    answers = rows.column(side)
    if "prompt" in rows.column_names:
        talks = rows.drop_columns([name for name in _SIDES if name != side])
        talks = talks.rename_columns([_COMPLETION if name == side else name for name in talks.column_names])
    else:
        parts = [_parted(*pair) for pair in zip(*(rows.column(name).to_pylist() for name in _SIDES), strict=True)]
        prompts = pa.array([answer[:length] for answer, length in zip(answers.to_pylist(), parts, strict=True)])
        ends = pa.array([answer[length:] for answer, length in zip(answers.to_pylist(), parts, strict=True)])
        talks = rows.drop_columns(list(_SIDES)).append_column("prompt", prompts).append_column(_COMPLETION, ends)
    if "messages" in talks.column_names:
        talks = talks.drop_columns(["messages"])
    tokens = chat.tokenize(talks, tokenizer, mask="assistant+turn", reasoning=True, turns="each")
    if tokens["sample"].to_pylist() != list(range(len(rows))):
        remedy = "each answer has to be one turn of the assistant, or turns that the template only appends"
        raise render_error("unconvertible_value", f"an answer has no row of its own, or several: {remedy}", column=side)
    masks = tokens["assistant_masks"].to_pylist()
    starts = [mask.index(True) if True in mask else len(mask) for mask in masks]
    return list(zip(tokens["input_ids"].to_pylist(), starts, strict=True))


def _parted(chosen: Any, rejected: Any) -> int:
    """Return the number of messages with which two conversations begin alike."""
    if not isinstance(chosen, list) or not isinstance(rejected, list):
        message = "texts need a column 'prompt'; only lists of messages can have it in both"
        raise render_error("missing_column", message, column="prompt")
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(chosen, rejected, strict=False)))
