"""One case by its number: shown, run, and where it fails made smaller."""

from __future__ import annotations

import pprint
from typing import Any

import pyarrow as pa

from . import kinds, shrink


def show(kind: str, seed: int, number: int) -> int:
    """Run a case alone and say what is wrong with it; 1 where something is."""
    module = kinds.module(kind)
    case = module.make(seed, number)

    def check(case: Any) -> None:
        module.check(seed, number, case)

    what = shrink.fault(check, case)
    if what is None:
        print(f"{kind}, seed {seed}, case {number}: nothing is wrong")
        return 0
    if hasattr(module, "smaller"):
        case = module.smaller(check, case)
    print(f"{kind}, seed {seed}, case {number}: {what}\n")
    print(described(case), flush=True)
    check(case)  # raises, or dies, where a debugger can look
    return 1


def described(case: Any) -> str:
    lines = []
    for name, value in vars(case).items():
        if isinstance(value, pa.Table):
            lines.append(f"{name}: {len(value)} rows")
            for field, column in zip(value.schema, value.columns, strict=True):
                chunks = [f"{len(chunk)} from {chunk.offset}" for chunk in column.chunks]
                lines.append(f"    {field.name!r}: {field.type}, chunks of {', '.join(chunks) or 'nothing'}")
                lines += [f"        {text[:1000]}" for text in contents(column)]
        else:
            lines.append(f"{name} = {pprint.pformat(value, width=110, sort_dicts=False)}")
    return "\n".join(lines)


def contents(column: pa.ChunkedArray) -> list[str]:
    try:
        return [repr(column.to_pylist())]
    except Exception:  # values beyond Python's
        return [" ".join(str(chunk).split()) for chunk in column.chunks]
