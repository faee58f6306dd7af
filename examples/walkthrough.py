"""promptpress in five minutes: run me, and read along.

    python examples/walkthrough.py

Each step prints what it did. Nothing is downloaded; what is written goes to a folder that is removed at the end.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq

HERE = Path(__file__).resolve().parent
COLOURED = sys.stdout.isatty() and "NO_COLOR" not in os.environ


def main() -> None:
    """Go through all steps."""
    # promptpress warns of values that are taken for templates, each time that it renders some: step 4 shows them.
    warnings.simplefilter("ignore", pp.PromptWarning)
    samples = pyarrow.json.read_json(HERE / "test.jsonl")
    train = pyarrow.json.read_json(HERE / "train.jsonl")

    step(1, "a string template: one prompt a row")
    renderer = pp.Renderer("Problem: {question}\nAnswer: {answer}", reader={"output_column": "answer"})
    prompts = renderer.render(samples, keep=["id"])
    print(prompts.schema.to_string())
    print(f"\n{prompts['prompt'][0]}▌")
    print("\n(The answer is not there: the output column is masked unless mode='ppl'.)")

    step(2, "the harness's own dicts: a dialogue, two examples, a chat model's meta template")
    dataset_cfg, model_cfg = dataset(), model()
    renderer = pp.Renderer.from_config(dataset_cfg, model_cfg, examples=train)
    print(renderer.render(samples)["prompt"][0].as_py() + "▌")

    step(3, "where each byte comes from")
    prompt = renderer.render(samples.slice(17, 1))["prompt"][0].as_py()
    print(coloured(prompt, renderer.explain(samples, 17)) + "▌")
    print("\n" + " ".join(paint(name, code) for name, code in COLOURS.items()))

    step(4, "rows in which a value is taken for a template")
    for found in renderer.divergence(samples).to_pylist():
        row, columns = found["row"], found["columns"]
        print(f"row {row}, because of {', '.join(columns)}: {samples['question'][row].as_py()}")
        safe = pp.Renderer.from_config(dataset_cfg, model_cfg, examples=train, substitution="single_pass")
        for name, one in [("harness", renderer), ("single_pass", safe)]:
            last = one.render(samples.slice(row, 1))["prompt"][0].as_py().split("Problem: ")[-1]
            print(f"  {name:>11}: {last.splitlines()[0]}")

    step(5, "for an API: messages")
    chat = pp.Renderer.from_config(dataset_cfg, api_model(), examples=train)
    table = chat.render(samples)
    print(table.schema.field("prompt").type)
    for message in table["prompt"][0].as_py()[-2:]:
        print(message)

    step(6, "as a stream, to a Parquet file; memory is bounded by the batch")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "prompts.parquet")
        reader = renderer.stream(batches(samples), keep=["id"])
        with pq.ParquetWriter(out, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
        written = pq.read_table(out)
        print(f"{written.num_rows:,} prompts in {out.name}, {out.stat().st_size / 1000:,.0f} kB")
        assert written["prompt"][24] == written["prompt"][0]

    step(7, "what a mistake gets")
    system = dataset_cfg["infer_cfg"]["prompt_template"]["template"]["begin"][0]
    del system["fallback_role"]  # the model has no SYSTEM, and now nobody speaks for it
    try:
        pp.Renderer.from_config(dataset_cfg, model_cfg, examples=train)
    except pp.TemplateError as error:
        print(f"TemplateError: {error}")

    print("\nThat's all. docs/guide.md goes on from here; `promptpress render --help` does it for files.")


def dataset() -> dict[str, Any]:
    """What a harness's dataset file says about prompts."""
    turns = [{"role": "HUMAN", "prompt": "Problem: {question}"}, {"role": "BOT", "prompt": "Answer: {answer}"}]
    system = {"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": "Solve each problem. Give the number only."}
    return {
        "abbr": "sums",
        "reader_cfg": {"input_columns": ["question"], "output_column": "answer"},
        "infer_cfg": {
            "ice_template": {"type": "PromptTemplate", "template": {"round": turns}},
            "prompt_template": {
                "type": "PromptTemplate",
                "template": {"begin": [system, "</E>"], "round": turns},
                "ice_token": "</E>",
            },
            "retriever": {"type": "FixKRetriever", "fix_id_list": [0, 1]},
            "inferencer": {"type": "GenInferencer"},
        },
    }


def model() -> dict[str, Any]:
    """What a model file says about prompts: how the roles speak."""
    human = {"role": "HUMAN", "begin": "<|im_start|>user\n", "end": "<|im_end|>\n"}
    bot = {"role": "BOT", "begin": "<|im_start|>assistant\n", "end": "<|im_end|>\n", "generate": True}
    return {"type": "HuggingFaceCausalLM", "meta_template": {"round": [human, bot]}}


def api_model() -> dict[str, Any]:
    """The same for a model behind an API: roles become messages."""
    human, bot = {"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}
    return {"type": "OpenAI", "meta_template": {"round": [human, bot]}}


def batches(samples: pa.Table) -> Iterator[pa.RecordBatch]:
    """Stand-in for whatever gives batches: a Parquet file, a dataset scanner, a query."""
    for _ in range(10):
        yield from pa.concat_tables([samples] * 100).combine_chunks().to_batches()


def step(number: int, title: str) -> None:
    """Head a step."""
    print(f"\n{paint(f'{number}. {title}', 1)}\n")


COLOURS = {"template": 36, "field": 33, "example": 32, "meta template": 35, "masked": 41}
KINDS = {
    "prompt_template": "template",
    "ice_template": "template",
    "separator": "template",
    "field": "field",
    "masked": "masked",
}


def coloured(prompt: str, spans: pa.Table) -> str:
    """The prompt with each stretch in the colour of its origin: spans count bytes of UTF-8."""
    text = prompt.encode()
    out = []
    for span in spans.to_pylist():
        kind = "example" if span["example"] is not None else KINDS.get(span["source"], "meta template")
        out.append(paint(text[span["start"] : span["end"]].decode(), COLOURS[kind]))
    return "".join(out)


def paint(text: str, code: int) -> str:
    """Colour for a terminal; nothing for a file."""
    return f"\x1b[{code}m{text}\x1b[0m" if COLOURED else text


if __name__ == "__main__":
    main()
