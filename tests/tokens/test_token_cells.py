"""Tokens as cells: over kinds of tokenizers and odd texts, next to what the library decodes of each id."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator
from typing import Any
from unicodedata import normalize

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from parts.small_tokenizers import KINDS, MARKS, SPLITS, small_tokenizer
from promptpress.engine.tokens import Encoder, TokenSettings, load_tokenizer
from promptpress_workbench.prompts.prompt_source import TableRows
from promptpress_workbench.prompts.renderer_source import source_of
from promptpress_workbench.prompts.token_cells import TokenCell, TokenTexts, cells_of_ids, cells_of_text
from promptpress_workbench.prompts.tokenized import TokenView
from test_recorded_cases import SHARED
from tokenizers import Tokenizer

RECORDED = sorted(path.name for path in (SHARED / "golden_tokens" / "tokenizers").glob("*.json.gz"))
ODD = (
    *(
        "Hello",
        " world",
        "é",
        "e\u0301",
        "🙂",
        "👨\u200d👩\u200d👧",
        " ",
        "  ",
        "\n",
        "\n\n",
        "\t",
        "你好",
        "don't",
        "Ġ",
        " ▁ ",
    ),
    *(
        "<0x41>",
        "\\xf0",
        "ﬁ",
        "\uff21",
        "\u200b",
        "0123",
        "##ing",
        "a.b",
        "नमस्ते",
        "\x00",
        "ｶﾞ",
        "İ",
        "naïve",
        "user\n",
        *MARKS,
    ),
)
BLANKS = str.maketrans("", "", " ▁\n\t")


def recorded(name: str) -> Any:
    data = gzip.decompress((SHARED / "golden_tokens" / "tokenizers" / name).read_bytes())
    tokenizer = Tokenizer.from_str(data.decode())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def random_texts(tokenizer: Any, count: int) -> Iterator[str]:
    draw = random.Random(count)
    added = [token.content for token in tokenizer.get_added_tokens_decoder().values()][:30]
    for _ in range(count):
        yield "".join(draw.choice((*ODD, *added)) for _ in range(draw.randint(0, 12)))


def encoded(encoder: Encoder, text: str) -> tuple[list[int], list[tuple[int, int]]]:
    rows, errors, *_ = encoder.encode(pa.array([text]), None, offsets=True)
    assert not errors
    columns: Any = rows.columns(None, False, None, "refuse", [])
    offsets = columns.offsets[0].as_py()
    return columns.input_ids[0].as_py(), [(offset["start"], offset["end"]) for offset in offsets]


def check_all(tokenizer: Any, count: int, *, is_exact: bool) -> None:
    texts, encoder = TokenTexts(tokenizer), Encoder.of(load_tokenizer(tokenizer))
    for text in random_texts(tokenizer, count):
        check(texts, text, *encoded(encoder, text), is_exact=is_exact)


def check(texts: TokenTexts, text: str, ids: list[int], offsets: list[tuple[int, int]], *, is_exact: bool) -> None:
    tokenizer = texts.tokenizer
    trained = [number % 3 == 0 for number in range(len(ids))]
    cells = cells_of_text(texts, text.encode(), ids, offsets, trained)
    assert b"".join(cell.data for cell in cells) == text.encode()
    tokens = [cell for cell in cells if cell.is_token]
    assert [(cell.id, cell.trained) for cell in tokens] == list(zip(ids, trained, strict=True))
    assert not [cell for cell in tokens if cell.is_control != (cell.id in texts.added)]
    assert text == "".join(text[cell.start : cell.stop] for cell in cells)
    for cell in tokens if is_exact else ():
        decoded = tokenizer.decode([cell.id], skip_special_tokens=False)
        if cell.data and "\ufffd" not in decoded:
            covered = normalize("NFC", cell.data.decode())
            # A decoder takes away the blank at the start of a text, and an added token may take blanks in.
            assert covered.translate(BLANKS) == decoded.translate(BLANKS), (text, cell)
    whole = cells_of_ids(texts, ids, trained)
    joined = b"".join(cell.data for cell in whole).decode(errors="replace")
    assert joined == tokenizer.decode(ids, skip_special_tokens=False)


@pytest.mark.parametrize("kind", [*KINDS, *SPLITS])
def test_cells_are_the_text_and_what_the_library_decodes(kind: str) -> None:
    # Words write other texts, and blanks have no decoder.
    check_all(small_tokenizer(kind), part_of(200), is_exact=kind not in ("words", "blanks"))


@pytest.mark.parametrize("name", RECORDED)
def test_cells_of_recorded_tokenizers(name: str) -> None:
    check_all(recorded(name), part_of(100), is_exact=not name.startswith(("bert", "t5")))


def test_trained_cells_are_the_mask() -> None:
    """Cells of prompts have the ids and the mask that `tokenize` gives."""
    tokenizer, draw = small_tokenizer(), random.Random(3)
    chat = pp.ChatTemplate("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}")
    texts = list(random_texts(tokenizer, part_of(80)))
    rows = [
        {
            "messages": [
                {"role": role, "content": draw.choice(texts)} for role in ("user", "assistant") * draw.randint(1, 3)
            ]
        }
        for _ in texts
    ]
    view = TokenView(load_tokenizer(tokenizer), TokenSettings(mask="assistant+end"))
    source = source_of(chat, TableRows(rows))
    for row, tokens in enumerate(chat.tokenize(rows, tokenizer, mask="assistant+end").to_pylist()):
        (prompt,) = view.with_cells(source, source.prompts(row))
        cells = [cell for cell in prompt.cells[0] if cell.is_token]
        assert [cell.id for cell in cells] == tokens["input_ids"]
        assert [cell.trained for cell in cells] == tokens["assistant_masks"]


def test_bytes_of_a_character_are_apart() -> None:
    tokenizer = small_tokenizer()
    cells = cells_of_text(TokenTexts(tokenizer), "é🙂".encode(), *encoded(Encoder.of(tokenizer), "é🙂"))
    assert [cell.data for cell in cells] == ["é".encode(), b"\xf0", b"\x9f", b"\x99", b"\x82"]
    assert [(cell.start, cell.stop) for cell in cells] == [(0, 1), (1, 1), (1, 1), (1, 1), (1, 2)]
    assert [cell.text for cell in cells] == ["é", "\udcf0", "\udc9f", "\udc99", "\udc82"]


def test_ids_beyond_the_vocabulary_are_no_token() -> None:
    ids = [40, 10**6, -100, None]
    cells = cells_of_ids(TokenTexts(small_tokenizer()), ids, [True, True, False, None])
    assert [cell.is_unknown for cell in cells] == [False, True, True, True]
    assert cells[1] == TokenCell(10**6, None, start=1, stop=1, trained=True, is_unknown=True)
