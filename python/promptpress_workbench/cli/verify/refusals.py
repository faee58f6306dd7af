"""Compares errors of a harness and of promptpress: both name the same fault, or they count as different."""

from __future__ import annotations

import re

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_LINK = re.compile(r"https?://\S+")
# A text between quotes that isn't a key of a printed dict, because the message isn't about such keys.
_QUOTED = re.compile(r"(?<!\w)'([^']+)'(?!\w|\s*:)|\"([^\"]+)\"(?!\s*:)|`([^`]+)`")
_SNAKE = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
_LAST_WORD = re.compile(r":\s*(\w+)\W*$")
_NUMBER = re.compile(r"\b\d+\b")
_RANGE = re.compile(r"out of (?:range|bounds)")
_ASIDE = re.compile(r"\([^()]*\)")
# Words that messages about anything may contain.
_COMMON_WORDS = frozenset(
    {
        *("prompt_template", "ice_template", "meta_template", "template", "templates", "type", "cfg", "default_args"),
        *("round", "begin", "end", "role", "fallback_role", "prompt", "messages", "content", "self"),
        *("str", "int", "float", "bool", "list", "tuple", "dict", "bytes", "object", "NoneType"),
        *("None", "True", "False"),
    }
)
# A message that says that a key is missing is about the key, even if the key is a common word.
_MISSING = re.compile(r"missing|needs the key|lacks")
_MISSING_CODES = frozenset(
    {
        *("missing_key", "missing_column", "missing_examples", "missing_ice_token", "missing_labels"),
        *("missing_output_column", "missing_template", "incomplete_message", "label_not_in_map"),
    }
)


def error_text(error: BaseException | str) -> str:
    """Return the text of an error on one line, without a terminal's colours."""
    return _COLOURS.sub("", str(error)).replace("\n", " ")


def same_fault(theirs: BaseException, ours: BaseException) -> bool:
    """Return true if two exceptions name the same fault.

    The classes and sentences of both sides differ, so only names are compared: the role, label, key, argument, class or
    row number that is wrong. If one side names nothing, or something else, the faults count as different.
    """
    if type(theirs) is type(ours) and error_text(theirs) == error_text(ours):
        return True
    key = theirs.args[0] if isinstance(theirs, KeyError) and len(theirs.args) == 1 else None
    # `str` would put quotes around the text of a KeyError.
    their_text = _LINK.sub("", error_text(key if isinstance(key, str) else theirs))
    our_text = _fault_text(ours)
    is_missing = getattr(ours, "code", "") in _MISSING_CODES
    if isinstance(theirs, KeyError) and len(theirs.args) == 1 and _quotes(our_text, key):
        # The text is only the key, which may be any value; a common word is the fault only if it is missing.
        return is_missing or str(key) not in _COMMON_WORDS
    if _names(their_text, theirs) & _names(our_text, ours):
        return True
    if is_missing and _MISSING.search(their_text):
        return not set(_quoted(their_text)).isdisjoint(_quoted(our_text))
    if getattr(ours, "code", "") == "example_index_out_of_range" and _RANGE.search(their_text):
        # The first number in promptpress's text is the index that is too large, the next the number of examples.
        return not set(_NUMBER.findall(their_text)).isdisjoint(_NUMBER.findall(our_text)[:1])
    return False


def _fault_text(error: BaseException) -> str:
    """Return promptpress's text without the location and the valid values, because those aren't wrong."""
    text = error_text(getattr(error, "message", "") or error)
    return _ASIDE.sub("", text).partition("; ")[0].partition(" is not one of ")[0]


def _quotes(text: str, key: object) -> bool:
    if isinstance(key, str):
        return f"'{key}'" in text or f'"{key}"' in text
    return re.search(rf"(?<!\w){re.escape(repr(key))}(?!\w)", text) is not None


def _quoted(text: str) -> list[str]:
    return [piece for groups in _QUOTED.findall(text) for piece in groups if piece]


def _names(text: str, error: BaseException) -> set[str]:
    names = {*_quoted(text), *_SNAKE.findall(text), *_LAST_WORD.findall(text)}
    path, column = getattr(error, "path", None), getattr(error, "column", None)
    if isinstance(path, str):
        names.add(re.sub(r"\[\d+\]$", "", path).rpartition(".")[2])
    if isinstance(column, str):
        names.update(_SNAKE.findall(column))
    return names - _COMMON_WORDS
