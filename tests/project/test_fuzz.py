"""The fuzzer itself: it makes the same cases anew, and finds what is wrong. `make fuzz` is what runs it for long."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from fuzz import arrays, broken, cells, configs, oracle, prompts, row_errors, runner, shrink
from fuzz.configurations import Case
from fuzz.draw import Draw
from fuzz.single import described
from fuzz.values import UNPRINTABLE, rows_of
from marks import UNWARNED
from models import plain_model
from promptpress._engine import rendering
from promptpress._engine.options import RenderOptions

BAD = """
import os, signal, time
from fuzz import stages

def make(seed, number):
    return number

def check(seed, number, case):
    return run(seed, number)

def run(seed, number):
    stages.enter("building" if number == 2 else "rendering")
    if number in (1, 2):
        os.kill(os.getpid(), signal.SIGSEGV)
    if number == 3:
        raise ValueError("the value 17 is wrong")
    if number == 4:
        time.sleep(60)
    time.sleep(0.01)
    return 10
"""


@pytest.fixture
def bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A kind of cases that fail in every way."""
    (tmp_path / "bad_cases.py").write_text(BAD)
    here = Path(__file__).resolve().parents[1]
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{here}:{here.parent / 'python'}")
    return "bad_cases"


def test_each_way_to_fail_is_reported_with_its_case(bad: str, capsys: pytest.CaptureFixture[str]) -> None:
    report = runner.run(runner.Job(bad, seed=5, step=2, hang=1.0), seconds=4)
    assert report.failures == {
        "killed: SIGSEGV in rendering": 1,
        "ValueError: the value N is wrong": 1,
        "no answer within 1 seconds in rendering": 1,
    }
    assert sorted(cases[0][0] for cases in report.examples.values()) == [1, 3, 4]
    assert report.count >= 100  # the workers went on
    assert "FAILED seed 5 case 3: ValueError" in capsys.readouterr().out


def test_a_seed_and_a_number_make_the_same_case() -> None:
    for number in range(40):
        assert described(prompts.make(3, number)) == described(prompts.make(3, number))
    assert described(prompts.make(3, 0)) != described(prompts.make(4, 0))


def test_a_wrong_prompt_is_found_and_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    right = plain_model.render

    def wrong(*arguments: Any) -> list[Any]:
        return [text + "!" if isinstance(text, str) and "word" in text else text for text in right(*arguments)]

    monkeypatch.setattr(plain_model, "render", wrong)
    config = {"prompt_template": "Q: {q} {a}", "reader": {"output_column": "b"}, "substitution": "harness"}
    case = Case(config, pa.table({"q": ["x", "word", "y"], "a": ["1", "2", "3"], "b": ["", "", ""]}), None)
    with pytest.raises(oracle.DifferenceError, match=r"request 1: found 'Q: word 2', wanted 'Q: word 2!'") as raised:
        oracle.check(case)
    assert raised.value.what.startswith("other prompts than plain_model gives")

    def check(case: Case) -> None:
        oracle.check(case)

    small = shrink.shrunk(check, case)
    assert len(small.samples) == 1
    assert small.samples.column_names == ["q"]
    assert small.config == {"prompt_template": "{q}", "substitution": "harness"}


@pytest.mark.parametrize("seed", range(8))
def test_arrays_are_sound_until_they_are_broken(seed: int) -> None:
    kinds = set()
    for number in range(150):
        draw = Draw.of(seed, number)
        kind = arrays.any_type(draw)
        array = arrays.array_of(draw, kind, draw.randint(0, 20), lambda draw: draw.pick("", "é", "longer than a view"))
        array.validate(full=True)
        values = rows_of(pa.table({"x": array}))
        again = broken.put_together(broken.parts_of(array))
        again.validate(full=True)
        assert repr(rows_of(pa.table({"x": again}))) == repr(values)
        kinds.add(str(kind).partition("<")[0].partition("[")[0])
    assert len(kinds) > 25


def test_broken_arrays_are_broken() -> None:
    def check(number: int) -> None:
        draw = Draw.of(0, number)
        parts = broken.parts_of(arrays.array_of(draw, arrays.any_type(draw), 9, lambda _: "text"))
        broken.break_one(draw, parts)
        broken.put_together(parts).validate(full=True)

    faults = [shrink.fault(check, number) for number in range(100)]  # pyarrow itself dies of some
    assert len([fault for fault in faults if fault is not None]) > 25


def test_what_has_no_text_is_known() -> None:
    (row,) = rows_of(
        pa.table({"x": pa.array([1], pa.timestamp("ns")), "y": pa.array([2**62], pa.timestamp("s", "UTC"))})
    )
    assert row == {"x": UNPRINTABLE, "y": UNPRINTABLE}


@pytest.mark.parametrize("number", range(40))
def test_configurations_that_were_changed_are_only_read(number: int) -> None:
    configs.run(0, number)


@pytest.mark.parametrize("path", sorted(configs.CORPUS.iterdir()), ids=lambda path: path.stem)
def test_kept_configurations_are_only_read(path: Path) -> None:
    """Those that begin with `found` once ended in another way."""
    configs.check(0, 0, configs.Case(path.read_bytes(), (configs.CORPUS / "base.txt").read_bytes()))


def test_what_a_configuration_does_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(path: str) -> None:
        exec(compile(Path(path).read_text(), path, "exec"), {})

    monkeypatch.setattr(configs, "read_config", careless)
    for source in ("open('/dev/null', 'w').close()", "import os\nos.system('true')", "x = 1"):
        with pytest.raises(AssertionError, match="does more"):
            configs.check(0, 0, configs.Case(source.encode(), b""))


@UNWARNED
def test_cells_are_compared_in_bulk() -> None:
    pytest.importorskip("jinja2")
    counted = dict.fromkeys(("program", "template", "renderer"), 0)
    for number in range(60):
        case = cells.make(0, number)
        kind = "renderer"
        if isinstance(case, cells.JinjaCase):
            kind = "template" if case.program is None else "program"
        if kind != "renderer" or len(case.samples) < 200:
            counted[kind] += cells.check(0, number, case)
    assert all(counted.values()), counted


@UNWARNED
def test_a_wrong_cell_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jinja2")
    from jinja import running

    right = running.run
    monkeypatch.setattr(running, "run", lambda *given: [text + "!" for text in right(*given)])
    drawn = ((number, cells.make(0, number)) for number in range(80))
    number, case = next(
        (n, case) for n, case in drawn if isinstance(case, cells.JinjaCase) and case.program is not None
    )
    with pytest.raises(oracle.DifferenceError, match=r"a program gives another text|a row isn't given up"):
        cells.check(0, number, case)


@UNWARNED
@pytest.mark.parametrize("start", range(0, 120, 20))
def test_rows_with_errors_are_those_that_fail_alone(start: int) -> None:
    assert sum(row_errors.run(0, number) for number in range(start, start + 20)) > 5


@UNWARNED
def test_a_wrong_row_error_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = rendering._request_columns

    def wrong(run: Any, part: Any, options: RenderOptions) -> list[Any]:
        columns = right(run, part, options)
        if options.has_error_column and columns[-1] is not None:
            columns[-1] = pa.array([error and f"{error}!" for error in columns[-1].to_pylist()], pa.string())
        return columns

    monkeypatch.setattr(rendering, "_request_columns", wrong)
    with pytest.raises(oracle.DifferenceError, match="another error or request than the row alone has"):
        [row_errors.run(0, number) for number in range(40)]
