"""Runs `promptpress verify` for lm-evaluation-harness: for a task's YAML, or for the samples of a finished run."""

from __future__ import annotations

from argparse import Namespace

import pyarrow as pa
from promptpress.engine.errors import UsageError

from promptpress_workbench.cli.shell.options import format_of
from promptpress_workbench.cli.sources.lm_eval_tasks import is_samples
from promptpress_workbench.cli.verify.lm_eval_requests import judge_task, render_task
from promptpress_workbench.cli.verify.lm_eval_samples import FinishedRun, finished_run
from promptpress_workbench.cli.verify.lm_eval_task import SEED, HarnessTask, load_harness
from promptpress_workbench.cli.verify.verdict import Verdict
from promptpress_workbench.files.read.samples import Samples, example_rows


def lm_eval_verdict(arguments: Namespace) -> Verdict:
    """Compare the requests of the task or run that the command line names."""
    if arguments.backend:
        raise UsageError("--backend: the log of a run says which tasks of lm-evaluation-harness are built in bulk")
    return _run_verdict(arguments) if is_samples(arguments.config) else _task_verdict(arguments)


def _task_verdict(arguments: Namespace) -> Verdict:
    name = load_harness()
    task = HarnessTask(arguments.config, arguments.num_fewshot)
    samples = Samples(arguments.data, format_of(arguments), harness_types="all") if arguments.data else None
    docs = None if samples is None else samples.table()
    task.load(docs, example_rows(arguments.examples, format_of(arguments), harness_types="all"))
    theirs = task.outcome(arguments.rows)
    ours = render_task(task.config, task.docs, task.fewshot_docs, seed=SEED, limit=arguments.rows)
    return judge_task(theirs, ours, name, len(theirs.rows) or task.docs.num_rows)


def _run_verdict(arguments: Namespace) -> Verdict:
    if arguments.num_fewshot is not None:
        raise UsageError("--num-fewshot: the run's results say how many examples there are")
    if arguments.data:
        raise UsageError("--data: a run's samples have their documents with them")
    run = finished_run(arguments.config, arguments.rows)
    examples = example_rows(arguments.examples, format_of(arguments), harness_types="all")
    if run.draws_from_evaluated_split:
        ours = render_task(run.config, _evaluated_split(run, examples), None, samples=run.doc_ids, **run.options)
    else:
        ours = render_task(run.config, run.docs.slice(0, len(run.doc_ids)), examples, **run.options)
    return judge_task(run.recorded, ours, "the run", len(run.doc_ids))


def _evaluated_split(run: FinishedRun, examples: pa.Table | None) -> pa.Table:
    """Return all documents of the evaluated split: the run's own, or the examples if the run has only seen some."""
    if run.split_rows in (None, run.docs.num_rows):
        return run.docs
    rows = 0 if examples is None else examples.num_rows
    if examples is None or rows != run.split_rows:
        raise UsageError(
            f"--examples: shots are drawn from all {run.split_rows:,} documents of the split that is evaluated, of"
            f" which the samples hold {run.docs.num_rows:,}; give all of them, not {rows:,}"
        )
    return examples
