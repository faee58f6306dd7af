"""The releases of other packages with which the tests that compare with them have been run."""

from __future__ import annotations

TRANSFORMERS = ("5.23.0", "5.24.0")
"""A release joins when `make test-jinja` with all cases has passed with it, and docs/fidelity.md says what differs."""


def first_unknown(installed: str) -> str | None:
    """Return what is to be done about a release of transformers that the tests weren't run with; None if they were."""
    if installed in TRANSFORMERS:
        return None
    return (
        f"transformers {installed} is the first release that the tests weren't run with ({', '.join(TRANSFORMERS)} "
        "were): read what has changed in apply_chat_template, run the recorded cases and `make test-jinja`, then name "
        "it in tests/parts/run_with.py, in docs/fidelity.md, and in KNOWN_CODE of "
        "promptpress_harness/transformers.py"
    )
