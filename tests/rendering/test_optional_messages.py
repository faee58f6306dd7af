"""Messages that are left out of rows in which they say nothing, beside plain Python."""

from __future__ import annotations

import json
import random
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from marks import UNWARNED

pytestmark = UNWARNED

SAMPLES = pa.table({"s": ["Be.", None, "", "x"], "q": ["1", "2", "3", "4"], "a": ["A", "B", "C", "D"]})


@pytest.mark.parametrize("seed", range(part_of(60)))
def test_rows_leave_out_the_messages_that_say_nothing(seed: int) -> None:
    drawn = random.Random(seed)
    rows = [{name: drawn.choice(["", "x", None, "{q}"]) for name in "stq"} for _ in range(9)]
    rows = [{**row, "n": drawn.choice([None, 0, 7])} for row in rows]
    samples = pa.Table.from_pylist(
        rows, pa.schema({"s": pa.string(), "t": pa.large_string(), "q": "string", "n": "int64"})
    )
    contents = ["{s}", "{s}{t}", "Be {s}.", "{n}", "", "Now."]
    template: list[Any] = [
        {"role": drawn.choice(["system", "user"]), "content": drawn.choice(contents), "optional": drawn.random() < 0.7}
        for _ in range(drawn.randrange(1, 4))
    ]
    template.append({"role": "user", "content": "Q{q}"})
    renderer = pp.Renderer(template)

    def messages(row: dict[str, Any]) -> list[dict[str, str]]:
        out = []
        for message in template:
            names = [name for name in "stqn" if f"{{{name}}}" in message["content"]]
            content = message["content"]
            if message.get("optional") and any(row[name] is None for name in names):
                continue
            for name in names:  # one after the other, but no value has a placeholder of a later one
                content = content.replace(f"{{{name}}}", str(row[name]))
            if content or not message.get("optional"):
                out.append({"role": message["role"], "content": content})
        return out

    wanted = [messages(row) for row in rows]
    table = renderer.render(samples, spans="detailed")
    assert table["prompt"].to_pylist() == wanted
    assert [renderer.render(samples.slice(row, 1))["prompt"][0].as_py() for row in range(9)] == wanted
    for row, spans in enumerate(table["spans"].to_pylist()):
        assert {span["message"] for span in spans} <= set(range(len(wanted[row])))
    for row, of_row in enumerate(wanted):
        ends: dict[int, int] = {}
        for span in renderer.explain(samples, row).to_pylist():
            ends[span["message"]] = span["end"]
        assert ends == {n: len(message["content"].encode()) for n, message in enumerate(of_row) if message["content"]}
    texts = pp.Renderer(template, output="messages_json").render(samples)["prompt"].to_pylist()
    assert [json.loads(text) for text in texts] == wanted
    nulls = {
        name
        for name in "stqn"
        for row, of_row in zip(rows, wanted, strict=True)
        if row[name] is None and any("None" in message["content"] for message in of_row)
    }
    columns = {row["column"] for row in renderer.audit(samples, only=["null_value"]).to_pylist()}
    assert bool(columns) == bool(nulls)


def test_the_system_message_of_the_short_form_may_be_optional() -> None:
    short: dict[str, Any] = {"system": "You are {s}", "optional_system": True, "examples": SAMPLES.slice(3)}
    renderer = pp.Renderer("{q}", shots=1, output_column="a", **short)
    shot = [{"role": "user", "content": "4"}, {"role": "assistant", "content": "D"}]
    first, second = renderer.render(SAMPLES)["prompt"].to_pylist()[:2]
    assert first == [{"role": "system", "content": "You are Be."}, *shot, {"role": "user", "content": "1"}]
    assert second == [*shot, {"role": "user", "content": "2"}]
    plain = pp.Renderer("{q}", system="{s}").render(SAMPLES)["prompt"].to_pylist()
    optional = pp.Renderer("{q}", system="{s}", optional_system=True).render(SAMPLES)["prompt"].to_pylist()
    assert [row[-1:] if row[0]["content"] in ("None", "") else row for row in plain] == optional


def test_what_is_optional_wrongly_is_refused() -> None:
    message = {"role": "system", "content": "{s}", "optional": "yes"}
    with pytest.raises(pp.TemplateError, match=r"prompt_template\[0\].optional: expected a bool, found a str"):
        pp.Renderer([message, {"role": "user", "content": "{q}"}])
    for arguments in ({}, {"system": "{s}", "dialect": "opencompass"}):
        with pytest.raises(pp.TemplateError, match="optional_system: it goes with system="):
            pp.Renderer("{q}", optional_system=True, **arguments)
    # In a harness's configuration it is a key like any other.
    template = {"type": "RawPromptTemplate", "messages": [{**message, "optional": True}]}
    assert pp.Renderer(template, output="openai").render(SAMPLES)["prompt"][1].as_py() == [
        {"role": "system", "content": "None", "optional": True}
    ]
