"""The interface for tools that are built on promptpress: engines, what they render, and what is asked of them.

Files, audits, comparisons, exports and the drop-in parts for harnesses are made of these names and of those of
`promptpress` alone, and so can another tool be. A renderer's engine renders batches of samples:

>>> import pyarrow as pa
>>> import promptpress as pp
>>> from promptpress.engine import RenderOptions, engine_of
>>> engine = engine_of(pp.Renderer("Q: {question}"))
>>> run = engine.begin(RenderOptions(), None)
>>> [part.prompts.to_pylist() for part in run.parts(pa.table({"question": ["1+1?"]}), 0)]
[['Q: 1+1?']]
"""

from promptpress._arrow.as_table import as_reader, as_table
from promptpress._config.request_hash import (
    FINGERPRINT,
    FORMAT,
    HASH,
    HASH_FORMAT,
    PREFIX_ORDER,
    RULES,
    VERSION,
    hash_metadata,
)
from promptpress._core import RequestsHash
from promptpress._engine.batch_cuts import BatchCuts
from promptpress._engine.column_engine import PromptColumn
from promptpress._engine.configured_engine import ConfiguredEngine, ConfiguredRenderer, silent
from promptpress._engine.configured_run import ExampleChoices
from promptpress._engine.notes import checked_notes, find_notes, misspelt_columns, refusal, warn_of_no_rows
from promptpress._engine.options import SHARED, RenderOptions
from promptpress._engine.ordered_rendering import ordered_batches
from promptpress._engine.rendering import Part, RenderedLines, Run, sample_numbers
from promptpress._engine.spans import fitted_sample
from promptpress._engine.table_engine import TableEngine, TableRenderer, engine_of
from promptpress._errors.left_out import LeftOut
from promptpress._jinja.chat.conversations import REASONING

__all__ = [
    "FINGERPRINT",
    "FORMAT",
    "HASH",
    "HASH_FORMAT",
    "PREFIX_ORDER",
    "REASONING",
    "RULES",
    "SHARED",
    "VERSION",
    "BatchCuts",
    "ConfiguredEngine",
    "ConfiguredRenderer",
    "ExampleChoices",
    "LeftOut",
    "Part",
    "PromptColumn",
    "RenderOptions",
    "RenderedLines",
    "RequestsHash",
    "Run",
    "TableEngine",
    "TableRenderer",
    "as_reader",
    "as_table",
    "checked_notes",
    "engine_of",
    "find_notes",
    "fitted_sample",
    "hash_metadata",
    "misspelt_columns",
    "ordered_batches",
    "refusal",
    "sample_numbers",
    "silent",
    "warn_of_no_rows",
]
