"""Runs of a harness's own command line, with scripted models, with the backend off and on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PYTHON = HERE.parents[2] / "python"

OPENCOMPASS = """
turns = [dict(role="HUMAN", prompt="{{input}}\\nA. {{A}}\\nB. {{B}}\\nC. {{C}}\\nD. {{D}}\\nAnswer: "),
         dict(role="BOT", prompt="{{target}}\\n")]
hint = dict(role="HUMAN", prompt="There is a question. Choose an answer.\\n")
datasets = [dict(
    abbr="questions", type="command_opencompass.Questions", count={count},
    reader_cfg=dict(input_columns=["input", "A", "B", "C", "D"], output_column="target", train_split="dev"),
    infer_cfg=dict(
        ice_template=dict(type="PromptTemplate", template=dict(round=[hint, *turns])),
        prompt_template=dict(
            type="PromptTemplate", template=dict(begin="</E>", round=[hint, *turns]), ice_token="</E>"),
        retriever=dict(type="FixKRetriever", fix_id_list=[0, 1, 2, 3, 4]),
        inferencer=dict(type="{inferencer}", save_every={save_every}),
    ),
    eval_cfg=dict(),
)]
models = [dict(
    abbr="echo", type="command_opencompass.{model}", path="", max_out_len=1, batch_size={batch_size}, max_seq_len=None,
    meta_template=dict(
        round=[dict(role="HUMAN", begin="<user>", end="</user>", api_role="HUMAN"),
               dict(role="BOT", begin="<bot>", end="</bot>", api_role="BOT", generate=True)]),
)]
{more}
"""

AISBENCH = """
# A round for each question: a service's parser takes no two turns of one side.
turns = [dict(role="HUMAN", prompt="There is a question. Choose an answer.\\n"
              "{{input}}\\nA. {{A}}\\nB. {{B}}\\nC. {{C}}\\nD. {{D}}\\nAnswer: "),
         dict(role="BOT", prompt="{{target}}\\n")]
datasets = [dict(
    abbr="questions", type="command_aisbench.Questions", count={count},
    reader_cfg=dict(input_columns=["input", "A", "B", "C", "D"], output_column="target", train_split="dev"),
    infer_cfg=dict(
        ice_template=dict(type="PromptTemplate", template=dict(round=turns)),
        prompt_template=dict(
            type="PromptTemplate", template=dict(begin="</E>", round=turns), ice_token="</E>"),
        retriever=dict(type="FixKRetriever", fix_id_list=[0, 1, 2, 3, 4]),
        inferencer=dict(type="{inferencer}"),
    ),
    eval_cfg=dict(),
)]
models = [dict(
    abbr="echo", attr="{attr}", type="command_aisbench.{model}", max_out_len=1, batch_size={batch_size},
    generation_kwargs=dict(),
    meta_template=dict(round=[dict(role="HUMAN", {human}), dict(role="BOT", {bot}, generate=True)]),
)]
summarizer = dict(attr="accuracy")
{more}
"""

AISBENCH_ROLES = {
    "local": {"human": 'begin="<user>", end="</user>"', "bot": 'begin="<bot>", end="</bot>"'},
    "service": {"human": 'api_role="HUMAN"', "bot": 'api_role="BOT"'},
}


@dataclass
class Run:
    """The files and the output of a finished command."""

    folder: Path
    console: str
    seconds: float

    @property
    def predictions(self) -> dict[str, bytes]:
        """The files with predictions, by their names."""
        paths = sorted(self.folder.glob("out/*/predictions/**/*.json*"))
        return {str(path.relative_to(next(self.folder.glob("out/*")))): path.read_bytes() for path in paths}

    @property
    def logs(self) -> list[str]:
        """Return what the tasks wrote to their log files."""
        return [path.read_text("utf-8") for path in sorted(self.folder.glob("out/*/logs/infer/**/*.out"))]

    @property
    def cpu(self) -> list[dict[str, Any]]:
        """Return the records of `cpu_parts`, one per process; the process with the most CPU time comes first."""
        processes = [json.loads(path.read_text("utf-8")) for path in (self.folder / "cpu").glob("*.json")]
        return sorted(processes, key=lambda process: -process["cpu"])


def opencompass(
    folder: Path,
    *arguments: str,
    on: bool,
    is_enabled: bool = False,
    marker: str = "1",
    is_profiled: bool = False,
    **settings: object,
) -> Run:
    """Run `opencompass CONFIG --mode infer`.

    Args:
        folder: Where the run is made; it is the working folder.
        arguments: What else is on the command line.
        on: Whether the environment has the backend on.
        is_enabled: Whether a program calls `enable()` before the command's own function.
        marker: What the processes see as PROMPTPRESS_TEST_COMMAND.
        is_profiled: Whether `cpu_parts` says where the processors' time went.
        settings: What the configuration says otherwise: `count`, `model`, `inferencer`, `save_every`,
            `batch_size`, `more`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    usual = {
        "count": 40,
        "model": "Echo",
        "inferencer": "GenInferencer",
        "save_every": None,
        "batch_size": 64,
        "more": "",
    }
    (folder / "eval.py").write_text(OPENCOMPASS.format(**{**usual, **settings}), "utf-8")
    main = "from opencompass.cli.main import main; main()"
    if is_enabled:
        main = f"import promptpress.opencompass; promptpress.opencompass.enable(); {main}"
    command = [main, "eval.py", "--mode", "infer", "-w", "out", *arguments]
    return _run(folder, command, "opencompass" if on else "", marker, is_profiled=is_profiled)


def aisbench(
    folder: Path, *arguments: str, on: bool, marker: str = "1", is_profiled: bool = False, **settings: object
) -> Run:
    """Run `ais_bench CONFIG --mode infer`; the arguments are those of `opencompass`.

    A model whose name ends in "Api" is a service.
    """
    folder.mkdir(parents=True, exist_ok=True)
    usual: dict[str, object] = {
        "count": 40,
        "model": "Echo",
        "inferencer": "GenInferencer",
        "batch_size": 64,
        "more": "",
    }
    chosen = {**usual, **settings}
    kind = "service" if str(chosen["model"]).endswith("Api") else "local"
    chosen.update(AISBENCH_ROLES[kind], attr=kind)
    (folder / "eval.py").write_text(AISBENCH.format(**chosen), "utf-8")
    main = "from ais_bench.benchmark.cli.main import main; main()"
    command = [main, "eval.py", "--mode", "infer", "-w", "out", *arguments]
    return _run(folder, command, "aisbench" if on else "", marker, is_profiled=is_profiled)


def _run(folder: Path, command: list[str], backend: str, marker: str, *, is_profiled: bool) -> Run:
    cpu = folder / "cpu"
    if is_profiled:
        cpu.mkdir(exist_ok=True)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PROMPTPRESS")},
        "PYTHONPATH": os.pathsep.join([str(HERE / "command"), str(PYTHON)]),
        "PROMPTPRESS_TEST_COMMAND": marker,
        "PROMPTPRESS_TEST_PROFILE": str(cpu) if is_profiled else "",
        "HF_DATASETS_CACHE": str(folder / "cache"),
        "HF_HUB_OFFLINE": "1",
        **({"PROMPTPRESS_BACKEND": backend} if backend else {}),
    }
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    seconds = time.perf_counter() - start
    console = done.stdout + done.stderr
    if done.returncode:
        raise AssertionError(console[-4000:])
    return Run(folder, console, seconds)
