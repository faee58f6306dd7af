"""Masks, control tokens, spans and audits over chat templates, by the oracles of `origins`."""

from __future__ import annotations

import random

import promptpress as pp
import pytest
from marks import UNWARNED
from origins import control_tokens, masks, shapes, spans
from origins.chat_templates import RECORDED, Source, sources
from origins.conversations import draw_cases
from origins.findings import Report

pytestmark = UNWARNED

ORACLES = [masks, control_tokens, spans]
SOME = [*sources("own"), *sources("recorded")[::64]]


def run(oracle: object, chosen: list[Source], count: int, most_refused: float = 0.02) -> None:
    report = Report()
    for source in chosen:
        oracle.check(report, source, 1, count)  # type: ignore[attr-defined]
    report.show(5, None)
    assert not report.failures
    assert report.counts["refused"] <= most_refused * report.counts["rendered"]


@pytest.mark.parametrize("source", SOME, ids=lambda source: source.id)
@pytest.mark.parametrize("oracle", ORACLES, ids=lambda oracle: oracle.__name__.split(".")[-1])
def test_a_template(oracle: object, source: Source) -> None:
    run(oracle, [source], 6, most_refused=1.0)


@pytest.mark.full
@pytest.mark.skipif(not RECORDED.exists(), reason="recorded templates are not at hand")
@pytest.mark.parametrize("oracle", ORACLES, ids=lambda oracle: oracle.__name__.split(".")[-1])
def test_all_recorded_templates(oracle: object) -> None:
    run(oracle, sources("recorded"), 36)


@pytest.mark.parametrize("source", SOME[::3], ids=lambda source: source.id)
def test_spans_do_not_depend_on_other_rows(source: Source) -> None:
    """A conversation among others of its shape, which a program renders, has the spans that it has alone."""
    cases = draw_cases(random.Random(source.id), 8, source.variables)
    arguments = {**source.special_tokens, **cases[0].arguments}
    for case in cases:
        alone = pp.ChatTemplate(source.template, **arguments).render([case.row], spans="detailed", errors="column")
        many = pp.ChatTemplate(source.template, **arguments).render([case.row] * 70, spans="detailed", errors="column")
        assert many.slice(69).to_pylist() == alone.to_pylist()


def test_conversations_of_many_shapes() -> None:
    faults = shapes.run(sources("own")[0], count=150, turns=20, alone=5, seed=1)
    assert not any(faults.values())


@pytest.mark.full
def test_ten_thousand_shapes() -> None:
    faults = shapes.run(sources("own")[0], count=10_000, turns=200, alone=200, seed=1)
    assert not any(faults.values())
