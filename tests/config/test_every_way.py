"""Every argument of `Renderer` in every way that sets it: Python, files of each format, the command, `view`, `audit`.

An argument has one case, with a value that changes what is rendered. Each way gives what the Python call gives, or is
listed in `EXCEPTIONS` with its reason. A new argument without a case fails.
"""

from __future__ import annotations

import inspect
import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from marks import UNWARNED
from parts.small_tokenizers import small_tokenizer
from promptpress_workbench.cli import audit, main, view
from promptpress_workbench.cli.arguments import parse
from promptpress_workbench.cli.errors import in_options
from promptpress_workbench.cli.settings import Settings

pytestmark = [UNWARNED, pytest.mark.usefixtures("folder")]

SAMPLES = pa.table({"q": ["1+1?", "2+2 {a}"], "a": ["2", "4"], "content": ["x", "y"], "ids": [[0], [1]]})
TRAIN = pa.table({"q": [f"{n}?" for n in range(6)], "a": [str(n) for n in range(6)]})
TURNS = {"round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}]}
OPENICL = {"column_token_map": {"q": "</q>"}, "template": "</q>!"}
META = {"round": [{"role": "HUMAN", "begin": "<h>"}, {"role": "BOT", "begin": "<b>", "generate": True}]}
READER = {"input_columns": ["q"], "output_column": "a"}
MASKED = {"prompt_template": "{a}", "reader": READER}
FEW = {
    "prompt_template": {"type": "PromptTemplate", "template": "</E>{q} {a}", "ice_token": "</E>"},
    "ice_template": {"type": "PromptTemplate", "template": "{q} {a}\n"},
    "retriever": {"type": "FixKRetriever", "fix_id_list": [0, 1, 2]},
    "reader": READER,
}
SHORT = {"prompt_template": "{q} {a}\n", "output_column": "a", "shots": 4}
PPL = {"prompt_template": {"A": "{q} A", "B": "{q} B"}}
MEDIA = {
    "prompt_template": {
        "type": "MMPromptTemplate",
        "template": {"round": [{"role": "HUMAN", "prompt_mm": {"text": {"type": "text", "text": "{q}"}}}]},
    },
    "dialect": "aisbench",
}
OF_IDS = {"round": [{"role": "HUMAN", "begin": [7, "!"]}, {"role": "BOT"}]}
OPENAI = {
    "prompt_template": TURNS,
    "output": "openai",
    "meta_template": {"round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT"}]},
}
CHAT = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
TEXTS = {"tokenizer": "tokenizer.json", "examples": "train.parquet", "chat_template": "chat"}
"""Arguments that a file doesn't hold, with the option's value that brings them."""


@dataclass(frozen=True)
class Case:
    """An argument's value next to others, and the option that sets it, if there is one."""

    value: Any
    base: Mapping[str, Any]
    options: tuple[str, ...] = ()
    brings: tuple[str, ...] = field(default=())
    """Arguments of `TEXTS` that the case needs besides."""


EXAMPLES = ("examples",)
BUDGET = ("examples", "tokenizer")
CASES = {
    "prompt_template": Case("Q: {q}", {}, ("--template", "Q: {q}")),
    "ice_template": Case(FEW["ice_template"], {**FEW, "ice_template": None}, (), EXAMPLES),
    "retriever": Case({"type": "FixKRetriever", "fix_id_list": [3]}, FEW, (), EXAMPLES),
    "examples": Case(None, FEW, ("--examples", "train.parquet"), EXAMPLES),
    "reader": Case(READER, {"prompt_template": "{q} {a}"}),
    "inferencer": Case({"type": "GenInferencer", "gen_field_replace_token": "_"}, MASKED),
    "meta_template": Case(META, {"prompt_template": TURNS, "reader": READER}),
    "mode": Case("ppl", PPL, ("--mode", "ppl")),
    "output": Case("prompt_list", {"prompt_template": TURNS}, ("--output", "prompt_list")),
    "labels": Case(["B"], {**PPL, "mode": "ppl"}, ("--labels", "B")),
    "dialect": Case("openicl", {"prompt_template": OPENICL}, ("--dialect", "openicl")),
    "substitution": Case("harness", {"prompt_template": "{q}"}, ("--substitution", "harness")),
    "strings": Case("large_string", {"prompt_template": "{q}"}, ("--strings", "large_string")),
    "tokens": Case({7: "<seven>"}, {"prompt_template": TURNS, "meta_template": OF_IDS}),
    "names": Case({"prompt": "text"}, {"prompt_template": "{q}"}),
    "refuse": Case(["untagged_text"], MEDIA),
    "roles": Case({"HUMAN": "developer"}, OPENAI, ("--roles", "HUMAN=developer")),
    "chat_template": Case(None, {"prompt_template": TURNS}, ("--chat-template", "chat"), ("chat_template",)),
    "limits": Case({"prompt_bytes": 2}, {"prompt_template": "{q}"}, ("--limits", "prompt_bytes=2")),
    "unknown": Case("keep", {"prompt_template": "{q} {contnet}"}, ("--unknown", "keep")),
    "system": Case("Be brief.", {"prompt_template": "{q}"}, ("--system", "Be brief.")),
    "optional_system": Case(True, {"prompt_template": "{q}", "system": ""}, ("--optional-system",)),
    "shots": Case(2, {"prompt_template": "{q} {a}\n", "output_column": "a"}, ("--shots", "2"), EXAMPLES),
    "output_column": Case("a", {"prompt_template": "{q} {a}\n"}, ("--answer", "a")),
    "seed": Case(5, SHORT, ("--shots-seed", "5"), EXAMPLES),
    "tokenizer": Case(None, {**SHORT, "max_seq_len": 30}, ("--tokenizer", "tokenizer.json"), BUDGET),
    "max_seq_len": Case(20, {**SHORT, "fit": "last"}, ("--max-seq-len", "20"), BUDGET),
    "fit": Case("first", {**SHORT, "max_seq_len": 20}, ("--fit", "first"), BUDGET),
    "reserve": Case(9, {**SHORT, "max_seq_len": 20, "fit": "last"}, ("--reserve", "9"), BUDGET),
    "fit_labels": Case(
        "jointly",
        {
            **FEW,
            "prompt_template": {
                "type": "PromptTemplate",
                "template": {"A": "</E>{q} A", "B": "</E>{q} Bbbbbbbbbbbb"},
                "ice_token": "</E>",
            },
            "mode": "ppl",
            "max_seq_len": 20,
            "fit": "last",
        },
        ("--fit-labels", "jointly"),
        BUDGET,
    ),
}  # fmt: skip

BROUGHT = "a configuration names no rows, files or objects; an argument or an option brings them"
HARNESS = "a part of a harness's configuration has a structure, which a file gives"
OF_TEMPLATE = "the short form's option goes with --template"
EXCEPTIONS: dict[tuple[str, str], str] = {
    **{(name, way): BROUGHT for name in TEXTS for way in ("json", "yaml", "toml", "python file")},
    **{
        (name, way): HARNESS
        for name in ("ice_template", "retriever", "reader", "inferencer", "meta_template", "tokens", "names", "refuse")
        for way in ("option", "view", "audit's line")
    },
}
"""Pairs of arguments and ways that don't go together, with the reasons."""

OF_THE_SHORT_FORM = ("system", "optional_system", "shots", "output_column", "seed")
"""Arguments whose options go with `--template`: a file has them as keys."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pq.write_table(SAMPLES, "data.parquet")
    pq.write_table(TRAIN, "train.parquet")
    small_tokenizer().save("tokenizer.json")
    Path("chat").mkdir()
    Path("chat/chat_template.jinja").write_text(CHAT, encoding="utf-8")
    return tmp_path


def brought(name: str) -> Any:
    """Return the value of an argument that no file holds."""
    return {
        "examples": lambda: TRAIN,
        "tokenizer": small_tokenizer,
        "chat_template": lambda: pp.ChatTemplate.from_tokenizer("chat"),
    }[name]()


def result(make: Callable[[], Any]) -> object:
    """Return what a renderer renders, with its types, or the error that it raises."""
    try:
        table = make().render(SAMPLES)
    except (pp.TemplateError, pp.RenderError) as error:
        return error.code
    return str(table.schema), table.to_pylist()


def in_python(name: str, case: Case, *, given: bool = True) -> object:
    arguments = {**case.base, **{other: brought(other) for other in case.brings}}
    if name not in case.brings:
        arguments[name] = case.value
    if not given:
        del arguments[name]
    return result(lambda: pp.Renderer(**arguments))


def written(kind: str, content: Mapping[str, Any]) -> str:
    """Write a configuration of Renderer's arguments, and return its name."""
    path = f"config.{kind}"
    content = {name: value for name, value in content.items() if value is not None}
    if kind == "py":
        text = "import string\n" + "".join(f"{name} = {value!r}\n" for name, value in content.items())
    elif kind == "toml":
        text = "".join(f"{name} = {toml(value)}\n" for name, value in content.items())
    elif kind == "yaml":
        text = pytest.importorskip("yaml").safe_dump(content, sort_keys=False)
    else:
        text = json.dumps(content)
    Path(path).write_text(text, encoding="utf-8")
    return path


def toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def by_file(kind: str) -> Callable[[str, Case], object]:
    def way(name: str, case: Case) -> object:
        path = written(kind, {**case.base, **({} if name in case.brings else {name: case.value})})
        others = {other: brought(other) for other in case.brings if other != name}
        return result(lambda: pp.Renderer.from_config(path, **others))

    return way


def words_of(name: str, case: Case) -> list[str]:
    """Return the words of a command line for a case: its base in a file, or as a template with options."""
    base = {other: value for other, value in case.base.items() if value is not None}
    is_short = name in OF_THE_SHORT_FORM
    words = [] if is_short or not base else [written("json", base)]
    if is_short:
        options = {
            "prompt_template": "--template",
            "output_column": "--answer",
            "shots": "--shots",
            "system": "--system",
        }
        words = [word for other, value in base.items() for word in (options[other], str(value))]
    for other in case.brings:
        if other != name:
            words += [f"--{other.replace('_', '-')}", TEXTS[other]]
    return [*words, *case.options, "--data", "data.parquet"]


def by_option(name: str, case: Case) -> object:
    if main(["render", *words_of(name, case), "--out", "out.arrow", "--quiet"]):
        return "an error"
    with pa.OSFile("out.arrow", "rb") as file:
        table = pa.ipc.open_file(file).read_all()
    return str(table.schema.remove_metadata()), table.to_pylist()


def by_view(name: str, case: Case) -> object:
    arguments = parse(["view", *words_of(name, case)])
    catalogue, choice = view._catalogue(Settings.of(arguments), arguments.config, arguments.model or [])
    assert catalogue is not None
    return result(lambda: catalogue.renderer(choice))


def by_printed_line(name: str, case: Case) -> object:
    """Return what the command that `audit` prints would render: its words are those of a command like `render`."""
    line = audit.show_command(parse(["audit", *words_of(name, case)]), 1)
    shell = subprocess.run(["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True)
    first, second, *words = shell.stdout.decode().split("\0")[:-1]
    assert (first, second, words[-2:]) == ("promptpress", "show", ["--row", "1"])
    parse([second, *words])
    arguments = parse(["view", *words[:-2]])
    catalogue, choice = view._catalogue(Settings.of(arguments), arguments.config, arguments.model or [])
    assert catalogue is not None
    return result(lambda: catalogue.renderer(choice))


WAYS: dict[str, Callable[[str, Case], object]] = {
    "json": by_file("json"),
    "yaml": by_file("yaml"),
    "toml": by_file("toml"),
    "python file": by_file("py"),
    "option": by_option,
    "view": by_view,
    "audit's line": by_printed_line,
}


def test_each_argument_has_a_case() -> None:
    assert list(inspect.signature(pp.Renderer).parameters) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_the_value_of_a_case_makes_a_difference(name: str) -> None:
    assert in_python(name, CASES[name]) != in_python(name, CASES[name], given=False)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_an_argument_goes_every_way(name: str, way: str) -> None:
    case = CASES[name]
    if (name, way) in EXCEPTIONS:
        assert way not in ("option", "view", "audit's line") or not case.options
        return
    assert way in ("json", "yaml", "toml", "python file") or case.options, "an option, or a reason why there is none"
    expected, result = in_python(name, case), WAYS[way](name, case)
    if isinstance(expected, str) and way == "option":
        expected = "an error"
    assert result == expected


@pytest.mark.parametrize("name", CASES)
def test_messages_have_the_words_of_the_command(name: str) -> None:
    """An argument that Python's users read of is an option, or a key of the configuration, for users of the command."""
    text = in_options(f"say it by {name}= or not")
    option = CASES[name].options[:1] if name != "prompt_template" else ()
    expected = f"say it by {option[0]} or not" if option else f"say it by {name}: in the configuration or not"
    assert text == expected
