"""The location of AISBench's prompt path."""

from __future__ import annotations

from peers.bare_import import Layout

AISBENCH = Layout(
    distribution="ais-bench-benchmark",
    root="ais_bench.benchmark",
    bare=("openicl", "openicl.icl_inferencer", "models", "models.local_models", "models.api_models"),
    exports={"models": {"local_models.base": ["BaseModel", "LMTemplateParser"]}},
    modules={
        "openicl.icl_dataset_reader": ["DatasetReader"],
        "openicl.icl_prompt_template": ["PromptTemplate", "MultiTurnPromptTemplate"],
        "openicl.icl_retriever.icl_zero_retriever": ["ZeroRetriever"],
        "openicl.icl_retriever.icl_fix_k_retriever": ["FixKRetriever"],
        "openicl.icl_inferencer.icl_gen_inferencer": ["GenInferencer"],
        "openicl.icl_inferencer.ppl_inferencer": ["PPLInferencer"],
        "openicl.icl_inferencer.icl_multiturn_inferencer": ["MultiTurnGenInferencer"],
        "models.local_models.base": ["BaseModel", "LMTemplateParser"],
        "models.api_models.base_api": ["APITemplateParser"],
        "utils.prompt": ["PromptList", "get_round_index"],
    },
    stand_ins=("torch", "transformers", "aiohttp", "janus", "orjson", "tabulate", "PIL"),
)
