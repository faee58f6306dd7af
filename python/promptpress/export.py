"""Rendered tables for the next tool, as it takes them, and results brought back.

>>> import tempfile
>>> import pyarrow as pa
>>> import promptpress as pp
>>> table = pp.Renderer("{q}").render(pa.table({"q": ["1+1=?"]}))
>>> with tempfile.TemporaryDirectory() as folder:
...     pp.export.openai_batch(table, f"{folder}/in.jsonl", model="gpt-4o-mini").requests
1

"""

from promptpress._export.chat_tables import datasets, ray_rows
from promptpress._export.files import litellm_batch, messages_json, openai_batch, sharegpt, vllm_batch
from promptpress._export.join_results import join
from promptpress._export.written import Written
from promptpress._public_names import name_publicly as _name_publicly

__all__ = [
    "Written",
    "datasets",
    "join",
    "litellm_batch",
    "messages_json",
    "openai_batch",
    "ray_rows",
    "sharegpt",
    "vllm_batch",
]

_name_publicly(__name__, {name: globals()[name] for name in __all__})
