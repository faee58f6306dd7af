"""The process: signals, notes and errors in one line, the exit code."""

from __future__ import annotations

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
from promptpress._cli.errors import ExitCode, Terminated, exit_code_of, of_command
from promptpress._file_errors import FileError, reason


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
    try:
        arguments = parse(argv)
        if arguments.version:
            print(f"promptpress {promptpress.__version__}")
            return int(ExitCode.OK)
        with _terminable(), _noted(quiet=arguments.quiet):
            return int(COMMANDS[arguments.command].run(arguments))
    except (KeyboardInterrupt, Exception, Terminated) as error:
        if arguments.traceback:
            traceback.print_exc()
        code, text = _explained(error, getattr(arguments, "out", None))
        _say(f"error: {text}")
        return int(code)
    return int(ExitCode.OK)


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
    line = " ".join(text.split("\n"))
    # What a message quotes may be no text of the terminal's encoding, or steer the terminal.
    printable = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    encoding = sys.stderr.encoding or "utf-8"
    print(
        f"promptpress: {printable}".encode(encoding, "backslashreplace").decode(encoding), file=sys.stderr, flush=True
    )


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM unwind the stack as Ctrl-C does, so that no partial file stays."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(_: int, __: FrameType | None) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _noted(*, quiet: bool) -> Iterator[None]:
    """Show warnings as notes of one line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if quiet else "default", UserWarning)
        warnings.showwarning = lambda message, *_, **__: _say(f"note: {message}")
        yield
