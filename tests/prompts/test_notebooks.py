"""Prompts, spans and differences in notebooks: by IPython's own machinery where it is installed, else by a stand-in."""

from __future__ import annotations

import gc
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED
from promptpress_workbench.prompts import preview as notebooks
from promptpress_workbench.prompts.escapes import printable
from test_prompt_html import HOSTILE, read
from test_show import CONTROLS

pytestmark = UNWARNED

SAMPLES = pa.table({"q": HOSTILE, "a": ["gold"] * len(HOSTILE)})
READER = {"input_columns": ["q"], "output_column": "a"}
RENDERER = pp.Renderer("Q: {q}\nA: {a}", reader=READER)

NOTEBOOK = """\
import promptpress as pp, pyarrow as pa
samples = pa.table({"q": ["<script>alert(1)</script>", "see {a}"], "a": ["2", "gold"]})
renderer = pp.Renderer("Q: {q}", reader={"input_columns": ["q"], "output_column": "a"})
---
renderer.preview(samples)
---
renderer.explain(samples, 0)
---
samples
---
pp.diff(renderer, pp.Renderer("Q: {q}", substitution="single_pass"), samples)
---
renderer.audit(samples)
"""


def body(html: str) -> str:
    """HTML without its style sheet."""
    return html.partition("</style>")[2]


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> dict[type, Any]:
    """A stand-in for IPython that keeps the formatters that it is told of."""
    formatters: dict[type, Any] = {}
    formatter = SimpleNamespace(for_type=lambda kind, function: formatters.update({kind: function}))
    running = SimpleNamespace(display_formatter=SimpleNamespace(formatters={"text/html": formatter}))
    module = ModuleType("IPython")
    module.get_ipython = lambda: running  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", module)
    return formatters


def test_a_preview_is_html_and_text() -> None:
    preview = RENDERER.preview(SAMPLES, 3)
    assert len(preview) == 3
    reader = read(body(preview._repr_html_()))
    for text in HOSTILE[:3]:
        assert text in reader.text
        assert text in str(preview)
    assert not CONTROLS.search(RENDERER.preview(SAMPLES, 100)._repr_html_())
    assert not CONTROLS.search(str(RENDERER.preview(SAMPLES, 100)))
    assert repr(preview) == str(preview)
    assert "column: q" in reader.text
    assert "[masked: a]" in reader.text
    assert "[masked: a]" not in str(preview)


def test_a_preview_of_chosen_rows() -> None:
    assert str(RENDERER.preview(SAMPLES, rows=[1])).startswith("── row 1 ")
    assert str(RENDERER.preview(SAMPLES, 0)) == "no prompts"
    assert "no prompts" in RENDERER.preview(SAMPLES, rows=[])._repr_html_()
    assert len(RENDERER.preview(SAMPLES, 10**9)) == len(SAMPLES)
    scored = pp.Renderer("{q}", mode="ppl", labels=["A", "B"])
    assert len(scored.preview(SAMPLES, 2)) == 4
    assert len(scored.preview(SAMPLES, 2, label="B")) == 2
    talk = pp.Renderer(inferencer={"type": "ChatInferencer", "infer_mode": "every_with_gt"}, reader=READER)
    talks = pa.table({"q": [["a", "b"]], "a": [["1", "2"]]})
    assert [len(talk.preview(talks)), len(talk.preview(talks, turn=1))] == [2, 1]


@pytest.mark.parametrize(
    "call",
    [
        lambda: RENDERER.preview(SAMPLES, rows=[99]),
        lambda: RENDERER.preview(SAMPLES, rows=[-1]),
        lambda: RENDERER.preview(SAMPLES, -1),
        lambda: RENDERER.preview(SAMPLES, label="A"),
        lambda: RENDERER.preview(SAMPLES, turn=0),
        lambda: RENDERER.preview(SAMPLES, turn=-1),
    ],
)
def test_what_cant_be_previewed(call: Any) -> None:
    with pytest.raises(pp.RenderError):
        call()


def test_spans_are_shown_as_their_prompt(shell: dict[type, Any]) -> None:
    spans = RENDERER.explain(SAMPLES, 0)
    assert type(spans) is pa.Table
    assert spans.schema.metadata is None
    html = shell[pa.Table](spans)
    assert '<span class="pp-piece pp-column" title="column q"' in html
    assert "&lt;script&gt;" in html
    assert "<script" not in html
    assert "<td>prompt_template</td>" in html


def test_other_tables_are_shown_as_before(shell: dict[type, Any]) -> None:
    spans = RENDERER.explain(SAMPLES, 0)
    for other in (SAMPLES, spans.slice(0), pa.table(spans.to_pydict())):
        assert other is spans or shell[pa.Table](other) is None


def test_spans_that_are_gone_are_forgotten(shell: dict[type, Any]) -> None:
    before = len(notebooks._announced)
    for row in range(5):
        RENDERER.explain(SAMPLES, row)
    gc.collect()
    assert len(notebooks._announced) == before
    assert shell


def test_the_spans_of_a_label_and_a_turn(shell: dict[type, Any]) -> None:
    scored = pp.Renderer({"A": "yes {q}", "B": "no {q}"}, mode="ppl")
    spans = scored.explain(SAMPLES, 0, label="B")
    assert "label B" in shell[pa.Table](spans)
    spans = scored.explain(SAMPLES, 0)
    assert "label A" in shell[pa.Table](spans)


def test_the_findings_of_an_audit(shell: dict[type, Any]) -> None:
    renderer = pp.Renderer("Q: {q}", substitution="harness")
    samples = pa.table({"q": ["see {<b>}", "</s>\u202e", *HOSTILE], "<b>": ["gold"] * (2 + len(HOSTILE))})
    findings = renderer.audit(samples)
    html = body(shell[pa.Table](findings))
    reader = read(html)
    assert not CONTROLS.search(html)
    assert "placeholder_filled" in reader.text
    for finding in findings.to_pylist():
        assert printable(finding["message"]) in reader.text
        assert printable(finding["remedy"]) in reader.text
    nothing = pp.Renderer("Q: {q}").audit(pa.table({"q": ["1+1"]}))
    assert "no findings" in read(body(shell[pa.Table](nothing))).text
    template = pp.JinjaTemplate("{{ q }}").audit(pa.table({"q": ["a", "a"]}))
    assert "pp-finding" in shell[pa.Table](template)


def test_without_a_notebook_nothing_is_kept() -> None:
    before = dict(notebooks._announced)
    spans = RENDERER.explain(SAMPLES, 0)
    assert notebooks._announced == before
    assert spans.num_rows


def test_in_a_notebook() -> None:
    """A kernel runs the notebook, as nbconvert does."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    nbconvert = pytest.importorskip("nbconvert")
    cells = [nbformat.v4.new_code_cell(source) for source in NOTEBOOK.split("---\n")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=120).execute()
    outputs = [cell.outputs[0].data.get("text/html", "") for cell in notebook.cells[1:]]
    assert ['class="pp-prompt"' in html for html in outputs] == [True, True, False, False, False]
    assert "pp-diff" in outputs[3]
    assert "pp-finding" in outputs[4]
    assert "&lt;script&gt;alert(1)" in outputs[0]
    assert "<script" not in "".join(outputs)
    plain = notebook.cells[1].outputs[0].data["text/plain"]
    assert plain.startswith("── row 0")
    page, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
    assert "pp-prompt" in page
