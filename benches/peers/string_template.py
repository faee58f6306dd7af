"""String templates in the peers' own languages: the parts of a workload's template, literals and fields."""

from __future__ import annotations

import re
from dataclasses import dataclass

from workloads import Workload


@dataclass(frozen=True)
class Part:
    text: str
    is_field: bool


def parts_of(workload: Workload) -> list[Part]:
    """The template of a workload cut at its placeholders."""
    columns = workload.config["reader"]["input_columns"]
    placeholder = "|".join(re.escape("{" + name + "}") for name in columns)
    parts = re.split(f"({placeholder})", workload.config["prompt_template"]["template"])
    return [
        Part(part[1:-1], is_field=True) if number % 2 else Part(part, is_field=False)
        for number, part in enumerate(parts)
        if part
    ]


def format_template(workload: Workload) -> str:
    """For `str.format`, fields by name."""
    return "".join(
        "{" + part.text + "}" if part.is_field else part.text.replace("{", "{{").replace("}", "}}")
        for part in parts_of(workload)
    )
