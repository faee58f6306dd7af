"""The verdict on the record of a run with the bulk backend on."""

from __future__ import annotations

import pytest
from promptpress_workbench.cli.errors import ExitCode
from promptpress_workbench.cli.verify_harness import DryRun


@pytest.mark.parametrize(
    ("dry_run", "code", "message"),
    [
        (DryRun(4, in_bulk=4), ExitCode.OK, "4 prompts of 4 rows"),
        (DryRun(4, in_bulk=8), ExitCode.OK, "8 prompts of 4 rows"),
        # in bulk is only what the record says was rendered so, of every row and without a word against it
        (DryRun(4), ExitCode.UNSUPPORTED, "the backend has no part in MyInferencer's prompts"),
        (DryRun(4, in_bulk=3), ExitCode.UNSUPPORTED, "3 in bulk, 0 by the harness: not every row"),
        (DryRun(4, in_bulk=4, by_harness=1), ExitCode.UNSUPPORTED, "4 in bulk, 1 by the harness"),
        (DryRun(4, in_bulk=4, reasons=("a", "b")), ExitCode.UNSUPPORTED, "4 in bulk, 0 by the harness: a; b"),
        (DryRun(4, reasons=("a template of its own",)), ExitCode.UNSUPPORTED, "a template of its own"),
        (
            DryRun(4, in_bulk=4, error=KeyError("x")),
            ExitCode.CONFIGURATION,
            "the run, with a model that only answers, ",
        ),
        (
            DryRun(4, reasons=("a",), error=AssertionError()),
            ExitCode.UNSUPPORTED,
            "a (then the run fails: AssertionErr",
        ),
        (DryRun(0), ExitCode.CONFIGURATION, "there are no rows to tell by"),
    ],
)
def test_only_prompts_seen_in_bulk_are_reported_as_bulk(dry_run, code, message):
    verdict = dry_run.verdict("MyInferencer")
    assert (verdict.code, verdict.message[: len(message)]) == (code, message)
