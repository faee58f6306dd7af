"""The report of a run says which way prompts went, of which model and dataset, and why; a dry run says it before."""

from __future__ import annotations

import logging
import os
import subprocess
import sys

import pytest
from promptpress import opencompass as backend
from promptpress.opencompass import coverage
from promptpress_harness.bulk import report
from real.harness import scripted
from real.harness.both import MODELS, TEXT, answers
from real.harness.test_backend_opencompass import LABELLED, READER, RETRIEVERS, TEMPLATES, case, samples

pytestmark = pytest.mark.usefixtures("opencompass")


@pytest.fixture(autouse=True)
def heard():
    """AISBench's tests have logging disabled for the rest of the session."""
    before = logging.root.manager.disable
    logging.disable(logging.NOTSET)
    yield
    logging.disable(before)


def lines(caplog):
    return [
        (record.levelname, record.getMessage()) for record in caplog.records if record.name == "promptpress.backend"
    ]


def test_a_line_for_each_task_and_one_for_the_run(caplog):
    with backend.backend():
        answers(case(TEMPLATES["dialogue"], **MODELS["text"], retriever=RETRIEVERS["fixed"]))
        chat = case({}, **MODELS["text"], reader={"input_columns": ["input"], "output_column": "target"})
        answers({**chat, "inferencer": {"type": "ChatInferencer"}})
        left = case(TEMPLATES["dialogue"], **MODELS["text"], inferencer={"multiround": True})
        answers(left)
    logged = lines(caplog)
    names = "(model Scripted, dataset predictions)"
    bulk = ("INFO", f"promptpress renders prompts in bulk {names}")
    why = "prompts of several rounds, or a gen_field_replace_token that is no string"
    # `answers` runs each twice, and the backend is on around them.
    assert logged.count(bulk) == 4
    assert [line for line in logged if line[0] == "WARNING"] == [
        ("WARNING", f"promptpress leaves prompts to the harness: {why} {names}")
    ]
    assert logged[-1] == ("INFO", "promptpress: 180 prompts in bulk, 90 by the harness, in 6 tasks")


def test_prompts_of_labels_are_counted_by_labels(caplog):
    with backend.backend():
        answers(case(LABELLED["dialogues"], **MODELS["text"], inferencer={"type": "PPLInferencer"}))
    assert lines(caplog)[-1][1] == "promptpress: 180 prompts in bulk, 0 by the harness, in 2 tasks"


def test_names_are_those_of_the_harness_s_folders(tmp_path, caplog):
    job = case(TEMPLATES["string"], **MODELS["text"])
    with backend.backend():
        scripted.run(job, tmp_path / "predictions" / "some_model")
    assert "(model some_model, dataset predictions)" in caplog.text


def test_the_report_reaches_a_console_that_a_harness_has_silenced(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import logging, sys\n"
        "logging.basicConfig(level=logging.INFO, stream=sys.stdout)\n"
        "logging.getLogger().handlers[0].setLevel(logging.ERROR)\n"
        "from promptpress_harness.bulk import report\n"
        "report.listen(); report.start(follows=False)\n"
        "with report.record_call('m', 'd', 3) as record: record.left('why')\n"
        "report.end()\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert "WARNING - promptpress leaves prompts to the harness: why (model m, dataset d)" in done.stderr
    assert "INFO - promptpress: 0 prompts in bulk, 3 by the harness, in 1 task" in done.stderr
    assert done.stdout == ""


def test_what_is_shown_already_is_not_shown_twice(capsys):
    handler = logging.StreamHandler(sys.stdout)
    logging.getLogger().addHandler(handler)
    try:
        with backend.backend():
            report.logger.warning("once")
    finally:
        logging.getLogger().removeHandler(handler)
    printed = capsys.readouterr()
    assert printed.out.count("once") == 1
    assert "once" not in printed.err


def test_lines_of_other_processes(tmp_path):
    path = tmp_path / "told"
    path.touch()
    first, second = report.Channel(str(path)), report.Channel(str(path))
    first.append({"bulk": 1, "left": 0})
    second.append({"bulk": 2, "left": 0})
    assert [line["bulk"] for line in first.new_lines()] == [1, 2]
    assert first.new_lines() == []
    with path.open("ab") as file:
        file.write(b'{"bulk": ')
    assert first.new_lines() == []
    report.Channel(str(tmp_path / "nowhere")).append({})
    assert os.listdir(tmp_path) == ["told"]


MODEL = {"type": "Scripted", "meta_template": TEXT}
COVERED = {
    "GenInferencer": TEMPLATES["dialogue"],
    "ParallelGenInferencer": TEMPLATES["string"],
    "PPLInferencer": LABELLED["dialogues"],
    "LLInferencer": LABELLED["strings"],
    "CLPInferencer": TEMPLATES["string"],
    "ChatInferencer": {"prompt_template": TEMPLATES["string"]["prompt_template"]},
    "ParallelChatInferencer": {"prompt_template": TEMPLATES["string"]["prompt_template"]},
}


def found_for(inferencer, templates, **changes):
    data = scripted.dataset(changes.pop("samples", samples()), samples(6, 1), READER)
    config = {"reader_cfg": READER, "infer_cfg": {**templates, "retriever": RETRIEVERS["fixed"], **changes}}
    config["infer_cfg"]["inferencer"] = {"type": inferencer}
    kind = type(scripted.model(TEXT, api=False))
    return coverage(config, {**MODEL, "type": kind}, dataset=data)


@pytest.mark.parametrize("inferencer", COVERED)
def test_coverage_without_a_model(inferencer, caplog):
    coverage = found_for(inferencer, COVERED[inferencer])
    assert coverage.in_bulk, coverage.reason
    assert "promptpress leaves" not in caplog.text


def test_coverage_gives_the_reason():
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(scripted.opencompass().BaseModel, "parse_template", print)
        coverage = found_for("GenInferencer", TEMPLATES["string"])
    assert coverage.reason == "BaseModel.parse_template isn't that of opencompass.models.base"
    assert found_for("GLMChoiceInferencer", TEMPLATES["string"]).reason == "GLMChoiceInferencer isn't covered"
