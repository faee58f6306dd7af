"""The entry point of the command: it handles signals, prints warnings and errors, and sets the exit code."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import traceback
import warnings
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import promptpress
from promptpress._cli.arguments import parse
from promptpress._cli.commands import COMMANDS
from promptpress._cli.shell.clobber import refuse_clobber
from promptpress._cli.shell.errors import ExitCode, Terminated, code_and_text
from promptpress._cli.shell.messages import print_error_line, say
from promptpress._cli.shell.option_words import in_options
from promptpress._errors.errors import FilledValuesWarning, NothingRenderedWarning


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    arguments = Namespace(traceback=False)
    _open_standard_error()
    try:
        arguments = parse(argv)
        if arguments.version:
            print(f"promptpress {promptpress.__version__}")
            return int(ExitCode.OK)
        refuse_clobber(arguments)
        with (
            _unwound_by_signals(),
            _warnings_as_notes(quiet=arguments.quiet, strict=getattr(arguments, "strict", False)),
        ):
            module, _, function = COMMANDS[arguments.command].run.partition(":")
            code: ExitCode | None = getattr(importlib.import_module(module), function)(arguments)
            return int(ExitCode.OK if code is None else code)
    except (KeyboardInterrupt, Exception, Terminated) as error:
        if arguments.traceback:
            for line in traceback.format_exc().rstrip("\n").split("\n"):
                print_error_line(line)
        error_code, text = code_and_text(error, getattr(arguments, "out", None))
        if error_code != ExitCode.READER_GONE:  # as other programs in a pipe, it ends without a word
            say(f"error: {text}")
        return int(error_code)


def _open_standard_error() -> None:
    """Discard all messages if standard error is closed, because `print` would write them to standard output."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - as long as the process


@contextmanager
def _unwound_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind the stack as Ctrl-C does, so that no partial file remains."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(_: int, __: FrameType | None) -> None:
        raise Terminated

    numbers = [signal.SIGTERM]
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # nohup ignores it
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, terminate) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _warning_line(message: Warning | str) -> str:
    """Return the line of a warning: changed data and an empty output are a warning, and everything else a note."""
    kind = "warning" if isinstance(message, (FilledValuesWarning, NothingRenderedWarning)) else "note"
    return f"{kind}: {in_options(str(message))}"


@contextmanager
def _warnings_as_notes(*, quiet: bool, strict: bool) -> Iterator[None]:
    """Print each warning as a note of one line, and none twice; with `quiet`, hide warnings that are for users.

    With `strict`, changed data is an error; other notes are made errors where they are found.
    """
    printed: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        line = _warning_line(message)
        if line not in printed:
            printed.add(line)
            say(line)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if quiet else "default", UserWarning)
        if strict:
            warnings.simplefilter("error", FilledValuesWarning)
        warnings.showwarning = show
        yield
