"""`promptpress stats`: how long prompts are, what their bytes come from, and which of them are the same."""

from __future__ import annotations

import json
import shutil
import sys
from argparse import Namespace

import promptpress
from promptpress._cli.configured_renderer import make_renderer
from promptpress._cli.jinja_runs import Maker, RunCounts
from promptpress._cli.jinja_sources import template_of
from promptpress._cli.progress import Progress
from promptpress._cli.prompt_sources import is_rendered, refuse_prompts, refuse_rendering
from promptpress._cli.prompt_stream import errors_of
from promptpress._cli.threads import set_threads
from promptpress._cli.token_counter import token_counter
from promptpress._file_errors import DataError, UsageError
from promptpress._inputs.samples import Samples
from promptpress._model_classes import did_you_mean
from promptpress._outputs.output_file import standard_output
from promptpress._prompt_column import PROMPT_COLUMN, column_of_prompts
from promptpress._statistics.text_report import BLOCKS, text_report
from promptpress._tokenizer import TokenCounter
from promptpress._view.visible import encodable


def stats(arguments: Namespace) -> None:
    """Do what the command line says.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Raises:
        FileError: when something is wrong, by kind.
        promptpress.TemplateError: when the configuration is.
        promptpress.RenderError: when the data don't fit it.

    """
    set_threads(arguments.threads)
    counter = None if arguments.tokenizer is None else token_counter(arguments.tokenizer)
    if arguments.config is not None and is_rendered(arguments.config):
        refuse_rendering(arguments)
        samples = _samples(arguments, [arguments.config])
        own = _measured(arguments, samples, None, counter, _prompt_column(arguments, samples))
    else:
        refuse_prompts(arguments)
        renderer = template_of(arguments) or make_renderer(arguments)
        own = _measured(arguments, _samples(arguments, arguments.data), renderer, counter, None)
    with standard_output() as stream:
        if arguments.json:
            print(json.dumps(own.to_dict()), file=stream)
            return
        encoding = stream.encoding or "utf-8"
        text = text_report(own, shutil.get_terminal_size().columns, is_ascii=not _encodes(BLOCKS, encoding))
        print(encodable(text, encoding), file=stream)


def _samples(arguments: Namespace, paths: list[str]) -> Samples:
    return Samples(paths, arguments.data_format, arguments.batch_size, arguments.limit)


def _prompt_column(arguments: Namespace, samples: Samples) -> str:
    name = str(arguments.prompt_column or PROMPT_COLUMN)
    try:
        column_of_prompts(samples.schema, name)
    except promptpress.RenderError as error:
        if error.code != "missing_column":
            raise
        names = samples.schema.names
        has = ", ".join(map(repr, names))
        if arguments.prompt_column is None:
            said = f"has no column {name!r}; it has {has}; --prompt-column says which has the prompts"
            raise DataError(f"{arguments.config}: {said}") from None
        said = f"the file has no such column; it has {has}{did_you_mean(name, names)}"
        raise UsageError(f"--prompt-column {name}: {said}") from None
    return name


def _measured(
    arguments: Namespace,
    samples: Samples,
    renderer: Maker | None,
    counter: TokenCounter | None,
    column: str | None,
) -> promptpress.Statistics:
    is_shown = arguments.progress or (not arguments.quiet and sys.stderr.isatty())
    with Progress(samples.num_rows, is_shown=is_shown) as progress:
        reader = samples.reader(progress.advance)
        with errors_of(samples):
            if renderer is None:
                own = promptpress.stats(reader, tokenizer=counter, column=column)
            elif isinstance(renderer, promptpress.Renderer) and renderer._configuration.chat is None:
                own = promptpress.stats(renderer, reader, tokenizer=counter)
            else:  # what texts are made of isn't known
                own = promptpress.stats(renderer.stream(reader), tokenizer=counter, column=PROMPT_COLUMN)
    if not (arguments.quiet or renderer is None or isinstance(renderer, promptpress.Renderer)):
        RunCounts(renderer).tell()
    samples.close()
    return own


def _encodes(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
