"""Budgets of tokens beside OpenCompass's own inferencers and OpenICL's loop: same prompts, same numbers of examples.

The harness's retriever, templates, parsers and inferencers run as they are, with the token count of its own model
classes; only the tokenizer is wrapped, because transformers isn't there, and the model doesn't answer.
"""

from __future__ import annotations

import gzip
import logging
import os
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from parts.small_tokenizers import KINDS, small_tokenizer

tokenizers = pytest.importorskip("tokenizers")
sandbox = pytest.importorskip("jinja2.sandbox")

REAL = Path(os.environ.get("PROMPTPRESS_SHARED", Path(__file__).resolve().parents[4] / "shared")) / "golden_tokens"
WORDS = (
    "The answer", "is 42.", "Hello", "1+1 = 2\n\n", "naïve café", "你好 世界", "<|im_end|>", "{a}", "\\frac{1}{2}",
    "Which of these", "   ", "🙂",
)  # fmt: skip
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
META = {
    "begin": "<s>",
    "round": [
        {"role": "HUMAN", "begin": "<|im_start|>user\n", "end": "<|im_end|>\n"},
        {"role": "BOT", "begin": "<|im_start|>assistant\n", "end": "<|im_end|>\n", "generate": True},
    ],
}
READER = {"input_columns": ["q"], "output_column": "a"}
LABELS = ("A", "B", "C")


class Tokenizer:
    """The methods of a tokenizer of transformers that the harness calls, over one of the library `tokenizers`."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        environment = sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        self.template = environment.from_string(CHATML)

    def encode(self, text: str, add_special_tokens: bool = True, *_: Any) -> Any:
        return self.tokenizer.encode(text, add_special_tokens=add_special_tokens).ids

    def __call__(self, text: str, add_special_tokens: bool = True, **_: Any) -> dict[str, Any]:
        return {"input_ids": self.encode(text, add_special_tokens)}

    def apply_chat_template(self, messages: Any, add_generation_prompt: bool, return_dict: bool) -> dict[str, Any]:
        assert return_dict
        text = self.template.render(messages=messages, add_generation_prompt=add_generation_prompt)
        return self(text, add_special_tokens=False)


def model_of(kind: str, tokenizer: Any) -> Any:
    """Return a model of a class of the harness that notes what it is asked, and counts tokens as the class does."""
    from opencompass.models import LMTemplateParser, huggingface, huggingface_above_v4_33, vllm

    modules = {
        "HuggingFace": huggingface,
        "HuggingFaceBaseModel": huggingface_above_v4_33,
        "HuggingFacewithChatTemplate": huggingface_above_v4_33,
        "VLLM": vllm,
    }
    base = getattr(modules[kind], kind)

    class Noting(base):  # type: ignore[misc]  # known when it runs
        is_api = False

        def __init__(self) -> None:
            self.requests: list[Any] = []
            self.tokenizer = Tokenizer(tokenizer)
            self.model = SimpleNamespace(get_tokenizer=lambda: self.tokenizer)
            self.logger = logging.getLogger("test")
            if kind == "HuggingFacewithChatTemplate":
                self.template_parser = huggingface_above_v4_33._get_meta_template(None)
            else:
                self.template_parser = LMTemplateParser(None if kind == "HuggingFaceBaseModel" else META)

        def generate(self, inputs: list[Any], max_out_len: int) -> list[str]:
            assert max_out_len == 1
            self.requests += inputs
            return [""] * len(inputs)

        def get_ppl(self, inputs: list[str], mask_length: Any = None) -> Any:
            assert mask_length is None
            self.requests += inputs
            return np.zeros(len(inputs))

        def get_loglikelihood(self, inputs: list[str], conts: list[str]) -> Any:
            assert len(conts) == len(inputs)
            self.requests += inputs
            return np.zeros(len(inputs))

    return Noting()


def text(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.choice([0, 1, 3, 8, 40, 200])))


def table(rng: random.Random, rows: int) -> dict[str, list[Any]]:
    return {
        "q": [text(rng) for _ in range(rows)],
        "a": [rng.choice(LABELS) for _ in range(rows)],
        "cont": ["c"] * rows,
        "choices": [list("AB")] * rows,
    }


def templates_of(rng: random.Random, kind: str, *, is_ppl: bool) -> dict[str, Any]:
    head, between = rng.choice(["", "Be brief.\n", "Answer: "]), rng.choice([" ", "\nA: ", ""])
    example: Any = f"Q: {{q}}{between}{{a}}"
    whole: Any = f"{head}</E>Q: {{q}}{between}{{a}}"
    if is_ppl and rng.random() < 0.5:
        filler = {label: rng.choice(["", " indeed", " " + text(rng)]) for label in LABELS}
        example = {label: f"{{q}}{between}{label}" for label in LABELS}
        whole = {label: f"{head}</E>{{q}}{filler[label]}{between}{label}" for label in LABELS}
    elif kind == "HuggingFacewithChatTemplate" or rng.random() < 0.5:
        turns = [{"role": "HUMAN", "prompt": "{q}?"}, {"role": "BOT", "prompt": between + "{a}"}]
        example = {"round": turns}
        whole = {"begin": [{"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": head or "!"}, "</E>"], "round": turns}
    return {
        "ice_template": {"type": "PromptTemplate", "template": example},
        "prompt_template": {"type": "PromptTemplate", "template": whole, "ice_token": "</E>"},
    }


def retriever_of(rng: random.Random, train: int) -> dict[str, Any]:
    shots = rng.randint(0, 8)
    if not shots:
        return {"type": "ZeroRetriever"}
    made: dict[str, Any] = rng.choice(
        [
            {"type": "FixKRetriever", "fix_id_list": rng.choices(range(train), k=shots)},
            {"type": "RandomRetriever", "ice_num": shots, "seed": rng.randint(0, 9)},
            {"type": "SlidingWindowRetriever", "k": shots},
        ]
    )
    return {**made, "ice_separator": rng.choice(["\n", "\n\n"])}


def run_harness(
    model: Any,
    kind: str,
    templates: dict[str, Any],
    retriever: dict[str, Any],
    *,
    data: Any,
    most: int | None,
    folder: str,
) -> list[tuple[int, str | None, int]]:
    """Run an inferencer; return the sample, the label and the number of examples of each final request, in order."""
    from datasets import Dataset, DatasetDict
    from opencompass.openicl.icl_dataset_reader import DatasetReader
    from opencompass.openicl.icl_retriever import icl_random_retriever
    from opencompass.registry import ICL_INFERENCERS, ICL_PROMPT_TEMPLATES, ICL_RETRIEVERS

    train, test = data
    reader = DatasetReader(DatasetDict(train=Dataset.from_dict(train), test=Dataset.from_dict(test)), **READER)
    dataset = SimpleNamespace(reader=reader, train=reader.dataset["train"], test=reader.dataset["test"])
    common = {"model": model, "max_out_len": 1, "batch_size": 4, "output_json_filepath": folder}
    inferencer = ICL_INFERENCERS.build(
        {"type": kind, **common, "max_seq_len": most, **({} if kind == "GenInferencer" else {"labels": list(LABELS)})}
    )
    name, arguments = retriever["type"], {name: value for name, value in retriever.items() if name != "type"}
    if name == "RandomRetriever":  # it isn't registered
        made = icl_random_retriever.RandomRetriever(dataset=dataset, **arguments)
    else:
        made = ICL_RETRIEVERS.build({"type": name, "dataset": dataset, **arguments})
    shots: dict[tuple[int, str | None], int] = {}
    chosen: list[list[int]] = []
    latest = [0]
    retrieve, generate_ice = made.retrieve, made.generate_ice
    generation, label_prompt = made.generate_prompt_for_generate_task, made.generate_label_prompt

    def noting_retrieve() -> list[list[int]]:
        chosen[:] = [retrieve()]  # type: ignore[list-item]  # the inferencer changes this very list
        return chosen[0]  # type: ignore[return-value]

    def noting_ice(indices: list[int], **options: Any) -> Any:
        latest[0] = len(indices)
        return generate_ice(indices, **options)

    def noting_generation(row: int, *arguments: Any, **options: Any) -> Any:
        shots[row, None] = len(chosen[0][row]) if kind == "CLPInferencer" else latest[0]  # type: ignore[arg-type]
        return generation(row, *arguments, **options)

    def noting_label(*, idx: int, label: str, **options: Any) -> Any:
        shots[idx, label] = len(chosen[0][idx])  # type: ignore[arg-type]
        return label_prompt(idx=idx, label=label, **options)

    made.retrieve, made.generate_ice = noting_retrieve, noting_ice
    made.generate_prompt_for_generate_task, made.generate_label_prompt = noting_generation, noting_label
    built = {name: ICL_PROMPT_TEMPLATES.build(part) for name, part in templates.items()}
    if retriever["type"] == "ZeroRetriever":
        built.pop("ice_template")
    if kind == "CLPInferencer":
        inferencer._get_cond_prob = lambda texts, *_: [model.requests.append(text) or [0.5, 0.5] for text in texts]
    inferencer.inference(made, **built)
    return [(row, label, count) for (row, label), count in shots.items()]


def compare(rng: random.Random, kind: str, inferencer: str, tokenizer: Any, folder: str) -> int:
    """Compare one random configuration; return the number of requests."""
    is_ppl = inferencer in {"PPLInferencer", "LLInferencer"}
    train, test = table(rng, 9), table(rng, rng.randint(1, 6))
    templates = templates_of(rng, kind, is_ppl=is_ppl)
    if inferencer == "CLPInferencer":  # it fails when it leaves examples out of dialogues
        templates = templates_of(rng, "", is_ppl=False)
        while not isinstance(templates["prompt_template"]["template"], str):
            templates = templates_of(rng, "", is_ppl=False)
    retriever = retriever_of(rng, 9)
    most = rng.choice([None, rng.randint(50, 400), rng.randint(50, 4096)])
    model = model_of(kind, tokenizer)
    shots = run_harness(model, inferencer, templates, retriever, data=(train, test), most=most, folder=folder)
    infer = {**templates, "retriever": retriever}
    if retriever["type"] == "ZeroRetriever":
        del infer["ice_template"]
    infer["inferencer"] = {"type": inferencer, **({"labels": list(LABELS)} if is_ppl else {})}
    meta = {} if kind in {"HuggingFaceBaseModel", "HuggingFacewithChatTemplate"} else {"meta_template": META}
    options: dict[str, Any] = {"tokenizer": tokenizer, "examples": pa.table(train)}
    is_chat = kind == "HuggingFacewithChatTemplate"
    if is_chat:
        options["chat_template"] = pp.ChatTemplate(CHATML)
    model_cfg = {"type": kind, **meta, "max_seq_len": most}
    renderer = pp.Renderer.from_config({"reader_cfg": READER, "infer_cfg": infer}, model_cfg, **options)
    rendered = renderer.render(test, index="row")
    requests = [text_of(request, is_chat=is_chat) for request in model.requests]
    rows = rendered.to_pylist()
    if is_ppl:  # the harness goes label by label, and a renderer sample by sample
        rows = [row for label in LABELS for row in rows if row["label"] == label]
    assert [row["prompt"] for row in rows] == requests
    if most is not None:
        assert [(row["row"], row.get("label"), row["n_shots"]) for row in rows] == shots
    return len(rows)


def text_of(request: Any, *, is_chat: bool) -> str:
    """Return the text that a model makes of a request before it encodes it."""
    if not is_chat:
        return str(request)
    from opencompass.models.huggingface_above_v4_33 import _convert_chat_messages

    (messages,) = _convert_chat_messages([request])
    environment = sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    return str(environment.from_string(CHATML).render(messages=messages, add_generation_prompt=True))


def test_raw_messages_are_counted_one_by_one(opencompass: Any, tmp_path: Path) -> None:
    """The harness prints each message of a list, a dict with its quotes, and adds up their tokens."""
    assert opencompass
    from opencompass.models.base_api import APITemplateParser

    rng = random.Random(5)
    counts: set[int] = set()
    for _ in range(part_of(80)):
        tokenizer = small_tokenizer(rng.choice(KINDS))
        turns = [{"role": "user", "content": "{q}"}, {"role": "assistant", "content": "{a}"}]
        templates = {
            "ice_template": {"type": "RawPromptTemplate", "messages": turns},
            "prompt_template": {
                "type": "RawPromptTemplate",
                "messages": [{"role": "system", "content": "Be brief."}, "</E>", turns[0]],
            },
        }
        train, test = table(rng, 9), table(rng, rng.randint(1, 4))
        retriever = {"type": "FixKRetriever", "fix_id_list": rng.choices(range(9), k=rng.randint(1, 8))}
        model, most = model_of("HuggingFace", tokenizer), rng.randint(50, 1000)
        model.template_parser = APITemplateParser(None)
        shots = run_harness(
            model, "GenInferencer", templates, retriever, data=(train, test), most=most, folder=str(tmp_path)
        )
        renderer = pp.Renderer(
            **templates, retriever=retriever, examples=train, reader=READER, tokenizer=tokenizer, max_seq_len=most
        )
        rendered = renderer.render(test, index="row")
        assert pp.to_pylist(rendered["prompt"]) == model.requests
        assert list(zip(rendered["row"].to_pylist(), rendered["n_shots"].to_pylist(), strict=True)) == [
            (row, count) for row, _, count in shots
        ]
        counts |= set(rendered["n_shots"].to_pylist())
    assert len(counts) > 3


CASES = [
    ("HuggingFace", "GenInferencer"),
    ("HuggingFaceBaseModel", "GenInferencer"),
    ("VLLM", "GenInferencer"),
    ("HuggingFacewithChatTemplate", "GenInferencer"),
    ("HuggingFace", "PPLInferencer"),
    ("HuggingFaceBaseModel", "PPLInferencer"),
    ("HuggingFace", "LLInferencer"),
    ("HuggingFace", "CLPInferencer"),
    ("VLLM", "CLPInferencer"),
]


@pytest.mark.parametrize(("kind", "inferencer"), CASES)
def test_random_configurations(opencompass: Any, kind: str, inferencer: str, tmp_path: Path) -> None:
    assert opencompass
    rng = random.Random(f"{kind} {inferencer}")
    for _ in range(part_of(40)):
        compare(rng, kind, inferencer, small_tokenizer(rng.choice(KINDS)), str(tmp_path))


@pytest.mark.full
@pytest.mark.parametrize("name", ["qwen3", "mistral-v3-first", "deepseek-v3.1", "t5-like"])
def test_real_tokenizers(opencompass: Any, name: str, tmp_path: Path) -> None:
    assert opencompass
    path = REAL / "tokenizers" / f"{name}.json.gz"
    if not path.exists():
        pytest.skip(f"the recorded tokenizers are not at hand: there is no {path.name}")
    tokenizer = tokenizers.Tokenizer.from_str(gzip.decompress(path.read_bytes()).decode())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    rng = random.Random(name)
    for _ in range(60):
        compare(rng, *rng.choice(CASES), tokenizer, str(tmp_path))


def test_openicl_leaves_out_the_same(openicl: Any) -> None:
    """Its loop for generation, with its own templates and a retriever that only chooses."""
    assert openicl
    from openicl import PromptTemplate
    from openicl.icl_retriever import BaseRetriever
    from openicl.utils.icl_common_utils import get_generation_prompt_list_from_retriever_indices as prompts_of

    rng = random.Random(7)
    for _ in range(part_of(80)):
        tokenizer = small_tokenizer(rng.choice(KINDS))
        train, test = table(rng, 9), table(rng, rng.randint(1, 6))
        rows = [dict(zip(test, values, strict=True)) for values in zip(*test.values(), strict=True)]
        examples = [dict(zip(train, values, strict=True)) for values in zip(*train.values(), strict=True)]
        chosen, most = rng.choices(range(9), k=rng.randint(1, 8)), rng.randint(50, 1000)
        retriever = object.__new__(BaseRetriever)
        retriever.index_ds, retriever.test_ds = examples, rows
        retriever.ice_separator, retriever.ice_eos_token, retriever.prompt_eos_token = "\n", "\n", ""
        retriever.dataset_reader = SimpleNamespace(output_column="a")
        tokens = {"q": "</Q>", "a": "</A>"}
        template = PromptTemplate("</E>Q: </Q> A: </A>", tokens, ice_token="</E>")
        expected = prompts_of([chosen] * len(rows), retriever, Tokenizer(tokenizer), "", most, ice_template=template)
        renderer = pp.Renderer(
            ice_template={"template": "</E>Q: </Q> A: </A>", "column_token_map": tokens, "ice_token": "</E>"},
            retriever={"type": "FixKRetriever", "fix_id_list": chosen},
            examples=train,
            reader=READER,
            inferencer={"type": "GenInferencer", "max_model_token_num": most},
            dialect="openicl",
            tokenizer=tokenizer,
        )
        assert renderer.render(test)["prompt"].to_pylist() == expected
