"""The process: signals, notes and errors in one line, the exit code."""

from __future__ import annotations

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
from promptpress._cli.clobber import refuse_clobber
from promptpress._cli.commands import COMMANDS
from promptpress._cli.errors import ExitCode, Terminated, exit_code_of, of_command
from promptpress._file_errors import FileError, reason
from promptpress._view.visible import encodable, printable


def main(argv: list[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: the arguments; those of the process when None.

    Returns:
        The exit code (`promptpress._cli.errors.ExitCode`).

    Example:
        >>> main(["render"])
        2

    """
    arguments = Namespace(traceback=False)
    _open_standard_error()
    try:
        arguments = parse(argv)
        if arguments.version:
            print(f"promptpress {promptpress.__version__}")
            return int(ExitCode.OK)
        refuse_clobber(arguments)
        with _terminable(), _noted(quiet=arguments.quiet):
            return int(COMMANDS[arguments.command].run(arguments))
    except (KeyboardInterrupt, Exception, Terminated) as error:
        if arguments.traceback:
            _print_traceback()
        code, text = _explained(error, getattr(arguments, "out", None))
        _say(f"error: {text}")
        return int(code)
    return int(ExitCode.OK)


def _open_standard_error() -> None:
    """Drop what is said where standard error is closed: `print` would take standard output instead."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - as long as the process


_KINDS: list[tuple[type[BaseException], ExitCode, str]] = [
    (KeyboardInterrupt, ExitCode.INTERRUPTED, "interrupted, {left}"),
    (Terminated, ExitCode.TERMINATED, "terminated, {left}"),
    (MemoryError, ExitCode.UNEXPECTED, "out of memory; a smaller --batch-size needs less"),
]


def _explained(error: BaseException, out: str | None) -> tuple[ExitCode, str]:
    if isinstance(error, FileError):
        return exit_code_of(error), error.of_command()
    if isinstance(error, (promptpress.TemplateError, promptpress.RenderError)):
        is_template = isinstance(error, promptpress.TemplateError)
        return ExitCode.CONFIGURATION if is_template else ExitCode.DATA, of_command(error)
    left = "what standard output has may be incomplete" if out == "-" else "nothing is written"
    for kind, code, text in _KINDS:
        if isinstance(error, kind):
            return code, text.format(error, left=left)
    return ExitCode.UNEXPECTED, f"unexpected {type(error).__name__}: {reason(error)} (--traceback shows where)"


def _say(text: str) -> None:
    _print_line(f"promptpress: {' '.join(text.split(chr(10)))}")


def _print_line(line: str) -> None:
    # What a message quotes may be no text of the terminal's encoding, or steer the terminal.
    print(encodable(printable(line), sys.stderr.encoding), file=sys.stderr, flush=True)


def _print_traceback() -> None:
    for line in traceback.format_exc().rstrip("\n").split("\n"):
        _print_line(line)


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM, and the end of the terminal, unwind the stack as Ctrl-C does, so that no partial file stays."""
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


@contextmanager
def _noted(*, quiet: bool) -> Iterator[None]:
    """Show warnings as notes of one line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if quiet else "default", UserWarning)
        warnings.showwarning = lambda message, *_, **__: _say(f"note: {message}")
        yield
