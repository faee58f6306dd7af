"""Whether a harness and promptpress refuse a row for the same reason, as far as their words tell."""

from __future__ import annotations

import re

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_LINK = re.compile(r"https?://\S+")
# What stands between quotes. A key of a printed dict isn't what the message is about.
_QUOTED = re.compile(r"(?<!\w)'([^']+)'(?!\w|\s*:)|\"([^\"]+)\"(?!\s*:)|`([^`]+)`")
_SNAKE = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
_LAST_WORD = re.compile(r":\s*(\w+)\W*$")
_NUMBER = re.compile(r"\b\d+\b")
_RANGE = re.compile(r"out of (?:range|bounds)")
_ASIDE = re.compile(r"\([^()]*\)")
# They stand in messages about anything.
_COMMON_WORDS = frozenset(
    {
        *("prompt_template", "ice_template", "meta_template", "template", "templates", "type", "cfg", "default_args"),
        *("round", "begin", "end", "role", "fallback_role", "prompt", "messages", "content", "self"),
        *("str", "int", "float", "bool", "list", "tuple", "dict", "bytes", "object", "NoneType"),
        *("None", "True", "False"),
    }
)
# But where a key is missing it is what the message is about, however common.
_MISSING = re.compile(r"missing|needs the key|lacks")
_MISSING_CODES = frozenset(
    {
        *("missing_key", "missing_column", "missing_examples", "missing_ice_token", "missing_labels"),
        *("missing_output_column", "missing_template", "incomplete_message", "label_not_in_map"),
    }
)


def words(error: BaseException | str) -> str:
    r"""Give what an exception says, on one line and without a terminal's colours.

    Args:
        error: what was raised, or its message.

    Returns:
        The text; empty where it has none.

    Example:
        >>> words(ValueError("\x1b[31mno\x1b[0m\nrole"))
        'no role'

    """
    return " ".join(_COLOURS.sub("", str(error)).split("\n"))


def same_fault(theirs: BaseException, ours: BaseException) -> bool:
    """Say whether two exceptions name the same fault.

    Each side has classes and sentences of its own, so only names tell: the role, label, key, argument, class or row
    number that is wrong. Where one side names nothing, or something else, they don't count as the same.

    Args:
        theirs: what the harness raised.
        ours: what promptpress raised.

    Returns:
        Whether both name the same thing.

    Example:
        >>> unknown = ValueError("round[1]: role 'TEACHER' is not in the meta template (it has 'HUMAN')")
        >>> same_fault(KeyError("TEACHER"), unknown), same_fault(KeyError("HUMAN"), unknown)
        (True, False)

    """
    if type(theirs) is type(ours) and words(theirs) == words(ours):
        return True
    their_words, our_words = _LINK.sub("", _error_words(theirs)), _fault_words(ours)
    code = getattr(ours, "code", "")
    if isinstance(theirs, KeyError) and len(theirs.args) == 1 and _quotes(our_words, theirs.args[0]):
        # The key is all that is said, so it may be any, be it empty; a common word is the fault only if it is missing.
        return str(theirs.args[0]) not in _COMMON_WORDS or code in _MISSING_CODES
    if _names(their_words, theirs) & _names(our_words, ours):
        return True
    if _MISSING.search(their_words) and code in _MISSING_CODES:
        return bool(set(_pieces(their_words)) & set(_pieces(our_words)))
    if _RANGE.search(their_words) and code == "example_index_out_of_range":
        # The first number of promptpress's is the one that is too large, the next how many there are.
        return bool(set(_NUMBER.findall(their_words)) & set(_NUMBER.findall(our_words)[:1]))
    return False


def _error_words(error: BaseException) -> str:
    """Give the words; those of a KeyError are the `repr` of what it was raised with."""
    if isinstance(error, KeyError) and len(error.args) == 1 and isinstance(error.args[0], str):
        return words(ValueError(error.args[0]))
    return words(error)


def _fault_words(error: BaseException) -> str:
    """Leave out the place, and what would be right: it names what isn't wrong."""
    text = words(getattr(error, "message", "") or error)
    return _ASIDE.sub("", text).partition("; ")[0].partition(" is not one of ")[0]


def _quotes(text: str, key: object) -> bool:
    if isinstance(key, str):
        return f"'{key}'" in text or f'"{key}"' in text
    return re.search(rf"(?<!\w){re.escape(repr(key))}(?!\w)", text) is not None


def _pieces(text: str) -> list[str]:
    return [piece for found in _QUOTED.findall(text) for piece in found if piece]


def _names(text: str, error: BaseException) -> set[str]:
    found = {*_pieces(text), *_SNAKE.findall(text), *_LAST_WORD.findall(text)}
    path = getattr(error, "path", None)
    if isinstance(path, str):
        found.add(re.sub(r"\[\d+\]$", "", path).rpartition(".")[2])
    column = getattr(error, "column", None)
    if isinstance(column, str):
        found.update(_SNAKE.findall(column))
    return found - _COMMON_WORDS
