"""Memory over a million conversations of ten thousand shapes, in a process of its own."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("jinja2")

ROWS = 1_000_000
SHAPES = 10_000
BATCH = 50_000
MOST_AT_FIRST = 400 << 20
"""Bytes that the first batches may take: all shapes are known then, and as many have programs as ever will."""
MOST_AFTERWARDS = 48 << 20

PROGRAM = f"""
import json
import pyarrow as pa
import promptpress

TEMPLATE = '''{{% for message in messages %}}<|{{{{ message.role }}}}|>\
{{% if message.name %}}{{{{ message.name }}}}: {{% endif %}}\
{{{{ message.content | trim }}}}<|end|>
{{% endfor %}}'''


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def batches():
    offsets = pa.array(range(0, 2 * {BATCH} + 1, 2), pa.int32())
    for first in range(0, {ROWS}, {BATCH}):
        rows = range(first, first + {BATCH})
        roles = pa.array(["user", "assistant"] * {BATCH})
        contents = pa.array([text for row in rows for text in (f" question {{row}} ", f"answer {{row}}")])
        names = pa.array([name for row in rows for name in (f"user-{{row % {SHAPES}}}", None)])
        messages = pa.StructArray.from_arrays([roles, contents, names], ["role", "content", "name"])
        yield pa.record_batch([pa.ListArray.from_arrays(offsets, messages)], ["messages"])


chat = promptpress.ChatTemplate(TEMPLATE)
schema = next(batches()).schema
before = resident()
found, rows, last = [], 0, ""
for batch in chat.stream(pa.RecordBatchReader.from_batches(schema, batches())):
    rows += batch.num_rows
    last = batch["prompt"][-1].as_py()
    found.append(resident() - before)
shapes = chat.compiled.num_rows
print(json.dumps([rows, last, shapes, found]))
"""


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
def test_memory_is_bounded_over_many_shapes() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True)
    rows, last, shapes, growths = json.loads(done.stdout)
    assert rows == ROWS
    name = f"user-{(ROWS - 1) % SHAPES}"
    assert last == f"<|user|>{name}: question {ROWS - 1}<|end|>\n<|assistant|>answer {ROWS - 1}<|end|>\n"
    assert shapes < SHAPES, "not every shape has a program"
    third = len(growths) // 3
    assert max(growths[:third]) < MOST_AT_FIRST, growths
    assert max(growths) - max(growths[:third]) < MOST_AFTERWARDS, growths
