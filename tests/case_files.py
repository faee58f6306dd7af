"""The cases of `tests/cases/` as Python's objects; `tests/cases/README.md` says what a file holds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

FOLDER = Path(__file__).parent / "cases"

SIMPLE = {
    **{name: getattr(pa, name)() for name in ("null", "string", "large_string", "string_view", "binary", "date32")},
    **{name: getattr(pa, name)() for name in ("int8", "int16", "int32", "int64", "uint8", "uint32", "uint64")},
    **{"float32": pa.float32(), "float64": pa.float64(), "bool": pa.bool_()},
}


@dataclass
class Case:
    """One case: `expected` holds the columns of the result, or `error`."""

    name: str
    settings: dict[str, Any]
    samples: pa.Table
    examples: pa.Table | None
    replies: list[list[str]] | None
    expected: dict[str, Any]


def case_files() -> list[Path]:
    return sorted(FOLDER.rglob("*.json"))


def read_cases(text: str) -> list[Case]:
    """The cases of a file: each has its file's settings under its own, and its own tables or else its file's."""
    file = json.loads(text)
    cases = []
    for name, case in file["cases"].items():
        samples, examples = ({**file, **case}.get(key) for key in ("samples", "examples"))
        cases.append(
            Case(
                name,
                value_of({**file.get("settings", {}), **case.get("settings", {})}),
                table_of(samples),
                None if examples is None else table_of(examples),
                case.get("replies"),
                case["expected"],
            )
        )
    return cases


def value_of(value: Any) -> Any:
    """A value of the settings; JSON's keys are strings, and a dict of others is `{"$dict": [[key, value], ...]}`."""
    if isinstance(value, dict):
        if set(value) == {"$dict"}:
            return {key: value_of(item) for key, item in value["$dict"]}
        return {key: value_of(item) for key, item in value.items()}
    return [value_of(item) for item in value] if isinstance(value, list) else value


def table_of(columns: list[Any]) -> pa.Table:
    """A list of columns, each `[name, type, values]`, as a table."""
    arrays = [pa.array([cell(kind, value) for value in values], type_of(kind)) for _, kind, values in columns]
    fields = [pa.field(name, array.type) for (name, _, _), array in zip(columns, arrays, strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def type_of(kind: Any) -> pa.DataType:
    """A type: a name, or an object with one entry, the kind and what it is made of."""
    if isinstance(kind, str):
        return SIMPLE[kind]
    ((name, inner),) = kind.items()
    return MADE_OF[name](inner)


def cell(kind: Any, value: Any) -> Any:
    """A value as pyarrow takes it: times are whole numbers of their unit, decimals those of their last digit."""
    if isinstance(kind, str):
        return value if value is None else CELLS.get(kind, lambda same: same)(value)
    ((name, inner),) = kind.items()
    return value if value is None else CELLS.get(name, lambda _, same: same)(inner, value)


MADE_OF = {
    **{"timestamp": pa.timestamp, "duration": pa.duration, "time32": pa.time32, "time64": pa.time64},
    "list": lambda inner: pa.list_(type_of(inner)),
    "large_list": lambda inner: pa.large_list(type_of(inner)),
    "struct": lambda inner: pa.struct([(key, type_of(kind)) for key, kind in inner]),
    "map": lambda inner: pa.map_(*map(type_of, inner)),
    "dictionary": lambda inner: pa.dictionary(pa.int32(), type_of(inner)),
    "decimal128": lambda inner: pa.decimal128(*inner),
}
CELLS: dict[str, Any] = {
    "float32": float,
    "float64": float,
    "binary": bytes.fromhex,
    "list": lambda inner, value: [cell(inner, item) for item in value],
    "large_list": lambda inner, value: [cell(inner, item) for item in value],
    "struct": lambda inner, value: {key: cell(kind, value.get(key)) for key, kind in inner},
    "map": lambda inner, value: [tuple(map(cell, inner, pair)) for pair in value],
    "dictionary": cell,
    "decimal128": lambda inner, value: Decimal(value).scaleb(-inner[1]),
}
