"""lm-eval's template path: `apply_template` for each document of a HF Dataset, as its tasks do with `doc_to_text`.

`apply_template` compiles the template for each document. The second peer has the compiled template kept, which is all
that a cache in lm-eval could bring. Where lm-eval isn't installed, its environment is set up here with jinja2 alone;
the version says so.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from typing import Any

import pyarrow as pa
from workloads import Workload

from peers import Peer
from peers.string_template import jinja_template


@cache
def template_path() -> tuple[Any, Callable[[str, dict[str, Any]], str], bool]:
    """lm-eval's environment, its `apply_template`, and whether they are its own."""
    try:
        from lm_eval.utils import apply_template, env
    except ImportError:
        from jinja2 import BaseLoader, Environment, StrictUndefined

        env = Environment(loader=BaseLoader, undefined=StrictUndefined, keep_trailing_newline=True)
        return env, lambda template, doc: env.from_string(template).render(**doc), False
    return env, apply_template, True


class LmEval(Peer):
    id = "lm_eval"
    name = "lm-eval"

    def missing(self) -> str | None:
        names = [name for name in ("jinja2", "datasets") if importlib.util.find_spec(name) is None]
        return f"{', '.join(names)} not installed (requirements/bench.txt)" if names else None

    def version(self) -> str:
        real = template_path()[2]
        jinja = f"Jinja2 {version('Jinja2')}"
        return (
            f"lm_eval {version('lm_eval')}, {jinja}" if real else f"lm_eval isn't installed: its template path, {jinja}"
        )

    def prepare(self, workload: Workload, samples: pa.Table) -> Callable[[], Any]:
        from datasets import Dataset

        template, apply_template, documents = jinja_template(workload), template_path()[1], Dataset(samples)
        return lambda: [apply_template(template, document) for document in documents]

    def requests(self, workload: Workload, answer: Any) -> list[Any]:  # noqa: ARG002
        return answer


class LmEvalCached(LmEval):
    id = "lm_eval_cached"
    name = "lm-eval, template cached"

    def prepare(self, workload: Workload, samples: pa.Table) -> Callable[[], Any]:
        from datasets import Dataset

        template, documents = template_path()[0].from_string(jinja_template(workload)), Dataset(samples)
        return lambda: [template.render(**document) for document in documents]
