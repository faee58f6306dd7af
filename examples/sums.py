# ruff: noqa: C408 - harnesses write dict(...)
"""A dataset's configuration as a harness writes it: word problems, five examples first, as a dialogue.

`promptpress render` reads this file as data and never runs it, so the harness needn't be installed.
"""

from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import FixKRetriever

sums_reader_cfg = dict(input_columns=["question"], output_column="answer")

sums_infer_cfg = dict(
    ice_template=dict(
        type=PromptTemplate,
        template=dict(
            round=[
                dict(role="HUMAN", prompt="Problem: {question}"),
                dict(role="BOT", prompt="{reasoning}\nAnswer: {answer}"),
            ],
        ),
    ),
    prompt_template=dict(
        type=PromptTemplate,
        template=dict(
            begin=[
                dict(
                    role="SYSTEM",
                    fallback_role="HUMAN",
                    prompt="Solve each problem step by step. End with a line that says: Answer: <number>",
                ),
                "</E>",
            ],
            round=[
                dict(role="HUMAN", prompt="Problem: {question}"),
                dict(role="BOT", prompt="Answer: {answer}"),
            ],
        ),
        ice_token="</E>",
    ),
    retriever=dict(type=FixKRetriever, fix_id_list=[0, 1, 2, 3, 4]),
    inferencer=dict(type=GenInferencer),
)

sums_datasets = [
    dict(abbr="sums", reader_cfg=sums_reader_cfg, infer_cfg=sums_infer_cfg),
]
