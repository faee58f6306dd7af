"""One case of the audit: a random table, audited, and beside it the model that goes by brute force."""

from __future__ import annotations

import warnings
from collections import Counter

import promptpress as pp
import pyarrow as pa
from models import audit_model

from .audit_cases import Case, case_of
from .draw import Draw
from .oracle import DifferenceError

HANG = 60.0
"""Seconds after which a case counts as one that hangs: it makes a renderer for each example."""
CODES: Counter[str] = Counter()
"""The number of tables with each finding, in this process."""


def make(seed: int, number: int) -> Case:
    return case_of(Draw.of(seed, number, "audit"))


def check(seed: int, number: int, case: Case) -> int:
    """Check a case; gives the number of tables that were audited: 0 where promptpress refuses to render it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pp.PromptWarning)
        try:
            model = audit_model.Model(case.config, case.samples, case.examples, **case.options)
        except (pp.TemplateError, pp.RenderError):
            return 0
        wanted = model.findings()
        findings = audit_model.audited(model.renderer, case.samples, **case.options)
        compare("audit", findings, wanted)
        whole = model.renderer.audit(case.samples, **case.options)
        draw = Draw.of(seed, number, "batches")
        if not (case.config.get("mode") == "ppl" and model.renderer.labels is None):
            cut = pa.RecordBatchReader.from_batches(
                case.samples.schema, case.samples.to_batches(max_chunksize=draw.pick(1, 2, 3))
            )
            parts = model.renderer.audit(cut, **case.options)
            if not parts.equals(whole):
                raise DifferenceError("other findings for a stream", f"{parts.to_pylist()}\n{whole.to_pylist()}")
        check_statistics(model, case)
    CODES.update({finding.code for finding in wanted})
    return 1


def check_statistics(model: audit_model.Model, case: Case) -> None:
    """Compare the bytes of each origin with the sums over all spans."""
    sums: Counter[tuple[object, ...]] = Counter()
    columns: Counter[object] = Counter()
    for request in model.requests:
        for span in request.spans:
            size = span["end"] - span["start"]
            sums[span["source"], span["column"], span["example"] is not None, span["role"]] += size
            columns[span["column"]] += size
    statistics = pp.stats(model.renderer, case.samples)
    assert statistics.by_origin is not None
    assert statistics.by_column is not None
    rows = statistics.by_origin.to_pylist()
    compare("by_origin", {(r["source"], r["column"], r["example"], r["role"]): r["bytes"] for r in rows}, dict(sums))
    compare("by_column", {r["column"]: r["bytes"] for r in statistics.by_column.to_pylist()}, dict(columns))
    if sum(sums.values()) != statistics.bytes.sum:
        raise DifferenceError("other bytes than stats counts", f"{sums.total()} {statistics.bytes.sum}")


def compare(what: str, actual: object, wanted: object) -> None:
    if actual == wanted:
        return
    if isinstance(actual, Counter) and isinstance(wanted, Counter):
        missed, false = sorted(wanted - actual, key=repr), sorted(actual - wanted, key=repr)
        codes = ", ".join(
            sorted({f"-{finding.code}" for finding in missed} | {f"+{finding.code}" for finding in false})
        )
        raise DifferenceError(f"{what}: {codes}", f"missed {missed}\nfalse {false}")
    raise DifferenceError(f"{what} differs", f"found {actual}\nwanted {wanted}")


def run(seed: int, number: int) -> int:
    return check(seed, number, make(seed, number))
