"""One conversation that grows turn by turn, with the token ids of what is new."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from promptpress._core import RenderError
from promptpress._engine.chat_engine import ChatEngine
from promptpress._engine.options import RenderOptions
from promptpress._engine.table_engine import TableRenderer, engine_of
from promptpress._errors.errors import counted, render_error
from promptpress._jinja.run import excerpt
from promptpress._tokens.encoder import Encoder


@dataclass(frozen=True, repr=False, eq=False)
class Talk:
    """A conversation with its text and its token ids, which `ChatTemplate.begin` and `extend` make; it never changes.

    `messages` are the messages, `text` is what the template makes of them, and `has_generation_prompt` is true if it
    ends where the assistant is to speak. `kept` is how many of the shorter talk's ids are the first ones of this one's:
    all of them, unless `extend` was allowed to rewrite them.

    >>> from promptpress import ChatTemplate
    >>> from tokenizers import Tokenizer, models, pre_tokenizers
    >>> words = Tokenizer(models.WordLevel({"<user>": 0, "<bot>": 1, "Hi": 2, "?": 3}, "?"))
    >>> words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    >>> chat = ChatTemplate("{% for m in messages %}<{{ m.role }}> {{ m.content }} {% endfor %}")
    >>> talk = chat.begin([{"role": "user", "content": "Hi"}], words)
    >>> longer = talk.extend([{"role": "bot", "content": "Hi Hi"}])
    >>> talk.ids, longer.new_ids, longer.ids, longer.kept
    ([0, 2], [1, 2, 2], [0, 2, 1, 2, 2], 2)

    """

    messages: tuple[Any, ...]
    text: str
    has_generation_prompt: bool
    kept: int
    _ids: tuple[int, ...]
    _cut: tuple[int, int, int]
    """Where the text is surely cut last: the characters before it, those with the token there, and the ids before."""
    _chat: TableRenderer[ChatEngine]
    _encoder: Encoder
    _columns: Mapping[str, Any]

    @property
    def ids(self) -> list[int]:
        """All token ids: those that `ChatTemplate.tokenize` gives for the whole conversation."""
        return list(self._ids)

    @property
    def new_ids(self) -> list[int]:
        """The ids after the `kept` ones of the shorter talk; all of them if there was none."""
        return list(self._ids[self.kept :])

    def extend(
        self, messages: Iterable[Any], *, add_generation_prompt: bool | None = None, allow_rewrite: bool = False
    ) -> Talk:
        """Return the talk with further messages.

        Only the text from the last added token on is encoded again.

        Args:
            messages: The messages that follow, such as the model's answer, results of tools and the next question.
            add_generation_prompt: Whether the text ends where the assistant is to speak; None: as in this talk. If it
                did, and the assistant's answer follows, the prompt has to be how the template begins such a turn.
            allow_rewrite: Whether ids of this talk may change, as where a template leaves out the reasoning of earlier
                turns. `kept` of the result says how many stay: a cache has to drop what is after them.

        Returns:
            A new talk, whose `new_ids` follow the first `kept` ones of this talk's.

        Raises:
            RenderError: If ids of this talk change (`history_rewritten`), unless that is allowed. If the conversation
                can't be rendered, as `ChatTemplate.render`.

        """
        has_prompt = self.has_generation_prompt if add_generation_prompt is None else add_generation_prompt
        return _talk(self, (*self.messages, *messages), has_prompt, allow_rewrite=allow_rewrite)

    def __repr__(self) -> str:
        return f"<Talk of {counted(len(self.messages), 'message')} and {counted(len(self._ids), 'token')}>"


def begin(
    chat: TableRenderer[ChatEngine],
    messages: Iterable[Any],
    tokenizer: Any,
    add_generation_prompt: bool | None,
    columns: Mapping[str, Any],
) -> Talk:
    """Begin a talk: what `ChatTemplate.begin` returns."""
    has_prompt = bool(engine_of(chat).renderer.settings.add_generation_prompt)
    none = Talk((), "", has_prompt, 0, (), (0, 0, 0), chat, Encoder.of(tokenizer), dict(columns))
    return none.extend(messages, add_generation_prompt=add_generation_prompt)


def _talk(talk: Talk, messages: tuple[Any, ...], has_prompt: bool, *, allow_rewrite: bool) -> Talk:
    """Return a talk with all its messages, given the shorter one."""
    given = engine_of(talk._chat)
    engine = given.with_generation_prompt(has_prompt)
    row = {**talk._columns, engine.column: list(messages)}
    text = str(engine.render([row], RenderOptions()).column(0)[0])
    given.take_counts(engine)
    start, end, before = talk._cut
    if not text.startswith(talk.text[:end]):
        start = before = 0
    tail, cut = _encoded(talk._encoder, text, start)
    ids = (*talk._ids[:before], *tail)
    same = before
    for old, new in zip(talk._ids[before:], tail, strict=False):
        if old != new:
            break
        same += 1
    if same < len(talk._ids) and not allow_rewrite:
        raise _rewritten(talk, text, same)
    cut = (cut[0], cut[1], before + cut[2])
    return Talk(messages, text, has_prompt, same, ids, cut, talk._chat, talk._encoder, talk._columns)


def _encoded(encoder: Encoder, text: str, start: int) -> tuple[list[int], tuple[int, int, int]]:
    """Return the ids of a text from a place on, and the last place at which it can be cut: see `pieces.py`."""
    last, token = max(((text.rfind(token, start), token) for token in encoder.anchors), default=(start, ""))
    last = max(last, start)
    ids: list[int] = []
    before = 0
    for part in filter(None, (text[start:last], text[last:])):
        (of_part,) = encoder.ids([part], special=False)
        if isinstance(of_part, RenderError):
            raise of_part
        before = len(ids)
        ids += of_part
    return ids, (last, last + len(token), before)


def _rewritten(talk: Talk, text: str, same: int) -> RenderError:
    """Make the error for a longer talk that doesn't begin with the ids of the shorter one."""
    if text.startswith(talk.text):
        what = f"a token reaches over the end of {excerpt(talk.text[-_SHOWN:])}"
    else:
        what = f"{excerpt(talk.text, text)} becomes {excerpt(text, talk.text)}"
    message = (
        f"the longer conversation changes the talk's ids from number {same:,} of {len(talk._ids):,} on: {what}; "
        "allow_rewrite=True gives the talk with the number of ids that stay, and append_only of the template says why"
    )
    return render_error("history_rewritten", message, column=engine_of(talk._chat).column)


_SHOWN = 40
"""The characters at the end of a text that an error shows."""
