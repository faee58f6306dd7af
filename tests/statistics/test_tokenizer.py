"""Counting tokens: whatever a tokenizer is named by, nothing is cut, padded, added or downloaded."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from promptpress._config.tokenizer import LOAD_ERRORS, load_tokenizer
from promptpress._tokens.encoder import Encoder

tokenizers = pytest.importorskip("tokenizers")

TEXTS = ["a b c", "", "a\0b", "x" * 100_000, "一 二"]


def word_tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "a": 1, "<s>": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 2)])
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=7)
    return tokenizer


@pytest.fixture
def file(tmp_path: Path) -> Path:
    word_tokenizer().save(str(tmp_path / "tokenizer.json"))
    return tmp_path / "tokenizer.json"


def test_a_file_a_folder_and_an_object_count_the_same(file: Path) -> None:
    tokenizer = word_tokenizer()
    wrapped = type("Fast", (), {"backend_tokenizer": tokenizer})()
    for source in (file, str(file), file.parent, tokenizer, wrapped, load_tokenizer(file)):
        assert Encoder.of(load_tokenizer(source)).counts(TEXTS, special=False) == [3, 0, 1, 1, 2]
    assert tokenizer.truncation is not None


def test_many_texts_keep_their_order(file: Path) -> None:
    texts = ["a " * (n % 7) for n in range(10_000)]
    assert Encoder.of(load_tokenizer(file)).counts(texts, special=False) == [n % 7 for n in range(10_000)]


def test_a_name_is_looked_up_in_the_local_cache(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants

    model = tmp_path / "hub" / "models--org--model"
    (model / "snapshots" / "abc").mkdir(parents=True)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text("abc")
    file.rename(model / "snapshots" / "abc" / "tokenizer.json")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    assert Encoder.of(load_tokenizer("org/model")).counts(["a a"], special=False) == [2]


@pytest.mark.parametrize("name", ["no/such-model", "no-such-model", "a/b/c", "../x", "", "nul\0"])
def test_a_missing_tokenizer_is_an_error(name: str) -> None:
    with pytest.raises(LOAD_ERRORS):
        load_tokenizer(name)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"{}", "no tokenizer"), (b"", "no tokenizer"), (b"\xff\xfe", "no UTF-8"), (b"[1]", "no tokenizer")],
)
def test_a_file_without_a_tokenizer_is_an_error(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.model").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        load_tokenizer(tmp_path / "tokenizer.model")
    with pytest.raises(FileNotFoundError, match=r"has no tokenizer.json; it has tokenizer.model"):
        load_tokenizer(tmp_path)


def test_another_object_is_refused() -> None:
    with pytest.raises(TypeError, match="found a int"):
        load_tokenizer(7)


def test_the_package_is_imported_only_then(file: Path) -> None:
    code = (
        "import sys, promptpress._config.tokenizer as t; assert 'tokenizers' not in sys.modules\n"
        "sys.modules['tokenizers'] = None\n"
        f"try: t.load_tokenizer({str(file)!r})\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "counting tokens needs the package tokenizers: pip install 'promptpress[tokenizer]'\n"
