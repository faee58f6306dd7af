"""Questions and answers as messages, and messages as plain text or as a conversation."""

from __future__ import annotations

from typing import Any

__all__ = ["Turn", "conversation", "joined", "needs_delimiter", "question_and_answer"]

Turn = tuple[str, str, Any]
"""Role, content, and the delimiter that follows it in plain text; None raises there, as in the harness."""


def question_and_answer(text: Any, choices: Any, answer: Any, prefix: Any, delimiters: tuple[Any, Any]) -> list[Turn]:
    """Make the messages of a document.

    Args:
        text: What `doc_to_text` gave.
        choices: What a number as answer is a number of.
        answer: The answer: a text, a number of a choice, or a list whose first item it is; None and "" for none.
        prefix: What the answer begins with.
        delimiters: What stands between question and answer, and what behind the answer.

    Returns:
        One message or two. A question without answer has no delimiter behind it, unless the prefix asks for one.

    Raises:
        AssertionError: If text or answer is no string; and what indexing the choices raises.

    >>> question_and_answer("1+1?", ["2", "3"], 0, None, (" ", "#"))
    [('user', '1+1?', ' '), ('assistant', '2', '#')]

    """
    if not isinstance(text, str):
        raise AssertionError(f"a document's text has to be a string; found {text!r}")
    target_delimiter, shot_delimiter = delimiters
    answered = answer is not None and answer != ""
    delimited = needs_delimiter(text, prefix) if prefix else answered
    question = ("user", text, target_delimiter if delimited else "")
    if not answered:
        return [question, ("assistant", prefix, "")] if prefix else [question]
    own = answer[0] if isinstance(answer, list) else answer
    if choices and isinstance(answer, int):
        own = choices[answer]
    if not isinstance(own, str):
        raise AssertionError(f"a document's answer has to be a string; found {answer!r}")
    return [question, ("assistant", joined(prefix, own, " "), shot_delimiter)]


def joined(before: Any, behind: Any, delimiter: str | None) -> Any:
    """Join two texts by a delimiter, which is left out where there is white space at the seam or one is empty.

    >>> joined("a", "b", "-"), joined("a ", "b", "-"), joined(None, "b", "-")
    ('a-b', 'a b', 'b')

    """
    if not before:
        return behind or ""
    if not behind:
        return before or ""
    return before + behind if before[-1].isspace() or behind[0].isspace() else before + delimiter + behind


def needs_delimiter(before: str, behind: str) -> bool:
    r"""Say whether there is no white space at the seam of two texts; never before an empty one.

    >>> needs_delimiter("a", "b"), needs_delimiter("a\n", "b"), needs_delimiter("", "b")
    (True, False, False)

    """
    return before != "" and not (before[-1].isspace() or behind[0].isspace())


def conversation(system: Any, shots: list[Turn], own: list[Turn], as_turns: bool) -> list[dict[str, Any]]:
    """Make the list of messages that a chat template takes.

    Args:
        system: The system message's content; none where it is empty.
        shots: The messages of the shots.
        own: The messages of the document itself.
        as_turns: Whether each message stands for itself; else all of the shots stand in the user's one message, as
            plain text.

    Returns:
        The messages.

    >>> conversation("", [("user", "a", " "), ("assistant", "b", "#")], [("user", "c", " ")], False)
    [{'role': 'user', 'content': 'a b#c'}]

    """
    out = [{"role": "system", "content": system}] if system else []
    if as_turns:
        return out + [{"role": role, "content": content} for role, content, _ in shots + own]
    *questions, (role, content, _) = own
    before = "".join([text + behind for _, text, behind in shots])
    if questions:
        ((_, question, _),) = questions
        return [*out, {"role": "user", "content": before + question}, {"role": role, "content": content}]
    return [*out, {"role": "user", "content": before + content}]
