"""`promptpress verify` for lm-evaluation-harness: a task's YAML, or the samples of a finished run."""

from __future__ import annotations

from argparse import Namespace

import pyarrow as pa

from promptpress._file_errors import UsageError
from promptpress._inputs.samples import Samples, example_rows

from .lm_eval_files import is_samples
from .lm_eval_requests import compared, our_outcome
from .lm_eval_samples import FinishedRun, finished_run
from .lm_eval_task import SEED, HarnessTask, load_harness
from .verdict import Verdict


def lm_eval_verdict(arguments: Namespace) -> Verdict:
    """Compare what the command line says.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Returns:
        Whether both sides agree on every request.

    Raises:
        FileError: when something is wrong, by kind.

    """
    if arguments.backend:
        raise UsageError("--backend: the log of a run says which tasks of lm-evaluation-harness are built in bulk")
    return _of_run(arguments) if is_samples(arguments.config) else _of_task(arguments)


def _of_task(arguments: Namespace) -> Verdict:
    name = load_harness()
    task = HarnessTask(arguments.config, arguments.num_fewshot)
    docs, examples = _given(arguments)
    task.load(docs, examples, arguments.rows)
    theirs = task.outcome()
    ours = our_outcome(task.config, task.docs, task.fewshot_docs, seed=SEED, limit=arguments.rows)
    return compared(theirs, ours, name, len(theirs.rows) or task.docs.num_rows)


def _of_run(arguments: Namespace) -> Verdict:
    if arguments.num_fewshot is not None:
        raise UsageError("--num-fewshot: the run's results say how many examples there are")
    if arguments.data:
        raise UsageError("--data: a run's samples have their documents with them")
    run = finished_run(arguments.config, arguments.rows)
    _, examples = _given(arguments)
    if run.draws_from_its_split:
        ours = our_outcome(run.config, _whole_split(run, examples), None, samples=run.numbers, **run.options)
    else:
        ours = our_outcome(run.config, run.docs.slice(0, len(run.numbers)), examples, **run.options)
    return compared(run.recorded, ours, "the run", len(run.numbers))


def _whole_split(run: FinishedRun, examples: pa.Table | None) -> pa.Table:
    """All documents of the split that is evaluated, of which a run may have seen some."""
    if run.whole in (None, run.docs.num_rows):
        return run.docs
    found = 0 if examples is None else examples.num_rows
    if examples is None or found != run.whole:
        raise UsageError(
            f"--examples: shots are drawn from all {run.whole:,} documents of the split that is evaluated, of which "
            f"the samples hold {run.docs.num_rows:,}; give all of them, not {found:,}"
        )
    return examples


def _given(arguments: Namespace) -> tuple[pa.Table | None, pa.Table | None]:
    docs = Samples(arguments.data, arguments.data_format).table() if arguments.data else None
    return docs, example_rows(arguments.examples, arguments.data_format) if arguments.examples else None
