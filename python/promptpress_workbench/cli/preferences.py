"""`promptpress export trl-preference-tokens`: encodes chosen and rejected answers, which are columns of the data."""

from __future__ import annotations

import time
from argparse import Namespace

from promptpress.engine.errors import UsageError, counted

from promptpress_workbench.cli.configurations import open_samples, token_counter
from promptpress_workbench.cli.errors import ExitCode
from promptpress_workbench.cli.jinja_sources import chat_template
from promptpress_workbench.cli.options import first_given
from promptpress_workbench.cli.output import chosen_out_format, keep_columns, write_prompts
from promptpress_workbench.cli.prompt_sources import is_rendered
from promptpress_workbench.cli.prompt_stream import reading_errors
from promptpress_workbench.cli.run_counts import report_no_rows
from promptpress_workbench.cli.settings import Settings
from promptpress_workbench.cli.terminal import Progress, say
from promptpress_workbench.export.preference_tokens import preference_batches

_OTHERS = ("template", "system", "shots", "jinja", "model", "order", "errors", "skip_corrupt")


def export_preferences(settings: Settings, arguments: Namespace) -> ExitCode:
    """Write the token ids of the preferences in the data."""
    if settings.chat_template is None:
        raise UsageError("--chat-template: there is no chat template, which says how an assistant's turn is written")
    if arguments.tokenizer is None:
        raise UsageError(f"--tokenizer: {arguments.kind} has token ids; FILE says whose")
    other = first_given(settings, _OTHERS)
    if other is not None or not (settings.config is None or is_rendered(settings.config)):
        message = f"{arguments.kind} takes columns of prompts and answers; export preference makes them of templates"
        raise UsageError(f"{other or settings.config}: {message}")
    out = chosen_out_format(settings)
    if out.format == "csv":
        raise UsageError(f"--out {settings.out}: token ids are lists, which .parquet, .arrow and .jsonl files hold")
    start = time.perf_counter()
    chat, tokenizer = chat_template(settings), token_counter(arguments.tokenizer)
    paths = settings.data or [] if settings.config is None else [settings.config]
    samples = open_samples(settings, paths, chat)
    keep = keep_columns(settings.keep, samples.schema)
    sides = arguments.chosen or "chosen", arguments.rejected or "rejected"
    with Progress(settings, samples.num_rows) as progress, reading_errors(samples):
        rows = preference_batches(samples.reader(progress.advance), chat, tokenizer, sides, keep)
        done = write_prompts(settings.out, out, rows.schema, rows, None)
    samples.close()
    report_no_rows(settings, done.rows)
    if not settings.quiet:
        say(f"{counted(done.rows, 'row')} in {settings.out} in {time.perf_counter() - start:.3f} s")
    return ExitCode.OK
