"""Labels of every type, through every verb that takes or shows them: a result, or one of our errors.

What `stats` says of a request's label is compared with the label column of the rendered rows.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import promptpress as pp
import pyarrow as pa

from . import arrays, stages
from .draw import Draw
from .oracle import DifferenceError

HANG = 60.0
"""Seconds that a case may take: it is several renders."""

READER = {"input_columns": ["q"], "output_column": "a"}
GIVEN = (
    *(0, 1, -1, 2**31, 2**53 + 1, -(2**63), 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**64), 2**100),
    *(0.0, -0.0, 1.5, 1e300, float("nan"), float("inf"), True, False, None, "", "A", "é", "1", "None", "True", "nan"),
)
TEXTS = ("", "A", "B", "é", "{q}", "1")


@dataclass
class Case:
    """A table with a column of labels, and the labels of the configuration, if it names any.

    Args:
        table: Has the columns `q` and `a`.
        labels: Labels; None: the values of the column.
        as_map: Whether the template is a dict of the labels.

    """

    table: pa.Table
    labels: list[Any] | None
    as_map: bool

    def renderer(self, suffix: str = "") -> pp.Renderer:
        """Make the renderer; a suffix makes another one."""
        template: Any = "{q} {a}" + suffix
        if self.as_map and self.labels:
            template = {label: f"{{q}} {n}{suffix}" for n, label in enumerate(self.labels)}
        return pp.Renderer(template, mode="ppl", labels=self.labels, reader=READER)


def make(seed: int, number: int) -> Case:
    """Draw the case of a number."""
    draw = Draw.of(seed, number, "labels")
    rows = draw.pick(1, 2, 5)
    kind = draw.pick(
        pa.uint64(), pa.int64(), pa.float64(), pa.string(), arrays.any_type(draw, 1), arrays.any_type(draw, 2)
    )
    column = arrays.chunked_of(draw, kind, rows, lambda draw: draw.choice(TEXTS))
    labels = draw.subset(GIVEN, 5, 1) if draw.chance(2) else None
    return Case(pa.table({"q": [draw.choice(TEXTS) for _ in range(rows)], "a": column}), labels, draw.chance(2))


def check(_seed: int, _number: int, case: Case) -> int:
    """Run all verbs."""
    try:
        renderer, other = case.renderer(), case.renderer("!")
    except pp.TemplateError:
        return 1
    table = case.table
    rendered: list[pa.Table] = []
    verbs = {
        "render": lambda: rendered.append(renderer.render(table)),
        "stream": lambda: renderer.stream(table.to_reader()).read_all(),
        "call": lambda: renderer(table),
        "spans": lambda: renderer.render(table, spans=True, hashes=True),
        "error column": lambda: renderer.render(table, errors="column"),
        "audit": lambda: renderer.audit(table),
        "notes": lambda: renderer.notes(table),
        "divergence": lambda: renderer.divergence(table),
        "fingerprint": renderer.fingerprint,
        "preview": lambda: (str(renderer.preview(table)), renderer.preview(table)._repr_html_()),
        "diff": lambda: (str(pp.diff(renderer, other, table)), pp.diff(renderer, other, table)._repr_html_()),
        "stats": lambda: check_stats(renderer, table),
        "gold": lambda: pp.Renderer("{q}", reader=READER).audit(table),
    }
    for label in [*(case.labels or []), *labels_in(table)][:4]:
        verbs[f"explain {label!r}"] = lambda label=label: renderer.explain(table, 0, label=label)
        verbs[f"preview {label!r}"] = lambda label=label: str(renderer.preview(table, label=label))
    for name, work in verbs.items():
        stages.enter(name)
        try:
            work()
        except (pp.RenderError, pp.TemplateError) as error:
            if error.code == "internal_error":
                raise
    return 1


def labels_in(table: pa.Table) -> list[Any]:
    """The values of the column, where Python has them."""
    try:
        return list(table["a"].to_pylist())
    except Exception:  # whatever pyarrow or an extension type raises
        return []


def check_stats(renderer: pp.Renderer, table: pa.Table) -> None:
    """Compare the labels that `stats` shows with those of the rendered rows."""
    statistics = pp.stats(renderer, table)
    _ = str(statistics), statistics.to_dict(), statistics._repr_html_()
    column = renderer.render(table)["label"]
    for requests in (statistics.longest, statistics.shortest):
        wanted = [column[request].as_py() for request in requests["request"].to_pylist()]
        # The label None is null in statistics, also where the others are texts.
        labels = [None if label == "None" else label for label in requests["label"].to_pylist()]
        if repr(labels) != repr([None if label == "None" else label for label in wanted]):
            detail = f"found {labels!r}, wanted {wanted!r}"
            raise DifferenceError("stats: other labels than rendering gives", detail)


def run(seed: int, number: int) -> int:
    """Make and check the case of a number."""
    stages.enter("building")
    try:
        case = make(seed, number)
    except pa.ArrowException as error:
        raise stages.Unbuildable(str(error)) from None
    return check(seed, number, case)


warnings.simplefilter("ignore", pp.PromptWarning)
