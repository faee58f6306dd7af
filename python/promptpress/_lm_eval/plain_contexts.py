"""Plain contexts in bulk: each shot's text once, and all pieces copied to their places by the core."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from promptpress import _compute as pc
from promptpress._lm_eval.columns import Column, Constant, Texts
from promptpress._lm_eval.documents import Documents
from promptpress._lm_eval.row_numbers import as_array
from promptpress._lm_eval.shots import DrawnShots, shot_texts
from promptpress._lm_eval.task import Task
from promptpress._renderer import Renderer

__all__ = ["plain_contexts"]

# Names that no text of a configuration holds by accident; where one does, contexts are made one by one.
_MARK = "\uf8ff"
_SHOTS = f"{_MARK}shots{_MARK}"


def plain_contexts(
    task: Task,
    documents: Documents,
    shots: DrawnShots | None,
    *,
    system: Column,
    text: Column,
    prefix: Column,
) -> pa.ChunkedArray | None:
    """Put plain contexts together, where texts are all of them texts.

    Args:
        task: The task.
        documents: The documents.
        shots: The shots that are drawn for each document; None: none at all.
        system: What stands before everything else.
        text: The documents' own texts.
        prefix: What their answers begin with.

    Returns:
        The contexts; None where only making them one by one shows what they are, or what is wrong.

    """
    own = _own(text, prefix, task.config.target_delimiter, len(documents))
    before = _pieces(system)
    if own is None or before is None:
        return None
    pieces: list[str | pa.ChunkedArray] = [before]
    examples = None
    if shots is not None:
        texts = shot_texts(task, shots.columns)
        if texts is None:
            return None
        if task.config.shots.sampler == "first_n" and len(texts) == task.config.num_fewshot:
            pieces.append("".join(texts.to_pylist()))
        else:
            examples = (texts, shots.drawn)
            pieces.append(_SHOTS)
    return _rendered([*pieces, *own], examples, len(documents))


def _pieces(column: Column) -> str | pa.ChunkedArray | None:
    """Return a column's texts; None where a value is none. What is empty in any way is an empty text."""
    if isinstance(column, Texts):
        return column.array
    if isinstance(column, Constant):
        value = column.value or ""
        return value if isinstance(value, str) else None
    if isinstance(column, list) and all(value is None or isinstance(value, str) for value in column):
        return pa.chunked_array([pa.array([value or "" for value in column], pa.large_string())])
    return None


def _own(text: Column, prefix: Column, delimiter: str | None, count: int) -> list[str | pa.ChunkedArray] | None:
    """Return the pieces of the documents' own questions."""
    question, answer = _pieces(text), _pieces(prefix)
    if question is None or answer is None or (isinstance(text, list) and None in text):
        return None
    if isinstance(text, Constant) and not isinstance(text.value, str):
        return None
    if answer == "" or not count:
        return [question]
    if delimiter is None:
        return None
    seam = pc.or_(_ends(question, count, -1), _ends(answer, count, 0))
    return [question, pa.chunked_array(pc.if_else(seam, "", delimiter), pa.string()), answer]


def _ends(piece: str | pa.ChunkedArray, count: int, at: int) -> pa.ChunkedArray:
    """Say of each text whether there is white space at one of its ends, or nothing at all."""
    if isinstance(piece, str):
        return pa.chunked_array([pa.array([not piece or piece[at].isspace()] * count, pa.bool_())])
    start, stop = (0, 1) if at == 0 else (-1, 2**31 - 1)
    character = pc.utf8_slice_codeunits(piece, start, stop).combine_chunks().dictionary_encode()
    blank = pa.array([not value or value.isspace() for value in character.dictionary.to_pylist()], pa.bool_())
    return pa.chunked_array([blank.take(character.indices)])


def _rendered(
    pieces: list[str | pa.ChunkedArray], examples: tuple[pa.Array | pa.ChunkedArray, pa.Array] | None, count: int
) -> pa.ChunkedArray | None:
    """Copy pieces to their places: literals, columns, and the shots of each document."""
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
    if list(columns) == [template[1:-1]] and examples is None:
        return next(iter(columns.values()))
    retriever = None
    shots = None
    if examples is not None:
        texts, drawn = examples
        offsets = as_array(range(0, len(drawn) + 1, len(drawn) // count)).cast(pa.int32())
        columns[_MARK] = pa.ListArray.from_arrays(offsets, drawn)
        retriever = {"type": "IndexColumn", "column": _MARK, "ice_separator": "", "ice_eos_token": ""}
        shots = pa.table({f"{_MARK}s": texts, _MARK: pa.nulls(len(texts))})
    if not columns:
        return pa.chunked_array([pa.array([template] * count, pa.large_string())])
    renderer = Renderer(
        {"type": "PromptTemplate", "template": template, "ice_token": None if shots is None else _SHOTS},
        ice_template={"type": "PromptTemplate", "template": f"{{{_MARK}s}}"} if shots is not None else None,
        retriever=retriever,
        examples=shots,
        reader={"input_columns": [], "output_column": _MARK} if shots is not None else None,
        substitution="single_pass",
        strings="large_string",
    )
    return renderer.render(pa.table(columns))["prompt"]
