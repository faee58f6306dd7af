"""Errors: the places that they have, and that nothing else is raised for what no configuration may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from generators.few_shots import FEW_SHOT, READER, SAMPLES


def test_every_error_has_the_places_that_the_stub_promises() -> None:
    renderer = pp.Renderer("{q}")
    calls: list[Callable[[], Any]] = [
        lambda: renderer.render(SAMPLES, keep=["nowhere"]),
        lambda: renderer.render(pa.table([["1"], ["2"]], names=["q", "q"])),
        lambda: renderer.explain(SAMPLES, -1),
        lambda: renderer.explain(SAMPLES, 99),
        lambda: renderer.explain(SAMPLES, 0, turn=1),
        lambda: pp.Renderer("{q}", mode="ppl", reader=READER)(SAMPLES),
        lambda: pp.Renderer(5),  # type: ignore[arg-type]
        lambda: pp.Renderer.from_config({}),
    ]
    for call in calls:
        with pytest.raises((pp.RenderError, pp.TemplateError)) as raised:
            call()
        assert {name: getattr(raised.value, name, "missing") for name in ("path", "row", "column")} != {}
        assert all(hasattr(raised.value, name) for name in ("path", "row", "column")), str(raised.value)


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


def cycle() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


ODD: dict[str, Callable[[], Any]] = {
    "lone surrogate": lambda: "a\ud800{q}",
    "lone surrogate as a key": lambda: {"\ud800": "{q}"},
    "tuple as a key": lambda: {("a", "b"): "{q}"},
    "nested deeply": lambda: {"A": nested(5_000)},
    "contains itself": lambda: {"round": cycle()},
    "bytes": lambda: b"{q}",
    "set": lambda: {"{q}"},
    "number": lambda: 5,
    "object in a turn": lambda: {"round": [{"role": "HUMAN", "prompt": object()}]},
}


class Speechless:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    "value", [Speechless(), 10**5_000, ["\ud800"], {(1, 2): 3}], ids=lambda value: type(value).__name__
)
def test_odd_values_are_refused_with_their_path(value: Any) -> None:
    with pytest.raises(pp.TemplateError) as raised:
        pp.Renderer("{q}", inferencer={"inner": {"save_every": value}})
    assert raised.value.path.startswith("inferencer.inner.save_every")
    assert str(raised.value).startswith(raised.value.path)


def test_numpys_values_are_pythons() -> None:
    numpy = pytest.importorskip("numpy")
    retriever = {"type": "FixKRetriever", "fix_id_list": numpy.arange(2)}
    plain = pp.Renderer(**FEW_SHOT, retriever={**retriever, "fix_id_list": [0, 1]})
    assert pp.Renderer(**FEW_SHOT, retriever=retriever) == plain
    assert pp.Renderer(**FEW_SHOT, retriever={**retriever, "fix_id_list": [numpy.int32(0), numpy.uint8(1)]}) == plain


@pytest.mark.parametrize("name", ODD)
def test_odd_templates_are_refused_as_templates(name: str) -> None:
    with pytest.raises(pp.TemplateError, match=r"template"):
        pp.Renderer(ODD[name]())
