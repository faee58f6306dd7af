"""Oracle for control_tokens="text": only what the template itself writes is an added token.

Words of values get a control token of the template. The same conversation with marks in the place of these tokens shows
what the template writes: a mark is a text as long as the token, of the same kind of characters, and no token. So the
added tokens of the prompt are those of the text with marks, and all between them is encoded by a tokenizer that has
none. If the two texts differ otherwise, the row is counted as `transformed`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from .chat_templates import PLAIN, Source, byte_tokenizer
from .conversations import WORD, Case, draw_cases, groups, owners
from .findings import Failure, Report
from .reference import compiled, texts_of

OTHER_LETTERS = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "qzxjvwkqzxjvwkqzxjvwkqzxjvQZXJVWKQZXJVWKQZXJVWKQZXJV"
)
REFUSALS = ("unknown_origin",)


def mark_of(token: str) -> str:
    """Return a token with other letters: a text of its kind that is no token."""
    return token.translate(OTHER_LETTERS)


def tokens_of(source: Source) -> list[str]:
    """Return the control tokens that a template writes around a plain chat, or else all that its text names."""
    tokens = [mark for mark in source.marks if not any(mark in mark_of(token) for token in source.marks)]
    text = texts_of(source, [Case(PLAIN)])[0] or ""
    return [token for token in tokens if token in text] or tokens


def spoiled(value: Any, tokens: dict[str, tuple[str, int]]) -> Any:
    """Return a value with a text within or beside some of its words.

    Args:
        value: The value.
        tokens: For each of these words, the text, and how many of the word's characters stand before it.

    """

    def with_token(match: Any) -> str:
        token, cut = tokens.get(match[0], ("", 0))
        return str(match[0][:cut] + token + match[0][cut:])

    return mapped(value, lambda text: WORD.sub(with_token, text))


def mapped(value: Any, change: Callable[[str], str]) -> Any:
    """Return a value with all of its texts and keys changed."""
    if isinstance(value, dict):
        return {change(key): mapped(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [mapped(item, change) for item in value]
    return change(value) if isinstance(value, str) else value


def pair_of(case: Case, tokens: dict[str, tuple[str, int]]) -> tuple[Case, Case]:
    """Return a case with tokens in some of its words, and the same with marks."""
    marks = {word: (mark_of(token), cut) for word, (token, cut) in tokens.items()}
    token, mark = (Case(spoiled(case.messages, some), spoiled(case.arguments, some)) for some in (tokens, marks))
    return token, mark


def some_tokens(words: list[str], rng: random.Random, tokens: list[str]) -> dict[str, tuple[str, int]]:
    """Draw tokens for half of some words."""
    return {
        word: (rng.choice(tokens), rng.choice([0, 9])) for word in words if not word.isdigit() and rng.random() < 0.5
    }


def expected_ids(prompt: str, marked: str, with_marks: Any, plain: Any) -> list[int]:
    """Return the ids of a prompt whose added tokens are those of the text with marks.

    Args:
        prompt: The prompt.
        marked: The text with marks, as long as the prompt.
        with_marks: The tokenizer.
        plain: The tokenizer without added tokens.

    """
    ids: list[int] = []
    done = 0
    added = with_marks.get_added_tokens_decoder()
    encoding = with_marks.encode(marked, add_special_tokens=False)
    for token, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
        if token in added:
            ids += [*plain.encode(prompt[done:start], add_special_tokens=False).ids, token]
            done = end
    return ids + plain.encode(prompt[done:], add_special_tokens=False).ids


def check_pairs(report: Report, source: Source, pairs: list[tuple[Case, Case]]) -> None:
    """Check cases with tokens next to the same with marks; the arguments of all of them are the same."""
    template = compiled(source, pairs[0][0].arguments)
    if template is None:
        report.count("raised", len(pairs))
        return
    prompts, marked = (texts_of(source, [pair[side] for pair in pairs]) for side in (0, 1))
    with_marks, plain = byte_tokenizer(source.marks), byte_tokenizer()
    rows = template.tokenize([case.row for case, _ in pairs], with_marks, control_tokens="text", errors="column")
    for (case, _), prompt, other, row in zip(pairs, prompts, marked, rows.to_pylist(), strict=True):
        if prompt is None or other is None:
            report.count("raised")
            continue
        report.count("rendered")
        if len(prompt) != len(other) or mark_all(prompt, source) != mark_all(other, source):
            report.count("transformed")
        elif row["error"] is None:
            want = expected_ids(prompt, other, with_marks, plain)
            if row["input_ids"] != want:
                report.fail(source, case, differences(case, prompt, with_marks, row["input_ids"], want))
        elif row["error"].startswith(REFUSALS):
            report.refuse(source.id, row["error"])
        else:
            report.fail(source, case, [Failure(f"error: {row['error'].split(':')[0]}", row["error"])])


def without_tokens(case: Case, source: Source) -> Case:
    """Return a case with marks in the place of all tokens."""

    def marked(text: str) -> str:
        return mark_all(text, source)

    return Case(mapped(case.messages, marked), mapped(case.arguments, marked))


def mark_all(text: str, source: Source) -> str:
    """Return a text with marks in the place of all tokens."""
    for token in source.marks:
        text = text.replace(token, mark_of(token))
    return text


def differences(case: Case, prompt: str, tokenizer: Any, got: list[int], want: list[int]) -> list[Failure]:
    """Return a failure for each sort of value whose token was read as one, or one for what else differs."""
    added = tokenizer.get_added_tokens_decoder()

    def starts(ids: list[int]) -> set[int]:
        position, positions = 0, set()
        for token in ids:
            text = tokenizer.decode([token], skip_special_tokens=False)
            if token in added:
                positions.add(position)
            position += len(text.encode()) if token in added else 1
        return positions

    data, read = prompt.encode(), starts(got)
    extra = read - starts(want)
    words = owners(case)
    failures = []
    for position in sorted(extra):
        excerpt = data[max(0, position - 60) : position + 60].decode(errors="replace")
        before, after = data[:position].decode(errors="replace"), data[position:].decode(errors="replace")
        labels = {owner.label for word, owner in words.items() if before.endswith(word) or word in after[:40]}
        failures.append(Failure(f"token of data: {min(labels, default='unknown place')}", excerpt))
    if not failures:
        failures.append(Failure("other ids", f"{len(got)} ids instead of {len(want)}: {prompt[:80]!r}"))
    return failures


def failures_of_case(source: Source, case: Case) -> list[Failure]:
    """Return what is wrong with a case that has tokens in its values already."""

    report = Report()
    check_pairs(report, source, [(case, without_tokens(case, source))])
    return [Failure(kind, detail) for kind, (_, _, detail) in report.first.items()]


def check(report: Report, source: Source, seed: int, count: int) -> None:
    """Check some conversations with a template."""
    tokens = tokens_of(source)
    if not tokens:
        report.count("templates without control tokens")
        return
    for group, size in enumerate(groups(count)):
        rng = random.Random(f"{seed} {source.id} {group}")
        cases = draw_cases(rng, size, source.variables)
        of_arguments = some_tokens(list(owners(Case([], cases[0].arguments))), rng, tokens)
        pairs = []
        for case in cases:
            message_words = [
                word for word, owner in owners(case).items() if all(number is not None for number, _ in owner.paths)
            ]
            spelled, marked = pair_of(case, {**some_tokens(message_words, rng, tokens), **of_arguments})
            # Contents may hold tokens of their own, such as `<think>`.
            pairs.append((spelled, without_tokens(marked, source)))
        check_pairs(report, source, pairs)
