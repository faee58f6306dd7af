"""A harness's prompt stage with the bulk backend and without: time, and memory on top of the samples.

python benches/backend.py [SAMPLES] [--harness-samples N]

Each figure comes from a process of its own. The inferencers are OpenCompass's, from the retriever to what the model
gets, over samples like MMLU's with five examples in a dialogue. Every parsed input is touched once. Where the harness
takes too long it can be given fewer samples; its time and memory grow with their number, and are scaled up.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from peers.opencompass import generation_prompts

STAGES = ("gen-text", "gen-messages", "ppl")
BATCH_ROWS = 16


def peak() -> int:
    """The most memory that this process has held, in bytes."""
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def settle() -> int:
    """Let the peak start from what is held now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return peak()


def prepared(stage: str, count: int) -> Any:
    import workloads
    from real.harness import scripted

    harness = scripted.opencompass()
    logging.disable(logging.WARNING)
    to_messages = stage == "gen-messages"
    model = scripted.model(workloads.CHAT_MESSAGES if to_messages else workloads.CHAT_TEXT, api=to_messages)
    source = workloads.BY_ID["five-text"]
    data = scripted.dataset(source.samples(count), source.examples(), workloads.READER)
    retriever = harness.FixKRetriever(data, fix_id_list=list(range(5)))
    retriever.is_main_process = False  # no progress bars
    ice = scripted.built(workloads.FIVE["ice_template"])
    folder = tempfile.mkdtemp()
    if stage != "ppl":
        inferencer = harness.GenInferencer(model, max_out_len=1, output_json_filepath=folder)
        prompt = scripted.built(workloads.FIVE["prompt_template"])
        return lambda: generation(inferencer, retriever, ice, prompt)
    labels = {
        label: {
            "begin": ["</E>"],
            "round": [
                {"role": "HUMAN", "prompt": f"Question: {workloads.QUESTION}\nAnswer: "},
                {"role": "BOT", "prompt": label},
            ],
        }
        for label in "ABCD"
    }
    prompt = harness.PromptTemplate(labels, ice_token="</E>")
    inferencer = harness.PPLInferencer(model, batch_size=BATCH_ROWS, output_json_filepath=folder)
    inferencer.is_main_process = False  # no progress bars, and no files
    return lambda: labelled(inferencer, retriever, ice, prompt)


def generation(inferencer: Any, retriever: Any, ice: Any, prompt: Any) -> int:
    """GenInferencer's steps from the retriever to the parsed input."""
    prompts = generation_prompts(inferencer, retriever, ice, prompt)
    prompts = list(zip(prompts, retriever.dataset_reader.dataset["test"]["target"], strict=True))
    size = 0
    for start in range(0, len(prompts), BATCH_ROWS):
        entry, _ = zip(*prompts[start : start + BATCH_ROWS], strict=True)
        for request in inferencer.model.parse_template(entry, mode="gen"):
            size += len(request if isinstance(request, str) else request[-1]["prompt"])
    return size


def labelled(inferencer: Any, retriever: Any, ice: Any, prompt: Any) -> int:
    """PPLInferencer's own `inference`, without what comes after the prompts: no scores, so nothing is saved of them."""
    size = 0
    nothing = SimpleNamespace(tolist=list)

    def get_ppl(inputs: list[str], mask_length: Any = None) -> Any:  # noqa: ARG001
        nonlocal size
        size += sum(map(len, inputs))
        return nothing

    inferencer.model.get_ppl = get_ppl
    inferencer.model.get_token_len = len
    with contextlib.suppress(KeyError):  # it looks for predictions in the end
        inferencer.inference(retriever, ice_template=ice, prompt_template=prompt)
    return size


def measured(stage: str, count: int, *, on: bool) -> dict[str, float]:
    from promptpress import opencompass

    run = prepared(stage, count)
    with opencompass.backend() if on else contextlib.nullcontext():
        before = settle()
        start, busy = time.perf_counter(), time.process_time()
        size = run()
        seconds = time.perf_counter() - start
        busy = time.process_time() - busy
    return {"seconds": seconds, "busy": busy, "memory": peak() - before, "size": size}


def in_process(stage: str, count: int, mode: str) -> dict[str, float]:
    command = [sys.executable, __file__, str(count), "--stage", stage, "--mode", mode]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("samples", type=int, nargs="?", default=100_000)
    parser.add_argument("--harness-samples", type=int)
    parser.add_argument("--stage", choices=STAGES)
    parser.add_argument("--mode", choices=("on", "off"))
    options = parser.parse_args()
    if options.mode:
        print(json.dumps(measured(options.stage, options.samples, on=options.mode == "on")))
        return
    fewer = options.harness_samples or options.samples
    for stage in [options.stage] if options.stage else STAGES:
        with_it = in_process(stage, options.samples, "on")
        without = in_process(stage, fewer, "off")
        times = options.samples / fewer
        assert times != 1 or with_it["size"] == without["size"]
        print(
            f"{stage}: {with_it['seconds']:.2f} s, {with_it['memory'] / 2**20:.0f} MiB with the backend; the harness "
            f"{without['seconds'] * times:.1f} s and {without['memory'] * times / 2**20:.0f} MiB"
            f"{'' if times == 1 else f' (scaled from {fewer:,} samples)'}: "
            f"{without['seconds'] * times / with_it['seconds']:.0f} times as fast "
            f"({without['busy'] * times / with_it['busy']:.0f} times less work for the processors), "
            f"{with_it['memory'] / (without['memory'] * times):.3f} of the memory"
        )


if __name__ == "__main__":
    main()
