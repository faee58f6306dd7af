"""Everything that reads a table with the columns `q` and `x`, as functions that return what can be compared."""

from __future__ import annotations

import warnings
from typing import Any

import jinja2
import promptpress as pp
import pyarrow as pa
from promptpress_workbench.files.write.json_lines import LineWriter, Piece, object_pieces
from pyarrow import types

from .draw import Draw
from .oracle import DifferenceError
from .values import UNPRINTABLE, rows_of

TURNS = {"round": [{"role": "HUMAN", "prompt": "{x}|{q}"}, {"role": "BOT", "prompt": "{q}"}]}
RAW = [{"role": "system", "content": "{q}"}, {"role": "user", "content": "{x}"}]
EXPANDED = [{"expand_column": "x"}, {"role": "user", "content": "{q}"}]
SHOT = {"type": "PromptTemplate", "template": "</E>{q}", "ice_token": "</E>"}
RAW_SHOT = {"type": "RawPromptTemplate", "messages": ["</E>", {"role": "user", "content": "{q}"}]}
RAW_ICE = {"type": "RawPromptTemplate", "messages": EXPANDED}
CHATS = (
    "{% for m in messages %}[{{ m.role }}]{{ m['content'] }}{% endfor %}",
    "{% for m in messages %}{{ m.role }}: {{ m.extra }}{% endfor %}",
    "{{ messages | tojson }}",
    "{% for m in messages %}{{ m.content if m.content is string else m.content[0].text }}{% endfor %}",
)


def plain(table: Any) -> Any:
    """A table's schema and values, by their `repr`: NaN is like NaN there."""
    table = pa.table(table) if isinstance(table, pa.RecordBatch) else table
    return str(table.schema), [repr(row) for row in rows_of(table)]


def strings(draw: Draw) -> Any:
    return draw.pick("string", "large_string", "string_view")


def text_renderer(draw: Draw) -> pp.Renderer:
    template = draw.pick("{x}|{q}", "{x}", "{q}{x}{q}", TURNS, {"A": "{x}", "B": "{q}"})
    mode: dict[str, Any] = (
        {"mode": "ppl", "labels": ["A", "B"]} if isinstance(template, dict) and "A" in template else {}
    )
    return pp.Renderer(
        template,
        reader={"input_columns": ["x", "q"], "output_column": None},
        substitution=draw.pick("harness", "single_pass"),
        strings=strings(draw),
        **mode,
    )


def message_renderer(draw: Draw) -> pp.Renderer:
    output = draw.pick("messages", "prompt_list", "openai", "messages_json")
    meta: dict[str, Any] = {"meta_template": [{"role": "system", "content": "S"}]} if draw.chance(3) else {}
    return pp.Renderer(draw.pick(RAW, EXPANDED, EXPANDED), output=output, strings=strings(draw), **meta)


def any_renderer(draw: Draw) -> pp.Renderer:
    return draw.pick(text_renderer, text_renderer, message_renderer)(draw)


def render(draw: Draw, table: pa.Table) -> Any:
    return plain(any_renderer(draw).render(table, keep=draw.pick((), ("x",))))


def spans(draw: Draw, table: pa.Table) -> Any:
    return plain(any_renderer(draw).render(table, spans=draw.pick(True, "detailed"), hashes=True))


def stream(draw: Draw, table: pa.Table) -> Any:
    return plain(any_renderer(draw).stream(table.to_reader(), keep=draw.pick((), ("x",))).read_all())


def call(draw: Draw, table: pa.Table) -> Any:
    return plain(any_renderer(draw)(table))


def explain(draw: Draw, table: pa.Table) -> Any:
    return plain(any_renderer(draw).explain(table, draw.randrange(max(len(table), 1))))


def audit(draw: Draw, table: pa.Table) -> Any:
    return plain(any_renderer(draw).audit(table))


def stats(draw: Draw, table: pa.Table) -> Any:
    return repr(pp.stats(any_renderer(draw), table).to_dict())


def divergence(draw: Draw, table: pa.Table) -> Any:
    return plain(any_renderer(draw).divergence(table))


def findings(draw: Draw, table: pa.Table) -> Any:
    return plain(any_renderer(draw).findings(table))


def preview(draw: Draw, table: pa.Table) -> Any:
    return any_renderer(draw).preview(table)._repr_html_()


def labels(_draw: Draw, table: pa.Table) -> Any:
    renderer = pp.Renderer("{q}{x}", mode="ppl", reader={"input_columns": ["q"], "output_column": "x"})
    return plain(renderer.render(table))


def gold(draw: Draw, table: pa.Table) -> Any:
    renderer = pp.Renderer("{q}", reader={"input_columns": ["q"], "output_column": "x"})
    return draw.pick(lambda: plain(renderer.audit(table)), lambda: repr(pp.stats(renderer, table).to_dict()))()


def examples(draw: Draw, table: pa.Table) -> Any:
    """The table is the train split; what is wrong with it may be said by the constructor."""
    samples = pa.table({"q": ["1", "{x}"], "x": ["3", "4"]})
    retriever = {"type": "RandomRetriever", "ice_num": 1} if len(table) else {"type": "ZeroRetriever"}
    prompt, ice = draw.pick((SHOT, "{x}={q}"), (SHOT, {"a": "{x}", "b": "{q}"}), (RAW_SHOT, RAW_ICE))
    reader = {"input_columns": ["q"], "output_column": draw.pick("q", "x")}
    output = {"output": draw.pick("messages", "prompt_list", "openai")} if prompt is RAW_SHOT else {}
    renderer = pp.Renderer(prompt, ice, retriever, table, reader=reader, **output)
    return plain(renderer.render(samples)), plain(renderer.explain(samples, 0))


def index_column(_draw: Draw, table: pa.Table) -> Any:
    train = pa.table({"q": ["1", "2"], "a": ["x", "y"]})
    retriever = {"type": "IndexColumn", "column": "x"}
    renderer = pp.Renderer(SHOT, "{q}={a}", retriever, train, reader={"input_columns": ["q"], "output_column": "a"})
    return plain(renderer.render(table))


def turns(draw: Draw, table: pa.Table) -> Any:
    template = {"round": [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]}
    renderer = pp.Renderer(
        {"type": "MultiTurnPromptTemplate", "template": template},
        reader={"input_columns": ["question"], "output_column": "answer"},
        inferencer={"type": "MultiTurnGenInferencer", "infer_mode": draw.pick("every_with_gt", "last")},
        dialect="aisbench",
    )
    return plain(renderer.render(pa.table({"question": table["x"], "answer": table["x"]})))


def media(_draw: Draw, table: pa.Table) -> Any:
    turn = {"role": "HUMAN", "prompt_mm": {"text": {"type": "text", "text": "{question}"}}}
    renderer = pp.Renderer({"type": "MMPromptTemplate", "template": {"round": [turn]}}, dialect="aisbench")
    return plain(renderer.render(table.rename_columns(["q", "content"])))


def dialogue(draw: Draw, table: pa.Table) -> Any:
    """The column is the chat of a ChatInferencer."""
    mode = draw.pick("last", "every_with_gt")
    reader = {"input_columns": ["dialogue"], "output_column": "q"}
    renderer = pp.Renderer(reader=reader, inferencer={"type": "ChatInferencer", "infer_mode": mode})
    return plain(renderer.render(table.rename_columns(["q", "dialogue"])))


def lines(_draw: Draw, table: pa.Table) -> Any:
    """Rows as lines of JSON."""
    pieces = [("row", Piece("row")), *((name, Piece("value", column=name)) for name in ("q", "x"))]
    writer, first, out = LineWriter(table.schema, object_pieces(pieces)), 0, []
    for batch in table.to_batches():
        out += [line for array in writer.lines(batch, first) for line in array.to_pylist()]
        first += batch.num_rows
    return out


def jinja_source(draw: Draw, kind: pa.DataType) -> str:
    """A template that goes down a random path of a type."""
    path = "x"
    while draw.chance(1.3):
        if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
            kind = kind.value_type
        elif types.is_struct(kind) and kind.num_fields:
            field = draw.choice(list(kind))
            path, kind = f"{path}[{field.name!r}]", field.type
        elif types.is_map(kind):
            path, kind = f"{path}[0][1]", kind.item_type
        elif types.is_nested(kind) and not types.is_union(kind) and not types.is_struct(kind):
            path, kind = f"{path}[{draw.pick('0', '-1', '1')}]", kind.value_type
        else:
            break
    return draw.pick(
        "{{ %s }}",
        "{{ %s }}|{{ q }}",
        "{%% for item in %s %%}{{ item }},{%% endfor %%}",
        "{{ %s | tojson }}",
        "{{ %s | length }}",
        "{%% if %s %%}yes{%% else %%}no{%% endif %%}",
        "{{ %s == %s }}".replace("== %s", "== x"),
    ) % path  # fmt: skip


def jinja(draw: Draw, table: pa.Table) -> Any:
    source = jinja_source(draw, table.schema.field("x").type)
    template = pp.JinjaTemplate(source, strings=strings(draw))
    out = draw.pick(
        lambda: template.render(table, keep=draw.pick((), ("x",))),
        lambda: template.stream(table.to_reader()).read_all(),
        lambda: template(table),
    )()
    rows = rows_of(table)
    if UNPRINTABLE not in repr(rows):
        compiled = jinja2.Environment().from_string(source)
        expected = [compiled.render(row) for row in rows]
        if out["prompt"].to_pylist() != expected:
            what = f"{source} of {rows!r}: {out['prompt'].to_pylist()!r}, Jinja2 gives {expected!r}"
            raise DifferenceError("jinja: another text than Jinja2's", what)
    return plain(out)


def lm_eval(draw: Draw, table: pa.Table) -> Any:
    kind = table.schema.field("x").type
    task: dict[str, Any] = {"task": "t", "test_split": "test", "doc_to_text": jinja_source(draw, kind)}
    if draw.chance(2):
        task |= {"output_type": "generate_until", "doc_to_target": "{{ x }}", "generation_kwargs": {"until": ["\n"]}}
    else:
        task |= {"output_type": "multiple_choice", "doc_to_choice": ["A", "B"], "doc_to_target": 0}
    return plain(pp.lm_eval.requests(task, table))


def chat(draw: Draw, table: pa.Table) -> Any:
    template = pp.ChatTemplate(draw.choice(CHATS), column="x", strings=strings(draw))
    out = draw.pick(
        lambda: template.render(table, keep=draw.pick((), ("x",))),
        lambda: template.stream(table.to_reader()).read_all(),
        lambda: template(table),
    )()
    return plain(out)


def after_messages(_draw: Draw, table: pa.Table) -> Any:
    """A chat template behind the messages of a harness's configuration."""
    template = pp.ChatTemplate(CHATS[0])
    return plain(pp.Renderer(EXPANDED, chat_template=template).render(table))


VERBS = {
    verb.__name__: verb
    for verb in (
        *(render, spans, stream, call, explain, audit, stats, divergence, findings, preview, labels, gold, examples),
        *(index_column, turns, media, dialogue, lines, jinja, lm_eval, chat, after_messages),
    )
}
OF_TALKS = {"chat", "after_messages", "dialogue"}
"""Verbs that read conversations, for which other columns are refused at once."""

OF_MESSAGES = {"render", "spans", "stream", "call", "explain", "audit", "stats", "divergence", "preview", "examples"}
"""Verbs whose configuration may expand messages from the column."""
OFTEN = [*VERBS, *["jinja", "lm_eval"] * 4, "chat"]
"""The verbs as cases go through them; those that read values, and not texts alone, come several times."""

warnings.simplefilter("ignore", pp.PromptWarning)
