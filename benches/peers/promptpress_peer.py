"""promptpress: a Renderer over an Arrow table, as a whole and as a stream whose batches are dropped as they come."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from workloads import Workload

from peers import Peer

BATCH_ROWS = 65_536


def renderer_of(workload: Workload) -> Any:
    import promptpress

    return promptpress.Renderer(**workload.config, examples=workload.examples and workload.examples())


class Promptpress(Peer):
    id = name = "promptpress"
    distribution = "promptpress"
    package = "promptpress"

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def missing(self) -> str | None:
        try:
            from promptpress import Renderer  # noqa: F401
        except ImportError as error:
            return f"promptpress isn't installed: {error}"
        return None

    def version(self) -> str:
        import promptpress

        return f"promptpress {promptpress.__version__}"

    def before_round(self) -> None:
        import promptpress

        promptpress.set_threads(self.threads)

    def prepare(self, workload: Workload, samples: pa.Table) -> Callable[[], Any]:
        renderer = renderer_of(workload)
        return lambda: renderer.render(samples)

    def requests(self, workload: Workload, answer: pa.Table) -> list[Any]:
        return requests_of(workload, answer["prompt"])

    def last(self, answer: pa.Table, rows: int) -> tuple[int, pa.Table]:
        """Return the number of rendered rows and the last `rows` of them, or fewer if there are fewer."""
        return answer.num_rows, answer.slice(answer.num_rows - rows)


@dataclass
class Streamed:
    rows: int
    last_batch: pa.RecordBatch | None


class PromptpressStream(Promptpress):
    id, name = "promptpress-stream", "promptpress stream"

    def prepare(self, workload: Workload, samples: pa.Table) -> Callable[[], Any]:
        renderer = renderer_of(workload)

        def stream() -> Streamed:
            streamed = Streamed(0, None)
            for batch in renderer.stream(samples.to_reader(max_chunksize=BATCH_ROWS)):
                streamed = Streamed(streamed.rows + batch.num_rows, batch)
            return streamed

        return stream

    def requests(self, workload: Workload, answer: Any) -> list[Any]:
        assert answer.rows == answer.last_batch.num_rows, "no more than a batch is compared at once"
        return requests_of(workload, prompt_of(answer.last_batch))

    def last(self, answer: Streamed, rows: int) -> tuple[int, pa.Table]:
        batch = answer.last_batch
        return answer.rows, pa.Table.from_batches([batch.slice(max(0, batch.num_rows - rows))])


def requests_of(workload: Workload, prompts: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Requests as peers have them."""
    requests = prompts.to_pylist()
    return [json.loads(request) for request in requests] if workload.as_json else requests


def prompt_of(batch: pa.RecordBatch) -> pa.Array:
    return batch.column(batch.num_columns - 1)
