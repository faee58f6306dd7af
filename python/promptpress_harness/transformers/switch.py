"""The switch of transformers' drop-in, and a call with it."""

from __future__ import annotations

import importlib
import importlib.util
import threading
from contextlib import AbstractContextManager
from typing import Any

from promptpress_harness.bulk.patches import Patches, within
from promptpress_harness.transformers.rendering import FUNCTION, MODULE, drop_in, replacement

_patches = Patches(
    {
        "transformers.tokenization_utils_base": {FUNCTION: replacement},
        "transformers.processing_utils": {FUNCTION: replacement},
    }
)
_lock = threading.Lock()
_is_applied = False
"""True if the function is replaced. After a single call it stays replaced, but does what the original does."""


def enable() -> None:
    r"""Have `apply_chat_template` of all tokenizers and processors take its texts from promptpress, in this process.

    Arguments, returns and errors stay as they are, because transformers' own method runs. Only the function that
    renders the template is replaced. Once several conversations of the same roles and keys have been rendered, the
    template is compiled for them, and the program is used if it gives the text that transformers gives. transformers
    renders conversations that can't be read or compiled with certainty. If its code isn't that of a release whose rules
    are known, it renders all of them, and the log of `promptpress.transformers` has a warning.

    Raises:
        ImportError: If transformers isn't installed, or has no such function; or if Jinja2 isn't installed.

    >>> from promptpress import transformers
    >>> transformers.enable()  # doctest: +SKIP
    >>> tokenizer.apply_chat_template([{"role": "user", "content": "Hi."}], tokenize=False)  # doctest: +SKIP
    '<|im_start|>user\nHi.<|im_end|>\n'
    """
    _check_installed()
    _turn_on()


def disable() -> None:
    """Have transformers render its templates itself again.

    >>> from promptpress import transformers
    >>> transformers.disable()
    """
    global _is_applied  # noqa: PLW0603 - the state of this process
    with _lock:
        drop_in.is_enabled = False
        if _is_applied:
            _patches.revert()
            _is_applied = False


def backend() -> AbstractContextManager[None]:
    """Have the drop-in on within a `with` block, as by `enable`; afterwards it is on or off as before.

    Returns:
        What to give to `with`.

    Raises:
        ImportError: As `enable`.

    >>> from promptpress import transformers
    >>> with transformers.backend():  # doctest: +SKIP
    ...     tokenizer.apply_chat_template(messages, tokenize=False)
    """
    _check_installed()
    return within(_turn_on, disable)


def apply_chat_template(tokenizer: Any, conversation: Any, /, *arguments: Any, **named: Any) -> Any:
    r"""Call `tokenizer.apply_chat_template` with the drop-in on.

    Args:
        tokenizer: A tokenizer or a processor of transformers.
        conversation: A conversation, or a list of them.
        arguments: Further arguments of the method.
        named: Further arguments of the method, by name: `tools`, `add_generation_prompt`, `tokenize` and so on.

    Returns:
        What the method returns: a text, a list of texts, or tokens.

    Raises:
        ImportError: As `enable`.
        Exception: What the method raises.

    >>> from promptpress import transformers
    >>> transformers.apply_chat_template(tokenizer, messages, tokenize=False)  # doctest: +SKIP
    '<|im_start|>user\nHi.<|im_end|>\n'
    """
    if not _is_applied:
        _check_installed()
        with _lock:
            _apply()
    token = drop_in.is_called.set(True)
    try:
        return tokenizer.apply_chat_template(conversation, *arguments, **named)
    finally:
        drop_in.is_called.reset(token)


def _turn_on() -> bool:
    """Switch the drop-in on, and return true if it was off."""
    with _lock:
        was_off = not drop_in.is_enabled
        if was_off:
            _apply()
            drop_in.is_enabled = True
        return was_off


def _apply() -> None:
    """Replace the function, unless it is replaced."""
    global _is_applied  # noqa: PLW0603 - the state of this process
    if not _is_applied:
        _patches.apply()
        _is_applied = True


def _check_installed() -> None:
    """Raise ImportError unless transformers is there, with the function that is replaced, and Jinja2."""
    for package in ("transformers", "jinja2"):
        if importlib.util.find_spec(package) is None:
            message = f'{package} isn\'t installed: pip install "promptpress[transformers]"'
            raise ImportError(message, name=package)
    try:
        module: Any = importlib.import_module(MODULE)
    except ModuleNotFoundError:
        module = None
    if not hasattr(module, FUNCTION):
        raise ImportError("the drop-in needs transformers 5.20 or newer", name="transformers")
