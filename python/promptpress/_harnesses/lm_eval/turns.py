"""Questions and answers as messages, and messages as plain text or as a conversation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Turn = tuple[str, str, Any]
"""Role, content, and the delimiter after it in plain text; a delimiter of None raises there, as in the harness."""


def question_and_answer(text: Any, choices: Any, answer: Any, prefix: Any, delimiters: tuple[Any, Any]) -> list[Turn]:
    """Return a document's question, and its answer if there is one, as messages.

    A question without answer has no delimiter after it, unless the prefix needs one.

    Args:
        text: The value of `doc_to_text`.
        choices: The choices, if the answer is the number of a choice.
        answer: A text, the number of a choice, or a list whose first item is the answer; None and "" for no answer.
        prefix: The beginning of the answer.
        delimiters: The delimiters between question and answer, and after the answer.

    >>> question_and_answer("1+1?", ["2", "3"], 0, None, (" ", "#"))
    [('user', '1+1?', ' '), ('assistant', '2', '#')]
    """
    if not isinstance(text, str):
        raise AssertionError(f"a document's text has to be a string; found {text!r}")
    target_delimiter, fewshot_delimiter = delimiters
    answered = answer is not None and answer != ""
    # A prefix needs a delimiter unless there is white space, or no text, before it.
    delimited = text != "" and not (text[-1].isspace() or prefix[0].isspace()) if prefix else answered
    question = ("user", text, target_delimiter if delimited else "")
    if not answered:
        return [question, ("assistant", prefix, "")] if prefix else [question]
    answer_text = answer[0] if isinstance(answer, list) else answer
    if choices and isinstance(answer, int):
        answer_text = choices[answer]
    if not isinstance(answer_text, str):
        raise AssertionError(f"a document's answer has to be a string; found {answer!r}")
    return [question, ("assistant", join(prefix, answer_text, " "), fewshot_delimiter)]


def join(before: Any, after: Any, delimiter: str | None) -> Any:
    """Join two texts, with a delimiter if neither is empty and there is no white space between them.

    >>> join("a", "b", "-"), join("a ", "b", "-"), join(None, "b", "-")
    ('a-b', 'a b', 'b')
    """
    if not before:
        return after or ""
    if not after:
        return before or ""
    return before + after if before[-1].isspace() or after[0].isspace() else before + delimiter + after


def plain_text(turns: Iterable[Turn]) -> str:
    """Return messages as plain text, with the delimiter after each."""
    return "".join([text + delimiter for _, text, delimiter in turns])


def conversation(system: Any, shots: list[Turn], question: list[Turn], as_turns: bool) -> list[dict[str, Any]]:
    """Return the list of messages for a chat template, without a system message if its content is empty.

    If shots aren't turns, they stand as plain text before the user's question.

    >>> conversation("", [("user", "a", " "), ("assistant", "b", "#")], [("user", "c", " ")], False)
    [{'role': 'user', 'content': 'a b#c'}]
    """
    messages = shots + question if as_turns else list(question)
    if not as_turns:
        role, text, delimiter = messages[0]
        messages[0] = (role, plain_text(shots) + text, delimiter)
    out = [{"role": "system", "content": system}] if system else []
    return out + [{"role": role, "content": content} for role, content, _ in messages]
