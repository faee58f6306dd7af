"""The recorded cases of the real harnesses, where they are at hand.

They are no part of the project. `PROMPTPRESS_SHARED` says where they are; else they are looked for in the folder
`shared` beside the project. Where they are absent these tests count as skipped, never as passed.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from marks import UNWARNED
from parts.turn_parts import check_divergence, check_every_request

SHARED = Path(os.environ.get("PROMPTPRESS_SHARED") or Path(__file__).resolve().parents[3] / "shared")


def recorded(name: str) -> tuple[Path, Path]:
    """The program that runs recorded cases, and a file of them."""
    runner, cases = SHARED / "tools" / "cases.py", SHARED / "golden" / f"{name}.jsonl.gz"
    for path in (runner, cases):
        if not path.exists():
            pytest.skip(f"recorded cases are not at hand: there is no {os.path.relpath(path)}")
    return runner, cases


def lines_of(cases: Path) -> list[str]:
    return [line for line in gzip.decompress(cases.read_bytes()).decode().split("\n") if line]


def documented_media(case: dict[str, Any]) -> bool:
    """Return true if AISBench fails where its documents promise success: media without a column `content`.

    The contract has the document followed there (docs/fidelity.md); the recorded refusal is not what is wanted.
    """
    failed = (case.get("error") or {}).get("message") == "'content'"
    template = case.get("prompt_template") or {}
    return failed and template.get("type") == "MMPromptTemplate" and "<AIS_" in json.dumps(case["test"])


@pytest.mark.parametrize("name", ["opencompass_configs", "opencompass_fuzz", "aisbench", "openicl"])
def test_recorded_cases(name: str, tmp_path: Path) -> None:
    runner, cases = recorded(name)
    lines = lines_of(cases)
    kept = [line for line in lines if not documented_media(json.loads(line))]
    if len(kept) < len(lines):
        cases = tmp_path / cases.name
        cases.write_bytes(gzip.compress("\n".join(kept).encode()))
    done = subprocess.run([sys.executable, runner, cases], capture_output=True, text=True, check=False)
    print(f"\n{name}:\n{done.stdout}", end="")
    assert done.returncode == 0, done.stdout + done.stderr


def test_media_without_a_content_column_are_what_the_documents_say() -> None:
    _, cases = recorded("aisbench")
    of_media = [json.loads(line) for line in lines_of(cases)]
    of_media = [case for case in of_media if documented_media(case)]
    assert of_media
    for case in of_media:
        output = {"none": "prompt_list", "lm": "text", "api": "messages"}[case["parser"]]
        renderer = pp.Renderer(
            case["prompt_template"], meta_template=case["meta_template"], output=output, dialect="aisbench"
        )
        (request,) = pp.to_pylist(renderer.render(pa.Table.from_pylist(case["test"]))["prompt"])
        parts = (
            request if "type" in request[0] else next(v for k, v in request[0].items() if k in ("parts", "prompt_mm"))
        )
        assert [part["type"] for part in parts] == ["text", "image_url", "audio_url", "video_url"]
        assert parts[0]["text"] == "blabla\nQuestion: What is this?"
        assert parts[1]["image_url"]["url"].endswith("IMG")


@UNWARNED
def test_explain_and_divergence_of_every_recorded_conversation() -> None:
    """No chat is recorded; `test_turn_spans.py` has those of the models."""
    runner, cases = recorded("aisbench")
    spec = importlib.util.spec_from_file_location("recorded_case_runner", runner)
    assert spec is not None
    assert spec.loader is not None
    shared = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(shared)
    covered, requests, with_fields, apart = 0, 0, 0, 0
    modes = set()
    for case in map(json.loads, lines_of(cases)):
        if "MultiTurn" not in f"{case['prompt_template']} {case['inferencer']}":
            continue
        keys = ("prompt_template", "ice_template", "reader", "inferencer", "meta_template")
        settings = {key: shared.revive(case[key]) for key in keys}
        settings["output"] = {"none": "prompt_list", "lm": "text", "api": "messages"}[case["parser"]]
        settings["dialect"] = "aisbench"
        samples = shared.table(case["test"], case["schema"])
        try:
            pp.Renderer(**settings)
        except pp.TemplateError:
            assert case["error"] is not None, case["id"]
            continue
        checked = check_every_request(settings, samples)
        wanted = [request for row in case.get("requests") or [] for request in row or []]
        assert checked or not wanted or not shared.representable(wanted), case["id"]
        covered += bool(checked)
        requests += len(checked)
        with_fields += sum(any(span["source"] == "field" for span in spans) for _, spans in checked)
        modes |= {case["inferencer"].get("infer_mode")} if checked else set()
        apart += len(check_divergence(settings, samples, {"question", "answer"}) or [])
        # What is refused as a whole has rows that aren't.
        for row in range(len(samples)):
            check_divergence(settings, samples.slice(row, 1), {"question", "answer"})
    print(f"\n{covered} cases with {requests} requests, {with_fields} of them with fields, {apart} rows apart")
    assert {"every", "every_with_gt", "last"} <= modes
    assert covered >= 100
    assert with_fields >= 300
    assert apart > 0
