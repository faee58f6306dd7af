"""The core's engine for tokenizers beside the library: which tokenizers it takes, and the ids and offsets it gives."""

from __future__ import annotations

import gzip
import json
import random
import tempfile
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from parts.small_tokenizers import KINDS, MARKS, SPLITS, WORDS, small_tokenizer
from promptpress import set_threads
from promptpress._config.tokenizer import load_tokenizer
from promptpress._core import RenderError
from promptpress._tokens import core_encoder, encoder
from promptpress._tokens.core_encoder import Fast, probes
from promptpress._tokens.encoder import Encoder
from promptpress._tokens.pieces import Tokens, anchors
from test_recorded_cases import SHARED
from tokenizers import AddedToken, Tokenizer

FAST = ("blanks", *SPLITS)
RECORDED = sorted((SHARED / "golden_tokens" / "tokenizers").glob("*.json.gz")) if SHARED else []
PARTS = (
    *WORDS,
    *MARKS,
    "don't",
    "we'LL",
    "x's",
    "a/b//\n",
    "1234567",
    "3.14",
    " \n \n  ",
    "\r\n\r\n",
    "\t\t",
    "e\u0301",
    "\u1100\u1161",
    "\U0001f469\u200d\U0001f467",
    "\u00a0",
    "\u2028",
    "\u2581",
    "\0",
    "...",
    "{}[]()",
    "$5/6'7",
    "ÉTÉ'ré",
    "\U0001fae8",  # of Unicode 15: left to the library
    "\ue000",
)


def load_tokenizer_of(config: dict[str, Any]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "tokenizer.json")
        file.write_text(json.dumps(config), encoding="utf-8")
        return load_tokenizer(file)


def fast_of(tokenizer: Any) -> Fast:
    return Fast(tokenizer, anchors(tokenizer))


@pytest.fixture(autouse=True)
def _core_from_the_first_text_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "_WORTH_LOADING", 0)


def engine_of(tokenizer: Any) -> Any:
    of_tokenizer = fast_of(tokenizer)
    assert of_tokenizer.engine is not None, of_tokenizer.reason
    assert of_tokenizer.has_offsets == (of_tokenizer._keeps_bytes)
    return of_tokenizer.engine


def rows_of(rng: random.Random, count: int) -> Iterator[str | None]:
    """Texts that begin alike, as prompts with examples do, and go on in any way."""
    constants = [[rng.choice(PARTS) for _ in range(rng.randint(0, 30))] for _ in range(3)]
    for _ in range(count):
        constant = rng.choice(constants)
        parts = [*constant[: rng.randint(0, len(constant))], *rng.choices(PARTS, k=rng.randint(0, 6))]
        text = rng.choice(["", " ", "\n", ": "]).join(parts) if rng.random() < 0.3 else "".join(parts)
        yield None if rng.random() < 0.02 else text[: rng.randint(0, len(text))] if rng.random() < 0.3 else text


def check(tokenizer: Any, engine: Any, texts: list[str | None], *, offsets: bool) -> int:
    """Compare each row with the library; return how many rows the core has encoded."""
    rows = engine.encode(pa.array(texts, pa.string()), offsets)
    count = 0
    for row, text in enumerate(texts):
        ids = rows.ids(row)
        if text is None:
            assert ids is None
        if text is None or ids is None:
            continue
        count += 1
        want = tokenizer.encode(text, add_special_tokens=False)
        assert ids == want.ids, (text, texts[max(row - 1, 0)])
        if offsets:
            byte = [len(text[:n].encode()) for n in range(len(text) + 1)]
            assert rows.spans(row) == [(byte[start], byte[end]) for start, end in want.offsets], text
    return count


@pytest.mark.parametrize("kind", FAST)
def test_random_rows_that_begin_alike(kind: str) -> None:
    rng, tokenizer = random.Random(kind), small_tokenizer(kind)
    of_tokenizer = fast_of(tokenizer)
    count = total = 0
    for _ in range(part_of(40)):
        texts = list(rows_of(rng, 60))
        for offsets in (False, *[True] * of_tokenizer.has_offsets):
            count += check(tokenizer, engine_of(tokenizer), texts, offsets=offsets)
            total += len(texts)
    assert count > total // 3


def test_families_with_offsets() -> None:
    assert {kind for kind in FAST if fast_of(small_tokenizer(kind)).has_offsets} == set(SPLITS)


@pytest.mark.parametrize("kind", SPLITS)
def test_expressions_that_can_be_cut_are_known(kind: str) -> None:
    kinds = core_encoder._kinds(small_tokenizer(kind).pre_tokenizer)
    assert core_encoder._cuts(kinds) == {"gpt2": "gpt2", "gpt4o": "gpt4o"}.get(kind, "gpt4")


@pytest.mark.parametrize("kind", KINDS)
def test_an_encoder_is_the_library(kind: str) -> None:
    rng, tokenizer = random.Random(kind), small_tokenizer(kind)
    of_kind = Encoder(load_tokenizer(tokenizer))
    for special in (False, True):
        texts = list(rows_of(rng, part_of(200)))
        encoded = of_kind.encode(pa.array(texts, pa.large_string()), special, offsets=True)
        assert not encoded.errors
        columns = encoded.rows.columns(None, False, None, "refuse", [])
        want = [text if text is None else tokenizer.encode(text, add_special_tokens=special) for text in texts]
        assert columns.input_ids.to_pylist() == [None if row is None else row.ids for row in want]
        assert columns.n_tokens.to_pylist() == [None if row is None else len(row.ids) for row in want]
        for text, got, row in zip(texts, columns.offsets.to_pylist(), want, strict=True):
            if text is not None and row is not None:
                byte = [len(text[:n].encode()) for n in range(len(text) + 1)]
                assert [(o["start"], o["end"]) for o in got] == [(byte[a], byte[b]) for a, b in row.offsets], text


def test_several_threads_and_batches_give_what_one_gives() -> None:
    tokenizer = small_tokenizer("gpt4")
    rng = random.Random(3)
    texts = [text and text * 30 for text in rows_of(rng, 600)]
    engine = engine_of(tokenizer)
    set_threads(3)
    try:
        for part in (texts, texts[100:], texts[:50]):
            assert check(tokenizer, engine, part, offsets=True) > 0
    finally:
        set_threads(None)


def test_reasons_for_the_library() -> None:
    def reason(kind: str, **changes: Any) -> str | None:
        config = {**json.loads(small_tokenizer(kind).to_str()), **changes}
        return fast_of(Tokenizer.from_str(json.dumps(config))).reason

    assert reason("bytes") == "its pre_tokenizer splits by an expression that the core doesn't know"
    prefix = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    assert reason("gpt2", pre_tokenizer=prefix) == "its pre_tokenizer is ByteLevel with add_prefix_space"
    assert reason("gpt4", normalizer={"type": "Lowercase"}) == "its normalizer is Lowercase"
    added = [{**token, "normalized": True} for token in json.loads(small_tokenizer("qwen").to_str())["added_tokens"]]
    assert reason("qwen", added_tokens=added) == "added tokens are looked for in normalised texts"
    assert reason("gpt4") is None
    tokenizer = Tokenizer.from_str(small_tokenizer("gpt4").to_str())
    tokenizer.encode_special_tokens = True
    assert fast_of(tokenizer).reason == "special tokens in texts are encoded as texts"


def test_an_engine_that_differs_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(tokenizer: Any, texts: Any, **options: bool) -> list[Tokens]:
        return [Tokens([*tokens.ids, 0]) for tokens in of_library(tokenizer, texts, **options)]

    of_library = core_encoder.encoded
    monkeypatch.setattr(core_encoder, "encoded", wrong)
    assert "differ from those of the library" in str(fast_of(small_tokenizer("gpt4")).reason)


def test_tables_and_batches_without_rows() -> None:
    renderer, tokenizer = pp.Renderer("{q}"), small_tokenizer("gpt4")
    empty, full = (pa.record_batch({"q": pa.array(texts, pa.string())}) for texts in ([], ["the answer", "x"]))
    options = {"tokenizer": tokenizer, "offsets": True}
    assert renderer.tokenize(pa.table({"q": ["x"]}), **options).num_rows == 1
    assert renderer.tokenize(pa.Table.from_batches([empty]), **options).column_names[-1] == "offsets"
    batches = pa.RecordBatchReader.from_batches(empty.schema, [empty, full, empty, full])
    assert renderer.stream(batches, tokenize=options).read_all().num_rows == 4


def test_an_engine_that_panics_is_left_alone() -> None:
    config = json.loads(small_tokenizer("blanks").to_str())
    token = {"content": "▁", "single_word": True, "lstrip": False, "rstrip": False, "normalized": True}
    config["normalizer"] = None
    config["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
    config["added_tokens"].append({**token, "id": config["model"]["vocab"]["▁"], "special": False})
    tokenizer = Tokenizer.from_str(json.dumps(config))
    assert fast_of(tokenizer).engine is None
    texts = ["The quick brown fox."] * 3
    ids = Encoder(load_tokenizer(tokenizer)).ids(texts, special=False)
    assert ids == [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]


def test_a_file_that_the_library_panics_on_is_no_tokenizer() -> None:
    config = json.loads(small_tokenizer("blanks").to_str())
    config["model"]["continuing_subword_prefix"] = "</w>"
    with pytest.raises(ValueError, match="no tokenizer of the package"):
        load_tokenizer_of(config)


def test_a_difference_in_a_row_is_an_error() -> None:
    of_gpt4 = Encoder(load_tokenizer(small_tokenizer("gpt4")))
    of_gpt4._fast = fast_of(small_tokenizer("blanks"))
    with pytest.raises(RenderError, match="aren't those of the library") as caught:
        of_gpt4.encode(pa.array(["12345 don't"]), False, offsets=False)
    assert caught.value.code == "differs_from_reference"


def test_tokens_at_which_no_text_can_be_cut_are_left_to_the_library() -> None:
    tokenizer = Tokenizer.from_str(small_tokenizer("gpt4").to_str())
    tokenizer.add_tokens([AddedToken("<mask>", lstrip=True, normalized=False), AddedToken("]~]", normalized=False)])
    texts = ["the answer", "a <mask>b", "]~]~]", "<s>a</s>", "<mas"]
    rows = engine_of(tokenizer).encode(pa.array(texts), False)
    assert rows.open_rows == [1]
    encoded = Encoder(load_tokenizer(tokenizer)).encode(pa.array(texts), False, offsets=False)
    ids = encoded.rows.columns(None, False, None, "refuse", []).input_ids.to_pylist()
    assert ids == [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]


def test_tokens_that_overlap_are_found_by_the_engine() -> None:
    tokenizer = Tokenizer.from_str(small_tokenizer("gpt4").to_str())
    runs = ["]~]", "~", "a1", "1\n", "[e~[", "\n", "\n\n", "\n\n\n", "  ", "   "]
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in runs])
    assert set(runs) & set(anchors(tokenizer)) == {"a1"}
    rng = random.Random(6)
    constant = "the answer is a1\n\n" * 6
    parts = [*runs, "]", "[", "a", "1", "\n", " ", "<s>", "answer", constant, constant]
    texts: list[str | None] = ["".join(rng.choices(parts, k=rng.randint(0, 8))) for _ in range(part_of(2000))]
    assert check(tokenizer, engine_of(tokenizer), texts, offsets=True) == len(texts)


def test_added_tokens_that_are_normalised_are_cut_at_without_a_normalizer() -> None:
    tokenizer = Tokenizer.from_str(small_tokenizer("gpt4").to_str())
    tokenizer.add_tokens([AddedToken(text, normalized=True) for text in ("<A>", "<im", "|>b", "x<s>y")])
    # One begins as "<im_start|>" would go on, one begins where "<|im_end|>" ends, one holds "<s>".
    assert {"<A>", "<im"} <= set(anchors(tokenizer))
    assert not {"|>b", "x<s>y"} & set(anchors(tokenizer))
    rng = random.Random(5)
    parts = ["<A>", "<im", "|>b", "x<s>y", "<s>", "<|im_end|>", "x", "y", "b", " "]
    texts: list[str | None] = ["".join(rng.choices(parts, k=rng.randint(0, 8))) for _ in range(part_of(2000))]
    assert check(tokenizer, engine_of(tokenizer), texts, offsets=True) > 0


@pytest.mark.skipif(not RECORDED, reason="recorded tokenizers aren't here")
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name.split(".json")[0])
@pytest.mark.full
def test_recorded_tokenizers(path: Path) -> None:
    tokenizer = Tokenizer.from_str(gzip.decompress(path.read_bytes()).decode())
    of_tokenizer = fast_of(tokenizer)
    if of_tokenizer.engine is None:
        pytest.skip(str(of_tokenizer.reason))
    rng = random.Random(path.name)
    for _ in range(40):
        texts = list(rows_of(rng, 500))
        for offsets in (False, *[True] * of_tokenizer.has_offsets):
            check(tokenizer, of_tokenizer.engine, texts, offsets=offsets)
    check(tokenizer, of_tokenizer.engine, [*probes([])], offsets=of_tokenizer.has_offsets)


@pytest.mark.skipif(not RECORDED, reason="recorded tokenizers aren't here")
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name.split(".json")[0])
@pytest.mark.full
def test_all_code_points(path: Path) -> None:
    tokenizer = Tokenizer.from_str(gzip.decompress(path.read_bytes()).decode())
    of_tokenizer = fast_of(tokenizer)
    if of_tokenizer.engine is None:
        pytest.skip(str(of_tokenizer.reason))
    points = [chr(n) for n in range(0x110000) if unicodedata.category(chr(n)) not in ("Cs", "Co", "Cn")]
    for way in ("{0}", "a{0}b", " {0}1{0}\n"):
        texts: list[str | None] = [way.format(point) for point in points]
        assert check(tokenizer, of_tokenizer.engine, texts, offsets=of_tokenizer.has_offsets) > 100_000
