"""One case of broken Arrow input: arrays and IPC files through everything that takes samples or examples.

A case passes by a result, by promptpress's own errors or by pyarrow's. It fails by a crash, a panic or a hang. What
happens while the case is built, or while pyarrow reads a file, is pyarrow's affair.
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
from promptpress_workbench.cli import main

from . import broken, stages
from .arrays import any_type, array_of
from .draw import Draw

ALLOWED = (pp.TemplateError, pp.RenderError, pa.ArrowException)
ROWS = 1 << 16
"""More rows than this are sound for some types, which hold any number of them in no bytes; they only take long."""
TEMPLATES: tuple[Any, ...] = (
    "{x}", "{q}{x}", "{q}", "{x}{{x}}", {"A": "{x}", "B": "{q}"}, {"round": [{"role": "HUMAN", "prompt": "{x}"}]},
    [{"role": "user", "content": "{x}"}], [{"expand_column": "x"}],
)  # fmt: skip
FEW_SHOT = {"type": "PromptTemplate", "template": "</E>{q}", "ice_token": "</E>"}
EXIT_CODES = {0, 3, 4, 5}


@dataclass
class Case:
    """A table, or the bytes of a file that may hold one."""

    table: pa.Table | None
    data: bytes = b""
    is_file: bool = False


def make(seed: int, number: int) -> Case:
    draw = Draw.of(seed, number, "arrow")
    kind = any_type(draw, draw.pick(0, 1, 2, 3))
    length = draw.pick(1, 2, 5, 9, 40)
    texts = lambda draw: draw.pick("", "word", "{q}", "a longer text, beyond what fits in a view", "中文")  # noqa: E731
    x = array_of(draw, kind, length, texts)
    q = pa.array([draw.pick("a", "{x}", "b") for _ in range(length)])
    if draw.chance(2):
        parts = broken.parts_of(x)
        for _ in range(draw.pick(1, 1, 1, 2, 4)):
            broken.break_one(draw, parts)
        x = broken.put_together(parts)
        if len(x) > ROWS:
            raise stages.Unbuildable("too many rows")
        q = pa.array(["{x}"] * len(x))
        return Case(table_of(draw, q, x))
    table = pa.table({"q": q, "x": x})
    data, is_file = written(draw, table)
    for _ in range(draw.pick(1, 1, 2, 8)):
        data = draw.pick(broken.other_number, lambda d, b: broken.flipped(d, b, 8), broken.other_bytes)(draw, data)
    with (pa.ipc.open_file if is_file else pa.ipc.open_stream)(data) as reader:
        table = reader.read_all()
    if len(table) > ROWS:
        raise stages.Unbuildable("too many rows")
    return Case(table, data, is_file)


def table_of(draw: Draw, q: pa.Array, x: pa.Array) -> pa.Table:
    if draw.chance(3):
        half = len(q) // 2  # the stream's exporter cuts the broken column where the others are cut
        q = pa.chunked_array([q[:half], q[half:]])
    return pa.Table.from_arrays([q, x], ["q", "x"])


def written(draw: Draw, table: pa.Table) -> tuple[bytes, bool]:
    sink = pa.BufferOutputStream()
    is_file = draw.pick(True, False)
    options = pa.ipc.IpcWriteOptions(compression=draw.pick(None, None, "lz4", "zstd"))
    make_writer = pa.ipc.new_file if is_file else pa.ipc.new_stream
    with make_writer(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=draw.pick(None, 2))
    return sink.getvalue().to_pybytes(), is_file


def check(seed: int, number: int, case: Case) -> int:
    draw = Draw.of(seed, number, "operations")
    assert case.table is not None
    operations = draw.subset([*OPERATIONS], 3, 2)
    for name in operations:
        stages.enter(name)
        with contextlib.suppress(*ALLOWED):
            OPERATIONS[name](draw, case.table)
    if case.data and not case.is_file and draw.chance(4):
        stages.enter("stream of a reader")
        with contextlib.suppress(*ALLOWED), pa.ipc.open_stream(case.data) as reader:
            for batch in renderer_of(draw).stream(reader):
                looked_at(pa.Table.from_batches([batch]))
    if case.data and draw.chance(10):
        stages.enter("command")
        command(draw, case)
    return 1


def run(seed: int, number: int) -> int:
    stages.enter("building")
    try:
        case = make(seed, number)
    except Exception as error:  # pyarrow refuses to make it, or to read it
        raise stages.Unbuildable(str(error)) from None
    return check(seed, number, case)


def looked_at(table: pa.Table) -> None:
    """Read what was rendered; kept columns are as broken as they came."""
    prompts = table["prompt"] if "prompt" in table.column_names else table
    prompts.validate(full=True)
    prompts.to_pylist()


def renderer_of(draw: Draw) -> pp.Renderer:
    template = draw.choice(TEMPLATES)
    mode = {"mode": "ppl", "labels": ["A", "B"]} if draw.chance(3) else {}
    substitution = draw.pick("harness", "single_pass")
    return pp.Renderer(template, reader={"output_column": draw.pick(None, "a")}, substitution=substitution, **mode)


def render(draw: Draw, table: pa.Table) -> None:
    looked_at(renderer_of(draw).render(table, keep=draw.pick((), ("x",))))


def stream(draw: Draw, table: pa.Table) -> None:
    batches = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    for batch in renderer_of(draw).stream(batches, keep=draw.pick((), ("x",))):
        looked_at(pa.Table.from_batches([batch]))


def call(draw: Draw, table: pa.Table) -> None:
    batches = table.to_batches()
    looked_at(renderer_of(draw)(batches[0] if batches and draw.chance(2) else table))


def divergence(draw: Draw, table: pa.Table) -> None:
    looked_at(renderer_of(draw).divergence(table))


def explain(draw: Draw, table: pa.Table) -> None:
    looked_at(renderer_of(draw).explain(table, draw.randrange(max(len(table), 1))))


def findings(draw: Draw, table: pa.Table) -> None:
    looked_at(renderer_of(draw).findings(table))


def media(_draw: Draw, table: pa.Table) -> None:
    turn = {"role": "HUMAN", "prompt_mm": {"text": {"type": "text", "text": "{question}"}}}
    renderer = pp.Renderer({"type": "MMPromptTemplate", "template": {"round": [turn]}}, dialect="aisbench")
    renamed = table.rename_columns(["q", "content"])
    looked_at(renderer.findings(renamed))
    looked_at(renderer.render(renamed))


def chat(_draw: Draw, table: pa.Table) -> None:
    reader = {"input_columns": ["x"], "output_column": "q"}
    looked_at(pp.Renderer(reader=reader, inferencer={"type": "ChatInferencer", "infer_mode": "last"}).render(table))


def turns(_draw: Draw, table: pa.Table) -> None:
    template = {"round": [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]}
    renderer = pp.Renderer(
        {"type": "MultiTurnPromptTemplate", "template": template},
        reader={"input_columns": ["question"], "output_column": "answer"},
        inferencer={"type": "MultiTurnGenInferencer", "infer_mode": "every_with_gt"},
        dialect="aisbench",
    )
    last = last_column(table)
    looked_at(renderer.render(pa.Table.from_arrays([last, last], ["question", "answer"])))


def last_column(table: pa.Table) -> pa.ChunkedArray:
    """The column that is broken, where pyarrow can give it: names that are no text keep it from that."""
    try:
        return table.columns[-1]
    except (IndexError, KeyError, UnicodeDecodeError) as error:
        raise pa.ArrowInvalid(str(error)) from None


def index_column(_draw: Draw, table: pa.Table) -> None:
    """The broken column is the choice of examples itself."""
    train = pa.table({"q": ["1", "2"], "a": ["x", "y"]})
    retriever = {"type": "IndexColumn", "column": "x"}
    renderer = pp.Renderer(FEW_SHOT, "{q}={a}", retriever, train, reader={"input_columns": ["q"], "output_column": "a"})
    looked_at(renderer.render(table))


def examples(draw: Draw, table: pa.Table) -> None:
    """The broken column is one of the examples', which the constructor or rendering reads; or their label."""
    kind = draw.pick("FixKRetriever", "RandomRetriever", "SlidingWindowRetriever", "IndexColumn")
    retriever: dict[str, Any] = {"type": kind}
    retriever |= {
        "FixKRetriever": {"fix_id_list": [0]},
        "RandomRetriever": {"ice_num": 1},
        "SlidingWindowRetriever": {"k": 1},
        "IndexColumn": {"column": "shots"},
    }[kind]
    ice = draw.pick("{x}", "{q}", {"a": "{x}", "b": "{q}"})
    renderer = pp.Renderer(
        FEW_SHOT, ice, retriever, table, reader={"input_columns": ["q"], "output_column": draw.pick("q", "x")}
    )
    samples = pa.table({"q": ["1", "{x}"], "x": ["3", "4"], "shots": [[0], [len(table) - 1]]})
    looked_at(renderer.render(samples))
    looked_at(renderer.divergence(samples))
    looked_at(renderer.explain(samples, 0))


OPERATIONS = {
    verb.__name__: verb
    for verb in (
        render,
        render,
        stream,
        call,
        divergence,
        explain,
        findings,
        media,
        chat,
        turns,
        index_column,
        examples,
    )
}


def command(draw: Draw, case: Case) -> None:
    """`promptpress render`, which reads the file itself."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "config.json").write_text(json.dumps({"prompt_template": draw.choice(TEMPLATES[:4])}))
        (here / "data.arrow").write_bytes(case.data)
        arguments = ["render", str(here / "config.json"), "--data", str(here / "data.arrow"), "--quiet"]
        arguments += ["--out", str(here / draw.pick("out.arrow", "out.jsonl", "out.parquet"))]
        arguments += draw.pick([], ["--keep", "all"])
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            code = main(arguments)
        if code not in EXIT_CODES:
            raise AssertionError(f"the command ends with exit code {code}: {errors.getvalue()[-500:]}")
