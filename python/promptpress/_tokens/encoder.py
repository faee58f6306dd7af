"""Texts encoded in bulk: by the core where it gives the ids of the package `tokenizers`, else by that package."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import dropwhile, groupby
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa

from promptpress._config.tokenizer import PANIC, LoadedTokenizer, load_tokenizer
from promptpress._core import RenderError, TextEncoder, TokenRows
from promptpress._errors.errors import render_error
from promptpress._tokens.core_encoder import Fast
from promptpress._tokens.masks import UnknownOriginError, check_origin, is_usual_role
from promptpress._tokens.pieces import Cutter, Pieces, Tokens, encoded

_MAX_MADE = 4

# The library takes some hundred bytes for each token, and this many characters are enough for all threads.
_MAX_BATCH_CHARACTERS = 1 << 20
_MAX_BATCH_TEXTS = 4096

_WORTH_LOADING = 1 << 18
"""The bytes of texts for which the core's engine is loaded: that takes as long as the library takes for some more."""

_CHECKED_ONE_IN = 16384
"""One text in so many is encoded as a whole too."""

_CONTEXT = "\ufdd0\ufdd1"
"""An added token of the tokenizer without others, after which pieces are encoded: noncharacters."""

_MAX_CONSTANTS = 4096
"""The texts of templates whose pieces are kept; with more, all are dropped."""

_DATA = ("field", "filled_field", "argument", "computed")
"""The sources of what data brings; all others are the configuration's."""


class Encoder:
    """Encodes texts as the library `tokenizers` does with one tokenizer; truncation and padding of its file are off.

    Threads may share it. Pieces of texts that it has encoded are kept; a pickle leaves them out.
    """

    _made: ClassVar[dict[str, Encoder]] = {}

    def __init__(self, counter: LoadedTokenizer) -> None:
        self.name = counter.name
        self.tokenizer = counter.tokenizer
        self.digest = counter.digest
        """The digest of all that decides ids."""
        self._around = _special_ids(self.tokenizer)
        self._cutter = Cutter(self.tokenizer)
        self.anchors = anchors = self._cutter.anchors
        """The added tokens at which any text can be cut, and their ids."""
        self._fast: Fast | None = None
        self._bytes = self._rows = 0
        self._plain: PlainData | None = None
        self._pieces = Pieces(self.tokenizer, anchors, next(iter(anchors.items()), ("", 0)))

    @classmethod
    def of(cls, source: Any) -> Encoder:
        """Return the encoder of a tokenizer: the same one, where it was made before."""
        counter = load_tokenizer(source)
        made = cls._made.get(counter.digest)
        if made is None:
            while len(cls._made) >= _MAX_MADE:
                cls._made.pop(next(iter(cls._made)), None)
            made = cls._made[counter.digest] = cls(counter)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Encoder, (LoadedTokenizer(self.tokenizer, self.name, self.digest),)

    def encode(self, texts: pa.Array, special: bool | None, *, offsets: bool) -> Encoded:
        """Encode texts: by the core where it gives the library's ids, else by the library.

        The library gets pieces that are kept, where texts can be cut.

        Args:
            texts: The texts; a null has no tokens.
            special: Whether the tokenizer puts its special tokens around each text. None: unless the text begins with
                the first of them.
            offsets: Whether the bytes of each token are asked for.
        """
        if special is not False and self._around is None:
            whole = TokenRows.open(texts, offsets=offsets)
            return self._filled(whole, texts, partial(self._whole, special=special is None or special), offsets=offsets)
        engine = self._engine(texts, offsets=offsets)
        rows = TokenRows.open(texts, offsets=offsets) if engine is None else engine.encode(texts, offsets=offsets)
        out = self._filled(rows, texts, self._in_pieces, offsets=offsets)
        self._check(out, texts, offsets=offsets)
        return self._with_specials(out, special)

    def ids(self, texts: Sequence[str], special: bool | None) -> list[list[int] | RenderError]:
        """Return the ids of each text, or the error for one that the library fails on."""
        rows, errors, *_ = self.encode(pa.array(texts, pa.string()), special, offsets=False)
        ids = rows.columns(None, False, None, "refuse", sorted(errors)).input_ids.to_pylist()
        return [errors.get(row, of_row) for row, of_row in enumerate(ids)]

    def counts(self, texts: Sequence[str], special: bool | None) -> list[int | None]:
        """Return the number of tokens of each text; None for a text that the library fails on."""
        counts: list[int | None] = []
        for batch in _batches(texts):
            rows = self.encode(pa.array(batch, pa.string()), special, offsets=False).rows
            counts += rows.columns(None, False, None, "refuse", []).n_tokens.to_pylist()
        return counts

    def _engine(self, texts: pa.Array, *, offsets: bool) -> TextEncoder | None:
        """Return the core's engine; None if the library has to do it, or does it before the engine is loaded."""
        if self._fast is None:
            self._bytes += texts.nbytes
            if self._bytes < _WORTH_LOADING:
                return None
            self._fast = Fast(self.tokenizer, self._cutter.anchors)
        return self._fast.engine if not offsets or self._fast.has_offsets else None

    def _reason(self, *, offsets: bool) -> str:
        """Return why the library encodes texts."""
        if self._fast is None:
            return "there are too few texts to load the core's engine"
        if self._fast.reason is not None:
            return self._fast.reason
        if offsets and not self._fast.has_offsets:
            return "the core doesn't know the bytes of its tokens"
        return "a text has a character newer than Unicode 14, or an added token that takes in blanks or ends words"

    def _filled(
        self, rows: TokenRows, texts: pa.Array, encode: Callable[..., list[Tokens | RenderError]], *, offsets: bool
    ) -> Encoded:
        """Return rows with the tokens of those that are open."""
        numbers = rows.open_rows
        if not numbers:
            return Encoded(rows, {})
        all_open = len(numbers) == len(texts)
        open_texts = texts.to_pylist() if all_open else [texts[row].as_py() for row in numbers]
        return _filled(rows, numbers, encode(open_texts, offsets=offsets), self._reason(offsets=offsets))

    def _in_pieces(self, texts: Sequence[str], *, offsets: bool) -> list[Tokens | RenderError]:
        """Encode texts by the library, in pieces if they can be cut."""
        pieces = self._cutter.pieces(texts)
        if pieces is None:
            return self._whole(texts, special=False, offsets=offsets)
        return _without_panic(lambda part: self._pieces.tokens(pieces[part], offsets=offsets), texts)

    def _check(self, encoded: Encoded, texts: pa.Array, *, offsets: bool) -> None:
        """Compare some rows with those of the library."""
        first = -self._rows % _CHECKED_ONE_IN
        self._rows += len(texts)
        for row in range(first, len(texts), _CHECKED_ONE_IN):
            text = texts[row].as_py()
            if text is None or row in encoded.errors:
                continue
            whole = self._whole([text], special=False, offsets=offsets)[0]
            rows = encoded.rows
            if not isinstance(whole, Tokens) or whole.are(rows.ids(row), rows.spans(row) if offsets else None):
                continue
            message = (
                f"the tokens of a text aren't those of the library tokenizers, {text[:80]!r}. This is a bug of "
                "promptpress; please report it with the tokenizer"
            )
            raise render_error("differs_from_reference", message)

    def _whole(self, texts: Sequence[str], *, special: bool = False, offsets: bool) -> list[Tokens | RenderError]:
        """Encode texts as wholes by the library."""
        return _without_panic(
            lambda part: encoded(self.tokenizer, texts[part], special=special, offsets=offsets), texts
        )

    def encode_data_as_text(
        self, texts: pa.Array, spans: Sequence[Any], special: bool | None, *, offsets: bool
    ) -> Encoded:
        """Encode texts in which data bring no added token: whatever looks like one is text.

        The arguments are those of `encode`, and the origins of each text's bytes. A text that can't be encoded so with
        certainty has an error.
        """
        rows = TokenRows.open(texts, offsets=offsets)
        numbers = rows.open_rows
        if self._around is None and special is not False:
            message = 'the tokenizer puts more than tokens around a text; control_tokens="text" can\'t be done with it'
            return Encoded(rows, {row: render_error("unknown_origin", message) for row in numbers})
        if self._plain is None:
            self._plain = PlainData(self.tokenizer, self._cutter.anchors)
        plain = self._plain
        present = [text for text in texts.to_pylist() if text is not None]
        of_texts = [spans[row] for row in numbers]
        tokens = _without_panic(lambda part: plain.encode(present[part], of_texts[part], offsets=offsets), present)
        return self._with_specials(
            _filled(rows, numbers, tokens, "control tokens of data are encoded as text"), special
        )

    def _with_specials(self, encoded: Encoded, special: bool | None) -> Encoded:
        """Return texts with the special tokens around them."""
        if special is not False and self._around is not None:
            encoded.rows.surround(*self._around, always=bool(special))
        return encoded


class Encoded(NamedTuple):
    """The tokens of some texts.

    Rows with errors are open; `errors` has these by the numbers of their rows. `by_library` counts the texts that the
    library has encoded, or has failed on, and `reason` says why it has.
    """

    rows: TokenRows
    errors: dict[int, RenderError]
    by_library: int = 0
    reason: str | None = None


def _filled(rows: TokenRows, numbers: Sequence[int], tokens: Sequence[Tokens | RenderError], reason: str) -> Encoded:
    """Return rows, some of which get tokens of the library, or an error."""
    errors: dict[int, RenderError] = {}
    for row, of_row in zip(numbers, tokens, strict=True):
        if isinstance(of_row, RenderError):
            errors[row] = of_row
        else:
            rows.fill(row, of_row.ids, of_row.starts or (), of_row.ends or ())
    return Encoded(rows, errors, len(numbers), reason)


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    characters = 0
    for text in texts:
        if batch and (characters + len(text) > _MAX_BATCH_CHARACTERS or len(batch) == _MAX_BATCH_TEXTS):
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    if batch:
        yield batch


def _without_panic(
    encode: Callable[[slice], Sequence[Tokens | RenderError]], texts: Sequence[str], part: slice | None = None
) -> list[Tokens | RenderError]:
    """Return the tokens of texts; where the library panics, the error of the text that it panics on."""
    part = slice(0, len(texts)) if part is None else part
    try:
        return list(encode(part))
    except BaseException as error:
        if type(error).__name__ != PANIC:
            raise
    if part.stop - part.start == 1:
        message = f"the library tokenizers fails on the text {texts[part.start][:80]!r}"
        return [render_error("unconvertible_value", message)]
    half = (part.start + part.stop) // 2
    halves = (slice(part.start, half), slice(half, part.stop))
    return [tokens for of_half in halves for tokens in _without_panic(encode, texts, of_half)]


def _special_ids(tokenizer: Any) -> tuple[list[int], list[int]] | None:
    """Return the special tokens that a tokenizer puts before and after each text; None if it does something else."""
    plain = tokenizer.encode("a", add_special_tokens=False).ids
    encoding = tokenizer.encode("a", add_special_tokens=True)
    before = len(encoding.ids) - len(list(dropwhile(bool, encoding.special_tokens_mask)))
    ids = encoding.ids
    if ids[before : before + len(plain)] != plain:
        return None
    return ids[:before], ids[before + len(plain) :]


class PlainData:
    """Encodes texts in pieces that are cut at the control tokens of the template, by a tokenizer that knows none."""

    def __init__(self, tokenizer: Any, anchors: Mapping[str, int]) -> None:
        import tokenizers  # noqa: PLC0415 - an extra, which has loaded the tokenizer

        tokens = tokenizer.get_added_tokens_decoder()
        self._numbers = frozenset(
            number for number, token in tokens.items() if not _stands_for_text(tokenizer, token.content)
        )
        self._others = [token.content for token in tokens.values() if token.content and token.content not in anchors]
        self._anchors = anchors
        # The longest first: no other begins there, but one may be the beginning of another.
        longest = sorted(anchors, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest)) or r"(?!)")
        plain = tokenizers.Tokenizer.from_str(json.dumps({**json.loads(tokenizer.to_str()), "added_tokens": []}))
        plain.no_truncation()
        plain.no_padding()
        plain.add_special_tokens([tokenizers.AddedToken(_CONTEXT, normalized=False)])
        self._pieces = Pieces(plain, anchors, (_CONTEXT, int(plain.token_to_id(_CONTEXT) or 0)))
        self._cut_constants: dict[str, list[str]] = {}

    def encode(self, texts: Sequence[str], spans: Sequence[Any], *, offsets: bool) -> list[Tokens | RenderError]:
        """Encode texts, as `Encoder.encode_data_as_text` without special tokens around them."""
        out: list[Any] = [None] * len(texts)
        rows: dict[int, list[str]] = {}
        for number, (text, of_text) in enumerate(zip(texts, spans, strict=True)):
            try:
                rows[number] = self._cut(text, of_text)
            except UnknownOriginError as error:
                out[number] = render_error("unknown_origin", f'{error}; control_tokens="text" can\'t be done')
        for number, tokens in zip(rows, self._pieces.tokens(list(rows.values()), offsets=offsets), strict=True):
            out[number] = self._checked(tokens, rows[number])
        return out

    def _checked(self, tokens: Tokens, row: Sequence[str]) -> Tokens | RenderError:
        """Refuse tokens of which more are added ones than the template writes: some vocabularies hold them as words."""
        if sum(number in self._numbers for number in tokens.ids) == len(row) // 2:
            return tokens
        message = (
            'the vocabulary itself spells a control token; control_tokens="text" can\'t be done with this tokenizer'
        )
        return render_error("unknown_origin", message)

    def _cut(self, text: str, spans: Sequence[Mapping[str, Any]]) -> list[str]:
        """Cut a text at the control tokens that stand in what isn't data."""
        if _CONTEXT in text:
            raise UnknownOriginError("the text holds U+FDD0 and U+FDD1, which mark pieces")
        row = [""]
        for is_constant, stretch in _stretches(text, spans):
            if not is_constant:
                row[-1] += stretch
                continue
            first, *others = self._constant(stretch)
            row[-1] += first
            row += others
        return row

    def _constant(self, text: str) -> list[str]:
        """Return the pieces of a text of the template: a piece, a control token, a piece, and so on."""
        pieces = self._cut_constants.get(text)
        if pieces is None:
            pieces, index = [], 0
            for match in self._pattern.finditer(text):
                pieces += [text[index : match.start()], match[0]]
                index = match.end()
            pieces.append(text[index:])
            for token in self._others:
                if any(token in piece for piece in pieces[::2]):
                    raise UnknownOriginError(f"the template writes {token!r}, a token at which no text can be cut")
            if len(self._cut_constants) >= _MAX_CONSTANTS:
                self._cut_constants.clear()
            self._cut_constants[text] = pieces
        return pieces


def _stands_for_text(tokenizer: Any, token: str) -> bool:
    """Return true for tokens that any text may give: that of unknown characters, and those of single bytes."""
    model = tokenizer.model
    is_byte = getattr(model, "byte_fallback", False) and re.fullmatch(r"<0x[0-9A-F]{2}>", token)
    return bool(is_byte) or token == getattr(model, "unk_token", None)


def _stretches(text: str, spans: Sequence[Mapping[str, Any]]) -> Iterator[tuple[bool, str]]:
    """Yield the stretches of a text that are constant, and those that data brought, in turns."""
    data = text.encode()
    for span in spans:
        check_origin(span, takes_computed=True)
    # Usual roles are the template's, too.
    for is_constant, group in groupby(spans, lambda span: span["source"] not in _DATA or is_usual_role(span, data)):
        members = list(group)
        yield is_constant, data[members[0]["start"] : members[-1]["end"]].decode()
