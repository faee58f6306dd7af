"""Arrow values for tools: rows of Python values, columns of JSON, values as Python prints them, rows taken."""

from promptpress._arrow import python_text
from promptpress._arrow.core_tables import core_schema, for_core, unsupported_columns
from promptpress._arrow.ipc import table_bytes
from promptpress._arrow.json_columns import holds_json, is_json, json_texts, named_json_field
from promptpress._arrow.large_text import text_of
from promptpress._arrow.prompt_column import PROMPT_COLUMN, column_of_prompts, without_json
from promptpress._arrow.python_rows import EXACT, OF_HARNESS, ValueReading
from promptpress._arrow.python_text import core_writes, json_on_one_line, with_texts
from promptpress._arrow.sizes import bytes_of
from promptpress._arrow.take import batch_rows, rows_in_any_order, spread_over_runs, take_rows
from promptpress._arrow.typed_json import rows_of, values_of, with_exact_types
from promptpress._arrow.types import is_encoded, is_text, without_views
from promptpress._arrow.validation import check_values, checked
from promptpress._utils import lazy_compute

__all__ = [
    "EXACT",
    "OF_HARNESS",
    "PROMPT_COLUMN",
    "ValueReading",
    "batch_rows",
    "bytes_of",
    "check_values",
    "checked",
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
    "text_of",
    "unsupported_columns",
    "values_of",
    "with_exact_types",
    "with_texts",
    "without_json",
    "without_views",
]
