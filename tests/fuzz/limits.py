"""Requests around a limit: every string layout, output and verb refuses the same rows, with the same error.

The reference is plain Python: how many bytes the messages of each request say where there is no limit.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, field
from typing import Any

import promptpress as pp
import pyarrow as pa

from . import stages
from .draw import Draw
from .oracle import DifferenceError

HANG = 60.0
"""Seconds that a case may take: it is several renders."""

LAYOUTS = ("string", "large_string", "string_view")
COLUMNS = (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string()))
META = {
    "round": [
        {"role": "HUMAN", "begin": "<h>", "api_role": "HUMAN"},
        {"role": "BOT", "begin": "<b>", "api_role": "BOT"},
    ]
}
TURNS = {"round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}]}
QUESTION = {"round": [{"role": "HUMAN", "prompt": "Q: {q}"}]}
SHOTS = {"type": "FixKRetriever", "fix_id_list": [0, 1]}
TRAIN = pa.table({"q": ["e1", "e2"], "a": ["f", "{q}"]})

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "one field": {"prompt_template": "{q}"},
    "a text": {"prompt_template": "Q: {q}\n{a}"},
    "a dialogue": {"prompt_template": TURNS},
    "a dialogue that is parsed": {"prompt_template": TURNS, "meta_template": META},
    "labels": {"prompt_template": "{q}{a}", "mode": "ppl", "labels": ["A", "B"]},
    "labels of dialogues": {
        "prompt_template": {"A": QUESTION, "B": TURNS}, "mode": "ppl", "labels": ["A", "B"], "meta_template": META,
    },
    "examples": {
        "prompt_template": {"template": "</E>{q}", "ice_token": "</E>"}, "ice_template": "{q}={a}", "retriever": SHOTS,
        "examples": TRAIN, "reader": {"input_columns": ["q"], "output_column": "a"},
    },
    "raw": {"prompt_template": [{"role": "user", "content": "{q}"}]},
    "raw and constant": {
        "prompt_template": [{"role": "system", "content": "Answer."}, {"role": "user", "content": "{q}"}],
    },
    "raw and more": {"prompt_template": [{"role": "user", "content": "{a}"}, {"role": "user", "content": "Q: {q}"}]},
    "merged": {
        "prompt_template": [{"role": "user", "content": "{q}"}], "meta_template": [{"role": "system", "content": "S"}],
    },
    "expanded": {"prompt_template": [{"expand_column": "m"}, {"role": "user", "content": "{a}"}]},
    "expanded and merged": {
        "prompt_template": [{"expand_column": "m"}, {"role": "user", "content": "{a}"}],
        "meta_template": [{"role": "user", "content": "S"}],
    },
    "turns": {
        "prompt_template": {
            "type": "MultiTurnPromptTemplate",
            "template": {"round": [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]},
        },
        "reader": {"input_columns": ["question"], "output_column": "answer"},
        "inferencer": {"type": "MultiTurnGenInferencer", "infer_mode": "every_with_gt"},
        "meta_template": META,
        "dialect": "aisbench",
    },
}  # fmt: skip


@dataclass
class Case:
    """A configuration, a table, and limits for them."""

    name: str
    table: pa.Table
    output: str
    limits: dict[str, int]
    arguments: dict[str, Any] = field(default_factory=dict)

    def renderer(self, strings: Any, limits: dict[str, int] | None) -> pp.Renderer:
        return pp.Renderer(
            **CONFIGURATIONS[self.name], **self.arguments, output=self.output, strings=strings, limits=limits
        )


def make(seed: int, number: int) -> Case:
    """Draw the case of a number."""
    draw = Draw.of(seed, number, "limits")
    name = [*CONFIGURATIONS][number % len(CONFIGURATIONS)]
    rows = draw.pick(1, 2, 5, 8)
    text = lambda: draw.pick("x", "é", "word ") * draw.pick(0, 1, 3, draw.randint(0, 40)) + draw.pick("", "", "", "{a}")  # noqa: E731
    q, a = [text() for _ in range(rows)], [draw.pick("", "1", "answer", "x" * draw.randint(0, 30)) for _ in range(rows)]
    messages = lambda: [{"role": draw.pick("user", "assistant"), "content": text()} for _ in range(draw.randint(0, 3))]  # noqa: E731
    m = pa.array(
        [messages() for _ in range(rows)], pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
    )
    turns = [draw.randint(1, 3) for _ in range(rows)]
    questions, answers = ([[text() for _ in range(count)] for count in turns] for _ in range(2))
    table = pa.table({"q": q, "a": a, "m": m, "question": questions, "answer": answers})
    if name == "turns":
        table = table.select(["question", "answer"])
    limits = {"prompt_bytes": draw.randint(1, 60)}
    if draw.chance(4):
        limits = {"batch_bytes": 24 * 3 * rows * 2 + draw.randint(0, 200)}
    substitution = {} if name == "turns" else {"substitution": draw.pick("harness", "single_pass")}
    output = draw.pick("text", "messages", "prompt_list", "messages_json", "openai")
    return Case(name, table, output, limits, substitution)


def content_bytes(request: Any) -> int:
    """Return the number of bytes of a request."""
    if isinstance(request, str):
        return len(request.encode())
    if isinstance(request, list):
        return sum(map(content_bytes, request))
    return (
        sum(content_bytes(request.get(key) or "") for key in ("prompt", "content")) if isinstance(request, dict) else 0
    )


def requests_of(case: Case) -> list[tuple[int, int]]:
    """The sample of each request where there is no limit, and how many bytes it says."""
    table = case.renderer("string", None).render(case.table, index="n")
    prompts = table["prompt"].to_pylist()
    if case.output == "messages_json":
        prompts = [json.loads(prompt) for prompt in prompts]
    return [(row, content_bytes(prompt)) for row, prompt in zip(table["n"].to_pylist(), prompts, strict=True)]


def refusal(work: Any) -> tuple[Any, ...] | None:
    """The error that something ends in."""
    try:
        work()
    except (pp.RenderError, pp.TemplateError) as error:
        return (type(error).__name__, error.code, error.row, error.column, str(error))
    return None


def verbs(renderer: pp.Renderer, table: pa.Table) -> dict[str, Any]:
    """Return the calls that render all rows."""
    return {
        "render": lambda: renderer.render(table),
        "spans": lambda: renderer.render(table, spans=True),
        "hashes": lambda: renderer.render(table, hashes=True),
        "stream": lambda: renderer.stream(table.to_reader()).read_all(),
        "call": lambda: renderer(table),
    }


def cast(table: pa.Table, kind: pa.DataType) -> pa.Table:
    """The same table with its texts in another layout."""
    return pa.table([text_column(column, kind) for column in table.columns], names=table.column_names)


def text_column(column: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    if not pa.types.is_string(column.type):
        return column
    texts = column.combine_chunks()
    return texts.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else texts.cast(kind)


def check(_seed: int, _number: int, case: Case) -> int:
    """Compare what is refused with what the requests say, and the layouts with each other."""
    stages.enter("measuring")
    try:
        all_requests = requests_of(case)
    except (pp.RenderError, pp.TemplateError) as error:
        raise stages.Unbuildable(str(error)) from error
    limit = case.limits.get("prompt_bytes")
    total = sum(size for _, size in all_requests)
    too_long = [row for row, size in all_requests if limit is not None and size > limit]
    is_refused = bool(too_long) or total > case.limits.get("batch_bytes", total)
    wanted: dict[str, Any] = {}
    for strings in LAYOUTS:
        for kind in COLUMNS:
            table = cast(case.table, kind)
            try:
                renderer = case.renderer(strings, case.limits)
            except (pp.RenderError, pp.TemplateError) as error:
                # Examples that are too long by themselves are refused before there is a row.
                if error.code != "limit_exceeded" or not is_refused:
                    raise
                continue
            stages.enter(f"rendering {strings}")
            for verb, work in verbs(renderer, table).items():
                refused = refusal(work)
                what = f"{verb} of {case.name} as {case.output}"
                if (refused is not None) != is_refused:
                    detail = f"{refused} with {strings} of {kind}, {case.limits}, requests of {all_requests}"
                    raise DifferenceError(f"{what}: refused or not", detail)
                is_place_known = limit is not None and verb != "preview"
                if refused and (refused[1] != "limit_exceeded" or (is_place_known and refused[2] not in too_long)):
                    raise DifferenceError(f"{what}: another error", f"{refused}, too long are {too_long}")
                if wanted.setdefault(verb, refused) != refused:
                    raise DifferenceError(f"{what}: another error in another layout", f"{refused}, {wanted[verb]}")
            check_explained(case, renderer, table, all_requests)
    return 1


def check_explained(case: Case, renderer: pp.Renderer, table: pa.Table, all_requests: list[tuple[int, int]]) -> None:
    """`explain` refuses a request that is too long as rendering its row does."""
    limit = case.limits.get("prompt_bytes")
    if limit is None:
        return
    what = f"explain of {case.name} as {case.output}"
    for row in range(len(table)):
        # Of several requests of a sample the first is explained.
        size = next((size for row_of_request, size in all_requests if row_of_request == row), 0)
        error = refusal(lambda row=row: renderer.explain(table, row))
        if (error is not None) != (size > limit):
            raise DifferenceError(f"{what}: refused or not", f"{error} of {size} bytes")
        expected = refusal(lambda row=row: renderer.render(table.slice(row, 1)))
        if error and (expected is None or error[2] != row or message_of(error) != message_of(expected)):
            raise DifferenceError(f"{what}: another error", f"{error}, {expected}")


def message_of(error: tuple[Any, ...]) -> tuple[Any, ...]:
    """An error without its row."""
    return error[0], error[1], error[4].partition(": ")[2]


def run(seed: int, number: int) -> int:
    """Make and check the case of a number."""
    stages.enter("building")
    return check(seed, number, make(seed, number))


warnings.simplefilter("ignore", pp.PromptWarning)
