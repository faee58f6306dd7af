"""Shortcuts that make files of lines fast must not make them wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import promptpress as pp
import promptpress._core as _core
import pyarrow as pa
import pytest
from promptpress import export
from promptpress_workbench.export.custom_ids import CustomIds
from promptpress_workbench.files.write.output_file import EarlyWrites, output_file
from promptpress_workbench.threads import background_writer

ROLES = ["user", "assistant"]
MESSAGE = {"role": "user", "content": "x"}
MESSAGES = pa.list_(pa.struct({"role": pa.string(), "content": pa.string()}))
FORMS = [
    MESSAGES,
    pa.large_list(MESSAGES.value_type),
    pa.list_(pa.struct({"content": pa.string(), "role": pa.string_view()})),
    pa.list_(pa.struct({"role": pa.dictionary(pa.int8(), pa.string()), "content": pa.list_(pa.string())})),
]


def is_plain(column: pa.Array, content: str = "content") -> bool:
    return _core.are_plain_chats(pa.table({"prompt": column}), ROLES, content)


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([MESSAGE, {**MESSAGE, "role": "assistant"}], True),
        ([MESSAGE, {**MESSAGE, "role": "human"}], False),
        ([MESSAGE, {**MESSAGE, "role": ""}], False),
        ([{**MESSAGE, "role": None}], False),
        ([{**MESSAGE, "content": None}], False),
        ([None], False),
        ([], False),
        (None, False),
    ],
)
def test_messages_that_need_no_second_look(form: pa.DataType, row: Any, expected: bool) -> None:
    if pa.types.is_list(form.value_type.field("content").type):
        row = row and [message and {**message, "content": message["content"] and ["x"]} for message in row]
    column = pa.array([[], row, []], form)
    assert is_plain(column.slice(1, 1)) is expected
    assert not is_plain(column)
    assert not is_plain(column.slice(1, 1), "text")
    assert not is_plain(pa.array([["x"]]))


def test_ids_that_rise_and_then_do_not(tmp_path: Path) -> None:
    for numbers, repeated in (
        ([*range(3000), *range(5000, 2999, -1)], None),
        ([*range(3000), 3000, 2999], (3001, 2999)),
        ([*range(2000), 5, *range(2000, 3000)], (2000, 5)),
        ([9, 10, 8, 11, 8], (4, 2)),
    ):
        table = pa.table({"id": numbers, "prompt": ["x"] * len(numbers)})
        for size in (1, 700, 10_000):
            ids = CustomIds("q{id}", table.schema)
            if repeated is None:
                assert sum(len(checked) for batch in table.to_batches(size) for checked in ids.checked(batch)) == len(
                    numbers
                )
                continue
            with pytest.raises(
                pp.RenderError, match=f"row {repeated[0]}: .* row {repeated[1]}, 'q{numbers[repeated[1]]}'"
            ):
                list(map(ids.checked, table.to_batches(size)))
        if repeated is not None:
            with pytest.raises(pp.RenderError, match=f"row {repeated[0]}: .* row {repeated[1]},"):
                export.openai_batch(table, tmp_path / "in.jsonl", model="m", custom_id="q{id}")
    assert os.listdir(tmp_path) == []


def test_an_id_is_as_long_as_its_text_whatever_json_makes_of_it(tmp_path: Path) -> None:
    table = pa.table({"id": ['"' * 64, "é" * 64, "\x00" * 64], "prompt": ["x"] * 3})
    export.litellm_batch(table, tmp_path / "in.jsonl", model="m", custom_id="{id}")
    ids = [json.loads(line)["custom_id"] for line in (tmp_path / "in.jsonl").read_text("utf-8").splitlines()]
    assert ids == table["id"].to_pylist()
    with pytest.raises(pp.RenderError, match=r"row 0: its custom_id 'éé.* has 64 characters, and 63 are allowed"):
        export.litellm_batch(table.slice(1), tmp_path / "b.jsonl", model="m", custom_id="{id}", custom_id_length=63)


def test_a_batch_file_needs_neither_pandas_nor_arrows_functions(tmp_path: Path) -> None:
    # Both take longer to import than all of promptpress, and than a hundred thousand rows.
    code = (
        "import sys, pyarrow as pa, promptpress as pp; from promptpress import export;"
        "reader = pp.Renderer('{q}', output='openai').stream([pa.record_batch({'q': pa.nulls(3, pa.string())})]);"
        f"export.openai_batch(reader, {str(tmp_path / 'in.jsonl')!r}, model='m');"
        "print([name for name in ('pandas', 'pyarrow.compute') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("works", [True, False])
def test_the_disk_is_given_each_byte_once_while_more_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, works: bool
) -> None:
    given: list[tuple[int, int]] = []

    def advise(handle: int, start: int, count: int, _: int) -> None:
        assert os.fstat(handle).st_size == start + count
        given.append((start, count))
        if not works:
            raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "posix_fadvise", advise, raising=False)
    monkeypatch.setattr(os, "POSIX_FADV_DONTNEED", 4, raising=False)
    part = bytes(range(256)) * (3 << 12)
    with output_file(str(tmp_path / "a")) as file:
        for _ in range(9):
            file.write(part)
        file.write(b"end")
    assert (tmp_path / "a").read_bytes() == part * 9 + b"end"
    size = 3 * len(part)
    assert given == [(n * size, size) for n in range(3)]


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"kept")
    with pytest.raises(FileExistsError):
        EarlyWrites(str(tmp_path / "a"))
    assert (tmp_path / "a").read_bytes() == b"kept"


def test_what_goes_wrong_at_the_end_of_two_stages_is_raised() -> None:
    written: list[int] = []

    def last(number: int) -> None:
        if number == 5:
            raise OSError(28, "No space left on device")
        written.append(number)

    def make_all() -> None:
        with background_writer(last) as write, background_writer(write) as make:
            for number in range(20):
                make(number)

    with pytest.raises(OSError, match="No space left"):
        make_all()
    assert written == list(range(5))


@pytest.mark.skipif(not hasattr(os, "posix_fadvise") or sys.platform != "linux", reason="a limit that Linux has")
@pytest.mark.parametrize("command", ["render", "export"])
def test_a_file_that_may_not_grow_leaves_nothing(tmp_path: Path, command: str) -> None:
    (tmp_path / "job.json").write_text('{"prompt_template": "{q}"}', encoding="utf-8")
    with (tmp_path / "data.csv").open("w") as file:
        file.write("q\n" + "x" * 200 + "\n" + ("y" * 200 + "\n") * 60_000)
    given = [f"{tmp_path}/job.json", "--data", f"{tmp_path}/data.csv", "--out", f"{tmp_path}/out.jsonl", "--quiet"]
    line = ["render", *given] if command == "render" else ["export", "openai-batch", *given, "--model-name", "m"]
    code = (
        "import resource, sys, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (9 << 20, 9 << 20));"
        "from promptpress_workbench.cli.process import main; sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run([sys.executable, "-c", code, *line], capture_output=True, text=True, check=False)
    assert done.returncode
    assert "out.jsonl: File too large (disk full)" in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["data.csv", "job.json"]
