"""The requests of conversations and chats, row by row, and what `explain` and `divergence` have to say of them."""

from __future__ import annotations

import json
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from comparing import with_kept_braces
from parts.filled_rows import check_last_run
from test_explain import check_spans, messages_of

Request = tuple[int, int | None, Any]
WAYS = ("harness", "single_pass")
REFUSED = (pp.TemplateError, pp.RenderError)


def asks_again(settings: dict[str, Any]) -> bool:
    """Return true if later turns hold the model's replies."""
    inferencer = settings["inferencer"]
    name = str(inferencer.get("type")).rsplit(".", 1)[-1]
    default = {"MultiTurnGenInferencer": "every", "ChatInferencer": "last"}.get(name)
    return bool(inferencer.get("infer_mode", default) == "every" and default)


def requests_of(
    settings: dict[str, Any], renderer: pp.Renderer, samples: pa.Table, *, replied: bool = False
) -> list[Request]:
    """Row, turn and request; where the model is asked again, its first turn, or with `replied` all after empty ones."""

    def listed(table: pa.Table, row: str) -> list[Request]:
        turns = table["turn"].to_pylist() if "turn" in table.column_names else [None] * len(table)
        requests = pp.to_pylist(table["prompt"])
        if settings.get("output") == "messages_json":
            requests = [json.loads(request) for request in requests]
        return list(zip(table[row].to_pylist(), turns, requests, strict=True))

    if not asks_again(settings):
        numbered = samples.append_column("row number", pa.array(range(len(samples)), pa.int64()))
        return listed(renderer.render(numbered, keep=["row number"]), "row number")
    talk = renderer.converse(samples)
    requests = listed(talk.requests, "sample")
    while replied and (waiting := talk.requests.num_rows):
        requests += listed(talk.reply(pa.array([""] * waiting, pa.string())), "sample")
    return requests


def one_by_one(
    settings: dict[str, Any], samples: pa.Table, *, replied: bool = False
) -> list[list[Request] | Exception]:
    """The requests of each row, or why it is refused."""
    renderer = pp.Renderer(**settings)
    rows: list[list[Request] | Exception] = []
    for row in range(len(samples)):
        try:
            requests = requests_of(settings, renderer, samples.slice(row, 1), replied=replied)
            rows.append([(row, turn, request) for _, turn, request in requests])
        except REFUSED as error:
            rows.append(error)
    return rows


def check_every_request(settings: dict[str, Any], samples: pa.Table) -> list[tuple[Request, list[dict[str, Any]]]]:
    """The spans of every request that a table asks for, as `explain` gives them; they cover what `render` gives."""
    renderer, spans_of_requests = pp.Renderer(**settings), []
    for row, requests in enumerate(one_by_one(settings, samples)):
        if isinstance(requests, Exception):
            # That no Arrow type holds them together is nothing to spans.
            if requests.code != "no_arrow_type":
                with pytest.raises(pp.RenderError):
                    renderer.explain(samples, row)
            continue
        if not requests:
            with pytest.raises(pp.RenderError, match=f"row {row}: the conversation asks for nothing") as caught:
                renderer.explain(samples, row)
            assert caught.value.code == "turn_out_of_range"
            continue
        for number, (_, turn, request) in enumerate(requests):
            spans = renderer.explain(samples, row, turn=turn).to_pylist()
            check_spans(spans, request)
            check_fields(spans, request, samples, row)
            if number == 0:
                assert renderer.explain(samples, row).to_pylist() == spans
            spans_of_requests.append(((row, turn, request), spans))
        last = requests[-1][1]
        if last is not None:
            with pytest.raises(pp.RenderError, match="turn"):
                renderer.explain(samples, row, turn=last + 1)
    return spans_of_requests


def check_fields(spans: list[dict[str, Any]], request: Any, samples: pa.Table, row: int) -> None:
    """Check that the text of each span of a column stands in that column."""
    texts = [text.encode() for text in messages_of(request)]
    for span in spans:
        if span["source"] == "field":
            piece = texts[span["message"]][span["start"] : span["end"]].decode()
            assert is_made_of(piece, texts_in(samples[span["column"]][row].as_py())), (piece, span)


def texts_in(value: Any) -> list[str]:
    """The texts of a cell: itself, those of a list, the contents of messages."""
    if isinstance(value, list):
        return [text for item in value for text in texts_in(item)]
    if isinstance(value, dict):
        return texts_in(value.get("content"))
    return [str(value)]


def is_made_of(piece: str, texts: list[str]) -> bool:
    """Return true if a text is a part of one of these, or a sequence of such parts."""
    while piece:
        length = next((n for n in range(len(piece), 0, -1) if any(piece[:n] in text for text in texts)), 0)
        if not length:
            return False
        piece = piece[length:]
    return True


def check_divergence(settings: dict[str, Any], samples: pa.Table, allowed: set[str]) -> list[int] | None:
    """The rows in which the ways of substituting differ, which `divergence` has to give under both.

    None where the table can't be rendered. `allowed` holds the columns that may bring in a placeholder.
    """
    ways = [{**settings, "substitution": way} for way in WAYS]
    plain = with_kept_braces(settings, samples, more=["question", "answer"])
    if plain is None:
        return None
    both = [one_by_one(way, samples, replied=True) for way in (ways[0], plain)]
    rows = None
    for way, mine in zip(ways, both, strict=True):
        if any(isinstance(requests, Exception) for requests in mine):
            continue
        rows = [row for row, (filled, copied) in enumerate(zip(*both, strict=True)) if filled != copied]
        renderer = pp.Renderer(**way)
        divergence = renderer.divergence(samples)
        if way["substitution"] == "harness" and (way.get("inferencer") or {}).get("infer_mode") != "every":
            renderer.render(samples)
            check_last_run(renderer, divergence.to_pylist())
        assert divergence["row"].to_pylist() == rows
        for columns in divergence["columns"].to_pylist():
            # Of placeholders that overlap only the order of the columns decides.
            assert columns or any("{" in name or "}" in name for name in samples.column_names)
            assert columns == [name for name in samples.column_names if name in columns]
            assert set(columns) <= allowed
    return rows
