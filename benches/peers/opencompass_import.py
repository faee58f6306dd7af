"""The location of OpenCompass's prompt path."""

from __future__ import annotations

from peers.bare_import import Layout

OPENCOMPASS = Layout(
    distribution="opencompass",
    root="opencompass",
    bare=("openicl", "openicl.icl_retriever", "openicl.icl_inferencer", "openicl.utils", "models", "utils"),
    exports={
        "utils": {"logging": ["get_logger"], "auxiliary": ["batched"]},
        "openicl.utils": {"logging": ["get_logger"]},
        "openicl.icl_retriever": {"icl_base_retriever": ["BaseRetriever"]},
    },
    modules={
        "openicl.icl_dataset_reader": ["DatasetReader"],
        "openicl.icl_prompt_template": ["PromptTemplate"],
        "openicl.icl_raw_prompt_template": ["RawPromptTemplate"],
        "openicl.icl_retriever.icl_zero_retriever": ["ZeroRetriever"],
        "openicl.icl_retriever.icl_fix_k_retriever": ["FixKRetriever"],
        "openicl.icl_inferencer.icl_gen_inferencer": ["GenInferencer"],
        "openicl.icl_inferencer.icl_ppl_inferencer": ["PPLInferencer"],
        "models.base": ["LMTemplateParser"],
        "models.base_api": ["APITemplateParser"],
        "utils.prompt": ["PromptList"],
    },
    stand_ins=("torch", "transformers"),
)
