"""All audits of these tests are repeated for each code that they find, with nothing but this code looked for."""

from __future__ import annotations

from typing import Any

import promptpress_workbench.audit.collect as collect
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from promptpress_workbench.audit.codes import ALL_CODES

AUDIT = collect.audit


@pytest.fixture(autouse=True)
def each_code_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare `only=[code]` with the rows of the whole audit that have the code, if samples can be read again."""

    def audit(renderer: Any, samples: Any, *arguments: Any, only: Any = None, **options: Any) -> pa.Table:
        findings = AUDIT(renderer, samples, *arguments, only=only, **options)
        if only is None and isinstance(samples, pa.Table):
            codes = set(findings["code"].to_pylist())
            for code in sorted(codes) + sorted(ALL_CODES - codes)[:1]:
                alone = AUDIT(renderer, samples, *arguments, only=[code], **options)
                assert alone.to_pylist() == findings.filter(pc.equal(findings["code"], code)).to_pylist(), code
        return findings

    monkeypatch.setattr(collect, "audit", audit)
