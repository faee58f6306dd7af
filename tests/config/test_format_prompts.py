"""Files of EvalScope and NeMo-Skills as configurations, compared with their rules in plain Python."""

from __future__ import annotations

import datetime
import json
import random
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from amounts import part_of
from models import format_model
from promptpress_workbench.cli import main

pytest.importorskip("jinja2")

ASK = 'Reply as {{"answer": ...}}.\n{question}\r\nNo {{question}} here: {{}}\n'
CHOOSE = "One of {letters}.\n\n{question}\n{choices}\n"
ROWS: list[dict[str, Any]] = [
    {"question": "What is {letters} or {{x}}?", "choices": ["two", "{question}"], "fewshot": "Q: 1? A: 1"},
    {"question": "é\ue000", "choices": [str(number) for number in range(30)], "fewshot": ""},
]


def benchmark(sample: str | None = None, choices: list[str] | None = None, **meta: Any) -> dict[str, Any]:
    """A benchmark file of EvalScope, whose sample is what its template gives, or the text that is given."""
    meta = {"pretty_name": "Mine", "category": "llm", "prompt_template": ASK, "system_prompt": "", **meta}
    row: dict[str, Any] = {"question": "1+1?", "fewshot": "Q: 2? A: 2"}
    if choices is None and "{choices}" in meta["prompt_template"]:
        choices = ["one", "two", "three"]
    messages: list[dict[str, Any]] = []
    try:
        messages = list(format_model.evalscope(meta, {**row, "choices": choices}))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        sample = sample or "a sample"
    if sample is not None:
        messages = [*messages[:-1], {"content": sample}]
    for message in messages:
        message.pop("role", None)
    data = {"input": messages, **({} if choices is None else {"choices": choices})}
    return {"meta": meta, "sample_example": {"data": data}}


def write(folder: Path, value: Any, name: str = "benchmark.json") -> str:
    path = folder / name
    path.write_text(json.dumps(value), encoding="utf-8")  # YAML has JSON's notation, too
    return str(path)


def test_questions_of_evalscope(tmp_path: Path) -> None:
    for more in ({}, {"system_prompt": "Be {brief}."}, {"prompt_template": "{question}"}):
        file = benchmark(**more)
        renderer = pp.Renderer.from_config(write(tmp_path, file))
        assert renderer.required_columns == ["question"]
        expected = [format_model.evalscope(file["meta"], row) for row in ROWS]
        assert renderer.render(pa.Table.from_pylist(ROWS))["prompt"].to_pylist() == expected
    text = pp.Renderer.from_config(write(tmp_path, benchmark()), output="text")
    prompts = text.render(pa.Table.from_pylist(ROWS))["prompt"].to_pylist()
    assert prompts == [format_model.evalscope(benchmark()["meta"], row)[0]["content"] for row in ROWS]


def test_examples_of_evalscope_are_a_column(tmp_path: Path) -> None:
    file = benchmark(few_shot_num=4, few_shot_prompt_template="Examples:\n{fewshot}\n\n{question}")
    renderer = pp.Renderer.from_config(write(tmp_path, file))
    expected = [format_model.evalscope(file["meta"], row) for row in ROWS]
    assert renderer.render(pa.Table.from_pylist(ROWS))["prompt"].to_pylist() == expected


def test_choices_of_evalscope(tmp_path: Path) -> None:
    file = benchmark(prompt_template=CHOOSE)
    path = write(tmp_path, file)
    template = pp.JinjaTemplate.from_config(path)
    expected = [format_model.evalscope(file["meta"], row)[0]["content"] for row in ROWS]
    assert template.render(pa.Table.from_pylist(ROWS))["prompt"].to_pylist() == expected
    assert template.last_run is not None
    assert template.last_run.compiled == len(ROWS)
    assert pp.load_config(path).arguments is None
    with pytest.raises(pp.TemplateError, match=r"a list in each row.*JinjaTemplate\.from_config reads this file"):
        pp.Renderer.from_config(path)
    for choices in ("A) 1", {"text": ["1"], "label": ["A"]}):
        with pytest.raises(pp.RenderError, match="has no attribute 'a_list_of_choices_is_needed'"):
            template.render(pa.Table.from_pylist([{"question": "1?", "choices": choices}]))


def test_a_missing_column_is_an_error(tmp_path: Path) -> None:
    samples = pa.table({"query": ["1?"]})
    path = write(tmp_path, benchmark())
    with pytest.raises(pp.RenderError, match='column "question"'):
        pp.Renderer.from_config(path).render(samples)
    with (
        pytest.raises(pp.RenderError, match="'question' is undefined"),
        pytest.warns(pp.PromptWarning, match="'question' is no column"),
    ):
        pp.JinjaTemplate.from_config(path).render(samples)


CUT = " ... [TRUNCATED 40 chars] ... "
BEGIN, END = 'Reply as {"answer": ...}.\n1+', "1?\r\nNo {question} here: {}\n"


@pytest.mark.parametrize(
    "sample", [BEGIN + CUT + END, BEGIN[:9] + CUT + END[-9:], BEGIN + " ... [TRUNCATED] ... " + END]
)
def test_a_cut_sample(tmp_path: Path, sample: str) -> None:
    pp.Renderer.from_config(write(tmp_path, benchmark(sample)))


def test_cut_choices(tmp_path: Path) -> None:
    choices = ["a", "b" + CUT + "b"]
    file = benchmark("One of A,B.\n\n1+1?\nA) a\nB) b123b\n", choices, prompt_template=CHOOSE)
    pp.JinjaTemplate.from_config(write(tmp_path, file))


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (benchmark(category="vlm"), "meta.category: 'vlm'; only benchmarks of 'llm'"),
        (benchmark(category=None), "meta.category: None"),
        (benchmark(prompt_template=""), "is empty, because EvalScope's code makes the prompts"),
        (benchmark(prompt_template=7 * [""]), "expected a text, found a list"),
        (benchmark(prompt_template="Say something."), "has no field"),
        (benchmark(prompt_template="{prompt}"), "has no text, so the sample can't show"),
        (benchmark(prompt_template="Choose.\n{choices}"), "has {choices} or {letters}, but no {question}"),
        (benchmark(prompt_template="{question!r}."), "{question!r}: a field is the bare name of a column"),
        (benchmark(prompt_template="{question:>9}."), "{question:>9}: a field is the bare name"),
        (benchmark(prompt_template="{question.text}."), "{question.text}: a field is the bare name"),
        (benchmark(prompt_template="{}: {question}"), "{}: a field is the bare name"),
        (benchmark(prompt_template="{0}: {question}"), "{0}: a field is the bare name"),
        (benchmark(prompt_template="{ {question}"), "str.format can't read it"),
        (benchmark(few_shot_num=5), "few_shot_prompt_template is empty"),
        (benchmark(few_shot_num=5, few_shot_prompt_template="{examples}\n{question}"), "has no {fewshot}"),
        (benchmark(pretty_name="MMMLU"), "EvalScope's code takes another template by the language"),
        (benchmark("Something else."), "isn't what the template gives"),
        (benchmark("begin, end", prompt_template="begin, {question}, end"), "isn't what the template gives"),
        (benchmark("a" * 9999, prompt_template=99 * "{question}a" + "b"), "isn't what the template gives"),
        (benchmark("1b2a3", prompt_template="{question}a{question}b{question}"), "isn't what the template gives"),
        (benchmark(BEGIN + CUT), "isn't what the template gives"),
        (benchmark("x" + CUT + END), "isn't what the template gives"),
        (benchmark("One of A,B.\n\n1?\nA. x\nB. y\n", ["x", "y"], prompt_template=CHOOSE), "isn't what the template"),
        ({**benchmark(), "sample_example": None}, "has no messages"),
        ({**benchmark(), "sample_example": {"data": {"input": "text"}}}, "has no messages"),
        ({**benchmark(), "sample_example": {"data": {"input": 2 * [{"content": ""}]}}}, "has 2 messages"),
        ({**benchmark(), "sample_example": {"data": {"input": [{"content": [{}]}]}}}, "are lists of parts"),
        (
            {**benchmark(prompt_template=CHOOSE), "sample_example": {"data": {"input": [{"content": ""}]}}},
            "has no list of choices",
        ),
    ],
)  # fmt: skip
def test_what_a_benchmark_does_not_say(tmp_path: Path, file: dict[str, Any], message: str) -> None:
    path = write(tmp_path, file)
    for read in (pp.Renderer.from_config, pp.JinjaTemplate.from_config, pp.load_config):
        with pytest.raises(pp.TemplateError) as caught:
            read(path)
        assert caught.value.code == "unreadable_config"
        assert caught.value.path == path
        assert message in caught.value.message


FEW_SHOT = {"prefix": "Like {{x}}:\n\n", "template": "P: {problem}\nS: {solution}\n\n", "suffix": "Now:\n"}
EXAMPLES: list[dict[str, Any]] = [{"problem": "{1}", "solution": "\\boxed{1}"}, {"problem": "2", "solution": None}]
PROBLEMS: list[dict[str, Any]] = [{"problem": "{examples} {{x}}", "A": "a"}, {"problem": "3\r\n", "A": None}]


@pytest.mark.parametrize("system", [None, "Put it into \\boxed{{}}.", ""])
@pytest.mark.parametrize("few_shot", [None, FEW_SHOT, {"template": ""}, {}])
def test_prompts_of_nemo_skills(tmp_path: Path, system: str | None, few_shot: dict[str, str] | None) -> None:
    file: dict[str, Any] = {"user": "{examples}Solve: {problem}\nUse \\boxed{{A}}: {A}", "system": system}
    if few_shot is None:
        file["user"] = file["user"].removeprefix("{examples}")
    else:
        file["few_shot_examples"] = few_shot
    path, samples = write(tmp_path, file, "prompt.yaml"), pa.Table.from_pylist(PROBLEMS)
    for examples in ([], EXAMPLES) if few_shot == FEW_SHOT else ([],):
        rows = pa.Table.from_pylist(examples) if examples else None
        expected = [format_model.nemo_skills(file, row, examples) for row in PROBLEMS]
        renderer = pp.Renderer.from_config(path, examples=rows)
        assert renderer.render(samples)["prompt"].to_pylist() == expected
        if system is None:
            template = pp.JinjaTemplate.from_config(path, examples=rows)
            assert template.render(samples)["prompt"].to_pylist() == [messages[0]["content"] for messages in expected]
    if system is not None:
        with pytest.raises(pp.TemplateError, match="has a system message"):
            pp.JinjaTemplate.from_config(path)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ({"user": "{x}", "sytem": "s"}, "sytem: unknown; did you mean 'system'?"),
        ({"user": "{x}", "image": "s"}, "image: unknown; it may have user, system, few_shot_examples"),
        ({"user": "{x}", "system": ["s"]}, "system: expected a text, found a list"),
        ({"user": "{x}", "few_shot_examples": "math"}, "few_shot_examples: expected a mapping, found a str"),
        ({"user": "{x}", "few_shot_examples": {"prefix": 1}}, "few_shot_examples.prefix: expected a text"),
        ({"user": "{x}", "few_shot_examples": {"infix": ""}}, "few_shot_examples: infix: unknown"),
        ({"user": "{x}", "few_shot_examples": {"examples_type": "math"}}, "code chooses the examples"),
        ({"user": "{x}", "few_shot_examples": {"template": "{x[0]}"}}, "few_shot_examples.template: {x[0]}"),
        ({"user": "{x:}{y:d}"}, "user: {y:d}: a field is the bare name of a column"),
    ],
)
def test_what_a_prompt_of_nemo_skills_may_not_hold(tmp_path: Path, file: dict[str, Any], message: str) -> None:
    with pytest.raises(pp.TemplateError) as caught:
        pp.Renderer.from_config(write(tmp_path, file, "prompt.yaml"))
    assert message in caught.value.message


def test_examples_without_a_place_or_a_column(tmp_path: Path) -> None:
    rows = pa.table({"problem": ["1"]})
    with pytest.raises(pp.TemplateError, match="has no place for the text of examples"):
        pp.Renderer.from_config(write(tmp_path, benchmark()), examples=rows)
    with pytest.raises(pp.TemplateError, match="has no place for the text of examples"):
        pp.Renderer.from_config(write(tmp_path, {"user": "{x}", "few_shot_examples": FEW_SHOT}), examples=rows)
    with pytest.raises(pp.TemplateError, match="has no place for the text of examples"):
        pp.Renderer.from_config(write(tmp_path, {"user": "{examples}{x}"}), examples=rows)
    path = write(tmp_path, {"user": "{examples}{x}", "few_shot_examples": FEW_SHOT})
    with pytest.raises(pp.TemplateError, match="the examples have no column 'solution'; they have 'problem'"):
        pp.Renderer.from_config(path, examples=rows)


def test_other_arguments(tmp_path: Path) -> None:
    path = write(tmp_path, {"user": "{x}", "system": "s"})
    config = pp.load_config(path)
    assert config.arguments is not None
    assert config.renderer() == pp.Renderer.from_config(path) == pp.Renderer(**config.arguments)
    for name, value in {"dialect": "opencompass", "substitution": "harness", "mode": "ppl", "shots": 1}.items():
        with pytest.raises(pp.TemplateError, match=f"{name}: the file has templates of str.format"):
            pp.Renderer.from_config(path, **{name: value})
    with pytest.raises(pp.TemplateError, match="a model has nothing to add"):
        pp.Renderer.from_config(path, {"type": "VLLM"})
    chat = pp.ChatTemplate("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}")
    renderer = pp.Renderer.from_config(path, chat_template=chat)
    assert renderer.render(pa.table({"x": ["1"]}))["prompt"].to_pylist() == ["<system>s<user>1"]
    with pytest.raises(pp.TemplateError, match="no file of EvalScope or NeMo-Skills"):
        pp.JinjaTemplate.from_config(write(tmp_path, {"prompt_template": "{q}"}))
    with pytest.raises(pp.TemplateError, match="not the name of a variable in Jinja"):
        pp.JinjaTemplate.from_config(write(tmp_path, {"user": "{range}"}))


PARTS = (
    "{q}",
    "{q}{a b}",
    "{é}",
    "{{",
    "}}",
    "{{q}}",
    "{{%",
    "{{#",
    "%}}",
    "\r",
    "\n",
    "\r\n",
    "'",
    "\\n",
    "\ue000q\ue001",
)


def test_random_templates(tmp_path: Path) -> None:
    draw = random.Random(0)
    for _ in range(part_of(200)):
        user = "x{q}" + "".join(draw.choices(PARTS, k=draw.randrange(9))) + draw.choice(("", "\n", "\r"))
        row: dict[str, Any] = {name: "".join(draw.choices(PARTS, k=3)) for name in ("q", "a b", "é")}
        samples, expected = pa.Table.from_pylist([row]), format_model.nemo_skills({"user": user}, row)
        path = write(tmp_path, {"user": user})
        assert pp.Renderer.from_config(path).render(samples)["prompt"].to_pylist() == [expected]
        if "{a b}" not in user:
            assert pp.JinjaTemplate.from_config(path).render(samples)["prompt"].to_pylist() == [expected[0]["content"]]


def test_random_questions(tmp_path: Path) -> None:
    draw = random.Random(1)
    parts = (*PARTS[3:-1], "{letters}", "{choices}", "{question}", "A) ")
    for _ in range(part_of(100)):
        template = "x{question}{choices}" + "".join(draw.choices(parts, k=draw.randrange(9)))
        file = benchmark(prompt_template=template)
        rows = [
            {
                "question": "".join(draw.choices(parts, k=3)),
                "choices": ["".join(draw.choices(parts, k=2)) for _ in range(draw.randrange(30))],
            }
            for _ in range(3)
        ]
        expected = [format_model.evalscope(file["meta"], row)[0]["content"] for row in rows]
        rendered = pp.JinjaTemplate.from_config(write(tmp_path, file)).render(pa.Table.from_pylist(rows))
        assert rendered["prompt"].to_pylist() == expected


def test_values_of_all_kinds(tmp_path: Path) -> None:
    row: dict[str, Any] = {"i": -1, "f": 1e20, "n": None, "b": True, "d": datetime.date(2026, 1, 31), "l": ["a", None]}
    row |= {"s": {"x": [1.0]}, "t": datetime.datetime(2026, 1, 31, 9), "y": b"\x00"}
    file = {"user": " ".join(f"{{{name}}}" for name in row)}
    (expected,) = format_model.nemo_skills(file, row)
    path, samples = write(tmp_path, file), pa.Table.from_pylist([row])
    assert pp.Renderer.from_config(path).render(samples)["prompt"].to_pylist() == [[expected]]
    assert pp.JinjaTemplate.from_config(path).render(samples)["prompt"].to_pylist() == [expected["content"]]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = write(tmp_path, ROWS[0], "data.jsonl"), tmp_path / "out.jsonl"
    prompts = []
    for meta in ({}, {"prompt_template": CHOOSE}):
        file = benchmark(**meta)
        path = write(tmp_path, file)
        for command, more in ((["render"], []), (["export", "openai-batch"], ["--model-name", "m"])):
            assert main([*command, path, "--data", data, "--out", str(out), "--quiet", *more]) == 0
            prompts.append(json.loads(out.read_text(encoding="utf-8")))
        assert main(["show", path, "--data", data]) == 0
        assert main(["fingerprint", path]) == 0
        expected = format_model.evalscope(file["meta"], ROWS[0])
        assert prompts[-1]["body"]["messages"] == expected
        assert prompts[-2]["prompt"] == (expected[0]["content"] if meta else expected)
    capsys.readouterr()
    assert main(["render", path, "--data", data, "--out", str(out), "--output", "openai"]) == 2
    assert "--output: not for " in capsys.readouterr().err
    assert main(["render", write(tmp_path, benchmark(category="vlm")), "--data", data, "--out", str(out)]) == 3
    assert "benchmark.json: meta.category: 'vlm'" in capsys.readouterr().err


def test_examples_on_the_command_line(tmp_path: Path) -> None:
    file = {"user": "{examples}{problem}", "few_shot_examples": FEW_SHOT}
    path, out = write(tmp_path, file, "prompt.yaml"), tmp_path / "out.jsonl"
    data, examples = (write(tmp_path, rows[0], f"{n}.jsonl") for n, rows in enumerate((PROBLEMS, EXAMPLES)))
    assert main(["render", path, "--data", data, "--examples", examples, "--out", str(out), "--quiet"]) == 0
    expected = format_model.nemo_skills(file, {"problem": PROBLEMS[0]["problem"]}, EXAMPLES[:1])
    assert json.loads(out.read_text(encoding="utf-8"))["prompt"] == expected
