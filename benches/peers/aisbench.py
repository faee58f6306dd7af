"""The real AISBench: from the retriever to the parsed input of the model, over a HF Dataset, in one process.

The code is theirs: each inferencer's own `get_data_list` retrieves, renders and parses. It is called on an inferencer
without the constructor, which would make a model. The model that it finds has AISBench's parser and counts no tokens,
so that PPLInferencer's second parsing of every prompt for a count is left out, in AISBench's favour. Of conversations
`get_data_list` makes the whole dialogue; the requests of `infer_every_with_gt` are made here by its steps, without its
threads and its waiting for the model.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from workloads import Workload

from peers.aisbench_import import AISBENCH
from peers.harness_peer import HarnessPeer, plain


class AISBench(HarnessPeer):
    id = "aisbench"
    name = "AISBench"
    layout = AISBENCH

    @classmethod
    def load(cls) -> SimpleNamespace:
        harness = super().load()
        logger = AISBENCH.module("utils.logging.logger").AISLogger
        logger(level="WARNING")  # it tells of every retriever it makes
        return harness

    def prepare(self, workload: Workload, samples: pa.Table) -> Callable[[], Any]:
        config = workload.peer_config
        retriever = self._retriever(workload, samples)
        inferencer = object.__new__(getattr(self.harness(), config["inferencer"]["type"]))
        inferencer.logger = retriever.logger
        inferencer.gen_field_replace_token = ""
        inferencer.labels = config.get("labels")
        inferencer.model = model(config)
        if config["inferencer"]["type"] == "MultiTurnGenInferencer":
            return lambda: with_true_answers(inferencer, retriever)
        return lambda: inferencer.get_data_list(retriever)

    def requests(self, workload: Workload, answer: Any) -> list[Any]:
        kind = workload.config["inferencer"]["type"]
        if kind == "MultiTurnGenInferencer":
            return answer
        if kind == "PPLInferencer":
            return [request["prompt"] for data in answer for request in data["qa"].values()]
        return [plain(data["prompt"]) for data in answer]

    def _retriever(self, workload: Workload, samples: pa.Table) -> Any:
        templates = {
            name: {**workload.config[name], "type": getattr(self.harness(), workload.config[name]["type"])}
            for name in ("ice_template", "prompt_template")
            if name in workload.config
        }
        options = dict(workload.config["retriever"])
        return getattr(self.harness(), options.pop("type"))(self.dataset(workload, samples), **options, **templates)


def model(config: dict[str, Any]) -> Any:
    """AISBench's model without a model behind it."""
    to_messages = config.get("output") == "messages"
    parser = AISBench.harness().APITemplateParser if to_messages else AISBench.harness().LMTemplateParser
    made = AISBench.harness().BaseModel("none")
    made.template_parser = parser(config.get("meta_template"))
    made.max_out_len = 1
    made.get_token_len_from_template = lambda *_, **__: 0
    return made


def with_true_answers(inferencer: Any, retriever: Any) -> list[Any]:
    """`infer_every_with_gt` of each conversation, as far as the model."""
    prompts = AISBench.harness().PromptList
    requests = []
    for data in inferencer.get_data_list(retriever):
        chat = deepcopy(data)["prompt"]
        left_end, right_start = AISBench.harness().get_round_index(chat)
        left, turns, right = chat[:left_end], chat[left_end:right_start], chat[right_start:]
        for index, turn in enumerate(turns):
            if turn["role"] == "BOT":
                history = prompts(left + turns[:index] + right)
                requests.append(inferencer.model.parse_template(history, mode="gen"))
    return requests
