"""Token ids of conversations: `ChatTemplate.tokenize` next to the ways by which others get the same ids.

The tokenizer is Qwen 3's, where it is recorded (PROMPTPRESS_SHARED), and else a small one of its kind.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import logging
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import datasets
import promptpress
import pytest
import tokenizers
import transformers
from in_turns import Sizes, Way, measured, ours
from parts.foreign_code import definitions
from parts.small_tokenizers import small_tokenizer
from promptpress._config.tokenizer import load_tokenizer
from promptpress._core import TextEncoder
from record import Record
from texts import SHARED
from tokens import CHATML, SHOTS, conversations

ROWS = 20_000
LEAST = {"datasets.map": 200, "trl": 300}
"""Rows of those that do much but once."""

FILE = SHARED / "golden_tokens" / "tokenizers" / "qwen3.json.gz"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tokenizer's file: whoever gives promptpress an object has it read anew for each call."""
    path = tmp_path_factory.mktemp("tokenizer")
    tokenizer().save(str(path / "tokenizer.json"))
    return path


def tokenizer() -> tokenizers.Tokenizer:
    if FILE.is_file():
        return tokenizers.Tokenizer.from_str(gzip.decompress(FILE.read_bytes()).decode())
    return small_tokenizer("qwen")


def is_there(package: str, record: Record) -> bool:
    if find_spec(package) is None:
        record.absent[package] = "it isn't installed (requirements/bench-tokens.txt)"
        return False
    return True


def preparation() -> Callable[[datasets.Dataset, Any], datasets.Dataset]:
    """TRL's `SFTTrainer._prepare_dataset`, without the torch that its package wants."""
    namespace: dict[str, Any] = {
        "Dataset": datasets.Dataset,
        "IterableDataset": datasets.IterableDataset,
        "ProcessorMixin": transformers.ProcessorMixin,
        "global_then_local_main_first": contextlib.nullcontext,
        "logger": logging.getLogger("trl"),
        "json": json,
    }
    names = ["get_dataset_column_names", "is_conversational", "is_conversational_from_value", "_tokenize"]
    definitions("trl", "data_utils.py", names, namespace)
    [prepare] = definitions("trl", "trainer/sft_trainer.py", ["SFTTrainer._prepare_dataset"], namespace)
    trainer = SimpleNamespace(completion_only_loss=False, _is_vision_dataset=False, chat_template=None)
    options = {"dataset_num_proc": None, "dataset_text_field": "text", "assistant_only_loss": False, "max_length": None}
    arguments = SimpleNamespace(**options, truncation_mode="keep_start", shuffle_dataset=False)
    return lambda rows, tokenizer: prepare(trainer, rows, tokenizer, arguments, False, None, "train")


def ways(shots: int, folder: Path, sizes: Sizes, record: Record) -> Iterator[Way]:
    count = sizes.ours(ROWS)
    samples, chat, library = (
        conversations(count, shots),
        promptpress.ChatTemplate(CHATML),
        load_tokenizer(folder).tokenizer,
    )
    ids = chat.tokenize(samples, folder)["input_ids"]
    yield from ours("tokenize", count, lambda: chat.tokenize(samples, folder))
    texts = chat.render(samples)["prompt"].combine_chunks()
    whole = TextEncoder(library.to_str(), [], None, None)
    yield Way("engine", count, lambda: whole.encode(texts, offsets=False).columns(None, False, None, "refuse", []))
    hugging_face = transformers.PreTrainedTokenizerFast(tokenizer_object=library, chat_template=CHATML)
    peers: dict[str, Callable[[int], Callable[[], Any]]] = {}

    def encoded(few: int) -> Callable[[], Any]:
        listed = texts.slice(0, few).to_pylist()
        return lambda: [each.ids for each in library.encode_batch_fast(listed, add_special_tokens=False)]

    def mapped(few: int) -> Callable[[], Any]:
        of_rows = datasets.Dataset(samples.slice(0, few).combine_chunks())

        def encode(batch: Any) -> Any:
            return {"input_ids": hugging_face.apply_chat_template(batch["messages"], tokenize=True, return_dict=False)}

        options = {"remove_columns": ["messages"], "new_fingerprint": "unhashed"}  # hashing takes as long as many rows
        return lambda: of_rows.map(encode, batched=True, **options)

    peers["tokenizers"], peers["datasets.map"] = encoded, mapped
    if is_there("trl", record):
        prepare = preparation()

        def prepared(few: int) -> Callable[[], Any]:
            of_rows = datasets.Dataset(samples.slice(0, few).combine_chunks())
            return lambda: prepare(of_rows, hugging_face)

        peers["trl"] = prepared
    if is_there("gigatoken", record):
        import gigatoken

        fast = gigatoken.Tokenizer(library)

        def by_gigatoken(few: int) -> Callable[[], Any]:
            listed = texts.slice(0, few).to_pylist()
            return lambda: fast.encode_batch(listed, parallel=False)

        peers["gigatoken"] = by_gigatoken
    compared = min(sizes.compared, count)
    wanted = ids.slice(0, compared).to_pylist()
    for name, prepare_peer in peers.items():
        got = prepare_peer(compared)()
        got = got["input_ids"] if isinstance(got, datasets.Dataset) else got
        assert [list(each) for each in got] == wanted, f"{name} has other ids"
        rows = sizes.theirs(prepare_peer, count, least=LEAST.get(name, 10))
        yield Way(name, rows, prepare_peer(rows))


@pytest.mark.parametrize("shots", [SHOTS, 0])
def test_token_rate(shots: int, folder: Path, sizes: Sizes, record: Record) -> None:
    datasets.disable_progress_bars()
    datasets.disable_caching()
    turns = measured(ways(shots, folder, sizes, record))
    name = "Qwen 3's tokenizer" if FILE.is_file() else "a small tokenizer of the kind of Qwen 3's, made of a few words"
    record("tokens", f"{shots} shots", turns, about=f"With {name}.")
