"""Arrow values for tools: rows of Python values, columns of JSON, values as Python prints them, rows taken."""

from promptpress._arrow import lazy_compute, python_text
from promptpress._arrow.columns import bytes_of, is_encoded, is_text, table_bytes, text_bytes, text_of, without_views
from promptpress._arrow.core_tables import check_values, checked, core_schema, for_core, unsupported_columns
from promptpress._arrow.json_columns import holds_json, is_json, json_texts, named_json_field
from promptpress._arrow.python_rows import EXACT, OF_HARNESS, ValueReading
from promptpress._arrow.python_text import core_writes, json_on_one_line, with_texts
from promptpress._arrow.python_values import (
    PAIR,
    PROMPT_COLUMN,
    column_of_prompts,
    rows_of,
    values_of,
    with_exact_types,
    without_json,
)
from promptpress._arrow.take import batch_rows, rows_in_any_order, spread_over_runs, take_rows
from promptpress._jinja.chat.arguments import argument_texts, checked_columns

__all__ = [
    "EXACT",
    "OF_HARNESS",
    "PAIR",
    "PROMPT_COLUMN",
    "ValueReading",
    "argument_texts",
    "batch_rows",
    "bytes_of",
    "check_values",
    "checked",
    "checked_columns",
    "column_of_prompts",
    "core_schema",
    "core_writes",
    "for_core",
    "holds_json",
    "is_encoded",
    "is_json",
    "is_text",
    "json_on_one_line",
    "json_texts",
    "lazy_compute",
    "named_json_field",
    "python_text",
    "rows_in_any_order",
    "rows_of",
    "spread_over_runs",
    "table_bytes",
    "take_rows",
    "text_bytes",
    "text_of",
    "unsupported_columns",
    "values_of",
    "with_exact_types",
    "with_texts",
    "without_json",
    "without_views",
]
