"""Plain contexts in bulk: the text of each shot is made once, and the core copies all pieces into the contexts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from promptpress import Renderer
from promptpress.engine.tables import lazy_compute as pc

from promptpress_harness.lm_eval.columns import Column, Constant, Texts
from promptpress_harness.lm_eval.row_numbers import as_array
from promptpress_harness.lm_eval.shots import DrawnShots, shot_texts
from promptpress_harness.lm_eval.task import Task

# A mark that no text of a configuration holds by accident. If one holds it, contexts are made one by one.
_MARK = "\uf8ff"
_SHOTS = f"{_MARK}shots{_MARK}"


@dataclass(frozen=True)
class ContextColumns:
    """The parts of documents' contexts.

    Args:
        system: The texts before everything else.
        shots: The shots drawn for the documents; None if there are none.
        text: The documents' questions.
        prefix: The beginnings of their answers.
    """

    system: Column
    shots: DrawnShots | None
    text: Column
    prefix: Column


def plain_contexts(task: Task, columns: ContextColumns, count: int) -> pa.ChunkedArray | None:
    """Return the plain contexts of documents, if all their pieces are texts.

    Returns:
        The contexts; None if they have to be made one by one, to see what they are or which error the harness raises.
    """
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

    Args:
        pieces: The pieces in order; `_SHOTS` stands for a document's shots.
        examples: The text of each shot, and the shots' rows for one document after the other.
        count: Number of documents.
    """
    columns: dict[str, Any] = {}
    template = ""
    for piece in pieces:
        if isinstance(piece, str):
            template += piece
            continue
        name = f"{_MARK}{len(columns)}"
        columns[name] = piece
        template += f"{{{name}}}"
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
