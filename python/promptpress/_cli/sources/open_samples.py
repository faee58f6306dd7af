"""Opens the samples of a command line."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from promptpress._cli.shell.options import row_choice
from promptpress._cli.sources.jinja_sources import conversation_texts
from promptpress._io.read.samples import Samples

__all__ = ["open_samples"]


def open_samples(arguments: Namespace, paths: Sequence[str], batch_size: int | None = None) -> Samples:
    """Open files of samples as the options say.

    Args:
        arguments: The parsed command line.
        paths: The files.
        batch_size: The largest number of rows of a batch; None: that of the option.

    """
    return Samples(
        paths,
        arguments.data_format,
        arguments.batch_size if batch_size is None else batch_size,
        arguments.limit,
        choice=row_choice(arguments),
        skip_corrupt=getattr(arguments, "skip_corrupt", None),
        as_texts=conversation_texts(arguments),
    )
