"""The entry point of the command: it handles signals, prints warnings and errors, and sets the exit code."""

from __future__ import annotations

import importlib
import os
import re
import signal
import sys
import traceback
import warnings
from argparse import Namespace
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType

import promptpress
import pyarrow as pa
from promptpress.engine import core as _core
from promptpress.engine.errors import FilledValuesWarning, LeftOutWarning, NothingRenderedWarning, UsageError, reason

from promptpress_workbench.cli.arguments import parse
from promptpress_workbench.cli.commands import COMMANDS
from promptpress_workbench.cli.errors import ExitCode, Terminated, code_and_text, in_options
from promptpress_workbench.cli.settings import Settings
from promptpress_workbench.cli.terminal import print_error_line, say
from promptpress_workbench.files.write.output_file import handled_signals

_NUMBER = re.compile(r"\+?[0-9]{1,9}")
_MAX_THREADS = 1024


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    arguments = Namespace(traceback=False)
    if sys.stderr is None:  # it is closed, and `print` would write messages to standard output
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - as long as the process
    try:
        arguments = parse(argv)
        if arguments.version:
            print(f"promptpress {promptpress.__version__}")
            return int(ExitCode.OK)
        settings = Settings.of(arguments)
        if not settings.takes_all:  # else --out is a folder, whose files are named later
            settings.refuse_existing(getattr(arguments, name, None) for name in ("out", "html", "retry"))
        with _unwound_by_signals(), _warnings_as_notes(quiet=settings.quiet, strict=settings.strict):
            if hasattr(arguments, "threads"):
                _set_threads(arguments.threads)
            command = COMMANDS[arguments.command]
            if settings.config is not None and "where" in command.options:  # a command that renders rows
                from promptpress_workbench.cli.configurations import with_dataset_rows  # noqa: PLC0415 - most need none

                if isinstance(arguments.config, str) or len(arguments.config) == 1:
                    settings = with_dataset_rows(settings, has_catalogue=arguments.command == "view")
            module, _, function = command.run.partition(":")
            code: ExitCode | None = getattr(importlib.import_module(module), function)(settings, arguments)
            return int(ExitCode.OK if code is None else code)
    except (KeyboardInterrupt, Exception, Terminated) as error:
        if arguments.traceback:
            for line in traceback.format_exc().rstrip("\n").split("\n"):
                print_error_line(line)
        error_code, text = code_and_text(error, getattr(arguments, "out", None))
        if error_code != ExitCode.READER_GONE:  # as other programs in a pipe, it ends without a word
            say(f"error: {text}")
        return int(error_code)


def _unwound_by_signals() -> AbstractContextManager[None]:
    """Let SIGTERM and SIGHUP unwind the stack as Ctrl-C does, so that no partial file remains."""

    def terminate(_: int, __: FrameType | None) -> None:
        raise Terminated

    numbers = [signal.SIGTERM]
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # nohup ignores it
        numbers.append(signal.SIGHUP)
    return handled_signals(numbers, terminate)


def _set_threads(threads: int | None) -> None:
    """Set the number of threads of the core and of Arrow; None leaves it to `PROMPTPRESS_THREADS`, which is checked."""
    if threads is not None:
        try:
            promptpress.set_threads(threads)
        except ValueError as error:
            raise UsageError(f"--threads: {reason(error)}") from error
        pa.set_cpu_count(threads)
        return
    given = os.environ.get("PROMPTPRESS_THREADS", "").strip()
    number = int(given) if _NUMBER.fullmatch(given) else 0
    if given and not 1 <= number <= _MAX_THREADS:
        used = f"{_core.threads()} may be used"
        text = f"PROMPTPRESS_THREADS={given}: not a whole number from 1 to {_MAX_THREADS}; {used}"
        warnings.warn(text, UserWarning, stacklevel=2)


@contextmanager
def _warnings_as_notes(*, quiet: bool, strict: bool) -> Iterator[None]:
    """Print each warning as a note of one line, and none twice; with `quiet`, hide warnings that are for users.

    With `strict`, changed and lost data are errors; other notes are made errors where they are found.
    """
    printed: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        # Changed data, lost data and an empty output are a warning, and everything else is a note.
        is_warning = isinstance(message, (FilledValuesWarning, LeftOutWarning, NothingRenderedWarning))
        line = f"{'warning' if is_warning else 'note'}: {in_options(str(message))}"
        if line not in printed:
            printed.add(line)
            say(line)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if quiet else "default", UserWarning)
        if strict:
            warnings.simplefilter("error", FilledValuesWarning)
            warnings.simplefilter("error", LeftOutWarning)
        warnings.showwarning = show
        yield
