"""The real OpenCompass: from the retriever to the parsed input of the model, over a HF Dataset, in one process.

The work is that of its inferencers between the samples and the model, and the code is theirs: the retriever's
`retrieve`, then `generate_ice` and `generate_prompt_for_generate_task` for each row (GenInferencer's own method does
the two), then `parse_template` for each batch. PPLInferencer has no such method, so its steps are called here in its
order; what it does beyond (token counts, a second parsing of every prompt for its output file) is left out, in
OpenCompass's favour.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from workloads import Workload

from peers.harness_peer import HarnessPeer, plain
from peers.opencompass_import import OPENCOMPASS

BATCH_ROWS = 16


class OpenCompass(HarnessPeer):
    id = "opencompass"
    name = "OpenCompass"
    layout = OPENCOMPASS

    def prepare(self, workload: Workload, samples: pa.Table) -> Callable[[], Any]:
        config = workload.peer_config
        retriever = self._built(config["retriever"], self.dataset(workload, samples))
        ice, prompt = (self._built(config.get(name)) for name in ("ice_template", "prompt_template"))
        to_messages = config.get("output") == "messages"
        parser = (self.harness().APITemplateParser if to_messages else self.harness().LMTemplateParser)(
            config.get("meta_template")
        )
        if config["inferencer"]["type"] == "PPLInferencer":
            return lambda: self._ppl(retriever, ice, prompt, parser)
        model = SimpleNamespace(is_api=to_messages)
        inferencer = self.harness().GenInferencer(model, max_out_len=1, output_json_filepath=tempfile.gettempdir())
        return lambda: self._gen(inferencer, retriever, ice, prompt, parser)

    def requests(self, workload: Workload, answer: Any) -> list[Any]:
        if workload.config["inferencer"]["type"] == "PPLInferencer":  # label after label: to sample after sample
            return [request for requests in zip(*answer, strict=True) for request in requests]
        return [plain(request) for request in answer]

    def _built(self, config: dict[str, Any] | None, *arguments: Any) -> Any:
        if config is None:
            return None
        options = {key: value for key, value in config.items() if key != "type"}
        return getattr(self.harness(), config["type"])(*arguments, **options)

    def _gen(self, inferencer: Any, retriever: Any, ice: Any, prompt: Any, parser: Any) -> list[Any]:
        return parsed(parser, generation_prompts(inferencer, retriever, ice, prompt), "gen")

    def _ppl(self, retriever: Any, ice: Any, prompt: Any, parser: Any) -> list[list[Any]]:
        examples = [retriever.generate_ice(chosen, ice_template=ice) for chosen in retriever.retrieve()]
        by_label = []
        for label in retriever.get_labels(ice_template=ice, prompt_template=prompt):
            prompts = [
                retriever.generate_label_prompt(index, shots, label, ice_template=ice, prompt_template=prompt)
                for index, shots in enumerate(examples)
            ]
            by_label.append(parsed(parser, prompts, "ppl"))
        return by_label


def generation_prompts(inferencer: Any, retriever: Any, ice: Any, prompt: Any) -> Any:
    """Make the prompts that the real GenInferencer makes before it divides them into batches."""
    return inferencer.get_generation_prompt_list_from_retriever_indices(
        retriever.retrieve(),
        retriever,
        inferencer.gen_field_replace_token,
        ice_template=ice,
        prompt_template=prompt,
    )


def parsed(parser: Any, prompts: list[Any], mode: str) -> list[Any]:
    """Return what the model receives, in batches of the configured size."""
    done: list[Any] = []
    for start in range(0, len(prompts), BATCH_ROWS):
        done += parser.parse_template(tuple(prompts[start : start + BATCH_ROWS]), mode=mode)
    return done
