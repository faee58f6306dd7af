"""The calls of OpenCompass's inferencers, with their bulk prompts and chats, and the record of each call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, wraps
from itertools import chain, islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from promptpress import Renderer, to_pylist
from promptpress.engine import silent
from promptpress.engine.tables import is_text, values_of
from pyarrow import types

from promptpress_harness.bulk.bulk_call import (
    BulkCall,
    Classes,
    ExpandingCallRenderer,
    bulk_call_of,
    check_inferencer,
    try_bulk,
)
from promptpress_harness.bulk.call_renderer import CallRenderer
from promptpress_harness.bulk.dataset import Rows, materialized
from promptpress_harness.bulk.monkeypatches import NotCoveredError, originals, same
from promptpress_harness.bulk.rendering import Prompts
from promptpress_harness.bulk.report import CallRecord, fall_back, record_call
from promptpress_harness.bulk.retriever import BulkRetriever, CachedRetriever
from promptpress_harness.opencompass.chat_parsers import promptlist_to_openai
from promptpress_harness.registry import loaded

_INFERENCERS = "opencompass.openicl.icl_inferencer."
BASE = _INFERENCERS + "icl_base_inferencer"
OTHERS = {
    _INFERENCERS + "icl_agent_inferencer": "AgentInferencer",
    _INFERENCERS + "icl_attack_inferencer": "AttackInferencer",
    _INFERENCERS + "icl_chatml_inferencer": "ChatMLInferencer",
    _INFERENCERS + "icl_chatml_inferencer_parallel": "ParallelChatMLInferencer",
    _INFERENCERS + "icl_inference_ppl_only_inferencer": "InferencePPLOnlyInferencer",
    _INFERENCERS + "icl_mink_percent_inferencer": "MinKPercentInferencer",
    _INFERENCERS + "icl_ppl_only_inferencer": "PPLOnlyInferencer",
    _INFERENCERS + "icl_sc_inferencer": "SCInferencer",
    _INFERENCERS + "icl_sw_ce_loss_inferencer": "SWCELossInferencer",
    _INFERENCERS + "icl_tot_inferencer": "ToTInferencer",
}
"""Inferencers that aren't covered, because their loops make all prompts themselves."""


def recorded(harness: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an inferencer's `inference`, so that it is recorded as one call."""

    @wraps(harness)
    def inference(self: Any, retriever: Any, *rest: Any, **others: Any) -> Any:
        with record_call(*_names(self, rest, others), _count(self, retriever, rest, others)):
            return harness(self, retriever, *rest, **others)

    return inference


def left_to_harness(harness: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the `inference` of an inferencer that isn't covered."""

    @wraps(harness)
    def inference(self: Any, *rest: Any, **others: Any) -> Any:
        fall_back(f"{type(self).__name__} isn't covered")
        return harness(self, *rest, **others)

    return recorded(inference)


def reporting_others(harness: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the base's constructor, so that it reports inferencers whose `inference` isn't the harness's."""

    @wraps(harness)
    def constructor(self: Any, *rest: Any, **others: Any) -> None:
        harness(self, *rest, **others)
        kind = type(self)
        if not kind.__module__.startswith(_INFERENCERS) and getattr(kind, "inference", None) not in originals:
            CallRecord(type(self.model).__name__).left(f"{kind.__name__} isn't covered")

    return constructor


def _names(inferencer: Any, rest: tuple[Any, ...], others: dict[str, Any]) -> tuple[str, str]:
    """Return the names of the model and the dataset: a task writes to `predictions/MODEL/DATASET.json`."""
    given = dict(zip(("output_json_filepath", "output_json_filename"), rest[2:], strict=False))
    folder, file = (
        given.get(name) or others.get(name) or getattr(inferencer, name, None) or ""
        for name in ("output_json_filepath", "output_json_filename")
    )
    kind = type(getattr(inferencer, "model", None)).__name__
    model = Path(folder).name if Path(folder).parent.name == "predictions" else kind
    return model, str(file).removesuffix(".json")


def _count(inferencer: Any, retriever: Any, rest: tuple[Any, ...], others: dict[str, Any]) -> int:
    """Return the number of prompts of a call."""
    try:
        count = len(retriever.test_ds)
    except (AttributeError, TypeError):
        return 0
    if not hasattr(inferencer, "labels"):
        return count
    given = {**dict(zip(("ice_template", "prompt_template"), rest, strict=False)), **others}
    template = getattr(given.get("prompt_template") or given.get("ice_template"), "template", None)
    labels = inferencer.labels or (template if isinstance(template, dict) else None) or ("",)
    return count * len(labels)


MODEL = "opencompass.models.base"
API_MODEL = "opencompass.models.base_api"
GEN_INFERENCER = "opencompass.openicl.icl_inferencer.icl_gen_inferencer"
PARALLEL_GEN_INFERENCER = "opencompass.openicl.icl_inferencer.icl_gen_inferencer_parallel"
METHOD = "get_generation_prompt_list_from_retriever_indices"
PPL_INFERENCER = "opencompass.openicl.icl_inferencer.icl_ppl_inferencer"
LL_INFERENCER = "opencompass.openicl.icl_inferencer.icl_ll_inferencer"
CLP_INFERENCER = "opencompass.openicl.icl_inferencer.icl_clp_inferencer"

_MODEL_METHODS = ("get_token_len_from_template", "get_ppl_from_template")
_MAX_CACHED_TEXTS = 1024


class OpenCompassBulkCall(BulkCall):
    """One call of an inferencer."""

    classes = Classes(
        dialect="opencompass",
        openicl="opencompass.openicl",
        models=MODEL,
        api_models=API_MODEL,
        templates={
            ("icl_prompt_template", "PromptTemplate"): ("template", "ice_token", "sep_token"),
            ("icl_raw_prompt_template", "RawPromptTemplate"): ("messages", "format_variables", "ice_token"),
        },
        passes_templates=True,
    )

    def call_renderer_of(self, *parts: Any) -> CallRenderer:
        if self.expands:
            return ExpandingCallRenderer(self.prompt_template, self.ice_template, *parts)
        return super().call_renderer_of(*parts)


class Counter:
    """A stand-in for a model that counts tokens only of prompts that can have more than `limit`.

    OpenCompass's counter for APIs counts words of letters and digits, and single Chinese characters, so never more
    tokens than characters. Any other counter counts the tokens of every prompt.
    """

    def __init__(self, model: Any, limit: int) -> None:
        self._model = model
        base = loaded(API_MODEL, "BaseAPIModel")
        counts_words = base is not None and getattr(type(model), "get_token_len", None) is base.get_token_len
        self._limit = limit if counts_words and "get_token_len" not in vars(model) else -1

    def get_token_len_from_template(self, prompt: Any, mode: str) -> Any:
        """Return the number of tokens; 0 if it can't exceed the limit."""
        if self._limit >= 0:
            parsed = self._model.parse_template(prompt, mode=mode)
            if len(str(parsed)) <= self._limit:
                return 0
        return self._model.get_token_len_from_template(prompt, mode=mode)


def generation_of(
    inferencer: Any, retriever: Any, shots: Any, *templates: Any, token: Any, max_seq_len: int | None
) -> BulkCall | None:
    """Return an inferencer's call in bulk, or None as `bulk_call_of` does.

    `token` stands for the output column, and `max_seq_len` is the most tokens of a prompt, or None.
    """
    try:
        if not is_generating(inferencer):
            raise NotCoveredError(f"{type(inferencer).__name__} isn't covered")
        check_inferencer(inferencer, "inference", METHOD, "get_dataloader")
        if inferencer.multiround or not isinstance(token, str):
            raise NotCoveredError("prompts of several rounds, or a gen_field_replace_token that is no string")
    except NotCoveredError as reason:
        fall_back(str(reason))
        return None
    counting = () if max_seq_len is None else ("get_token_len_from_template",)
    model_methods = ("generate_from_template", *counting)
    bulk_call = bulk_call_of(OpenCompassBulkCall, inferencer.model, model_methods, retriever, shots, *templates)
    if bulk_call is not None:
        bulk_call.renderer.is_shared = type(inferencer) is loaded(PARALLEL_GEN_INFERENCER, "ParallelGenInferencer")
    return bulk_call


def is_generating(inferencer: Any) -> bool:
    """Return true if an inferencer is one of the harness's that generate, and no subclass."""
    classes = loaded(GEN_INFERENCER, "GenInferencer"), loaded(PARALLEL_GEN_INFERENCER, "ParallelGenInferencer")
    return type(inferencer) in classes


def bulk_prompts(harness: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap GenInferencer's method that lists prompts, so that they are made in bulk if they are covered."""

    def get_generation_prompt_list_from_retriever_indices(  # noqa: PLR0917 - as the harness has it
        self: Any,
        ice_idx_list: list[Sequence[int]],
        retriever: Any,
        gen_field_replace_token: str,
        max_seq_len: int | None = None,
        ice_template: Any = None,
        prompt_template: Any = None,
    ) -> Any:
        shots = materialized(ice_idx_list, is_read_once=True) if is_generating(self) else ice_idx_list
        token = gen_field_replace_token
        templates = {"ice_template": ice_template, "prompt_template": prompt_template}
        settings: dict[str, Any] = {"max_seq_len": max_seq_len, **templates}
        bulk_call = generation_of(self, retriever, shots, *templates.values(), token=token, max_seq_len=max_seq_len)
        if bulk_call is None:
            return harness(self, shots, retriever, token, **settings)
        source = bulk_call.generation(token)
        row_lists = bulk_call.renderer.shots
        if max_seq_len is not None and any(row_lists):
            # The loop uses nothing of the inferencer but its model.
            counter = SimpleNamespace(model=Counter(self.model, max_seq_len))
            return harness(counter, row_lists, BulkRetriever(bulk_call, source), token, **settings)
        if max_seq_len is None:
            source.build_each_length()
        else:
            # There are no examples to leave out. The first prompt is counted, because a model may be unable to count.
            self.model.get_token_len_from_template(source.prompt(0), mode="gen")
            # The harness parses all prompts here; only messages of the data can make its parser fail at a later row.
            for row in range(1, len(row_lists)) if bulk_call.expands else ():
                self.model.parse_template(source.prompt(row), mode="gen")
        return Prompts(source.prompt, range(len(row_lists)))

    return get_generation_prompt_list_from_retriever_indices


def bulk_labels(module: str, name: str, harness: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the `inference` of a module's class, so that its prompts are made in bulk if they are covered."""
    is_clp = name == "CLPInferencer"

    def inference(
        self: Any, retriever: Any, ice_template: Any = None, prompt_template: Any = None, *rest: Any, **others: Any
    ) -> Any:
        is_normalized = not is_clp and (others.get("normalizing_str") is not None or len(rest) > 2)
        if is_covered(self, module, name, is_normalized=is_normalized) and not (is_clp and self.model.is_api):
            cached = CachedRetriever(retriever, retriever.retrieve())
            call_of = choices_of if is_clp else labels_of
            bulk_call = call_of(self, retriever, cached.shots, ice_template, prompt_template)
            bulk_class = ClpRetriever if is_clp else BulkRetriever
            retriever = cached if bulk_call is None else bulk_class(bulk_call)
        return harness(self, retriever, ice_template, prompt_template, *rest, **others)

    return recorded(inference)


def is_covered(inferencer: Any, module: str, name: str, *, is_normalized: bool = False) -> bool:
    """Return true if an inferencer's prompts are covered; otherwise the reason is logged."""
    try:
        if type(inferencer) is not loaded(module, name):
            raise NotCoveredError(f"{type(inferencer).__name__} isn't covered")
        if is_normalized:
            raise NotCoveredError("normalizing_str takes prompts apart")
        check_inferencer(inferencer, "inference")
    except NotCoveredError as reason:
        fall_back(str(reason))
        return False
    return True


def labels_of(
    inferencer: Any, retriever: Any, shots: Any, *templates: Any, model_methods: Sequence[str] = _MODEL_METHODS
) -> BulkCall | None:
    """Return an inferencer's call in bulk, or None as `bulk_call_of` does."""
    parts = (inferencer.model, model_methods, retriever, shots, *templates)
    return bulk_call_of(OpenCompassBulkCall, *parts, is_written=inferencer.max_seq_len is not None)


choices_of = partial(labels_of, model_methods=())
"""Returns CLPInferencer's call in bulk: it hands prompts to no other method of the model than `parse_template`."""


class ClpRetriever(BulkRetriever):
    """A retriever for CLPInferencer's loop, which cuts examples out of parsed prompts and doesn't parse these again."""

    def __init__(self, bulk_call: BulkCall) -> None:
        super().__init__(bulk_call, bulk_call.generation(""))
        self._last_row = -1
        self._texts: dict[Any, str] = {}

    def generate_ice(self, idx_list: Sequence[int], **_: Any) -> Any:
        """Return the examples of a sample as they are: they are saved, and searched for in the prompt."""
        key = tuple(idx_list)
        if key in self._texts:
            return self._texts[key]
        examples = self._bulk_call.ice(idx_list)
        if isinstance(examples, str) and len(self._texts) < _MAX_CACHED_TEXTS:
            self._texts[key] = examples
        return examples

    def generate_prompt_for_generate_task(self, idx: int, ice: Any, **_: Any) -> Any:  # noqa: ARG002 - `shots` has them
        """Return the prompt of a sample: a placeholder at first, and the harness's object after it was shortened."""
        rows = self._bulk_call.renderer.shots[idx]
        prompt = super().generate_prompt_for_generate_task(idx, super().generate_ice(rows))
        if idx > self._last_row:
            self._last_row = idx
            return prompt
        # The harness doesn't parse a shortened prompt.
        source = prompt.source
        return source.text(prompt) if source.shape is str else prompt.build()


INFERENCER = "opencompass.openicl.icl_inferencer.icl_chat_inferencer"
PARALLEL_INFERENCER = "opencompass.openicl.icl_inferencer.icl_chat_inferencer_parallel"
_BLOCK_ROWS = 512


class Chats:
    """The chats of columns of strings, of lists of strings, or of messages; each is built when it is used."""

    def __init__(self, retriever: Any, prompt_template: Any) -> None:
        reader = retriever.dataset_reader
        self._rows = rows = Rows(retriever.test_ds)
        reader_columns = [*reader.input_columns, reader.output_column]
        self._columns = [name for name in rows.schema.names if name in reader_columns]
        input_column = reader.input_columns[0] if len(reader.input_columns) == 1 else None
        kinds = {name: _kind(rows.schema.field(name).type) for name in self._columns}
        self._rounds: _Rounds | None = None
        if set(kinds.values()) in ({"text"}, {"texts"}):
            self._rounds = _Rounds(prompt_template, input_column, reader.output_column)
            self._has_lists = "texts" in kinds.values()
        else:
            # If all columns are lists, the harness takes an empty dialogue for rounds, and it doesn't set the
            # inferencer's mode.
            are_lists = input_column is None and set(kinds.values()) <= {"texts", "messages", "list"}
            dialogue = "dialogue" if "dialogue" in reader.input_columns else None
            message_column = dialogue if input_column is None else input_column
            if message_column is None or kinds.get(message_column) != "messages" or are_lists:
                raise NotCoveredError("chats of columns that are neither strings nor lists of strings or messages")
            self._columns = [message_column]
        if any(_has_null(rows.column(name)) for name in self._columns):
            raise NotCoveredError("a column of chats has a null")
        self._start = -1
        self._chats: list[Any] = []

    def chat(self, row: int) -> Any:
        """Return a new chat, because the inferencer writes into it."""
        start = row - row % _BLOCK_ROWS
        if start != self._start:
            self._chats = self._block(start)
            self._start = start
        if self._rounds is None:
            return self._chats[row - start].as_py()
        return [message for entry in self._chats[row - start] for message in self._rounds.messages(*entry)]

    def _block(self, start: int) -> Any:
        table = self._rows.slice(start, start + _BLOCK_ROWS).select(self._columns)
        if self._rounds is None:
            return table[0]
        if not self._has_lists:
            return [[entry] for entry in self._rounds.filled(table)]
        # A chat has as many rounds as its shortest list has items.
        lists = zip(*(column.to_pylist() for column in table.columns), strict=True)
        chats = [list(zip(*columns, strict=False)) for columns in lists]
        rounds = list(chain.from_iterable(chats))
        columns = [pa.array([entry[n] for entry in rounds], pa.string()) for n in range(table.num_columns)]
        filled = iter(self._rounds.filled(pa.table(columns, names=table.column_names)))
        return [list(islice(filled, len(chat))) for chat in chats]


class _Rounds:
    """The rounds of a chat, each with a question and an answer."""

    def __init__(self, prompt_template: Any, question: str | None, answer: str | None) -> None:
        self._question = question
        self._answer = answer
        self._renderer: Renderer | None = None
        if prompt_template is not None:
            template = OpenCompassBulkCall.template(prompt_template)
            if prompt_template.prompt_type == "raw_messages":
                raise NotCoveredError("raw messages, in a chat")
            shape = "text" if isinstance(prompt_template.template, str) else "prompt_list"
            # If such a string is filled with "" or the word "section", the harness fails before the first chat.
            if shape == "prompt_list" and any("{" in text for text in _bare_strings(prompt_template.template)):
                raise NotCoveredError("bare strings with placeholders, in the template of a chat")
            self._renderer = silent(Renderer(template, output=shape, mode="gen"))  # type: ignore[arg-type]
        elif question is None:
            raise NotCoveredError("a chat of several columns without a template")

    def filled(self, table: pa.Table) -> list[tuple[Any, str]]:
        """Return the prompt and the answer of each row."""
        names = table.column_names
        if self._renderer is not None:
            prompts = to_pylist(self._renderer.render(table)["prompt"])
        else:
            prompts = (
                values_of(table, self._question)
                if self._question is not None and self._question in names
                else [None] * len(table)
            )
        golds = (
            values_of(table, self._answer) if self._answer is not None and self._answer in names else [""] * len(table)
        )
        return list(zip(prompts, golds, strict=True))

    def messages(self, prompt: Any, gold: str) -> list[dict[str, Any]]:
        """Return the messages of a round."""
        chat = promptlist_to_openai(prompt)
        if self._renderer is None or chat[-1]["role"] != "assistant":
            chat.append({"role": "assistant", "content": gold})
        return chat


def _kind(data_type: pa.DataType) -> str:
    """Return the kind of a column's values, as the harness distinguishes them."""
    if is_text(data_type):
        return "text"
    if types.is_list(data_type) or types.is_large_list(data_type):
        return {"text": "texts", "struct": "messages"}.get(_kind(data_type.value_type), "list")
    return "struct" if types.is_struct(data_type) else "other"


def _bare_strings(template: Any) -> Iterator[str]:
    """Yield the strings of a dialogue that have no role."""
    for part in template.values() if isinstance(template, dict) else ():
        items = part if isinstance(part, (list, tuple)) else [part]
        yield from (item for item in items if isinstance(item, str))


def _has_null(column: pa.ChunkedArray) -> bool:
    """Return true if values of a column, or of its lists, are missing."""
    if column.null_count:
        return True
    return types.is_nested(column.type) and any(pc.list_flatten(chunk).null_count for chunk in column.chunks)


def bulk_chats(harness: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ChatInferencer's `get_chat_list`, so that chats are made in bulk if they are covered."""

    def get_chat_list(self: Any, ice_idx_list: Any, retriever: Any, prompt_template: Any = None) -> Any:
        classes = loaded(INFERENCER, "ChatInferencer"), loaded(PARALLEL_INFERENCER, "ParallelChatInferencer")
        if type(self) not in classes:
            fall_back(f"{type(self).__name__} isn't covered")
            return harness(self, ice_idx_list, retriever, prompt_template=prompt_template)
        # The harness counts them and reads none.
        shots = materialized(ice_idx_list, is_read_once=True)
        if shots:
            expected = harness(self, shots[:1], retriever, prompt_template=prompt_template)
            parts = (self, expected, retriever, len(shots), prompt_template)
            chats = try_bulk(lambda: _checked_chats(*parts), len(shots))
            if chats is not None:
                return Prompts(chats.chat, range(len(shots)))
        return harness(self, shots, retriever, prompt_template=prompt_template)

    return get_chat_list


def _checked_chats(inferencer: Any, expected: Any, retriever: Any, count: int, prompt_template: Any) -> Chats:
    """Return `count` chats; raise NotCoveredError if the first isn't that of the harness, which `expected` holds."""
    check_inferencer(inferencer, "get_chat_list")
    chats = Chats(retriever, prompt_template)
    # A chat without a round doesn't show how the template fills one.
    if not expected[0]:
        raise NotCoveredError("the first chat is empty")
    if count != len(retriever.test_ds) or not same([chats.chat(0)], expected):
        raise NotCoveredError("the harness's chat is another")
    return chats
