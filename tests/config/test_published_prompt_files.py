"""All benchmark files of EvalScope and all prompts of NeMo-Skills, from folders that environment variables name.

`PROMPTPRESS_EVALSCOPE` and `PROMPTPRESS_NEMO_SKILLS` are checkouts of the two; without them the tests are skipped.
`PROMPTPRESS_EVALSCOPE_PYTHON` and `PROMPTPRESS_NEMO_SKILLS_PYTHON` may name another interpreter, in which the packages
that their code imports are installed. With `-s` each test prints what it counted.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest

pytest.importorskip("jinja2")

CUT = re.compile(r" \.\.\. \[TRUNCATED(?: \d+ chars)?\] \.\.\. ")
GAP = "\x00"
"""A text in the place of what a file doesn't show: the values of its sample, and the middles of long texts."""


def folder_of(variable: str) -> Path:
    """The checkout that a variable names."""
    if not os.environ.get(variable):
        pytest.skip(f"{variable} names no checkout")
    return Path(os.environ[variable])


def run(script: str, variable: str, given: Any) -> Any:
    """Return the output of a script, run with a checkout by the interpreter that has its packages."""
    python = os.environ.get(f"{variable}_PYTHON", sys.executable)
    path = Path(__file__).parents[1] / "parts" / script
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [python, str(path), str(folder_of(variable))]
    done = subprocess.run(
        command, input=json.dumps(given), capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode and "ModuleNotFoundError" in done.stderr:
        pytest.skip(f"{variable}: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def read(path: Path) -> pp.Renderer | pp.JinjaTemplate:
    """The renderer of a file, or the template if there are choices in it."""
    try:
        return pp.Renderer.from_config(path)
    except pp.TemplateError as error:
        if "JinjaTemplate.from_config" not in error.message:
            raise
        return pp.JinjaTemplate.from_config(path)


def messages_of(renderer: pp.Renderer | pp.JinjaTemplate, rows: list[dict[str, Any]]) -> list[Any]:
    """The messages of rows; a template's text is what the user says."""
    samples = pa.Table.from_pylist(rows) if rows[0] else pa.table({"none": list(range(len(rows)))})
    prompts = renderer.render(samples)["prompt"].to_pylist()
    return [[{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt for prompt in prompts]


def compared(rendered: str, text: str) -> str:
    """Compare a sample's text with what is rendered: `equal`, `as far as shown`, or `different`."""
    literals = rendered.split(GAP)
    if re.fullmatch("(?:.*)".join(map(re.escape, literals)), text, re.DOTALL):
        return "as far as shown" if CUT.search(text) else "equal"
    head, *tail = CUT.split(text)
    if len(tail) != 1 or not (head.startswith(literals[0]) or literals[0].startswith(head)):
        return "different"
    return "as far as shown" if tail[0].endswith(literals[-1]) or literals[-1].endswith(tail[0]) else "different"


def evalscope_files() -> list[Path]:
    files = sorted(folder_of("PROMPTPRESS_EVALSCOPE").glob("evalscope/benchmarks/_meta/*.json"))
    assert files
    return files


def test_samples_of_evalscope() -> None:
    counts: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    different = []
    for path in evalscope_files():
        try:
            renderer = read(path)
        except pp.TemplateError as error:
            assert error.code == "unreadable_config"  # noqa: PT017 - most files raise nothing
            refused[re.sub(r"(: '\w+';).*|: \d+, and", r"\1", error.message)] += 1
            continue
        data = json.loads(path.read_text(encoding="utf-8"))["sample_example"]["data"]
        row: dict[str, Any] = dict.fromkeys(renderer.required_columns, GAP)
        if "choices" in row and isinstance(renderer, pp.JinjaTemplate):
            row["choices"] = [GAP.join(CUT.split(str(choice))) for choice in data["choices"]]
        (messages,) = messages_of(renderer, [row])
        pairs = zip(messages, data["input"], strict=True)
        results = {compared(rendered["content"], message["content"]) for rendered, message in pairs}
        result = next(name for name in ("different", "as far as shown", "equal") if name in results)
        counts[result] += 1
        if result == "different":
            different.append(path.stem)
    print(f"\nEvalScope: {counts.total() + refused.total()} files: {dict(counts)}, {refused.total()} refused:")
    print(*(f"{number:4} {reason}" for reason, number in refused.most_common()), sep="\n")
    assert not different


def test_code_of_evalscope() -> None:
    renderers = {}
    for path in evalscope_files():
        try:
            renderers[path.stem] = read(path)
        except pp.TemplateError:
            continue
    results = run("evalscope_messages.py", "PROMPTPRESS_EVALSCOPE", list(renderers))
    counts: Counter[str] = Counter()
    different, not_called = [], []
    for name, renderer in renderers.items():
        if "error" in results[name]:
            not_called.append(f"{name}: {results[name]['error']}")
            continue
        is_equal = messages_of(renderer, results[name]["values"]) == results[name]["messages"]
        counts["equal" if is_equal else "different"] += 1
        if not is_equal:
            different.append(name)
    print(f"\nEvalScope's code: {dict(counts)}; not called: {len(not_called)}", *not_called, sep="\n  ")
    assert not different
    assert counts


def test_code_of_nemo_skills() -> None:
    folder = folder_of("PROMPTPRESS_NEMO_SKILLS")
    files = sorted(path for path in folder.glob("nemo_skills/prompt/**/*") if path.suffix in {".yaml", ".toml"})
    assert files
    jobs: list[tuple[Path, pp.Renderer | None, list[dict[str, Any]]]] = []
    for path in files:
        try:
            renderer = pp.Renderer.from_config(path)
        except pp.TemplateError as error:
            assert error.code == "unreadable_config"  # noqa: PT017 - most files raise nothing
            jobs.append((path, None, []))
            continue
        row = {name: f"<{name} {{x}} {{{name}}} é\r\n>" for name in renderer.required_columns}
        jobs.append((path, renderer, [row, dict.fromkeys(row, "")]))
    given = [[str(path), rows] for path, _, rows in jobs]
    answer = run("nemo_skills_messages.py", "PROMPTPRESS_NEMO_SKILLS", given)
    counts: Counter[str] = Counter()
    for (path, renderer, rows), result in zip(jobs, answer["results"], strict=True):
        if renderer is None:
            assert "error" in result, path
            counts["both refuse"] += 1
            continue
        assert messages_of(renderer, rows) == result["messages"], path
        counts["equal"] += 1
        for name, real in result.get("with_examples", {}).items():
            examples = pa.Table.from_pylist(answer["examples"][name])
            if "error" in real:
                with pytest.raises(pp.TemplateError, match="the examples have no column"):
                    pp.Renderer.from_config(path, examples=examples)
                counts["with examples: both refuse"] += 1
                continue
            assert messages_of(pp.Renderer.from_config(path, examples=examples), rows) == real["messages"], (path, name)
            counts["with examples: equal"] += 1
    print(f"\nNeMo-Skills: {len(files)} files: {dict(counts)}")
