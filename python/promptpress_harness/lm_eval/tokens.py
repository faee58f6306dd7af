"""Token ids of a task's requests, cut on the left as the harness's Hugging Face models cut them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
from promptpress import RenderError
from promptpress.engine import as_table
from promptpress.engine.errors import counted, render_error
from promptpress.engine.tables import OF_HARNESS
from promptpress.engine.tokens import Encoder
from promptpress.typing import TableLike

_ROWS = 4096
"""Requests that are encoded together, so that memory doesn't grow with the table."""

_IDS = pa.list_(pa.int32())
_COLUMNS = {"input_ids": _IDS, "continuation_ids": _IDS, "n_tokens": pa.int32(), "truncated": pa.bool_()}
_LENGTHS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
"""Keys of generation arguments that say how long an answer may be; the first that is there decides."""


class _Cut(NamedTuple):
    """The ids that the model reads, those that it scores (None if it generates), and true if ids were left out."""

    input_ids: list[int]
    continuation_ids: list[int] | None
    truncated: bool


def tokenize(
    requests: TableLike,
    tokenizer: object,
    *,
    max_length: int,
    max_gen_toks: int = 256,
    add_bos_token: bool | None = None,
    bos_token: str | None = None,
    prefix_token_id: int | None = None,
) -> pa.Table:
    r"""Encode the requests of a task, and cut them on the left, as the model `hf` of lm-evaluation-harness 0.4.13 does.

    Blanks at the end of a context go to the continuation. Both are encoded as one text, of which the continuation is
    what follows as many ids as the context has alone. The model reads the last `max_length + 1` ids but for the very
    last, or the last `max_length` less the answer's length if it generates. No few-shot example is left out.

    Args:
        requests: What `requests` returns.
        tokenizer: As in `Renderer.tokenize`.
        max_length: The most ids that the model reads and generates.
        max_gen_toks: The length of an answer whose request doesn't say it.
        add_bos_token: As the model's argument: whether the tokenizer's special tokens stand around texts. None: as the
            tokenizer has it.
        bos_token: The text of the token before which no other such token is put if it begins a context that is to be
            continued. None: that of a tokenizer of transformers, or none.
        prefix_token_id: As the model's argument: the id that stands for an empty context. None: a tokenizer of
            transformers says it, by its BOS or EOS.

    Returns:
        The requests, with `input_ids` (what the model reads), `continuation_ids` (what it scores; null if it
            generates), `n_tokens` (the number of `input_ids`) and `truncated`.

    Raises:
        RenderError: If the harness refuses a request: its continuation has no ids or more than `max_length`, or its
            answer has no room; or if it is one of `loglikelihood_rolling`, which the harness reads in windows.
        ImportError: As `Renderer.tokenize`.
        OSError: As `Renderer.tokenize`.
        ValueError: As `Renderer.tokenize`.
        TypeError: As `Renderer.tokenize`.

    >>> import pyarrow as pa
    >>> from tokenizers import Tokenizer, models, pre_tokenizers
    >>> words = Tokenizer(models.WordLevel({"1+1": 0, "=": 1, "2": 2, "3": 3}, "="))
    >>> words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    >>> config = {
    ...     "task": "sums",
    ...     "output_type": "multiple_choice",
    ...     "test_split": "test",
    ...     "doc_to_text": "{{question}}",
    ...     "doc_to_choice": ["2", "3"],
    ...     "doc_to_target": "answer",
    ... }
    >>> from promptpress.lm_eval import requests
    >>> table = requests(config, pa.table({"question": ["1+1 ="], "answer": [0]}))
    >>> tokenize(table, words, max_length=1).select(["input_ids", "continuation_ids", "truncated"]).to_pylist()[0]
    {'input_ids': [1], 'continuation_ids': [2], 'truncated': True}
    """
    table = as_table(requests, OF_HARNESS)
    coder = _Coder(tokenizer, add_bos_token, bos_token, prefix_token_id)
    for name in _COLUMNS:
        if name in table.column_names:
            raise render_error("duplicate_output_column", f"the requests have a column {name!r} already", column=name)
    chunks: list[list[_Cut]] = []
    for start in range(0, len(table), _ROWS):
        rows = table.slice(start, _ROWS)
        pairs = rows["arguments"].to_pylist()
        kinds = rows["request_type"].to_pylist()
        chunks.append(coder.cut(start, kinds, pairs, max_length, max_gen_toks))
    for name, data_type in _COLUMNS.items():
        arrays = [pa.array(_values(name, chunk), data_type) for chunk in chunks]
        table = table.append_column(name, pa.chunked_array(arrays, data_type))
    return table


def _values(name: str, cuts: Iterable[_Cut]) -> list[Any]:
    return [len(cut.input_ids) if name == "n_tokens" else getattr(cut, name) for cut in cuts]


class _Coder:
    """Encodes requests by the rules of the harness's model."""

    def __init__(
        self, tokenizer: Any, add_bos_token: bool | None, bos_token: str | None, prefix_token_id: int | None
    ) -> None:
        self._encoder = Encoder.of(tokenizer)
        self._adds = True if add_bos_token is None else add_bos_token
        self._bos = getattr(tokenizer, "bos_token", None) if bos_token is None else bos_token
        for name in ("bos_token_id", "eos_token_id"):
            prefix_token_id = getattr(tokenizer, name, None) if prefix_token_id is None else prefix_token_id
        self._prefix_id = prefix_token_id
        decode = self._encoder.tokenizer.decode
        self._prefix = "" if prefix_token_id is None else decode([prefix_token_id], skip_special_tokens=False)
        self._encoded: dict[tuple[str, bool], list[int] | RenderError] = {}

    def cut(
        self, start: int, kinds: list[str], pairs: list[tuple[Any, ...]], max_length: int, max_gen_toks: int
    ) -> list[_Cut]:
        """Return the ids of some requests."""
        needed: dict[tuple[str, bool], None] = {}
        for index, (kind, pair) in enumerate(zip(kinds, pairs, strict=True)):
            if kind not in ("loglikelihood", "generate_until"):
                message = f"the harness reads requests of {kind} in windows, so they aren't cut"
                raise render_error("unsupported_mode", message, start + index)
            needed |= dict.fromkeys(self._texts(kind, pair))
        self._encode(needed)
        out = []
        for index, (kind, pair) in enumerate(zip(kinds, pairs, strict=True)):
            try:
                cut = self._scored if kind == "loglikelihood" else self._generated
                out.append(cut(pair, max_length, max_gen_toks))
            except RenderError as error:
                raise render_error(error.code, error.message, start + index) from None
        return out

    def _encode(self, needed: Iterable[tuple[str, bool]]) -> None:
        """Encode texts, each once, with special tokens around them or without."""
        self._encoded = {}
        for special in (False, True):
            texts = [text for text, has_special in needed if has_special is special]
            encoded = self._encoder.ids(texts, special)
            self._encoded |= {(text, special): ids for text, ids in zip(texts, encoded, strict=True)}

    def _ids(self, key: tuple[str, bool]) -> list[int]:
        """Return the ids of a text that was encoded."""
        ids = self._encoded[key]
        if isinstance(ids, RenderError):
            raise ids
        return ids

    def _key(self, text: str) -> tuple[str, bool]:
        """Return a text, and whether special tokens stand around it."""
        return text, self._adds and not (self._prefix and text.startswith(self._prefix))

    def _texts(self, kind: str, pair: tuple[Any, ...]) -> list[tuple[str, bool]]:
        """Return the texts of a request that are encoded."""
        context = pair[0]
        if kind == "generate_until":
            return [self._key_of_batch(context)]
        if context == "":
            return [(pair[1], False)]
        return [self._key(context + pair[1]), self._key(context.rstrip())]

    def _key_of_batch(self, context: str) -> tuple[str, bool]:
        return context, self._adds and not (self._bos and context.startswith(self._bos))

    def _scored(self, pair: tuple[Any, ...], max_length: int, _: int) -> _Cut:
        context, continuation = pair
        if context == "":
            ids = self._ids((continuation, False))
            if self._prefix_id is None:
                message = "the context is empty, and stands for a token that isn't known; give prefix_token_id="
                raise render_error("null_value", message)
            before, after = ([self._prefix_id], ids) if ids[:1] != [self._prefix_id] else (ids[:1], ids[1:])
        else:
            before = self._ids(self._key(context.rstrip()))
            after = self._ids(self._key(context + continuation))[len(before) :]
        if not before or not after:
            what = "context" if not before else "continuation"
            raise render_error("unconvertible_value", f"the {what} has no tokens, which the harness refuses")
        if len(after) > max_length:
            message = f"the continuation has {counted(len(after), 'token')}, and max_length={max_length} allows no more"
            raise render_error("limit_exceeded", message)
        whole = before + after
        return _Cut(whole[-(max_length + 1) :][:-1], after, len(whole) > max_length + 1)

    def _generated(self, pair: tuple[Any, ...], max_length: int, max_gen_toks: int) -> _Cut:
        context, arguments = pair
        ids = self._ids(self._key_of_batch(context))
        most = max_length - _answer_length(arguments, max_gen_toks)
        if most <= 0:
            message = f"max_length={max_length} leaves no room for a context before the answer"
            raise render_error("limit_exceeded", message)
        return _Cut(ids[-most:], None, len(ids) > most)


def _answer_length(arguments: Mapping[str, Any], default: int) -> int:
    """Return the most tokens of an answer, by the generation arguments of its request."""
    lengths = [arguments[name] for name in _LENGTHS if arguments.get(name) is not None]
    return int(lengths[0]) if lengths else default
