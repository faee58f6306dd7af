# ruff: noqa: C408 - harnesses write dict(...)
"""A model's configuration: how each role of a dialogue speaks. Only the class and the meta template touch prompts."""

from opencompass.models import HuggingFaceCausalLM

models = [
    dict(
        type=HuggingFaceCausalLM,
        abbr="chat",
        meta_template=dict(
            round=[
                dict(role="HUMAN", begin="<|im_start|>user\n", end="<|im_end|>\n"),
                dict(role="BOT", begin="<|im_start|>assistant\n", end="<|im_end|>\n", generate=True),
            ],
            reserved_roles=[
                dict(role="SYSTEM", begin="<|im_start|>system\n", end="<|im_end|>\n"),
            ],
        ),
    ),
]
