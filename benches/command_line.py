"""A harness's own command line with the backend off and on: where the processors' time of the whole run goes.

    .venv-harness/bin/python benches/command_line.py [--harness aisbench] [--model EchoApi] [--inferencer PPLInferencer]
        [--count 20000] [--workers 2] [--save-every 1000] [--only on]

Five examples a prompt, a model that answers at once, and the harness's default partitioner. What is written has to be
the same off and on. Figures are seconds of processor time, all processes of a run together, by whose code is at work
(tests/real/harness/command/cpu_parts.py): a run beside others has about the same.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from real.harness.command.cpu_parts import PARTS
from real.harness.command_line import Run, aisbench, opencompass

# A request's name is random in AISBench, and so is the order in which services answer.
_NAME = re.compile(rb'"uuid": "[0-9a-f]+"')
_HARNESSES = {"opencompass": opencompass, "aisbench": aisbench}
_LABELS = """
datasets[0]["infer_cfg"]["prompt_template"]["template"] = {
    label: dict(begin="</E>", round=[turns[0], dict(role="BOT", prompt=label)]) for label in ["A", "B", "C", "D"]
}
"""
_CHATS = """
datasets[0]["infer_cfg"].pop("ice_template")
datasets[0]["infer_cfg"].update(
    retriever=dict(type="ZeroRetriever"), prompt_template=dict(type="PromptTemplate", template=dict(round=turns)))
"""
_MORE = {"PPLInferencer": _LABELS, "ChatInferencer": _CHATS}


def main() -> None:
    """Run both, compare what they wrote, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--harness", choices=_HARNESSES, default="opencompass")
    parser.add_argument("--model", choices=("Echo", "EchoApi"), default="Echo", help="local, or a service")
    parser.add_argument("--inferencer", default="GenInferencer", help="(default: %(default)s)")
    parser.add_argument("--count", type=int, default=20_000, help="how many samples (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=1, help="--max-num-workers (default: %(default)s)")
    parser.add_argument("--save-every", type=int, default=1, help="OpenCompass's save_every (default: its own, 1)")
    parser.add_argument("--only", choices=("off", "on"), help="only one of both")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = {
            name: measured(Path(folder) / name, options, name) for name in ("off", "on") if options.only in {None, name}
        }
        if len({tuple(written(run)) for run in runs.values()}) > 1:
            raise SystemExit("the files with predictions differ")
        report(runs)


def measured(folder: Path, options: argparse.Namespace, name: str) -> Run:
    """One run of the command line."""
    run = _HARNESSES[options.harness](
        folder,
        "--max-num-workers",
        str(options.workers),
        on=name == "on",
        is_profiled=True,
        count=options.count,
        model=options.model,
        inferencer=options.inferencer,
        save_every=options.save_every,
        more=_MORE.get(options.inferencer, ""),
    )
    if not run.predictions:
        raise SystemExit(f"nothing was written: {run.console[-2000:]}")
    return run


def written(run: Run) -> list[bytes]:
    """Return what a run wrote, without the names of requests."""
    return sorted(_NAME.sub(b"", line) for text in run.predictions.values() for line in text.splitlines())


def report(runs: dict[str, Run]) -> None:
    """Print where the time of some runs went."""
    used = {name: sum((Counter(process["parts"]) for process in run.cpu), Counter()) for name, run in runs.items()}
    print(f"{'seconds of processor time':<28}" + "".join(f"{name:>10}" for name in runs))
    for part in PARTS:
        print(f"{part:<28}" + "".join(f"{shares[part]:>10.2f}" for shares in used.values()))
    whole = [sum(process["cpu"] for process in run.cpu) for run in runs.values()]
    print(f"{'the whole run':<28}" + "".join(f"{seconds:>10.2f}" for seconds in whole))
    print(f"{'by the clock':<28}" + "".join(f"{run.seconds:>10.2f}" for run in runs.values()))
    if len(runs) > 1:
        print(f"the same {len(next(iter(runs.values())).predictions)} files")
    for run in runs.values():
        print(*(line for line in run.console.splitlines() if "prompts in bulk," in line), sep="\n", end="")
    print()


if __name__ == "__main__":
    main()
