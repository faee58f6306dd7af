"""What the record of a run with the bulk backend on amounts to."""

from __future__ import annotations

import pytest
from promptpress._cli.backend_dry_run import DryRun
from promptpress._cli.errors import ExitCode


@pytest.mark.parametrize(
    ("dry_run", "code", "found"),
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
def test_only_what_was_seen_in_bulk_is_told_so(dry_run, code, found):
    verdict = dry_run.verdict("MyInferencer")
    assert (verdict.code, verdict.found[: len(found)]) == (code, found)
