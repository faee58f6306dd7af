"""Oracle for masks: what others say is never trained, and all that an assistant says is, or the row is refused."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import promptpress as pp

from .chat_templates import PLAIN, Source, byte_tokenizer
from .conversations import Case, Finder, Occurrence, Owner, draw_cases, groups
from .findings import Failure, Report

SETTINGS: list[dict[str, Any]] = [
    {"mask": "assistant"},
    {"mask": "assistant+end"},
    {"mask": "assistant+turn"},
    {"mask": "assistant", "reasoning": True},
    {"mask": "assistant+end", "last_turn": True},
    {"mask": "assistant+turn", "reasoning": True, "last_turn": True},
]
REFUSALS = ("unknown_origin",)
COLUMNS = ("input_ids", "offsets", "assistant_masks")


@dataclass
class Row:
    """A row as it was rendered and tokenized: its bytes, which of them are trained, and where words stand."""

    case: Case
    prompt: bytes
    trained: bytearray
    occurrences: list[Occurrence]
    owners: dict[str, Owner]
    added: list[tuple[int, int]]

    def whole(self, start: int, end: int) -> bool:
        return all(self.trained[start:end])

    def quoted(self, start: int, end: int) -> str:
        """The bytes around a stretch, trained ones in capital brackets."""
        low, high = max(0, start - 40), min(len(self.prompt), end + 40)
        texts, flag = [], False
        for index in range(low, high):
            if bool(self.trained[index]) != flag:
                flag = not flag
                texts.append(b"\xe2\x9f\xa6" if flag else b"\xe2\x9f\xa7")
            texts.append(self.prompt[index : index + 1])
        return b"".join(texts).decode(errors="replace").replace("\n", "\\n")


def name_of(settings: dict[str, Any]) -> str:
    return settings["mask"] + "".join(f" {name}" for name in ("reasoning", "last_turn") if settings.get(name))


def failures_of_row(row: Row, source: Source, settings: dict[str, Any]) -> list[Failure]:
    """Return all that is wrong with a row's mask."""
    failures = []
    reasons, last_turn = settings.get("reasoning", False), settings.get("last_turn", False)
    roles = [message["role"] for message in row.case.messages]
    last = max((n for n, role in enumerate(roles) if role == "assistant"), default=-1)
    last_question = max((n for n, role in enumerate(roles) if role == "user" and n < last), default=-1)
    wanted = {"said"} | ({"reasoning"} if reasons else set())
    forbidden = {"foreign", "ignored"} | (set() if reasons else {"reasoning"})
    names: dict[str, bool] = {}
    for occurrence in row.occurrences:
        owner = row.owners[occurrence.word]
        earlier = last_turn and owner.message is not None and owner.message < last_question
        is_last = not last_turn or owner.message == last
        if any(row.trained[occurrence.start : occurrence.end]):
            names[occurrence.word] = True
            if owner.kind in forbidden:
                failures.append(
                    Failure(f"trained: {owner.label} ({owner.kind})", row.quoted(occurrence.start, occurrence.end))
                )
            elif earlier and owner.kind != "own":
                failures.append(Failure("trained: an earlier turn", row.quoted(occurrence.start, occurrence.end)))
        if owner.kind in wanted and is_last and not row.whole(occurrence.start, occurrence.end):
            failures.append(Failure(f"not trained: {owner.label}", row.quoted(occurrence.start, occurrence.end)))
        if owner.kind == "name" and is_last:
            names.setdefault(occurrence.word, False)
    for occurrence in row.occurrences:
        if names.get(occurrence.word) is False:
            owner = row.owners[occurrence.word]
            failures.append(Failure(f"not trained: {owner.label}", row.quoted(occurrence.start, occurrence.end)))
    if settings["mask"] != "assistant":
        failures += ends_of_row(row, source, settings, last if last_turn else None)
    return failures + others_of_row(row, settings)


def others_of_row(row: Row, settings: dict[str, Any]) -> list[Failure]:
    """Return trained texts of the template that no assistant says.

    Such texts are all between two words of others if no assistant's message is between them; the added tokens before
    the first word of a turn that says one text; and with the mask `assistant` those after it.
    """
    failures = []
    texts = {
        number
        for number, message in enumerate(row.case.messages)
        if message["role"] == "assistant" and not message.get("tool_calls") and isinstance(message.get("content"), str)
    }
    speakers = {number for number, message in enumerate(row.case.messages) if message["role"] == "assistant"}
    for before, after in zip(row.occurrences, row.occurrences[1:], strict=False):
        left, right = row.owners[before.word], row.owners[after.word]
        if left.message is None or right.message is None or len(left.paths) + len(right.paths) > 2:
            continue
        between = speakers & set(range(left.message, right.message + 1))
        tokens = [span for span in row.added if before.end <= span[0] and span[1] <= after.start]
        if left.message <= right.message and not between and any(row.trained[before.end : after.start]):
            failures.append(Failure("trained: text between words of others", row.quoted(before.end, after.start)))
        is_first = between == {right.message} and right.kind == "said" and right.message in texts
        is_first = is_first and row.case.messages[left.message]["role"] != "tool"  # a result may stand in a turn
        if is_first and left.message < right.message and any(row.trained[start] for start, _ in tokens):
            failures.append(Failure("trained: a token before a turn", row.quoted(before.end, after.start)))
        is_last = between == {left.message} and left.kind == "said" and left.message in texts
        is_end = is_last and settings["mask"] == "assistant" and left.message < right.message
        if is_end and any(row.trained[start] for start, _ in tokens):
            failures.append(Failure("trained: a token after a turn", row.quoted(before.end, after.start)))
    return failures


def ends_of_row(row: Row, source: Source, settings: dict[str, Any], only: int | None) -> list[Failure]:
    """Return the turns whose end isn't trained.

    The end of a turn is the first added token after its last word. After calls it is the one that ends a turn of text,
    or another that is no closing tag, because tags of calls may be added tokens too.
    """
    failures = []
    eos = source.special_tokens.get("eos_token", "").encode()
    for number, message in enumerate(row.case.messages):
        mine = [occurrence for occurrence in row.occurrences if row.owners[occurrence.word].message == number]
        if message["role"] != "assistant" or (only is not None and number != only):
            continue
        kinds = {row.owners[occurrence.word].kind for occurrence in mine}
        if not kinds & {"said", "name"} or "ignored" in kinds:
            continue
        last = max(occurrence.end for occurrence in mine)
        following = min(
            (occurrence.start for occurrence in row.occurrences if occurrence.start >= last), default=len(row.prompt)
        )
        tokens = [span for span in row.added if last <= span[0] and span[1] <= following]
        if message.get("tool_calls") or not isinstance(message.get("content"), str):
            tokens = [span for span in tokens if row.prompt[slice(*span)] == end_token(source)]
            tokens = [] if ends_with_a_token(row, last, following) else tokens
        sort = "after calls" if message.get("tool_calls") else "after a text"
        if tokens and not row.whole(*tokens[0]):
            failures.append(Failure(f"end not trained: {sort}", row.quoted(*tokens[0])))
        tail = row.prompt[last:].rstrip()
        at_end = following == len(row.prompt) and number == len(row.case.messages) - 1
        if settings["mask"] == "assistant+turn" and eos and at_end and tail.endswith(eos):
            end = last + len(tail)
            if not row.whole(end - len(eos), end):
                failures.append(Failure("eos_token not trained at the end", row.quoted(end - len(eos), end)))
    return failures


def ends_with_a_token(row: Row, start: int, end: int) -> bool:
    """Return true if a part of the prompt begins trained, and an added token in this beginning is no closing tag."""
    trained = next((index for index in range(start, end) if not row.trained[index]), end)
    return any(start <= low and high <= trained and row.prompt[low : low + 2] != b"</" for low, high in row.added)


def end_token(source: Source) -> bytes | None:
    """Return the first added token after a turn of text, as the template writes it."""
    if source.id not in ENDS:
        ENDS[source.id] = None
        try:
            text = pp.ChatTemplate(source.template, **source.special_tokens).render([{"messages": PLAIN}])["prompt"][0]
        except (pp.TemplateError, pp.RenderError):
            return None
        after = text.as_py().partition("Y")[2]
        tokens = sorted((after.find(mark), -len(mark), mark) for mark in source.marks if mark in after)
        ENDS[source.id] = tokens[0][2].encode() if tokens else None
    return ENDS[source.id]


ENDS: dict[str, bytes | None] = {}


def failures_of_case(source: Source, case: Case) -> list[Failure]:
    """Return what is wrong with a single case, with all settings."""
    report = Report()
    check_cases(report, source, [case], every=True)
    return [Failure(kind, detail) for kind, (_, _, detail) in report.first.items()]


def check_cases(report: Report, source: Source, cases: list[Case], *, every: bool = False) -> None:
    """Check the masks of cases that have the same arguments.

    Args:
        report: What counts go into.
        source: The template.
        cases: The cases.
        every: Try all settings of masks with each case, instead of one in turns.

    """
    try:
        template = pp.ChatTemplate(source.template, **{**source.special_tokens, **cases[0].arguments})
        rendered = template.render([case.row for case in cases], errors="column").to_pylist()
    except (pp.TemplateError, pp.RenderError):
        report.count("raised", len(cases))
        return
    good = [(case, row["prompt"].encode()) for case, row in zip(cases, rendered, strict=True) if row["error"] is None]
    report.count("raised", len(cases) - len(good))
    tokenizer = byte_tokenizer(source.marks)
    for turn, settings in enumerate(SETTINGS):
        chosen = [pair for number, pair in enumerate(good) if every or number % len(SETTINGS) == turn]
        if not chosen:
            continue
        rows = [case.row for case, _ in chosen]
        table = template.tokenize(rows, tokenizer, offsets=True, errors="column", **settings)
        for (case, prompt), tokens in zip(chosen, table.to_pylist(), strict=True):
            report.count("rendered")
            if tokens["error"] is None:
                row = row_of(source, case, prompt, tokens)
                failures = failures_of_row(row, source, settings)
                report.fail(source, case, [Failure(f.kind, f"{name_of(settings)}: {f.detail}") for f in failures])
            elif tokens["error"].startswith(REFUSALS):
                report.refuse(source.id, tokens["error"])
            else:
                report.fail(source, case, [Failure(f"error: {tokens['error'].split(':')[0]}", tokens["error"])])


def row_of(source: Source, case: Case, prompt: bytes, tokens: dict[str, Any]) -> Row:
    trained, added = bytearray(len(prompt)), []
    ids_of_marks = byte_tokenizer(source.marks).get_added_tokens_decoder()
    for token, span, is_trained in zip(*(tokens[name] for name in COLUMNS), strict=True):
        start, end = span["start"], span["end"]
        if is_trained:
            trained[start:end] = b"\1" * (end - start)
        if token in ids_of_marks:
            added.append((start, end))
    finder = Finder(case, source.template)
    return Row(case, prompt, trained, finder.occurrences(prompt), finder.owners, added)


def check(report: Report, source: Source, seed: int, count: int) -> None:
    """Check some conversations with a template."""
    for group, size in enumerate(groups(count)):
        rng = random.Random(f"{seed} {source.id} {group}")
        check_cases(report, source, draw_cases(rng, size, source.variables))
