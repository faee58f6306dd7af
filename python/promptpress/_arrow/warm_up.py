"""One-time set-up of the core for this process."""

from __future__ import annotations

import pyarrow as pa

import promptpress._core as _core
from promptpress._arrow import python_text as _text
from promptpress._arrow.core_tables import row_numbers
from promptpress._core import StreamState

_printable_installed = False


def install_printable() -> None:
    """Give the core this interpreter's printable characters, once."""
    global _printable_installed  # noqa: PLW0603 - once a process
    if not _printable_installed:
        _core.set_printable(_text.printable_bitmap())
        _printable_installed = True


def warm_up() -> None:
    """Let the core and pyarrow meet while this module is imported.

    What the bindings look up in Python they look up once, and without the interpreter's lock. A process that another
    thread forked in the midst of it would wait for that look-up for ever.
    """
    schema = pa.schema([pa.field("x", pa.string()), row_numbers("y")])
    # Arrays that are made without Python's values: pyarrow would import pandas to look at those.
    table = pa.Table.from_arrays([pa.nulls(1, pa.string()), _core.repeated_rows(0, 1, 1)], schema=schema)
    core = _core.CompiledRenderer({"prompt_template": "{x}{y}", "dialect": "opencompass"}, None, None, _text_of_row)
    core.output_fields(schema)
    core.render(table, None, StreamState(), False, _text_of_row)


def _text_of_row(_name: str, _rows: pa.Array) -> pa.Array:
    return pa.nulls(1, pa.string())
