"""`promptpress export trl-preference-tokens`: encodes chosen and rejected answers, which are columns of the data."""

from __future__ import annotations

import time
from argparse import Namespace

from promptpress.engine.errors import RowErrors, UsageError, counted

from promptpress_workbench.cli.configurations import open_samples, token_counter
from promptpress_workbench.cli.errors import ExitCode
from promptpress_workbench.cli.jinja_sources import chat_template
from promptpress_workbench.cli.options import first_given
from promptpress_workbench.cli.output import chosen_out_format, keep_columns, write_prompts
from promptpress_workbench.cli.prompt_sources import is_rendered
from promptpress_workbench.cli.prompt_stream import reading_errors, row_remedies
from promptpress_workbench.cli.run_counts import Done, report_no_rows
from promptpress_workbench.cli.settings import Settings
from promptpress_workbench.cli.terminal import Progress, say
from promptpress_workbench.export.preference_tokens import preference_batches

_OTHERS = ("template", "system", "shots", "jinja", "model", "order")


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
    failed = RowErrors() if settings.errors == "skip" else None
    with Progress(settings, samples.num_rows) as progress, row_remedies(), reading_errors(samples):
        rows = preference_batches(samples.reader(progress.advance), chat, tokenizer, sides, keep, failed=failed)
        written = write_prompts(settings.out, out, rows.schema, rows, None)
        done = Done(samples=progress.rows, leaves_out=True, is_strict=settings.strict)
    samples.close()
    if failed is not None:
        failed = failed if samples.chosen is None else failed.renumbered(samples.chosen.number)
        done.errors, done.first_errors = failed.rows, failed.first
    if not settings.quiet:
        done.report_faults()
        report_no_rows(settings, done.samples)
        say(f"{counted(written.rows, 'row')} in {settings.out} in {time.perf_counter() - start:.3f} s")
    return done.exit_code
